"""Checking archives in child processes, a limited number at a time and one for each team and person."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
import structlog
from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import aliased
from starlette.concurrency import run_in_threadpool

import heldout_scoring
from app.challenges.phase_files import public_counts
from app.core.errors import CheckBusyError, ConflictError, StorageUnavailableError
from app.jobs import events, sandbox
from app.jobs.sandbox import ChildError, ChildFileError, ChildLimits, LimitExceededError, run_in_subprocess
from app.models import Challenge, EventKind, Phase, Upload, UploadState
from app.people import teams
from app.people.locking import lock_person
from app.platform import Platform
from app.storage import content_key, digest_of
from app.submissions.uploads import REPLACED, REPLACED_CODE, is_outdated, replaced_in, with_warning
from heldout_scoring import PublicCounts

log = structlog.get_logger()

POLL = 0.2  # seconds between checks of whether another process has finished with this team's archive
AGAIN = 3  # checks of an archive for one confirmation; more only if boards switch that often meanwhile
TIMEOUT = 20.0  # seconds to wait for the team's turn, and again for a slot; clients and proxies give up after a minute

Done = TypeVar("Done")

_turns: WeakValueDictionary[int, anyio.Lock] = (
    WeakValueDictionary()
)  # by team, to keep the order in this process


@dataclass(frozen=True, slots=True)
class Owner:
    """The person and team of an upload."""

    user_id: int
    team_id: int


class OutdatedCheckError(ConflictError):
    """The public description of the phase has changed since an archive was checked, so it has to be checked again."""


def _needs_check() -> ColumnElement[bool]:
    return or_(Upload.state == UploadState.RECEIVED, is_outdated())


async def with_current_check(platform: Platform, upload_id: uuid.UUID, confirm: Callable[[], Done]) -> Done:
    """Confirm an upload in a thread; if its boards have switched since it was checked, check it again first, at no cost.

    confirm: raises OutdatedCheckError for that. Raises it, too, and what `check` raises.
    """
    for _ in range(AGAIN):
        try:
            return await run_in_threadpool(confirm)
        except OutdatedCheckError:
            await check(platform, upload_id)
    return await run_in_threadpool(confirm)


async def check(platform: Platform, upload_id: uuid.UUID) -> None:
    """Check an archive and store its report, unless that was done by what is public of the phase now.

    Across all web processes, one archive of each team and person is checked at a time. The next waits for its turn without
    taking a slot from others, so that teams share the slots of a process fairly. Raises CheckBusyError if no turn or no slot
    comes in time; the archive stays stored and its check can be requested again.
    """
    owner = await run_in_threadpool(owner_of, platform, upload_id)
    if owner is None:
        return
    turn = _turns.setdefault(owner.team_id, anyio.Lock())
    with anyio.move_on_after(TIMEOUT) as waiting:
        async with turn:
            while not await run_in_threadpool(claim, platform, upload_id, owner):
                if await run_in_threadpool(owner_of, platform, upload_id) is None:
                    return  # another request has checked it
                await anyio.sleep(POLL)
    if waiting.cancelled_caught:
        raise CheckBusyError(
            "Another archive of your team is being checked. This one is stored; check it again in a moment"
        )
    await _check_with_lease(platform, upload_id)


def owner_of(platform: Platform, upload_id: uuid.UUID) -> Owner | None:
    """Return the owner of an upload, if it is waiting to be checked."""
    statement = (
        select(Upload.user_id, Upload.team_id)
        .join(Upload.phase)
        .where(Upload.id == upload_id, _needs_check())
    )
    with platform.transaction() as session:
        row = session.execute(statement).one_or_none()
    return Owner(*row) if row else None


def claim(platform: Platform, upload_id: uuid.UUID, owner: Owner) -> bool:
    """Lease the check of an upload unless another of the same person or team is running. Return whether it succeeded."""
    other = aliased(Upload)
    busy = select(other.id).where(
        or_(other.user_id == owner.user_id, other.team_id == owner.team_id),
        other.check_until > func.clock_timestamp(),
    )
    statement = (
        update(Upload)
        .where(Upload.id == upload_id, Phase.id == Upload.phase_id, _needs_check(), ~busy.exists())
        .values(check_until=func.clock_timestamp() + platform.settings.lease)
        .returning(Upload.id)
    )
    with platform.transaction() as session:
        lock_person(session, owner.user_id)
        teams.lock_team(session, owner.team_id)
        return session.scalar(statement) is not None


def _extend(platform: Platform, upload_id: uuid.UUID) -> None:
    """Extend the lease of a check."""
    with platform.transaction() as session:
        session.execute(
            update(Upload)
            .where(Upload.id == upload_id, Upload.check_until.is_not(None))
            .values(check_until=func.clock_timestamp() + platform.settings.lease)
        )


def release(platform: Platform, upload_id: uuid.UUID) -> None:
    """End the lease of a check, so that the next archive of the same person or team can be checked."""
    with platform.transaction() as session:
        session.execute(update(Upload).where(Upload.id == upload_id).values(check_until=None))


async def _check_with_lease(platform: Platform, upload_id: uuid.UUID) -> None:
    """Check while extending the lease. If this process dies, the lease expires."""
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_hold_lease, platform, upload_id)
        try:
            await _check_in_slot(platform, upload_id)
        except Exception as error:  # noqa: BLE001 - raised below, outside the exception group
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        await run_in_threadpool(release, platform, upload_id)
        raise failure


async def _hold_lease(platform: Platform, upload_id: uuid.UUID) -> None:
    while True:
        await anyio.sleep(platform.settings.lease_seconds / 3)
        try:
            await run_in_threadpool(_extend, platform, upload_id)
        except SQLAlchemyError:
            log.warning("lease of a check not extended", upload=str(upload_id))


async def _check_in_slot(platform: Platform, upload_id: uuid.UUID) -> None:
    """Check once this process has a free slot. Raises CheckBusyError if none becomes free in time."""
    with anyio.move_on_after(TIMEOUT) as waiting:
        await platform.checks.acquire()
    if waiting.cancelled_caught:
        raise CheckBusyError(
            "Many archives are being checked at the moment. This one is stored; check it again in a moment"
        )
    try:
        await anyio.to_thread.run_sync(_check, platform, upload_id, limiter=anyio.CapacityLimiter(1))
    finally:
        platform.checks.release()


@dataclass(frozen=True, slots=True)
class _Task:
    """What a check reads: the archive, its name, what is public of the phase, and the competitions asked for.

    replaced: what is said if the archive has problems now, because it had none by what was public before; empty for a first check.
    """

    key: str
    filename: str
    description_key: str
    counts: PublicCounts | None
    competitions: tuple[int, ...] | None
    replaced: str = ""


def _check(platform: Platform, upload_id: uuid.UUID) -> None:
    """Run the validator in a child process and store its report. Repeating it gives the same result."""
    task = _task_of(platform, upload_id)
    if task is None:
        return
    report = _report(platform, task)
    if task.replaced and not report["valid"]:
        report = with_warning(report, heldout_scoring.Problem(REPLACED_CODE, task.replaced))
    checked = (
        update(Upload)
        .where(Upload.id == upload_id, Phase.id == Upload.phase_id, _needs_check())
        .values(
            state=UploadState.CHECKED,
            report=report,
            valid=bool(report["valid"]),
            description_digest=digest_of(task.description_key),
            checked_at=func.clock_timestamp(),
            check_until=None,
        )
        .returning(Phase.challenge_id, Upload.phase_id, Upload.team_id, Upload.user_id)
        .execution_options(synchronize_session=False)
    )
    with platform.transaction() as session:
        found = session.execute(checked).mappings().one_or_none()
        if found is not None and not report["valid"]:
            events.record(session, EventKind.INVALID, **found, upload=str(upload_id), filename=task.filename)
    log.info("upload checked", upload=str(upload_id), valid=report["valid"], problems=len(report["problems"]))


def _task_of(platform: Platform, upload_id: uuid.UUID) -> _Task | None:
    """Return what is needed to check an upload, if it is waiting for its check."""
    statement = (
        select(
            Upload.sha256,
            Upload.filename,
            Phase.description_key,
            Upload.competitions,
            Challenge.code,
            Phase.image_set,
            Upload.report,
            and_(Upload.valid.is_(True), Upload.description_digest.is_not(None)).label("was_valid"),
        )
        .join(Upload.phase)
        .join(Challenge)
        .where(Upload.id == upload_id, _needs_check())
    )
    with platform.transaction() as session:
        row = session.execute(statement).one_or_none()
        if row is None:
            return None
        counts = public_counts(session, row.code)
    competitions = tuple(row.competitions) if row.competitions else None
    is_replaced = row.was_valid or replaced_in(row.report)
    return _Task(
        content_key(row.sha256 or "", upload_id),
        row.filename,
        row.description_key,
        counts,
        competitions,
        REPLACED.format(image_set=row.image_set) if is_replaced else "",
    )


def _report(platform: Platform, task: _Task) -> dict[str, Any]:
    """Return the validator's report. A child that dies is restarted, because the archive may not be the cause.

    Raises StorageUnavailableError if the archive or the description cannot be read.
    """
    settings = platform.settings
    limits = ChildLimits(seconds=settings.check_seconds, memory=settings.child_memory, nice=5)
    with (
        platform.archives.materialise(task.key) as archive,
        platform.descriptions.materialise(task.description_key) as description,
    ):
        for attempt in range(1, settings.attempts + 1):
            try:
                output = run_in_subprocess(
                    limits, sandbox.check, archive, task.filename, description, task.competitions, task.counts
                )
            except LimitExceededError as error:
                return _failed_report("too-expensive", f"the check of this archive was stopped: {error}")
            except ChildFileError as error:
                raise StorageUnavailableError(str(error)) from error
            except ChildError:
                log.exception("check died", archive=task.key, attempt=attempt)
            else:
                report: dict[str, Any] = json.loads(output)
                return report
    return _failed_report(
        "check-ended", "the check of this archive was interrupted; the organisers can see why"
    )


def _failed_report(code: str, sentence: str) -> dict[str, Any]:
    problem = heldout_scoring.Problem(code=code, message=sentence)
    nothing = heldout_scoring.Validation(
        competitions=(), problems=(problem,), notes=(), unlisted={}, members=0, unpacked=0
    )
    report: dict[str, Any] = nothing.as_json()
    return report
