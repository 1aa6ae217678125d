"""JSON API: phase settings and extra slots, for organisers."""

from fastapi import APIRouter

from app.core.access import Action
from app.core.paging import Before
from app.intake import diff_pictures, going_back, version_diffs
from app.intake.diff_pictures import ShownChanges
from app.intake.going_back import GoingBack
from app.intake.version_diffs import DiffView
from app.organising import applied_versions, closing, pausing, phases
from app.organising.applied_versions import AppliedVersion, Note, VersionNumber, VersionSheet
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


@router.get("/phases/{phase_id}/ground-truth/{version}")
def ground_truth_version(
    platform: ThePlatform, actor: CurrentActor, phase_id: int, version: VersionNumber
) -> VersionSheet:
    """Get a version of the annotation of a phase with the counts of its classes, and whether a worker goes back to one."""
    return applied_versions.version_of_phase(platform, actor, phase_id, version)


@router.put("/phases/{phase_id}/ground-truth/{version}/note", status_code=204)
def write_note(
    platform: ThePlatform, actor: CurrentActor, phase_id: int, version: VersionNumber, note: Note
) -> None:
    """Say what is new in a version, for the organisers of the challenge alone."""
    applied_versions.write_note(platform, actor, phase_id, version, note)


@router.get("/phases/{phase_id}/ground-truth/{version}/changes/{before}")
def changes(
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    version: VersionNumber,
    before: VersionNumber,
) -> DiffView:
    """Get what changed in a version since another one, if you have asked for it; nobody else sees it."""
    return version_diffs.view(platform, actor, phase_id, before, version)


@router.post("/phases/{phase_id}/ground-truth/{version}/changes/{before}", status_code=202)
def compare(
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    version: VersionNumber,
    before: VersionNumber,
) -> None:
    """Have a worker find what changed in a version since another one, for you alone."""
    version_diffs.request(platform, actor, phase_id, before, version)


@router.get("/phases/{phase_id}/ground-truth/{version}/changes/{before}/drawn")
def pictures_of_changes(
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    version: VersionNumber,
    before: VersionNumber,
) -> ShownChanges:
    """List the images of what changed that a worker has drawn for you: `/organise/phases/…/drawn/1` is the first, for ten minutes."""
    return diff_pictures.shown(platform, actor, phase_id, before, version)


@router.post("/phases/{phase_id}/ground-truth/{version}/changes/{before}/drawn", status_code=202)
def draw_changes(
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    version: VersionNumber,
    before: VersionNumber,
) -> None:
    """Have a worker draw up to twelve images that differ, for you alone."""
    diff_pictures.request(platform, actor, phase_id, before, version)


@router.post("/phases/{phase_id}/ground-truth/{version}/use", status_code=202)
def go_back(
    platform: ThePlatform, actor: CurrentActor, phase_id: int, version: VersionNumber, asked: GoingBack
) -> None:
    """Go back to an earlier version: a worker stores it again as the next one, which boards show after a re-scoring."""
    going_back.request(platform, actor, phase_id, version, asked)


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
