"""Receipts of results: keyed while the annotation is hidden, plain once it is public.

A plain receipt is a hash of the archive, the ground truth, the scorer and the protocol, which anyone who has them can compute;
while the ground truth is hidden it would confirm guesses at it. What people see then is an HMAC of it, and this server confirms
one by looking for it among those that it has stored.
"""

from dataclasses import dataclass

import structlog
from sqlalchemy import ColumnElement, and_, func, not_, or_, select
from sqlalchemy.orm import Session, aliased

from app.access import Actor
from app.errors import NotFoundError, StorageUnavailableError
from app.exhibits.queries import visible_run
from app.models import Disclosure, Edition, Entry, GroundTruth, Phase, Run, RunState
from app.platform import Platform
from scoring.saved_matches import open_matches

log = structlog.get_logger()

AT_ONCE = 100  # receipts that one sweep publishes


@dataclass(frozen=True, slots=True)
class ConfirmedReceipt:
    """The result that a receipt belongs to; is_plain: it can also be computed from archive and annotation."""

    receipt: str
    is_plain: bool
    edition: str
    image_set: str
    competition: int
    submission: int
    run: int
    ground_truth: int
    protocol: str
    scorer: str


def is_public(session: Session, ground_truth_id: int) -> bool:
    """Whether everybody may know an annotation: its phase discloses everything, and no phase hides the same annotation."""
    statement = select(GroundTruth.id).where(GroundTruth.id == ground_truth_id, _is_public())
    return session.scalar(statement) is not None


def _is_public() -> ColumnElement[bool]:
    same, phase = aliased(GroundTruth), aliased(Phase)
    is_over = func.coalesce(phase.closes_at + phase.grace <= func.clock_timestamp(), False)
    discloses = or_(phase.disclosure == Disclosure.FULL, and_(phase.details_at_close, is_over))
    hiding = (
        select(same.id)
        .join(phase, same.phase_id == phase.id)
        .where(same.fingerprint == GroundTruth.fingerprint, not_(discloses))
    )
    return not_(hiding.exists())


def publish(platform: Platform) -> None:
    """Add the plain receipts of results whose annotation has become public, some at a time."""
    statement = (
        select(Run.id, Run.statistics_key)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .where(
            Run.state == RunState.SCORED,
            Run.plain_receipt.is_(None),
            Run.statistics_key.is_not(None),
            _is_public(),
        )
        .order_by(func.random())  # so that damaged matches do not hold the others up
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
            if is_public(session, run.ground_truth_id):
                run.plain_receipt = origin.receipt


def confirm(platform: Platform, actor: Actor, receipt: str) -> ConfirmedReceipt:
    """The result with this receipt, as far as the reader may see it. Raises NotFoundError."""
    statement = (
        select(Run, Entry, GroundTruth.version, Phase.image_set, Edition.code)
        .join(Entry, Run.entry_id == Entry.id)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .join(Edition, Phase.edition_id == Edition.id)
        .where(or_(Run.receipt == receipt, Run.plain_receipt == receipt))
        .order_by(Run.id.desc())
    )
    with platform.snapshot() as session:
        for run, entry, version, image_set, edition in session.execute(statement.limit(AT_ONCE)):
            if visible_run(session, actor, run.id):
                return ConfirmedReceipt(
                    receipt, receipt == run.plain_receipt, edition, image_set, entry.competition,
                    entry.submission_id, run.id, version, run.protocol, run.scorer,
                )  # fmt: skip
    raise NotFoundError(f"this server knows no result with the receipt {receipt[:80]!r} that you may see")
