"""Scoring what stands on the boards again, in the shadow: the boards keep what they show until all is through."""

import structlog
from sqlalchemy import func
from sqlalchemy.orm import Session

import scoring
from app.editions import queries as editions
from app.errors import ConflictError, NotFoundError
from app.evaluation.rules import ENDED, SHADOW
from app.models import Board, Entry, Rescore, Run, RunState
from app.platform import Platform
from app.rescoring import queries

log = structlog.get_logger()


def request(
    platform: Platform, phase_id: int, *, entry_id: int | None = None, asked_by: int | None = None
) -> int:
    """Score a phase's entries, or one of them, again under its newest ground truth and this scorer.

    Returns the re-scoring's number. Raises NotFoundError for what has no ground truth, ConflictError when the phase is
    already being scored again, or one entry should get another ground truth or scorer than the rest of its board.
    """
    with platform.transaction() as session:
        boards = queries.locked_boards(session, phase_id)
        truth = editions.newest_truth(session, phase_id)
        if truth is None:
            raise NotFoundError("this phase has no ground truth")
        if phase_id in queries.open_rescores(session):
            raise ConflictError(
                "this phase is already being scored again; wait for the end, or abandon it first"
            )
        versions = {(board.ground_truth_id, board.scorer) for board in boards}
        if entry_id is not None and versions != {(truth.id, scoring.SCORER)}:
            raise ConflictError(
                "a newer ground truth or scorer waits for the whole phase: score the phase again"
            )
        rescore = Rescore(
            phase_id=phase_id,
            entry_id=entry_id,
            ground_truth_id=truth.id,
            scorer=scoring.SCORER,
            asked_by=asked_by,
        )
        session.add(rescore)
        session.flush()
        count = _queue_missing(session, rescore, boards)
    log.info("rescore requested", rescore=rescore.id, runs=count)
    for _ in range(min(count, platform.settings.workers)):
        platform.doorbell.ring()
    return rescore.id


def request_entry(platform: Platform, entry_id: int, *, asked_by: int | None = None) -> int:
    """Score one entry again.

    Raises NotFoundError, and ConflictError as `request` does.
    """
    with platform.transaction() as session:
        phase_id = queries.phase_of_entry(session, entry_id)
    if phase_id is None:
        raise NotFoundError(f"there is no entry {entry_id}")
    return request(platform, phase_id, entry_id=entry_id, asked_by=asked_by)


def _queue_missing(session: Session, rescore: Rescore, boards: list[Board]) -> int:
    """A run for every entry within reach that has none of this re-scoring; how many."""
    protocols = {board.competition: board.protocol for board in boards}
    missing = queries.entries_to_rescore(session, rescore)
    session.add_all(_run(rescore, entry, protocols[entry.competition]) for entry in missing)
    return len(missing)


def _run(rescore: Rescore, entry: Entry, protocol: str) -> Run:
    return Run(
        entry_id=entry.id,
        rescore_id=rescore.id,
        ground_truth_id=rescore.ground_truth_id,
        protocol=protocol,
        scorer=rescore.scorer,
        priority=SHADOW,
    )


def publish_complete(platform: Platform) -> int:
    """Switch the boards of every re-scoring that is through; how many were switched.

    Safe at any time and from several workers: a re-scoring is locked while it is looked at.
    """
    with platform.transaction() as session:
        waiting = queries.unpublished_rescores(session)
    return sum(_publish_if_complete(platform, number) for number in waiting)


def _publish_if_complete(platform: Platform, number: int) -> bool:
    with platform.transaction() as session:
        phase_id = queries.phase_of_rescore(session, number)
        boards = queries.locked_boards(session, phase_id)
        rescore = queries.open_rescore(session, number)
        if rescore is None:
            return False
        late = _queue_missing(session, rescore, boards)  # what came onto the boards in the meantime
        runs = queries.runs_of_rescore(session, number)
        if not late and all(run.state is RunState.SCORED for run in runs):
            _switch(session, rescore, boards, runs)
            return True
    if late:
        platform.doorbell.ring()
    return False


def _switch(session: Session, rescore: Rescore, boards: list[Board], runs: list[Run]) -> None:
    """Show the new runs and their versions; a reader sees the old board or the new one, nothing between."""
    entries = queries.entries_of_runs(session, [run.id for run in runs])
    for run in runs:
        entries[run.id].shown_run_id = run.id
    touched = {entry.competition for entry in entries.values()}
    for board in boards:
        if rescore.entry_id is None or board.competition in touched:
            board.ground_truth_id, board.scorer = rescore.ground_truth_id, rescore.scorer
            board.version += 1
            board.updated_at = func.clock_timestamp()
    rescore.published_at = func.clock_timestamp()
    log.info("rescore published", rescore=rescore.id, runs=len(runs))


def retry(platform: Platform, number: int) -> int:
    """Queue what failed in a re-scoring again; how many runs."""
    with platform.transaction() as session:
        rescore = queries.open_rescore(session, number)
        if rescore is None:
            raise NotFoundError(f"there is no open re-scoring {number}")
        failed = [run for run in queries.runs_of_rescore(session, number) if run.state in ENDED[1:]]
        for run in failed:
            run.state, run.attempt, run.sentence = RunState.QUEUED, 0, None
    platform.doorbell.ring()
    return len(failed)


def abandon(platform: Platform, number: int) -> None:
    """Drop a re-scoring; the boards stay as they are.

    Raises NotFoundError when it is not under way any more.
    """
    with platform.transaction() as session:
        rescore = queries.open_rescore(session, number)
        if rescore is None:
            raise NotFoundError(f"there is no open re-scoring {number}")
        rescore.abandoned_at = func.clock_timestamp()
        queries.end_waiting_runs(session, number, "the re-scoring was abandoned")
