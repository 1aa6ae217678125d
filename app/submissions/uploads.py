"""Uploads as their team sees them, on pages and in the API."""

import base64
import re
import unicodedata
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from sqlalchemy import BigInteger, ColumnElement, and_, cast, func, select, text, true, tuple_
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Session, aliased

from app.challenges.challenges import PhaseView, offered_competitions
from app.core.access import Action, Actor, rows_for
from app.core.errors import BadRequestError, NotFoundError
from app.models import Challenge, Phase, Result, ResultState, Submission, Upload, UploadState
from app.platform import Platform
from app.submissions import retention
from app.submissions.retention import Retention, expires_at
from scoring import competitions
from scoring.competitions import file_name_as_regex

MAX_NAME_LENGTH = 120
KEPT_ENDING = 20  # characters of a longer name, the mark of what is left out among them
SINGLE_FILES = (".txt", ".xml", ".json")

TUS_EXTENSIONS = "creation,creation-with-upload,expiration,termination"


@dataclass(frozen=True, slots=True)
class UploadMetadata:
    """What is known of an archive before it arrives."""

    filename: str
    size: int
    sha256: str | None = None
    competitions: Sequence[int] | None = None  # meant for these alone

    @classmethod
    def of_headers(cls, length: str | None, metadata: str) -> Self:
        """What the headers of tus say of a new upload.

        Raises BadRequestError.
        """
        values = parse_metadata(metadata)
        return cls(
            filename=values.get("filename") or values.get("name") or "",
            size=parse_size(length or "", "Upload-Length"),
            sha256=parse_sha256(values.get("sha256", "")),
            competitions=parse_competitions(values.get("competitions", "")),
        )


def shown_name(filename: str) -> str:
    r"""The name of an archive as it is stored and shown: no folders, nothing that hides, not too long.

    It never becomes a path; the server names files by their content.

    >>> shown_name("../../tmp/evil\x1b[2J.tar.gz"), shown_name("")
    ('evil[2J.tar.gz', 'archive')
    >>> shown_name("a method " + 200 * "x" + " of may.tar.gz")[-24:]
    'xxxx…xxxxx of may.tar.gz'
    """
    last = filename.replace("\\", "/").rsplit("/", 1)[-1]
    seen = "".join(letter for letter in last if unicodedata.category(letter)[0] != "C").strip(" .")
    if len(seen) > MAX_NAME_LENGTH:
        seen = f"{seen[: MAX_NAME_LENGTH - KEPT_ENDING]}…{seen[1 - KEPT_ENDING :]}"
    return seen or "archive"


def is_single_file(filename: str) -> bool:
    """Whether this is a result file by itself, and no archive of them."""
    return filename.lower().endswith(SINGLE_FILES)


def result_path(filename: str, dataset: str, image_set: str) -> str | None:
    """Where a result file belongs in an archive; none for a name that no competition of the challenge has.

    >>> result_path("comp3_det_test_car.txt", "VOC2007", "test"), result_path("car.txt", "VOC2007", "test")
    ('results/VOC2007/Main/comp3_det_test_car.txt', None)
    """
    for competition in competitions(dataset):
        found = file_name_as_regex(competition).fullmatch(filename)
        if found and found.groupdict().get("set", image_set) == image_set:
            return "/".join(filter(None, ("results", dataset, competition.folder, filename)))
    return None


def mismatch(phase: PhaseView, filename: str, numbers: Iterable[int]) -> str | None:
    """Why nothing of this name, or for these competitions, belongs to a phase; none if it may."""
    known = [each.number for each in offered_competitions(phase)]
    unknown = sorted(set(numbers).difference(known))
    if unknown:
        expected = ", ".join(map(str, known))
        return f"{phase.challenge} {phase.image_set} has no competition {unknown[0]}; expected some of {expected}"
    if is_single_file(filename) and result_path(filename, phase.dataset, phase.image_set) is None:
        return _unknown_result_file(filename, phase.dataset, phase.image_set)
    return None


def _unknown_result_file(filename: str, dataset: str, image_set: str) -> str:
    """What to say of a single file whose name no competition has."""
    patterns = (each.file_pattern_of(image_set).rpartition("/")[2] for each in competitions(dataset))
    expected = ", ".join(name for name in patterns if is_single_file(name))
    return f"{filename} is not the name of a result file; expected an archive, or one of {expected}"


