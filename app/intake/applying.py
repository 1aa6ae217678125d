"""Applying a data set: one of its image sets becomes a phase, or the next version of a phase's ground truth."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer, WithJsonSchema
from sqlalchemy import func, select
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges, pictures_from, same_labels, versions
from app.challenges.challenges import PhaseView
from app.challenges.label_digests import LabelDigests
from app.challenges.phase_rules import parse_quota
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, ForbiddenError, MalformedError, RateLimitedError
from app.core.names import check_name
from app.images import archives, making
from app.images.making import ReadyImages
from app.images.pictures import queue_job
from app.intake import importing, intakes, testing, trials
from app.intake.class_choices import has_files, problem_in_files
from app.intake.importing import PublicCopyError, ReadyImport, TreeImport, new_rules
from app.intake.inspecting import CHOSEN, DIGESTS, FILES, TRUTHS
from app.intake.reports import ClassCount, FoundSet, Report
from app.models import (
    Challenge,
    ChallengeDraft,
    ChallengeVisibility,
    Disclosure,
    GroundTruth,
    ImageMode,
    Intake,
    IntakeRole,
    IntakeState,
    JobKind,
    Phase,
    Quota,
    stored,
)
from app.platform import Platform
from app.web.forms import OrBlank
from app.web.zones import Moment
from heldout_scoring.competitions import CHALLENGES
from heldout_scoring.stored import from_plain, to_plain

RULES: Final = {
    "disclosure", "quotas", "opens_at", "closes_at", "embargo", "frozen_days", "details_at_close", "only_complete", "competitions",
}  # of a new phase  # fmt: skip
LONGEST_QUOTAS: Final = 200  # characters
LONGEST_NOTE: Final = 300  # characters
OTHER_PROTOCOL: Final = "voc2012"  # of data sets that are no known challenge


class ApplyError(Exception):
    """A data set cannot be applied as asked; nothing was changed. The message is for organisers."""


def _parsed(quotas: object) -> object:
    """Read quotas from text; other values are left for the model to check."""
    if not isinstance(quotas, str):
        return quotas
    if len(quotas) > LONGEST_QUOTAS:
        raise ValueError(f"must have at most {LONGEST_QUOTAS} characters")
    return tuple(parse_quota(part) for part in quotas.split(",") if part.strip())


def _written(quotas: tuple[Quota, ...]) -> str:
    """Write quotas as text that the workers of the release before can read, too."""
    return ", ".join(f"{each['results']}/{each['days']}" for each in stored(quotas))


class RefusedCopyError(ApplyError):
    """A data set would publish what other phases hide. hiding: their names, for admins alone."""

    def __init__(self, hiding: Sequence[str]) -> None:
        super().__init__(
            "This annotation would be public, but another phase of this server keeps the same annotation hidden: anyone could "
            "see it and score against it without a quota. Only an admin may publish it."
        )
        self.hiding = tuple(hiding)


class Application(BaseModel):
    """How to apply a data set.

    The rules are those of a new phase; a phase that exists keeps its own, and gets the next version of its ground truth.
    """

    set: Annotated[str, Field(max_length=40, description="the key of an image set in the report")]
    phase: Annotated[str, Field(max_length=100, description="the phase, new or not, e.g. test")]
    disclosure: Disclosure | None = None
    quotas: Annotated[
        tuple[Quota, ...],
        BeforeValidator(_parsed),
        PlainSerializer(_written, return_type=str),
        WithJsonSchema(
            {"type": "string", "maxLength": 200, "description": "e.g. 2/7, 30/365 or 2/7, 30/all"}
        ),
    ] = ()
    opens_at: Moment | None = None
    closes_at: Moment | None = None
    protocol: Annotated[str, Field(max_length=60)] = ""
    embargo: Annotated[bool, Field(description="others see results only once the phase is over")] = False
    frozen_days: Annotated[
        OrBlank[Annotated[int, Field(ge=1, le=365)]],
        Field(description="before the deadline, in which others see no new results"),
    ] = None
    details_at_close: Annotated[bool, Field(description="show everything once the phase is over")] = False
    only_complete: Annotated[bool, Field(description="show class values only for complete results")] = False
    grace_minutes: Annotated[
        OrBlank[Annotated[int, Field(ge=0, le=10_080)]],
        Field(
            description="how long an upload started before the close may still be confirmed; null: an hour",
            exclude_if=lambda value: value is None,
        ),
    ] = None
    competitions: Annotated[
        OrBlank[tuple[int, ...]], Field(description="those to offer; null: all with ground truth")
    ] = None
    without_picture: Annotated[
        OrBlank[Annotated[int, Field(ge=0, le=10**9)]],
        Field(description="how many images of the set may have no file; by default none"),
    ] = None
    allow_public_copy: Annotated[
        bool, Field(description="load as public what another phase keeps hidden; for admins, and audited")
    ] = False

    note: Annotated[
        str, Field(max_length=LONGEST_NOTE, description="what is new in this version, for the organisers")
    ] = ""
    accept_changes: Annotated[
        bool,
        Field(
            description="replace annotation although published results will be refused or columns of boards will be blank, as the"
            " comparison in the report says; required for that"
        ),
    ] = False

    def tree_import(
        self, challenge: str, folder: Path, found: FoundSet, phase: PhaseView | None
    ) -> TreeImport:
        """The import that the command line would do, with pictures from a folder; phase: the one that exists already."""
        usual = None if found.dataset in CHALLENGES else OTHER_PROTOCOL
        request = TreeImport(
            tree=folder,
            challenge=challenge,
            image_set=self.phase,
            protocol=phase.protocol if phase else self.protocol or usual,
            images=ImageMode.COPY,
            allow_public_copy=self.allow_public_copy,
            note=self.note.strip(),
        )
        if phase is not None:
            return request
        return replace(
            request,
            disclosure=disclosure_of(found.role, self.disclosure),
            quotas=self.quotas or None,
            opens_at=self.opens_at,
            closes_at=self.closes_at,
            embargo=self.embargo,
            frozen_days=self.frozen_days,
            grace=None if self.grace_minutes is None else timedelta(minutes=self.grace_minutes),
            details_at_close=self.details_at_close,
            only_complete=self.only_complete,
            competitions=self.competitions,
        )


def releases(application: Application, role: str) -> bool:
    """Whether an application makes annotation known, at once or when the phase is over, which only owners may do."""
    return role == IntakeRole.PUBLIC or application.details_at_close


class RequestedApplication(Application):
    """An application with the person who asked for it, what this person accepted, and others that are applied with it.

    made_of: of the phases of a draft, which replace all that it had; before: the state of the data set, which it has again if this fails.
    """

    user_id: int
    accepted: tuple[str, ...] = ()  # consequences of replacing the annotation of its phase
    then: tuple[Application, ...] = ()
    made_of: dict[str, Any] | None = None
    before: IntakeState = IntakeState.READ

    @property
    def all(self) -> tuple[Application, ...]:
        """All applications."""
        return (self, *self.then)


def disclosure_of(role: str, chosen: Disclosure | None) -> Disclosure:
    """The disclosure of a new phase: public annotation is public, hidden annotation is held out."""
    return Disclosure.FULL if role == IntakeRole.PUBLIC else chosen or Disclosure.CLASSES


def problems_of(application: Application, found: FoundSet | None, phase: Phase | None) -> Mapping[str, str]:
    """Return the problems of an application by field. found: the image set; phase: the one that exists already."""
    problems: dict[str, str] = {}
    if found is None:
        return {"set": "choose an image set of the report"}
    try:
        check_name(application.phase, "image set")
    except ValueError as error:
        problems["phase"] = str(error)
    # without any picture a phase that exists keeps those that it has
    keeps_pictures = phase is not None and found.without_picture == found.images
    if found.without_picture > (application.without_picture or 0) and not keeps_pictures:
        problems["without_picture"] = f"{found.lacks}; send them, or say that they stay so"
    if phase is not None:
        rules = application.model_dump(include=RULES)
        if any(rules.values()):
            problems["phase"] = "this phase exists and keeps its rules; change them on its page"
        elif found.role == IntakeRole.HIDDEN and phase.disclosure is Disclosure.FULL:
            problems["phase"] = (
                "the annotation of this phase is public, so hidden annotation cannot become its ground truth"
            )
        return problems
    named = [(each.name, problem_in_files(each.name)) for each in found.classes] if has_files(found) else []
    if wrong := [f"{name}: this class {problem}" for name, problem in named if problem]:
        problems["set"] = f"{wrong[0]}; call it otherwise in the annotation"
    if found.role == IntakeRole.HIDDEN and application.disclosure is Disclosure.FULL:
        problems["disclosure"] = (
            "this annotation was sent as hidden; send it as public annotation to publish it"
        )
    if found.role == IntakeRole.PUBLIC and application.disclosure not in (None, Disclosure.FULL):
        problems["disclosure"] = (
            "this annotation was sent as public; send it as hidden annotation to hold it out"
        )
    return problems


class ApplicationError(MalformedError):
    """Fields of an application are wrong."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {message}" for field, message in problems.items()))
        self.problems = problems


