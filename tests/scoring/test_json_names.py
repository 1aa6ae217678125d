"""COCO's results under any name: plain, compressed, and in an archive."""

import json
from pathlib import Path
from typing import Any

import pytest

from heldout_scoring import GroundTruth, evaluate, validate
from heldout_scoring.command_line import main
from heldout_scoring.data.description import Description, Limits
from heldout_scoring.errors import SubmissionError
from heldout_scoring.evaluation import evaluate_coco
from tests.scoring.archives import Zipped, gz, tar, xz, zipped
from tests.scoring.coco_masks import draw_mask_set
from tests.scoring.test_coco_task import small

TRUTH, FOUND = small()
WHOLE = {"size": [80, 100], "counts": [0, 8000]}
MASKS = [
    {name: each[name] for name in ("image_id", "category_id", "score")} | {"segmentation": WHOLE}
    for each in FOUND
]
BOTH = [each | {"segmentation": WHOLE} for each in FOUND]


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


BOXES = as_json(FOUND)
SENT = {
    "good.json": BOXES,
    "with a mark.json": b"\xef\xbb\xbf" + BOXES,
    "good.json.gz": gz(BOXES),
    "good.json.xz": xz(BOXES),
    "without an ending": BOXES,
    "sub.tar": tar({"sub/my_results.json": BOXES}),
    "deep.tar.gz": gz(tar({"a/b/c/d/detections.json": BOXES})),
    "sub.zip": zipped([Zipped("sub/my_results.json", BOXES)]),
    "packed twice.tar": tar({"my_results.json.gz": gz(BOXES)}),
    "with others.tar": tar(
        {"._r.json": b"x", "config.json": b'{"epochs": 3}', "log.json": b"[1, 2]", "r.json": BOXES}
    ),
    "the named one first.tar": tar({"a.json": as_json(FOUND[:1]), "detections.json": BOXES}),
}


@pytest.fixture
def phase() -> Description:
    return GroundTruth.from_coco(TRUTH, image_set="val").description


def sent(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", SENT)
def test_detections_are_found_under_any_name(tmp_path: Path, phase: Description, name: str) -> None:
    path = sent(tmp_path, name, SENT[name])

    validation = validate(path, phase)

    assert validation.problems == ()
    assert [(each.number, each.lines) for each in validation.competitions] == [(1, len(FOUND))]
    truth = GroundTruth.from_coco(TRUTH, image_set="val")
    plain = evaluate(sent(tmp_path, "detections.json", BOXES), truth, protocol="coco", competition=1)
    result = evaluate(path, truth, protocol="coco", competition=1)
    assert result.headline == plain.headline
    assert (result.receipt == plain.receipt) == (name != "with a mark.json")


def test_the_worker_reads_an_archive_without_a_name(tmp_path: Path, phase: Description) -> None:
    path = sent(tmp_path, "0f3a", gz(BOXES))

    assert validate(path, phase, name="good.json.gz").valid
    assert evaluate(path, GroundTruth.from_coco(TRUTH), protocol="coco", competition=1).headline is not None


def test_masks_and_boxes_are_distinguished_by_their_fields(tmp_path: Path, phase: Description) -> None:
    both = tar({"one.json": BOXES, "two.json": as_json(MASKS)})

    assert [
        each.number for each in validate(sent(tmp_path, "m.json", as_json(MASKS)), phase).competitions
    ] == [2]
    assert [each.number for each in validate(sent(tmp_path, "b.tar", both), phase).competitions] == [1, 2]


@pytest.mark.parametrize(
    ("content", "why"), [(BOTH, "the detections have 'bbox' and 'segmentation'"), ([], "the list is empty")]
)
def test_if_both_are_possible_one_of_the_two_names_is_required(
    tmp_path: Path, phase: Description, content: Any, why: str
) -> None:
    path = sent(tmp_path, "both.json", as_json(content))

    [problem] = validate(path, phase).problems

    assert (problem.code, problem.file) == ("several-competitions", "both.json")
    assert problem.message == (
        f"{why}, so the file can be scored in more than one way; call it 'detections.json' (detection, boxes) or "
        "'segmentations.json' (instance segmentation, masks)"
    )


def test_a_file_name_or_a_request_decides_between_the_two(tmp_path: Path, phase: Description) -> None:
    path = sent(tmp_path, "both.json", as_json(BOTH))

    assert validate(path, phase, competitions=(2,)).competitions[0].number == 2
    assert validate(path, phase, competitions=(1,)).competitions[0].number == 1
    assert (
        validate(sent(tmp_path, "segmentations.json.gz", gz(as_json(BOTH))), phase).competitions[0].number
        == 2
    )
    boxes_only = Description.from_json(phase.to_json().replace('"not_offered":[]', '"not_offered":[2]'))
    assert boxes_only.not_offered == (2,)
    assert validate(path, boxes_only).competitions[0].number == 1


def test_beside_boxes_a_file_that_may_be_masks_too_is_reported(tmp_path: Path, phase: Description) -> None:
    path = sent(tmp_path, "two.tar", tar({"boxes.json": BOXES, "either.json": as_json(BOTH)}))

    validation = validate(path, phase)

    assert [each.code for each in validation.problems] == ["several-competitions"]
    assert [each.number for each in validation.competitions] == [1]


def test_two_files_of_one_competition_are_refused(tmp_path: Path, phase: Description) -> None:
    [problem] = validate(sent(tmp_path, "two.tar", tar({"x.json": BOXES, "y.json": BOXES})), phase).problems

    assert str(problem) == "y.json: a duplicate: 'x.json' is a result of comp1 (detection, boxes), too"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"[{", "bad-json"),
        (b'{"images": []}', "bad-json"),
        (b"[1]", "bad-entry"),
        (b"hello", "unsupported-type"),
        (b"", "empty"),
    ],
)
def test_a_file_that_is_not_a_list_of_detections_is_reported(
    tmp_path: Path, phase: Description, content: bytes, code: str
) -> None:
    assert validate(sent(tmp_path, "bad.json", content), phase).problems[0].code == code


