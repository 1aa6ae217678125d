"""LVIS: classes are rare, common or frequent, and not all are annotated in every image."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import Detections, GroundTruth, ScoreTable, evaluate, validate
from heldout_scoring.command_line import main
from heldout_scoring.errors import SubmissionError
from heldout_scoring.evaluation import evaluate_coco, missing_truth
from heldout_scoring.statistics.bootstrap import intervals_of
from tests.scoring.archives import gz, tar, written
from tests.scoring.coco_sets import Plain
from tests.scoring.lvis_sets import FIGURES, draw_lvis_set, official_lvis

CLOSE = 1e-12


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def small() -> tuple[Plain, list[Plain]]:
    """Two images with a cat in one only; whether the second contains dogs or birds is unknown."""
    box = [1, 1, 40, 40]
    cat = {"id": 1, "image_id": 1, "category_id": 1, "bbox": box, "area": 1600}
    truth = {
        "images": [
            {"id": 1, "neg_category_ids": [2], "not_exhaustive_category_ids": []},
            {"id": 2, "neg_category_ids": [1], "not_exhaustive_category_ids": [1]},
        ],
        "categories": [
            {"id": 1, "name": "cat", "frequency": "f"},
            {"id": 2, "name": "dog", "frequency": "r"},
            {"id": 3, "name": "bird", "frequency": "c"},
        ],
        "annotations": [cat, cat | {"id": 2, "category_id": 2, "image_id": 2}],
    }
    return truth, [{"image_id": 1, "category_id": 1, "bbox": box, "score": 0.5}]


@pytest.mark.parametrize("seed", range(24))
def test_boxes_score_as_in_the_official_program(seed: int) -> None:
    truth, found = draw_lvis_set(seed)

    result = evaluate_coco(as_json(found), as_json(truth), protocol="lvis")

    assert list(result.figures) == list(FIGURES)
    assert result.figures == pytest.approx(official_lvis(truth, found), abs=CLOSE)


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 8, 9, 31])
def test_masks_score_as_in_the_official_program(seed: int) -> None:
    truth, found = draw_lvis_set(seed, masks=True)

    result = evaluate_coco(as_json(found), as_json(truth), masks=True, protocol="lvis")

    assert result.figures == pytest.approx(official_lvis(truth, found, "segm"), abs=CLOSE)


@pytest.mark.parametrize(("seed", "name"), [(3, "detections"), (4, "detections"), (9, "segmentations")])
def test_an_archive_scores_what_the_two_files_score(seed: int, name: str, tmp_path: Path) -> None:
    masks = name == "segmentations"
    instances, found = draw_lvis_set(seed, masks=masks)
    truth = GroundTruth.of_bytes(GroundTruth.from_coco(instances).content)
    path = written(tmp_path, gz(tar({f"results/LVIS/{name}.json": as_json(found)})), "results.tar.gz")

    result = evaluate(path, truth, protocol="lvis", competition=2 if masks else 1)

    assert validate(path, truth.description).valid
    table = result.exhibits[1]
    assert isinstance(table, ScoreTable)
    expected = evaluate_coco(as_json(found), as_json(instances), masks=masks, protocol="lvis")
    assert dict(table.rows) == expected.figures


def test_detections_of_classes_with_unknown_presence_do_not_count() -> None:
    truth, found = small()
    certain = {"bbox": [1, 1, 40, 40], "score": 0.9}
    unknown = {"image_id": 1, "category_id": 3, **certain}
    incomplete = {"image_id": 2, "category_id": 1, **certain}
    absent = {"image_id": 1, "category_id": 2, **certain}

    def value(*more: Plain, name: str = "cat") -> float | None:
        return evaluate_coco(as_json([*found, *more]), as_json(truth), protocol="lvis")[name].value

    assert value() == value(unknown, incomplete) == pytest.approx(1)
    hit = {"image_id": 2, "category_id": 2, "bbox": [1, 1, 40, 40], "score": 0.5}
    assert value(hit, name="dog") == pytest.approx(1)
    assert value(hit, absent, name="dog") == pytest.approx(0.5)


def test_lvis_annotation_has_its_own_competitions() -> None:
    lvis, coco = GroundTruth.from_coco(small()[0]), small()[0]
    for image in coco["images"]:
        del image["neg_category_ids"]

    assert lvis.lists.dataset == "LVIS"
    assert missing_truth(lvis) == {2: "no object has a segmentation"}
    plain = GroundTruth.from_coco(coco, dataset="LVIS")
    assert missing_truth(plain)[1] == "the annotation does not say which classes are absent from an image"
    assert missing_truth(GroundTruth.from_coco(draw_lvis_set(1, masks=True)[0])) == {}
    assert GroundTruth.from_coco(coco).lists.dataset == "COCO"


def test_the_description_does_not_tell_which_classes_are_absent() -> None:
    truth = GroundTruth.from_coco(small()[0])
    others = small()[0]
    others["images"][0]["neg_category_ids"] = []

    assert truth.description == GroundTruth.from_coco(others).description
    assert truth.fingerprint != GroundTruth.from_coco(others).fingerprint


def test_a_subset_of_classes_has_its_own_figures_by_frequency() -> None:
    truth, found = GroundTruth.from_coco(small()[0]), small()[1]

    result = evaluate(Detections.from_coco(found, truth), truth, protocol="lvis", classes=["cat"])

    table = result.exhibits[1]
    assert isinstance(table, ScoreTable)
    assert dict(table.rows)["APf"] == pytest.approx(1)
    assert dict(table.rows)["APr"] is None


def test_results_have_intervals() -> None:
    instances, found = draw_lvis_set(4)
    truth = GroundTruth.from_coco(instances)
    result = evaluate(Detections.from_coco(found, truth), truth, protocol="lvis")

    *_, mean = intervals_of(result, truth, replicates=50).rows

    assert mean.low is not None
    assert mean.low <= (result.headline or 0)


def test_coco_annotation_is_refused() -> None:
    truth = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 9, 9]], convention="half-open")
    found = Detections.from_arrays(["a"], ["cat"], [0.5], [[1, 1, 9, 9]])

    with pytest.raises(LookupError, match="does not say which classes are absent"):
        evaluate(found, truth, protocol="lvis")


@pytest.mark.parametrize(
    ("where", "changed", "code"),
    [
        ("images", {"neg_category_ids": [9]}, "unknown-category"),
        ("images", {"not_exhaustive_category_ids": 3}, "bad-list"),
        ("images", {"not_exhaustive_category_ids": ["cat"]}, "bad-list"),
        ("categories", {"frequency": "often"}, "bad-frequency"),
        ("categories", {"frequency": None}, "bad-frequency"),
    ],
)
def test_problems_are_named(where: str, changed: Plain, code: str) -> None:
    truth, _ = small()
    truth[where][0] |= changed

    with pytest.raises(SubmissionError) as refused:
        GroundTruth.from_coco(truth)

    assert [each.code for each in refused.value.problems] == [code]
    assert f"{where}[0]" in refused.value.problems[0].message


def test_without_detections_the_headline_is_0_and_is_not_explained() -> None:
    truth, _ = small()

    assert evaluate_coco(b"[]", as_json(truth), protocol="lvis").headline == 0
    with pytest.raises(LookupError, match="explanations are those of COCO's rules, not of lvis"):
        evaluate_coco(b"[]", as_json(truth), protocol="lvis").explain()


def test_the_command_line_scores_lvis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, found = draw_lvis_set(5)
    files = []
    for name, content in (("truth", truth), ("results", found)):
        (tmp_path / name).write_bytes(as_json(content))
        files += [f"--{name}", str(tmp_path / name)]

    assert main(["evaluate", "--protocol", "lvis", *files]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["protocol"], list(said["figures"])) == ("lvis", list(FIGURES))
    assert main(["evaluate", "--protocol", "lvis", *files, "--explain"]) == 2
    assert "--explain goes with --protocol coco only" in capsys.readouterr().out
    for image in truth["images"]:
        del image["neg_category_ids"]
    (tmp_path / "truth").write_bytes(as_json(truth))
    assert main(["evaluate", "--protocol", "lvis", *files]) == 2
    assert "does not say which classes are absent" in capsys.readouterr().out


def test_detections_of_an_unannotated_class_leave_other_classes_alone() -> None:
    """A class whose number is larger than that of any annotated class does not collide with another."""
    truth, found = small()
    truth["images"][1]["neg_category_ids"] = []
    truth["images"][0]["neg_category_ids"] = [3]
    bird = found[0] | {"category_id": 3, "image_id": 2}

    result = evaluate_coco(as_json([*found, bird]), as_json(truth), protocol="lvis")

    assert np.isclose(result["cat"].value or 0, 1)
    assert result["bird"].value is None
