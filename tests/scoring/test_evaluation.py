from pathlib import Path

import pytest

from heldout_scoring import AnnotatedObject, Annotation, Box, truth_of_boxes, validate
from heldout_scoring.competitions import competitions
from heldout_scoring.data.matches import open_rankings
from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.errors import SubmissionError
from heldout_scoring.evaluation import SCORER, columns_of, evaluate, is_scorable
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.readers.voc_tree import read_tree
from heldout_scoring.results import Result
from heldout_scoring.scores import ClassResult, Curve, ScoreTable
from tests.scoring.builders import Kit, annotation, kit, thing

CAT = "a_1 0.9 1 1 10 10\n"
DOG = "a_1 0.9 20 5 40 30\na_2 0.8 5 5 30 30\n"


def truth(folder: Path) -> GroundTruth:
    return read_tree(kit(folder / "kit").root, "test")


def results(folder: Path, **classes: str) -> Path:
    """A folder of result files for competition 3."""
    main = folder / "results" / "VOC2012" / "Main"
    main.mkdir(parents=True)
    for name, lines in classes.items():
        (main / f"comp3_det_test_{name}.txt").write_text(lines)
    return folder


def scored(folder: Path, *, protocol: str = "voc2012", **classes: str) -> Result:
    return evaluate(results(folder / "sent", **classes), truth(folder), competition=3, protocol=protocol)


@pytest.mark.parametrize("protocol", ["voc2006", "voc2007", "voc2012"])
def test_a_perfect_prediction_scores_1(protocol: str, tmp_path: Path) -> None:
    report = scored(tmp_path, protocol=protocol, cat=CAT, dog=DOG)

    assert report.headline == pytest.approx(1, abs=1e-12)
    assert [each.value for each in report.classes] == pytest.approx([1, 1], abs=1e-12)
    assert [(each.name, each.positives, each.predictions) for each in report.classes] == [
        ("cat", 1, 1),
        ("dog", 2, 2),
    ]


def test_a_result_has_its_measure_and_the_scorers_version(tmp_path: Path) -> None:
    report = scored(tmp_path, cat=CAT, dog=DOG)

    assert (report.competition, report.protocol, report.scorer) == (3, "voc2012", SCORER)
    assert report.measure == "Average precision"
    assert [exhibit.kind for exhibit in report.exhibits] == ["score_table", "curve", "curve", "score_table"]
    assert report.exhibits[0] == ScoreTable(report.measure, (("cat", 1.0), ("dog", 1.0)))
    assert report.exhibits[2] == Curve("dog", 2, bytes([1, 1]))


def test_a_class_without_a_file_is_not_entered_and_there_is_no_headline(tmp_path: Path) -> None:
    report = scored(tmp_path, dog=DOG)

    assert report.classes[0] == ClassResult.not_entered("cat", 1)
    assert (report.headline, report.headline_reason) == (None, "not entered: cat")


def test_an_empty_file_is_entered_and_scores_0(tmp_path: Path) -> None:
    report = scored(tmp_path, cat="", dog=DOG)

    assert report.classes[0] == ClassResult("cat", 0.0, None, 1, 0)
    assert report.headline == 0.5


@pytest.mark.parametrize(("protocol", "headline"), [("voc2012", None), ("voc2009", 0.5)])
def test_a_class_without_objects_has_no_value_and_the_mean_follows_the_kit(
    protocol: str, headline: float | None, tmp_path: Path
) -> None:
    nowhere = annotation(thing("dog"))
    tree = Kit(tmp_path / "VOC2012").main({"a_1": nowhere}, {"cat": "-1", "dog": "1"})
    sent = results(tmp_path / "sent", cat=CAT, dog="a_1 1 1 1 10 10\n")

    report = evaluate(sent, read_tree(tree.root, "test"), competition=3, protocol=protocol)

    said, counted_as = ("", None) if headline is None else ("; the mean counts it as 0", 0.0)
    assert report.classes[0] == ClassResult(
        "cat", None, f"there is no such object in the set{said}", 0, 1, counted_as
    )
    assert report.headline == (None if headline is None else pytest.approx(headline, abs=1e-12))
    assert (report.headline_reason is None) == (headline is not None)


