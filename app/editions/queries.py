"""Editions, phases, ground truth and boards in the database."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, SQLColumnExpression, false, func, not_, or_, select
from sqlalchemy.orm import Session, aliased

from app.access import Action, Actor
from app.editions.rules import is_over, state_of
from app.editions.schemas import PhaseView
from app.models import Board, Disclosure, Edition, GroundTruth, Phase, PictureSource, Quota, in_order
from app.visibility import rows_for

ANY_PHASE = aliased(Phase)  # made once: an alias costs more than the rest of a statement
_OWN, _SAME, _OTHER = aliased(GroundTruth), aliased(GroundTruth), aliased(Phase)
# held-out phases with the same annotation: what is scored in one of them tells about the others
_SHARED_QUOTAS: Final = (
    select(func.jsonb_agg(_OTHER.stored_quotas))
    .where(
        _OTHER.id != Phase.id,
        _OTHER.disclosure != Disclosure.FULL,
        _OTHER.id.in_(
            select(_SAME.phase_id)
            .join(_OWN, _OWN.fingerprint == _SAME.fingerprint)
            .where(_OWN.phase_id == Phase.id)
            .correlate(Phase)
        ),
    )
    .correlate(Phase)
    .scalar_subquery()
)
PHASES: Final = (
    select(Phase, Edition, func.clock_timestamp(), PictureSource.is_public, _SHARED_QUOTAS)
    .join(Edition)
    .outerjoin(PictureSource, PictureSource.phase_id == Phase.id)
    .order_by(Edition.id.desc(), Phase.image_set)
)
IMPORT_LOCK = 0x494D504F  # advisory lock: one import at a time


def now(session: Session) -> datetime:
    """The database's clock, by which everything is decided."""
    moment: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return moment


def _phases(session: Session, statement: Select[Any]) -> list[PhaseView]:
    return [_view(*row) for row in session.execute(statement)]


def _view(
    phase: Phase,
    edition: Edition,
    moment: datetime,
    images: bool | None,  # noqa: FBT001 - None: no pictures
    others_quotas: list[list[dict[str, Any]]] | None,
) -> PhaseView:
    is_open = phase.disclosure is Disclosure.FULL and images is not None
    is_shared = phase.disclosure is not Disclosure.FULL and others_quotas is not None
    shared = [Quota(**quota) for quotas in others_quotas or () for quota in quotas] if is_shared else []
    return PhaseView(
        id=phase.id,
        edition_id=phase.edition_id,
        edition=edition.code,
        edition_title=edition.title,
        dataset=edition.dataset,
        image_set=phase.image_set,
        disclosure=phase.disclosure,
        details_at_close=phase.details_at_close,
        only_complete=phase.only_complete,
        is_over=is_over(phase, phase.grace, moment),
        protocol=phase.protocol,
        description_key=phase.description_key,
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        grace=phase.grace,
        quotas=in_order((*phase.quotas, *shared)),
        own_quotas=phase.quotas,
        shares_quotas=is_shared,
        embargo=phase.embargo,
        shows_exposure=phase.shows_exposure,
        state=state_of(phase, moment),
        not_offered=tuple(sorted(map(int, phase.not_offered))),
        has_images=images is not None,
        shows_images=bool(images) or is_open,
        draws_images=is_open,
    )


