"""The historical editions that there are, and their boards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

from app.figures.boards import BoardScores, MethodScores
from app.leaderboards.rules import ranks_of
from app.published.schemas import PublishedBoard, PublishedEditionView, PublishedRow, PublishedTable
from scoring import Scoreboard
from scoring.published import classification_of_2007, detection_of_2007

NOTE: Final = "As published, not scored here"


@dataclass(frozen=True, slots=True)
class Published:
    """A board of a historical edition: its table, where its numbers are read, and their measure."""

    table: PublishedTable
    read: Callable[[], Scoreboard]
    measure: str


PAPER: Final = (
    "Everingham, Van Gool, Williams, Winn, Zisserman: The PASCAL Visual Object Classes (VOC) Challenge, International Journal of"
    " Computer Vision 88, 2010"
)
CLASSIFICATION: Final = PublishedTable(1, "Classification", "Table 5")
DETECTION: Final = PublishedTable(3, "Detection", "Table 6")
EDITIONS: Final[Mapping[str, tuple[PublishedEditionView, tuple[Published, ...]]]] = {
    "voc2007": (
        PublishedEditionView(
            "voc2007",
            "PASCAL VOC 2007, as published",
            PAPER,
            NOTE,
            (CLASSIFICATION, DETECTION),
        ),
        (
            Published(CLASSIFICATION, classification_of_2007, "AP (11 points)"),
            Published(DETECTION, detection_of_2007, "AP (11 points)"),
        ),
    )
}
"""By code, every historical edition with its boards."""


def board_of(edition: PublishedEditionView, published: Published) -> PublishedBoard:
    """A board with ranks by the mean; a method that did not enter every class follows the others."""
    scores = published.read()
    means = [None if None in row else fmean(_known(row)) for row in scores.values]
    rows = [
        PublishedRow(rank, name, mean, None if mean is None else median(_known(row)), row)
        for name, row, mean, rank in zip(scores.methods, scores.values, means, ranks_of(means), strict=True)
    ]
    rows.sort(key=lambda row: (row.mean is None, -(row.mean or 0.0), row.method.casefold()))
    columns = zip(*scores.values, strict=True)
    best = tuple(max(_known(column), default=None) for column in columns)
    return PublishedBoard(edition, published.table, published.measure, scores.classes, tuple(rows), best)


def _known(row: tuple[float | None, ...]) -> list[float]:
    return [value for value in row if value is not None]


def scores_of(board: PublishedBoard) -> BoardScores:
    """What the figures of a published board are drawn from."""
    methods = tuple(MethodScores(row.method, row.mean, row.values) for row in board.rows)
    return BoardScores(board.measure, board.classes, methods)
