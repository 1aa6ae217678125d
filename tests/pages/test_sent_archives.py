"""Archives within archives are problems, and images without a picture have to be acknowledged."""

import io
import tarfile
from pathlib import PurePosixPath
from typing import Any

import pytest
from sqlalchemy import func, select

from app.models import Challenge, ChallengeDraft, Phase
from tests.pages.data_sets import TABLE, jpeg, zipped
from tests.pages.test_drafts import NEW, words
from tests.pages.test_drafts import Place as Drafts
from tests.pages.test_drafts import place as drafts
from tests.pages.test_intake_reading import ORGANISE, Place, place, told

__all__ = ["drafts", "place"]

PICTURES = {f"{name}.jpg": jpeg(shade=number) for number, name in enumerate("abc")}
NESTED = "an archive or a compressed file within an archive or a folder; send it alone"


def tar(files: dict[str, bytes], mode: str = "w") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as packed:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return stream.getvalue()


INNER = {
    "val.zip": zipped(PICTURES),
    "deep/in/folders/val.tar": tar(PICTURES),
    "val.tar.gz": tar(PICTURES, "w:gz"),
    "val.tar.xz": tar(PICTURES, "w:xz"),
    "val.rar": b"Rar!\x1a\x07\x01\x00" + bytes(600),
    "val.7z": b"7z\xbc\xaf\x27\x1c" + bytes(600),
    "name.zip": b"not what its name says",
    "without-ending": zipped(PICTURES),
    "val.jpg": zipped(PICTURES),
}


@pytest.mark.parametrize("role", ["images", "hidden", "public"])
def test_archives_within_an_archive_are_problems(place: Place, role: str) -> None:
    files = [(role, "all.tar", tar({**INNER, "Z.jpg": jpeg()})), ("hidden", "test.csv", TABLE)]

    view = place.read(place.send(place.challenge(), *files))

    assert view["state"] == "invalid"
    names = [
        PurePosixPath(name).name if role == "images" else name for name in INNER
    ]  # a folder of images may be a class
    assert [each for each in told(view) if NESTED in each] == [f"{name}: {NESTED}" for name in names]


@pytest.mark.parametrize(("name", "content", "kind"), [
    ("val.rar", b"Rar!\x1a\x07\x01\x00" + bytes(600), "RAR"),
    ("val.7z", b"7z\xbc\xaf\x27\x1c" + bytes(600), "7-Zip"),
])  # fmt: skip
def test_an_archive_that_cannot_be_read_is_called_by_its_type(
    place: Place, name: str, content: bytes, kind: str
) -> None:
    intake = place.send(place.challenge(), ("images", name, content), ("hidden", "test.csv", TABLE))

    problems = told(place.read(intake))

    assert problems == [
        f"{name}: an archive or a compressed file of type {kind} cannot be read here, or is damaged; send it as .zip, .tar, .tar.gz or .tar.xz"
    ]


def test_archives_that_are_sent_one_after_another_are_all_read(place: Place) -> None:
    parts = [("images", f"{name}.zip", zipped({name: content})) for name, content in PICTURES.items()]
    intake = place.send(place.challenge(), *parts, ("hidden", "test.csv", TABLE))

    view = place.read(intake)

    assert (view["state"], view["report"]["images"]["count"]) == ("read", 3)
    assert [each["without_picture"] for each in view["report"]["sets"]] == [0]


@pytest.mark.sampled
@pytest.mark.parametrize(("sent", "lacking"), [(0, 3), (1, 2), (3, 0)])
def test_images_without_a_picture_are_applied_once_somebody_says_how_many(
    place: Place, sent: int, lacking: int
) -> None:
    files = [("images", name, content) for name, content in list(PICTURES.items())[:sent]]
    code = place.challenge()
    intake = place.send(code, *files, ("hidden", "test.csv", TABLE))
    view = place.read(intake)
    address = f"{ORGANISE}/data-sets/{intake}/apply"
    asked: dict[str, Any] = {"set": "hidden-0", "phase": "test"}

    without = place.organiser.post(address, json=asked)
    fewer = (
        place.organiser.post(address, json={**asked, "without_picture": lacking - 1}) if lacking else without
    )
    with place.platform.transaction() as session:
        phases = session.scalar(
            select(func.count()).select_from(Phase).join(Challenge).where(Challenge.code == code)
        )

    if not lacking:
        assert without.status_code == 202
        return
    said = f"{lacking} of 3 images of test have no file"
    assert said in " ".join(told(view, "warnings"))
    assert (without.status_code, fewer.status_code, phases) == (422, 422, 0)
    assert f"{said}; send them, or say that they stay so" in without.text
    page = place.organiser.get(f"/organise/data-sets/{intake}", headers={"Accept": "text/html"}).text
    assert f"Apply it though {said}" in words(page)
    assert place.apply(intake, **asked, without_picture=lacking)["state"] == "applied"


def test_step_3_goes_on_without_pictures_only_once_that_is_ticked(drafts: Drafts) -> None:
    code = drafts.draft()
    drafts.send(code, hidden=zipped({"test.csv": TABLE}))
    page = drafts.page(f"{NEW}/{code}/check")

    bare = drafts.organiser.post(f"{NEW}/{code}/check", data={"sets": ["hidden-0"]})
    with drafts.platform.transaction() as session:
        statement = select(ChallengeDraft.settings).join(Challenge).where(Challenge.code == code)
        before = session.scalars(statement).one()
    ticked = drafts.organiser.post(f"{NEW}/{code}/check", data={"sets": ["hidden-0"], "without_picture": "3"})

    assert "They stay so: 3 of 3 images of test have no file" in page
    assert bare.status_code == 422
    assert "3 of 3 images of test have no file. Send them in step 2, or tick" in words(bare.text)
    assert "check" not in before
    assert ticked.status_code == 303
