"""The pictures of a phase: imported, made by a worker, shown to those who may see them."""

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import func, select
from starlette.testclient import TestClient

from app.core.access import Actor
from app.images.pictures import PageRange, pictures_page
from app.intake.importing import NoImages, TreeImport, import_tree
from app.models import Artefact, AuditRecord, Disclosure, ImageMode, Picture, PictureBatch
from app.organising import roles
from app.organising.roles import Grant
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.picture_trees import SIZE, deliver, loaded, picture_file, tree_with_pictures
from tests.pages.test_accounts import registered
from tests.system.kits import IMAGES


def organiser_of(platform: Platform, browser: Browser, challenge: str) -> TestClient:
    client = registered(browser(), f"{challenge}@example.org")
    roles.grant(platform, f"{challenge}@example.org", Grant.ORGANISER, challenge)
    return client


def rows(client: TestClient, challenge: str) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = client.get(f"/api/v1/challenges/{challenge}/test/images").json()["images"]
    return listed


@pytest.mark.parametrize("mode", list(ImageMode))
def test_a_worker_makes_pictures_once_and_without_metadata(
    mode: ImageMode, platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    tree, challenge = tree_with_pictures(tmp_path), f"made-{mode}"
    exif = Image.Exif()
    exif[0x010E] = "secret camera"
    Image.new("RGB", SIZE, "red").save(picture_file(tree, IMAGES[0]), exif=exif)
    imported = loaded(platform, tree, challenge, mode=mode)
    assert imported.pictures is not None
    assert (imported.pictures.files, imported.pictures.changed) == (10, 10)

    page = browser().get(f"/pictures/{challenge}/test")
    shown = rows(browser(), challenge)
    picture = browser().get(shown[0]["picture"])
    again = import_tree(platform, TreeImport(tree, challenge, "test"))

    assert page.text.count('loading="lazy"') == len(IMAGES)
    assert "secret" not in picture.text
    assert Image.open(io.BytesIO(picture.content)).size == SIZE
    assert again.pictures is not None
    assert (again.pictures.mode, again.pictures.changed) == (mode, 0)


def test_browsers_may_cache_pictures(platform: Platform, browser: Browser, tmp_path: Path) -> None:
    loaded(platform, tree_with_pictures(tmp_path), "sent")
    [first, *_], client = rows(browser(), "sent"), browser()

    whole = client.get(first["thumbnail"])
    known = client.get(first["thumbnail"], headers={"If-None-Match": whole.headers["etag"]})
    other_version = client.get(first["thumbnail"].split("?")[0])

    assert whole.headers["content-type"] == "image/jpeg"
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert whole.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert known.status_code == 304
    assert other_version.headers["cache-control"] == "public, no-cache"


def test_only_organisers_see_pictures_of_a_held_out_phase_until_they_publish_them(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    imported = loaded(platform, tree_with_pictures(tmp_path), "heldout", Disclosure.CLASSES)
    organiser, visitor = organiser_of(platform, browser, "heldout"), browser()
    picture = rows(organiser, "heldout")[0]["picture"]
    addresses = ("/pictures/heldout/test", "/api/v1/challenges/heldout/test/images", picture)
    assert [visitor.get(address).status_code for address in addresses] == [404, 404, 404]
    private = organiser.get(picture)
    assert private.headers["cache-control"] == "no-store"
    assert private.headers["vary"] == "Cookie, Authorization"
    assert "Only organisers see these images" in organiser.get(addresses[0]).text

    organise = f"/organise/phases/{imported.phase_id}/pictures"
    assert "Reason" in organiser.post(organise, data={"is_public": "true"}).text
    changed = organiser.post(organise, data={"is_public": "true", "reason": "They are public anyway"})

    assert changed.headers["location"] == "/pictures/heldout/test#organise"
    assert [visitor.get(address).status_code for address in addresses] == [200, 200, 200]
    assert "For organisers" not in visitor.get(addresses[0]).text
    with platform.transaction() as session:
        [record] = session.scalars(select(AuditRecord).where(AuditRecord.action == "pictures.change"))
        assert record.after == {"is_public": True, "draws_truth": False}
    stranger = registered(browser(), "stranger@example.org")
    assert stranger.post(organise, data={"reason": "None of theirs"}).status_code == 403


def test_files_that_are_not_pictures_are_left_out_with_the_reason(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    tree = tree_with_pictures(tmp_path)
    Image.new("RGB", SIZE).save(picture_file(tree, IMAGES[0]), "GIF")
    picture_file(tree, IMAGES[1]).write_text("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")
    picture_file(tree, IMAGES[2]).write_bytes(bomb(30_000, 30_000))
    picture_file(tree, IMAGES[3]).write_bytes(picture_file(tree, IMAGES[3]).read_bytes()[:200])
    Image.new("RGB", (40, 50)).save(picture_file(tree, IMAGES[4]))
    picture_file(tree, IMAGES[5]).unlink()
    picture_file(tree, IMAGES[6]).write_bytes(b"")

    imported = loaded(platform, tree, "odd")

    problems = {row["name"]: row["problem"] for row in rows(browser(), "odd") if row["problem"]}
    assert problems == {
        IMAGES[0]: "expected a JPEG or PNG image, found a GIF",
        IMAGES[1]: "expected a JPEG or PNG image, found an SVG",
        IMAGES[2]: "the image has more than 64,000,000 pixels",
        IMAGES[3]: problems[IMAGES[3]],
        IMAGES[4]: "the image is 40 x 50, but its annotation says 50 x 40",
        IMAGES[5]: "there is no such file",
        IMAGES[6]: "expected a JPEG or PNG image, found an empty file",
    }
    assert "this image cannot be decoded" in problems[IMAGES[3]]
    assert imported.pictures is not None
    assert len(imported.pictures.problems) == 4
    assert browser().get(f"/pictures/odd/test/{IMAGES[2]}/thumbnail.jpg").status_code == 404
    assert "found an SVG" in browser().get("/pictures/odd/test").text


def bomb(width: int, height: int) -> bytes:
    """A small PNG whose header declares a huge number of pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0"))
        + chunk(b"IEND", b"")
    )


def test_a_missing_linked_folder_is_reported_and_can_be_retried(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    tree = tree_with_pictures(tmp_path)
    imported = import_tree(platform, TreeImport(tree, "away", "test", disclosure=Disclosure.CLASSES))
    folder = tree.rename(tmp_path / "elsewhere")
    deliver(platform)
    organiser = organiser_of(platform, browser, "away")
    page = organiser.get("/pictures/away/test")
    assert "Workers cannot reach the folder of the images" in page.text
    assert str(tree) not in page.text
    assert "being made" not in page.text
    assert "could not be made" in page.text

    folder.rename(tree)
    answer = organiser.post(f"/organise/phases/{imported.phase_id}/pictures/retry")
    deliver(platform)

    assert answer.status_code == 303
    assert "cannot reach" not in organiser.get("/pictures/away/test").text
    assert organiser.get("/pictures/away/test").text.count('loading="lazy"') == len(IMAGES)


@pytest.mark.parametrize("mode", list(ImageMode))
def test_removed_pictures_leave_nothing_behind(
    mode: ImageMode, platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    challenge = f"gone-{mode}"
    tree = tree_with_pictures(tmp_path)
    loaded(platform, tree, challenge, mode=mode)
    with platform.transaction() as session:
        [batch] = session.scalars(select(PictureBatch).order_by(PictureBatch.phase_id.desc()).limit(1))
    assert (batch.copy_key is not None) == (mode is ImageMode.COPY)

    gone = import_tree(platform, TreeImport(tree, challenge, "test", images=NoImages.NONE))
    deliver(platform)

    assert gone.pictures_removed
    with platform.transaction() as session:
        assert session.scalar(select(func.count()).where(Picture.phase_id == gone.phase_id)) == 0
        subjects = session.scalars(select(Artefact.subject).where(Artefact.kind == "pictures"))
        assert not [each for each in subjects if each.startswith(f"{gone.phase_id}/")]
    assert browser().get(f"/pictures/{challenge}/test").status_code == 404
    assert batch.copy_key is None or not platform.truths.exists(batch.copy_key)


def test_no_image_name_gives_access_to_other_files(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    loaded(platform, tree_with_pictures(tmp_path), "names")

    for name in (
        "..",
        "%2e%2e",
        "..%2f..%2fAnnotations%2f000001.xml",
        "../Annotations/000001",
        "%00",
        "nobody",
    ):
        for end in ("", "/thumbnail.jpg", "/picture.jpg"):
            answer = browser().get(f"/pictures/names/test/{name}{end}")
            assert answer.status_code in (303, 307, 404), name
            assert b"<annotation" not in answer.content
    assert browser().get("/api/v1/challenges/names/test/images?name=%25").json()["images"] == []


def test_pages_of_pictures_link_to_each_other(platform: Platform, browser: Browser, tmp_path: Path) -> None:
    loaded(platform, tree_with_pictures(tmp_path), "paged")

    def page(window: PageRange, beginning: str = "") -> tuple[list[str], int | None, int | None]:
        found = pictures_page(platform, Actor(), "paged", "test", beginning, window)
        return [each.name for each in found.pictures], found.previous, found.next

    assert page(PageRange(limit=4)) == (list(IMAGES[:4]), None, 3)
    assert page(PageRange(3, limit=4)) == (list(IMAGES[4:8]), 4, 7)
    assert page(PageRange(7, limit=4)) == (list(IMAGES[8:]), 8, None)
    assert page(PageRange(before=8, limit=4)) == (list(IMAGES[4:8]), 4, 7)
    assert page(PageRange(before=4, limit=4)) == (list(IMAGES[:4]), None, 3)
    assert page(PageRange(limit=4), "00001") == ([IMAGES[9]], None, None)
    assert page(PageRange(limit=4), "none") == ([], None, None)
    assert "No image name begins" in browser().get("/pictures/paged/test?name=none").text
