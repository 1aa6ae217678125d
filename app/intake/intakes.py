"""Data sets that organisers send: starting one, its files, reading, cancelling, deleting, and the removal of old ones."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Any, Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Action, Actor, require_active, require_challenge, rows_for
from app.core.errors import (
    ConflictError,
    FieldsError,
    ForbiddenError,
    IntakeTooLargeError,
    MalformedError,
    NotFoundError,
)
from app.core.names import shown_name
from app.core.paging import page_of
from app.core.units import MiB
from app.intake import keys
from app.intake.formats.image_sets import says_test
from app.intake.reports import PUBLIC, Audience, ClassChoice, Report, TableChoice
from app.intake.table_choices import TableRequest
from app.jobs import events, queue
from app.models import (
    Board,
    Challenge,
    EventKind,
    GroundTruth,
    Intake,
    IntakeFile,
    IntakeRole,
    IntakeSegment,
    IntakeState,
    JobKind,
    Phase,
)
from app.people.sessions import actor_of
from app.platform import Platform
from app.submissions.retention import INTAKE, removable
from heldout_scoring.stored import from_plain, to_plain

MOST_FILES: Final = 50
MOST_OPEN: Final = 10  # data sets of a challenge that are not applied
PAGE: Final = 50  # data sets on a page
_NEWEST_LAST: Final = (Intake.created_at, Intake.id.desc())
UNTOUCHED: Final = timedelta(days=30)  # after which a data set that was not applied is removed
WARNING: Final = timedelta(days=7)  # before that
# states in which files may be added and removed; then it has to be read again
EDITABLE: Final = (
    IntakeState.RECEIVING, IntakeState.READ, IntakeState.INVALID, IntakeState.FAILED, IntakeState.CANCELLED
)  # fmt: skip
WITH_WORKER: Final = (IntakeState.RECEIVED, IntakeState.READING, IntakeState.APPLYING)


@dataclass(frozen=True, slots=True)
class IntakeFileView:
    """A file of a data set. received: bytes that have arrived; path: below the import folder, if it is there."""

    id: uuid.UUID
    intake_id: uuid.UUID
    role: IntakeRole
    name: str
    size: int
    received: int
    path: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all of it has arrived."""
        return self.path is not None or self.received == self.size


@dataclass(frozen=True, slots=True)
class IntakeView:
    """A data set for organisers.

    progress: what a worker does, with numbers `done` and `total`; in an outage also `outage`, what it waits for, and `since`.
    """

    id: uuid.UUID
    challenge: str
    challenge_title: str
    state: IntakeState
    files: tuple[IntakeFileView, ...]
    progress: dict[str, Any]
    report: Report | None
    message: str
    created_at: datetime
    changed_at: datetime
    removed_at: datetime | None  # when it will be removed if nobody touches it
    image_set: str | None  # of the phase that it became
    phase_id: int | None
    version: int | None
    shown_version: int | None = None  # of that phase, which its boards show
    newest_version: int | None = None  # of that phase

    @property
    def waits_since(self) -> datetime | None:
        """Since when reading fails because of an outage."""
        since = self.progress.get("since")
        return datetime.fromisoformat(since) if since else None

    @property
    def is_editable(self) -> bool:
        """Whether files may be added and removed."""
        return self.state in EDITABLE

    @property
    def is_with_worker(self) -> bool:
        """Whether a worker has it, or will have it soon."""
        return self.state in WITH_WORKER

    @property
    def has_annotation(self) -> bool:
        """Whether any file is annotation."""
        return any(each.role is not IntakeRole.IMAGES for each in self.files)

    @property
    def is_complete(self) -> bool:
        """Whether everything has arrived."""
        return bool(self.files) and all(each.is_complete for each in self.files)


@dataclass(frozen=True, slots=True)
class IntakeList:
    """A page of the data sets of a challenge, newest first. can_receive: whether workers have a key; next: as in `RowPage`."""

    challenge: str
    title: str
    intakes: tuple[IntakeView, ...]
    can_receive: bool
    next: int | None = None


