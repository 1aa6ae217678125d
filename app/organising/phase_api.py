"""JSON API: phase settings and extra slots, for organisers."""

from fastapi import APIRouter

from app.core.access import Action
from app.core.paging import Before
from app.organising import applied_versions, closing, pausing, phases
from app.organising.applied_versions import AppliedVersion
from app.organising.closing import EarlyClose
from app.organising.pausing import Pause
from app.organising.phases import NewRules, PhaseSheet
from app.submissions import quotas
from app.submissions.quotas import NewSlots
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/organise", tags=["organisers"], dependencies=[requires(Action.ORGANISE)])


@router.get("/phases/{phase_id}/rules")
def rules(platform: ThePlatform, actor: CurrentActor, phase_id: int, before: Before = None) -> PhaseSheet:
    """Get dates and quotas of a phase, and the extra slots of its teams, 200 per page."""
    return phases.phase_rules(platform, actor, phase_id, before)


@router.put("/phases/{phase_id}/rules")
def change(platform: ThePlatform, actor: CurrentActor, phase_id: int, rules: NewRules) -> PhaseSheet:
    """Set dates and quotas of a phase. Unfair changes are refused, such as bringing the deadline forward to tomorrow."""
    phases.change_rules(platform, actor, phase_id, rules)
    return phases.phase_rules(platform, actor, phase_id)


@router.get("/phases/{phase_id}/ground-truth")
def ground_truth(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> tuple[AppliedVersion, ...]:
    """List the versions of the annotation of a phase, newest first: who applied each, and since when the boards show it."""
    return applied_versions.versions_of_phase(platform, actor, phase_id)


@router.post("/phases/{phase_id}/close", status_code=204)
def close(platform: ThePlatform, actor: CurrentActor, phase_id: int, asked: EarlyClose) -> None:
    """Close a phase early, now or at a time before its deadline, without a grace period; teams are told, with the reason."""
    closing.close_early(platform, actor, phase_id, asked)


@router.post("/phases/{phase_id}/slots", status_code=201)
def grant(platform: ThePlatform, actor: CurrentActor, phase_id: int, slots: NewSlots) -> PhaseSheet:
    """Grant a team extra slots, to have results of a task scored beyond its quotas."""
    quotas.grant(platform, actor, phase_id, slots)
    return phases.phase_rules(platform, actor, phase_id)


@router.post("/phases/{phase_id}/pause", status_code=204)
def pause(platform: ThePlatform, actor: CurrentActor, phase_id: int, pause: Pause) -> None:
    """Pause scoring of a phase: runs that wait are not started and keep their places. Participants read the reason."""
    pausing.pause(platform, actor, phase_id, pause)


@router.post("/phases/{phase_id}/resume", status_code=204)
def resume(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> None:
    """Resume scoring of a phase."""
    pausing.resume(platform, actor, phase_id)


@router.delete("/slots/{slot_id}", status_code=204)
def take_back(platform: ThePlatform, actor: CurrentActor, slot_id: int, reason: str = "") -> None:
    """Revoke an unused extra slot."""
    quotas.revoke_slot(platform, actor, slot_id, reason)
