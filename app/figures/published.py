"""Results of historical challenges as published, not scored here, with figures."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any, Final

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.boards.rows import ranks_of
from app.core.errors import NotFoundError
from app.figures.board_figures import FIGURES_VERSION, SVG_AND_NUMBERS
from app.figures.drawings import BoardScores, MethodScores, summary_figures
from app.figures.figures import ColumnView, DrawnFigure, FigureView, table_part
from app.models import Artefact, PublishedChallenge
from app.platform import Platform
from app.results import artefacts
from app.web.dependencies import render_template
from scoring import Scoreboard
from scoring.published import classification_of_2007, detection_of_2007


@dataclass(frozen=True, slots=True)
class PublishedLine:
    """A historical challenge in the list of all challenges."""

    code: str
    title: str
    source: str


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a paper. number, title: of the competition; printed: where the paper has it."""

    number: int
    title: str
    printed: str


@dataclass(frozen=True, slots=True)
class PublishedChallengeView:
    """A historical challenge. note: says that its results were not scored here."""

    code: str
    title: str
    source: str
    note: str
    boards: tuple[PublishedTable, ...]


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A method. Values are in [0, 1] with three decimals, as printed. mean, rank: None unless every class has a value."""

    rank: int | None
    method: str
    mean: float | None
    median: float | None
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class PublishedBoard:
    """A board as it was published. best: the highest value of each class."""

    challenge: PublishedChallengeView
    table: PublishedTable
    measure: str
    classes: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    best: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class PublishedPage:
    """The page of a published board, with the figures drawn so far."""

    board: PublishedBoard
    figures: tuple[DrawnFigure, ...]


NOTE: Final = "As published, not scored here"


@dataclass(frozen=True, slots=True)
class Published:
    """The source of a historical board: its table, a function that reads its numbers, and their measure."""

    table: PublishedTable
    read: Callable[[], Scoreboard]
    measure: str


PAPER: Final = (
    "Everingham, Van Gool, Williams, Winn, Zisserman: The PASCAL Visual Object Classes (VOC) Challenge, International Journal of"
    " Computer Vision 88, 2010"
)
CLASSIFICATION: Final = PublishedTable(1, "Classification", "Table 5")
DETECTION: Final = PublishedTable(3, "Detection", "Table 6")
CHALLENGES: Final[Mapping[str, tuple[PublishedChallengeView, tuple[Published, ...]]]] = {
    "voc2007": (
        PublishedChallengeView(
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
"""All historical challenges with their boards, by code."""


def board_of(challenge: PublishedChallengeView, published: Published) -> PublishedBoard:
    """Rank a board by the mean. Methods without a value in every class come last."""
    scores = published.read()
    means = [None if None in row else fmean(_known(row)) for row in scores.values]
    rows = [
        PublishedRow(rank, name, mean, None if mean is None else median(_known(row)), row)
        for name, row, mean, rank in zip(scores.methods, scores.values, means, ranks_of(means), strict=True)
    ]
    rows.sort(key=lambda row: (row.mean is None, -(row.mean or 0.0), row.method.casefold()))
    columns = zip(*scores.values, strict=True)
    best = tuple(max(_known(column), default=None) for column in columns)
    return PublishedBoard(challenge, published.table, published.measure, scores.classes, tuple(rows), best)


def _known(row: tuple[float | None, ...]) -> list[float]:
    return [value for value in row if value is not None]


def scores_of(board: PublishedBoard) -> BoardScores:
    """Return the scores from which the figures of a published board are drawn."""
    methods = tuple(MethodScores(row.method, row.mean, row.values) for row in board.rows)
    return BoardScores(board.measure, board.classes, methods)


def codes(session: Session) -> list[str]:
    """List the codes of the historical challenges on this server."""
    return list(session.scalars(select(PublishedChallenge.code).order_by(PublishedChallenge.code)))


def is_shown(session: Session, code: str) -> bool:
    """Whether this server shows a historical challenge."""
    return session.get(PublishedChallenge, code) is not None


def insert_published(session: Session, code: str) -> bool:
    """Store that a historical challenge is shown. False if it was already."""
    statement = insert(PublishedChallenge).values(code=code).on_conflict_do_nothing()
    return session.scalar(statement.returning(PublishedChallenge.code)) is not None


def delete_published(session: Session, code: str, subject: str) -> bool:
    """Delete a historical challenge and its artefacts below `subject`. Returns whether it was shown."""
    session.execute(delete(Artefact).where(Artefact.subject.startswith(subject, autoescape=True)))
    statement = delete(PublishedChallenge).where(PublishedChallenge.code == code)
    return session.scalar(statement.returning(PublishedChallenge.code)) is not None


FIGURES = "published figures"  # artefact kind: all figures of a board


def add(platform: Platform, code: str) -> bool:
    """Show a historical challenge and draw its figures. False if it is already shown. Raises NotFoundError for an unknown code."""
    if code not in CHALLENGES:
        raise NotFoundError(f"there is no historical challenge {code!r}; expected {', '.join(CHALLENGES)}")
    with platform.transaction() as session:
        is_new = insert_published(session, code)
    draw_missing(platform)
    return is_new


def remove(platform: Platform, code: str) -> None:
    """Stop showing a historical challenge. Raises NotFoundError if it is not shown."""
    with platform.transaction() as session:
        if not delete_published(session, code, _subject(code)):
            raise NotFoundError(f"this server does not show a historical challenge {code!r}")


def draw_missing(platform: Platform) -> int:
    """Draw the missing and outdated figures of historical boards. Returns the number of boards."""
    with platform.transaction() as session:
        boards = [
            (code, published) for code in codes(session) for published in CHALLENGES.get(code, (None, ()))[1]
        ]
        drawn = {
            (code, each.table.number): artefacts.find(session, FIGURES, _subject(code, each.table.number))
            for code, each in boards
        }
    missing = [
        (code, each)
        for code, each in boards
        if (before := drawn[code, each.table.number]) is None or before.version != FIGURES_VERSION
    ]
    for code, published in missing:
        figures = summary_figures(scores_of(board_of(CHALLENGES[code][0], published)))
        content = [
            {
                "head": [getattr(each.drawing, name) for name in ("name", "title", "description")],
                "size": [each.drawing.width, each.drawing.height],
                "columns": [asdict(column) for column in each.table.columns],
                "rows": each.table.rows,
                "svg": render_template("figures/drawing.svg", drawing=each.drawing).strip(),
            }
            for each in figures
        ]
        subject = _subject(code, published.table.number)
        artefacts.store(
            platform, FIGURES, subject, FIGURES_VERSION, SVG_AND_NUMBERS, json.dumps(content).encode()
        )
    return len(missing)


def _subject(code: str, number: int | str = "") -> str:
    return f"published/{code}/{number}"


def lines(platform: Platform) -> tuple[PublishedLine, ...]:
    """List the historical challenges on this server."""
    with platform.transaction() as session:
        shown = [CHALLENGES[code][0] for code in codes(session) if code in CHALLENGES]
    return tuple(PublishedLine(each.code, each.title, each.source) for each in shown)


def challenge(platform: Platform, code: str) -> PublishedChallengeView:
    """Return a historical challenge. Raises NotFoundError."""
    with platform.transaction() as session:
        if code not in CHALLENGES or not is_shown(session, code):
            raise NotFoundError(f"there is no historical challenge {code!r}")
    return CHALLENGES[code][0]


def board(platform: Platform, code: str, competition: int) -> PublishedBoard:
    """Return a board as it was published. Raises NotFoundError."""
    view = challenge(platform, code)
    found = next((each for each in CHALLENGES[code][1] if each.table.number == competition), None)
    if found is None:
        raise NotFoundError(f"there is no competition {competition} in {view.title}")
    return board_of(view, found)


def page(platform: Platform, code: str, competition: int) -> PublishedPage:
    """Return a board as it was published, with its figures if they are drawn. Raises NotFoundError."""
    shown = board(platform, code, competition)
    stored = artefacts.read(platform, FIGURES, _subject(code, competition))
    figures: list[dict[str, Any]] = json.loads(stored) if stored else []
    return PublishedPage(shown, tuple(_drawn(code, competition, each) for each in figures))


def figure(platform: Platform, code: str, competition: int, name: str) -> DrawnFigure:
    """Return one figure of a published board. Raises NotFoundError."""
    for each in page(platform, code, competition).figures:
        if each.figure.name == name:
            return each
    raise NotFoundError("this figure is still being computed, or the board has no such figure")


def _drawn(code: str, competition: int, stored: dict[str, Any]) -> DrawnFigure:
    name, title, description = stored["head"]
    base = f"/published/{code}/{competition}/figures/{name}"
    columns = tuple(ColumnView(**column) for column in stored["columns"])
    rows = tuple(tuple(row) for row in stored["rows"])
    view = FigureView(name, title, description, columns, rows, f"{base}.svg", f"{base}.csv")
    width, height = stored["size"]
    return DrawnFigure(view, width, height, stored["svg"], table_part(view))