def intakes_of(platform: Platform, actor: Actor, code: str, before: int | None = None) -> IntakeList:
    """Return a page of the data sets of a challenge. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        numbered = (
            select(Intake.id, func.row_number().over(order_by=_NEWEST_LAST).label("number"))
            .where(Intake.challenge_id == challenge.id)
            .subquery()
        )
        statement = select(numbered).order_by(numbered.c.number.desc()).limit(PAGE + 1)
        if before is not None:
            statement = statement.where(numbered.c.number < before)
        page = page_of(session.execute(statement).all(), PAGE, number=lambda row: int(row.number))
        found = _views(session, Intake.id.in_([row.id for row in page.rows]))
        can_receive = keys.exists_any(session)
        return IntakeList(challenge.code, challenge.title, found, can_receive, page.next)


def get_intake(platform: Platform, actor: Actor, intake_id: uuid.UUID) -> IntakeView:
    """Return a data set. Raises NotFoundError."""
    with platform.snapshot() as session:
        of_organiser(session, actor, intake_id)
        [found] = _views(session, Intake.id == intake_id)
        return found


def newest(session: Session, challenge_id: int) -> IntakeView | None:
    """Return the newest data set of a challenge; None if it has none."""
    own = select(Intake.id).where(Intake.challenge_id == challenge_id)
    last = own.order_by(Intake.created_at.desc(), Intake.id).limit(1).scalar_subquery()
    return next(iter(_views(session, Intake.id == last)), None)


def _views(session: Session, condition: Any) -> tuple[IntakeView, ...]:
    of_phase = GroundTruth.phase_id == Intake.phase_id
    newest = select(func.max(GroundTruth.version)).where(of_phase).correlate(Intake)
    shown = select(func.min(GroundTruth.version)).join(Board, Board.ground_truth_id == GroundTruth.id)
    statement = (
        select(
            Intake,
            Challenge.code,
            Challenge.title,
            Phase.image_set,
            shown.where(of_phase).correlate(Intake).scalar_subquery().label("shown"),
            newest.scalar_subquery().label("newest"),
        )
        .join(Challenge, Intake.challenge_id == Challenge.id)
        .outerjoin(Phase, Intake.phase_id == Phase.id)
        .where(condition)
        .order_by(Intake.created_at.desc(), Intake.id)
    )
    rows = session.execute(statement).all()
    files = _files(session, [row.Intake.id for row in rows])
    return tuple(
        IntakeView(
            id=(intake := row.Intake).id,
            challenge=row.code,
            challenge_title=row.title,
            state=intake.state,
            files=files.get(intake.id, ()),
            progress=intake.progress,
            report=report_of(intake),
            message=intake.message,
            created_at=intake.created_at,
            changed_at=intake.changed_at,
            removed_at=None if intake.state is IntakeState.APPLIED else intake.changed_at + UNTOUCHED,
            image_set=row.image_set,
            phase_id=intake.phase_id,
            version=intake.version,
            shown_version=row.shown,
            newest_version=row.newest,
        )
        for row in rows
    )


def report_of(intake: Intake) -> Report | None:
    """Return what a worker found in a data set; None before that."""
    if not intake.report:
        return None
    # earlier reports know neither ignored classes nor missing pictures nor neutral names nor comparisons
    usual = {"ignored": [], "without_picture": 0, "sent_as": "", "is_open": False}
    sets = [{**usual, **each} for each in intake.report["sets"]]
    names = dict.fromkeys(row["name"] for each in sets for row in each["classes"])
    classes = [to_plain(ClassChoice(name, name)) for name in names]
    earlier = {"classes": classes, "is_neutral": False, "comparisons": [], "tables": []}
    return from_plain(Report, {**earlier, **intake.report, "sets": sets})


def choices_of(intake: Intake) -> tuple[ClassChoice, ...]:
    """Return what organisers make of the classes of a data set; nothing if they leave them as they are."""
    return tuple(from_plain(ClassChoice, each) for each in intake.classes or ())


def audiences_of(intake: Intake) -> tuple[Audience, ...]:
    """Return what organisers have answered to who may see the annotation of image sets."""
    return tuple(from_plain(Audience, each) for each in intake.audiences or ())


def tables_of(intake: Intake) -> TableChoice:
    """Return how tables of a data set are read that do not say it themselves."""
    return from_plain(TableChoice, intake.tables) if intake.tables else TableChoice()


def _files(session: Session, intake_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, tuple[IntakeFileView, ...]]:
    statement = select(IntakeFile).where(IntakeFile.intake_id.in_(intake_ids))
    found: dict[uuid.UUID, tuple[IntakeFileView, ...]] = {}
    for row in session.scalars(statement.order_by(IntakeFile.role, IntakeFile.name)):
        found[row.intake_id] = (*found.get(row.intake_id, ()), file_view(row))
    return found


def file_view(row: IntakeFile) -> IntakeFileView:
    """Return a file as organisers see it."""
    return IntakeFileView(row.id, row.intake_id, row.role, row.name, row.size, row.received, row.path)


def of_organiser(session: Session, actor: Actor, intake_id: uuid.UUID, *, lock: bool = False) -> Intake:
    """Return a data set of a challenge that the actor organises, locked if asked. Raises NotFoundError."""
    statement = select(Intake).where(
        Intake.id == intake_id, rows_for(actor, Action.ORGANISE, challenge=Intake.challenge_id)
    )
    found = session.scalar(statement.with_for_update() if lock else statement)
    if found is None:
        raise NotFoundError(f"there is no data set {intake_id}")
    if lock:
        require_active(session, found.challenge_id)
    return found


def require_role(session: Session, user_id: int, challenge_id: int, *, publishes: bool) -> None:
    """Raise ConflictError if whoever asked a worker to apply annotation to a locked challenge may not do so any more."""
    actor = actor_of(session, user_id)
    if actor is None or not actor.organises_challenge(challenge_id):
        raise ConflictError("whoever asked for it does not organise this challenge any more")
    if publishes and not actor.owns_challenge(challenge_id):
        raise ConflictError(
            "whoever asked for it does not own this challenge any more, and only owners publish annotation"
        )


def get_file(platform: Platform, actor: Actor, file_id: uuid.UUID) -> IntakeFileView:
    """Return a file of a data set. Raises NotFoundError."""
    with platform.transaction() as session:
        return file_view(_file_of_organiser(session, actor, file_id))


def _file_of_organiser(session: Session, actor: Actor, file_id: uuid.UUID) -> IntakeFile:
    statement = (
        select(IntakeFile)
        .join(Intake, IntakeFile.intake_id == Intake.id)
        .where(IntakeFile.id == file_id, rows_for(actor, Action.ORGANISE, challenge=Intake.challenge_id))
    )
    found = session.scalar(statement)
    if found is None:
        raise NotFoundError(f"there is no file {file_id} of a data set")
    return found


def start(platform: Platform, actor: Actor, code: str) -> IntakeView:
    """Start a data set of a challenge, as `add` does. Raises NotFoundError, ForbiddenError, NoWorkerError, ConflictError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        intake_id = add(session, actor, challenge.id)
        [found] = _views(session, Intake.id == intake_id)
        return found


