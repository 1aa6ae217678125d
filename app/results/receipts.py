"""Receipts of results: keyed while the annotation is hidden, plain once it is public.

A plain receipt is a hash of the archive, the ground truth, the scorer and the protocol, which anyone who has them can compute;
while the ground truth is hidden it would confirm guesses at it. Until then people see an HMAC of it, which only this server can
confirm, by looking it up among those stored at scoring.
"""

from dataclasses import dataclass

import structlog
from sqlalchemy import ColumnElement, and_, func, not_, or_, select
from sqlalchemy.orm import Session, aliased, joinedload

from app.challenges.challenges import equal_labels
from app.core.access import Actor
from app.core.errors import NotFoundError, StorageUnavailableError
from app.models import GroundTruth, Phase, Result, Run, RunState
from app.platform import Platform
from app.results.scored_runs import visible_run
from heldout_scoring import open_matches

log = structlog.get_logger()


AT_ONCE = 100  # receipts published by one sweep


@dataclass(frozen=True, slots=True)
class ConfirmedReceipt:
    """The result that a receipt belongs to; is_plain: it can also be computed from archive and annotation."""

    receipt: str
    is_plain: bool
    challenge: str
    image_set: str
    competition: int
    submission: int
    run: int
    ground_truth: int
    protocol: str
    scorer: str


def is_public_truth(session: Session, ground_truth_id: int) -> bool:
    """Whether an annotation is public: its phase discloses everything, and no phase hides the same annotation."""
    statement = select(GroundTruth.id).where(GroundTruth.id == ground_truth_id, _is_public_truth())
    return session.scalar(statement) is not None


def _is_public_truth() -> ColumnElement[bool]:
    same, phase = aliased(GroundTruth), aliased(Phase)
    is_over = func.coalesce(phase.closes_at + phase.grace <= func.clock_timestamp(), False)
    discloses = or_(~phase.is_held_out, and_(phase.details_at_close, is_over))
    hiding = (
        select(same.id)
        .join(phase, same.phase_id == phase.id)
        .where(equal_labels(same, GroundTruth), not_(discloses))
    )
    return not_(hiding.exists())


def publish_plain_receipts(platform: Platform) -> None:
    """Add plain receipts to results whose annotation has become public, a limited number at a time."""
    statement = (
        select(Run.id, Run.statistics_key)
        .join(Run.ground_truth)
        .where(
            Run.state == RunState.SCORED,
            Run.plain_receipt.is_(None),
            Run.statistics_key.is_not(None),
            _is_public_truth(),
        )
        .order_by(func.random())  # so that damaged match files do not block the others
        .limit(AT_ONCE)
    )
    with platform.transaction() as session:
        missing = session.execute(statement).all()
    for run_id, key in missing:
        try:
            with platform.truths.materialise(key or "") as matches:
                origin, _ = open_matches(matches)
        except StorageUnavailableError as error:
            log.warning("plain receipt not published", run=run_id, error=error.cause)
            return
        with platform.transaction() as session:
            run = session.get_one(Run, run_id)
            if is_public_truth(session, run.ground_truth_id):
                run.plain_receipt = origin.receipt


def find_by_receipt(platform: Platform, actor: Actor, receipt: str) -> ConfirmedReceipt:
    """Return the result with this receipt, if the reader may see it. Raises NotFoundError."""
    statement = (
        select(Run)
        .options(
            joinedload(Run.result).joinedload(Result.phase).joinedload(Phase.challenge),
            joinedload(Run.ground_truth),
        )
        .where(or_(Run.receipt == receipt, Run.plain_receipt == receipt))
        .order_by(Run.id.desc())
    )
    with platform.snapshot() as session:
        for run in session.scalars(statement.limit(AT_ONCE)):
            if visible_run(session, actor, run.id):
                result, phase = run.result, run.result.phase
                return ConfirmedReceipt(
                    receipt, receipt == run.plain_receipt, phase.challenge.code, phase.image_set, result.competition,
                    result.submission_id, run.id, run.ground_truth.version, run.protocol, run.scorer,
                )  # fmt: skip
    raise NotFoundError(f"this server knows no result with the receipt {receipt[:80]!r} that you may see")