def parse_metadata(header: str) -> dict[str, str]:
    """The value of `Upload-Metadata`: keys with Base64 values, separated by commas.

    Raises BadRequestError for anything else.

    >>> parse_metadata("filename cmVzdWx0cy56aXA=, is_final")
    {'filename': 'results.zip', 'is_final': ''}
    """
    found: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in header.split(","))):
        key, _, encoded = pair.partition(" ")
        if key in found:
            raise BadRequestError(f"Upload-Metadata: the key {key!r} appears twice")
        try:
            found[key] = base64.b64decode(encoded, validate=True).decode()
        except UnicodeDecodeError:
            raise BadRequestError(f"Upload-Metadata: the value of {key!r} is not UTF-8") from None
        except ValueError:  # of binascii, or a letter beyond ASCII
            raise BadRequestError(f"Upload-Metadata: {encoded!r} is not Base64") from None
    return found


def format_metadata(values: Mapping[str, str]) -> str:
    """`Upload-Metadata` of these values.

    >>> format_metadata({"filename": "results.zip"})
    'filename cmVzdWx0cy56aXA='
    """
    return ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in values.items())


def parse_competitions(text: str) -> tuple[int, ...] | None:
    """Numbers of competitions, separated by commas; none for an empty text.

    Raises BadRequestError.

    >>> parse_competitions("3, 4"), parse_competitions("")
    ((3, 4), None)
    """
    if not text:
        return None
    if not re.fullmatch(r"\s*\d{1,2}\s*(,\s*\d{1,2}\s*)*", text, re.ASCII):
        raise BadRequestError(
            f"Upload-Metadata: expected numbers of competitions such as '3,4', found {text!r}"
        )
    return tuple(sorted({int(each) for each in text.split(",")}))


def parse_sha256(text: str) -> str | None:
    """A digest of the whole file in hexadecimal; none for an empty text.

    Raises BadRequestError.
    """
    if not text:
        return None
    if not re.fullmatch("[0-9a-f]{64}", text.lower()):
        raise BadRequestError(f"Upload-Metadata: sha256 must have 64 hexadecimal digits, found {text!r}")
    return text.lower()


def parse_size(text: str, header: str) -> int:
    """A number of bytes.

    Raises BadRequestError.

    >>> parse_size("12", "Upload-Length")
    12
    """
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
        raise BadRequestError(f"{header}: expected a number of bytes, found {text!r}")
    return int(text)


PAGE = 50  # uploads


@dataclass(frozen=True, slots=True)
class SameResult:
    """A result of the team whose predictions are those of an upload, in another packaging."""

    competition: int  # of the upload
    submission: int
    submitted_for: int  # competition


@dataclass(frozen=True, slots=True)
class UploadView:
    """An upload; `report` is the validation report as `python -m scoring validate` prints it."""

    id: uuid.UUID
    challenge: str
    image_set: str
    filename: str
    size: int
    received: int
    sha256: str | None
    state: UploadState
    valid: bool | None
    report: dict[str, Any] | None
    started_at: datetime
    checked_at: datetime | None
    expires_at: datetime | None  # when it is removed; none: it is kept, or its bytes are gone
    expected_sha256: str | None
    only_competitions: list[int] | None  # files of others are problems
    submissions: list[int]  # that it was confirmed as
    same_content: list[int]  # submissions of the team in this phase with the same bytes
    is_ours: bool  # the reader is of its team, and may send bytes, confirm or delete it
    same_predictions: tuple[SameResult, ...] = ()  # in other archives of the team in this phase

    @property
    def shown_state(self) -> str:
        """The state as pages show it."""
        return shown_state(self.state, self.valid)

    @property
    def is_removed(self) -> bool:
        """Whether there are no bytes any more."""
        return self.state in (UploadState.REJECTED, UploadState.EXPIRED)

    @property
    def is_stored(self) -> bool:
        """Whether the whole archive is here."""
        return self.state in (UploadState.RECEIVED, UploadState.CHECKED)

    @property
    def competitions(self) -> tuple[int, ...]:
        """Which competitions the archive has files for."""
        return competitions_of(self.report)


