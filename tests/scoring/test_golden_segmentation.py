import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from heldout_scoring import ConfusionMatrix, Result, SubmissionError, evaluate, read_tree, validate
from heldout_scoring.scores import ScoreTable
from tests.scoring.conftest import ReadTruth, Unpack

pytestmark = pytest.mark.shared

EXACT = 1e-12
SYNTHETIC = "synthetic_seed2012.tar.xz"
EXAMPLE = "results/voc2011_seg966_example_comp5.tar.xz"


@dataclass(frozen=True)
class Case:
    """Results, what they are scored against, and where the kit's own numbers are."""

    archive: str
    tree: str
    protocol: str
    golden: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.tree}-{self.protocol}"


CASES = [
    Case(EXAMPLE, "VOC2011", "voc2011", ("seg_voc2011_example.json", "iou_2008plus")),
    Case(EXAMPLE, "VOC2011", "voc2008", ("seg_voc2011_example.json", "iou_2008plus")),
    Case(EXAMPLE, "VOC2011", "voc2007", ("seg_voc2011_example.json", "accuracy_2007")),
    Case(SYNTHETIC, "VOC2012", "voc2012", ("synthetic.json", "valid", "2012_seg")),
    Case(SYNTHETIC, "VOC2012", "voc2007", ("synthetic.json", "valid", "2007_seg")),
]


def recorded(shared: Path, file: str, *keys: str) -> dict[str, Any]:
    found = json.loads((shared / "golden" / file).read_text())
    for key in keys:
        found = found[key]
    return dict(found)


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_label_scores_what_the_kit_recorded(
    case: Case, shared: Path, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    expected = recorded(shared, *case.golden)
    truth = real_truth(case.archive, case.tree, "val")

    report = evaluate(unpacked(case.archive) / "results", truth, competition=5, protocol=case.protocol)

    [matrix] = [exhibit for exhibit in report.exhibits if isinstance(exhibit, ConfusionMatrix)]
    assert [list(row) for row in matrix.counts] == expected["rawcounts"]
    assert matrix.labels == ("background", *truth.description.classes)
    values = [each.value for each in report.classes]
    assert values == pytest.approx([accuracy / 100 for accuracy in expected["accuracies"]], rel=0, abs=EXACT)
    assert report.headline == pytest.approx(expected["avacc"] / 100, rel=0, abs=EXACT)
    assert Result.from_json(report.to_json()) == report


def test_in_2007_the_share_of_all_pixels_stands_beside(
    shared: Path, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    counts = recorded(shared, "synthetic.json", "valid", "2007_seg")["rawcounts"]

    report = evaluate(
        unpacked(SYNTHETIC) / "results",
        real_truth(SYNTHETIC, "VOC2012", "val"),
        competition=5,
        protocol="voc2007",
    )

    right = sum(row[place] for place, row in enumerate(counts))
    assert report.exhibits[1] == ScoreTable(
        "Pixel accuracy", (("all pixels", right / sum(map(sum, counts))),)
    )


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("seg_label_21", "comp5_val_cls/2008_003179.png: the label 21 at column 1, row 1 is out of range"),
        (
            "seg_missing",
            "comp5_val_cls/2008_003179.png: comp5: 1 of 40 images are missing; every image needs its mask: 2008_003179",
        ),
        ("seg_rgb", "comp5_val_cls/2008_003179.png: found a PNG of another type (RGB, 8 bits a channel)"),
        ("seg_wrong_size", "comp5_val_cls/2008_003179.png: the size is wrong: 123 x 118 pixels"),
    ],
)
def test_what_the_kit_stops_at_is_refused_with_the_file(
    folder: str, message: str, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    archive = unpacked(SYNTHETIC) / "results_bad" / folder
    truth = real_truth(SYNTHETIC, "VOC2012", "val")

    with pytest.raises(SubmissionError) as refused:
        evaluate(archive, truth, competition=5, protocol="voc2012")

    [problem] = refused.value.problems
    assert str(problem).startswith(message)
    assert validate(archive, truth.description, competitions=(5,)).problems == (problem,)


def test_results_that_the_kit_found_of_a_wrong_size_are_refused_with_both(
    unpacked: Unpack, tmp_path: Path
) -> None:
    """The kit: 'was 333 x 500, should be 500 x 337', rows first."""
    example = unpacked(EXAMPLE) / "wrong_size"
    names = ("2011_000173", "2011_000312")
    tree, results = tmp_path / "VOC2011", tmp_path / "results" / "Segmentation" / "comp5_val_cls"
    for folder in (tree / "SegmentationClass", tree / "ImageSets" / "Segmentation", results):
        folder.mkdir(parents=True)
    (tree / "ImageSets" / "Segmentation" / "val.txt").write_text("\n".join(names))
    for name in names:
        shutil.copy(example / f"{name}_gt.png", tree / "SegmentationClass" / f"{name}.png")
        shutil.copy(example / f"{name}_result.png", results / f"{name}.png")

    validation = validate(tmp_path / "results", read_tree(tree, "val").description, competitions=(5,))

    assert [problem.code for problem in validation.problems] == ["wrong-size", "wrong-size"]
    assert (validation.problems[0].found, validation.problems[0].expected) == ("500 x 333", "337 x 500")
