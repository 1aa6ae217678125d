"""The preview of a re-scoring for the organisers of its challenge: old and new scores and ranks, and whether it can be published."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Row, Select, and_, select
from sqlalchemy.orm import Session, aliased

from app.boards.rows import ranks_of
from app.challenges import challenges, versions
from app.challenges.challenges import PhaseView
from app.core.access import Actor
from app.core.errors import NotFoundError
from app.evaluation import publishing, rescoring
from app.evaluation.rescoring import RescoreView, Unscored
from app.models import (
    Board,
    ClassScore,
    Decision,
    GroundTruth,
    Method,
    Rescore,
    Result,
    Run,
    RunState,
    Team,
    User,
)
from app.platform import Platform
from app.results.recording import is_on_board
from heldout_scoring.competitions import name_of

PAGE: Final = 100  # methods


class RescoreState(StrEnum):
    """What became of a re-scoring."""

    OPEN = "open"
    PUBLISHED = "published"
    DISCARDED = "discarded"


class PreviewState(StrEnum):
    """What a re-scoring has done with a result so far."""

    WAITING = "waiting"  # for a worker, or for its turn
    SCORED = "scored"
    UNDECIDED = "undecided"  # it could not be scored, or its archive is damaged
    KEPT = "kept"  # its old score stays on the board, as an organiser decided


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A method on a board, with its score and rank now and after publishing, as organisers see them: None if there is none."""

    method: str
    method_id: int
    team: str
    submission: int
    is_public: bool
    state: PreviewState
    old: float | None
    new: float | None
    old_rank: int | None = None
    new_rank: int | None = None

    @property
    def moves(self) -> bool:
        """Whether its rank changes."""
        return self.old_rank != self.new_rank


@dataclass(frozen=True, slots=True)
class BoardSummary:
    """What publishing changes on a board. changed, moved: methods with another score, and with another rank."""

    competition: int
    name: str
    methods: int
    changed: int
    moved: int
    failed: int  # could not be scored, whatever was decided
    waiting: int  # have still to be scored


@dataclass(frozen=True, slots=True)
class Preview:
    """A re-scoring with its progress; while it is open, with what publishing would change.

    seen, refusal, late: as of `publishing.Readiness`; rows: of one of the boards, a page of them by new rank.
    """

    id: int
    state: RescoreState
    phase: PhaseView
    version: int  # of the ground truth
    shown: int  # the version that the boards show
    requested_by: str
    confirmed_by: str
    ended_at: datetime | None
    rescore: RescoreView | None = None  # None if it is over
    seen: str = ""
    refusal: str | None = None
    late: int = 0
    boards: tuple[BoardSummary, ...] = ()  # that have a method
    competition: int | None = None
    rows: tuple[PreviewRow, ...] = ()
    only_moved: bool = False
    page: int = 1
    pages: int = 1