@dataclass(frozen=True, slots=True)
class UploadRow:
    """A line of "my uploads"."""

    id: uuid.UUID
    challenge: str
    image_set: str
    filename: str
    size: int
    received: int
    state: UploadState
    valid: bool | None
    problems: int | None  # in its report, also those that are only counted
    started_at: datetime
    expires_at: datetime | None
    submissions: list[int]

    @property
    def shown_state(self) -> str:
        """The state as pages show it."""
        return shown_state(self.state, self.valid)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page of uploads ended."""

    started_at: datetime
    id: uuid.UUID

    def __str__(self) -> str:
        """As an address carries it."""
        return f"{self.started_at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}_{self.id}"

    @classmethod
    def parse(cls, written: str) -> Self:
        """What `str` wrote; raises ValueError for anything else."""
        moment, _, upload_id = written.partition("_")
        return cls(datetime.strptime(moment, "%Y%m%dT%H%M%S.%f%z"), uuid.UUID(upload_id))


@dataclass(frozen=True, slots=True)
class UploadPage:
    """Some of a team's uploads, newest first; `next` asks for those after them."""

    uploads: tuple[UploadRow, ...]
    next: str | None
    stored: int  # bytes of the reader's own uploads that are not confirmed
    max_stored: int


def competitions_of(report: dict[str, Any] | None) -> tuple[int, ...]:
    """Which competitions a validation report found files for."""
    return tuple(sorted(found["number"] for found in (report or {}).get("competitions", ())))


@dataclass(frozen=True, slots=True)
class FoundResult:
    """What the check found of the results of a competition; the report of an older check says less.

    fingerprint: equal for equal predictions; constant, partial: classes as in `scoring.FoundCompetition`.
    """

    is_complete: bool = True
    fingerprint: str = ""
    constant: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


def results_of(report: dict[str, Any] | None) -> dict[int, FoundResult]:
    """The results in an archive by competition, by its validation report."""
    return {
        found["number"]: FoundResult(
            found.get("is_complete", True),
            found.get("fingerprint", ""),
            tuple(found.get("constant", ())),
            tuple(found.get("partial", ())),
        )
        for found in (report or {}).get("competitions", ())
    }


def shown_state(state: UploadState, valid: bool | None) -> str:  # noqa: FBT001 - the column
    """The state of an upload in a word; that of a checked one is what its check found.

    >>> shown_state(UploadState.RECEIVED, None), shown_state(UploadState.CHECKED, False)
    ('received', 'with problems')
    """
    if state is not UploadState.CHECKED:
        return state.value
    return "valid" if valid else "with problems"


_NUMBERS: Final = select(
    func.coalesce(func.array_agg(aggregate_order_by(Submission.id, Submission.id)), text("'{}'::bigint[]"))
)


# the submissions that an upload was confirmed as
_SUBMISSIONS: Final = _NUMBERS.where(Submission.upload_id == Upload.id).correlate(Upload).scalar_subquery()

_OTHER: Final = aliased(Upload)
# its team's submissions in its phase that have the same bytes, from another upload
_SAME_CONTENT: Final = (
    _NUMBERS.join(_OTHER, Submission.upload_id == _OTHER.id)
    .where(
        _OTHER.team_id == Upload.team_id,
        _OTHER.phase_id == Upload.phase_id,
        _OTHER.sha256 == Upload.sha256,
        _OTHER.id != Upload.id,
    )
    .correlate(Upload)
    .scalar_subquery()
)


def visible_uploads(actor: Actor, action: Action = Action.READ_UPLOAD) -> ColumnElement[bool]:
    """The uploads that somebody may read or change; for statements that join Phase."""
    return rows_for(actor, action, team=Upload.team_id, challenge=Phase.challenge_id)