def request_application(platform: Platform, actor: Actor, intake_id: UUID, application: Application) -> None:
    """Have a worker apply an image set of a data set.

    Raises NotFoundError, ForbiddenError, ConflictError, and ApplicationError with the problem of each field.
    """
    if application.allow_public_copy and not actor.is_admin:
        raise ForbiddenError("Only admins may publish annotation that another phase keeps hidden")
    with platform.transaction() as session:
        intake = intakes.of_organiser(session, actor, intake_id, lock=True)
        if intake.state is not IntakeState.READ:
            raise ConflictError("only a data set that was read without problems can be applied, and once")
        report = intakes.report_of(intake)
        sets = report.sets if report else ()
        found = next((each for each in sets if each.key == application.set), None)
        phase = challenges.stored_phase(session, intake.challenge_id, application.phase)
        problems = dict(problems_of(application, found, phase))
        if not problems and found is not None and phase is None:
            problems |= _contradiction(session, application, found)
        consequences = _consequences(session, report, application, phase)
        if not problems and consequences and not application.accept_changes:
            problems["accept_changes"] = f"{'; '.join(consequences)}; tick this to apply it all the same"
        if problems:
            raise ApplicationError(problems)
        is_released = found is not None and releases(application, found.role)
        if is_released and not actor.owns_challenge(intake.challenge_id):
            raise ForbiddenError(
                "Only owners of the challenge publish annotation; hold it out, or ask an owner to apply it"
            )
        queue_applications(session, actor, intake, [application], accepted=consequences)
    platform.notifier.wake_workers()


