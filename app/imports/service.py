"""Loading development kits into phases."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from hashlib import sha256

from sqlalchemy.orm import Session

import scoring
from app.disclosure import queries as disclosure
from app.disclosure.rules import Terms, change_refusal
from app.editions import queries
from app.editions.rules import is_over
from app.editions.service import description_of
from app.images import making
from app.imports.rules import changed_rules, changes, check_name, embargo_refusal, new_rules, warnings
from app.imports.schemas import Change, Imported, NoImages, Rules, TreeImport
from app.jobs import queue
from app.ladder import queries as ladder
from app.models import AuditRecord, Board, Disclosure, Edition, Entry, GroundTruth, ImageMode, Phase
from app.platform import Platform
from app.storage import digest_of, owner_of


def import_tree(platform: Platform, request: TreeImport) -> Imported:
    """Load a tree, or COCO's JSON, into a phase: the public description apart from the hidden annotation.

    Options that are given are applied to a phase that is there already. Files are stored first and rows written in one
    transaction, so a failure leaves nothing that can be seen.
    The pictures follow, and what is wrong with them keeps nothing from being loaded.
    Raises scoring.TreeError with every file that is wrong, ValueError for options that cannot be.
    """
    check_name(request.edition, "edition code")
    check_name(request.image_set, "image set")
    truth = _read(request)
    protocol = _protocol(request, truth.description)
    _check_that_something_is_offered(truth)
    public_id = uuid.uuid4()
    with platform.truths.draft() as draft:
        truth.save(draft)
        key = platform.truths.put(draft, public_id)
    while (imported := _record(platform, request, truth, protocol, key)) is None:
        pass  # another import was faster, and has changed what this one starts from
    if not imported.is_new:
        platform.truths.delete(key)
    return _with_pictures(platform, request, imported)


def _with_pictures(platform: Platform, request: TreeImport, imported: Imported) -> Imported:
    """Take the pictures of the tree along, or forget those of the phase; the annotation is loaded by now."""
    if isinstance(request.images, NoImages):
        return replace(imported, pictures_removed=making.remove(platform, imported.phase_id))
    tree = request.tree if request.tree.is_dir() else request.tree.parent
    mode = request.images or making.mode_of(platform, imported.phase_id) or ImageMode.LINK
    taken = making.take_along(platform, imported.phase_id, tree, mode, request.image_folder)
    return replace(imported, pictures=taken)


def _record(
    platform: Platform, request: TreeImport, truth: scoring.GroundTruth, protocol: str, truth_key: str
) -> Imported | None:
    """Store the description, then write every row; None if the phase has got another description meanwhile."""
    with platform.transaction() as session:
        known = queries.phase_of(session, request.edition, request.image_set)
    known_key = known.description_key if known else None
    statistics = scoring.count_objects(truth)
    limits, relimited = _limits(platform, request, known_key)
    not_offered = tuple(scoring.missing_truth(truth))
    description = replace(truth.description, limits=limits, not_offered=not_offered)
    content = description.to_json().encode()
    key = known_key if known_key and digest_of(known_key) == sha256(content).hexdigest() else None
    key = key or platform.descriptions.put(content, uuid.uuid4())
    with platform.transaction() as session:
        queries.lock_imports(session)
        phase = queries.phase_of(session, request.edition, request.image_set)
        if (phase.description_key if phase else None) != known_key:
            return None
        edition, retitled = _edition(session, request, truth.description.dataset)
        stored = _store_phase(session, request, edition, protocol, key)
        changed = (*retitled, *stored.changes, *relimited)
        hiding = _phases_hiding(session, request, stored.phase, digest_of(truth_key))
        version, is_new, boards = _store_truth(session, stored.phase, truth, truth_key)
        if changed or is_new:
            session.add(_audit_record(request, stored, changed, version if is_new else None, hiding))
        return Imported(
            phase_id=stored.phase.id,
            version=version,
            is_new=is_new,
            statistics=statistics,
            changes=changed,
            warnings=stored.warnings,
            new_boards=boards,
            not_offered={int(number): reason for number, reason in stored.phase.not_offered.items()},
        )


@dataclass(frozen=True, slots=True)
class _StoredPhase:
    phase: Phase
    is_new: bool
    changes: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()


def _read(request: TreeImport) -> scoring.GroundTruth:
    if request.tree.is_dir():
        return scoring.read_tree(request.tree, request.image_set)
    try:
        return scoring.GroundTruth.from_coco(request.tree, image_set=request.image_set)
    except scoring.SubmissionError as error:
        raise scoring.TreeError(error.problems) from None


def _protocol(request: TreeImport, description: scoring.Description) -> str:
    """The protocol by which the phase is scored: it has rules for every competition of the dataset."""
    dataset = description.dataset
    try:
        protocol = scoring.protocol_of(request.protocol or scoring.default_protocol(dataset)).name
        for competition in scoring.competitions(dataset):
            scoring.columns(description, competition.number, protocol)
    except LookupError as error:
        raise ValueError(str(error)) from None
    return protocol


def _check_that_something_is_offered(truth: scoring.GroundTruth) -> None:
    reasons = scoring.missing_truth(truth)
    if len(reasons) == len(scoring.competitions(truth.description.dataset)):
        listed = "; ".join(f"comp{number}: {reason}" for number, reason in reasons.items())
        raise ValueError(f"the tree holds no ground truth for any competition ({listed}); nothing was loaded")


def _edition(session: Session, request: TreeImport, dataset: str) -> tuple[Edition, tuple[Change, ...]]:
    edition = queries.edition_of(session, request.edition)
    if edition is None:
        edition = Edition(code=request.edition, title=request.title or request.edition, dataset=dataset)
        session.add(edition)
        session.flush()
        return edition, ()
    if edition.dataset != dataset:
        raise ValueError(f"edition {request.edition} holds {edition.dataset}, this tree is {dataset}")
    if request.title in (None, edition.title):
        return edition, ()
    change = Change("title", edition.title, str(request.title))
    edition.title = change.after
    return edition, (change,)


def _limits(
    platform: Platform, request: TreeImport, description_key: str | None
) -> tuple[scoring.Limits, tuple[Change, ...]]:
    """The phase's limits with those that change; never smaller, so that what was accepted once can be scored again."""
    if description_key is None:
        return scoring.Limits().changed(request.limits), ()
    old = description_of(platform.descriptions, description_key).limits
    new = old.changed(request.limits)
    pairs = [(each.name, getattr(old, each.name), getattr(new, each.name)) for each in fields(old)]
    for name, before, after in pairs:
        if after < before:
            raise ValueError(
                f"the limit '{name}' of phase {request.image_set} is {before} and can only be raised"
            )
    return new, tuple(
        Change(f"limit {name}", str(before), str(after)) for name, before, after in pairs if before != after
    )


