"""The archive of a phase's images: made unasked, the same bytes for the same images, gone with what allowed it."""

import hashlib
import io
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

from app.images import archives
from app.intake.importing import NoImages, TreeImport, import_tree
from app.models import Disclosure, ImageMode, PictureSource
from app.platform import Platform
from app.storage import FolderStorage
from tests.pages.conftest import Browser
from tests.pages.picture_trees import SIZE, deliver, loaded, picture_file, tree_with_pictures
from tests.pages.test_pictures import organiser_of
from tests.system.kits import IMAGES


def source_of(platform: Platform, phase_id: int) -> PictureSource:
    with platform.transaction() as session:
        return session.get_one(PictureSource, phase_id)


def sweep(platform: Platform) -> None:
    """Do what a sweep asks for, as a worker does."""
    archives.queue_missing(platform)
    deliver(platform)


def listed(client: TestClient, challenge: str) -> dict[str, Any] | None:
    """The archive of a challenge's only phase, as its data page lists it."""
    [phase] = client.get(f"/api/v1/challenges/{challenge}/data").json()["phases"]
    archive: dict[str, Any] | None = phase["archive"]
    return archive


@pytest.mark.sampled
@pytest.mark.parametrize("mode", list(ImageMode))
def test_an_archive_has_the_imported_files_and_the_same_bytes_however_often_it_is_made(
    mode: ImageMode, platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    tree, challenge = tree_with_pictures(tmp_path), f"packed-{mode}"
    picture_file(tree, IMAGES[3]).write_text("<svg/>")
    phase_id = loaded(platform, tree, challenge, mode=mode).phase_id
    client, archive = browser(), listed(browser(), challenge)
    assert archive is not None

    whole = client.get(archive["address"])
    sums = client.get(f"/challenges/{challenge}/data/SHA256SUMS").text
    key = source_of(platform, phase_id).archive_key
    with platform.transaction() as session:
        removed = archives.forget(session, phase_id)
    archives.remove(platform, removed)
    sweep(platform)
    rest = client.get(archive["address"], headers={"Range": "bytes=700-", "If-Range": whole.headers["etag"]})

    with tarfile.open(fileobj=io.BytesIO(whole.content)) as unpacked:
        assert unpacked.getnames() == [f"test/{name}.jpg" for name in IMAGES if name != IMAGES[3]]
        for entry in unpacked:
            image = unpacked.extractfile(entry)
            assert image is not None
            assert image.read() == picture_file(tree, Path(entry.name).stem).read_bytes()
            assert (entry.mtime, entry.uid, entry.uname) == (0, 0, "")
    assert whole.headers["content-disposition"].startswith(
        f'attachment; filename="{challenge}-test-images.tar"'
    )
    assert archive["size"] == len(whole.content)
    assert archive["sha256"] == hashlib.sha256(whole.content).hexdigest()
    assert f"{archive['sha256']}  {archive['name']}\n" in sums
    assert source_of(platform, phase_id).archive_key != key  # made again
    assert (rest.status_code, rest.content) == (206, whole.content[700:])
    beyond = client.get(archive["address"], headers={"Range": f"bytes={len(whole.content)}-"})
    assert beyond.status_code == 416


def test_an_archive_follows_its_images(platform: Platform, browser: Browser, tmp_path: Path) -> None:
    tree = tree_with_pictures(tmp_path)
    loaded(platform, tree, "follows")
    before = listed(browser(), "follows")
    Image.new("RGB", SIZE, "white").save(picture_file(tree, IMAGES[0]))

    imported = import_tree(platform, TreeImport(tree, "follows", "test"))
    platform.cache.expire_versions()  # as after a second
    meanwhile = listed(browser(), "follows"), browser().get("/challenges/follows/test/images.tar").status_code
    deliver(platform)
    platform.cache.expire_versions()  # as after a second
    after = listed(browser(), "follows")
    key = source_of(platform, imported.phase_id).archive_key
    import_tree(platform, TreeImport(tree, "follows", "test", images=NoImages.NONE))

    assert meanwhile == (None, 404)
    assert before is not None
    assert after is not None
    assert after["sha256"] != before["sha256"]
    assert key is not None
    assert not platform.files.exists(key)
    assert browser().get("/challenges/follows/test/images.tar").status_code == 404


def test_a_held_out_phase_has_an_archive_only_while_everybody_may_see_its_images(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    phase_id = loaded(platform, tree_with_pictures(tmp_path), "secret", Disclosure.CLASSES).phase_id
    organiser, here = organiser_of(platform, browser, "secret"), f"/organise/phases/{phase_id}/pictures"
    sweep(platform)
    hidden = source_of(platform, phase_id).archive_key, listed(organiser, "secret")

    organiser.post(here, data={"is_public": "true", "reason": "They are public"})
    deliver(platform)
    published = browser().get("/challenges/secret/test/images.tar").status_code, source_of(platform, phase_id)
    organiser.post(here, data={"reason": "They are not"})
    denied = browser().get("/challenges/secret/test/images.tar").status_code, listed(browser(), "secret")
    sweep(platform)

    assert hidden == (None, None)
    assert published[0] == 200
    assert denied == (404, None)
    assert source_of(platform, phase_id).archive_key is None
    assert not platform.files.exists(str(published[1].archive_key))


def test_organisers_decide_whether_an_archive_is_offered(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    phase_id = loaded(platform, tree_with_pictures(tmp_path), "choice").phase_id
    organiser, page = organiser_of(platform, browser, "choice"), "/pictures/choice/test"
    space = organiser.get("/api/v1/organise/challenges/choice/data").json()
    here = f"/organise/phases/{phase_id}/pictures/archive"

    stopped = organiser.post(here)
    sweep(platform)
    gone = source_of(platform, phase_id).archive_key, browser().get("/challenges/choice/test/images.tar")
    said = organiser.get(page).text
    unsaid = organiser.get("/organise/challenges/choice/settings").text
    organiser.post(here, data={"is_offered": "true"})
    deliver(platform)

    assert space["used"] == space["in_archives"] > 0
    assert stopped.headers["location"] == f"{page}#organise"
    assert (gone[0], gone[1].status_code) == (None, 404)
    assert "not offered" in said
    assert "Nobody has said where they get them" in unsaid
    assert (
        "Those of test are offered as an archive"
        in organiser.get("/organise/challenges/choice/settings").text
    )
    assert "There are no files" not in organiser.get("/organise/challenges/choice/data").text
    assert browser().get("/challenges/choice/test/images.tar").status_code == 200


def without_space(platform: Platform, _: Path) -> Platform:
    return replace(platform, settings=platform.settings.model_copy(update={"max_data": 2000}))


def without_folder(platform: Platform, tree: Path) -> Platform:
    shutil.rmtree(tree / "JPEGImages")
    return platform


def with_another_file(platform: Platform, tree: Path) -> Platform:
    picture_file(tree, IMAGES[0]).write_text("<annotation>")
    return platform


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (without_space, "the images take more than the 0 MiB that are left"),
        (without_folder, f"JPEGImages/{IMAGES[0]}.jpg: there is no such file"),
        (
            with_another_file,
            f"JPEGImages/{IMAGES[0]}.jpg: expected a JPEG or PNG image, found something else",
        ),
    ],
)
def test_an_archive_that_cannot_be_made_says_why_and_can_be_made_again(
    platform: Platform,
    browser: Browser,
    tmp_path: Path,
    trouble: Callable[[Platform, Path], Platform],
    reason: str,
) -> None:
    tree, challenge = tree_with_pictures(tmp_path), f"trouble-{trouble.__name__.replace('_', '-')}"
    phase_id = loaded(platform, tree, challenge).phase_id
    shutil.copytree(tree, kept := tmp_path / "kept")
    with platform.transaction() as session:
        removed = archives.forget(session, phase_id)
    archives.remove(platform, removed)

    archives.make(trouble(platform, tree), phase_id)
    source = source_of(platform, phase_id)
    sweep(platform)  # does not try again by itself
    organiser = organiser_of(platform, browser, challenge)
    said = organiser.get(f"/pictures/{challenge}/test").text
    shutil.copytree(kept, tree, dirs_exist_ok=True)
    organiser.post(f"/organise/phases/{phase_id}/pictures/retry")
    deliver(platform)

    assert source.archive_problem is not None
    assert source.archive_problem.startswith(reason)
    assert source_of(platform, phase_id).archive_key is not None
    assert f"cannot be made: {reason}" in said
    assert not list(platform.files.partials())


def test_images_that_change_while_they_are_packed_are_not_offered(platform: Platform, tmp_path: Path) -> None:
    tree = tree_with_pictures(tmp_path)
    phase_id = loaded(platform, tree, "racing").phase_id
    with platform.transaction() as session:
        archives.forget(session, phase_id)
    stored = {each.key for each in platform.files.contents()}

    class Changing(FolderStorage):
        """A store in which the images are changed before an archive is complete."""

        def commit(self, *arguments: Any) -> str:
            Image.new("RGB", SIZE, "white").save(picture_file(tree, IMAGES[0]))
            import_tree(platform, TreeImport(tree, "racing", "test"))
            return super().commit(*arguments)

    assert isinstance(platform.files, FolderStorage)
    archives.make(replace(platform, files=Changing(platform.files.root)), phase_id)

    source = source_of(platform, phase_id)
    assert (source.archive_key, source.archive_problem) == (None, None)
    assert {each.key for each in platform.files.contents()} == stored