def is_past_embargo(phase_id: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Whether others than its team and organisers may see a result of a phase: always, or once the phase is over."""
    is_over = func.coalesce(ANY_PHASE.closes_at + ANY_PHASE.grace <= func.clock_timestamp(), false())
    return phase_id.not_in(select(ANY_PHASE.id).where(ANY_PHASE.embargo, not_(is_over)))


def phase_of(session: Session, edition: str, image_set: str) -> PhaseView | None:
    """A phase by what stands in its address."""
    return next(
        iter(_phases(session, PHASES.where(Edition.code == edition, Phase.image_set == image_set))), None
    )


def phase_of_id(session: Session, phase_id: int) -> PhaseView | None:
    """A phase by its id."""
    return next(iter(_phases(session, PHASES.where(Phase.id == phase_id))), None)


def all_phases(session: Session) -> list[PhaseView]:
    """Every phase, the newest edition first."""
    return _phases(session, PHASES)


def organised_by(actor: Actor) -> ColumnElement[bool]:
    """The phases whose edition somebody organises; for statements with Phase."""
    return rows_for(actor, Action.ORGANISE, edition=Phase.edition_id)


def organised_phases(session: Session, actor: Actor) -> list[PhaseView]:
    """The phases of the editions that somebody organises, the newest edition first."""
    return _phases(session, PHASES.where(organised_by(actor)))


def phases_of(session: Session, edition: str) -> list[PhaseView]:
    """The phases of an edition."""
    return _phases(session, PHASES.where(Edition.code == edition))


def edition_of(session: Session, code: str) -> Edition | None:
    """An edition by its code."""
    return session.scalar(select(Edition).where(Edition.code == code))


def all_editions(session: Session) -> list[Edition]:
    """Every edition, the newest first."""
    return list(session.scalars(select(Edition).order_by(Edition.id.desc())))


def boards_of(session: Session, phase_ids: Sequence[int]) -> list[Board]:
    """The boards of these phases, by competition."""
    statement = select(Board).where(Board.phase_id.in_(phase_ids)).order_by(Board.phase_id, Board.competition)
    return list(session.scalars(statement))


def board_of(session: Session, phase_id: int, competition: int) -> Board | None:
    """The leaderboard of a competition in a phase."""
    return session.get(Board, (phase_id, competition))


def board_versions(session: Session, phase_id: int, competition: int) -> tuple[Board, GroundTruth] | None:
    """A leaderboard with the ground truth that it shows."""
    statement = (
        select(Board, GroundTruth)
        .join(GroundTruth, Board.ground_truth_id == GroundTruth.id)
        .where(Board.phase_id == phase_id, Board.competition == competition)
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1]) if row else None


def newest_truth(session: Session, phase_id: int) -> GroundTruth | None:
    """The version of the annotation that was imported last."""
    statement = (
        select(GroundTruth).where(GroundTruth.phase_id == phase_id).order_by(GroundTruth.version.desc())
    )
    return session.scalar(statement.limit(1))


def lock_imports(session: Session) -> None:
    """Make other imports wait until the end of the transaction."""
    session.execute(select(func.pg_advisory_xact_lock(IMPORT_LOCK)))


def truth_of_fingerprint(session: Session, phase_id: int, fingerprint: str) -> GroundTruth | None:
    """The version of the annotation with this content."""
    return session.scalar(
        select(GroundTruth).where(GroundTruth.phase_id == phase_id, GroundTruth.fingerprint == fingerprint)
    )


def phases_hiding(session: Session, phase_id: int, fingerprint: str) -> list[str]:
    """The other phases that hold this annotation, or one that the phase has had, as hidden."""
    own = select(GroundTruth.fingerprint).where(GroundTruth.phase_id == phase_id)
    statement = (
        select(Edition.code + " " + Phase.image_set)
        .join(Phase, Phase.edition_id == Edition.id)
        .join(GroundTruth, GroundTruth.phase_id == Phase.id)
        .where(
            Phase.id != phase_id,
            Phase.disclosure != Disclosure.FULL,
            or_(GroundTruth.fingerprint == fingerprint, GroundTruth.fingerprint.in_(own)),
        )
        .distinct()
    )
    return sorted(session.scalars(statement))


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


def reasons_not_offered(session: Session) -> dict[int, dict[int, str]]:
    """By phase, the competitions that are not offered, and what the annotation lacks."""
    rows = session.execute(select(Phase.id, Phase.not_offered))
    return {phase: {int(number): reason for number, reason in sorted(found.items())} for phase, found in rows}
