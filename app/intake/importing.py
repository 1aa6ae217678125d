"""Import development kits as phases."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges, news, same_labels, versions
from app.challenges.challenges import description_of
from app.challenges.label_digests import LabelDigests, label_digests
from app.challenges.phase_rules import (
    PhaseRules,
    RuleChange,
    has_results,
    new_contradictions,
    quotas_of_new_phase,
    rule_changes,
    store,
    unfair_changes,
)
from app.challenges.same_labels import LabelPrints
from app.core.access import require_active
from app.core.names import check_name
from app.images import making
from app.images.making import ImportedImages
from app.intake.class_choices import problem_in_files
from app.intake.comparing import compare
from app.intake.findings import add_clues, add_findings
from app.intake.formats.class_folders import called_by_class
from app.intake.formats.image_names import public_names
from app.intake.formats.reading import COCO, VOC, AnnotatedSet, Reading
from app.intake.formats.recognition import format_of, read_annotation
from app.intake.reports import HIDDEN, ODD_NAME, PUBLIC
from app.intake.unpacking import ProgressNotes, ReadingLimits, SentFile, Unpacked, unpack
from app.jobs import events
from app.models import (
    AuditRecord,
    Challenge,
    Disclosure,
    EventKind,
    GroundTruth,
    ImageMode,
    Phase,
    Quota,
)
from app.platform import Platform
from app.results import ladder
from app.storage import digest_of, owner_of
from heldout_scoring import Problem, Problems
from heldout_scoring.evaluation import columns_of, missing_truth


class PublicCopyError(ValueError):
    """An import would publish what other phases keep hidden; the message names them."""

    def __init__(self, message: str, hiding: Sequence[str]) -> None:
        super().__init__(message)
        self.hiding = tuple(hiding)


class NoLimit(Enum):
    """An option that removes a rule: a phase without a closing date."""

    NONE = "none"


NONE = NoLimit.NONE


class NoImages(Enum):
    """An option that removes the images of a phase."""

    NONE = "none"


@dataclass(frozen=True, slots=True)
class TreeImport:
    """A development-kit tree or a COCO JSON file to load, and the rules of its phase.

    None means "not given": an existing phase keeps its value, a new one gets the default.
    """

    tree: Path
    challenge: str
    image_set: str
    title: str | None = None
    protocol: str | None = None  # by default the one of the tree's year
    disclosure: Disclosure | None = None
    details_at_close: bool | None = None
    only_complete: bool | None = None  # show class values only for complete results
    quotas: tuple[Quota, ...] | None = None  # per task, for each team and each person; empty: unlimited
    opens_at: datetime | None = None
    closes_at: datetime | NoLimit | None = None
    closes_in: timedelta | None = None  # counted from the import; instead of closes_at
    grace: timedelta | None = None
    embargo: bool | None = None  # others see results only once the phase is over
    frozen_days: int | None = None  # before a new phase closes, in which others see no new results
    limits: Mapping[str, int] = field(default_factory=dict)  # archive limits to change
    competitions: tuple[int, ...] | None = None  # those to offer in a new phase; None: all with ground truth
    images: ImageMode | NoImages | None = None  # what to do with the images; by default link them
    image_folder: Path | None = None  # where the images are, by default in the tree
    allow_public_copy: bool = False  # of an annotation that another phase keeps hidden
    user_id: int | None = None  # who asked for it; None: the command line
    compared_version: int | None = None  # that it was compared with, which the boards have to show
    intake: uuid.UUID | None = None  # the data set that it is from
    note: str = ""  # of organisers, on the version
    copied_from: int | None = None  # the earlier version of the phase that it is
    files: Mapping[str, str] = field(
        default_factory=dict
    )  # what annotation calls the files of images, by image, where these are numbers
    corrected: int = 0  # images whose labels were corrected on the page


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome of an import.

    version: of the ground truth; is_new: whether this version is new; shown: the version that the boards show; new_boards: competitions
    that this version adds; not_offered: competitions without ground truth, and what the annotation lacks; warnings: consequences of the
    changes, and what may be a mistake in the annotation; pictures: None if the tree has no images or those of the phase were removed.
    """

    phase_id: int
    version: int
    is_new: bool
    shown: int
    statistics: heldout_scoring.Statistics
    changes: tuple[RuleChange, ...]
    warnings: tuple[str, ...]
    new_boards: tuple[int, ...]
    not_offered: Mapping[int, str]
    pictures: ImportedImages | None = None
    pictures_removed: bool = False