def add(session: Session, actor: Actor, challenge_id: int) -> uuid.UUID:
    """Add a data set to a locked challenge and return its id; its classes and names become what they do in the one before.

    What is kept hidden there is kept hidden here; whether everyone may see a set that says test is asked again.

    Raises NoWorkerError, ConflictError.
    """
    assert actor.user_id is not None
    keys.newest(session)
    is_open = Intake.challenge_id == challenge_id, Intake.state != IntakeState.APPLIED
    if (session.scalar(select(func.count()).where(*is_open)) or 0) >= MOST_OPEN:
        raise ConflictError(f"this challenge has {MOST_OPEN} data sets that were not applied; delete some")
    before = session.scalar(
        select(Intake)
        .where(Intake.challenge_id == challenge_id)
        .order_by(Intake.created_at.desc(), Intake.id)
        .limit(1)
    )
    row = Intake(id=uuid.uuid4(), challenge_id=challenge_id, user_id=actor.user_id)
    if before is not None:
        row.classes, row.is_neutral, row.tables = before.classes, before.is_neutral, before.tables
        row.audiences = [to_plain(each) for each in audiences_of(before) if each.is_hidden] or None
    session.add(row)
    return row.id


def add_file(
    platform: Platform, actor: Actor, intake_id: uuid.UUID, role: IntakeRole, name: str, size: int
) -> IntakeFileView:
    """Add a file whose bytes will arrive; one with the same role and name is replaced.

    Raises NotFoundError, NoWorkerError, MalformedError, IntakeTooLargeError, ConflictError.
    """
    if size == 0:
        raise MalformedError("The file is empty")
    with platform.transaction() as session:
        intake = _editable(session, actor, intake_id)
        keys.newest(session)
        old = _remove_files(session, intake, IntakeFile.role == role, IntakeFile.name == shown_name(name))
        _require_space(platform, session, intake.id, size)
        row = IntakeFile(id=uuid.uuid4(), intake_id=intake.id, role=role, name=shown_name(name), size=size)
        row.received = 0
        session.add(row)
    delete_objects(platform, old)
    return file_view(row)


