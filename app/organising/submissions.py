"""The organiser's table of everything that arrived: uploads, and the results of their submissions, in every state."""

import enum
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Row,
    Select,
    and_,
    cast,
    false,
    func,
    literal,
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.challenges.disclosure import visibility_for
from app.core.access import Action, Actor, require_challenge
from app.models import (
    Method,
    Phase,
    Result,
    ResultState,
    Run,
    RunState,
    Submission,
    Team,
    Upload,
    UploadState,
    User,
)
from app.platform import Platform
from app.results.recording import is_no_preview
from app.results.scores import load_headlines
from app.results.submissions import QuotaEffect, quota_effect
from app.web.forms import OrBlank
from app.web.tables import Cell, csv_of
from heldout_scoring.competitions import name_of

PAGE = 30  # rows
BATCH = 1000  # rows of a CSV or an archive that are read at a time
LARGEST_ID = 2**63 - 1


class RowState(enum.StrEnum):
    """What became of an upload, or of a result of its submission."""

    RECEIVING = "receiving"
    RECEIVED = "received"
    INVALID = "invalid"
    VALID = "valid"  # not submitted
    REJECTED = "rejected"
    EXPIRED = "expired"
    QUEUED = "queued"
    RUNNING = "running"
    SCORED = "scored"
    REFUSED = "refused"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"
    CANCELLED = "cancelled"
    REPLACED = "replaced"


class SubmissionColumn(enum.StrEnum):
    """A column of the table that can be left out."""

    PHASE = "phase"
    TEAM = "team"
    PERSON = "person"
    METHOD = "method"
    TASK = "task"
    SCORE = "score"
    FILE = "file"
    SIZE = "size"
    NUMBERS = "numbers"


DEFAULT: Final = (
    SubmissionColumn.PHASE,
    SubmissionColumn.TEAM,
    SubmissionColumn.METHOD,
    SubmissionColumn.TASK,
    SubmissionColumn.SCORE,
)


@dataclass(frozen=True, slots=True)
class SubmissionCursor:
    """The position where a page ended."""

    started_at: datetime
    upload: uuid.UUID
    result: int  # 0 for an upload without one

    def __str__(self) -> str:
        """Format for a URL."""
        return f"{self.started_at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}_{self.upload}_{self.result}"

    @classmethod
    def parse(cls, written: str) -> Self:
        """Parse what `str` returned. Raises ValueError for anything else."""
        moment, upload, result = written.split("_")
        if not result.isascii() or not result.isdecimal() or int(result) > LARGEST_ID:
            raise ValueError(f"{result!r} is not the number of a result")
        return cls(datetime.strptime(moment, "%Y%m%dT%H%M%S.%f%z"), uuid.UUID(upload), int(result))