# of an import that are rules as they are
OPTIONS: Final = ("disclosure", "details_at_close", "only_complete", "opens_at", "grace", "embargo")
DATES: Final = {"opens_at", "closes_at", "grace", "frozen_from"}


def parse_date(text: str) -> datetime:
    """Parse a date and time with a time zone; return it in UTC.

    Raises ValueError for anything else, and if the time zone is missing.

    >>> parse_date("2027-01-31T12:00+02:00").isoformat()
    '2027-01-31T10:00:00+00:00'
    """
    expected = "expected a date and time with a time zone, such as 2027-01-31T12:00Z"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a date; {expected}") from None
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; {expected} (Z stands for UTC)")
    return moment.astimezone(UTC)


def new_rules(request: TreeImport, now: datetime) -> PhaseRules:
    """Return the rules of a new phase. Raises ValueError if they contradict each other."""
    return _consistent(
        None, _with_options(PhaseRules(opens_at=now, disclosure=Disclosure.CLASSES), request, now)
    )


def changed_rules(rules: PhaseRules, request: TreeImport, now: datetime) -> PhaseRules:
    """Apply the given options to the rules of a phase. Raises ValueError if the result contradicts itself."""
    return _consistent(rules, _with_options(rules, request, now))


def _with_options(rules: PhaseRules, request: TreeImport, now: datetime) -> PhaseRules:
    if request.closes_in is not None and request.closes_at is not None:
        raise ValueError("give either a closing date or the days until then, not both")
    closes_at = now + request.closes_in if request.closes_in else request.closes_at
    given = {name: getattr(request, name) for name in OPTIONS if getattr(request, name) is not None}
    after = rules.changed(
        now,
        closes_at=None if closes_at is NONE else closes_at or rules.closes_at,
        frozen_days=request.frozen_days,
        **given,
    )
    quotas = request.quotas if request.quotas is not None else rules.quotas or None
    return replace(after, quotas=quotas_of_new_phase(quotas, after.disclosure))


def _consistent(before: PhaseRules | None, after: PhaseRules) -> PhaseRules:
    for problem in new_contradictions(before, after):
        raise ValueError(problem.message)
    return after


def warnings(before: PhaseRules, after: PhaseRules) -> Iterator[str]:
    """Yield the consequences of a change of disclosure."""
    if after.disclosure == before.disclosure:
        return
    if after.disclosure is Disclosure.FULL:
        yield (
            "the annotation is public now: every digit, curve, interval and count of every result is shown to everyone, and"
            " cannot be made secret again"
        )
    elif before.disclosure is Disclosure.FULL:
        yield (
            "the annotation is held out from now on, but curves and counts were public until now: anyone who kept them knows"
            " much about the labels"
        )


def import_tree(platform: Platform, request: TreeImport) -> Imported:
    """Load a tree or COCO's JSON into a phase; the hidden annotation is stored apart from the public description.

    If the phase exists, the given options are applied to it. Files are stored first and rows written in one transaction, so
    a failure leaves nothing visible. Images come last, and problems with them do not stop the import.
    Raises heldout_scoring.TreeError with every file that is wrong, ValueError for options that are not possible.
    """
    check_names(request)
    problems = Problems()
    truth = _read(platform, request, problems)
    if truth.lists.class_numbers:
        request = replace(request, files=_file_names(request.tree))
    problems.join(_look_at(platform, request, truth))
    consequences = _consequences(platform, request, truth)
    imported = import_truth(platform, request, truth)
    told = (*imported.warnings, *map(str, problems.warnings), *consequences)
    return with_pictures(platform, request, replace(imported, warnings=told))


def check_names(request: TreeImport) -> None:
    """Raise ValueError unless the names of the challenge and the image set can be used in URLs."""
    check_name(request.challenge, "challenge code")
    check_name(request.image_set, "image set")


