"""Scoring what stands on the boards again, in the shadow: the boards keep what they show until all of it is scored."""

import structlog
from sqlalchemy import func
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.audit import queries as audit
from app.database_errors import violated_constraint
from app.editions import queries as editions
from app.entries import service as entries
from app.errors import ConflictError, NotFoundError
from app.ladder import queries as ladder
from app.models import Decision, EntryState, Rescore, Run
from app.platform import Platform
from app.publications import queries as publications
from app.rescoring import queries
from app.rescoring.rules import rescore_refusal
from app.rescoring.schemas import Choice

log = structlog.get_logger()


def request(platform: Platform, actor: Actor | None, phase_id: int, *, entry_id: int | None = None) -> int:
    """Score a phase's entries, or one of them, again under its newest ground truth and this scorer.

    actor: None for the command line. Returns the id of the re-scoring. Raises NotFoundError for a phase that the actor does
    not organise or that has no ground truth, ConflictError when the phase is already being scored again, or one entry has no
    result or should get another ground truth or scorer than the rest of its board.
    """
    with platform.transaction() as session:
        edition_id = _organised_edition(session, actor, phase_id, f"there is no phase {phase_id}")
        boards = queries.locked_boards(session, phase_id)
        truth = editions.newest_truth(session, phase_id)
        if truth is None:
            raise NotFoundError("this phase has no ground truth; import it first")
        if queries.has_open_rescore(session, phase_id):
            raise ConflictError(
                "this phase is already being scored again; wait for the end, or abandon it first"
            )
        versions = {(board.ground_truth_id, board.scorer) for board in boards}
        if entry_id is not None and versions != {(truth.id, scoring.SCORER)}:
            raise ConflictError(
                "there is a newer ground truth or scorer; score the whole phase again instead"
            )
        rescore = Rescore(
            phase_id=phase_id,
            entry_id=entry_id,
            ground_truth_id=truth.id,
            scorer=scoring.SCORER,
            requested_by=actor.user_id if actor else None,
        )
        session.add(rescore)
        session.flush()
        count = queries.queue_missing_runs(session, rescore)
        if entry_id is not None and not count:
            raise ConflictError(f"entry {entry_id} has no result any more")
        _record(session, actor, "rescore.request", rescore, edition_id, runs=count)
    platform.cache.forget_versions()
    log.info("rescore requested", rescore=rescore.id, runs=count)
    platform.notifier.wake_workers(count=min(count, platform.settings.workers))
    return rescore.id


def request_entry(
    platform: Platform, actor: Actor | None, entry_id: int, phase_id: int | None = None
) -> int | None:
    """Score one entry again; the id of the re-scoring, none for an entry without a result, which is queued as at first.

    actor: None for the command line; phase_id: where the entry has to be. Raises NotFoundError, and ConflictError as
    `request` does and for an entry that waits already or may have no result.
    """
    with platform.transaction() as session:
        place = queries.phase_of_entry(session, actor, entry_id)
    if place is None or phase_id not in (None, place):
        raise NotFoundError(f"there is no entry {entry_id}" + (" in this phase" if place else ""))
    if not _queue_without_result(platform, actor, entry_id):
        return request(platform, actor, place, entry_id=entry_id)
    platform.cache.forget_versions()
    log.info("entry queued again", entry=entry_id)
    platform.notifier.wake_workers()
    return None


def _queue_without_result(platform: Platform, actor: Actor | None, entry_id: int) -> bool:
    """Queue an entry again that was refused or has failed; False for one with a result."""
    try:
        with platform.transaction() as session:
            entry = queries.locked_entry(session, entry_id)
            if entry.state is EntryState.SCORED:
                return False
            if refusal := rescore_refusal(entry.state):
                raise ConflictError(f"entry {entry_id} {refusal}")
            if queries.has_other_result(session, entry):
                raise ConflictError(
                    f"entry {entry_id} cannot be scored: its method has another result by now"
                )
            audit.record(
                session,
                actor.user_id if actor else None,
                "entry.rescore",
                f"entry {entry_id}",
                edition_id=queries.edition_of_phase(session, entry.phase_id),
                before={"state": entry.state.value},
                after={"state": EntryState.PENDING.value},
            )
            entry.state = EntryState.PENDING
            session.flush()
            queries.queue_entry(session, entry_id)
    except IntegrityError as error:
        is_slot = violated_constraint(error) == "uq_entry_extra_slot"
        reason = "its extra slot was used for" if is_slot else "its method has"
        raise ConflictError(
            f"entry {entry_id} cannot be scored: {reason} another result{'' if is_slot else ' by now'}"
        ) from error
    return True


def _organised_edition(session: Session, actor: Actor | None, phase_id: int, missing: str) -> int:
    """The edition of a phase, which the actor organises or the command line names; else NotFoundError."""
    phase = editions.phase_of_id(session, phase_id)
    if phase is None or not (actor is None or actor.runs(phase.edition_id)):
        raise NotFoundError(missing)
    return phase.edition_id