class TableQuery(BaseModel):
    """Filters of the table; an empty field matches all."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    text: Annotated[
        str, Field(max_length=100, description="part of the name of a method, team or person, or a number")
    ] = ""
    phase: Annotated[str, Field(max_length=100, description="an image set")] = ""
    task: Annotated[str, Field(max_length=40)] = ""
    team: Annotated[OrBlank[int], Field(ge=1, le=LARGEST_ID, description="its number")] = None
    state: OrBlank[RowState] = None
    since: Annotated[OrBlank[date], Field(description="the first day, in UTC")] = None
    until: Annotated[OrBlank[date], Field(description="the last day, in UTC")] = None
    columns: Annotated[tuple[SubmissionColumn, ...], Field(description="of the page")] = DEFAULT
    after: Annotated[str, Field(max_length=120, description="`next` of the previous page")] = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.after:
            SubmissionCursor.parse(self.after)
        if self.since and self.until and self.until < self.since:
            raise ValueError("until: the last day is before the first")
        return self

    @property
    def cursor(self) -> SubmissionCursor | None:
        """Where the page begins."""
        return SubmissionCursor.parse(self.after) if self.after else None

    def words(self, *, after: str = "") -> list[tuple[str, str]]:
        """Return the query of a URL for the same rows, at another page."""
        fields = ("text", "phase", "task", "team", "state", "since", "until")
        given = [(name, str(value)) for name in fields if (value := getattr(self, name)) not in ("", None)]
        columns = [("columns", each.value) for each in self.columns] if self.columns != DEFAULT else []
        return [*given, *columns, *([("after", after)] if after else [])]


@dataclass(frozen=True, slots=True)
class TableRow:
    """An upload, or one of the results of its submission."""

    upload: uuid.UUID
    started_at: datetime
    image_set: str
    team_id: int
    team: str
    person: str
    filename: str
    size: int
    sha256: str | None
    is_stored: bool
    state: RowState
    problems: int | None  # of an upload that is invalid, as listed in its report
    submission: int | None = None
    result: int | None = None
    competition: int | None = None
    task: str = ""  # and the training data, if there is a leaderboard for each
    method_id: int | None = None
    method: str = ""
    is_public: bool = False
    is_hidden: bool = False  # by the organisers
    run: int | None = None
    quota: QuotaEffect = QuotaEffect.NONE
    message: str = ""  # why it was refused, failed or withdrawn
    mean: float | None = None

    @property
    def key(self) -> str:
        """What selects this row: a result with the run that it shows, or an upload.

        Whoever acts on it acts on what they saw: another run means that somebody was faster.
        """
        return f"r{self.result}.{self.run or 0}" if self.result else f"u{self.upload}"

    @property
    def cursor(self) -> SubmissionCursor:
        """The position of this row."""
        return SubmissionCursor(self.started_at, self.upload, self.result or 0)

    @property
    def address(self) -> str:
        """The page that says what became of it."""
        return f"/submissions/{self.submission}" if self.submission else f"/uploads/{self.upload}"


@dataclass(frozen=True, slots=True)
class SubmissionTable:
    """A page of the table, newest first."""

    challenge: str
    challenge_title: str
    phases: tuple[str, ...]  # image sets of the challenge
    tasks: tuple[str, ...]
    rows: tuple[TableRow, ...]
    next: str | None  # the `after` of the next page
    is_viewed: bool  # the reader may only read


_OWN = Run.result_id == Result.id, is_no_preview()
_LATEST = select(func.max(Run.id)).where(*_OWN).correlate(Result).scalar_subquery()
_UNSUBMITTED: Final[Mapping[RowState, ColumnElement[bool]]] = {
    RowState.RECEIVING: Upload.state == UploadState.RECEIVING,
    RowState.RECEIVED: Upload.state == UploadState.RECEIVED,
    RowState.INVALID: and_(Upload.state == UploadState.CHECKED, Upload.valid.is_(False)),
    RowState.VALID: and_(Upload.state == UploadState.CHECKED, Upload.valid.is_(True)),
    RowState.REJECTED: Upload.state == UploadState.REJECTED,
    RowState.EXPIRED: Upload.state == UploadState.EXPIRED,
}
_PENDING = Result.state == ResultState.PENDING
_SUBMITTED: Final[Mapping[RowState, ColumnElement[bool]]] = {
    RowState.QUEUED: and_(_PENDING, func.coalesce(Run.state, RunState.QUEUED) != RunState.RUNNING),
    RowState.RUNNING: and_(_PENDING, Run.state == RunState.RUNNING),
    RowState.SCORED: Result.state == ResultState.SCORED,
    RowState.REFUSED: Result.state == ResultState.REFUSED,
    RowState.FAILED: Result.state == ResultState.FAILED,
    RowState.WITHDRAWN: and_(Result.state == ResultState.WITHDRAWN, Result.cancelled_at.is_(None)),
    RowState.CANCELLED: Result.cancelled_at.is_not(None),
    RowState.REPLACED: Result.state == ResultState.REPLACED,
}


def is_in(state: RowState) -> ColumnElement[bool]:
    """Whether a row is in this state, for statements of the table."""
    if state in _SUBMITTED:
        return _SUBMITTED[state]
    return and_(Result.id.is_(None), _UNSUBMITTED[state])


def state_of(
    upload: UploadState,
    *,
    valid: bool | None,
    result: ResultState | None,
    run: RunState | None,
    cancelled: bool,
) -> RowState:
    """Return the state of a row: that of the result if there is one.

    >>> state_of(UploadState.CHECKED, valid=False, result=None, run=None, cancelled=False).value
    'invalid'
    """
    if result is ResultState.PENDING:
        return RowState.RUNNING if run is RunState.RUNNING else RowState.QUEUED
    if result is not None:
        return RowState.CANCELLED if cancelled else RowState(result.value)
    if upload is UploadState.CHECKED:
        return RowState.VALID if valid else RowState.INVALID
    return RowState(upload.value)


def _matches(text: str) -> ColumnElement[bool]:
    """Whether a row has this text in the name of its method, team or person, or this number."""
    try:
        return Upload.id == uuid.UUID(text)
    except ValueError:
        pass
    found = [each.icontains(text, autoescape=True) for each in (Method.name, Team.name, User.name)]
    number = text.removeprefix("#")
    if number.isascii() and number.isdecimal() and int(number) <= LARGEST_ID:
        found += [Submission.id == int(number), Result.id == int(number)]
    return or_(*found)


def _has_task(numbers: Sequence[int]) -> ColumnElement[bool]:
    """Whether a row is of one of these competitions; an upload, if its report found one."""
    found = [Upload.report["competitions"].contains([{"number": number}]) for number in numbers]
    return or_(Result.competition.in_(numbers), and_(Result.id.is_(None), or_(false(), *found)))


def _conditions(query: TableQuery, numbers: Sequence[int]) -> Iterator[ColumnElement[bool]]:
    if query.text:
        yield _matches(query.text)
    if query.task:
        yield _has_task(numbers)
    if query.team is not None:
        yield Upload.team_id == query.team
    if query.state is not None:
        yield is_in(query.state)
    if query.since is not None:
        yield Upload.started_at >= datetime.combine(query.since, time(), UTC)
    if query.until is not None:
        yield Upload.started_at < datetime.combine(query.until + timedelta(days=1), time(), UTC)


_KEY = tuple_(Upload.started_at, Upload.id, func.coalesce(Result.id, 0))


def statement_of(
    challenge_id: int,
    query: TableQuery,
    numbers: Sequence[int],
    after: SubmissionCursor | None,
    limit: int,
    *more: ColumnElement[bool],
) -> Select[*tuple[Any, ...]]:
    """Select rows of a challenge, newest first, and reads at most `limit` of each phase through the index of its uploads.

    numbers: the competitions of the task that is asked for; more: other conditions.
    """
    conditions = [Upload.phase_id == Phase.id, *_conditions(query, numbers), *more]
    if after is not None:
        conditions += [
            Upload.started_at <= after.started_at,
            _KEY < tuple_(literal(after.started_at), literal(after.upload), cast(after.result, BigInteger)),  # noqa: SIM300 - of SQL
        ]
    run = func.coalesce(Result.published_run_id, _LATEST)
    newest = (
        select(
            Upload.id.label("upload"), Upload.started_at, Upload.team_id, Team.name.label("team"), User.name.label("person"),
            Upload.filename, Upload.size, Upload.sha256, Upload.state.label("upload_state"), Upload.valid,
            func.jsonb_array_length(Upload.report["problems"]).label("problems"), Submission.id.label("submission"),
            Result.id.label("result"), Result.competition, Method.id.label("method_id"), Method.name.label("method"),
            Method.public_at.is_not(None).label("is_public"), Method.hidden_at.is_not(None).label("is_hidden"),
            Result.state.label("result_state"), Result.cancelled_at, Result.withdraw_reason, Run.id.label("run"),
            Run.state.label("run_state"), Run.failure_message, Run.ladder_run_id, Result.is_complete, quota_effect().label("quota"),
        )
        .select_from(Upload)
        .join(Upload.team)
        .join(User, Upload.user_id == User.id)
        .outerjoin(Submission, Submission.upload_id == Upload.id)
        .outerjoin(Submission.method)
        .outerjoin(Result, Result.submission_id == Submission.id)
        .outerjoin(Run, Run.id == run)
        .where(*conditions)
        .order_by(Upload.started_at.desc(), Upload.id.desc(), func.coalesce(Result.id, 0).desc())
        .limit(limit)
        .correlate(Phase)
        .lateral()
    )  # fmt: skip
    of_phase = Phase.image_set == query.phase if query.phase else true()
    return (
        select(Phase.id.label("phase_id"), *newest.c)
        .join(newest, true())
        .where(Phase.challenge_id == challenge_id, of_phase)
        .order_by(
            newest.c.started_at.desc(), newest.c.upload.desc(), func.coalesce(newest.c.result, 0).desc()
        )
        .limit(limit)
    )


def load_rows(
    session: Session,
    actor: Actor,
    phases: Mapping[int, PhaseView],
    statement: Select[*tuple[Any, ...]],
) -> list[TableRow]:
    """Return the selected rows, with the means that the actor may see."""
    found = session.execute(statement).all()
    means = load_headlines(session, {run for row in found for run in (row.run, row.ladder_run_id)})
    rows = []
    for row in found:
        phase = phases[row.phase_id]
        visibility = visibility_for(actor, phase)
        if row.result is not None:
            visibility = visibility.of_result(is_complete=row.is_complete)
        mean = visibility.mean(means.get(row.run), means.get(row.ladder_run_id or 0))
        rows.append(replace(_row(row, phase), mean=mean))
    return rows


def _row(row: Row[*tuple[Any, ...]], phase: PhaseView) -> TableRow:
    state = state_of(
        row.upload_state,
        valid=row.valid,
        result=row.result_state,
        run=row.run_state,
        cancelled=row.cancelled_at is not None,
    )
    reason = {RowState.WITHDRAWN: row.withdraw_reason, RowState.CANCELLED: None}.get(
        state, row.failure_message
    )
    return TableRow(
        upload=row.upload,
        started_at=row.started_at,
        image_set=phase.image_set,
        team_id=row.team_id,
        team=row.team,
        person=row.person,
        filename=row.filename,
        size=row.size,
        sha256=row.sha256,
        is_stored=row.upload_state in (UploadState.RECEIVED, UploadState.CHECKED) and row.sha256 is not None,
        state=state,
        problems=row.problems if state is RowState.INVALID else None,
        submission=row.submission,
        result=row.result,
        competition=row.competition,
        task=name_of(phase.dataset, row.competition) if row.competition else "",
        method_id=row.method_id,
        method=row.method or "",
        is_public=bool(row.is_public),
        is_hidden=bool(row.is_hidden),
        run=row.run,
        quota=QuotaEffect(row.quota) if row.result else QuotaEffect.NONE,
        message=(reason or "") if state not in (RowState.SCORED, RowState.QUEUED, RowState.RUNNING) else "",
    )


def competitions_of_task(dataset: str, task: str) -> tuple[int, ...]:
    """Return the competitions of a task, by its name or title."""
    return tuple(each.number for each in heldout_scoring.competitions(dataset) if each.task == task)


def table(platform: Platform, actor: Actor, code: str, query: TableQuery) -> SubmissionTable:
    """Return a page of everything that arrived in a challenge. Raises NotFoundError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code, Action.READ_ORGANISING)
        phases = {each.id: each for each in challenges.phases_of(session, code)}
        numbers = competitions_of_task(challenge.dataset, query.task)
        statement = statement_of(challenge.id, query, numbers, query.cursor, PAGE + 1)
        rows = load_rows(session, actor, phases, statement)
    tasks = dict.fromkeys(task for each in phases.values() for task in challenges.chosen_tasks(each))
    return SubmissionTable(
        challenge=challenge.code,
        challenge_title=challenge.title,
        phases=tuple(each.image_set for each in phases.values()),
        tasks=tuple(tasks),
        rows=tuple(rows[:PAGE]),
        next=str(rows[PAGE - 1].cursor) if len(rows) > PAGE else None,
        is_viewed=actor.views_challenge(challenge.id),
    )


