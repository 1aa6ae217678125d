"""What organisers see of their phases."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.editions.schemas import PhaseView
from app.rescoring.schemas import RescoreView


@dataclass(frozen=True, slots=True)
class OrganiserPhase:
    """A phase with its queue, its ground truth and a re-scoring that is under way."""

    phase: PhaseView
    entries: int
    queued: int
    running: int
    failed: int
    ground_truth: int  # newest version
    shown_ground_truth: int  # the version that the boards show
    rescore: RescoreView | None
    not_offered: Mapping[int, str]  # competitions without ground truth, and what the annotation lacks
