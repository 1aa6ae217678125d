from pathlib import Path

import pytest

from heldout_scoring.data.matches import open_rankings
from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.errors import SubmissionError
from heldout_scoring.evaluation import columns_of, evaluate
from heldout_scoring.readers.voc_tree import read_tree
from heldout_scoring.results import Result
from heldout_scoring.scores import ClassResult, Curve, ScoreTable
from tests.scoring.builders import Kit, annotation, thing

PEOPLE = annotation(thing("person"), thing("dog"), thing("person"))


def truth(folder: Path, dataset: str = "VOC2012", **labels: str) -> GroundTruth:
    """Two persons in m_1 of the Main set and one in x_1 outside it; the labels are lines of the actions' files."""
    tree = Kit(folder / dataset).main({"m_2": annotation(), "m_1": PEOPLE}, {"dog": "-1 1", "person": "-1 1"})
    tree.write("Annotations/x_1.xml", annotation(thing("person")))
    for action, lines in labels.items():
        tree.write(f"ImageSets/Action/{action}_test.txt", lines)
    return read_tree(tree.root, "test")


READING = "x_1 1 1\nm_1 3 -1\nm_1 1 0\n"
NOT_THERE = "it is not in the Action set of VOC2012 test"
RUNNING = "m_1 1 1\nm_1 3 1\n"


def results(folder: Path, competition: int = 9, **actions: str) -> Path:
    action = folder / "results" / "VOC2012" / "Action"
    action.mkdir(parents=True)
    for name, lines in actions.items():
        (action / f"comp{competition}_action_test_{name}.txt").write_text(lines)
    return folder


def scored(folder: Path, *, protocol: str = "voc2012", competition: int = 9, **actions: str) -> Result:
    sent = results(folder / "sent", competition, **actions)
    version = truth(folder, reading=READING, running=RUNNING)
    return evaluate(sent, version, competition=competition, protocol=protocol)


@pytest.mark.parametrize("protocol", ["voc2010", "voc2011", "voc2012"])
@pytest.mark.parametrize("competition", [9, 10, 11])
def test_a_perfect_prediction_scores_1(protocol: str, competition: int, tmp_path: Path) -> None:
    report = scored(
        tmp_path,
        protocol=protocol,
        competition=competition,
        reading="m_1 3 0.1\nx_1 1 0.9\nm_1 1 0.95\n",
        running="m_1 3 1\nm_1 1 1\n",
    )

    assert report.headline == 1
    assert report.classes == (
        ClassResult("reading", 1.0, None, 1, 3),
        ClassResult("running", 1.0, None, 2, 2),
    )
    assert report.exhibits == (
        ScoreTable("Average precision", (("reading", 1.0), ("running", 1.0))),
        Curve("reading", 1, bytes([255, 1, 0])),
        Curve("running", 2, bytes([1, 1])),
    )


def test_ties_and_missing_persons_keep_the_order_of_the_label_file(tmp_path: Path) -> None:
    report = scored(tmp_path, reading="m_1 3 0\nx_1 1 0\n", running="")

    assert report.exhibits[1] == Curve("reading", 1, bytes([1, 0, 255]))
    assert report.classes[1] == ClassResult("running", 1.0, None, 2, 0)


def test_the_last_of_several_lines_for_a_person_counts_once_accepted(tmp_path: Path) -> None:
    sent = results(tmp_path, reading="x_1 1 0\nm_1 3 1\nx_1 1 2\n", running="")
    version = truth(tmp_path, reading=READING, running=RUNNING)

    report = evaluate(sent, version, competition=9, protocol="voc2012", accepted=True)

    assert report.classes[0] == ClassResult("reading", 1.0, None, 1, 2)


def test_a_person_listed_only_for_another_action_is_left_out(tmp_path: Path) -> None:
    report = scored(tmp_path, reading="", running="x_1 1 9\nm_1 1 1\n")

    assert report.classes[1] == ClassResult("running", 1.0, None, 2, 1)
    assert report.exhibits[2] == Curve("running", 2, bytes([1, 1]))


def test_a_person_in_none_of_the_lists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError) as refused:
        scored(tmp_path, reading="m_1 2 1\n", running="m_2 1 1\n")

    assert [str(problem).partition(";")[0] for problem in refused.value.problems] == [
        f"comp9_action_test_reading.txt:1: unknown object '2' of the image 'm_1': {NOT_THERE}",
        f"comp9_action_test_running.txt:1: unknown image 'm_2': {NOT_THERE}",
    ]


def test_an_action_without_positives_has_no_value(tmp_path: Path) -> None:
    version = truth(tmp_path, reading="m_1 1 -1\n")

    report = evaluate(results(tmp_path / "sent", reading=""), version, competition=9, protocol="voc2012")

    assert report.classes == (ClassResult("reading", None, "nobody in the set does it", 0, 0),)
    assert report.headline_reason == "a class has no value"


def test_an_action_without_negatives_has_no_roc_curve(tmp_path: Path) -> None:
    version = truth(tmp_path, reading="m_1 1 1\n")

    report = evaluate(results(tmp_path / "sent", reading=""), version, competition=9, protocol="voc2006")

    assert report.classes[0].reason == "everybody in the set does it"


def test_the_action_other_is_not_scored(tmp_path: Path) -> None:
    version = truth(tmp_path, reading=READING, other="m_1 1 1\n")

    assert columns_of(version.description, 9) == ("reading",)


def test_stored_rankings_name_the_images_of_persons_outside_the_main_set(tmp_path: Path) -> None:
    version = truth(tmp_path, reading=READING)
    sent = results(tmp_path / "sent", reading="m_1 1 1\n")

    evaluate(sent, version, competition=9, protocol="voc2012", statistics=tmp_path / "kept")

    _, (kept,) = open_rankings(tmp_path / "kept")
    assert [version.lists.images[image] for image in kept.image] == ["m_1", "x_1", "m_1"]
    assert kept.outcomes.tolist() == [-1, 1, 0]


def test_a_challenge_without_an_action_set_cannot_be_scored(tmp_path: Path) -> None:
    version = truth(tmp_path)

    assert columns_of(version.description, 9) == ()
    with pytest.raises(SubmissionError, match="no result file of comp9"):
        evaluate(results(tmp_path / "sent", reading=""), version, competition=9, protocol="voc2012")