def _editable(session: Session, actor: Actor, intake_id: uuid.UUID) -> Intake:
    """Lock a data set whose files are about to change; what was found in it no longer holds."""
    intake = of_organiser(session, actor, intake_id, lock=True)
    if intake.state not in EDITABLE:
        raise ConflictError(_locked(intake.state))
    _change(intake, IntakeState.RECEIVING)
    intake.report, intake.message, intake.progress = None, "", {}
    return intake


def _locked(state: IntakeState) -> str:
    if state is IntakeState.APPLIED:
        return "this data set was applied; start another one"
    return "a worker is at this data set; wait for it, or cancel it"


def _change(intake: Intake, state: IntakeState) -> None:
    intake.state, intake.changed_at, intake.warned_at = state, func.clock_timestamp(), None


def _require_space(platform: Platform, session: Session, intake_id: uuid.UUID, size: int) -> None:
    known = select(func.count(), func.coalesce(func.sum(IntakeFile.size), 0)).where(
        IntakeFile.intake_id == intake_id
    )
    count, used = session.execute(known).one()
    most = platform.settings.max_intake
    if count >= MOST_FILES:
        raise ConflictError(f"a data set may have at most {MOST_FILES} files; pack several into one archive")
    if used + size > most:
        raise IntakeTooLargeError(
            f"a data set may have at most {most // MiB:,} MiB; with this file it would have {-(-(used + size) // MiB):,}"
        )


def add_from_folder(
    platform: Platform, actor: Actor, intake_id: uuid.UUID, role: IntakeRole, path: str
) -> None:
    """Add an archive or a folder below the import folder of the workers, which only they read.

    Raises NotFoundError, ForbiddenError, MalformedError, ConflictError.
    """
    if not actor.is_admin:
        raise ForbiddenError("Only admins may take data sets from the import folder")
    if platform.settings.import_folder is None:
        raise ConflictError("This server has no import folder (HELDOUT_IMPORT_FOLDER)")
    parts = PurePosixPath(path.strip())
    if not path.strip() or parts.is_absolute() or ".." in parts.parts or "\0" in path:
        raise FieldsError({"path": "expected a path below the import folder, such as birds/test.zip"})
    with platform.transaction() as session:
        intake = _editable(session, actor, intake_id)
        old = _remove_files(session, intake, IntakeFile.role == role, IntakeFile.name == parts.name)
        _require_space(platform, session, intake.id, 0)
        session.add(
            IntakeFile(intake_id=intake.id, role=role, name=parts.name, size=0, received=0, path=str(parts))
        )
    delete_objects(platform, old)


def remove_file(platform: Platform, actor: Actor, file_id: uuid.UUID) -> uuid.UUID:
    """Remove a file and its bytes; return its data set. Raises NotFoundError, ConflictError."""
    with platform.transaction() as session:
        intake = _editable(session, actor, _file_of_organiser(session, actor, file_id).intake_id)
        unused = _remove_files(session, intake, IntakeFile.id == file_id)
        found = intake.id
    delete_objects(platform, unused)
    return found


def _remove_files(session: Session, intake: Intake, *which: Any) -> set[str]:
    """Remove files of a locked data set, and what was read of all; return the objects that can be deleted after this transaction."""
    chosen = select(IntakeFile.id).where(IntakeFile.intake_id == intake.id, *which)
    objects = set(session.scalars(select(IntakeSegment.key).where(IntakeSegment.file_id.in_(chosen))))
    session.execute(delete(IntakeFile).where(IntakeFile.id.in_(chosen)))
    return removable(session, INTAKE, objects) | _forget_what_was_read(session, intake)


def _forget_what_was_read(session: Session, intake: Intake) -> set[str]:
    """Forget what was read of a locked data set; return the object that can be deleted after this transaction."""
    objects = {intake.kept_key} if intake.kept_key else set()
    intake.kept_key = None
    return removable(session, INTAKE, objects)


def delete_objects(platform: Platform, objects: set[str]) -> None:
    """Delete the bytes of files that were removed, after the transaction that removed them."""
    for key in objects:
        platform.intake.delete(key)


