"""What is shown of problems of hidden annotation rests on what they say that they quote, never on their wording."""

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile
from zlib import crc32

import pytest

from app.intake.inspecting import Wanted, hidden_finding, inspect
from app.intake.reports import Finding, Report
from app.intake.unpacking import ReadingLimits, SentFile
from heldout_scoring import Problem, errors
from heldout_scoring.stored import from_plain, to_plain
from tests.pages.data_sets import coco_file, jpeg, zipped
from tests.pages.test_intake_reading import OF_HIDDEN, coco_with_mistakes, kit_with_mistakes
from tests.rules.formats import builders
from tests.scoring.builders import annotation, thing
from tests.shared import SHARED

CASES = SHARED / "cases" / "datasets"
MOST = ReadingLimits(unpacked=64 << 20, images=1000, boxes=1000)


def cvat_with_mistakes() -> bytes:
    shapes = (
        "<box label='SECRET' xtl='SECRET' ytl='1' xbr='2' ybr='3'/>", "<box label='' xtl='31.0625'/>", "<tag label='SECRET&#10;'/>",
        "<polygon label='SECRET' points='31.0625,SECRET;1,2;3,4'/>", "<polygon label='SECRET' points='SECRET'/>", "<polyline label='SECRET'/>",
        "<mask label='SECRET' rle='SECRET' left='0' top='0' width='1' height='1'/>", "<box label='SECRET' rotation='SECRET'/>",
    )  # fmt: skip
    images = "".join(
        f"<image name='{name}' width='{width}' height='4'>{''.join(shapes)}</image>"
        for name, width in (
            ("SECRET\\a.jpg", "5"),
            ("SECRET\\a.jpg", "5"),
            ("b.jpg", "SECRET"),
            ("c.jpg", "31.0625"),
        )
    )
    return f"<annotations>{images}<track label='SECRET'/></annotations>".encode()


def labelme_with_mistakes() -> dict[str, bytes]:
    box = {"label": "SECRET", "shape_type": "rectangle", "points": [[1, 2], [3, 31.0625]]}
    shapes = [
        "SECRET", {**box, "label": "SECRET\n"}, {**box, "label": 31.0625}, {**box, "shape_type": "SECRET"}, {**box, "points": "SECRET"},
        {**box, "points": [[10**400, 1], [31.0625, "SECRET"]]}, {**box, "shape_type": "polygon"},
    ]  # fmt: skip
    page = {
        "shapes": shapes,
        "imagePath": "SECRET\\a.jpg",
        "flags": {"SECRET\n": True},
        "imageWidth": "SECRET",
    }
    pages = {
        "a": page,
        "b": page,
        "c": {**page, "shapes": "SECRET"},
        "d": {**page, "imagePath": {"SECRET": "SECRET"}},
    }
    return {f"{name}.json": json.dumps(each).encode() for name, each in pages.items()}


def yolo_with_mistakes() -> dict[str, bytes]:
    lines = (
        "SECRET 1 1 1 1",
        "77 0 0 0 0",
        "0 SECRET 0 0 0",
        "0 31.0625 0 0 0",
        "0 0 0 0 0 0.310625",
        "0 SECRET",
        "0 0 0 0 nan",
    )
    return {
        "data.yaml": b"names: [SECRET, dog]", "images/a.jpg": jpeg(), "images/SECRET/b.jpg": b"GIF",
        "labels/a.txt": "\n".join(("0 .1 .1 .1 .1", *lines)).encode(), "labels/c.txt": b"0 .1 .1 .1 .1",
    }  # fmt: skip