def _store_phase(
    session: Session, request: TreeImport, edition: Edition, protocol: str, description_key: str
) -> _StoredPhase:
    now, phase = queries.now(session), queries.stored_phase(session, edition.id, request.image_set)
    if phase is None:
        phase = Phase(
            edition_id=edition.id,
            image_set=request.image_set,
            protocol=protocol,
            description_key=description_key,
            **_columns(new_rules(request, now)),
        )
        session.add(phase)
        session.flush()
        return _StoredPhase(phase, is_new=True)
    if phase.protocol != protocol:
        raise ValueError(
            f"phase {request.image_set} is scored by {phase.protocol}; another protocol needs another edition"
        )
    phase.description_key = description_key
    before, after = _change_rules(session, phase, request, now)
    return _StoredPhase(phase, False, changes(before, after), tuple(warnings(before, after)))


def _change_rules(session: Session, phase: Phase, request: TreeImport, now: datetime) -> tuple[Rules, Rules]:
    before = Rules(**{each.name: getattr(phase, each.name) for each in fields(Rules)})
    after = changed_rules(before, request, now)
    has_results = disclosure.has_results(session, phase.id)
    refusal = embargo_refusal(before, after, has_results=has_results) or change_refusal(
        _terms(before),
        _terms(after),
        closes=after.closes_at is not None,
        has_results=has_results,
        is_over=is_over(phase, phase.grace, now),
    )
    if refusal:
        raise ValueError(refusal)
    if after.disclosure is Disclosure.LADDER and before.disclosure is not Disclosure.LADDER:
        ladder.show_own(session, phase.id)
    for name, value in _columns(after).items():
        setattr(phase, name, value)
    queue.add_boards(session, Entry.phase_id == phase.id)
    return before, after