def queue_applications(
    session: Session,
    actor: Actor,
    intake: Intake,
    applications: Sequence[Application],
    *,
    accepted: tuple[str, ...] = (),
    made_of: dict[str, Any] | None = None,
) -> None:
    """Have a worker apply several image sets of a locked data set, all or none; the caller wakes the workers.

    accepted: the consequences of the first; made_of: of the phases of a draft, which replace all that it has.
    """
    assert actor.user_id is not None
    report = intakes.report_of(intake)
    roles = {each.key: each.role for each in report.sets} if report else {}
    if any(roles.get(each.set) == IntakeRole.PUBLIC for each in applications):
        same_labels.require_few_refusals(session, actor.user_id)
    first, *others = applications
    asked = RequestedApplication(
        **first.model_dump(),
        user_id=actor.user_id,
        accepted=accepted,
        then=tuple(others),
        made_of=made_of,
        before=intake.state,
    )
    intake.state, intake.message, intake.progress = IntakeState.APPLYING, "", {}
    intake.changed_at = func.clock_timestamp()
    intake.request = asked.model_dump(mode="json")
    for each in applications:
        audit.record(
            session, actor.user_id, "data-set.apply", f"data set {intake.id}",
            challenge_id=intake.challenge_id, details=each.model_dump(mode="json"),
        )  # fmt: skip
    intakes.add_job(session, intake)


def _consequences(
    session: Session, report: Report | None, application: Application, phase: Phase | None
) -> tuple[str, ...]:
    """What published results suffer if this is applied, as far as it was compared with what the boards show now."""
    truth = versions.shown_truth(session, phase.id) if phase else None
    if truth is None or report is None:
        return ()
    found = report.comparison(application.set, application.phase, truth.version)
    return found.consequences if found else ()


def _contradiction(session: Session, application: Application, found: FoundSet) -> Mapping[str, str]:
    """The problem of rules that contradict each other; such as a phase that closes before it opens."""
    request = application.tree_import("x", Path(), found, None)
    try:
        new_rules(request, challenges.now(session))
    except ValueError as error:
        return {"closes_at": str(error)}
    return {}


