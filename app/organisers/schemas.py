"""What organisers see of their phases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.disclosure.rules import Terms
from app.editions.schemas import PhaseView
from app.evaluation.schemas import WaitingForRepair
from app.models import Disclosure
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
    stopped_counting: bool = False  # there may be more entries
    more_queued: bool = False  # behind those of all phases that were counted there may be further queued runs
    more_failed: bool = False  # longer ago there may be further failed runs
    damaged: tuple[WaitingForRepair, ...] = ()  # what runs of the phase wait for until it is repaired
    alike: int = 0  # pairs of alike results that nobody has dismissed


@dataclass(frozen=True, slots=True)
class Overview:
    """Phases; lacks_worker: whether something waits in one of them, or may wait, and no worker of any version is alive."""

    phases: tuple[OrganiserPhase, ...]
    lacks_worker: bool


@dataclass(frozen=True, slots=True)
class DisclosureView:
    """What a phase discloses; refusals: why a row may not be chosen, none where it may."""

    phase: PhaseView
    terms: Terms
    refusals: Mapping[Disclosure, str | None]


class NewDisclosure(BaseModel):
    """What a phase discloses from now on, and why."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    disclosure: Annotated[Disclosure, Field(description="what participants see until the phase is over")]
    details_at_close: Annotated[
        bool, Field(description="show curves, intervals and counts once it is over")
    ] = False
    only_complete: Annotated[
        bool, Field(description="show the values of classes of complete results only")
    ] = False
    shows_exposure: Annotated[
        bool, Field(description="say on the edition's page how many bits can have been disclosed to any team")
    ] = False
    annotation_is_public: Annotated[bool, Field(description="required for full disclosure")] = False
    reason: Annotated[str, Field(min_length=1, max_length=1000, description="for the audit")]