def import_truth(platform: Platform, request: TreeImport, truth: heldout_scoring.GroundTruth) -> Imported:
    """Load annotation into a phase as `import_tree` does, but no images.

    Raises ValueError for options that are not possible.
    """
    key = store_truth(platform, request, truth)
    imported = None
    while imported is None:  # another import was faster and changed the phase: start from its state
        ready = prepare(platform, request, truth, key)
        with platform.transaction() as session:
            imported = ready.write(session)
    if not imported.is_new:
        platform.truths.delete(key)
    return imported


def store_truth(platform: Platform, request: TreeImport, truth: heldout_scoring.GroundTruth) -> str:
    """Store annotation for `prepare` and return its key. Raises ValueError for options that are not possible."""
    _protocol(request, truth.description)
    _require_any_competition(truth, _missing(request, truth, None))
    with platform.truths.draft() as draft:
        truth.save(draft)
        return platform.truths.put(draft, uuid.uuid4())


def with_pictures(platform: Platform, request: TreeImport, imported: Imported) -> Imported:
    """Import the images of the tree, or remove those of the phase, after the annotation is loaded."""
    if isinstance(request.images, NoImages):
        return replace(imported, pictures_removed=making.remove(platform, imported.phase_id))
    tree = request.tree if request.tree.is_dir() else request.tree.parent
    mode = request.images or making.mode_of(platform, imported.phase_id) or ImageMode.LINK
    taken = making.import_images(platform, imported.phase_id, tree, mode, request.image_folder, request.files)
    return replace(imported, pictures=taken)


def _file_names(annotation: Path) -> Mapping[str, str]:
    """What COCO's JSON calls the files of its images, by their numbers; nothing for anything else."""
    if annotation.is_dir():
        return {}
    try:
        page = json.loads(annotation.read_bytes())
    except ValueError:  # an archive or a table
        return {}
    images = page.get("images", ()) if isinstance(page, dict) else ()  # of another tool
    return {str(each["id"]): each["file_name"] for each in images if isinstance(each.get("file_name"), str)}


@dataclass(frozen=True, slots=True)
class ReadyImport:
    """An import whose files are stored, and whose rows are not written yet.

    write: writes all of them in a transaction; returns None if the phase got other descriptions meanwhile, and raises ValueError for
    options that are not possible.
    """

    description: heldout_scoring.Description
    write: Callable[[Session], Imported | None]


