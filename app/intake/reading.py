"""Reading and applying data sets in a worker: decrypt their segments, inspect them in a child process, record the report.

Nothing that was decrypted outlives the job: it lies in private storage while a worker processes it. What was read is kept encrypted
for the workers beside the segments, so that a report with other classes needs it alone. Applying reads again.
"""

import json
import secrets
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final

import pyrage
import structlog
from pyrage import x25519
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.challenges import challenges, same_labels, versions
from app.core.errors import StorageDamagedError, StorageFullError, StorageUnavailableError
from app.images import archives
from app.images.decoding import PictureError
from app.images.packs import pack
from app.intake import annotated_pictures, applying, intakes, keys
from app.intake.applying import ApplyError, OutdatedError, RefusedCopyError, RequestedApplication
from app.intake.drawing import DrawnPictures
from app.intake.findings import PhasePicture, written
from app.intake.inspecting import DRAWN, KEPT, OF_PHASES, READ, KnownPhase, Wanted, inspect, inspect_again
from app.intake.intakes import IntakeFileView
from app.intake.keys import KeyLostError
from app.intake.neutral_names import SECRET
from app.intake.reports import HIDDEN, PUBLIC, Audience, ClassChoice, Report, TableChoice
from app.intake.segments import Place, SegmentError, in_order, unseal
from app.intake.unpacking import ReadingLimits, SentFile, digest_of, noted_progress
from app.jobs import events, queue
from app.jobs.attempts import Handler
from app.jobs.queue import Claim
from app.jobs.sandbox import (
    ChildError,
    ChildFileError,
    ChildLimits,
    LimitExceededError,
    OutOfMemoryError,
    run_in_subprocess,
)
from app.models import (
    Challenge,
    Disclosure,
    EventKind,
    Intake,
    IntakeFile,
    IntakeKey,
    IntakeSegment,
    IntakeState,
    Job,
    NameSecret,
)
from app.platform import Platform
from app.submissions.retention import INTAKE, removable
from heldout_scoring.stored import from_plain, to_plain

log = structlog.get_logger()

FAILURES: Final = 3  # crashes of the child until the data set has failed
SCRATCH: Final = "intake-scratch"  # folder in private storage
LEFTOVER: Final = 3600.0  # seconds after which a folder that no job uses is removed
NICE: Final = 10
KEY_LOST: Final = "The key that this data set was encrypted for is lost. Upload the annotation again, and all other files with it."
NOT_DRAWN: Final = (
    "The images could not be drawn because of an error of the server, which admins can see in its log."
)
CRASHED: Final = "A worker could not read this data set because of an error of the server, which admins can see in its log."
WAY_OUT_OF_MEMORY: Final = (
    " Ask who runs the server for more, which HELDOUT_INTAKE_MEMORY sets; or send less: leave out the masks ('segmentation'), or "
    "split the annotation into several data sets."
)


class StoppedError(Exception):
    """The data set was cancelled or deleted, or another worker has taken over."""


