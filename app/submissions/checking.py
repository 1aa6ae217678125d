"""Checking archives in child processes: so many at a time, and one of each team and person."""

import json
import uuid
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
import structlog
from sqlalchemy import func, or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import aliased
from starlette.concurrency import run_in_threadpool

import scoring
from app.core.errors import CheckBusyError, StorageUnavailableError
from app.jobs import sandbox
from app.jobs.sandbox import ChildError, ChildFileError, ChildLimits, LimitExceededError, run_in_subprocess
from app.models import Phase, Upload, UploadState
from app.people import teams
from app.platform import Platform
from app.storage import content_key

log = structlog.get_logger()

POLL = 0.2  # seconds between two looks whether another process has ended this team's check
PATIENCE = (
    20.0  # seconds to wait for a turn, and again for a place: programs and proxies give up after a minute
)

_turns: WeakValueDictionary[int, anyio.Lock] = WeakValueDictionary()  # by team, for the order in this process


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose upload it is: a person, in a team."""

    user_id: int
    team_id: int


async def check(platform: Platform, upload_id: uuid.UUID) -> None:
    """Check an archive that has arrived and store its report; does nothing for an upload in another state.

    One archive of a team, and of a person, is checked at a time, whichever web process they ask: the next waits for its turn,
    and takes no place from others meanwhile, so that teams take turns at the places of a process. Raises CheckBusyError when
    turn or place have not come in time; the archive is stored, and its check can be asked for again.
    """
    owner = await run_in_threadpool(owner_of, platform, upload_id)
    if owner is None:
        return
    turn = _turns.setdefault(owner.team_id, anyio.Lock())
    with anyio.move_on_after(PATIENCE) as waiting:
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
    """Whose upload this is, if it waits to be checked."""
    statement = select(Upload.user_id, Upload.team_id).where(
        Upload.id == upload_id, Upload.state == UploadState.RECEIVED
    )
    with platform.transaction() as session:
        row = session.execute(statement).one_or_none()
    return Owner(*row) if row else None


def claim(platform: Platform, upload_id: uuid.UUID, owner: Owner) -> bool:
    """Begin the check of an upload unless another of its person or its team is under way; whether it may begin."""
    other = aliased(Upload)
    busy = select(other.id).where(
        or_(other.user_id == owner.user_id, other.team_id == owner.team_id),
        other.check_until > func.clock_timestamp(),
    )
    statement = (
        update(Upload)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVED, ~busy.exists())
        .values(check_until=func.clock_timestamp() + platform.settings.lease)
        .returning(Upload.id)
    )
    with platform.transaction() as session:
        teams.lock_person(session, owner.user_id)
        teams.lock_team(session, owner.team_id)
        return session.scalar(statement) is not None


def _extend(platform: Platform, upload_id: uuid.UUID) -> None:
    """Keep the turn for another lease."""
    with platform.transaction() as session:
        session.execute(
            update(Upload)
            .where(Upload.id == upload_id, Upload.check_until.is_not(None))
            .values(check_until=func.clock_timestamp() + platform.settings.lease)
        )


def release(platform: Platform, upload_id: uuid.UUID) -> None:
    """Let the next archive of the same person and team be checked."""
    with platform.transaction() as session:
        session.execute(update(Upload).where(Upload.id == upload_id).values(check_until=None))


async def _check_with_lease(platform: Platform, upload_id: uuid.UUID) -> None:
    """Check, and hold the turn meanwhile; should this process die, the turn ends by itself."""
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_hold_turn, platform, upload_id)
        try:
            await _check_in_place(platform, upload_id)
        except Exception as error:  # noqa: BLE001 - raised below, without the group of exceptions around it
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        await run_in_threadpool(release, platform, upload_id)
        raise failure


async def _hold_turn(platform: Platform, upload_id: uuid.UUID) -> None:
    while True:
        await anyio.sleep(platform.settings.lease_seconds / 3)
        try:
            await run_in_threadpool(_extend, platform, upload_id)
        except SQLAlchemyError:
            log.warning("turn of a check not extended", upload=str(upload_id))


async def _check_in_place(platform: Platform, upload_id: uuid.UUID) -> None:
    """Check once this process has a place for it; raises CheckBusyError when none has become free in time."""
    with anyio.move_on_after(PATIENCE) as waiting:
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
    """An archive and the description that it is checked against."""

    key: str
    filename: str
    description_key: str
    competitions: tuple[int, ...] | None


def _check(platform: Platform, upload_id: uuid.UUID) -> None:
    """Run the validator in a child and store its report; it can be repeated with the same result."""
    task = _task_of(platform, upload_id)
    if task is None:
        return
    report = _report(platform, task)
    with platform.transaction() as session:
        session.execute(
            update(Upload)
            .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVED)
            .values(
                state=UploadState.CHECKED,
                report=report,
                valid=bool(report["valid"]),
                checked_at=func.clock_timestamp(),
                check_until=None,
            )
        )
    log.info("upload checked", upload=str(upload_id), valid=report["valid"], problems=len(report["problems"]))


def _task_of(platform: Platform, upload_id: uuid.UUID) -> _Task | None:
    """What a check needs of an upload that waits for one."""
    statement = (
        select(Upload.sha256, Upload.filename, Phase.description_key, Upload.competitions)
        .join(Phase, Upload.phase_id == Phase.id)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVED)
    )
    with platform.transaction() as session:
        row = session.execute(statement).one_or_none()
    if row is None:
        return None
    competitions = tuple(row.competitions) if row.competitions else None
    return _Task(content_key(row.sha256 or "", upload_id), row.filename, row.description_key, competitions)


def _report(platform: Platform, task: _Task) -> dict[str, Any]:
    """The report of the validator; a child that dies is started again, because whatever killed it may not be the archive.

    Raises StorageUnavailableError where the archive or the description cannot be read.
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
                    limits, sandbox.check, archive, task.filename, description, task.competitions
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
    problem = scoring.Problem(code=code, message=sentence)
    nothing = scoring.Validation(
        competitions=(), problems=(problem,), notes=(), unlisted={}, members=0, unpacked=0
    )
    report: dict[str, Any] = nothing.as_json()
    return report