def report_values(report: Report) -> dict[str, Any]:
    """The columns of a data set that was read."""
    state = IntakeState.READ if report.is_valid else IntakeState.INVALID
    return {"state": state, "report": to_plain(report)}


class OutdatedError(Exception):
    """A phase was changed after the files of an application were stored; nothing was written."""


@contextmanager
def _said() -> Iterator[None]:
    """Say for organisers why something cannot be applied. Raises ApplyError."""
    try:
        yield
    except PublicCopyError as error:
        raise RefusedCopyError(error.hiding) from error
    except (ValueError, ConflictError, RateLimitedError) as error:
        raise ApplyError(str(error)) from error


@dataclass(frozen=True, slots=True)
class _ReadySet:
    """An image set whose files are stored. truth_key: of its annotation; images: None if it has none."""

    found: FoundSet
    phase: str
    truth_key: str
    truth: ReadyImport
    images: ReadyImages | None


@dataclass(slots=True)
class ReadyApplication:
    """A data set whose files are stored, and whose phases are not made yet."""

    request: RequestedApplication
    challenge: str
    sets: tuple[_ReadySet, ...]
    _clean: list[Callable[[Platform], None]] = field(default_factory=list)

    def write(self, session: Session, intake: Intake) -> Mapping[str, Any]:
        """Make all phases, and return the columns of the data set. `lock` must have been called before.

        Raises ApplyError, and OutdatedError if the files have to be stored again; the transaction then has to be rolled back.
        """
        values: dict[str, Any] = {}
        notes: list[str] = []
        with _said():
            if session.get_one(Challenge, intake.challenge_id).code != self.challenge:
                raise ConflictError("The address of the challenge was changed meanwhile; nothing was applied")
            asked = zip(self.request.all, self.sets, strict=True)
            is_released = any(releases(each, ready.found.role) for each, ready in asked)
            intakes.require_role(session, self.request.user_id, intake.challenge_id, publishes=is_released)
            if self.request.made_of is not None:
                self._clear(session, intake.challenge_id)
            if any(each.found.role == IntakeRole.PUBLIC for each in self.sets):
                same_labels.require_few_refusals(session, self.request.user_id)
            for each in self.sets:
                values = self._write(session, each)
                notes.append(values["message"])
        return {**values, "message": " ".join(filter(None, notes))}

    def clean_up(self, platform: Platform) -> None:
        """Remove contents that nothing refers to any more, after the transaction."""
        for remove in self._clean:
            remove(platform)

    def _clear(self, session: Session, challenge_id: int) -> None:
        """Delete the phases that the draft had, with their test runs, and record what the new ones are made of."""
        challenge = session.get_one(Challenge, challenge_id)
        if challenge.visibility is not ChallengeVisibility.DRAFT:
            raise ConflictError("The challenge was opened meanwhile, so its phases stay as they are")
        tests = testing.delete_all(session, self.request.user_id, challenge)
        testing.delete_phases(session, challenge_id)
        self._clean.append(lambda platform: testing.remove_contents(platform, tests))
        session.get_one(ChallengeDraft, challenge_id).made_of = self.request.made_of

    def _write(self, session: Session, ready: _ReadySet) -> dict[str, Any]:
        imported = ready.truth.write(session)
        if imported is None:
            raise OutdatedError
        phase = session.get_one(Phase, imported.phase_id, with_for_update={"key_share": True})
        if ready.found.role == IntakeRole.HIDDEN and phase.disclosure is Disclosure.FULL:
            raise ConflictError(
                f"the annotation of {ready.phase} became public meanwhile, so hidden annotation cannot become its ground truth"
            )
        if not imported.is_new:
            self._clean.append(lambda platform: platform.truths.delete(ready.truth_key))
        if ready.images is not None:
            unused = ready.images.write(session, imported.phase_id)
            if unused is None:
                raise OutdatedError
            self._clean.append(unused.remove)
            pictures_from.show(session, session.get_one(Challenge, phase.challenge_id))
        truth = challenges.newest_truth(session, imported.phase_id)
        if ready.found.role == IntakeRole.HIDDEN and truth is not None:
            trials.add(session, truth.id)
        notes = [f"Of {ready.phase}, {warning}." for warning in imported.warnings]
        if not imported.is_new:
            if ready.images is None:  # whose files may have other names now
                unnamed = archives.forget(session, imported.phase_id)
                self._clean.append(lambda platform: archives.remove(platform, unnamed))
                queue_job(session, JobKind.PICTURES, imported.phase_id)
            same = f"This annotation equals version {imported.version}, the newest of {ready.phase}"
            unchanged = "nothing was changed" if ready.images is None else "only its images were taken"
            notes = [f"{same}; {unchanged}."]
        return {
            "state": IntakeState.APPLIED,
            "phase_id": imported.phase_id,
            "version": imported.version,
            "message": " ".join(notes),
        }


