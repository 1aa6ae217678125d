"""The files of a challenge's data set: what is offered, who may download what and when, and who has."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, contains_eager, joinedload

from app.challenges import challenges, terms
from app.challenges.availability import DATES, FROM, UNTIL, Availability, Stage
from app.challenges.challenges import PhaseView
from app.challenges.terms import TermsView, terms_refusals
from app.core.access import Actor
from app.core.errors import (
    ConflictError,
    DomainError,
    FileDeletedError,
    LoginRequiredError,
    NotFoundError,
    Refusal,
    RefusedError,
    TeamNotApproved,
    TeamSuspended,
    WithheldError,
)
from app.models import (
    Approval,
    Audience,
    Challenge,
    DataDownload,
    DataFile,
    FileKind,
    User,
)
from app.people import teams
from app.people.teams import TeamStatus
from app.platform import Platform
from app.storage import digest_of
from app.web.transfers import StoredFile
from app.web.zones import MINUTE

LINK_LIFETIME: Final = timedelta(minutes=15)  # of an address in a bucket
LOG_PAGE: Final = 100  # downloads


@dataclass(frozen=True, slots=True)
class Reader:
    """What decides about a person's downloads in a challenge, besides roles."""

    actor: Actor
    terms: TermsView | None = None  # the current ones
    team: TeamStatus | None = None


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """A version of a file that was replaced; its bytes are deleted."""

    version: int
    sha256: str
    size: int
    replaced_at: datetime


@dataclass(frozen=True, slots=True)
class FileView:
    """A file as the data page lists it. sha256, earlier and address: only for those who may download it now.

    version: 0 until its bytes have arrived; available_from, available_until: None if there is no such date or it is not
    decided; from_event, until_event: what they follow, such as "closing of val"; reason: why the reader cannot download it.
    """

    id: int
    name: str
    title: str
    kind: FileKind
    image_set: str | None
    image_licence: str
    annotation_licence: str
    audience: Audience
    version: int
    size: int | None
    stored_at: datetime | None
    stage: Stage
    available_from: datetime | None
    from_event: str
    available_until: datetime | None
    until_event: str
    sha256: str | None = None
    earlier: tuple[EarlierVersion, ...] = ()
    address: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """A row with its resolved dates and the phase that it belongs to."""

    row: DataFile
    challenge: str
    image_set: str | None
    availability: Availability
    now: datetime


@dataclass(frozen=True, slots=True)
class LoggedDownload:
    """A person's downloads of one version of a file under one version of the terms.

    person: None for somebody who was not logged in; requests: several if it was resumed or repeated.
    """

    id: int
    file: str
    version: int  # of the file
    person: str | None
    person_id: int | None
    terms_version: int | None  # that they had accepted
    requests: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class DownloadLog:
    """A page of downloads, newest first; `next` is the `before` of the following page."""

    downloads: tuple[LoggedDownload, ...] = ()
    next: int | None = None


def refusal(reader: Reader, file: OfferedFile) -> DomainError | RefusedError | None:
    """Return why a reader may not download a file now, or None if they may. This decides for every page and route."""
    row, actor = file.row, reader.actor
    is_organiser = actor.organises_challenge(row.challenge_id)
    if missing := _missing_content(file, is_organiser=is_organiser):
        return missing
    if is_organiser:
        return None
    if withheld := _withheld(file):
        return withheld
    return refusal_of_audience(reader, row.audience, row.name)


def refusal_of_images(session: Session, actor: Actor, phase: PhaseView) -> DomainError | RefusedError | None:
    """Return why a reader may not see the images of a phase now, or None if they may.

    They have to be public, and are then for whom and when the files are that offer them. This decides for the gallery, the
    viewer, their API and the archive of all images.
    """
    if phase.has_images and (phase.shows_images or actor.organises_challenge(phase.challenge_id)):
        return None
    if not (phase.has_images and phase.publishes_images):
        return NotFoundError(
            f"there are no images of {phase.challenge} {phase.image_set}, or they are not public"
        )
    images = f"the images of {phase.image_set}"
    if not phase.images_available:
        return WithheldError(
            f"{images} are not available now; /challenges/{phase.challenge}/data says when they are"
        )
    reader = reader_of(session, actor, session.get_one(Challenge, phase.challenge_id))
    return refusal_of_audience(reader, phase.images_for, images)