def batches(platform: Platform, actor: Actor, code: str, query: TableQuery) -> Iterator[list[TableRow]]:
    """Yield all rows that match, some at a time, each in a transaction of its own. Raises NotFoundError at once."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code, Action.READ_ORGANISING)
        phases = {each.id: each for each in challenges.phases_of(session, code)}
    numbers = competitions_of_task(challenge.dataset, query.task)

    def read() -> Iterator[list[TableRow]]:
        after: SubmissionCursor | None = None
        while True:
            with platform.snapshot() as session:
                statement = statement_of(challenge.id, query, numbers, after, BATCH)
                rows = load_rows(session, actor, phases, statement)
            if rows:
                yield rows
            if len(rows) < BATCH:
                return
            after = rows[-1].cursor

    return read()


HEADER: Final = (
    "started", "phase", "team", "team_id", "person", "file", "size", "sha256", "upload", "submission", "result", "competition",
    "task", "method", "method_id", "public", "hidden", "state", "mean", "problems", "message",
)  # fmt: skip


def csv_lines(found: Iterator[list[TableRow]]) -> Iterator[str]:
    """Yield the rows as CSV, with a header."""
    yield csv_of(HEADER, ())
    for rows in found:
        text = csv_of(HEADER, map(_cells, rows))
        yield text.partition("\r\n")[2]


def _cells(row: TableRow) -> tuple[Cell, ...]:
    return (
        row.started_at.astimezone(UTC).isoformat(), row.image_set, row.team, row.team_id, row.person, row.filename, row.size,
        row.sha256, str(row.upload), row.submission, row.result, row.competition, row.task, row.method, row.method_id,
        "yes" if row.is_public else "no", "yes" if row.is_hidden else "no", row.state.value, row.mean, row.problems, row.message,
    )  # fmt: skip
