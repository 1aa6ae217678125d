"""What callers do with a result: look at a class, print, plot, store."""

from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from heldout_scoring import Confidences, Detections, GroundTruth, LabelMaps, Result, evaluate
from heldout_scoring.data.matches import open_rankings
from heldout_scoring.scores import Curve, RocCurve

BOX = [1, 1, 10, 10]


def detected() -> Result:
    truth = GroundTruth.from_arrays(
        ["a", "b"], ["car", "cat"], [BOX, BOX], convention="inclusive", classes=["car", "cat", "motorbike"]
    )
    found = Detections.from_arrays(
        ["a", "a", "b"], ["car", "car", "cat"], [0.9, 0.8, 0.7], [BOX, BOX, [9, 9, 20, 20]]
    )
    return evaluate(found, truth, protocol="voc2012")


def classified(protocol: str) -> Result:
    truth = GroundTruth.from_labels([[1], [0], [1]], classes=["cat"])
    found = Confidences.from_matrix([[0.9], [0.5], [0.1]], classes=["cat"])
    return evaluate(found, truth, protocol=protocol)


def segmented() -> Result:
    truth = GroundTruth.from_label_maps([[[0, 1], [1, 1]]], classes=["cat", "dog"])
    return evaluate(LabelMaps.from_arrays([[[0, 1], [1, 0]]]), truth, protocol="voc2012")


def test_a_class_has_its_value_curve_and_matches() -> None:
    car = detected()["car"]

    assert (car.ap, car.value, car.score.positives) == (1.0, 1.0, 1)
    assert isinstance(car.curve, Curve)
    assert car.matches is not None
    assert car.matches.outcomes.tolist() == [1, 0]


def test_an_unknown_class_is_named() -> None:
    with pytest.raises(KeyError, match="the result has no class 'dog'; it has car, cat, motorbike"):
        detected()["dog"]


def test_ap_is_refused_if_the_measure_is_not_average_precision() -> None:
    assert classified("voc2006")["cat"].value == 0.5
    assert classified("voc2007")["cat"].ap is not None
    with pytest.raises(
        AttributeError, match="the measure is 'ROC AUC', not an average precision: see `value`"
    ):
        _ = classified("voc2006")["cat"].ap


def test_a_result_prints_as_a_table() -> None:
    assert str(detected()).splitlines() == [
        "Average precision by voc2012",
        "class       value  positives  predictions",
        "car        1.0000          1            2",
        "cat        0.0000          1            1",
        "motorbike       -          0            0  there is no such object in the set; the mean counts it as 0",
        "mean       0.3333  motorbike counts as 0",
    ]


def test_print_and_json_name_classes_without_objects_that_the_mean_counts() -> None:
    truth = GroundTruth.from_arrays(["a"], ["0"], [BOX], convention="inclusive", classes=list("0123456789"))
    found = Detections.from_arrays(["a"], ["0"], [0.9], [BOX])

    result = evaluate(found, truth, protocol="voc2012")
    undefined = evaluate(
        Detections.from_arrays(["a", "a"], ["0", "1"], [0.9, 0.5], [BOX, BOX]), truth, protocol="voc2012"
    )

    assert str(result).splitlines()[-1] == "mean      0.1000  1, 2, 3, 4, 5 and 4 more count as 0"
    assert Result.from_json(result.to_json()).classes[1].reason == (
        "there is no such object in the set; the mean counts it as 0"
    )
    assert undefined.headline is None
    assert {each.reason for each in undefined.classes[1:]} == {"there is no such object in the set"}


def test_the_reason_for_a_missing_headline_is_printed() -> None:
    assert str(segmented()).splitlines()[-1].startswith("mean             -  ")


def test_a_frame_has_a_row_for_each_class() -> None:
    frame = detected().to_frame()

    assert frame.columns == ["class", "value", "positives", "predictions", "reason"]
    assert frame.row(2)[:4] == ("motorbike", None, 0, 0)
    assert frame.row(2)[4] == "there is no such object in the set; the mean counts it as 0"


def test_the_matches_of_a_result_are_saved_on_request(tmp_path: Path) -> None:
    result = detected()

    result.save_matches(tmp_path / "matches")

    origin, [car, *_] = open_rankings(tmp_path / "matches")
    assert (origin, car.outcomes.tolist()) == (result.origin, [1, 0])
    with pytest.raises(ValueError, match="not in memory: evaluate the predictions again"):
        Result.from_json(result.to_json()).save_matches(tmp_path / "again")


@pytest.fixture
def _no_window() -> None:
    mpl.use("agg")


def labels(axes: Any) -> list[str]:
    return [line.get_label() for line in axes.get_lines()]


@pytest.mark.usefixtures("_no_window")
def test_curves_are_drawn_with_their_values() -> None:
    axes = detected().plot()

    assert labels(axes)[:2] == ["car 1.000", "cat 0.000"]
    assert axes.get_lines()[0].get_ydata().tolist() == [1.0, 0.5]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("recall", "precision")


@pytest.mark.usefixtures("_no_window")
def test_roc_curves_are_drawn_on_given_axes() -> None:
    given = import_module("matplotlib.pyplot").subplots()[1]

    axes = classified("voc2006").plot(given)

    assert axes is given
    assert isinstance(classified("voc2006")["cat"].curve, RocCurve)
    assert (labels(axes), axes.get_xlabel()) == (["cat 0.500"], "false positive rate")


@pytest.mark.usefixtures("_no_window")
def test_values_without_curves_are_drawn_as_bars() -> None:
    axes = segmented().plot()

    assert axes.get_xlabel() == "Intersection over union"
    assert [bar.get_width() for bar in axes.patches][:2] == [0.5, 2 / 3]


def test_plotting_without_matplotlib_explains_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)

    with pytest.raises(ImportError, match=r"install heldout-scoring\[plot\]"):
        detected().plot()