def refusal_of_audience(
    reader: Reader, audience: Audience, what: str
) -> LoginRequiredError | RefusedError | None:
    """Return why something for an audience is not for this reader; what: its name in a sentence."""
    if audience is Audience.EVERYBODY:
        return None
    if not reader.actor.is_logged_in:
        return LoginRequiredError(f"Log in to see or download {what}")
    refusals = (
        *terms_refusals(reader.actor, reader.terms),
        *(_team_refusals(reader.team, what) if audience is Audience.TEAMS else ()),
    )
    return RefusedError(refusals) if refusals else None


def _missing_content(file: OfferedFile, *, is_organiser: bool) -> DomainError | None:
    """Return the error for a file that was deleted or has not arrived; before it arrives, only organisers know of it."""
    row = file.row
    if row.deleted_at is not None:
        return FileDeletedError(
            f"{row.name!r} was deleted {_minute(row.deleted_at)}; /challenges/{file.challenge}/data lists the other files"
        )
    if row.key is None:
        message = f"the bytes of {row.name} have not arrived yet"
        return ConflictError(message) if is_organiser else NotFoundError(_missing(row.id))
    return None


def _withheld(file: OfferedFile) -> WithheldError | None:
    """Return the error for a file outside its dates."""
    match file.availability.stage(file.now):
        case Stage.COMING:
            return WithheldError(
                f"{file.row.name!r} is not available yet, but {_from_when(file.availability)}"
            )
        case Stage.OVER:
            assert file.availability.end is not None
            return WithheldError(f"{file.row.name!r} was available until {_minute(file.availability.end.at)}")
    return None


def _from_when(availability: Availability) -> str:
    """Say from when a file is available: from a moment, or from an event without a date."""
    start = availability.start
    assert start is not None
    after = f" ({start.event})" if start.event else ""
    return (
        f"from {_minute(start.at)}{after}"
        if start.at
        else f"from the {start.event}, whose date is not decided"
    )


def _minute(moment: datetime | None) -> str:
    return f"{moment:{MINUTE}}" if moment else ""


def _team_refusals(team: TeamStatus | None, what: str) -> Iterator[Refusal]:
    if team is None:
        yield TeamNotApproved(
            f"only members of teams of this challenge may have {what}; join or create a team at /teams"
        )
    elif team.is_suspended:
        yield TeamSuspended(f"the team {team.name} is suspended: {team.suspension_reason}")
    elif team.needs_approval and team.approval is not Approval.APPROVED:
        yield TeamNotApproved(
            f"an organiser has to approve the team {team.name} before its members may have {what}"
        )


def _missing(file_id: int) -> str:
    return f"this challenge has no file {file_id}"


def load_files(session: Session, *conditions: Any) -> list[OfferedFile]:
    """Load the files that fulfil these conditions, oldest first."""
    statement = (
        select(DataFile, DATES, func.clock_timestamp())
        .join(DataFile.challenge)
        .outerjoin(FROM, DataFile.from_phase_id == FROM.id)
        .outerjoin(UNTIL, DataFile.until_phase_id == UNTIL.id)
        .options(contains_eager(DataFile.challenge), joinedload(DataFile.phase))
        .where(*conditions)
        .order_by(DataFile.id)
    )
    return [
        OfferedFile(
            row=row,
            challenge=row.challenge.code,
            image_set=row.phase.image_set if row.phase else None,
            availability=Availability.of_dates(dates),
            now=now,
        )
        for row, dates, now in session.execute(statement)
    ]


def find_file(session: Session, code: str, file_id: int) -> OfferedFile:
    """Return a file of a challenge, deleted or not. Raises NotFoundError."""
    found = load_files(session, DataFile.id == file_id, Challenge.code == code)
    if not found:
        raise NotFoundError(_missing(file_id))
    return found[0]


def reader_of(session: Session, actor: Actor, challenge: Challenge) -> Reader:
    """Load what decides about a person's downloads in a challenge."""
    if not actor.is_logged_in:
        return Reader(actor)
    team = teams.team_status(session, teams.team_of(session, actor, challenge.id))
    return Reader(actor, terms.current_terms(session, challenge.code, actor.user_id), team)