def lock(session: Session, challenge: str) -> None:
    """Take the locks that come before those of a data set that is applied: of imports, and of the challenge."""
    challenges.lock_imports(session)
    challenges.challenge_of(session, challenge, lock=True)


def prepare(
    platform: Platform,
    intake_id: UUID,
    challenge: str,
    request: RequestedApplication,
    report: Report,
    folder: Path,
) -> ReadyApplication:
    """Store the files of the chosen image sets. May be repeated. Raises ApplyError."""
    with _said():
        ready = tuple(
            _ready(platform, intake_id, challenge, request, each, report, folder) for each in request.all
        )
    return ReadyApplication(request, challenge, ready)


def _ready(
    platform: Platform,
    intake_id: UUID,
    challenge: str,
    request: RequestedApplication,
    application: Application,
    report: Report,
    folder: Path,
) -> _ReadySet:
    found = next((each for each in report.sets if each.key == application.set), None)
    if found is None or not report.is_valid:
        raise ApplyError("The data set could no longer be read as it was; read it again")
    is_replaced = request.made_of is not None
    of_phase = (each for each in report.comparisons if each.phase == application.phase and not is_replaced)
    compared = next(of_phase, None)
    accepted = request.accepted if application is request else ()
    if compared and compared.consequences not in ((), accepted):
        raise ApplyError(
            f"Not applied, because {application.phase} would change in a way that nobody has agreed to: look at what changes, tick that"
            " you accept it, and apply it again."
        )
    with platform.transaction() as session:
        known = challenges.phase_of(session, challenge, application.phase)
        phase = None if is_replaced else known
        batches = making.known_batches(session, phase.id) if phase else {}
    pictures = folder / CHOSEN / found.key
    tree = replace(
        application.tree_import(challenge, pictures, found, phase),
        user_id=request.user_id,
        compared_version=compared.version if compared else None,
        intake=intake_id,
        files=json.loads((folder / FILES / found.key).read_text()),
    )
    truth = heldout_scoring.GroundTruth.open(folder / TRUTHS / found.key)
    truth = heldout_scoring.GroundTruth.of(replace(truth.lists, image_set=application.phase), truth.tables)
    importing.check_names(tree)
    key = importing.store_truth(platform, tree, truth)
    digests = from_plain(LabelDigests, json.loads((folder / DIGESTS / found.key).read_text()))
    ready = importing.prepare(platform, tree, truth, key, digests=digests, is_replaced=is_replaced)
    images = None
    if any(pictures.iterdir()):
        images = making.prepare(platform, ready.description, batches, pictures, ImageMode.COPY)
    return _ReadySet(found, application.phase, key, ready, images)


@dataclass(frozen=True, slots=True)
class PhaseCounts:
    """What the ground truth has that the boards of a phase show; before it is replaced, organisers compare."""

    image_set: str
    version: int
    is_public: bool
    images: int
    classes: tuple[ClassCount, ...]


def phases_to_replace(platform: Platform, code: str) -> tuple[PhaseCounts, ...]:
    """Return the phases of a challenge with the counts of the ground truth that their boards show."""
    statement = (
        select(Phase)
        .join(Challenge, Phase.challenge_id == Challenge.id)
        .where(Challenge.code == code)
        .order_by(*challenges.PHASE_ORDER)
    )
    with platform.transaction() as session:
        found = [
            (phase, versions.shown_truth(session, phase.id)) for phase in session.scalars(statement).all()
        ]
        return tuple(_counts(phase, truth) for phase, truth in found if truth is not None)


def _counts(phase: Phase, truth: GroundTruth) -> PhaseCounts:
    rows = tuple(ClassCount(**row) for row in truth.statistics.get("rows", ()))
    images = int(truth.statistics.get("total", {}).get("images", 0))
    return PhaseCounts(phase.image_set, truth.version, phase.disclosure is Disclosure.FULL, images, rows)