def prepare(
    platform: Platform,
    request: TreeImport,
    truth: heldout_scoring.GroundTruth,
    truth_key: str,
    *,
    digests: LabelDigests | None = None,
    prints: LabelPrints | None = None,
    is_replaced: bool = False,
) -> ReadyImport:
    """Store the descriptions of an import, and the fingerprints of its images.

    digests: of the annotation with the names that its images were sent with, if they got others; prints: instead of digests, if they
    are known; is_replaced: whether the phase is deleted before the rows are written.

    Raises ValueError for options that are not possible.
    """
    protocol = _protocol(request, truth.description)
    with platform.transaction() as session:
        found = challenges.phase_of(session, request.challenge, request.image_set)
        known = None if is_replaced else found
        newest = challenges.newest_truth(session, known.id) if known else None
        keys = versions.keys_in_use(session, known.id) if known else frozenset()
    statistics = heldout_scoring.count_objects(truth)
    limits, limit_changes = _limits(platform, request, known.description_key if known else None)
    limited = versions.store_limits(platform, keys, limits)
    missing = _missing(request, truth, known)
    images = [each.id for each in truth.description.images]
    files = public_names(request.files, is_hidden=_is_held_out(request, known), images=images)
    description = replace(truth.description.with_files(files), limits=limits, not_offered=tuple(missing))
    key = versions.store_description(platform, description, limited.values())
    if files and newest is not None and newest.fingerprint == digest_of(truth_key) and newest.description_key:
        same = description_of(platform.descriptions, limited[newest.description_key]).with_files(files)
        limited[newest.description_key] = versions.store_description(platform, same, limited.values())
    prints = prints or same_labels.prints_of(platform, digests or label_digests(truth))
    images_key = same_labels.store_images(platform, prints, truth_key)
    stored_truth = _Stored(truth_key, key, prints.labels, images_key)
    overlaps = same_labels.overlaps(
        platform, prints, request.challenge, request.image_set, is_replaced=is_replaced
    )

    def write(session: Session) -> Imported | None:
        challenges.lock_imports(session)
        phase = challenges.phase_of(session, request.challenge, request.image_set)
        if (versions.keys_in_use(session, phase.id) if phase else frozenset()) != keys:
            return None
        challenge, title_changes = _challenge(session, request, truth.description.dataset)
        stored = _store_phase(session, request, challenge, protocol, key)
        if not stored.is_new:
            versions.use_descriptions(session, stored.phase, limited)
        changed = (*title_changes, *stored.changes, *limit_changes)
        was_public = phase is not None and phase.disclosure is Disclosure.FULL
        hiding = _phases_hiding(session, request, stored.phase, stored_truth, was_public=was_public)
        version, is_new, boards = _store_truth(session, request, stored.phase, truth, stored_truth, missing)
        shown = versions.shown_truth(session, stored.phase.id)
        shown_version = shown.version if shown else version
        if request.compared_version not in (None, shown_version):
            raise ValueError(
                f"the boards of {request.image_set} began to show version {shown_version} meanwhile; look at what changes, and apply"
                " it again"
            )
        is_held_out = stored.phase.is_held_out
        told = same_labels.warnings_of(session, overlaps, is_held_out=is_held_out, user_id=request.user_id)
        if is_new and not is_held_out:
            same_labels.record_published(session, overlaps, request.user_id)
        if is_new:
            _record_truth(session, request, stored.phase, version, is_shown=shown_version == version)
        if changed or is_new:
            session.add(_audit_record(request, stored, changed, version if is_new else None, hiding))
        return Imported(
            phase_id=stored.phase.id,
            version=version,
            is_new=is_new,
            shown=shown_version,
            statistics=statistics,
            changes=changed,
            warnings=(*stored.warnings, *told),
            new_boards=boards,
            not_offered=missing,
        )

    return ReadyImport(description, write)


def _is_held_out(request: TreeImport, phase: challenges.PhaseView | None) -> bool:
    before = phase.disclosure if phase else Disclosure.CLASSES
    return (request.disclosure or before) is not Disclosure.FULL


def _record_truth(
    session: Session, request: TreeImport, phase: Phase, version: int, *, is_shown: bool
) -> None:
    """Record for organisers that a version of the annotation was imported."""
    where: dict[str, Any] = {"challenge_id": phase.challenge_id, "phase_id": phase.id}
    if request.intake is not None:
        where["intake"] = str(request.intake)
    if request.copied_from is not None:
        where["copied_from"] = request.copied_from
    events.record(session, EventKind.TRUTH_READY, **where, version=version, is_shown=is_shown)


@dataclass(frozen=True, slots=True)
class _StoredPhase:
    phase: Phase
    is_new: bool
    changes: tuple[RuleChange, ...] = ()
    warnings: tuple[str, ...] = ()


def _consequences(
    platform: Platform, request: TreeImport, truth: heldout_scoring.GroundTruth
) -> tuple[str, ...]:
    """What published results suffer from once the boards show this annotation in place of what they show now."""
    with platform.transaction() as session:
        phase = challenges.phase_of(session, request.challenge, request.image_set)
        shown = versions.shown_truth(session, phase.id) if phase else None
    if shown is None:
        return ()
    with platform.truths.materialise(shown.key) as path:
        before = heldout_scoring.GroundTruth.open(path)
        compared = compare(before, truth, "", request.image_set, shown.version)
    return compared.consequences


def _read(platform: Platform, request: TreeImport, problems: Problems) -> heldout_scoring.GroundTruth:
    """Read the annotation, as data sets are read if it is no plain tree. Raises heldout_scoring.TreeError.

    problems: where its warnings are collected.
    """
    if not request.tree.is_dir():
        return _read_as_data_set(platform, request, problems)
    odd = Problems()
    try:
        truth = heldout_scoring.read_tree(request.tree, request.image_set, problems=odd)
    except heldout_scoring.TreeError as error:
        return _read_as_data_set(platform, request, problems, error)
    problems.join(odd)
    return truth


