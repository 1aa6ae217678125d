from pathlib import Path

import numpy as np
import pytest

from heldout_scoring.data.matches import open_rankings
from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.errors import SubmissionError
from heldout_scoring.evaluation import columns_of, evaluate
from heldout_scoring.readers.voc_tree import read_tree
from heldout_scoring.results import Result
from heldout_scoring.scores import ClassResult, Curve, RocCurve, ScoreTable
from tests.scoring.builders import Kit, annotation, kit

CAT = "a_1 0.9\na_2 0.1\n"
DOG = "a_1 0.9\na_2 0.8\n"


def truth(folder: Path) -> GroundTruth:
    """A dog in each of two images, a cat in the first and a difficult cat in the second."""
    return read_tree(kit(folder / "kit").root, "test")


def labelled(folder: Path, **labels: str) -> GroundTruth:
    """Images without objects and with these labels for each class."""
    count = len(next(iter(labels.values())).split())
    return read_tree(
        Kit(folder / "VOC2012").main({f"i{n}": annotation() for n in range(count)}, labels).root, "test"
    )


def results(folder: Path, **classes: str) -> Path:
    main = folder / "results" / "VOC2012" / "Main"
    main.mkdir(parents=True)
    for name, lines in classes.items():
        (main / f"comp1_cls_test_{name}.txt").write_text(lines)
    return folder


def scored(folder: Path, version: GroundTruth, *, protocol: str = "voc2012", **classes: str) -> Result:
    return evaluate(results(folder / "sent", **classes), version, competition=1, protocol=protocol)


@pytest.mark.parametrize("protocol", ["voc2007", "voc2009", "voc2010", "voc2012"])
def test_a_perfect_prediction_scores_1(protocol: str, tmp_path: Path) -> None:
    report = scored(tmp_path, truth(tmp_path), protocol=protocol, cat=CAT, dog=DOG)

    assert report.headline == pytest.approx(1, abs=1e-12)
    assert [(each.name, each.positives, each.predictions) for each in report.classes] == [
        ("cat", 1, 2),
        ("dog", 2, 2),
    ]


def test_a_result_has_a_curve_for_each_class_and_scores_with_difficult_images(tmp_path: Path) -> None:
    report = scored(tmp_path, truth(tmp_path), cat="a_1 0.1\na_2 0.9\n", dog=DOG)

    table, cat, dog, beside = report.exhibits
    assert table == ScoreTable("Average precision", (("cat", 1.0), ("dog", 1.0)))
    assert cat == Curve("cat", 1, bytes([255, 1]))
    assert dog == Curve("dog", 2, bytes([1, 1]))
    assert beside == ScoreTable(
        "Average precision, difficult objects included",
        (("cat", 1.0), ("dog", 1.0), ("mean", 1.0)),
    )


def test_difficult_images_change_only_the_scores_that_include_them(tmp_path: Path) -> None:
    report = scored(tmp_path, labelled(tmp_path, cat="1 0 -1 -1"), cat="i0 4\ni3 3\ni2 2\ni1 1\n")

    beside = report.exhibits[-1]
    assert report.classes[0] == ClassResult("cat", 1.0, None, 1, 4)
    assert isinstance(beside, ScoreTable)
    assert beside.rows == (("cat", 0.75), ("mean", 0.75))


def test_ties_keep_the_order_of_the_image_set_not_of_the_file(tmp_path: Path) -> None:
    report = scored(tmp_path, labelled(tmp_path, cat="-1 1"), cat="i1 1\ni0 1\n")

    assert report.headline == 0.5


def test_a_missing_image_ranks_last(tmp_path: Path) -> None:
    report = scored(tmp_path, labelled(tmp_path, cat="1 1 -1"), cat="i2 -1e300\ni1 0\n")

    assert report.exhibits[1] == Curve("cat", 2, bytes([1, 0, 1]))
    assert report.classes[0].predictions == 2


def test_the_last_of_several_lines_for_an_image_counts_once_accepted(tmp_path: Path) -> None:
    sent, version = results(tmp_path / "sent", cat="i0 0\ni1 1\ni0 2\n"), labelled(tmp_path, cat="1 -1")

    report = evaluate(sent, version, competition=1, protocol="voc2012", accepted=True)

    assert report.headline == 1
    assert report.classes[0].predictions == 2


def test_an_empty_file_ranks_images_in_the_order_of_the_image_set(tmp_path: Path) -> None:
    report = scored(tmp_path, labelled(tmp_path, cat="-1 1"), cat="")

    assert report.classes[0] == ClassResult("cat", 0.5, None, 1, 0)


