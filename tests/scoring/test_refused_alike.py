"""Archives and folders are refused for the same content, by the check and by the scorer."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from heldout_scoring import GroundTruth, SubmissionError, evaluate, read_tree, validate
from heldout_scoring.errors import Problem
from tests.scoring.archives import gz, tar, written, zip_of
from tests.scoring.builders import Kit, annotation, thing

PEOPLE = annotation(thing("person"), thing("dog"), thing("person"))
MAIN, LAYOUT, ACTION = (f"results/VOC2012/{folder}" for folder in ("Main", "Layout", "Action"))
EDGES = "<bndbox><xmin>9</xmin><ymin>30</ymin><xmax>30</xmax><ymax>12</ymax></bndbox>"
HEAD = f"<part><class>head</class>{EDGES}</part>"


def person(inside: str) -> bytes:
    """Layouts of two persons, on a line each, the second one valid."""
    start, rest = "<layout><image>m_1</image><object>", "</object><confidence>1</confidence>"
    valid = HEAD.replace("12", "39")
    return f"<results>\n{start}1{rest}{inside}</layout>\n{start}3{rest}{valid}</layout></results>".encode()


class Case(NamedTuple):
    """A file of a competition, and the code and line of its only problem."""

    number: int
    name: str
    content: bytes
    code: str
    line: int


CASES = [
    Case(
        3, f"{MAIN}/comp3_det_test_dog.txt", b"m_1 0.5 10 10 30 30\nm_1 0.5 30 10 12 30\n", "inverted-box", 2
    ),
    Case(4, f"{MAIN}/comp4_det_test_dog.txt", b"m_1 0.5 10 30 30 12\n", "inverted-box", 1),
    Case(1, f"{MAIN}/comp1_cls_test_dog.txt", b"m_1 0.5\nm_2 1\nm_1 0.6\n", "repeated", 3),
    Case(9, f"{ACTION}/comp9_action_test_reading.txt", b"m_1 1 0.5\nm_1 1 0.5\n", "repeated", 2),
    Case(7, f"{LAYOUT}/comp7_layout_test.xml", person(""), "empty-layout", 2),
    Case(8, f"{LAYOUT}/comp8_layout_test.xml", person(HEAD), "inverted-box", 2),
]


@pytest.fixture
def truth(tmp_path: Path) -> GroundTruth:
    tree = Kit(tmp_path / "kit" / "VOC2012")
    tree.main({"m_2": annotation(), "m_1": PEOPLE}, {"dog": "-1 1", "person": "-1 1"})
    tree.write("ImageSets/Action/reading_test.txt", "m_1 1 1\nm_1 3 -1\n")
    tree.write("ImageSets/Layout/test.txt", "m_1 1\nm_1 3\n")
    return read_tree(tree.root, "test")


def where(problems: tuple[Problem, ...]) -> list[tuple[str, int | None]]:
    return [(each.code, each.line) for each in problems]


@pytest.mark.parametrize("case", CASES, ids=[f"comp{case.number}" for case in CASES])
def test_likely_mistakes_are_refused_however_they_arrive_and_never_scored(
    tmp_path: Path, truth: GroundTruth, case: Case
) -> None:
    (tmp_path / "work" / case.name).parent.mkdir(parents=True)
    (tmp_path / "work" / case.name).write_bytes(case.content)
    files = {case.name: case.content}
    packed = [written(tmp_path, gz(tar(files)), "a.tar.gz"), written(tmp_path, zip_of(files), "a.zip")]

    for sent in (tmp_path / "work", *packed):
        found = validate(sent, truth.description, competitions=(case.number,))
        assert (where(found.problems), found.valid) == ([(case.code, case.line)], False)
        with pytest.raises(SubmissionError) as refused:
            evaluate(sent, truth, competition=case.number, protocol="voc2012")
        assert refused.value.problems == found.problems


@pytest.mark.parametrize("case", CASES, ids=[f"comp{case.number}" for case in CASES])
def test_what_was_accepted_before_is_scored_as_the_kits_do(
    tmp_path: Path, truth: GroundTruth, case: Case
) -> None:
    sent = written(tmp_path, gz(tar({case.name: case.content})), "sent.tar.gz")

    result = evaluate(sent, truth, competition=case.number, protocol="voc2012", accepted=True)

    assert sum(each.predictions for each in result.classes) >= 1


LISTED = {f"{MAIN}/comp{number}_det_test_dog.txt": b"m_1 0.5 10 10 30 30\n" for number in (3, 4)}


@pytest.mark.parametrize("pack", [lambda files: gz(tar(files)), tar, zip_of], ids=["tgz", "tar", "zip"])
@pytest.mark.parametrize("number", [3, 4])
def test_an_archive_with_results_of_others_is_refused_where_one_competition_is_asked_for(
    tmp_path: Path, truth: GroundTruth, pack: Callable[[Mapping[str, bytes]], bytes], number: int
) -> None:
    sent = written(tmp_path, pack(LISTED), "sent")

    found = validate(sent, truth.description, competitions=(number,))
    with pytest.raises(SubmissionError) as refused:
        evaluate(sent, truth, competition=number, protocol="voc2012")
    accepted = evaluate(sent, truth, competition=number, protocol="voc2012", accepted=True)

    assert refused.value.problems == found.problems
    assert str(found.problems[0]) == (
        f"there are results of comp{7 - number}, too; expected those of comp{number} only: pack them alone"
    )
    assert (accepted["dog"].score.predictions, validate(sent, truth.description).valid) == (1, True)


def test_a_folder_may_hold_results_of_other_competitions(tmp_path: Path, truth: GroundTruth) -> None:
    for name, content in LISTED.items():
        (tmp_path / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / name).write_bytes(content)

    found = validate(tmp_path / "work", truth.description, competitions=(3,))
    result = evaluate(tmp_path / "work", truth, competition=3, protocol="voc2012")

    assert (found.valid, "other-competition" in [each.code for each in found.notes]) == (True, True)
    assert result["dog"].score.predictions == 1


def test_limits_of_lines_and_boxes_hold_in_a_folder_too(tmp_path: Path, truth: GroundTruth) -> None:
    lines = b"m_1 0.5 10 10 30 30\n" * 1_001
    (tmp_path / "comp3_det_test_dog.txt").write_bytes(lines)
    (tmp_path / "model.bin").write_bytes(bytes(64))

    [problem] = validate(tmp_path, truth.description).problems

    assert problem.code == "too-many-boxes"