def _read_as_data_set(
    platform: Platform,
    request: TreeImport,
    problems: Problems,
    error: heldout_scoring.TreeError | None = None,
) -> heldout_scoring.GroundTruth:
    """Read what organisers may send in the browser. Raises TreeError; error: of the library, which names what is wrong with a plain tree."""
    settings = platform.settings
    limits = ReadingLimits(
        settings.max_intake_unpacked, settings.max_intake_images, settings.max_intake_boxes
    )
    with platform.transaction() as session:
        known = challenges.challenge_of(session, request.challenge)
        phase = challenges.phase_of(session, request.challenge, request.image_set)
        own = request.tree.name if request.tree.is_dir() else request.challenge
        dataset = known.dataset if known else own
    with TemporaryDirectory() as folder:
        sent = SentFile(PUBLIC, request.tree.name, request.tree)
        unpacked = unpack((sent,), Path(folder), dataset, limits, ProgressNotes(Path(folder)))
        reading = Reading(unpacked, PUBLIC, limits, unnamed=request.image_set)
        try:
            sets = read_annotation(reading, format_of(reading))
        except heldout_scoring.SubmissionError as refusal:
            reading.problems.extend(refusal.problems)
            sets = []
    if reading.problems.listed:
        raise heldout_scoring.TreeError(reading.problems.listed)
    named = [each for each in sets if each.name == request.image_set]
    if not named and len(sets) == 1 and request.tree.is_file():
        named = sets  # which is called like the phase whatever its file is called
    if len(named) != 1:
        names = ", ".join(each.name for each in sets)
        message = f"expected one image set called {request.image_set}, found {names}"
        raise heldout_scoring.TreeError(
            error.problems if error and not sets else (Problem("no-set", message),)
        )
    if _is_held_out(request, phase) and (rule := called_by_class(named[0])):
        raise heldout_scoring.TreeError((Problem(ODD_NAME, rule),))
    for warning in reading.problems.warnings:
        problems.warn(warning)
    lists = replace(named[0].truth.lists, image_set=request.image_set)
    return heldout_scoring.GroundTruth.of(lists, named[0].truth.tables)


def _look_at(platform: Platform, request: TreeImport, truth: heldout_scoring.GroundTruth) -> Problems:
    """Return warnings of what may not be meant, as the report on a data set has them. Raises heldout_scoring.TreeError for names that results cannot have."""
    with platform.transaction() as session:
        phase = challenges.phase_of(session, request.challenge, request.image_set)
    role = HIDDEN if _is_held_out(request, phase) else PUBLIC
    layout = COCO if truth.lists.class_numbers else VOC
    found = AnnotatedSet(request.image_set, layout, request.tree.name, truth, request.files)
    if layout == VOC and {1, 3} - missing_truth(truth).keys():  # whose results have a file for each class
        named = [(name, problem_in_files(name)) for name in truth.lists.classes]
        wrong = [Problem("class-name", f"{name}: this class {problem}") for name, problem in named if problem]
        if wrong:
            raise heldout_scoring.TreeError(wrong)
    unpacked = Unpacked(request.tree, truth.lists.dataset)
    sets: dict[str, list[AnnotatedSet]] = {PUBLIC: [], HIDDEN: []}
    sets[role] = [found]
    add_findings(unpacked, sets, ())
    add_clues(unpacked, sets[HIDDEN])
    return unpacked.problems[role]


def _protocol(request: TreeImport, description: heldout_scoring.Description) -> str:
    """Return the protocol of the phase. Raises ValueError unless it has rules for every competition of the dataset."""
    dataset = description.dataset
    try:
        protocol = heldout_scoring.protocol_of(
            request.protocol or heldout_scoring.default_protocol(dataset)
        ).name
        for competition in heldout_scoring.competitions(dataset):
            columns_of(description, competition.number, protocol)
    except LookupError as error:
        raise ValueError(str(error)) from None
    return protocol


