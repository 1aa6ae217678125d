"""What organisers do to many rows of the table at once: first say what would happen, then do it, one transaction each."""

import enum
import re
import tarfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import Select, and_, or_

from app.challenges import challenges
from app.core.access import Actor, require_challenge
from app.core.errors import DomainError
from app.core.units import MiB
from app.evaluation import rescoring
from app.evaluation.rescoring import rescore_refusal
from app.models import Result, ResultState, Upload
from app.organising.submissions import (
    RowState,
    TableQuery,
    TableRow,
    batches,
    load_rows,
    statement_of,
)
from app.platform import Platform
from app.results import cancelling, withdrawing
from app.results.submissions import QuotaEffect
from app.results.withdrawing import withdrawal_refusal
from app.storage import content_key
from app.submissions import methods
from app.web.tables import csv_of

MOST = 200  # rows at a time
KEY: Final = re.compile(r"r([1-9]\d{0,17})(?:\.(\d{1,18}))?|u([0-9a-f-]{36})", re.ASCII)


class Bulk(enum.StrEnum):
    """What organisers can do to many submissions at once."""

    RESCORE = "run again"
    CANCEL = "cancel"
    WITHDRAW = "withdraw"
    REFUND = "refund"
    HIDE = "hide"
    SHOW = "show"


WITH_REASON: Final = (Bulk.CANCEL, Bulk.WITHDRAW, Bulk.REFUND, Bulk.HIDE)


ONE_RESCORE: Final = (
    "only one scored result of a phase is scored again at a time; score the whole phase again instead"
)


class Selection(BaseModel):
    """Rows of the table and what to do to them."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    action: Bulk
    rows: Annotated[
        tuple[Annotated[str, Field(pattern=KEY.pattern, max_length=60)], ...],
        Field(min_length=1, max_length=MOST, description="`key` of rows", examples=[["r12.34"]]),
    ]


class BulkRequest(Selection):
    """The same, confirmed."""

    reason: Annotated[
        str,
        Field(
            max_length=1000, description="required to cancel, withdraw, refund and hide; its team reads it"
        ),
    ] = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.action in WITH_REASON and not self.reason:
            raise ValueError("reason: say why; the teams read it")
        return self


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row to which nothing is done, and why."""

    row: TableRow
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a bulk action would do, or did: to these rows, and not to those. Rows of other challenges are in neither."""

    challenge: str
    challenge_title: str
    action: Bulk
    rows: tuple[TableRow, ...]
    skipped: tuple[Skipped, ...]

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many rows are skipped for each reason, most first."""
        return dict(Counter(each.reason for each in self.skipped).most_common())


def refusal(action: Bulk, row: TableRow, run: int | None) -> str | None:
    """Return why this is not done to a row, as far as the row tells; None if it is.

    run: the run that the row showed when it was selected; None if that does not matter.
    """
    if row.result is None:
        return "it was not submitted"
    if run is not None and run != (row.run or 0):
        return "it was scored again meanwhile"
    return _REFUSALS[action](row)


def _withdrawal_refusal(row: TableRow) -> str | None:
    refused = withdrawal_refusal(
        _result_state(row.state), is_organiser=True, is_public=row.is_public, reason="given in the form"
    )
    return str(refused).removesuffix(".") if refused else None


_REFUSALS: Final[Mapping[Bulk, Callable[[TableRow], str | None]]] = {
    Bulk.RESCORE: lambda row: rescore_refusal(_result_state(row.state)),
    Bulk.CANCEL: lambda row: None if row.state is RowState.QUEUED else "it does not wait",
    Bulk.WITHDRAW: _withdrawal_refusal,
    Bulk.REFUND: lambda row: (
        None if row.quota in (QuotaEffect.COUNTS, QuotaEffect.EXTRA) else "it costs no quota"
    ),
    Bulk.HIDE: lambda row: None if row.is_public else "its method is not public",
    Bulk.SHOW: lambda row: None if row.is_hidden else "its method is not hidden",
}


def _result_state(state: RowState) -> ResultState:
    match state:
        case RowState.QUEUED | RowState.RUNNING:
            return ResultState.PENDING
        case RowState.CANCELLED:
            return ResultState.WITHDRAWN
    return ResultState(state.value)


def plan(platform: Platform, actor: Actor, code: str, selection: Selection) -> Plan:
    """Return what an action would do to the selected rows of a challenge. Raises NotFoundError.

    Of several rows of one method, only the first is hidden or shown.
    """
    runs = dict(map(_parsed, selection.rows))
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        phases = {each.id: each for each in challenges.phases_of(session, code)}
        statement = _selected(challenge.id, runs)
        rows = load_rows(session, actor, phases, statement)
    found, skipped, seen = [], [], set[int | str | None]()
    for row in rows:
        reason = refusal(selection.action, row, runs[_key(row)])
        if reason is None and selection.action in (Bulk.HIDE, Bulk.SHOW):
            if row.method_id in seen:
                continue
            seen.add(row.method_id)
        if reason is None and selection.action is Bulk.RESCORE and row.state is RowState.SCORED:
            reason = ONE_RESCORE if row.image_set in seen else None
            seen.add(row.image_set)
        if reason is None:
            found.append(row)
        else:
            skipped.append(Skipped(row, reason))
    return Plan(challenge.code, challenge.title, selection.action, tuple(found), tuple(skipped))


Key = int | uuid.UUID  # of a result, or of an upload without one


def _parsed(key: str) -> tuple[Key, int | None]:
    found = KEY.fullmatch(key)
    assert found is not None
    if found[3]:
        return uuid.UUID(found[3]), None
    return int(found[1]), int(found[2]) if found[2] is not None else None


