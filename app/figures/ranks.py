"""The critical-difference diagram: mean ranks on a line, and bars that join methods which cannot be told apart.

Source: Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets", 2006; Figure 8 of the paper on VOC2007.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.figures.scales import Scale, ticks
from app.figures.shapes import Drawing, Line, Polyline, Shape, Text, joined, label, width_of

WIDTH, MARGIN, AXIS, ROW, STEP = 720, 186, 58, 17, 6
MOST_LETTERS = 17


@dataclass(frozen=True, slots=True)
class Ranked:
    """A method with its mean rank, 1 the best."""

    name: str
    mean_rank: float


@dataclass(frozen=True, slots=True)
class Ranks:
    """Methods, best first; groups: first and last place of methods that cannot be told apart; ranks: how many there are."""

    methods: tuple[Ranked, ...]
    groups: tuple[tuple[int, int], ...]
    ranks: int
    critical_difference: float


def rank_diagram(name: str, title: str, description: str, ranks: Ranks) -> Drawing:
    """The best half has its names on the left, the other on the right."""
    scale = Scale(1.0, float(max(ranks.ranks, 2)), MARGIN, WIDTH - MARGIN)
    joining = [pair for pair in ranks.groups if pair[1] > pair[0]]
    first_row = AXIS + 14 + STEP * len(joining) + 8
    half = (len(ranks.methods) + 1) // 2
    shapes = [
        *_axis(scale),
        *_critical_difference(scale, ranks.critical_difference),
        *(_join(ranks, pair, number, scale) for number, pair in enumerate(joining)),
        *_names(ranks.methods[:half], scale, first_row, 0.0),
        *_names(ranks.methods[:half - 1:-1], scale, first_row, float(WIDTH)),
    ]  # fmt: skip
    spare = MARGIN - 12 - 40 - 2  # on each side, less the names there
    left = max(0, spare - width_of((each.name for each in ranks.methods[:half]), MOST_LETTERS))
    right = max(0, spare - width_of((each.name for each in ranks.methods[half:]), MOST_LETTERS))
    height = first_row + ROW * half + 4
    return Drawing(name, title, description, WIDTH - right, height, tuple(shapes), left=left)


def _axis(scale: Scale) -> Iterator[Shape]:
    yield Line(scale.start, AXIS, scale.end, AXIS, "axis")
    for tick in ticks(scale.low, scale.high, 20):
        x = scale.at(tick)
        yield Line(x, AXIS - 5, x, AXIS, "axis")
        yield Text(x, AXIS - 9, f"{tick:g}", "middle", "quiet")


def _critical_difference(scale: Scale, difference: float) -> Iterator[Shape]:
    end = scale.start + (scale.end - scale.start) * difference / (scale.high - scale.low)
    end = min(end, scale.end)
    yield Line(scale.start, 20, end, 20, "axis")
    for x in (scale.start, end):
        yield Line(x, 16, x, 24, "axis")
    yield Text((scale.start + end) / 2, 12, f"CD = {difference:.2f}", "middle")


def _join(ranks: Ranks, pair: tuple[int, int], number: int, scale: Scale) -> Line:
    first, last = (ranks.methods[place].mean_rank for place in pair)
    y = AXIS + 10 + STEP * number
    return Line(scale.at(first) - 3, y, scale.at(last) + 3, y, "join")


def _names(methods: Sequence[Ranked], scale: Scale, top: float, edge: float) -> Iterator[Shape]:
    """Names at one edge of the drawing, from above down, and lines to their ranks, which do not cross."""
    is_left = edge == 0.0
    for number, method in enumerate(methods):
        x, y = scale.at(method.mean_rank), top + ROW * (number + 0.5)
        end = MARGIN - 12 if is_left else WIDTH - MARGIN + 12
        yield Polyline(joined([(x, AXIS), (x, y), (end, y)]), "lead", f"{method.name} {method.mean_rank:.2f}")
        yield label(
            end - 40 if is_left else end + 40,
            y + 4,
            method.name,
            MOST_LETTERS,
            anchor="end" if is_left else "start",
        )
        yield Text(
            end - 4 if is_left else end + 4,
            y + 4,
            f"{method.mean_rank:.2f}",
            "end" if is_left else "start",
            "quiet",
        )