def test_eleven_point_ap_has_no_value_if_every_detection_is_ignored(tmp_path: Path) -> None:
    report = scored(tmp_path, protocol="voc2007", cat="a_2 1 1 1 8 8\n", dog=DOG)

    assert report.classes[0].value is None
    assert str(report.classes[0].reason).startswith("every detection matches a difficult object")
    assert (report.headline, report.headline_reason) == (None, "a class has no value")


def test_scores_with_difficult_objects_are_reported_beside_the_official_ones(tmp_path: Path) -> None:
    report = scored(tmp_path, cat=CAT + "a_2 0.8 1 1 8 8\na_2 0.7 1 1 8 8\na_2 0.6 1 1 8 8\n", dog=DOG)
    missed = scored(tmp_path / "missed", cat=CAT, dog=DOG)

    title = "Average precision, difficult objects included"
    assert report.classes[0].value == missed.classes[0].value == 1
    assert report.exhibits[-1] == ScoreTable(title, (("cat", 1.0), ("dog", 1.0), ("mean", 1.0)))
    assert missed.exhibits[-1] == ScoreTable(title, (("cat", 0.5), ("dog", 1.0), ("mean", 0.75)))


def test_all_problems_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError) as refused:
        scored(tmp_path, cat="a_9 1 1 1 2 2\n", dog="a_1 1 1 1\n" + DOG)

    assert {(problem.file, problem.line) for problem in refused.value.problems} == {
        ("comp3_det_test_cat.txt", 1),
        ("comp3_det_test_dog.txt", 1),
    }


def test_an_archive_without_a_file_of_the_competition_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match="no result file of comp4 was found") as refused:
        evaluate(results(tmp_path / "sent", cat=CAT), truth(tmp_path), competition=4, protocol="voc2012")

    assert [problem.code for problem in refused.value.problems] == ["no-results"]


def test_an_unknown_competition_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        evaluate(tmp_path, truth(tmp_path), competition=99, protocol="voc2012")


def test_an_empty_subset_of_classes_is_refused(tmp_path: Path) -> None:
    sent = results(tmp_path / "sent", cat=CAT)

    with pytest.raises(LookupError, match="no class is chosen; comp3 has cat, dog"):
        evaluate(sent, truth(tmp_path), competition=3, protocol="voc2012", classes=())


def test_a_board_has_a_column_for_each_class_in_every_task(tmp_path: Path) -> None:
    assert columns_of(truth(tmp_path).description, 3) == ("cat", "dog")
    assert all(map(is_scorable, competitions("VOC2012")))


def test_the_receipt_depends_only_on_files_ground_truth_and_protocol(tmp_path: Path) -> None:
    first = scored(tmp_path / "1", cat=CAT, dog=DOG)

    assert len(first.receipt) == 64
    assert scored(tmp_path / "2", cat=CAT, dog=DOG) == first
    assert scored(tmp_path / "3", cat=CAT, dog=DOG + "\n").receipt != first.receipt
    assert scored(tmp_path / "4", cat=CAT).receipt != first.receipt
    assert scored(tmp_path / "5", protocol="voc2007", cat=CAT, dog=DOG).receipt != first.receipt


def test_another_ground_truth_gives_another_receipt(tmp_path: Path) -> None:
    sent = results(tmp_path / "sent", cat=CAT, dog=DOG)
    corrected = kit(tmp_path / "kit").write(
        "Annotations/a_1.xml", annotation(thing("cat", (1, 1, 10, 11)), thing("dog"))
    )

    receipts = {
        evaluate(sent, version, competition=3, protocol="voc2012").receipt
        for version in (truth(tmp_path / "other"), read_tree(corrected.root, "test"))
    }

    assert len(receipts) == 2