def get_upload(
    platform: Platform, actor: Actor, upload_id: uuid.UUID, action: Action = Action.READ_UPLOAD
) -> UploadView:
    """An upload that somebody may read, or may do something else to.

    Raises NotFoundError.
    """
    columns = (
        Upload.id, Challenge.code, Phase.image_set, Upload.filename, Upload.size, Upload.received, Upload.sha256,
        Upload.state, Upload.valid, Upload.report, Upload.started_at, Upload.checked_at,
        expires_at(retention.retention_of(platform)), Upload.expected_sha256, Upload.competitions,
        _SUBMISSIONS, _SAME_CONTENT, visible_uploads(actor, Action.CHANGE_UPLOAD),
    )  # fmt: skip
    statement = (
        select(*columns)
        .join(Phase, Upload.phase_id == Phase.id)
        .join(Challenge)
        .where(Upload.id == upload_id, visible_uploads(actor, action))
    )
    with platform.transaction() as session:
        row = session.execute(statement).one_or_none()
        if row is None:
            raise NotFoundError(f"your team has no upload {upload_id}")
        found = UploadView(*row)
        return replace(found, same_predictions=_same_predictions(session, found)) if found.valid else found


def _same_predictions(session: Session, upload: UploadView) -> tuple[SameResult, ...]:
    """The results of its team in its phase that say the same as an upload, and are in another archive."""
    own = aliased(Upload)
    numbers: dict[str, list[int]] = {}
    for number, found in results_of(upload.report).items():
        numbers.setdefault(found.fingerprint, []).append(number)
    statement = (
        select(Result.fingerprint, Result.submission_id, Result.competition)
        .join(Submission, Result.submission_id == Submission.id)
        .join(Upload, Submission.upload_id == Upload.id)
        .join(own, and_(own.team_id == Upload.team_id, own.phase_id == Upload.phase_id))
        .where(
            own.id == upload.id,
            Upload.sha256 != own.sha256,
            Result.fingerprint.in_(numbers.keys() - {""}),
            Result.state.not_in((ResultState.FAILED, ResultState.REFUSED)),
        )
        .order_by(Result.submission_id, Result.competition)
    )
    return tuple(
        SameResult(competition if competition in numbers[mark] else numbers[mark][0], submission, competition)
        for mark, submission, competition in session.execute(statement)
    )


def my_uploads(platform: Platform, actor: Actor, after: str | None = None) -> UploadPage:
    """A page of the team's uploads, newest first; `after` is the `next` of the page before.

    Raises BadRequestError for another `after`.
    """
    try:
        before = Cursor.parse(after) if after else None
    except ValueError as error:
        raise BadRequestError(f"after: {after!r} is no page of uploads") from error
    with platform.snapshot() as session:
        rows = _uploads_of_teams(
            session, actor.teams, retention.retention_of(platform), before=before, limit=PAGE + 1
        )
        used = retention.unconfirmed(session, Upload.user_id == actor.user_id)
    more = Cursor(rows[PAGE - 1].started_at, rows[PAGE - 1].id) if len(rows) > PAGE else None
    return UploadPage(
        tuple(rows[:PAGE]), str(more) if more else None, used.bytes, platform.settings.max_stored
    )


def _uploads_of_teams(
    session: Session, teams: Collection[int], retention: Retention, *, before: Cursor | None, limit: int
) -> list[UploadRow]:
    """The uploads of these teams, newest first; `before` is the last one of the page before."""
    columns = (
        Upload.id, Challenge.code, Phase.image_set, Upload.filename, Upload.size, Upload.received, Upload.state,
        Upload.valid, _problems(), Upload.started_at,
        expires_at(retention), _SUBMISSIONS,
    )  # fmt: skip
    earlier = tuple_(Upload.started_at, Upload.id) < (before.started_at, before.id) if before else true()
    statement = (
        select(*columns)
        .join(Phase, Upload.phase_id == Phase.id)
        .join(Challenge)
        .where(Upload.team_id.in_(teams), earlier)
        .order_by(Upload.started_at.desc(), Upload.id.desc())
        .limit(limit)
    )
    return [UploadRow(*row) for row in session.execute(statement)]


def _problems() -> ColumnElement[Any]:
    """How many problems a report speaks of, also those that it only counts; null without a report."""
    listed = Upload.report["problems"]
    counted = func.jsonb_each_text(Upload.report["unlisted"]).table_valued("key", "value")
    code = func.jsonb_build_array(func.jsonb_build_object("code", counted.c.key))
    more = select(func.coalesce(func.sum(cast(counted.c.value, BigInteger)), 0)).where(listed.contains(code))
    return cast(func.jsonb_array_length(listed) + more.correlate(Upload).scalar_subquery(), BigInteger)