def view_of(reader: Reader, file: OfferedFile) -> FileView:
    """Return a file as this reader sees it."""
    row, start, end = file.row, file.availability.start, file.availability.end
    refused = refusal(reader, file)
    plain = FileView(
        id=row.id,
        name=row.name,
        title=row.title,
        kind=row.kind,
        image_set=file.image_set,
        image_licence=row.image_licence,
        annotation_licence=row.annotation_licence,
        audience=row.audience,
        version=row.version,
        size=row.size,
        stored_at=row.stored_at,
        stage=file.availability.stage(file.now),
        available_from=start.at if start else None,
        from_event=start.event if start else "",
        available_until=end.at if end else None,
        until_event=end.event if end else "",
        reason=str(refused) if refused else "",
    )
    return plain if refused else _with_content(plain, file)


def _with_content(view: FileView, file: OfferedFile) -> FileView:
    earlier = tuple(
        EarlierVersion(
            each["version"], each["sha256"], each["size"], datetime.fromisoformat(each["replaced_at"])
        )
        for each in file.row.earlier
    )
    address = f"/challenges/{file.challenge}/data/{file.row.id}"
    return replace(view, sha256=file.row.sha256, earlier=earlier, address=address)


def load_present(session: Session, challenge: Challenge) -> list[OfferedFile]:
    """Load the files of a challenge that were not deleted, also those whose bytes have not arrived."""
    return load_files(session, DataFile.challenge_id == challenge.id, DataFile.deleted_at.is_(None))


def offered(session: Session, reader: Reader, challenge: Challenge) -> tuple[FileView, ...]:
    """Return the files that a challenge offers, without those whose bytes have not arrived."""
    found = load_files(
        session,
        DataFile.challenge_id == challenge.id,
        DataFile.deleted_at.is_(None),
        DataFile.key.is_not(None),
    )
    return tuple(view_of(reader, each) for each in found)


def start_download(platform: Platform, actor: Actor, code: str, file_id: int) -> StoredFile:
    """Record that a person downloads a file, and return what to send.

    Raises what `refusal` returns, and NotFoundError.
    """
    with platform.transaction() as session:
        file = find_file(session, code, file_id)
        challenge = challenges.find_challenge(session, code)
        reader = reader_of(session, actor, challenge)
        if refused := refusal(reader, file):
            raise refused
        row = file.row
        assert row.key is not None
        assert row.size is not None
        _record(session, reader, row)
    return download_of(platform, row.key, row.name, row.size)


def download_of(platform: Platform, key: str, name: str, size: int) -> StoredFile:
    """Return a content of the store of files as a download."""
    has_address = platform.settings.s3_redirects
    address = platform.files.presigned(key, name, LINK_LIFETIME) if has_address else None
    return StoredFile(platform.files, key, size, name, digest_of(key), address)


def _record(session: Session, reader: Reader, file: DataFile) -> None:
    """Record a request. Those of one person for one version are one row, also if the download is resumed."""
    accepted = reader.terms if reader.terms and reader.terms.accepted_at else None
    row = insert(DataDownload).values(
        file_id=file.id,
        user_id=reader.actor.user_id,
        version=file.version,
        terms_version=accepted.version if accepted else None,
    )
    session.execute(
        row.on_conflict_do_update(
            constraint="uq_data_download_file_id",
            set_={"requests": DataDownload.requests + 1, "last_at": func.now()},
        )
    )


def downloads_of(session: Session, challenge_id: int, file_id: int | None, before: int | None) -> DownloadLog:
    """Return a page of the downloads of a challenge or of one of its files, newest first."""
    statement = (
        select(
            DataDownload, DataFile.name.label("file"), User.name.label("person"),
        )
        .join(DataFile, DataDownload.file_id == DataFile.id)
        .outerjoin(User, DataDownload.user_id == User.id)
        .where(DataFile.challenge_id == challenge_id)
        .order_by(DataDownload.id.desc())
        .limit(LOG_PAGE + 1)
    )  # fmt: skip
    if file_id is not None:
        statement = statement.where(DataFile.id == file_id)
    if before is not None:
        statement = statement.where(DataDownload.id < before)
    rows = [_logged(row[0], file=row.file, person=row.person) for row in session.execute(statement)]
    return DownloadLog(tuple(rows[:LOG_PAGE]), rows[LOG_PAGE - 1].id if len(rows) > LOG_PAGE else None)


def _logged(download: DataDownload, *, file: str, person: str | None) -> LoggedDownload:
    return LoggedDownload(
        id=download.id,
        file=file,
        version=download.version,
        person=person,
        person_id=download.user_id,
        terms_version=download.terms_version,
        requests=download.requests,
        first_at=download.first_at,
        last_at=download.last_at,
    )