def test_limits_apply_to_the_content_of_a_compressed_file(tmp_path: Path, phase: Description) -> None:
    limits = Limits(max_file_bytes=1000)
    large = gz(BOXES + b" " * 1000)

    for name, content in (("large.json.gz", large), ("large.tar", tar({"large.json.gz": large}))):
        found = validate(sent(tmp_path, name, content), phase, limits=limits)
        assert found.problems[0].code == "file-too-large"


@pytest.mark.parametrize("name", ["good.json.gz", "sub.zip", "deep.tar.gz"])
def test_two_files_are_scored_from_any_packing(tmp_path: Path, name: str) -> None:
    plain = evaluate_coco(BOXES, as_json(TRUTH))

    packed = evaluate_coco(sent(tmp_path, name, SENT[name]), as_json(TRUTH))

    assert (packed.figures, packed.receipt) == (plain.figures, plain.receipt)


def test_an_archive_is_read_for_the_requested_masks_or_boxes(tmp_path: Path) -> None:
    truth, found = draw_mask_set(3)
    path = sent(tmp_path, "both.tar", tar({"detections.json": b"[]", "segmentations.json": as_json(found)}))

    assert evaluate_coco(path, truth, masks=True).figures == evaluate_coco(found, truth, masks=True).figures
    with pytest.raises(SubmissionError, match="no result file of comp1 was found"):
        evaluate_coco(sent(tmp_path, "none.tar", tar({"readme.txt": b"x"})), truth)


def test_the_command_line_checks_one_json_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = sent(tmp_path, "instances.json", as_json(TRUTH))
    path = sent(tmp_path, "good.json.gz", SENT["good.json.gz"])

    codes = [
        main(["validate", "--truth", str(truth), "--results", str(each)])
        for each in (path, tmp_path / "none.json")
    ]

    good, absent = map(json.loads, capsys.readouterr().out.splitlines())
    assert (codes, good["valid"], good["competitions"][0]["number"]) == ([0, 2], True, 1)
    assert absent["problems"][0]["code"] == "no-file"