def _missing(
    request: TreeImport, truth: heldout_scoring.GroundTruth, phase: challenges.PhaseView | None
) -> Mapping[int, str]:
    """Return the competitions that are not offered, and why: without ground truth, or left out by the organisers."""
    missing = dict(missing_truth(truth))
    numbers = [info.number for info in heldout_scoring.competitions(truth.description.dataset)]
    if phase is not None:
        left_out = phase.left_out
    else:
        left_out = tuple(
            n for n in numbers if request.competitions is not None and n not in request.competitions
        )
    return versions.reasons_not_offered(truth.description.dataset, missing, left_out)


def _require_any_competition(truth: heldout_scoring.GroundTruth, reasons: Mapping[int, str]) -> None:
    if len(reasons) == len(heldout_scoring.competitions(truth.description.dataset)):
        listed = "; ".join(f"comp{number}: {reason}" for number, reason in reasons.items())
        raise ValueError(f"the tree holds no ground truth for any competition ({listed}); nothing was loaded")


def _challenge(
    session: Session, request: TreeImport, dataset: str
) -> tuple[Challenge, tuple[RuleChange, ...]]:
    challenge = challenges.challenge_of(session, request.challenge)
    if challenge is None:
        if challenges.is_taken(session, request.challenge):
            raise ValueError(
                f"{request.challenge} was the address of a challenge that was deleted; choose another"
            )
        challenge = Challenge(
            code=request.challenge, title=request.title or request.challenge, dataset=dataset
        )
        session.add(challenge)
        session.flush()
        return challenge, ()
    require_active(session, challenge.id)
    if challenge.dataset != dataset and not challenges.has_phases(session, challenge.id):
        challenge.dataset = dataset  # which was unknown when the challenge was created
    if challenge.dataset != dataset:
        raise ValueError(
            f"the challenge {request.challenge} is of {challenge.dataset}; this data set is {dataset}"
        )
    if request.title in (None, challenge.title):
        return challenge, ()
    change = RuleChange("title", challenge.title, str(request.title))
    challenge.title = change.after
    return challenge, (change,)


def _limits(
    platform: Platform, request: TreeImport, description_key: str | None
) -> tuple[heldout_scoring.Limits, tuple[RuleChange, ...]]:
    """Return the new limits and what changed; limits never shrink, so that accepted archives can be scored again."""
    if description_key is None:
        return heldout_scoring.Limits().changed(request.limits), ()
    old = description_of(platform.descriptions, description_key).limits
    new = old.changed(request.limits)
    pairs = [(each.name, getattr(old, each.name), getattr(new, each.name)) for each in fields(old)]
    for name, before, after in pairs:
        if after < before:
            raise ValueError(
                f"the limit '{name}' of phase {request.image_set} is {before} and can only be raised"
            )
    return new, tuple(
        RuleChange(f"limit {name}", str(before), str(after))
        for name, before, after in pairs
        if before != after
    )


def _store_phase(
    session: Session, request: TreeImport, challenge: Challenge, protocol: str, description_key: str
) -> _StoredPhase:
    now, phase = challenges.now(session), challenges.stored_phase(session, challenge.id, request.image_set)
    if phase is None:
        phase = Phase(
            challenge_id=challenge.id,
            image_set=request.image_set,
            protocol=protocol,
            description_key=description_key,
        )
        store(new_rules(request, now), phase)
        session.add(phase)
        session.flush()
        return _StoredPhase(phase, is_new=True)
    if phase.protocol != protocol:
        raise ValueError(
            f"phase {request.image_set} is scored by {phase.protocol}; another protocol needs another challenge"
        )
    before, after = _change_rules(session, phase, request, now)
    changes = tuple(replace(each, name=each.name.replace("_", " ")) for each in rule_changes(before, after))
    return _StoredPhase(phase, False, changes, tuple(warnings(before, after)))


def _change_rules(
    session: Session, phase: Phase, request: TreeImport, now: datetime
) -> tuple[PhaseRules, PhaseRules]:
    before = PhaseRules.of(phase)
    after = changed_rules(before, request, now)
    unfair = unfair_changes(before, after, now, has_results=has_results(session, phase.id))
    for problem in unfair:
        if not problem.about & DATES:  # which an import may move as it likes
            raise ValueError(problem.message)
    if after.disclosure is Disclosure.LADDER and before.disclosure is not Disclosure.LADDER:
        ladder.show_own(session, phase.id)
    news.change_rules(session, phase, after)
    return before, after


