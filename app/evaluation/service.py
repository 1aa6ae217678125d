"""Scoring runs: claim, score apart, record in one transaction; sweep up what was lost."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import structlog
from sqlalchemy import func
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

import scoring
from app import children
from app.editions import service as editions
from app.evaluation import queries
from app.evaluation.rules import GAVE_UP, after_failure
from app.evaluation.schemas import Claim
from app.models import Board, ClassScore, Entry, EntryState, Exhibit, Run, RunState
from app.platform import Platform
from app.sandbox import ChildLimits, TooMuchError, run_apart

log = structlog.get_logger()

MOST_RINGS = 100  # of one sweep


@dataclass(frozen=True, slots=True)
class Scored:
    """A report, how sure its numbers are, and where the per-image statistics of both lie."""

    report: scoring.Report
    intervals: scoring.IntervalTable
    statistics_key: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The participant's archive cannot be scored; the sentence says why."""

    sentence: str


Outcome = Scored | Refused


def evaluate_next(platform: Platform) -> bool:
    """Score the next run that waits; whether there was one.

    Whatever stops half-way loses its lease and is found by the sweep; a claim that another worker has taken over in
    the meantime writes nothing.
    """
    settings = platform.settings
    with platform.transaction() as session:
        claim = queries.claim_next(session, settings.lease, settings.attempts)
    if claim is None:
        return False
    started = time.monotonic()
    try:
        with _heartbeat(platform, claim):
            outcome = _score(platform, claim)
        _record(platform, claim, outcome)
    except Exception:
        log.exception("run failed", run=claim.run_id, attempt=claim.attempt)
        _give_back(platform, claim)
        return True
    log.info(
        "run ended", run=claim.run_id, attempt=claim.attempt, seconds=round(time.monotonic() - started, 1)
    )
    return True


@contextmanager
def _heartbeat(platform: Platform, claim: Claim) -> Iterator[None]:
    """Extend the lease while the block runs."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(platform.settings.lease_seconds / 3):
            try:
                with platform.transaction() as session:
                    held = queries.extend(session, claim, platform.settings.lease)
            except SQLAlchemyError:
                log.warning("heartbeat failed", run=claim.run_id)
                continue
            if not held:
                return

    thread = threading.Thread(target=beat, name=f"heartbeat of run {claim.run_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _score(platform: Platform, claim: Claim) -> Outcome:
    with platform.transaction() as session:
        work = queries.assignment_of(session, claim.run_id)
    statistics = platform.truths.incoming(uuid4())
    settings = platform.settings
    apart = ChildLimits(seconds=settings.scoring_seconds, memory=settings.child_memory)
    archive, truth = platform.archives.path(work.archive), platform.truths.path(work.truth)
    for path in (archive, truth):
        _must_exist(path)
    limits = editions.description_of(platform.archives, work.description).limits
    try:
        answer = run_apart(
            apart, children.score, archive, truth, work.competition, work.protocol, statistics, limits
        )
        if answer.startswith(b"!"):
            return Refused(answer[1:].decode())
        told = json.loads(answer)
        return Scored(
            scoring.Report.from_json(told["report"]),
            scoring.IntervalTable.from_plain(told["intervals"]),
            platform.truths.adopt(statistics),
        )
    except TooMuchError as error:
        return Refused(f"scoring this archive was stopped: {error}")
    finally:
        statistics.unlink(missing_ok=True)


def _must_exist(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(path)


def _record(platform: Platform, claim: Claim, outcome: Outcome) -> None:
    """Scores, exhibits and states in one transaction, if the claim still holds."""
    with platform.transaction() as session:
        board, entry = queries.locked_board(session, claim.run_id)
        run = queries.held_run(session, claim)
        if run is None:
            log.warning("claim lost", run=claim.run_id, attempt=claim.attempt)
            return
        run.finished_at = func.clock_timestamp()
        run.lease_until = None
        match outcome:
            case Refused(sentence):
                run.state, run.sentence = RunState.REFUSED, sentence
            case Scored(report, intervals, key):
                run.state, run.statistics_key = RunState.SCORED, key
                run.measure, run.receipt = report.measure, report.receipt
                session.add_all((*_score_rows(run.id, report, intervals), *_exhibits(run.id, report)))
                session.flush()
        if run.rescore_id is None:
            _settle(session, board, entry, run)


def _settle(session: Session, board: Board, entry: Entry, run: Run) -> None:
    """Show a live run on its board, or have it scored again when the board has moved on meanwhile."""
    if run.state is not RunState.SCORED:
        entry.state = EntryState(run.state.value)
    elif (run.ground_truth_id, run.scorer, run.protocol) == (
        board.ground_truth_id,
        board.scorer,
        board.protocol,
    ):
        entry.state, entry.shown_run_id = EntryState.SCORED, run.id
        board.version += 1
        board.updated_at = func.clock_timestamp()
    elif not queries.has_live_run(session, entry.id, board):
        session.add(
            Run(
                entry_id=entry.id,
                ground_truth_id=board.ground_truth_id,
                protocol=board.protocol,
                scorer=board.scorer,
            )
        )


def _score_rows(
    run_id: int, report: scoring.Report, intervals: scoring.IntervalTable
) -> Iterator[ClassScore]:
    bounds = intervals.by_class()
    yield ClassScore(
        run_id=run_id,
        position=0,
        value=report.headline,
        reason=report.headline_reason,
        low=bounds[None].low,
        high=bounds[None].high,
    )
    for position, result in enumerate(report.classes, start=1):
        yield ClassScore(
            run_id=run_id,
            class_name=result.name,
            position=position,
            value=result.value,
            reason=result.reason,
            positives=result.positives,
            answers=result.answers,
            low=bounds[result.name].low if result.name in bounds else None,
            high=bounds[result.name].high if result.name in bounds else None,
        )


def _exhibits(run_id: int, report: scoring.Report) -> Iterator[Exhibit]:
    for position, exhibit in enumerate(report.exhibits):
        yield Exhibit(run_id=run_id, position=position, kind=exhibit.kind, content=exhibit.to_plain())


def _give_back(platform: Platform, claim: Claim) -> None:
    """After a failure of ours: to be tried again at the next sweep, or failed for good."""
    try:
        with platform.transaction() as session:
            board, entry = queries.locked_board(session, claim.run_id)
            run = queries.held_run(session, claim)
            if run is not None:
                _fail(session, board, entry, run, platform.settings.attempts)
    except SQLAlchemyError:
        log.warning("run not given back; its lease will run out", run=claim.run_id)


def _fail(session: Session, board: Board, entry: Entry, run: Run, attempts: int) -> None:
    run.state, run.lease_until = after_failure(run.attempt, attempts), None
    if run.state is RunState.FAILED:
        run.finished_at = func.clock_timestamp()
        run.sentence = GAVE_UP.format(attempts=run.attempt)
        if run.rescore_id is None:
            _settle(session, board, entry, run)


def sweep(platform: Platform) -> int:
    """Ring again for what waits or was lost, and give up what failed too often; returns how many runs wait.

    Any worker may call it at any time; one at a time does it.
    """
    attempts = platform.settings.attempts
    with platform.transaction() as session:
        if not queries.is_only_sweeper(session):
            return 0
        hopeless = queries.given_up(session, attempts)
        waiting = queries.count_waiting(session, attempts)
    for claim in hopeless:
        _give_back(platform, claim)
    for _ in range(min(waiting, MOST_RINGS)):
        platform.doorbell.ring()
    return waiting
