"""The organiser's overview of phases, their queues and failed runs."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.core.access import Actor
from app.core.errors import NotFoundError
from app.evaluation import rescoring, scoring, similarity
from app.evaluation.rescoring import RescoreView, UndecidedCursor
from app.evaluation.scoring import EMPTY_QUEUE, WaitingForRepair
from app.jobs import heartbeats
from app.models import RunState
from app.organising import extending
from app.platform import Platform


@dataclass(frozen=True, slots=True)
class OrganiserPhase:
    """A phase with its queue, ground truth and running re-scoring."""

    phase: PhaseView
    results: int
    queued: int
    running: int
    failed: int
    ground_truth: int  # the newest version
    shown_ground_truth: int  # the version that the boards show
    rescore: RescoreView | None
    not_offered: Mapping[int, str]  # competitions without ground truth, and what the annotation lacks
    stopped_counting: bool = False  # results is a lower bound
    more_queued: bool = False  # queued is a lower bound
    more_failed: bool = False  # failed is a lower bound: older runs were not counted
    damaged: tuple[WaitingForRepair, ...] = ()  # damaged files whose repair runs are waiting for
    alike: int = 0  # pairs of similar results that were not dismissed
    had_outage: bool = False  # near the deadline, by which it was not extended


@dataclass(frozen=True, slots=True)
class Overview:
    """Phases; lacks_worker: whether runs are or may be queued and no worker of any version is alive."""

    phases: tuple[OrganiserPhase, ...]
    lacks_worker: bool


def _organised(session: Session, actor: Actor, phase_id: int) -> PhaseView:
    found = next((each for each in challenges.organised_phases(session, actor) if each.id == phase_id), None)
    if found is None:
        raise NotFoundError(f"there is no phase {phase_id}")
    return found


def overview(platform: Platform, actor: Actor, following: UndecidedCursor | None = None) -> Overview:
    """Return every phase that the actor organises, with its queue, ground truth and running re-scoring.

    following: the page of a re-scoring's undecided runs, by default the first.
    """
    with platform.transaction() as session:
        phases = challenges.organised_phases(session, actor)
        queues, beyond = scoring.queues(session)
        damaged = scoring.waiting_for_repair(session)
        rescores = rescoring.open_rescores(session, following)
        newest, shown = challenges.truth_versions(session)
        not_offered = challenges.reasons_not_offered(session)
        alike = similarity.count_open(session)
        had_outage = extending.undecided(session, [phase.id for phase in phases])
        may_wait = RunState.QUEUED in beyond or any(
            queues.get(phase.id, EMPTY_QUEUE).queued for phase in phases
        )
        lacks_worker = may_wait and not heartbeats.alive_workers(session)
    found = tuple(
        OrganiserPhase(
            phase=phase,
            results=(queue := queues.get(phase.id, EMPTY_QUEUE)).results,
            queued=queue.queued,
            running=queue.running,
            failed=queue.failed,
            ground_truth=newest.get(phase.id, 0),
            shown_ground_truth=shown.get(phase.id, 0),
            rescore=rescores.get(phase.id),
            not_offered=not_offered.get(phase.id, {}),
            stopped_counting=queue.results == scoring.MAX_COUNT,
            more_queued=RunState.QUEUED in beyond,
            more_failed=RunState.FAILED in beyond,
            damaged=damaged.get(phase.id, ()),
            alike=alike.get(phase.id, 0),
            had_outage=phase.id in had_outage,
        )
        for phase in phases
    )
    return Overview(found, lacks_worker)