class ImportFolderError(Exception):
    """A file of the import folder cannot be used; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class ReadingTask:
    """A data set to read or, with an application, to apply."""

    intake_id: uuid.UUID
    challenge: str
    dataset: str
    files: tuple[IntakeFileView, ...]
    application: RequestedApplication | None  # with those that follow it
    choices: tuple[ClassChoice, ...]  # what its classes become
    audiences: tuple[Audience, ...]  # who may see the annotation of its image sets
    is_neutral: bool  # whether hidden images get neutral names
    tables: TableChoice  # how tables are read that do not say it
    kept_key: str | None  # of what was read before
    state: IntakeState  # of the data set while a worker processes it; if it changes, that is no longer wanted

    @property
    def origin(self) -> str:
        """What it is read from: what was read of other files, or of the same in another role, is not used."""
        files = [(str(each.id), each.role.value, each.path) for each in self.files]
        return json.dumps([str(self.intake_id), self.dataset, files, to_plain(self.tables)])


def work(platform: Platform, claim: Claim) -> None:
    """Read a data set and record the report, or apply it. May be done again at any time."""
    task = _start(platform, claim)
    if task is None:
        return
    try:
        _read_or_apply(platform, claim, task)
    except StoppedError:
        log.info("data set no longer wanted", intake=str(task.intake_id))
    except KeyLostError:
        _fail(platform, claim, task, KEY_LOST)
    except SegmentError as error:
        _fail(platform, claim, task, f"{error}. Nothing of it was used; upload that file again.")
    except ImportFolderError as error:
        _fail(platform, claim, task, str(error))
    except LimitExceededError as error:
        way_out = WAY_OUT_OF_MEMORY if isinstance(error, OutOfMemoryError) else ""
        _fail(platform, claim, task, f"Reading this data set was stopped: {error}.{way_out}")
    except (OSError, StorageUnavailableError, ChildFileError) as error:
        _note_outage(platform, claim, error)
        raise


def _note_outage(
    platform: Platform, claim: Claim, error: OSError | StorageUnavailableError | ChildFileError
) -> None:
    """Record what a data set waits for, and since when."""
    what = (
        error.title
        if isinstance(error, StorageUnavailableError)
        else getattr(error, "strerror", None) or str(error)
    )
    with platform.transaction() as session:
        intake = _locked(session, claim)
        if intake is not None and intake.state in intakes.WITH_WORKER:
            since = intake.progress.get("since") or challenges.now(session).isoformat()
            intake.progress = {"step": "waiting", "done": 0, "total": None, "outage": what, "since": since}


def draw_hidden(platform: Platform, claim: Claim) -> None:
    """Draw some pictures of hidden annotation for the organiser who asked. May be done again at any time."""
    with platform.transaction() as session:
        intake = _locked(session, claim)
        if intake is None or intake.state in intakes.WITH_WORKER:
            return
        task = _task_of(session, intake, None)
    own = uuid.uuid5(
        task.intake_id, str(claim.payload["user"])
    )  # somebody may have the data set read or applied meanwhile
    try:
        with _scratch(platform, own) as folder:
            _inspected(platform, task, folder, ReadingWatch(platform, claim, task, folder), drawn=HIDDEN)
            drawn = folder / DRAWN
            made = drawn.read_bytes() if drawn.exists() else _without_pictures(NOT_DRAWN)
    except StoppedError:
        return
    except KeyLostError:
        made = _without_pictures(KEY_LOST)
    except (SegmentError, ImportFolderError, LimitExceededError) as error:
        made = _without_pictures(f"The images were not drawn: {str(error).rstrip('.')}.")
    except ChildFileError:
        raise  # an outage
    except ChildError:
        made = _without_pictures(NOT_DRAWN)
    annotated_pictures.store_hidden(platform, claim.payload, made)


def _without_pictures(message: str) -> bytes:
    return pack([json.dumps(to_plain(DrawnPictures(message=message))).encode()])


PICTURES_HANDLER: Final = Handler(draw_hidden)


def _give_up(session: Session, job: Job) -> None:
    """Record that a data set could not be read because of an error of ours; the job is no longer needed."""
    log.error("data set failed", job=job.id, error=job.error)
    intake = session.get(Intake, uuid.UUID(job.payload["intake"]), with_for_update=True)
    if intake is not None and intake.state in intakes.WITH_WORKER:
        _failed({}, session, intake, is_applying=intake.state is IntakeState.APPLYING)
        intake.state, intake.message, intake.progress = IntakeState.FAILED, CRASHED, {}
        intake.changed_at = func.clock_timestamp()
    session.delete(job)


HANDLER: Final = Handler(work, failures=FAILURES, on_give_up=_give_up)


def _start(platform: Platform, claim: Claim) -> ReadingTask | None:
    """Take a data set; None if there is nothing to do with it any more."""
    with platform.transaction() as session:
        intake = _locked(session, claim)
        if intake is None or intake.state not in intakes.WITH_WORKER:
            return None
        if intake.state is IntakeState.RECEIVED:
            intake.state = IntakeState.READING
        application = None
        if intake.state is IntakeState.APPLYING:
            application = RequestedApplication.model_validate(intake.request)
        return _task_of(session, intake, application)


def _task_of(session: Session, intake: Intake, application: RequestedApplication | None) -> ReadingTask:
    challenge = session.get_one(Challenge, intake.challenge_id)
    files = session.scalars(
        select(IntakeFile).where(IntakeFile.intake_id == intake.id).order_by(IntakeFile.role, IntakeFile.name)
    )
    return ReadingTask(
        intake.id,
        challenge.code,
        challenge.dataset,
        tuple(map(intakes.file_view, files)),
        application,
        intakes.choices_of(intake),
        intakes.audiences_of(intake),
        intake.is_neutral,
        intakes.tables_of(intake),
        intake.kept_key,
        intake.state,
    )


def _locked(session: Session, claim: Claim) -> Intake | None:
    """Lock the data set of a claim that still holds."""
    if queue.lock_claimed(session, claim) is None:
        return None
    return session.get(Intake, uuid.UUID(claim.payload["intake"]), with_for_update=True)


@dataclass(slots=True)
class ReadingWatch:
    """Records progress about once a second, and raises StoppedError once the data set is no longer wanted."""

    platform: Platform
    claim: Claim
    task: ReadingTask
    folder: Path
    _noted: float = field(default=0.0)

    def of_child(self) -> None:
        """Record what the child has noted."""
        self.note(noted_progress(self.folder))

    def note(self, progress: dict[str, Any] | None) -> None:
        """Record progress if the last record is old enough."""
        if time.monotonic() - self._noted < 1:
            return
        self._noted = time.monotonic()
        with self.platform.transaction() as session:
            intake = _locked(session, self.claim)
            if intake is None or intake.state is not self.task.state:
                raise StoppedError
            if progress is not None and intake.state in intakes.WITH_WORKER:
                outage: dict[str, Any] = {
                    name: intake.progress[name] for name in ("outage", "since") if name in intake.progress
                }
                intake.progress = {**progress, **outage}


def scratch_root(platform: Platform) -> Path:
    """The folder in which data sets are decrypted: in private storage, or a temporary one where that is a bucket."""
    return (platform.settings.private_storage or Path(tempfile.gettempdir())) / SCRATCH


@contextmanager
def _scratch(platform: Platform, intake_id: uuid.UUID) -> Iterator[Path]:
    """Provide an empty folder that no other user can read; what a killed worker left there is removed first."""
    folder = scratch_root(platform) / str(intake_id)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(platform: Platform) -> None:
    """Remove folders that killed workers have left, unless a worker is at their data sets."""
    if platform.private is None:
        return
    for folder in scratch_root(platform).glob("*"):
        if folder.stat().st_mtime > time.time() - LEFTOVER:
            continue
        with platform.transaction() as session:
            row = session.get(Intake, uuid.UUID(folder.name))
        if row is None or row.state not in intakes.WITH_WORKER:
            shutil.rmtree(folder, ignore_errors=True)


def _read_or_apply(platform: Platform, claim: Claim, task: ReadingTask) -> None:
    """Read a data set, and apply its image sets if that was asked for."""
    wanted = task.application.all if task.application else ()
    with _scratch(platform, task.intake_id) as folder:
        watch = ReadingWatch(platform, claim, task, folder)
        report = _inspected(platform, task, folder, watch, tuple(each.set for each in wanted))
        if not wanted:
            drawn = (folder / DRAWN).read_bytes() if (folder / DRAWN).exists() else None
            annotated_pictures.store_public(platform, task.intake_id, drawn)
            kept = _keep(platform, task, folder) if (folder / READ).exists() else task.kept_key
            _record(platform, claim, task, _report_of(report, kept))
            if kept != task.kept_key:
                _delete_unnamed(platform, {each for each in (task.kept_key, kept) if each})
        elif task.application:
            watch.note({"step": "making the phases", "done": 0, "total": None})
            try:
                _apply(platform, claim, task, task.application, report, folder)
            except ApplyError as error:
                failed = {"state": task.application.before, "message": str(error), "request": None}
                failed |= {"report": to_plain(report)}
                _record(platform, claim, task, partial(_not_applied, failed, task.application, error))


def _apply(
    platform: Platform,
    claim: Claim,
    task: ReadingTask,
    request: RequestedApplication,
    report: Report,
    folder: Path,
) -> None:
    """Store the files of the chosen image sets, then make their phases in one transaction. Raises ApplyError."""
    while True:
        ready = applying.prepare(platform, task.intake_id, task.challenge, request, report, folder)
        try:
            _record(platform, claim, task, ready.write)
        except OutdatedError:
            continue  # an import was faster and changed a phase: start from its state
        ready.clean_up(platform)
        return


def _inspected(
    platform: Platform,
    task: ReadingTask,
    folder: Path,
    watch: ReadingWatch,
    chosen: tuple[str, ...] = (),
    drawn: str = PUBLIC,
) -> Report:
    """Decrypt a data set, or what was read of it, and have a child inspect that. Raises what both raise.

    chosen: the sets that are applied, for which everything is read again.
    """
    settings = platform.settings
    secret = secret_of(platform, task.challenge) if task.is_neutral else None
    limits = ReadingLimits(
        settings.max_intake_unpacked, settings.max_intake_images, settings.max_intake_boxes
    )
    if task.state is IntakeState.READING:
        _list_pictures_of_phases(platform, task, folder / OF_PHASES, watch)
    child = ChildLimits(seconds=settings.intake_seconds, memory=settings.intake_memory, nice=NICE)
    with ExitStack() as held:
        known = tuple(_known_phases(platform, task, held))
        wanted = Wanted(
            chosen,
            drawn,
            task.choices,
            task.audiences,
            secret,
            known,
            None if chosen else task.origin,
            task.tables,
        )
        output = b""
        if not chosen and _is_opened(platform, task, folder / KEPT):
            output = run_in_subprocess(child, inspect_again, folder, limits, wanted, watch=watch.of_child)
        if not output:
            files = tuple(_decrypted(platform, task, folder, watch))
            output = run_in_subprocess(
                child, inspect, folder, files, task.dataset, limits, wanted, watch=watch.of_child
            )
    return from_plain(Report, json.loads(output))


def _keep(platform: Platform, task: ReadingTask, folder: Path) -> str | None:
    """Store what was read, encrypted for workers, and return its key; None if there is no space for it."""
    sealed = folder / f"{READ}.age"
    with platform.transaction() as session:
        key = keys.newest(session).public_key
    pyrage.encrypt_file(str(folder / READ), str(sealed), [x25519.Recipient.from_str(key)])
    try:
        return platform.intake.put(sealed, task.intake_id)
    except StorageFullError:
        log.warning("no space for what was read", intake=str(task.intake_id))
        return None


def _is_opened(platform: Platform, task: ReadingTask, target: Path) -> bool:
    """Decrypt what was read before; whether that was possible."""
    if task.kept_key is None or not platform.intake.exists(task.kept_key):
        return False
    try:
        with platform.intake.materialise(task.kept_key) as sealed:
            pyrage.decrypt_file(str(sealed), str(target), keys.identities(platform))
    except (pyrage.DecryptError, OSError, StorageDamagedError) as error:
        log.warning("what was read cannot be opened", intake=str(task.intake_id), error=type(error).__name__)
        return False
    return True


def _delete_unnamed(platform: Platform, objects: set[str]) -> None:
    """Delete those of these objects that no row names: what was read before, or now if that was not recorded."""
    with platform.transaction() as session:
        unused = removable(session, INTAKE, objects)
    intakes.delete_objects(platform, unused)


def _known_phases(platform: Platform, task: ReadingTask, held: ExitStack) -> Iterator[KnownPhase]:
    """Yield the phases that a data set is compared with: on reading all of its challenge, on applying those that it becomes.

    held: what the annotation of these phases is held in until the comparison is made.
    """
    if task.state not in (IntakeState.READING, IntakeState.APPLYING):
        return
    sets = {each.phase: each.set for each in task.application.all} if task.application else {}
    with platform.transaction() as session:
        found = [
            (phase, truth.version, truth.key)
            for phase in challenges.phases_of(session, task.challenge)
            if (not sets or phase.image_set in sets)
            and (truth := versions.shown_truth(session, phase.id)) is not None
        ]
    for phase, version, key in found:
        description = challenges.description_of(platform.descriptions, phase.description_key)
        numbers = tuple(zip(description.classes, description.class_numbers, strict=False))
        truth_file = held.enter_context(platform.truths.materialise(key))
        yield KnownPhase(phase.image_set, version, truth_file, numbers, sets.get(phase.image_set))


def secret_of(platform: Platform, code: str) -> bytes:
    """Return the secret of a challenge's neutral names, and make it if there is none. Raises KeyLostError.

    A secret that is lost is replaced as long as the challenge has no phases: until then nobody knows the names.
    """
    with platform.transaction() as session:
        challenge = challenges.challenge_of(session, code, lock=True)
        assert challenge is not None
        row = session.get(NameSecret, challenge.id)
        if row is not None:
            try:
                key = keys.identity(platform.secret.store, session.get_one(IntakeKey, row.key_id))
                return pyrage.decrypt(row.sealed, [key])
            except KeyLostError:
                if challenges.has_phases(session, challenge.id):
                    raise
                session.delete(row)
                session.flush()
        secret, newest = secrets.token_bytes(SECRET), keys.newest(session)
        sealed = pyrage.encrypt(secret, [x25519.Recipient.from_str(newest.public_key)])
        session.add(NameSecret(challenge_id=challenge.id, sealed=sealed, key_id=newest.id))
    return secret


def _decrypted(
    platform: Platform, task: ReadingTask, folder: Path, watch: ReadingWatch
) -> Iterator[SentFile]:
    """Decrypt every file into the folder. Raises SegmentError, KeyLostError, StoppedError, ImportFolderError."""
    total, done = sum(file.size for file in task.files), 0
    identities: dict[int, x25519.Identity] = {}
    for number, file in enumerate(task.files):
        if file.path is not None:
            yield SentFile(file.role.value, file.name, _in_import_folder(platform, file.path))
            continue
        target = folder / f"received-{number}"
        with target.open("xb") as stream:
            segments = _segments(platform, file.id, identities)
            for content in in_order(segments, task.intake_id, file.id, file.role.value):
                stream.write(content)
                done += len(content)
                watch.note({"step": "decrypting", "done": done, "total": total})
        yield SentFile(file.role.value, file.name, target)


def _list_pictures_of_phases(
    platform: Platform, task: ReadingTask, target: Path, watch: ReadingWatch
) -> None:
    """Write which pictures the phases of the challenge have, by their content, to find those that are sent again."""
    with platform.transaction() as session:
        phases = challenges.phases_of(session, task.challenge)
    done = 0
    with target.open("x") as file:
        for phase in phases:
            try:
                for name, content in archives.contents_of(platform, phase.id):
                    done += len(content)
                    watch.note({"step": "looking at the images of other phases", "done": done, "total": None})
                    is_public = phase.disclosure is Disclosure.FULL
                    file.write(
                        written(
                            PhasePicture(digest_of(content), phase.image_set, is_public, PurePath(name).name)
                        )
                    )
            except PictureError as error:
                log.warning("pictures of a phase not compared", phase=phase.id, error=str(error))


def _in_import_folder(platform: Platform, path: str) -> Path:
    """Return the place of a file or folder of the import folder; links must not lead out of it."""
    root = platform.settings.import_folder
    if root is None:
        raise ImportFolderError("This worker has no import folder (HELDOUT_IMPORT_FOLDER).")
    found = (root / path).resolve()
    if not found.is_relative_to(root.resolve()):
        raise ImportFolderError(f"{path} leads out of the import folder.")
    if not (found.is_file() or found.is_dir()):
        raise ImportFolderError(f"There is no file or folder {path} in the import folder of this worker.")
    return found


def _segments(
    platform: Platform, file_id: uuid.UUID, identities: dict[int, x25519.Identity]
) -> Iterator[tuple[Place, bytes]]:
    """Decrypt the listed segments of a file, in their order."""
    with platform.transaction() as session:
        statement = (
            select(IntakeSegment.key, IntakeKey)
            .join(IntakeKey, IntakeSegment.key_id == IntakeKey.id)
            .where(IntakeSegment.file_id == file_id)
            .order_by(IntakeSegment.offset)
        )
        rows = session.execute(statement).all()
    for name, key in rows:
        if key.id not in identities:
            identities[key.id] = keys.identity(platform.secret.store, key)
        if not platform.intake.exists(name):
            raise SegmentError("A part of the file is missing in storage")
        with platform.intake.open(name) as stream:
            yield unseal(stream.read(), identities[key.id])


Outcome = Callable[[Session, Intake], Mapping[str, Any]]
"""Writes what follows from a data set, and returns its columns."""


def _report_of(report: Report, kept_key: str | None) -> Outcome:
    def write(session: Session, intake: Intake) -> Mapping[str, Any]:
        _tell(session, intake, problems=report.total, warnings=report.total_warnings)
        return {**applying.report_values(report), "kept_key": kept_key}

    return write


def _failed(
    values: Mapping[str, Any], session: Session, intake: Intake, *, is_applying: bool
) -> Mapping[str, Any]:
    """Tell that a data set could not be read or applied, and return its columns."""
    _tell(session, intake, failed="applied" if is_applying else "read")
    return values


def _not_applied(
    values: Mapping[str, Any],
    request: RequestedApplication,
    error: ApplyError,
    session: Session,
    intake: Intake,
) -> Mapping[str, Any]:
    """Tell that a data set could not be applied, and record a refusal to publish what others hide."""
    if isinstance(error, RefusedCopyError):
        same_labels.record_refusal(session, request.user_id, error.hiding)
    return _failed(values, session, intake, is_applying=True)


def _tell(session: Session, intake: Intake, **details: Any) -> None:
    """Record for whoever sent a data set what became of it."""
    where: dict[str, Any] = {"challenge_id": intake.challenge_id, "user_id": intake.user_id}
    events.record(session, EventKind.DATA_SET_READ, **where, intake=str(intake.id), **details)


def _fail(platform: Platform, claim: Claim, task: ReadingTask, message: str) -> None:
    log.warning("data set failed", intake=str(task.intake_id), message=message)
    failed = {"state": IntakeState.FAILED, "message": message, "request": None}
    _record(platform, claim, task, partial(_failed, failed, is_applying=task.application is not None))


def _record(platform: Platform, claim: Claim, task: ReadingTask, outcome: Outcome) -> None:
    """Write the outcome in one transaction, unless the data set is no longer wanted or another worker has it."""
    with platform.transaction() as session:
        if task.application is not None:
            applying.lock(session, task.challenge)
        intake = _locked(session, claim)
        if intake is None or intake.state is not task.state:
            return
        values = outcome(session, intake)
        for name, value in {"progress": {}, "changed_at": func.clock_timestamp(), **values}.items():
            setattr(intake, name, value)
