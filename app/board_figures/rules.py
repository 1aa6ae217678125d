"""The scores of a board as everybody sees them, and what of its figures depends on the disclosure."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from app.board_figures.schemas import Columns, FigureRow
from app.disclosure.rules import Sight, public_sight
from app.disclosure.schemas import StoredScore
from app.editions.schemas import PhaseView
from app.figures.boards import BoardScores, MethodScores


def disclosed(phase: PhaseView, taken_back: int) -> str:
    """What everybody sees of a board's results; figures that were drawn under another disclosure are not shown.

    taken_back: another number once results were withdrawn or hidden, so that figures with them vanish before new ones are drawn.
    """
    is_hidden = phase.embargo and not phase.is_over
    return "nothing" if is_hidden else f"{public_sight(phase)!r} {taken_back}"


def version_of(board: BoardScores, disclosure: str) -> str:
    """What differs where the figures of a board would."""
    return sha256(repr((disclosure, board)).encode()).hexdigest()[:24]


def scores_of(
    rows: Sequence[FigureRow],
    scores: Mapping[int, Mapping[str | None, StoredScore]],
    ladder: Mapping[int, StoredScore],
    board: Columns,
    sight: Sight,
) -> BoardScores:
    """The scores of a board as a reader with this sight sees them, best first; those without a mean follow."""
    methods = []
    for row in rows:
        own, seen = scores.get(row.run_id, {}), sight.of_result(is_complete=row.is_complete)
        values = tuple(seen.value(own[name]) if name in own else None for name in board.classes)
        mean = seen.mean(own.get(None), ladder.get(row.ladder_run_id or 0))
        date = sight.moment(row.date)
        methods.append(MethodScores(row.name, mean, values, date, row.is_baseline, row.run_id, row.method_id))
    methods.sort(key=lambda each: (each.mean is None, -(each.mean or 0.0), each.date, each.run_id))
    return BoardScores(rows[0].measure if rows else "", board.classes, tuple(methods), board.what)
