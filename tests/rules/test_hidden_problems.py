"""What is shown of problems of hidden annotation rests on what they say that they quote, never on their wording."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import pytest

from app.intake.inspecting import Wanted, hidden_finding, inspect
from app.intake.reports import Finding, Report
from app.intake.unpacking import ReadingLimits, SentFile
from heldout_scoring import Problem, errors
from heldout_scoring.stored import from_plain
from tests.pages.data_sets import jpeg, zipped
from tests.pages.test_intake_reading import OF_HIDDEN, coco_with_mistakes, kit_with_mistakes
from tests.shared import SHARED

CASES = SHARED / "cases" / "datasets"
MOST = ReadingLimits(unpacked=64 << 20, images=1000, boxes=1000)
SENT = {
    "coco": ("f.json", coco_with_mistakes()),
    "not json": ("f.json", b'{"images": [SECRET]}'),
    "kit": ("kit.zip", kit_with_mistakes()),
    "table": ("t.csv", b"image,class,left,top,right,bottom\na,SECRET,9,1,SECRET,5\na b,SECRET,1,1,2,2\na,b\n"),
    "folders": ("f.zip", zipped({"SECRET/a.jpg": b"GIF89a", "SECRET/b c.jpg": jpeg(), "SECRET/A.jpg": jpeg()})),
    "masks": ("m.zip", zipped({"classes.txt": b"background\nSECRET\nSECRET", "SECRET/a.png": b"SECRET"})),
}  # fmt: skip


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
    assert "SECRET" not in json.dumps([str(each) for each in (*found, *swapped)])


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
    assert {"annotation", "background-class", "mask-label", "missing-field"} <= {
        each.code for each in refused
    }
    assert [str(each) for each in refused if each.file is None] == []
    assert [str(each) for report in reports for each in findings(report) if each.message == OF_HIDDEN] == []