SENT = {
    "coco": ("f.json", coco_with_mistakes()),
    "not json": ("f.json", b'{"images": [SECRET]}'),
    "kit": ("kit.zip", kit_with_mistakes()),
    "table": ("t.csv", b"image,class,left,top,right,bottom\na,SECRET,9,1,SECRET,5\na b,SECRET,1,1,2,2\na,b\n"),
    "folders": ("f.zip", zipped({"SECRET/a.jpg": b"GIF89a", "SECRET/b c.jpg": jpeg(), "SECRET/A.jpg": jpeg()})),
    "table, odd columns": ("t.csv", b"SECRET,SECRET2,c\na,SECRET,9\n"),
    "table, open quote": ("t.csv", b'image,class,left,top,right,bottom\n"a,SECRET,1,1,3,5\nb,SECRET,1,1,2,2\n'),
    "table, folders": ("t.zip", zipped({"t.csv": b"image,label\nSECRET\\a.jpg,SECRET\nx/b.jpg,c\n", "SECRET/b.jpg": b"GIF"})),
    "nested folders": ("f.zip", zipped({f"{each}/{n}.jpg": jpeg(shade=n) for n, each in enumerate(("SECRET", "SECRET/SECRET2", "x/SECRET"))})),
    "cvat": ("c.xml", cvat_with_mistakes()),
    "cvat, cut": ("c.xml", b"<annotations><image name='a.jpg' width='5' height='4'><box label='SECRET'/></SECRET>"),
    "cvat, encoding": ("c.xml", b"<?xml version='1.0' encoding='SECRET'?><annotations/>"),
    "labelme": ("l.zip", zipped(labelme_with_mistakes())),
    "yolo": ("y.zip", zipped(yolo_with_mistakes())),
    "yolo, lists": ("y.zip", zipped({"a.txt": b"0 .5 .5 .1 .1", "obj.names": b"SECRET", "data.yaml": b"names: [SECRET, SECRET2]"})),
    "two label images": ("m.zip", zipped({"classes.txt": b"SECRET", "SECRET/masks/a.png": builders.png([[1]]), "x/masks/a.png": builders.png([[9]]), "x/labels.txt": b"SECRET2"})),
    "masks": ("m.zip", zipped({"classes.txt": b"background\nSECRET\nSECRET", "SECRET/a.png": b"SECRET"})),
}  # fmt: skip