@dataclass(frozen=True, slots=True)
class _Stored:
    """Annotation in storage. key, description_key, images_key: of its content, its description, the fingerprints of its images."""

    key: str
    description_key: str
    labels: str
    images_key: str

    @property
    def fingerprint(self) -> str:
        return digest_of(self.key)


def _store_truth(
    session: Session,
    request: TreeImport,
    phase: Phase,
    truth: heldout_scoring.GroundTruth,
    stored: _Stored,
    missing: Mapping[int, str],
) -> tuple[int, bool, tuple[int, ...]]:
    """Return the version of the annotation, whether it is new, and the competitions that get a board.

    Only what equals the newest version is no new one. The boards show the first version at once, and a later one after a re-scoring.
    """
    newest = challenges.newest_truth(session, phase.id)
    if newest is not None and newest.fingerprint == stored.fingerprint:
        # its images may be known by the names that they were sent with only now
        newest.labels, newest.image_labels_key = stored.labels, stored.images_key
        return newest.version, False, ()
    row = GroundTruth(
        phase_id=phase.id,
        version=newest.version + 1 if newest else 1,
        public_id=owner_of(stored.key),
        fingerprint=stored.fingerprint,
        statistics=asdict(heldout_scoring.count_objects(truth)),
        note=request.note,
        copied_from=request.copied_from,
        description_key=stored.description_key,
        labels=stored.labels,
        image_labels_key=stored.images_key,
        not_offered={str(number): reason for number, reason in missing.items()},
    )
    session.add(row)
    session.flush()
    existing = {board.competition for board in challenges.boards_of(session, [phase.id])}
    _require_truth_of_boards(existing, missing)
    if not existing:
        versions.show(session, phase, row, heldout_scoring.SCORER)
    offered = versions.competitions_of(truth.description.dataset, missing)
    return row.version, True, tuple(number for number in offered if number not in existing)


def _phases_hiding(
    session: Session, request: TreeImport, phase: Phase, stored: _Stored, *, was_public: bool
) -> list[str]:
    """Return the phases that hide what this import makes public. Raises PublicCopyError unless that is allowed."""
    if phase.disclosure is not Disclosure.FULL:
        return []
    new = stored.fingerprint, stored.labels
    hiding = same_labels.phases_hiding(session, phase.id, new, was_public=was_public)
    if hiding and not request.allow_public_copy:
        raise PublicCopyError(
            f"the annotation of {request.challenge} {request.image_set} would be public, but {', '.join(hiding)} keeps the same"
            " annotation hidden: anyone could see it and score against it without a quota; nothing was loaded."
            " --allow-public-copy loads it anyway, and is recorded in the audit log",
            hiding,
        )
    return hiding


def _require_truth_of_boards(existing: set[int], missing: Mapping[int, str]) -> None:
    lost = [f"comp{number}: {reason}" for number, reason in missing.items() if number in existing]
    if lost:
        raise ValueError(
            f"this annotation lacks what competitions with a board need ({'; '.join(lost)}); nothing was loaded"
        )


def _audit_record(
    request: TreeImport,
    stored: _StoredPhase,
    changed: tuple[RuleChange, ...],
    new_version: int | None,
    hiding: list[str],
) -> AuditRecord:
    return AuditRecord(
        user_id=request.user_id,
        # what other phases hide is for admins alone
        challenge_id=None if hiding else stored.phase.challenge_id,
        action="phase.create" if stored.is_new else "phase.import",
        subject=f"phase {stored.phase.id}",
        details={
            "phase": f"{request.challenge} {request.image_set}",
            "changes": [asdict(change) for change in changed],
            "new_ground_truth": new_version,
            **({"copied_from": request.copied_from} if request.copied_from else {}),
            **({"corrected": request.corrected} if request.corrected else {}),
            **({"public_copy_of_hidden": hiding} if hiding else {}),
        },
    )
