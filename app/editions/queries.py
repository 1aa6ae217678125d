"""Editions, phases, ground truth and boards in the database."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Numeric, case, cast, func, select
from sqlalchemy.orm import Session

from app.editions.rules import HELD_OUT_DECIMALS, state_of
from app.editions.schemas import EditionSummary, Leader, PhaseView
from app.models import Board, ClassScore, Disclosure, Edition, Entry, EntryState, GroundTruth, Method, Phase

LEADERS = 3
IMPORTING = 0x494D504F  # the advisory lock of the one import


def now(session: Session) -> datetime:
    """The database's clock: the only one that decides anything."""
    moment: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return moment


def _phases(session: Session, *conditions: ColumnElement[bool]) -> list[PhaseView]:
    statement = select(Phase, Edition, func.clock_timestamp()).join(Edition).where(*conditions)
    rows = session.execute(statement.order_by(Edition.id.desc(), Phase.image_set))
    return [_view(phase, edition, moment) for phase, edition, moment in rows]


def _view(phase: Phase, edition: Edition, moment: datetime) -> PhaseView:
    return PhaseView(
        id=phase.id,
        edition=edition.code,
        edition_title=edition.title,
        dataset=edition.dataset,
        image_set=phase.image_set,
        disclosure=phase.disclosure,
        protocol=phase.protocol,
        description_key=phase.description_key,
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        grace=phase.grace,
        quota=phase.quota,
        quota_window=phase.quota_window,
        state=state_of(phase, moment),
    )


def phase_of(session: Session, edition: str, image_set: str) -> PhaseView | None:
    """A phase by what stands in its address."""
    return next(iter(_phases(session, Edition.code == edition, Phase.image_set == image_set)), None)


def phase_of_id(session: Session, phase_id: int) -> PhaseView | None:
    """A phase by its number."""
    return next(iter(_phases(session, Phase.id == phase_id)), None)


def all_phases(session: Session) -> list[PhaseView]:
    """Every phase, the newest edition first."""
    return _phases(session)


def phases_of(session: Session, edition: str) -> list[PhaseView]:
    """The phases of an edition."""
    return _phases(session, Edition.code == edition)


def edition_of(session: Session, code: str) -> Edition | None:
    """An edition by its code."""
    return session.scalar(select(Edition).where(Edition.code == code))


def summaries(session: Session) -> tuple[EditionSummary, ...]:
    """Every edition with its phases and how many methods stand on its boards."""
    counted = select(Phase.edition_id, func.count(Entry.method_id.distinct())).join(
        Phase, Entry.phase_id == Phase.id
    )
    scored = counted.where(Entry.state == EntryState.SCORED).group_by(Phase.edition_id)
    methods = dict(session.execute(scored).all())
    phases = all_phases(session)
    return tuple(
        EditionSummary(
            code=edition.code,
            title=edition.title,
            dataset=edition.dataset,
            phases=tuple(phase for phase in phases if phase.edition == edition.code),
            methods=methods.get(edition.id, 0),
        )
        for edition in session.scalars(select(Edition).order_by(Edition.id.desc()))
    )


def boards_of(session: Session, phase_ids: Sequence[int]) -> list[Board]:
    """The boards of these phases, by competition."""
    statement = select(Board).where(Board.phase_id.in_(phase_ids)).order_by(Board.phase_id, Board.competition)
    return list(session.scalars(statement))


def board_of(session: Session, phase_id: int, competition: int) -> Board | None:
    """The leaderboard of a competition in a phase."""
    return session.get(Board, (phase_id, competition))


def method_counts(session: Session, phase_ids: Sequence[int]) -> dict[tuple[int, int], int]:
    """How many methods stand on each board, by (phase, competition)."""
    statement = (
        select(Entry.phase_id, Entry.competition, func.count())
        .where(
            Entry.phase_id.in_(phase_ids), Entry.shown_run_id.is_not(None), Entry.state == EntryState.SCORED
        )
        .group_by(Entry.phase_id, Entry.competition)
    )
    return {(phase, competition): count for phase, competition, count in session.execute(statement)}


def leaders(session: Session, phase_ids: Sequence[int]) -> dict[tuple[int, int], tuple[Leader, ...]]:
    """The first rows of each board, by (phase, competition); rows without a mean have no place."""
    digits = cast(ClassScore.value, Numeric)  # who may see three decimals must not see an order beyond them
    shown = case(
        (Phase.disclosure == Disclosure.ROUNDED, func.round(digits, HELD_OUT_DECIMALS)), else_=digits
    )
    place = func.rank().over(partition_by=(Entry.phase_id, Entry.competition), order_by=shown.desc())
    ranked = (
        select(
            Entry.phase_id,
            Entry.competition,
            place.label("place"),
            Method.name,
            Entry.submission_id,
            ClassScore.value,
        )
        .join(Method, Entry.method_id == Method.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .join(ClassScore, ClassScore.run_id == Entry.shown_run_id)
        .where(
            Entry.phase_id.in_(phase_ids),
            Entry.state == EntryState.SCORED,
            ClassScore.class_name.is_(None),
            ClassScore.value.is_not(None),
        )
        .subquery()
    )
    first = select(ranked).where(ranked.c.place <= LEADERS).order_by(ranked.c.place, ranked.c.submission_id)
    found: dict[tuple[int, int], tuple[Leader, ...]] = {}
    for phase, competition, *leader in session.execute(first):
        found[phase, competition] = (*found.get((phase, competition), ()), Leader(*leader))
    return found


def newest_truth(session: Session, phase_id: int) -> GroundTruth | None:
    """The version of the annotation that was imported last."""
    statement = (
        select(GroundTruth).where(GroundTruth.phase_id == phase_id).order_by(GroundTruth.version.desc())
    )
    return session.scalar(statement.limit(1))


def let_one_import_pass(session: Session) -> None:
    """Make other imports wait until the end of the transaction."""
    session.execute(select(func.pg_advisory_xact_lock(IMPORTING)))


def truth_of_fingerprint(session: Session, phase_id: int, fingerprint: str) -> GroundTruth | None:
    """The version of the annotation with this content."""
    return session.scalar(
        select(GroundTruth).where(GroundTruth.phase_id == phase_id, GroundTruth.fingerprint == fingerprint)
    )


def stored_phase(session: Session, edition_id: int, image_set: str) -> Phase | None:
    """The row of a phase, locked until the end of the transaction."""
    statement = select(Phase).where(Phase.edition_id == edition_id, Phase.image_set == image_set)
    return session.scalar(statement.with_for_update())


def truth_versions(session: Session) -> tuple[dict[int, int], dict[int, int]]:
    """By phase, the newest version of its ground truth, and the one that its boards show."""
    newest = select(GroundTruth.phase_id, func.max(GroundTruth.version)).group_by(GroundTruth.phase_id)
    shown = (
        select(Board.phase_id, func.min(GroundTruth.version))
        .join(GroundTruth, Board.ground_truth_id == GroundTruth.id)
        .group_by(Board.phase_id)
    )
    return dict(session.execute(newest).all()), dict(session.execute(shown).all())
