"""Loading development kits, and reading what participants may know of them."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path

from sqlalchemy import func
from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.editions import queries
from app.editions.rules import disclosed, sees_everything
from app.editions.schemas import CompetitionCard, EditionSummary, EditionView, Leader, PhaseCard, PhaseView
from app.errors import NotFoundError
from app.models import Board, Disclosure, Edition, GroundTruth, Phase
from app.platform import Platform
from app.storage import Storage
from scoring import Description


@dataclass(frozen=True, slots=True)
class TreeImport:
    """A development-kit tree to load, and the rules of the phase that it becomes."""

    tree: Path
    edition: str
    image_set: str
    title: str | None = None
    protocol: str | None = None  # none: the one of the tree's year
    disclosure: Disclosure = Disclosure.ROUNDED
    quota: int | None = None
    closes_in: timedelta | None = None
    limits: Mapping[str, int] = field(default_factory=dict)  # those of an archive that change


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import left: `version` of the ground truth, and whether it was there before."""

    phase_id: int
    version: int
    is_new: bool
    statistics: scoring.Statistics


def import_tree(platform: Platform, wanted: TreeImport) -> Imported:
    """Load a tree into a phase: the public description apart from the hidden annotation.

    Files are stored first and rows written in one transaction, so a failure leaves nothing that can be seen.
    Raises scoring.TreeError with every file that is wrong, ValueError for an unknown protocol or limit.
    """
    truth = scoring.read_tree(wanted.tree, wanted.image_set)
    statistics = scoring.count_objects(truth)
    protocol = wanted.protocol or scoring.default_protocol(truth.description.dataset)
    if protocol not in scoring.PROTOCOLS:
        raise ValueError(f"no protocol is called {protocol!r}; there are {', '.join(scoring.PROTOCOLS)}")
    gathered = platform.truths.incoming(uuid.uuid4())
    truth.save(gathered)
    fingerprint = platform.truths.adopt(gathered)
    with platform.transaction() as session:
        queries.let_one_import_pass(session)
        edition = _edition(session, wanted, truth.description.dataset)
        description = replace(
            truth.description, limits=_limits(session, platform.archives, wanted, edition.id)
        )
        description_key = platform.archives.keep(description.to_json().encode())
        phase = _phase(session, wanted, edition.id, protocol, description_key)
        known = queries.truth_of_fingerprint(session, phase.id, fingerprint)
        if known:
            return Imported(phase.id, known.version, is_new=False, statistics=statistics)
        newest = queries.newest_truth(session, phase.id)
        version = newest.version + 1 if newest else 1
        row = GroundTruth(
            phase_id=phase.id, version=version, fingerprint=fingerprint, statistics=asdict(statistics)
        )
        session.add(row)
        session.flush()
        if newest is None:  # later versions reach the boards through a re-scoring
            session.add_all(_boards(phase, truth.description.dataset, row.id))
        return Imported(phase.id, version, is_new=True, statistics=statistics)


def _edition(session: Session, wanted: TreeImport, dataset: str) -> Edition:
    edition = queries.edition_of(session, wanted.edition)
    if edition is None:
        edition = Edition(code=wanted.edition, title=wanted.title or wanted.edition, dataset=dataset)
        session.add(edition)
        session.flush()
    elif edition.dataset != dataset:
        raise ValueError(f"edition {wanted.edition} holds {edition.dataset}, this tree is {dataset}")
    return edition


def _limits(session: Session, archives: Storage, wanted: TreeImport, edition_id: int) -> scoring.Limits:
    """The phase's limits with those that change; never smaller, so that what was accepted once can be scored again."""
    phase = queries.stored_phase(session, edition_id, wanted.image_set)
    if phase is None:
        return scoring.Limits().changed(wanted.limits)
    old = description_of(archives, phase.description_key).limits
    new = old.changed(wanted.limits)
    for name in (each.name for each in fields(old)):
        if getattr(new, name) < getattr(old, name):
            raise ValueError(
                f"the limit '{name}' of phase {wanted.image_set} is {getattr(old, name)} and can only be raised"
            )
    return new


