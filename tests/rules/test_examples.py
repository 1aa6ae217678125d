"""Example archives are valid in every competition of every data set, and reproducible."""

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

import heldout_scoring
from app.boards.rows import BoardKey
from app.challenges.examples import WHOLE_IMAGE, example_files, has_sizes, line_grammar, packed_example
from app.challenges.phase_rules import PhaseState
from app.models import Disclosure
from app.operations.documentation import first_to_try
from heldout_scoring import Description, Image
from heldout_scoring.data.description import UNKNOWN_SIDE
from tests.pages.views import PHASE

IMAGES = (Image("000001", 40, 30), Image("000002", 30, 50))
DATASETS = ("VOC2006", "VOC2007", "VOC2012", "COCO", "LVIS", "sample")


def description(dataset: str) -> Description:
    person = WHOLE_IMAGE if dataset == "VOC2007" else 1
    return Description(
        dataset=dataset,
        image_set="test",
        classes=("car", "cat"),
        actions=("running", "walking"),
        images=IMAGES,
        segmentation=("000001", "000002"),
        persons=(("000001", person),),
        acting=(("000001", 1), ("000002", 1)),
        class_numbers=(3, 8) if dataset in {"COCO", "LVIS"} else (),
    )


CASES = [(dataset, each.number) for dataset in DATASETS for each in heldout_scoring.competitions(dataset)]


@pytest.mark.parametrize(("dataset", "competition"), CASES)
def test_an_example_is_valid(dataset: str, competition: int, tmp_path: Path) -> None:
    phase = description(dataset)
    archive = tmp_path / "example.tar.gz"

    archive.write_bytes(packed_example(phase, heldout_scoring.competition_of(dataset, competition)))

    report = heldout_scoring.validate(archive, phase)
    assert report.problems == ()
    assert [found.number for found in report.competitions] == [competition]


def test_an_example_is_the_same_each_time() -> None:
    competition = heldout_scoring.competition_of("VOC2012", 3)
    first = packed_example(description("VOC2012"), competition)
    packed_example.cache_clear()

    assert packed_example(description("VOC2012"), competition) == first
    with tarfile.open(fileobj=io.BytesIO(first)) as archive:
        assert archive.getnames()[0] == "results/VOC2012/Main/comp3_det_test_car.txt"


def test_every_prediction_of_an_example_has_the_same_confidence() -> None:
    files = dict(example_files(description("VOC2012"), heldout_scoring.competition_of("VOC2012", 1)))

    assert {line.split()[1] for content in files.values() for line in content.splitlines()} == {b"0.5"}


def test_no_example_is_offered_if_image_sizes_are_unknown() -> None:
    unknown = Description("VOC2012", "test", ("car",), (), (Image("a", UNKNOWN_SIDE, UNKNOWN_SIDE),))

    assert has_sizes(description("VOC2012"))
    assert not has_sizes(unknown)


def test_every_task_has_a_line_grammar() -> None:
    assert all(
        line_grammar(each.task) for dataset in DATASETS for each in heldout_scoring.competitions(dataset)
    )


def test_documented_api_calls_use_an_open_board_with_public_annotation() -> None:
    closed = replace(PHASE, challenge="old", state=PhaseState.CLOSED, disclosure=Disclosure.FULL)
    held_out = replace(PHASE, state=PhaseState.OPEN, disclosure=Disclosure.CLASSES)
    public = replace(held_out, image_set="val", disclosure=Disclosure.FULL, not_offered=(1, 2))
    without_truth = replace(PHASE, not_offered=tuple(range(1, 11)))

    assert first_to_try([closed, held_out, public]) == BoardKey(PHASE.challenge, "val", 3)
    assert first_to_try([closed, held_out]) == BoardKey(PHASE.challenge, PHASE.image_set, 1)
    assert first_to_try([without_truth, closed]) == BoardKey("old", PHASE.image_set, 1)
    assert first_to_try([]) is None