def unzipped(archive: bytes) -> dict[str, bytes]:
    with ZipFile(io.BytesIO(archive)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def read(folder: Path, name: str, path: Path) -> Report:
    """The report on a file of hidden annotation."""
    (folder / name).mkdir()
    said = inspect(folder / name, (SentFile("hidden", path.name, path),), "VOC2012", MOST, Wanted())
    return from_plain(Report, json.loads(said))


def findings(report: Report) -> list[Finding]:
    return [*report.problems, *report.warnings]


def otherwise(words: str, quotes: Sequence[object]) -> str:
    """Another sentence for each rule, which ends by what it quotes."""
    return " ".join([f"sentence {crc32(words.encode())}", *map(str, quotes)])


@pytest.mark.parametrize("what", SENT)
def test_another_sentence_shows_nothing_more_and_nothing_less(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, content = SENT[what]
    path = tmp_path / name
    path.write_bytes(content)

    found = findings(read(tmp_path, "usual", path))
    monkeypatch.setattr(errors, "_filled", otherwise)
    swapped = findings(read(tmp_path, "swapped", path))

    assert found
    assert [(each.code, each.file, each.line, each.place) for each in swapped] == [
        (each.code, each.file, each.line, each.place) for each in found
    ]
    assert [each.message for each in swapped if not re.fullmatch(r"sentence \d+( …)*", each.message)] == []
    said = json.dumps([str(each) for each in (*found, *swapped)])
    assert [secret for secret in ("SECRET", "31.0625", "0.310625") if secret in said] == []


OF_TEST = {
    "coco": {"test.json": coco_with_mistakes()},
    "coco by folder": {"train/a.json": coco_file(), "Testing/a.json": coco_with_mistakes()},
    "not json": {"test_boxes.json": b'{"images": [SECRET]}'},
    "kit": unzipped(kit_with_mistakes()),
    "table": {"test.csv": SENT["table"][1]},
    "table without names": {"test.csv": b"a.jpg,SECRET,33\n"},
    "folders": {"test/SECRET/a.jpg": b"GIF89a", "test/SECRET/b c.jpg": jpeg(), "test/dog/A.jpg": jpeg()},
    "masks": {"classes.txt": b"background\ncat", "masks/test/a.png": b"SECRET"},
    "labels": {"data.yaml": b"names: [cat]", "labels/test/a.txt": b"0 1 1 0 0\n0 1 1 SECRET 1", "images/test/a.jpg": jpeg()},
}  # fmt: skip


@pytest.mark.parametrize("what", OF_TEST)
def test_of_a_public_set_that_says_test_nothing_is_quoted_until_somebody_answered(
    tmp_path: Path, what: str
) -> None:
    found = builders.read(tmp_path, OF_TEST[what]).report

    assert found.problems
    assert "SECRET" not in json.dumps([str(each) for each in found.problems])
    assert "SECRET" not in json.dumps([to_plain(each) for each in found.tables])


def test_of_a_public_set_beside_one_that_says_test_everything_is_told(tmp_path: Path) -> None:
    labels = b"0 1 1 0 0\n0 1 1 SECRET 1"
    files = {"data.yaml": b"names: [cat]", "labels/train/a.txt": labels, "labels/test/b.txt": labels}

    said = [str(each) for each in builders.read(tmp_path, files).report.problems]

    assert any("SECRET" in each for each in said if "train" in each)
    assert not any("SECRET" in each for each in said if "test" in each)


SPLIT = b"image,class,left,top,right,bottom,split\na.jpg,cat,1,1,9,9,train\n"
OF_ONE_FILE = {
    "column": {"train.csv": SPLIT + b"b.jpg,SECRET/,1,1,9,9,test\nb.jpg,cat,1,1,9,9,test\n"},
    "column, no row left": {"train.csv": SPLIT + b"b.jpg,SECRET/,1,1,9,9,test\n"},
    "subset": {
        "train.xml": b"<annotations><image name='a.jpg' width='9' height='9'/><image name='b.jpg' subset='test' width='9' height='9'>"
        b"<box label='cat' xtl='SECRET'/></image></annotations>"
    },
    "list": {
        **{f"Annotations/{name}.xml": annotation(thing("cat")).encode() for name in ("train_1", "x")},
        "Annotations/train_2.xml": annotation(thing("cat")).replace("</xmin>", "SECRET</xmin>").encode(),
        "ImageSets/Main/train.txt": b"x\n",
        "ImageSets/Main/test.txt": b"train_1\ntrain_2\n",
    },
}


@pytest.mark.parametrize("what", OF_ONE_FILE)
def test_of_a_set_that_says_test_nothing_is_quoted_whatever_its_file_is_called(
    what: str, tmp_path: Path
) -> None:
    found = builders.read(tmp_path, OF_ONE_FILE[what]).report

    assert found.problems
    assert "SECRET" not in json.dumps([str(each) for each in findings(found)])


@pytest.mark.parametrize("archive", ["hidden", "public"])
@pytest.mark.parametrize("beside", ["", "train/"])
def test_folders_that_may_be_classes_are_not_shown_whatever_they_hold(
    archive: str, beside: str, tmp_path: Path
) -> None:
    """Files of VOC's XML in a folder for each class, with what is wrong with an archive, a picture and a name."""
    of_classes: dict[str, bytes] = {}
    for shade, name in enumerate(("SECRETcat", "SECRETdog")):
        of_classes |= {
            f"{name}/{shade}.xml": b"<annotation><size>SECRET</size></annotation>", f"{name}/{shade}.jpg": jpeg(shade=shade),
            f"{name}/{shade}.xlsx": b"x", f"{name}/x{shade}.zip": zipped({}), f"{name}/note.json": b"{}", f"{name}/same.xml": b"<annotation/>",
        }  # fmt: skip
    files = {f"unseen test/{name}": content for name, content in of_classes.items()}
    if beside:
        files |= {
            f"train/{name.replace('SECRET', '')}": content
            for name, content in of_classes.items()
            if b"SECRET" not in content
        }
    pictures = {f"{name}/x.jpg": b"SECRET" for name in ("SECRETcat", "SECRETdog")}

    found = builders.read_archives(tmp_path, (archive, "a.zip", files), ("images", "b.zip", pictures)).report

    assert {"spreadsheet", "nested-archive", "bad-picture", "same-image"} <= {
        each.code for each in found.problems
    }
    assert [str(each) for each in findings(found) if "SECRET" in str(each)] == []


@pytest.mark.parametrize(
    ("file", "is_by_folder", "shown"),
    [
        ("SECRET/a.jpg", True, "a.jpg"),
        ("SECRET\\a.jpg", True, "a.jpg"),
        ("ImageSets/Main/SECRET_val.txt", False, "ImageSets/Main/…_val.txt"),
        ("SECRET_val.txt", True, "…_val.txt"),
        ("V/Annotations/2008_1.txt", False, "V/Annotations/2008_1.txt"),
    ],
    ids=["folder", "backslash", "list", "lone list", "annotation"],
)
def test_a_name_is_shown_without_a_class(file: str, *, is_by_folder: bool, shown: str) -> None:
    assert hidden_finding(Problem("x", "x", file), is_by_folder=is_by_folder).file == shown


def test_of_a_message_that_may_quote_anywhere_nothing_is_shown() -> None:
    shown = hidden_finding(Problem("anything-new", "found SECRET", "SECRET/a.jpg", 3), is_by_folder=True)

    assert (shown.message, shown.file, shown.line, shown.place) == (OF_HIDDEN, "a.jpg", 3, None)


@pytest.mark.shared
@pytest.mark.skipif(not CASES.exists(), reason="the cases are not here")
def test_every_refusal_of_the_cases_names_the_file_and_the_rule(tmp_path: Path) -> None:
    sent = [path for path in sorted(CASES.iterdir()) if path.suffix in (".zip", ".csv", ".json")]

    reports = [read(tmp_path, path.stem, path) for path in sent]

    refused = [each for report in reports for each in report.problems if each.code != "no-annotation"]
    assert refused
    assert [str(each) for each in refused if each.file is None] == []
    assert [str(each) for report in reports for each in findings(report) if each.message == OF_HIDDEN] == []
