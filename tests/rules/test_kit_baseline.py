"""What the baseline of a development kit is trained on, and what it predicts."""

from dataclasses import replace

import pytest

from app.challenges.kit_readme import Baseline, KitPhase
from app.challenges.kits import baseline_of
from app.challenges.phase_rules import PhaseState
from heldout_scoring.competitions import competition_of
from tests.pages.views import PHASE

VOC = "VOC2012"


def phase(name: str, state: PhaseState, *, has_annotation: bool = False) -> KitPhase:
    known = replace(PHASE, dataset=VOC, image_set=name, state=state, publishes_images=True)
    return KitPhase(known, (competition_of(VOC, 1),), has_examples=True, has_annotation=has_annotation)


VAL = phase("val", PhaseState.OPEN, has_annotation=True)
PILOT, TEST = phase("pilot", PhaseState.CLOSED), phase("test", PhaseState.OPEN)


@pytest.mark.parametrize(
    ("phases", "predicts"),
    [((VAL, PILOT, TEST), "test"), ((VAL, PILOT), "pilot"), ((VAL,), "val")],
    ids=["open", "closed", "alone"],
)
def test_the_baseline_predicts_rather_a_phase_that_accepts_results(
    phases: tuple[KitPhase, ...], predicts: str
) -> None:
    assert baseline_of(phases) == Baseline("val", predicts, competition_of(VOC, 1))


def test_without_annotation_to_train_on_there_is_no_baseline() -> None:
    assert baseline_of((PILOT, TEST)) is None
