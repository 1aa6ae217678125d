"""The leaders of every board, with the number of methods, for pages that name many boards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges
from app.challenges.challenges import PhaseRef, PhaseView
from app.challenges.disclosure import public_visibility
from app.models import Board, Phase, Result, Submission
from app.platform import Platform
from app.results.recording import is_on_board
from app.results.standings import (
    ResultView,
    is_shown,
    public_visibilities,
    rank_column,
    runs_of_results,
    views,
)

COUNTS_FRESH = (
    60.0  # seconds for which the numbers of methods are cached; counting reads every result on a board
)
LEADERS = 3


@dataclass(frozen=True, slots=True)
class BoardSummary:
    """A leaderboard in a list of leaderboards. leaders: best first; empty if the means are hidden."""

    phase: PhaseRef
    competition: int
    task: str
    title: str
    own_data: bool  # methods may be trained on data other than the given
    methods: int  # public ones
    last_result: datetime | None
    leaders: tuple[ResultView, ...]
    hides_means: bool


@dataclass(frozen=True, slots=True)
class BoardCount:
    """How many public methods there are, and when the newest result was submitted."""

    methods: int
    last: datetime


@dataclass(frozen=True, slots=True)
class BoardCounts:
    """The counts of each board, by phase and competition, and of each challenge, by its id."""

    boards: Mapping[tuple[int, int], BoardCount]
    challenges: Mapping[int, BoardCount]


def counts(platform: Platform) -> BoardCounts:
    """Count the public methods on all boards; at most a minute old."""
    return platform.cache.version(("counts of methods",), lambda: _counts(platform), COUNTS_FRESH)


def _counts(platform: Platform) -> BoardCounts:
    on_board = (
        select(
            Result.phase_id,
            Result.competition,
            Phase.challenge_id,
            Result.method_id,
            Submission.created_at.label("sent_at"),
        )
        .join(Board, is_on_board())
        .join(Result.phase)
        .join(Result.method)
        .join(Result.submission)
        .where(is_shown())
        .cte()
    )
    numbers = func.count(on_board.c.method_id.distinct()), func.max(on_board.c.sent_at)
    of_boards = select(on_board.c.phase_id, on_board.c.competition, *numbers)
    of_challenges = select(on_board.c.challenge_id, *numbers)
    with platform.snapshot() as session:
        boards = session.execute(of_boards.group_by(on_board.c.phase_id, on_board.c.competition)).all()
        whole = session.execute(of_challenges.group_by(on_board.c.challenge_id)).all()
    return BoardCounts(
        {(phase, competition): BoardCount(*count) for phase, competition, *count in boards},
        {challenge: BoardCount(*count) for challenge, *count in whole},
    )


def board_summaries(
    session: Session, phases: Sequence[PhaseView], counted: BoardCounts, most: int = LEADERS
) -> tuple[BoardSummary, ...]:
    """Return every board of these phases with its first methods, as the public sees them."""
    by_id = {phase.id: phase for phase in phases}
    boards = challenges.boards_of(session, list(by_id))
    leaders: dict[tuple[int, int], list[ResultView]] = {}
    for board, view in _leaders(session, phases, most):
        leaders.setdefault(board, []).append(view)
    return tuple(
        _summary(
            by_id[board.phase_id],
            board,
            counted.boards.get((board.phase_id, board.competition)),
            leaders.get((board.phase_id, board.competition), []),
        )
        for board in boards
    )


def _summary(
    phase: PhaseView, board: Board, count: BoardCount | None, leaders: Sequence[ResultView]
) -> BoardSummary:
    visibility = public_visibility(phase)
    info = heldout_scoring.competition_of(phase.dataset, board.competition)
    known = [count.last] if count else []
    return BoardSummary(
        phase=phase.ref,
        competition=board.competition,
        task=info.task,
        title=info.title,
        own_data=info.own_data,
        methods=max(count.methods if count else 0, len(leaders)),
        last_result=max((*map(visibility.moment, known), *(each.date for each in leaders)), default=None),
        leaders=tuple(leaders),
        hides_means=not visibility.means,
    )


def _leaders(
    session: Session, phases: Sequence[PhaseView], most: int
) -> list[tuple[tuple[int, int], ResultView]]:
    """Return the first public methods of every board, by its phase and competition, best first; nothing of phases whose means are hidden."""
    visibilities = public_visibilities(phases)
    keys: dict[int, int] = {}
    for by_ladder in (False, True):
        alike = [
            (phase, visibility)
            for phase, visibility in visibilities.values()
            if visibility.means and visibility.by_ladder is by_ladder
        ]
        if alike and (key := rank_column(alike[0][1])) is not None:
            first = (
                select(Result.id, key.label("key"))
                .join(Result.method)
                .where(is_on_board(), is_shown(), key >= 0)
                .order_by(key.desc(), Result.id)
                .limit(most)
                .correlate(Board)
                .lateral()
            )
            statement = select(first.c.id, first.c.key).select_from(Board).join(first, true())
            of_phases = statement.where(Board.phase_id.in_([phase.id for phase, _ in alike]))
            keys |= {row.id: row.key for row in session.execute(of_phases)}
    runs = runs_of_results(session, keys)
    runs.sort(key=lambda run: (-keys[run.result_id], run.result_id))
    found = [(run.result.phase_id, run.result.competition) for run in runs]
    return list(zip(found, views(session, runs, visibilities), strict=True))
