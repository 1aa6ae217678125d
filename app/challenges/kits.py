"""What workers make of everything that is public in a challenge: files of annotation, and its development kit.

Nothing hidden is ever read for them: only annotation that is public now, as `phase_files.audience_of_annotation` says. Whoever
downloads one is asked that again, so that nothing is offered any more at the moment at which it stops being public.
"""

import gzip
import tarfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from importlib.resources import files as package_files
from typing import Any, Final
from urllib.parse import quote

import structlog
from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    and_,
    func,
    literal,
    literal_column,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Session

from app.challenges import (
    annotation_files,
    challenges,
    files,
    kit_readme,
    phase_files,
    pictures_from,
    terms,
    versions,
)
from app.challenges import rules as challenge_rules
from app.challenges.annotation_files import Licensed
from app.challenges.challenges import PhaseView, description_of
from app.challenges.examples import example_name, has_sizes, packed_example
from app.challenges.files import OfferedFile, refusal_of_audience
from app.challenges.kit_readme import Baseline, KitPhase
from app.challenges.packing import pack_files
from app.challenges.phase_files import MadeArchive, PhaseFiles
from app.challenges.phase_rules import PhaseState
from app.core import database
from app.core.access import Actor
from app.core.errors import DomainError, NotFoundError, RefusedError
from app.jobs import heartbeats, queue
from app.jobs.sandbox import ChildError, ChildLimits, run_in_subprocess
from app.models import (
    Audience,
    Base,
    Board,
    Challenge,
    ChallengePage,
    DataFile,
    FileKind,
    GroundTruth,
    JobKind,
    MadeFile,
    Phase,
    PictureBatch,
    PictureSource,
    Terms,
)
from app.platform import Platform
from app.storage import digest_of
from app.web.transfers import StoredFile
from heldout_scoring import Description

log = structlog.get_logger()