def _key(row: TableRow) -> Key:
    return row.result or row.upload


def _selected(challenge_id: int, keys: Mapping[Key, int | None]) -> Select[*tuple[object, ...]]:
    """Select these rows of a challenge; others have none."""
    results = [key for key in keys if isinstance(key, int)]
    uploads = [key for key in keys if not isinstance(key, int)]
    these = or_(Result.id.in_(results), and_(Result.id.is_(None), Upload.id.in_(uploads)))
    return statement_of(challenge_id, TableQuery(), (), None, len(keys), these)


def do(platform: Platform, actor: Actor, code: str, request: BulkRequest) -> Plan:
    """Do something to the selected rows, one transaction each; return what was done, and why not to the others.

    Raises NotFoundError. Sent twice, the second does nothing: every row says that it was done already.
    """
    with platform.transaction() as session:
        require_challenge(session, actor, code, lock=True)  # which an archived one refuses
    planned = plan(platform, actor, code, request)
    done, skipped = [], list(planned.skipped)
    for row in planned.rows:
        try:
            _DO[request.action](platform, actor, row, request.reason)
        except DomainError as error:
            skipped.append(Skipped(row, str(error).removesuffix(".")))
        else:
            done.append(row)
    return replace(planned, rows=tuple(done), skipped=tuple(skipped))


def _rescore(platform: Platform, actor: Actor, row: TableRow, _reason: str) -> None:
    assert row.result is not None
    rescoring.rescore_one_result(platform, actor, row.result)


def _cancel(platform: Platform, actor: Actor, row: TableRow, reason: str) -> None:
    assert row.result is not None
    cancelling.cancel_for_team(platform, actor, row.result, reason)


def _withdraw(platform: Platform, actor: Actor, row: TableRow, reason: str) -> None:
    assert row.result is not None
    withdrawing.withdraw(platform, actor, row.result, reason)


def _refund(platform: Platform, actor: Actor, row: TableRow, reason: str) -> None:
    assert row.result is not None
    cancelling.refund(platform, actor, row.result, reason)


def _hide(platform: Platform, actor: Actor, row: TableRow, reason: str) -> None:
    assert row.method_id is not None
    methods.hide(platform, actor, row.method_id, reason)


def _show(platform: Platform, actor: Actor, row: TableRow, _reason: str) -> None:
    assert row.method_id is not None
    methods.show(platform, actor, row.method_id)


_DO: Final[Mapping[Bulk, Callable[[Platform, Actor, TableRow, str], None]]] = {
    Bulk.RESCORE: _rescore,
    Bulk.CANCEL: _cancel,
    Bulk.WITHDRAW: _withdraw,
    Bulk.REFUND: _refund,
    Bulk.HIDE: _hide,
    Bulk.SHOW: _show,
}


class ArchiveQuery(TableQuery):
    """Filters of the table, or the rows themselves."""

    rows: Annotated[
        tuple[Annotated[str, Field(pattern=KEY.pattern, max_length=60)], ...],
        Field(max_length=MOST, description="`key` of rows; none: all that match"),
    ] = ()


LIST: Final = ("name", "stored", "phase", "team", "method", "file", "size", "sha256", "upload", "submission")


def archives(platform: Platform, actor: Actor, code: str, query: ArchiveQuery) -> Iterator[bytes]:
    """Return the pieces of a tar with the archives of the matching rows, each once, and a list of them at its end.

    Equal rows give equal bytes. Only a piece of an archive is in memory. Raises NotFoundError at once.
    """
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        phases = {each.id: each for each in challenges.phases_of(session, code)}
    if query.rows:
        with platform.snapshot() as session:
            statement = _selected(challenge.id, dict(map(_parsed, query.rows)))
            found = iter([load_rows(session, actor, phases, statement)])
    else:
        found = batches(platform, actor, code, query)
    return _tar(platform, found)


def _tar(platform: Platform, found: Iterator[list[TableRow]]) -> Iterator[bytes]:
    listed: list[tuple[str | int | None, ...]] = []
    last: uuid.UUID | None = None  # rows of one upload follow each other
    for row in (row for rows in found for row in rows):
        if row.upload == last:
            continue
        last = row.upload
        name = _name(row)
        key = content_key(row.sha256, row.upload) if row.sha256 and row.is_stored else None
        size = platform.archives.size(key) if key and platform.archives.exists(key) else None
        listed.append(
            (
                name,
                "yes" if size is not None else "no",
                row.image_set,
                row.team,
                row.method,
                row.filename,
                row.size,
                row.sha256,
                str(row.upload),
                row.submission,
            )
        )
        if key is None or size is None:
            continue
        yield _header(name, size, int(row.started_at.timestamp()))
        with platform.archives.open(key) as content:
            while block := content.read(MiB):
                yield block
        yield bytes(-size % tarfile.BLOCKSIZE)
    lines = csv_of(LIST, listed).encode()
    yield _header("archives.csv", len(lines), 0)
    yield lines + bytes(-len(lines) % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _name(row: TableRow) -> str:
    """Return the path of an archive in the tar: phase, submission or upload, and its own name, made harmless."""
    own = re.sub(r"[^A-Za-z0-9._-]+", "_", row.filename).lstrip(".") or "archive"
    folder = f"submission-{row.submission}" if row.submission else f"upload-{row.upload}"
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '_', row.image_set)}/{folder}/{own[-80:]}"


def _header(name: str, size: int, modified: int) -> bytes:
    header = tarfile.TarInfo(name)
    header.size, header.mtime, header.mode = size, modified, 0o644
    return header.tobuf(tarfile.PAX_FORMAT)