def read(platform: Platform, actor: Actor, intake_id: uuid.UUID) -> None:
    """Have a worker read a data set whose files have arrived, all of it anew. Raises NotFoundError, ConflictError."""
    with platform.transaction() as session:
        intake = of_organiser(session, actor, intake_id, lock=True)
        if intake.state not in EDITABLE:
            raise ConflictError(_locked(intake.state))
        files = _files(session, [intake.id]).get(intake.id, ())
        if not any(each.role is not IntakeRole.IMAGES for each in files):
            raise ConflictError("there is no annotation yet; add a file of annotation")
        if waiting := [each.name for each in files if not each.is_complete]:
            raise ConflictError(f"not all of {', '.join(waiting)} has arrived; send the rest, or remove it")
        unused = _forget_what_was_read(session, intake)
        queue_reading(session, intake)
    delete_objects(platform, unused)
    platform.notifier.wake_workers()


def queue_reading(session: Session, intake: Intake) -> None:
    """Have a worker read a locked data set, or what was read of it before; the caller wakes the workers."""
    _change(intake, IntakeState.RECEIVED)
    intake.report, intake.message, intake.progress, intake.request = None, "", {}, None
    add_job(session, intake)


def stored_classes(choices: Iterable[ClassChoice]) -> list[dict[str, Any]]:
    """What organisers make of classes, as it is stored."""
    return [to_plain(each) for each in choices]


def choose_classes(session: Session, actor: Actor, intake: Intake, choices: Sequence[ClassChoice]) -> None:
    """Have a worker read a locked data set again, with these classes; the caller wakes the workers."""
    keep_classes(session, actor, intake, choices)
    queue_reading(session, intake)


def keep_classes(session: Session, actor: Actor, intake: Intake, choices: Sequence[ClassChoice]) -> None:
    """Keep what becomes of the classes of a locked data set, for when it is read."""
    before = intake.classes
    intake.classes = stored_classes(choices)
    audit.record(
        session, actor.user_id, "data-set.classes", f"data set {intake.id}", challenge_id=intake.challenge_id,
        before={"classes": before}, after={"classes": intake.classes},
    )  # fmt: skip


def answer_audiences(
    platform: Platform, actor: Actor, intake_id: uuid.UUID, audiences: Sequence[Audience]
) -> None:
    """Answer who may see the annotation of image sets, and have a worker make the report again.

    Raises NotFoundError, ConflictError, and MalformedError for a set that was sent as hidden, or is none.
    """
    with platform.transaction() as session:
        intake = of_organiser(session, actor, intake_id, lock=True)
        if intake.state is IntakeState.APPLIED:
            raise ConflictError(_locked(intake.state))
        choose_audiences(session, actor, intake, audiences)
    platform.notifier.wake_workers()


def choose_audiences(session: Session, actor: Actor, intake: Intake, audiences: Sequence[Audience]) -> bool:
    """Have a worker make the report on a locked data set again if these answers are others; whether they are.

    The caller wakes the workers. Raises ConflictError without a report and while a worker has the data set, and MalformedError for
    a set that was sent as hidden, or is none: roles only become stricter.
    """
    report = report_of(intake)
    if intake.state in WITH_WORKER:
        raise ConflictError(_locked(intake.state))
    if report is None:
        raise ConflictError("the annotation has to be read first")
    public = {each.name for each in report.sets if each.sent_as == PUBLIC}
    if wrong := sorted({each.set for each in audiences} - public):
        raise MalformedError(
            f"no image set that was sent as public is called {', '.join(wrong)}; hidden annotation stays hidden"
        )
    usual = {each.set: Audience(each.set, is_hidden=False) for each in audiences if not says_test(each.set)}
    known = usual | {each.set: each for each in audiences_of(intake)}
    if known == known | {each.set: each for each in audiences}:
        return False
    known |= {each.set: each for each in audiences}
    after = [to_plain(each) for each in known.values()]
    audit.record(
        session, actor.user_id, "data-set.audiences", f"data set {intake.id}", challenge_id=intake.challenge_id,
        before={"audiences": intake.audiences}, after={"audiences": after},
    )  # fmt: skip
    intake.audiences = after
    queue_reading(session, intake)
    return True


def add_job(session: Session, intake: Intake) -> None:
    """Add the job that reads a data set, or applies it, as its row says."""
    owner, key = f"challenge {intake.challenge_id}", str(intake.id)
    queue.add(session, JobKind.INTAKE, {"intake": key}, owner=owner, key=key)