def preview(
    platform: Platform,
    actor: Actor,
    rescore_id: int,
    competition: int | None = None,
    *,
    only_moved: bool = False,
    page: int = 1,
) -> Preview:
    """Return a re-scoring with a page of what it changes on a board, by default on the first.

    only_moved: leave out methods that keep their rank. Raises NotFoundError if the reader does not organise its challenge, or for a
    board or a page that there is not.
    """
    with platform.snapshot() as session:
        rescore = session.get(Rescore, rescore_id)
        phase = challenges.phase_of_id(session, rescore.phase_id) if rescore else None
        if rescore is None or phase is None or not actor.organises_challenge(phase.challenge_id):
            raise NotFoundError(f"there is no re-scoring {rescore_id}")
        head = _head(session, rescore, phase)
        if head.state is not RescoreState.OPEN:
            return head
        ready = publishing.readiness(session, rescore)
        view = next(
            each for each in rescoring.open_rescores(session, [phase.id]).values() if each.id == rescore_id
        )
        boards = {number: [*_ranked(rows)] for number, rows in _rows(session, rescore).items()}
    head = replace(head, rescore=view, seen=ready.seen, refusal=ready.refusal, late=ready.late)
    summaries = tuple(
        _summary(phase, number, rows, ready.unscored.get(number)) for number, rows in boards.items() if rows
    )
    chosen = competition if competition is not None else next((each.competition for each in summaries), None)
    if chosen is None:
        return head
    if not boards.get(chosen):
        raise NotFoundError(f"no board of competition {chosen} has a method")
    listed = [row for row in boards[chosen] if row.moves or not only_moved]
    pages = max(1, -(-len(listed) // PAGE))
    if page > pages:
        raise NotFoundError(f"there is no page {page}; the last one is {pages}")
    return replace(
        head, boards=summaries, competition=chosen, rows=tuple(listed[(page - 1) * PAGE : page * PAGE]),
        only_moved=only_moved, page=page, pages=pages,
    )  # fmt: skip


def _head(session: Session, rescore: Rescore, phase: PhaseView) -> Preview:
    shown = versions.shown_truth(session, phase.id)
    state = RescoreState.PUBLISHED if rescore.activated_at else RescoreState.OPEN
    return Preview(
        id=rescore.id,
        state=RescoreState.DISCARDED if rescore.abandoned_at else state,
        phase=phase,
        version=session.get_one(GroundTruth, rescore.ground_truth_id).version,
        shown=shown.version if shown else 0,
        requested_by=_name(session, rescore.requested_by),
        confirmed_by=_name(session, rescore.confirmed_by),
        ended_at=rescore.activated_at or rescore.abandoned_at,
    )


def _name(session: Session, user_id: int | None) -> str:
    user = session.get(User, user_id) if user_id is not None else None
    return user.name if user else ""


def _rows(session: Session, rescore: Rescore) -> dict[int, list[PreviewRow]]:
    """Load the methods of each board of the phase of a re-scoring, without ranks."""
    numbers = session.scalars(
        select(Board.competition).where(Board.phase_id == rescore.phase_id).order_by(Board.competition)
    )
    boards: dict[int, list[PreviewRow]] = {number: [] for number in numbers}
    for row in session.execute(_statement(rescore)):
        boards[row.competition].append(_row(row))
    return boards


def _statement(rescore: Rescore) -> Select[*tuple[Any, ...]]:
    old, new = aliased(ClassScore), aliased(ClassScore)
    of_rescore = and_(Run.result_id == Result.id, Run.rescore_id == rescore.id)
    return (
        select(
            Result.competition, Result.submission_id, Method.id, Method.name, Method.public_at, Team.name.label("team"),
            Run.state, Run.decision, old.value.label("old"), new.value.label("new"),
        )
        .select_from(Result)
        .join(Board, is_on_board())
        .join(Result.method)
        .join(Method.team)
        .outerjoin(Run, of_rescore)
        .outerjoin(old, and_(old.run_id == Result.published_run_id, old.class_name.is_(None)))
        .outerjoin(new, and_(new.run_id == Run.id, new.class_name.is_(None)))
        .where(Result.phase_id == rescore.phase_id)
        .order_by(Result.id)
    )  # fmt: skip


def _row(row: Row[*tuple[Any, ...]]) -> PreviewRow:
    return PreviewRow(
        method=row.name,
        method_id=row.id,
        team=row.team,
        submission=row.submission_id,
        is_public=row.public_at is not None,
        state=_state(row.state, row.decision),
        old=row.old,
        new=row.new,
    )


def _state(run: RunState | None, decision: Decision | None) -> PreviewState:
    if decision is Decision.KEEP:
        return PreviewState.KEPT
    if run in rescoring.UNSCORED:
        return PreviewState.UNDECIDED
    return PreviewState.SCORED if run is RunState.SCORED else PreviewState.WAITING


def _ranked(rows: Collection[PreviewRow]) -> Iterator[PreviewRow]:
    """Yield the methods of a board with their ranks, by new rank; a method that keeps its old score is ranked by it."""
    before = ranks_of([row.old for row in rows])
    after = ranks_of([row.old if row.state is PreviewState.KEPT else row.new for row in rows])
    ranked = [
        replace(row, old_rank=old, new_rank=new) for row, old, new in zip(rows, before, after, strict=True)
    ]

    def key(row: PreviewRow) -> tuple[bool, int, int, str]:
        return (row.new_rank is None, row.new_rank or 0, row.old_rank or 0, row.method)

    yield from sorted(ranked, key=key)


def _summary(
    phase: PhaseView, competition: int, rows: Collection[PreviewRow], unscored: Unscored | None
) -> BoardSummary:
    scored = [row for row in rows if row.state is PreviewState.SCORED]
    return BoardSummary(
        competition=competition,
        name=name_of(phase.dataset, competition),
        methods=len(rows),
        changed=sum(row.old != row.new for row in scored),
        moved=sum(row.moves for row in rows),
        failed=sum(row.state in (PreviewState.UNDECIDED, PreviewState.KEPT) for row in rows),
        waiting=unscored.first + unscored.late if unscored else 0,
    )
