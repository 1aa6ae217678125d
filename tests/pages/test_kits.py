"""The development kit of a challenge and its files of annotation: made of what is public, again when it changes, gone with it."""

import io
import tarfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, literal, select, update
from starlette.testclient import TestClient

from app.challenges import kits
from app.images import archives
from app.intake.importing import TreeImport, import_tree
from app.models import (
    Board,
    Challenge,
    ChallengePage,
    Disclosure,
    Heartbeat,
    MadeFile,
    Phase,
    PictureBatch,
    PicturesFrom,
    Quota,
)
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.picture_trees import loaded, tree_with_pictures
from tests.pages.test_drafts import NEW, Place, place
from tests.pages.test_pictures import organiser_of
from tests.system.kits import small_kit
from tests.working import do_all

__all__ = ["place"]


def sweep(platform: Platform) -> None:
    """Do what a sweep asks for, as a worker does, a minute after the last one."""
    with platform.transaction() as session:
        session.execute(delete(Heartbeat).where(Heartbeat.name == "kits"))
    kits.queue_outdated(platform)
    do_all(platform)
    platform.cache.expire_versions()  # as after a second


def made_of(platform: Platform, code: str) -> dict[int | None, MadeFile]:
    """What was made for a challenge, by phase."""
    with platform.transaction() as session:
        of_challenge = select(MadeFile).join(Challenge).where(Challenge.code == code)
        return {each.phase_id: each for each in session.scalars(of_challenge)}


def names_in(content: bytes) -> set[str]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return set(archive.getnames())


