"""Heat maps: a shaded cell for each row and column."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.web.charts.shapes import Drawing, Rect, Shape, Text, label, width_of

LABELS, HEAD, CELL, ROW = 150, 62, 24, 18
MOST_LETTERS = 19
MOST_WITH_NUMBERS = 30  # columns


@dataclass(frozen=True, slots=True)
class Grid:
    """Values in [0, 1] by row and column; None if there is no value."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    short_columns: tuple[str, ...]


def heat_map(name: str, title: str, description: str, grid: Grid) -> Drawing:
    """Draw cells in eleven shades by value, with the percentages inside if there are few columns."""
    longest = max(map(len, grid.short_columns), default=0)
    slanted = max(10, 4 * longest - 8)  # the overhang of the last heading
    width = LABELS + CELL * len(grid.columns) + slanted
    shapes = [
        *_heads(grid.columns, grid.short_columns),
        *(shape for place, row in enumerate(grid.rows) for shape in _row(grid, place, row)),
    ]
    left = max(0, LABELS - 8 - width_of(grid.rows, MOST_LETTERS))
    height = HEAD + ROW * len(grid.rows) + 6
    return Drawing(name, title, description, max(width, 320), height, tuple(shapes), left=left)


def _heads(columns: Sequence[str], short: Sequence[str]) -> Iterator[Shape]:
    for place, (whole, shown) in enumerate(zip(columns, short, strict=True)):
        x = LABELS + CELL * (place + 0.5) + 4
        yield Text(x, HEAD - 6, shown, style="quiet", turned=-55, title="" if shown == whole else whole)


def _row(grid: Grid, place: int, row: str) -> Iterator[Shape]:
    y = HEAD + ROW * place
    yield label(LABELS - 6, y + ROW / 2 + 4, row, MOST_LETTERS, anchor="end")
    for number, value in enumerate(grid.values[place]):
        x = LABELS + CELL * number
        if value is None:
            yield Rect(x, y, CELL - 1, ROW - 1, "cell none", f"{row}, {grid.columns[number]}: no value")
            continue
        step = round(10 * min(max(value, 0.0), 1.0))
        title = f"{row}, {grid.columns[number]}: {100 * value:.1f}"
        yield Rect(x, y, CELL - 1, ROW - 1, f"cell shade-{step}", title)
        if len(grid.columns) <= MOST_WITH_NUMBERS:
            style = "in-cell inverse" if step > 5 else "in-cell"
            yield Text(x + (CELL - 1) / 2, y + ROW / 2 + 3, f"{100 * value:.0f}", "middle", style)