def test_every_prediction_is_stored_with_its_outcome_best_first(tmp_path: Path) -> None:
    version = truth(tmp_path)
    sent = results(tmp_path / "sent", cat="a_2 0.1 1 1 8 8\n" + CAT, dog="a_2 0.7 1 1 2 2\n" + DOG)

    report = evaluate(sent, version, competition=3, protocol="voc2012", statistics=tmp_path / "kept")

    origin, (cat, dog) = open_rankings(tmp_path / "kept")
    assert (origin.task, origin.protocol, origin.scorer) == ("detection", "voc2012", SCORER)
    assert origin.truth == version.fingerprint
    assert (cat.class_name, cat.positives, dog.class_name, dog.positives) == ("cat", 1, "dog", 2)
    assert cat.image.tolist() == [0, 1]
    assert cat.confidence.tolist() == [0.9, 0.1]
    assert cat.outcomes.tolist() == [1, -1]
    assert dog.image.tolist() == [0, 1, 1]
    assert dog.outcomes.tolist() == [1, 1, 0]
    assert report.exhibits[2] == Curve("dog", 2, dog.outcomes.tobytes())


def test_more_classes_than_threads_are_scored_in_any_order(tmp_path: Path) -> None:
    names = [f"kind{letter}" for letter in "abcdefg"]
    tree = Kit(tmp_path / "VOC2012").main({"a_1": annotation(*map(thing, names))}, dict.fromkeys(names, "1"))
    lines = {name: f"a_1 1 1 1 10 {number + 4}\n" for number, name in enumerate(names)}
    sent = [results(tmp_path / "up", **lines), results(tmp_path / "down", **dict(reversed(lines.items())))]

    up, down = (
        evaluate(each, read_tree(tree.root, "test"), competition=3, protocol="voc2012") for each in sent
    )

    assert up == down
    assert [each.value for each in up.classes] == [0, 1, 1, 1, 1, 1, 1]


def test_paths_may_be_strings_and_protocols_objects(tmp_path: Path) -> None:
    results(tmp_path / "sent", cat=CAT, dog=DOG)
    known = read_tree(str(kit(tmp_path / "kit").root), "test")

    report = evaluate(str(tmp_path / "sent"), known, competition=3, protocol=PROTOCOLS["voc2012"])

    assert report == evaluate(tmp_path / "sent", known, competition=3, protocol="voc2012")
    assert validate(str(tmp_path / "sent"), known.description).valid


@pytest.mark.parametrize(
    ("competition", "protocol", "sentence"),
    [
        (3, "voc2013", "no protocol is called 'voc2013'; there are voc2006, "),
        (13, "voc2012", "VOC2012 has no competition 13; it has 1, 2, "),
    ],
)
def test_unknown_competitions_and_protocols_are_named(
    competition: int, protocol: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(LookupError, match=sentence):
        evaluate(results(tmp_path), truth(tmp_path), competition=competition, protocol=protocol)


def test_a_result_has_the_readers_notes_but_its_json_does_not(tmp_path: Path) -> None:
    report = scored(tmp_path, cat="\ufeff" + CAT, dog=DOG)

    assert [(note.code, note.file) for note in report.notes] == [
        ("byte-order-mark", "comp3_det_test_cat.txt")
    ]
    assert "notes" not in report.to_json()


@pytest.mark.parametrize("image", ["my cat", "chaton_é"])
def test_an_image_name_that_no_line_can_contain_is_refused(image: str, tmp_path: Path) -> None:
    page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    named = truth_of_boxes({image: page}, dataset="VOC2012", image_set="test")

    for competition, name in ((1, "cls"), (3, "det")):
        (tmp_path / f"comp{competition}_{name}_test_cat.txt").write_text(f"{image} 0.9 1 1 10 10\n")
        with pytest.raises(ValueError, match=f"no line of a result file can name the image '{image}'"):
            evaluate(tmp_path, named, competition=competition, protocol="voc2012")
