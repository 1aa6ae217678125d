"""Heat maps: a shaded cell for each row and column."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.web.charts.shapes import Drawing, Rect, Shape, Text, label, width_of

WIDTH, LABELS, HEAD = 440, 150, 62
NARROWEST, WIDEST = 24, 90  # cells; in between they fill the width of other figures
MOST_HIGH = 30  # rows that are as high as lines of text
MOST_LETTERS = 19
MOST_WITH_NUMBERS = 30  # columns


@dataclass(frozen=True, slots=True)
class Grid:
    """Values in [0, 1] by row and column; None if there is no value. note: a sentence below them."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    short_columns: tuple[str, ...]
    note: str = ""


def heat_map(name: str, title: str, description: str, grid: Grid) -> Drawing:
    """Draw cells in eleven shades by value, with the percentages inside if there are few columns."""
    longest = max(map(len, grid.short_columns), default=0)
    slanted = max(10, 4 * longest - 8)  # the overhang of the last heading
    left = max(0, LABELS - 8 - width_of(grid.rows, MOST_LETTERS))
    room = (WIDTH + left - LABELS - slanted) / (len(grid.columns) or 1)
    cell = _Cell(min(max(room, NARROWEST), WIDEST), 22 if len(grid.rows) <= MOST_HIGH else 18)
    shapes = [
        *_heads(grid.columns, grid.short_columns, cell),
        *(shape for place, row in enumerate(grid.rows) for shape in _row(grid, place, row, cell)),
    ]
    width = LABELS + cell.width * len(grid.columns) + slanted
    height = HEAD + cell.height * len(grid.rows) + 6
    if grid.note:
        height += 16
        shapes.append(Text(left, height - 6, grid.note, style="quiet"))
    return Drawing(name, title, description, max(width, WIDTH + left), height, tuple(shapes), left=left)


@dataclass(frozen=True, slots=True)
class _Cell:
    width: float
    height: float


def _heads(columns: Sequence[str], short: Sequence[str], cell: _Cell) -> Iterator[Shape]:
    for place, (whole, shown) in enumerate(zip(columns, short, strict=True)):
        x = LABELS + cell.width * (place + 0.5) + 4
        yield Text(x, HEAD - 6, shown, style="quiet", turned=-55, title="" if shown == whole else whole)


def _row(grid: Grid, place: int, row: str, cell: _Cell) -> Iterator[Shape]:
    y, width, height = HEAD + cell.height * place, cell.width - 1, cell.height - 1
    yield label(LABELS - 6, y + cell.height / 2 + 4, row, MOST_LETTERS, anchor="end")
    for number, value in enumerate(grid.values[place]):
        x = LABELS + cell.width * number
        if value is None:
            yield Rect(x, y, width, height, "cell none", f"{row}, {grid.columns[number]}: no value")
            continue
        step = round(10 * min(max(value, 0.0), 1.0))
        title = f"{row}, {grid.columns[number]}: {100 * value:.1f}"
        yield Rect(x, y, width, height, f"cell shade-{step}", title)
        if len(grid.columns) <= MOST_WITH_NUMBERS:
            style = "in-cell inverse" if step > 5 else "in-cell"
            yield Text(x + width / 2, y + cell.height / 2 + 3, f"{100 * value:.0f}", "middle", style)