def test_a_kit_has_what_is_public_and_is_the_same_until_something_changes(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    phase_id = loaded(platform, tree_with_pictures(tmp_path), "oaks").phase_id
    client = browser()
    before = client.get("/challenges/oaks/kit.tar.gz").status_code

    sweep(platform)
    page = client.get("/api/v1/challenges/oaks/data").json()
    kit, annotation = (
        client.get(page["kit"]["address"]),
        client.get(page["phases"][0]["annotation"]["address"]),
    )
    first = made_of(platform, "oaks")
    sweep(platform)
    same = made_of(platform, "oaks")
    with platform.transaction() as session:
        session.execute(update(Challenge).where(Challenge.code == "oaks").values(title="Old oaks"))
    sweep(platform)
    other = made_of(platform, "oaks")

    assert before == 404
    names = names_in(kit.content)
    listed = (
        "README.md",
        "submit.sh",
        "baseline.py",
        "test/images.txt",
        "test/classes.txt",
        "test/description.json",
    )
    assert {f"oaks-kit/{name}" for name in listed} <= names
    assert "oaks-kit/test/examples/oaks-test-comp3-example.tar.gz" in names
    assert {f"oaks-kit/test/annotation/{name}" for name in names_in(annotation.content)} <= names
    assert {each.id for each in same.values()} == {each.id for each in first.values()}
    assert other[phase_id].id == first[phase_id].id
    assert other[None].key != first[None].key
    assert not platform.files.exists(str(first[None].key))
    assert "oaks-kit.tar.gz" in client.get("/challenges/oaks/data/SHA256SUMS").text
    assert "Development kit" in client.get("/challenges/oaks/data").text


def test_what_a_worker_still_packs_is_said_until_it_is_there(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    tree = tree_with_pictures(tmp_path)
    for code, disclosure in (("packing", Disclosure.FULL), ("hidden-packing", Disclosure.CLASSES)):
        import_tree(platform, TreeImport(tree, code, "test", disclosure=disclosure, quotas=(Quota(1, 1),)))
    with platform.transaction() as session:
        session.execute(update(Challenge).values(pictures_from=PicturesFrom.HERE))

    def said(code: str) -> tuple[list[str], bool, int]:
        platform.cache.expire_versions()
        data = browser().get(f"/api/v1/challenges/{code}/data").json()
        page = browser().get(f"/challenges/{code}/data").text
        assert "images are here" not in page  # the table of the files says whether they are
        return data["phases"][0]["coming"], data["is_kit_coming"], page.count("being packed")

    before, hidden = said("packing"), said("hidden-packing")
    do_all(platform)  # the images
    archives.queue_missing(platform)
    sweep(platform)

    assert before == (["images", "annotation"], True, 3)
    assert hidden == ([], True, 1)
    assert said("packing") == ([], False, 0)
    assert said("hidden-packing") == ([], False, 0)


def test_files_that_have_changed_are_said_to_be_packed_again_until_they_are(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    loaded(platform, tree_with_pictures(tmp_path), "repacked")
    do_all(platform)
    archives.queue_missing(platform)
    sweep(platform)

    def said() -> tuple[bool, bool, bool]:
        platform.cache.expire_versions()
        data = browser().get("/api/v1/challenges/repacked/data").json()
        page = browser().get("/challenges/repacked/data").text
        return (
            data["is_kit_coming"],
            "annotation" in data["phases"][0]["coming"],
            "A worker packs files" in page,
        )

    before = said()
    with platform.transaction() as session:
        licence = update(Challenge).where(Challenge.code == "repacked").values(annotation_licence="CC0-1.0")
        session.execute(licence)
    changed = said()
    sweep(platform)

    assert (before, changed, said()) == ((False,) * 3, (True,) * 3, (False,) * 3)


def test_nothing_of_hidden_annotation_is_made_and_what_is_hidden_again_is_withheld_at_once(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    phase_id = loaded(platform, tree_with_pictures(tmp_path), "elms").phase_id
    loaded(platform, small_kit(tmp_path / "hidden"), "yews", Disclosure.CLASSES)
    sweep(platform)
    client = browser()
    hidden = client.get("/challenges/yews/kit.tar.gz")
    addresses = ("/challenges/elms/kit.tar.gz", "/challenges/elms/test/annotation.tar.gz")
    public = [client.get(address).status_code for address in addresses]
    stored = {str(each.key) for each in made_of(platform, "elms").values()}

    with platform.transaction() as session:
        session.execute(
            update(Phase)
            .where(Phase.id == phase_id)
            .values(disclosure=Disclosure.CLASSES, stored_quotas=[{"results": 1, "days": 1}])
        )
    platform.cache.expire_versions()
    withheld = [client.get(address).status_code for address in addresses]
    sweep(platform)
    again = client.get(addresses[0])

    assert not [name for name in names_in(hidden.content) if "annotation" in name or "baseline" in name]
    assert client.get("/challenges/yews/test/annotation.tar.gz").status_code == 404
    assert public == [200, 200]
    assert withheld == [404, 404]
    assert not [name for name in names_in(again.content) if "annotation" in name]
    assert made_of(platform, "elms").keys() == {None}
    assert not any(platform.files.exists(key) for key in stored)


def test_annotation_is_for_those_for_whom_its_files_and_terms_are(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    loaded(platform, tree_with_pictures(tmp_path), "limes")
    organiser = organiser_of(platform, browser, "limes")
    form = {"title": "x", "kind": "annotation", "audience": "terms accepted", "annotation_licence": "CC0-1.0"}
    organiser.post("/organise/challenges/limes/data", data=form, files={"file": ("a.zip", b"x")})

    sweep(platform)
    visitor = browser()
    listed = visitor.get("/api/v1/challenges/limes/data").json()
    refused = visitor.get("/challenges/limes/test/annotation.tar.gz")
    given = organiser.get("/challenges/limes/test/annotation.tar.gz")

    [phase] = listed["phases"]
    assert (phase["annotation"]["licence"], phase["annotation"]["address"]) == ("CC0-1.0", None)
    assert (listed["kit"]["audience"], listed["kit"]["address"]) == ("terms accepted", None)
    assert refused.status_code in {303, 401}
    with tarfile.open(fileobj=io.BytesIO(given.content)) as archive:
        licence = archive.extractfile("LICENCE.txt")
        assert licence is not None
        assert licence.read() == b"CC0-1.0\n"


def test_only_challenges_in_which_something_changed_are_looked_at(platform: Platform, tmp_path: Path) -> None:
    phase = loaded(platform, tree_with_pictures(tmp_path), "elms").phase_id
    sweep(platform)  # makes the files
    sweep(platform)  # finds that they are as they should be

    def changed(*statements: Any) -> bool:
        with platform.transaction() as session:
            for statement in statements:
                session.execute(statement)
            here = select(Challenge.id).where(Challenge.code == "elms")
            found = session.scalars(select(kits.changed_challenges().subquery().c.challenge_id)).all()
            is_changed = session.scalar(here) in found
            session.rollback()
        return is_changed

    assert not changed()
    assert changed(update(Challenge).values(title="Elms of 2027"))
    assert changed(update(Phase).where(Phase.id == phase).values(closes_at=func.now() + timedelta(days=1)))
    assert changed(update(PictureBatch).values(fingerprint="other"))
    assert changed(update(Board).values(generation=Board.generation + 1))
    rules = select(Challenge.id, literal(1), *map(literal, ("", "", "No more than one.", "", "", "")))
    columns = ["challenge_id", "version", "tagline", "overview", "rules", "organisers", "contact", "citation"]
    assert changed(insert(ChallengePage).from_select(columns, rules))
    assert changed(delete(MadeFile).where(MadeFile.phase_id.is_(None)))


@pytest.mark.sampled
def test_organisers_preview_the_kit_of_a_draft_which_is_deleted_with_it(
    place: Place, browser: Browser
) -> None:
    code = place.finished()
    address = f"/challenges/{code}/kit.tar.gz"
    sweep(place.platform)
    visitor: TestClient = browser()
    seen = place.organiser.get(address).status_code, visitor.get(address).status_code
    names = names_in(place.organiser.get(address).content)
    keys = {str(each.key) for each in made_of(place.platform, code).values()}

    deleted = place.organiser.post(f"{NEW}/{code}/delete")

    assert seen == (200, 404)
    assert any("/val/annotation/" in name for name in names)
    assert not any("/test/annotation/" in name for name in names)
    assert deleted.status_code == 303
    assert len(keys) == 2
    assert not any(place.platform.files.exists(key) for key in keys)
    with place.platform.transaction() as session:
        assert not session.scalar(
            select(func.count()).select_from(MadeFile).join(Challenge).where(Challenge.code == code)
        )
