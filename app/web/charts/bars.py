"""Horizontal bar charts: a score for each name, with its interval and other values such as a median."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.web.charts.scales import Scale, score_axis, top_of
from app.web.charts.shapes import Drawing, Line, Rect, Shape, Text, label, width_of

WIDTH, ROW, TOP, BOTTOM = 440, 20, 24, 22
NUMBERS = 52  # width of the numbers beside bars
MOST_LETTERS = 19  # that fit next to a bar


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar; all values in [0, 1]. low, high: its interval; inner: a second value, drawn inside; mark: a third, drawn as a line."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    inner: float | None = None
    mark: float | None = None
    is_baseline: bool = False  # a baseline of the organisers, in a muted style


@dataclass(frozen=True, slots=True)
class Legend:
    """The labels of the parts of a bar; None if it does not have that part."""

    value: str
    inner: str | None = None
    mark: str | None = None


def bar_chart(name: str, title: str, description: str, bars: Sequence[Bar], legend: Legend) -> Drawing:
    """Draw bars from top to bottom in the given order, on a scale from 0 to the largest value rounded up to a tenth."""
    bottom = TOP + ROW * len(bars)
    values = [each for bar in bars for each in (bar.value, bar.high) if each is not None]
    labels = 10 + width_of((bar.name for bar in bars), MOST_LETTERS)
    scale = Scale(0.0, top_of(values), labels, WIDTH - NUMBERS)
    shapes = [
        *_legend(legend, has_baseline=any(bar.is_baseline for bar in bars)),
        *score_axis(scale, TOP, bottom),
        *(shape for number, bar in enumerate(bars) for shape in _bar(bar, TOP + ROW * number, scale)),
    ]
    return Drawing(name, title, description, WIDTH, bottom + BOTTOM, tuple(shapes))


def _bar(bar: Bar, y: float, scale: Scale) -> Iterator[Shape]:
    middle, end = y + ROW / 2, scale.at(bar.value)
    title = f"{bar.name} {100 * bar.value:.1f}"
    style = "light" if bar.inner is not None else ("quiet" if bar.is_baseline else "")
    yield label(scale.start - 6, middle + 4, bar.name, MOST_LETTERS, anchor="end")
    yield Rect(scale.start, y + 3, end - scale.start, ROW - 6, f"bar {style}".strip(), title)
    if bar.inner is not None:
        inner = f"{bar.name} {100 * bar.inner:.1f}"
        yield Rect(scale.start, y + 6, scale.at(bar.inner) - scale.start, ROW - 12, "bar", inner)
    if bar.mark is not None:
        yield Line(scale.at(bar.mark), y + 1, scale.at(bar.mark), y + ROW - 1, "mark")
    if bar.low is not None and bar.high is not None:
        yield Line(scale.at(bar.low), middle, scale.at(bar.high), middle, "whisker")
    furthest = max(end, scale.at(bar.high)) if bar.high is not None else end
    yield Text(furthest + 5, middle + 4, f"{100 * bar.value:.1f}", style="number")


def _legend(legend: Legend, *, has_baseline: bool) -> Iterator[Shape]:
    x = 2.0
    parts = (
        (legend.value, "bar light" if legend.inner else "bar"),
        (legend.inner, "bar"),
        (legend.mark, "mark"),
        ("baseline" if has_baseline else None, "bar quiet"),
    )
    for text, style in parts:
        if text is None:
            continue
        if style == "mark":
            yield Line(x + 5, 3, x + 5, 14, style)
        else:
            yield Rect(x, 4, 10, 9, style)
        yield Text(x + 15, 13, text, style="quiet")
        x += 15 + 8.4 * len(text) + 18