def _terms(rules: Rules) -> Terms:
    return Terms(rules.disclosure, rules.details_at_close, rules.only_complete)


def _columns(rules: Rules) -> dict[str, object]:
    return {each.name: getattr(rules, each.name) for each in fields(Rules)}


def _store_truth(
    session: Session, phase: Phase, truth: scoring.GroundTruth, truth_key: str
) -> tuple[int, bool, tuple[int, ...]]:
    """The version of the annotation, whether it is new, and the competitions that have a board from now on."""
    fingerprint = digest_of(truth_key)
    known = queries.truth_of_fingerprint(session, phase.id, fingerprint)
    if known is not None:
        return known.version, False, ()
    newest = queries.newest_truth(session, phase.id)
    row = GroundTruth(
        phase_id=phase.id,
        version=newest.version + 1 if newest else 1,
        public_id=owner_of(truth_key),
        fingerprint=fingerprint,
        statistics=asdict(scoring.count_objects(truth)),
    )
    session.add(row)
    session.flush()
    # boards that are there come to a later version through a re-scoring
    there = {board.competition for board in queries.boards_of(session, [phase.id])}
    missing = scoring.missing_truth(truth)
    _check_that_no_board_loses_its_truth(there, missing)
    new = [
        info.number
        for info in scoring.competitions(truth.description.dataset)
        if scoring.is_scorable(info) and info.number not in there and info.number not in missing
    ]
    session.add_all(_board(phase, number, row.id) for number in new)
    phase.not_offered = {str(number): reason for number, reason in missing.items()}
    return row.version, True, tuple(new)


def _phases_hiding(session: Session, request: TreeImport, phase: Phase, fingerprint: str) -> list[str]:
    """The phases that hold as hidden what this import makes public. Raises ValueError unless that is allowed."""
    if phase.disclosure is not Disclosure.FULL:
        return []
    hiding = queries.phases_hiding(session, phase.id, fingerprint)
    if hiding and not request.allow_public_copy:
        raise ValueError(
            f"the annotation of {request.edition} {request.image_set} would be public, but {', '.join(hiding)} holds the same"
            " annotation as hidden: everybody could score against it without a quota, and see it; nothing was loaded."
            " --allow-public-copy loads it all the same, which is recorded"
        )
    return hiding


def _check_that_no_board_loses_its_truth(there: set[int], missing: Mapping[int, str]) -> None:
    lost = [f"comp{number}: {reason}" for number, reason in missing.items() if number in there]
    if lost:
        raise ValueError(
            f"this annotation lacks what competitions with a board need ({'; '.join(lost)}); nothing was loaded"
        )


def _board(phase: Phase, competition: int, ground_truth_id: int) -> Board:
    return Board(
        phase_id=phase.id,
        competition=competition,
        protocol=phase.protocol,
        ground_truth_id=ground_truth_id,
        scorer=scoring.SCORER,
    )


def _audit_record(
    request: TreeImport,
    stored: _StoredPhase,
    changed: tuple[Change, ...],
    new_version: int | None,
    hiding: list[str],
) -> AuditRecord:
    return AuditRecord(
        action="phase.create" if stored.is_new else "phase.import",
        subject=f"phase {stored.phase.id}",
        details={
            "phase": f"{request.edition} {request.image_set}",
            "changes": [asdict(change) for change in changed],
            "new_ground_truth": new_version,
            **({"public_copy_of_hidden": hiding} if hiding else {}),
        },
    )