def test_a_class_without_a_file_is_not_entered_and_there_is_no_headline(tmp_path: Path) -> None:
    report = scored(tmp_path, truth(tmp_path), dog=DOG)

    assert report.classes[0] == ClassResult.not_entered("cat", 1)
    assert (report.headline, report.headline_reason) == (None, "not entered: cat")
    assert report.exhibits[-1] == ScoreTable(
        "Average precision, difficult objects included",
        (("cat", None), ("dog", 1.0), ("mean", None)),
    )


def test_only_the_classes_of_a_declared_subset_are_scored(tmp_path: Path) -> None:
    sent = results(tmp_path / "sent", cat=CAT, dog=DOG)

    report = evaluate(sent, truth(tmp_path), competition=1, protocol="voc2012", classes=["dog"])

    assert [each.name for each in report.classes] == ["dog"]
    assert report.headline == 1


@pytest.mark.parametrize(("protocol", "headline"), [("voc2012", None), ("voc2009", 0.5), ("voc2006", None)])
def test_a_class_without_objects_has_no_value_and_the_mean_follows_the_kit(
    protocol: str, headline: float | None, tmp_path: Path
) -> None:
    version = labelled(tmp_path, cat="-1 -1", dog="1 -1")

    report = scored(tmp_path, version, protocol=protocol, cat="i0 1\n", dog="i0 1\n")

    said, counted_as = ("", None) if headline is None else ("; the mean counts it as 0", 0.0)
    assert report.classes[0] == ClassResult(
        "cat", None, f"there is no such object in the set{said}", 0, 1, counted_as
    )
    assert report.headline == (None if headline is None else pytest.approx(headline, abs=1e-12))
    assert (report.headline_reason is None) == (headline is not None)


def test_the_measure_of_2006_is_the_area_under_the_roc_curve(tmp_path: Path) -> None:
    version = labelled(tmp_path, cat="1 1 -1 -1 0")

    report = scored(tmp_path, version, protocol="voc2006", cat="i0 4\ni2 3\ni1 2\n")

    assert report.measure == "ROC AUC"
    assert report.headline == 0.75
    assert report.exhibits[1] == RocCurve("cat", bytes([1, 0, 1, 0, 255]), bytes([1, 1, 1, 0, 1]))


def test_the_measure_of_2006_needs_positives_and_negatives(tmp_path: Path) -> None:
    report = scored(tmp_path, labelled(tmp_path, cat="1 1"), protocol="voc2006", cat="i0 1\n")

    assert report.classes[0].reason == "there is such an object in every image"
    assert report.headline_reason == "a class has no value"


def test_all_problems_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError) as refused:
        scored(tmp_path, truth(tmp_path), cat="a_1 nan\n", dog="a_1 1\na_9 1\n")

    assert [(problem.code, problem.file, problem.line) for problem in refused.value.problems] == [
        ("not-finite", "comp1_cls_test_cat.txt", 1),
        ("unknown-image", "comp1_cls_test_dog.txt", 2),
    ]


def test_every_image_is_stored_with_its_outcome_best_first(tmp_path: Path) -> None:
    sent = results(tmp_path / "sent", cat="a_2 0.5\n", dog=DOG)

    evaluate(sent, truth(tmp_path), competition=1, protocol="voc2012", statistics=tmp_path / "kept")

    _, (cat, dog) = open_rankings(tmp_path / "kept")
    assert (cat.class_name, cat.positives) == ("cat", 1)
    assert cat.image.tolist() == [1, 0]
    assert cat.confidence.tolist() == [0.5, -np.inf]
    assert cat.outcomes.tolist() == [-1, 1]
    assert dog.outcomes.tolist() == [1, 1]


def test_the_order_of_files_and_lines_changes_only_the_receipt(tmp_path: Path) -> None:
    version = truth(tmp_path)

    one = scored(tmp_path / "1", version, cat=CAT, dog=DOG)
    other = scored(tmp_path / "2", version, dog=DOG, cat="a_2 0.1\na_1 0.9\n")

    assert (one.classes, one.exhibits, one.headline) == (other.classes, other.exhibits, other.headline)
    assert one.receipt != other.receipt


def test_a_result_survives_a_round_trip_through_json(tmp_path: Path) -> None:
    for protocol in ("voc2006", "voc2012"):
        report = scored(
            tmp_path / protocol, labelled(tmp_path / protocol, cat="1 -1"), protocol=protocol, cat="i0 1\n"
        )

        assert Result.from_json(report.to_json()) == report


def test_a_board_has_a_column_for_each_class(tmp_path: Path) -> None:
    assert columns_of(truth(tmp_path).description, 2) == ("cat", "dog")