def _record(
    session: Session, actor: Actor | None, action: str, rescore: Rescore, edition_id: int, **details: int
) -> None:
    facts = {"phase": rescore.phase_id, "entry": rescore.entry_id, **details}
    by = actor.user_id if actor else None
    audit.record(session, by, action, f"re-scoring {rescore.id}", edition_id=edition_id, details=facts)


def activate_complete(platform: Platform) -> int:
    """Switch the boards of every re-scoring that is complete; returns how many were switched.

    Safe at any time and from several workers. While runs are missing this is one look at an index.
    """
    with platform.transaction() as session:
        waiting = {
            number: queries.is_waiting(session, number) for number in queries.open_rescore_ids(session)
        }
    return sum(_activate_if_complete(platform, number) for number, waits in waiting.items() if not waits)


def _activate_if_complete(platform: Platform, rescore_id: int) -> bool:
    with platform.transaction() as session:
        rescore = queries.locked_rescore(session, rescore_id)
        if rescore is None or queries.is_waiting(session, rescore_id):
            return False
        late = queries.queue_missing_runs(session, rescore)  # of entries that reached the boards meanwhile
        if not late:
            _activate(session, rescore)
    if late:
        platform.notifier.wake_workers()
    return not late


def _activate(session: Session, rescore: Rescore) -> None:
    """Switch the boards to the new runs and versions; a reader sees the old board or the new one, nothing between."""
    if rescore.entry_id is None:
        queries.switch_boards(session, rescore)
        queries.move_queued_runs(session, rescore.phase_id)
    ladder.carry_over(session, rescore.id)
    count = publications.publish(session, Run.rescore_id == rescore.id)
    kept = publications.keep(session, rescore.id)
    rescore.activated_at = func.clock_timestamp()
    log.info("rescore activated", rescore=rescore.id, runs=count, kept=kept)


def queue_outdated(platform: Platform) -> int:
    """Queue runs for results that raced a switch and do not stand on their board; returns how many."""
    with platform.transaction() as session:
        count = queries.queue_outdated_entries(session)
    if count:
        log.info("outdated entries queued", runs=count)
        platform.notifier.wake_workers()
    return count


def decide(platform: Platform, actor: Actor, run_id: int, choice: Choice, reason: str = "") -> None:
    """Decide about an entry that a re-scoring could not score: keep its old score, withdraw it, or try again.

    The boards switch by themselves with the next sweep after the last decision.
    Raises NotFoundError for a run that waits for no decision, MalformedError for a withdrawal without a reason.
    """
    with platform.transaction() as session:
        run = queries.locked_undecided_run(session, actor, run_id)
        if run is None or run.rescore_id is None:
            raise NotFoundError(f"no run {run_id} waits for a decision")
        entry_id = run.entry_id
        if choice is Choice.KEEP:
            run.decision, run.decision_reason, run.decided_by = Decision.KEEP, reason, actor.user_id
            audit.record(
                session,
                actor.user_id,
                "rescore.keep",
                f"entry {entry_id}",
                edition_id=queries.edition_of_rescore(session, run.rescore_id),
                reason=reason,
                details={"run": run_id, "rescore": run.rescore_id},
            )
        elif choice is Choice.RETRY:
            queries.requeue_unscored(session, run.rescore_id, run_id)
    if choice is Choice.WITHDRAW:
        entries.withdraw(platform, actor, entry_id, reason)
    platform.notifier.wake_workers()


def retry(platform: Platform, actor: Actor, rescore_id: int) -> int:
    """Queue what was refused or failed in a re-scoring again; returns how many runs.

    Raises NotFoundError when it is not under way any more, or not in an edition that the actor organises.
    """
    with platform.transaction() as session:
        rescore, edition_id = _open_rescore(session, actor, rescore_id)
        count = queries.requeue_unscored(session, rescore_id)
        _record(session, actor, "rescore.retry", rescore, edition_id, runs=count)
    platform.notifier.wake_workers()
    return count


def abandon(platform: Platform, actor: Actor, rescore_id: int) -> None:
    """Drop a re-scoring; the boards stay as they are.

    Raises NotFoundError when it is not under way any more, or not in an edition that the actor organises.
    """
    with platform.transaction() as session:
        rescore, edition_id = _open_rescore(session, actor, rescore_id)
        _record(session, actor, "rescore.abandon", rescore, edition_id)
        rescore.abandoned_at = func.clock_timestamp()
        queries.abandon_runs(session, rescore_id, "the re-scoring was abandoned")
    platform.cache.forget_versions()


def _open_rescore(session: Session, actor: Actor, rescore_id: int) -> tuple[Rescore, int]:
    """An open re-scoring that the actor may end, with the id of its edition."""
    missing = f"there is no open re-scoring {rescore_id}"
    rescore = queries.locked_rescore(session, rescore_id)
    if rescore is None:
        raise NotFoundError(missing)
    return rescore, _organised_edition(session, actor, rescore.phase_id, missing)