RECIPE: Final = "1"  # another one makes everything again
EVERY: Final = timedelta(minutes=1)  # between two looks at what has changed
NICE: Final = 10
Files = Iterator[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class PublicAnnotation:
    """The annotation of a phase that is public now. truth: the version that its boards show; made_of: a digest of it."""

    phase: PhaseView
    audience: Audience
    licence: str
    truth: GroundTruth
    made_of: str


@dataclass(frozen=True, slots=True)
class Kit:
    """What is in a development kit. texts: files of no phase; annotation: the archives of it by phase; made_of: a digest of all."""

    texts: Mapping[str, str]
    phases: tuple[KitPhase, ...]
    annotation: Mapping[int, MadeFile]
    made_of: str


# what is public


def public_annotation(session: Session, challenge: Challenge) -> Mapping[int, PublicAnnotation]:
    """Return the public annotation of a challenge by phase.

    Where no file of the organisers says for whom it is, it is for those who accepted the terms, or for everybody without terms.
    """
    present = files.load_present(session, challenge)
    has_terms = terms.current_terms(session, challenge.code, None) is not None
    usual = Audience.TERMS if has_terms else Audience.EVERYBODY
    found = {}
    for phase in challenges.phases_of(session, challenge.code):
        audience = phase_files.audience_of_annotation(phase, present, usual)
        truth = versions.shown_truth(session, phase.id) if audience else None
        if audience is not None and truth is not None:
            licence = licence_of(challenge, phase, present)
            described = str(truth.public_id), phase.description_key
            made_of = _digest(RECIPE, *described, licence, *_fingerprints(session, phase.id))
            found[phase.id] = PublicAnnotation(phase, audience, licence, truth, made_of)
    return found


def licence_of(challenge: Challenge, phase: PhaseView, present: Sequence[OfferedFile]) -> str:
    """Return the licence of a phase's annotation: that of a file with it, or else the challenge's; empty if there is none."""
    named = [
        each.row.annotation_licence
        for each in sorted(present, key=lambda each: each.image_set is None)
        if each.image_set in (None, phase.image_set) and each.row.kind in (FileKind.ANNOTATION, FileKind.BOTH)
    ]
    return next(filter(None, named), challenge.annotation_licence)


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()


def _rows(session: Session, challenge_id: int) -> dict[int | None, MadeFile]:
    """Return what was made for a challenge by phase; its kit under None."""
    rows = session.scalars(select(MadeFile).where(MadeFile.challenge_id == challenge_id))
    return {each.phase_id: each for each in rows}


# what is in a kit


def kit_of(platform: Platform, session: Session, challenge: Challenge) -> Kit | None:
    """Return what the kit of a challenge consists of now; None without phases."""
    phases = challenges.phases_of(session, challenge.code)
    if not phases:
        return None
    rows, public = _rows(session, challenge.id), public_annotation(session, challenge)
    annotation = {
        phase_id: rows[phase_id]
        for phase_id, each in public.items()
        if each.audience is not Audience.TEAMS and _is_made(rows.get(phase_id), each.made_of)
    }
    kit_phases = tuple(
        KitPhase(
            phase,
            challenges.offered_competitions(phase),
            has_examples=has_sizes(description_of(platform.descriptions, phase.description_key)),
            has_annotation=phase.id in annotation,
            licence=public[phase.id].licence if phase.id in annotation else "",
        )
        for phase in phases
    )
    texts = _texts(platform, session, challenge, kit_phases)
    counts = phase_files.public_counts(session, challenge.code)
    made_of = _digest(
        RECIPE,
        repr(counts),
        *(f"{path} {content}" for path, content in sorted(texts.items())),
        *(part for each in phases for part in (each.description_key, *_fingerprints(session, each.id))),
        *(each.made_of for each in annotation.values()),
    )
    return Kit(texts, kit_phases, annotation, made_of)


def _texts(
    platform: Platform, session: Session, challenge: Challenge, phases: tuple[KitPhase, ...]
) -> dict[str, str]:
    """Return the files of the kit that belong to no phase."""
    address, baseline = platform.settings.address, baseline_of(phases)
    rules = challenge_rules.rules_view(platform, session, challenge.code)
    pictures = pictures_from.answer_of(challenge)
    found = {
        "README.md": kit_readme.readme(address, rules, pictures, phases, baseline),
        "submit.sh": kit_readme.submit_script(address, quote(challenge.code)),
    }
    return found | ({"baseline.py": baseline_script()} if baseline else {})


def _fingerprints(session: Session, phase_id: int) -> Sequence[str]:
    """Return what tells the files of a phase's images from others."""
    statement = select(PictureBatch.fingerprint).where(PictureBatch.phase_id == phase_id)
    return session.scalars(statement.order_by(PictureBatch.number)).all()


def baseline_of(phases: Sequence[KitPhase]) -> Baseline | None:
    """Return how the baseline is run; None without classification in text files, or without annotation to train on.

    It predicts a phase whose pictures people get here, rather another one than it is trained on, and rather one that accepts results.
    """
    known = {
        each.phase.image_set: (each, info)
        for each in phases
        for info in reversed(each.competitions)
        if info.task == "classification"
    }
    train = next((name for name, (each, _) in known.items() if each.has_annotation), None)
    if train is None:
        return None
    shown = [name for name, (each, _) in known.items() if name != train and each.phase.publishes_images]
    is_open = [name for name in shown if known[name][0].phase.state is PhaseState.OPEN]
    predict = next(iter((*is_open, *shown)), train)
    return Baseline(train, predict, known[predict][1])


@cache
def baseline_script() -> str:
    """Return the script of the baseline."""
    return package_files("sample").joinpath("baseline.py").read_text()


# making


def queue_outdated(platform: Platform) -> None:
    """Queue the work of making what is missing or has changed, once a minute.

    One statement finds the challenges in which something has changed since they were looked at; each is looked at once an hour in any
    case, for what no row of its own tells, such as quotas that it shares.
    """
    with platform.transaction() as session:
        if not heartbeats.start_if_due(session, "kits", EVERY):
            return
        changed = session.execute(changed_challenges()).all()
    for challenge_id, state in changed:
        with platform.transaction() as session:
            challenge = session.get(Challenge, challenge_id)
            if challenge is None:
                continue
            if _is_outdated(platform, session, challenge):
                queue_kit(session, challenge_id)
            else:
                kit = update(MadeFile).where(
                    MadeFile.challenge_id == challenge_id, MadeFile.phase_id.is_(None)
                )
                session.execute(kit.values(seen=state))


def changed_challenges() -> Select[int, str]:
    """Select the challenges with phases in whose state something has changed since they were looked at, with their state."""
    rows = _rows_of_challenges().subquery()
    state = func.md5(func.string_agg(rows.c.state, aggregate_order_by(literal_column("' '"), rows.c.state)))
    states = select(rows.c.challenge_id, state.label("state")).group_by(rows.c.challenge_id).subquery()
    kit = and_(MadeFile.challenge_id == states.c.challenge_id, MadeFile.phase_id.is_(None))
    return (
        select(states.c.challenge_id, states.c.state)
        .outerjoin(MadeFile, kit)
        .where(
            states.c.challenge_id.in_(select(Phase.challenge_id)),
            MadeFile.seen.is_distinct_from(states.c.state),
        )
        .order_by(states.c.challenge_id)
    )


def _rows_of_challenges() -> CompoundSelect[int, str]:
    """Select, by challenge, a text for each row that its files follow from; it differs once the row, or the stage of a date in it, does."""
    now = func.now()
    minute = func.floor(func.extract("epoch", now) / 60)
    hour = func.floor((minute + Challenge.id % 60) / 60)  # not all are looked at in the same minute
    images = select(
        Phase.challenge_id,
        func.concat("images ", Phase.id, " ", func.sum(func.hashtext(PictureBatch.fingerprint))),
    )
    return union_all(
        select(
            Challenge.id.label("challenge_id"),
            func.concat(RECIPE, " ", hour, " ", _version_of(Challenge)).label("state"),
        ),
        select(Phase.challenge_id, func.concat(_version_of(Phase), *_stages(now))),
        *(
            select(Phase.challenge_id, _version_of(table)).join(table, table.phase_id == Phase.id)
            for table in (Board, PictureSource)
        ),
        images.join(PictureBatch, PictureBatch.phase_id == Phase.id).group_by(Phase.id),
        select(
            DataFile.challenge_id,
            func.concat(_version_of(DataFile), DataFile.from_at <= now, " ", DataFile.until_at <= now),
        ),
        select(ChallengePage.challenge_id, _version_of(ChallengePage)),
        select(Terms.challenge_id, _version_of(Terms)),
        select(MadeFile.challenge_id, func.concat("made ", MadeFile.id, " ", MadeFile.made_of, MadeFile.key)),
    )


def _version_of(table: type[Base]) -> ColumnElement[str]:
    """A text that differs between versions of the rows of a table: its name, and which transaction wrote the row."""
    name = table.__tablename__
    return func.concat(name, " ", literal_column(f"{name}.ctid"), " ", literal_column(f"{name}.xmin"))


def _stages(now: ColumnElement[datetime]) -> Iterator[ColumnElement[Any]]:
    """The dates of a phase at which something of its files changes, as whether they have come."""
    for date in (Phase.opens_at, Phase.closes_at, Phase.closes_at + Phase.grace, Phase.frozen_from):
        yield literal(" ")
        yield date <= now


def queue_kit(session: Session, challenge_id: int) -> None:
    """Queue the work of making a challenge's kit, and its files of annotation before."""
    named = f"challenge {challenge_id}"
    queue.add(session, JobKind.KIT, {"challenge_id": challenge_id}, owner=named, key=named)


def _is_outdated(platform: Platform, session: Session, challenge: Challenge) -> bool:
    rows, public = _rows(session, challenge.id), public_annotation(session, challenge)
    if any(
        phase_id not in rows or rows[phase_id].made_of != each.made_of for phase_id, each in public.items()
    ):
        return True
    if rows.keys() - {None, *public}:
        return True
    kit = kit_of(platform, session, challenge)
    return kit is not None and (None not in rows or rows[None].made_of != kit.made_of)


def _is_made(row: MadeFile | None, made_of: str) -> bool:
    return row is not None and row.key is not None and row.made_of == made_of


def make(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Make the files of a challenge's public annotation, then its kit, as far as they are not as they should be."""
    challenge_id = int(payload["challenge_id"])
    with platform.transaction() as session:
        challenge = session.get(Challenge, challenge_id)
        if challenge is None:
            return
        public, rows = public_annotation(session, challenge), _rows(session, challenge_id)
        names = {
            phase_id: phase_files.picture_files(platform, session, each.phase)
            for phase_id, each in public.items()
        }
        unused = _forget(session, [row for phase_id, row in rows.items() if phase_id not in {None, *public}])
    remove(platform, unused)
    for phase_id, each in public.items():
        if phase_id not in rows or rows[phase_id].made_of != each.made_of:
            _make_annotation(platform, challenge_id, each, names[phase_id])
    with platform.transaction() as session:
        challenge = session.get(Challenge, challenge_id)
        kit = kit_of(platform, session, challenge) if challenge else None
        row = _rows(session, challenge_id).get(None)
    if kit is not None and (row is None or row.made_of != kit.made_of):
        _make_kit(platform, challenge_id, kit)


def _make_annotation(
    platform: Platform, challenge_id: int, each: PublicAnnotation, names: dict[str, str]
) -> None:
    settings = platform.settings
    limits = ChildLimits(seconds=settings.intake_seconds, memory=settings.intake_memory, nice=NICE)
    key, size, problem = None, None, ""
    with platform.files.draft() as draft:
        try:
            with platform.truths.materialise(each.truth.key) as truth:
                run_in_subprocess(limits, annotation_files.write, truth, Licensed(each.licence, names), draft)
        except ChildError as error:
            problem = str(error)
        else:
            size = draft.stat().st_size
            key = platform.files.put(draft, uuid.uuid4())
    phase = each.phase.id
    _record(platform, MadeFile(challenge_id=challenge_id, phase_id=phase, made_of=each.made_of, phases=[phase], key=key, size=size, problem=problem))  # fmt: skip


def _make_kit(platform: Platform, challenge_id: int, kit: Kit) -> None:
    with platform.transaction() as session:
        code = session.get_one(Challenge, challenge_id).code
    with platform.files.draft() as draft:
        with draft.open("wb") as stream:
            pack_files(
                stream, ((f"{code}-kit/{path}", content) for path, content in _contents(platform, kit))
            )
        size = draft.stat().st_size
        key = platform.files.put(draft, uuid.uuid4())
    phases = list(kit.annotation)
    _record(
        platform, MadeFile(challenge_id=challenge_id, made_of=kit.made_of, phases=phases, key=key, size=size)
    )


def _contents(platform: Platform, kit: Kit) -> Files:
    yield from ((path, text.encode()) for path, text in kit.texts.items())
    for each in kit.phases:
        phase = each.phase
        description = description_of(platform.descriptions, phase.description_key)
        for name, text in _lists(platform, phase, description).items():
            yield f"{phase.image_set}/{name}", text.encode()
        for info in each.competitions if each.has_examples else ():
            name = example_name(phase.challenge, phase.image_set, info.number)
            yield f"{phase.image_set}/examples/{name}", packed_example(description, info)
        row = kit.annotation.get(phase.id)
        if row is not None and row.key is not None:
            with platform.files.open(row.key) as stored:
                for path, content in _unpacked(stored):
                    yield f"{phase.image_set}/annotation/{path}", content


def _lists(platform: Platform, phase: PhaseView, description: Description) -> dict[str, str]:
    """Return the lists of a phase: images, classes, actions, and everything public about it."""
    texts = {
        "images.txt": "".join(f"{image.id}\n" for image in description.images),
        "images.csv": phase_files.table_of(description),
        "classes.txt": "".join(f"{name}\n" for name in description.classes),
        "description.json": phase_files.public_description(platform, phase.challenge, phase.image_set),
    }
    if description.actions:
        texts["actions.txt"] = "".join(f"{name}\n" for name in description.actions)
    if description.class_numbers:
        info = phase_files.image_info(platform, phase.challenge, phase.image_set)
        texts[f"image_info_{phase.image_set}.json"] = info
    return texts


def _unpacked(stored: Any) -> Files:
    """Yield the files of an archive of annotation that a worker made."""
    with gzip.GzipFile(fileobj=stored) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member)
            yield member.name, content.read() if content else b""


def _record(platform: Platform, made: MadeFile) -> None:
    """Record what was made in place of what was there, unless its challenge or phase is gone meanwhile."""
    with platform.transaction() as session:
        challenge = session.get(Challenge, made.challenge_id, with_for_update={"key_share": True})
        is_there = challenge is not None and (
            made.phase_id is None or session.get(Phase, made.phase_id) is not None
        )
        before = _rows(session, made.challenge_id).get(made.phase_id)
        unused = _forget(session, [before] if before else [])
        if is_there:
            session.add(made)
        elif made.key:
            unused.add(made.key)
    remove(platform, unused)
    log.info("made of what is public", challenge=made.challenge_id, phase=made.phase_id, problem=made.problem)


def _forget(session: Session, rows: Sequence[MadeFile]) -> set[str]:
    """Delete these rows; return the contents to remove after this transaction, which no other row has."""
    for row in rows:
        session.delete(row)
    session.flush()
    return {row.key for row in rows if row.key} if database.removals_allowed(session) else set()


def forget_all(session: Session, challenge_id: int) -> set[str]:
    """Forget everything that was made for a challenge; return the contents to remove after this transaction."""
    return _forget(session, list(_rows(session, challenge_id).values()))


def remove(platform: Platform, keys: set[str]) -> None:
    """Remove forgotten contents."""
    for key in keys:
        platform.files.delete(key)


# offering


@dataclass(frozen=True, slots=True)
class MadeArchives:
    """What workers make for a challenge, as a reader may have it. is_kit_coming: a worker packs it, also in place of an outdated one."""

    kit: MadeArchive | None
    is_kit_coming: bool
    phases: tuple[PhaseFiles, ...]


def archives_of(
    session: Session, actor: Actor, challenge: Challenge, phases: Sequence[PhaseFiles]
) -> MadeArchives:
    """Return the kit of a challenge, and the files of its phases with those of annotation, as a reader may have them."""
    rows, public = _rows(session, challenge.id), public_annotation(session, challenge)
    offer = _Offer(session, actor, challenge, public)
    by_set = {each.phase.image_set: rows.get(phase_id) for phase_id, each in public.items()}
    outdated = {
        each.phase.image_set
        for phase_id, each in public.items()
        if _is_coming(rows.get(phase_id), each.made_of)
    }
    found = []
    for each in phases:
        coming = (*each.coming, "annotation") if each.image_set in outdated else each.coming
        found.append(replace(each, annotation=offer.view_of(by_set.get(each.image_set)), coming=coming))
    kit = rows.get(None)
    is_kit_coming = bool(phases) and (kit is None or kit.key is None or bool(outdated))
    return MadeArchives(offer.view_of(kit), is_kit_coming, tuple(found))


def _is_coming(row: MadeFile | None, made_of: str) -> bool:
    """Whether a worker has not made the annotation yet, or will make it again. row: what was recorded of it."""
    return row is None or row.made_of != made_of or (row.key is None and not row.problem)


@dataclass(frozen=True, slots=True)
class _Offer:
    """What decides whether a reader may have what was made."""

    session: Session
    actor: Actor
    challenge: Challenge
    public: Mapping[int, PublicAnnotation]

    def is_public(self, row: MadeFile | None) -> bool:
        """Whether everything in it is public now."""
        return row is not None and row.key is not None and set(row.phases) <= self.public.keys()

    def audience_of(self, row: MadeFile) -> Audience:
        """For whom it is: the smallest audience of the annotation in it."""
        found = {self.public[each].audience for each in row.phases}
        return next((each for each in reversed(Audience) if each in found), Audience.EVERYBODY)

    def refusal_of(self, row: MadeFile) -> DomainError | RefusedError | None:
        """Return why this reader may not have it."""
        if self.actor.organises_challenge(self.challenge.id):
            return None
        reader = files.reader_of(self.session, self.actor, self.challenge)
        return refusal_of_audience(reader, self.audience_of(row), self.name_of(row))

    def name_of(self, row: MadeFile) -> str:
        """Return the name under which it is saved."""
        code = self.challenge.code
        if row.phase_id is None:
            return f"{code}-kit.tar.gz"
        return f"{code}-{self.public[row.phase_id].phase.image_set}-annotation.tar.gz"

    def view_of(self, row: MadeFile | None) -> MadeArchive | None:
        if row is None or not self.is_public(row) or row.key is None or row.size is None:
            return None
        refused = self.refusal_of(row)
        licence = self.public[row.phase_id].licence if row.phase_id is not None else ""
        plain = MadeArchive(
            self.name_of(row),
            row.size,
            self.audience_of(row),
            licence,
            reason=str(refused) if refused else "",
        )
        if refused:
            return plain
        here = f"/challenges/{quote(self.challenge.code)}"
        of_phase = f"/{quote(self.public[row.phase_id].phase.image_set)}" if row.phase_id is not None else ""
        address = f"{here}{of_phase}/annotation.tar.gz" if of_phase else f"{here}/kit.tar.gz"
        return replace(plain, sha256=digest_of(row.key), address=address)


def start_download(platform: Platform, actor: Actor, code: str, image_set: str | None) -> StoredFile:
    """Return the annotation of a phase, or, without one, the kit of a challenge.

    Raises NotFoundError, also while it is not made, and what `files.refusal_of_audience` returns.
    """
    with platform.transaction() as session:
        challenge = challenges.find_challenge(session, code)
        phase = challenges.find_phase(session, code, image_set).id if image_set is not None else None
        row = _rows(session, challenge.id).get(phase)
        offer = _Offer(session, actor, challenge, public_annotation(session, challenge))
        if row is None or not offer.is_public(row) or row.key is None or row.size is None:
            what = "development kit" if phase is None else "file of public annotation"
            raise NotFoundError(
                f"there is no {what} of {code}{f' {image_set}' if image_set else ''}, or not yet"
            )
        if refused := offer.refusal_of(row):
            raise refused
        name = offer.name_of(row)
    return files.download_of(platform, row.key, name, row.size)