def _phase(
    session: Session, wanted: TreeImport, edition_id: int, protocol: str, description_key: str
) -> Phase:
    phase = queries.stored_phase(session, edition_id, wanted.image_set)
    if phase is None:
        phase = Phase(
            edition_id=edition_id,
            image_set=wanted.image_set,
            disclosure=wanted.disclosure,
            protocol=protocol,
            description_key=description_key,
            opens_at=func.now(),
            closes_at=func.now() + wanted.closes_in if wanted.closes_in else None,
            quota=wanted.quota,
        )
        session.add(phase)
        session.flush()
    elif phase.protocol != protocol:
        raise ValueError(
            f"phase {wanted.image_set} is scored by {phase.protocol}; another protocol needs another edition"
        )
    else:
        phase.description_key = description_key
    return phase


def _boards(phase: Phase, dataset: str, ground_truth_id: int) -> list[Board]:
    return [
        Board(
            phase_id=phase.id,
            competition=competition.number,
            protocol=phase.protocol,
            ground_truth_id=ground_truth_id,
            scorer=scoring.SCORER,
        )
        for competition in scoring.competitions(dataset)
        if scoring.is_scorable(competition)
    ]


def find_phase(session: Session, edition: str, image_set: str) -> PhaseView:
    """A phase by what stands in its address.

    Raises NotFoundError.
    """
    phase = queries.phase_of(session, edition, image_set)
    if phase is None:
        raise NotFoundError(f"there is no phase {image_set!r} in an edition {edition!r}")
    return phase


def description_of(archives: Storage, key: str) -> Description:
    """The public description with this key; immutable, so a process reads each once."""
    return _read_description(archives.path(key))


@lru_cache(maxsize=32)
def _read_description(path: Path) -> Description:
    return Description.from_json(path.read_text())


def home(platform: Platform) -> tuple[EditionSummary, ...]:
    """Every edition, newest first."""
    with platform.transaction() as session:
        return queries.summaries(session)


def edition_page(platform: Platform, actor: Actor, code: str) -> EditionView:
    """An edition with the first rows of every board.

    Raises NotFoundError.
    """
    with platform.snapshot() as session:
        edition = queries.edition_of(session, code)
        if edition is None:
            raise NotFoundError(f"there is no edition {code!r}")
        phases = queries.phases_of(session, code)
        numbers = [phase.id for phase in phases]
        counts, leaders = queries.method_counts(session, numbers), queries.leaders(session, numbers)
        boards = queries.boards_of(session, numbers)
    cards = tuple(
        PhaseCard(
            phase,
            tuple(
                _card(actor, phase, board.competition, counts, leaders)
                for board in boards
                if board.phase_id == phase.id
            ),
        )
        for phase in phases
    )
    return EditionView(code=edition.code, title=edition.title, dataset=edition.dataset, phases=cards)


def _card(
    actor: Actor,
    phase: PhaseView,
    number: int,
    counts: dict[tuple[int, int], int],
    leaders: dict[tuple[int, int], tuple[Leader, ...]],
) -> CompetitionCard:
    info = scoring.competition_of(phase.dataset, number)
    everything = sees_everything(actor, phase.disclosure)
    return CompetitionCard(
        edition=phase.edition,
        image_set=phase.image_set,
        number=number,
        task=info.task,
        title=info.title,
        data_rule=info.own_data_rule,
        methods=counts.get((phase.id, number), 0),
        leaders=tuple(
            Leader(row.rank, row.method, row.submission, disclosed(row.mean, everything=everything) or 0.0)
            for row in leaders.get((phase.id, number), ())
        ),
    )


def public_description(platform: Platform, edition: str, image_set: str) -> str:
    """The public description of a phase, as JSON.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        phase = find_phase(session, edition, image_set)
    return platform.archives.path(phase.description_key).read_text()


def phase_page(platform: Platform, edition: str, image_set: str) -> PhaseView:
    """A phase and its rules.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        return find_phase(session, edition, image_set)