def cancel(platform: Platform, actor: Actor, intake_id: uuid.UUID) -> None:
    """Stop the worker that is at a data set; nothing of it is used. Raises NotFoundError, ConflictError."""
    with platform.transaction() as session:
        intake = of_organiser(session, actor, intake_id, lock=True)
        if intake.state not in (IntakeState.RECEIVED, IntakeState.READING):
            raise ConflictError("no worker is reading this data set")
        _change(intake, IntakeState.CANCELLED)
        intake.progress = {}


def choose_tables(platform: Platform, actor: Actor, intake_id: uuid.UUID, request: TableRequest) -> None:
    """Say how tables are read that do not say it themselves, and have a worker read the data set again.

    Raises NotFoundError, FieldsError, and ConflictError unless a report has such tables.
    """
    with platform.transaction() as session:
        intake = of_organiser(session, actor, intake_id, lock=True)
        report = report_of(intake)
        if intake.state not in EDITABLE:
            raise ConflictError(_locked(intake.state))
        if report is None or not report.tables:
            raise ConflictError("no table of this data set has to be explained")
        before, choice = tables_of(intake), request.after(report.explained_tables, tables_of(intake))
        intake.tables = to_plain(choice)
        audit.record(
            session, actor.user_id, "data-set.tables", f"data set {intake.id}", challenge_id=intake.challenge_id,
            before={"tables": to_plain(before)}, after={"tables": intake.tables},
        )  # fmt: skip
        queue_reading(session, intake)
    platform.notifier.wake_workers()


def choose_names(session: Session, actor: Actor, intake: Intake, *, is_neutral: bool) -> None:
    """Have a worker read a locked data set again, with neutral or its own names; the caller wakes the workers."""
    audit.record(
        session, actor.user_id, "data-set.names", f"data set {intake.id}", challenge_id=intake.challenge_id,
        before={"is_neutral": intake.is_neutral}, after={"is_neutral": is_neutral},
    )  # fmt: skip
    intake.is_neutral = is_neutral
    queue_reading(session, intake)


def delete_intake(platform: Platform, actor: Actor, intake_id: uuid.UUID) -> str:
    """Delete a data set and its bytes; what was applied stays. Return its challenge. Raises NotFoundError, ConflictError."""
    with platform.transaction() as session:
        intake = of_organiser(session, actor, intake_id, lock=True)
        if intake.state is IntakeState.APPLYING:
            raise ConflictError(_locked(intake.state))
        challenge = session.get_one(Challenge, intake.challenge_id)
        audit.record(
            session, actor.user_id, "data-set.delete", f"data set {intake.id}", challenge_id=challenge.id
        )
        unused = _delete(session, intake)
        code = challenge.code
    delete_objects(platform, unused)
    return code


def delete_all(session: Session, challenge_id: int) -> set[str]:
    """Delete all data sets of a challenge; return the objects that can be deleted after this transaction.

    Raises ConflictError while a worker applies one.
    """
    unused: set[str] = set()
    for intake in session.scalars(
        select(Intake).where(Intake.challenge_id == challenge_id).with_for_update()
    ).all():
        if intake.state is IntakeState.APPLYING:
            raise ConflictError(_locked(intake.state))
        unused |= _delete(session, intake)
    return unused


def _delete(session: Session, intake: Intake) -> set[str]:
    unused = _remove_files(session, intake)
    session.delete(intake)
    return unused


def remove_untouched(platform: Platform) -> None:
    """Tell organisers of data sets that nobody has touched for long, and remove those that they were told of."""
    now = func.clock_timestamp()
    is_open = Intake.state.not_in((IntakeState.APPLIED, *WITH_WORKER))
    due = (
        update(Intake)
        .where(is_open, Intake.warned_at.is_(None), Intake.changed_at < now - (UNTOUCHED - WARNING))
        .values(warned_at=now)
        .returning(Intake.challenge_id, Intake.id)
    )
    with platform.transaction() as session:
        for challenge_id, intake_id in session.execute(due).all():
            events.record(
                session, EventKind.DATA_SET_EXPIRES, challenge_id=challenge_id, intake=str(intake_id)
            )
    old = select(Intake).where(is_open, Intake.changed_at < now - UNTOUCHED, Intake.warned_at < now - WARNING)
    with platform.transaction() as session:
        unused: set[str] = set()
        for intake in session.scalars(old.with_for_update(skip_locked=True)).all():
            unused |= _delete(session, intake)
    delete_objects(platform, unused)
