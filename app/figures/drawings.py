"""Turn the scores of a board into summary figures: drawings with their tables."""

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import accumulate
from statistics import median

from app.results.groups import share_group
from app.web.charts.bars import Bar, Legend, bar_chart
from app.web.charts.clustering import similar_order
from app.web.charts.curves import Axes, Curve, curve_chart
from app.web.charts.heat import Grid, heat_map
from app.web.charts.scales import Scale, rounded, score_axis_upwards, ticks
from app.web.charts.shapes import (
    Circle,
    Column,
    Drawing,
    Figure,
    Line,
    Polyline,
    Shape,
    Table,
    Text,
    joined,
    label,
    shortened,
    width_of,
)
from app.web.formats import columns as narrow_columns
from app.web.formats import count_classes, inside, plural, score, sentence, written_day
from heldout_scoring import Scoreboard, rank_methods


def embed_styles(svg: str, styles: str) -> str:
    """Embed styles in a drawing so that it looks the same on other websites. styles: CSS without characters that XML escapes."""
    return svg.replace('class="drawing"', 'class="drawing alone"', 1).replace(
        "</desc>", f"</desc><style>{styles}</style>", 1
    )


def policy(styles: str) -> str:
    """Return the content security policy that allows exactly these styles.

    >>> policy("")
    "default-src 'none'; style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = base64.b64encode(sha256(styles.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'"


@dataclass(frozen=True, slots=True)
class MethodScores:
    """A method on a board. values: in [0, 1], in the board's order of classes, None if missing."""

    name: str
    mean: float | None
    values: tuple[float | None, ...]
    date: datetime | None = None
    is_baseline: bool = False
    run_id: int = 0
    method_id: int = 0


@dataclass(frozen=True, slots=True)
class BoardScores:
    """The scores of a board.

    measure: such as "AP (area)"; methods: best first; what: the kind of column, "class" or "part"; baseline: the score of random
    rankings in each class, if known.
    """

    measure: str
    classes: tuple[str, ...]
    methods: tuple[MethodScores, ...]
    what: str = "class"
    baseline: tuple[float | None, ...] = ()


PROGRESS_WIDTH, LEFT, RIGHT, TOP, BOTTOM = 440, 36, 430, 20, 280
LETTER, LINE = 7, 15  # width and height of a letter of a name
MOST_POINTS = 300  # results that were never the best, drawn as points
DATES = 2  # intervals between dates on the axis


@dataclass(frozen=True, slots=True)
class DatedMean:
    """A method's score in [0, 1] and its submission date."""

    name: str
    value: float
    date: datetime


def progress_chart(name: str, title: str, description: str, results: Sequence[DatedMean]) -> Drawing:
    """Draw results by date as points and the best so far as a line. Results that were best are labelled where there is room, the leader always."""
    ordered = sorted(results, key=lambda each: (each.date, -each.value))
    first, last = ordered[0].date, ordered[-1].date
    days = max((last - first) / timedelta(days=1), 1e-9)
    across = Scale(0.0, days, LEFT + 12, RIGHT - 12)
    values = [each.value for each in ordered]
    highest = max([0.1, *values])
    lowest = min([highest - 0.1, *values])
    below = (highest - lowest) / 6  # room for the name of the first
    up = Scale(*rounded(max(0.0, lowest - below), highest), BOTTOM, TOP)
    shapes = [
        *score_axis_upwards(up, LEFT, RIGHT),
        *_dates(first, days, across),
        *_legend(ordered),
        *_steps(ordered, across, up),
        *_points(ordered, across, up),
        *_names_of_best(ordered, across, up),
    ]
    return Drawing(name, title, description, PROGRESS_WIDTH, BOTTOM + 48, tuple(shapes))


def best_so_far(results: Sequence[DatedMean]) -> tuple[DatedMean, ...]:
    """Return the results, given in order of date, that were better than all before them."""
    best = accumulate((each.value for each in results), max, initial=-1.0)
    return tuple(each for each, before in zip(results, best, strict=False) if each.value > before)


def _place(result: DatedMean, first: datetime, across: Scale) -> float:
    return across.at((result.date - first) / timedelta(days=1))


def _dates(first: datetime, days: float, across: Scale) -> Iterator[Shape]:
    shown: set[str] = set()
    for number in range(DATES + 1):
        day = written_day(first + timedelta(days=days * number / DATES))
        if day not in shown:
            shown.add(day)
            anchor = "start" if number == 0 else "end" if number == DATES else "middle"
            yield Text(across.at(days * number / DATES), BOTTOM + 18, day, anchor, "quiet")


def _legend(ordered: Sequence[DatedMean]) -> Iterator[Shape]:
    """Explain the points off the line, if there are any."""
    if len(best_so_far(ordered)) < len(ordered):
        y = BOTTOM + 42
        yield Circle(LEFT + 12, y - 4, 3, "point quiet")
        yield Text(LEFT + 21, y, "a method that was not the best when submitted", style="quiet")


def _steps(ordered: Sequence[DatedMean], across: Scale, up: Scale) -> Iterator[Shape]:
    first = ordered[0].date
    points: list[tuple[float, float]] = []
    for result in best_so_far(ordered):
        x, y = _place(result, first, across), up.at(result.value)
        if points:
            points.append((x, points[-1][1]))
        points.append((x, y))
    points.append((RIGHT, points[-1][1]))
    yield Polyline(joined(points), "curve series-0", "best so far")


def _points(ordered: Sequence[DatedMean], across: Scale, up: Scale) -> Iterator[Shape]:
    best = set(best_so_far(ordered))
    others = [each for each in ordered if each not in best]
    left_out = set(others) - set(others[:: -(-len(others) // MOST_POINTS) or 1])
    for result in (each for each in ordered if each not in left_out):
        x, y = _place(result, ordered[0].date, across), up.at(result.value)
        tooltip = f"{result.name} {score(result.value)}, {written_day(result.date)}"
        yield Circle(x, y, 3, "point" if result in best else "point quiet", tooltip)


def _names_of_best(ordered: Sequence[DatedMean], across: Scale, up: Scale) -> Iterator[Shape]:
    """Name results that were the best, the leader first: left above their points if there is room, else around them.

    A name beside another point would be read as that point's: the leader's moves to the right or up, others are left out
    if no place around their points is free.
    """
    named: list[tuple[float, float, float]] = []  # left and right ends and baselines
    points = {each: (_place(each, ordered[0].date, across), up.at(each.value)) for each in ordered}
    for result in reversed(best_so_far(ordered)):
        x, y = points[result]
        name = shortened(result.name, 18)
        width = LETTER * len(name)
        others = [point for each, point in points.items() if each is not result]
        beside = [(x - width - 7, y + 4), (x + 7, y + 17), (x - width, y + 17), (x, y - 5)]
        further = [(left, y + rise) for rise in (-20, 32, -35, 47) for left in (x - width, x + 7)]
        places = [(x - width, y - 5), *beside, *further]
        free = [
            place
            for place in places
            if place[0] > LEFT
            and place[0] + width < RIGHT
            and 12 <= place[1] < BOTTOM
            and not _is_beside(place, width, others)
            and all(
                place[0] + width < left or right < place[0] or abs(place[1] - baseline) >= LINE
                for left, right, baseline in named
            )
        ]
        if not free and named:
            continue
        left, baseline = free[0] if free else (max(x - width, LEFT), max(y - 5 - LINE, 12))
        if abs(baseline - y) > LETTER + LINE:
            yield Line(
                x, y, min(max(x, left), left + width), baseline - (0 if baseline < y else LINE - 4), "lead"
            )
        is_end = left == x - width
        yield Text(x if is_end else left, baseline, name, "end" if is_end else "start", "over")
        named.append((left, left + width, baseline))


def _is_beside(place: tuple[float, float], width: float, points: Sequence[tuple[float, float]]) -> bool:
    """Whether a text, from its left end on a baseline, covers or touches one of these points."""
    left, baseline = place
    return any(
        left - LINE < x < left + width + LINE and baseline - LINE < y < baseline + LINE for x, y in points
    )


RANKS_WIDTH, AXIS, ROW, STEP = 440, 62, 20, 7
ELBOW = 12  # width of the end of the line to a mean rank
MOST_LETTERS, MOST_TICKS = 18, 10
ABOUT_RANKS = (
    "CD: critical difference of the Nemenyi test, over the classes.",
    "Letters on a leaderboard, where it has them, test over the images.",
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A method with its mean rank; 1 is the best."""

    name: str
    mean_rank: float


@dataclass(frozen=True, slots=True)
class RankGroups:
    """Methods, best first. groups: first and last index of methods that do not differ
    significantly; ranks: the number of ranks, of which only the best may be drawn.
    """

    methods: tuple[Ranked, ...]
    groups: tuple[tuple[int, int], ...]
    ranks: int
    critical_difference: float


def rank_diagram(name: str, title: str, description: str, ranks: RankGroups) -> Drawing:
    """Draw methods on a line by mean rank, with their names below it on the left, the best first."""
    digits = _digits(ranks)
    value = 4 + 9 * len(f"{ranks.ranks:.{digits}f}")  # width of a mean rank
    left = 2 + width_of((each.name for each in ranks.methods), MOST_LETTERS) + value + ELBOW
    scale = Scale(1.0, float(max(ranks.ranks, 2)), left, RANKS_WIDTH - 14)
    joining = [pair for pair in ranks.groups if pair[1] > pair[0]]
    first_row = AXIS + 14 + STEP * len(joining) + 8
    last_row = first_row + ROW * len(ranks.methods) + 4
    shapes = [
        *_axis(scale),
        *_critical_difference(scale, ranks.critical_difference, digits),
        *(_join(ranks, pair, number, scale) for number, pair in enumerate(joining)),
        *_names(ranks.methods, scale, first_row, value, digits),
        *(Text(2, last_row + LINE * (n + 1), line, style="quiet") for n, line in enumerate(ABOUT_RANKS)),
    ]
    height = last_row + LINE * len(ABOUT_RANKS) + 6
    return Drawing(name, title, description, RANKS_WIDTH, height, tuple(shapes))


def _digits(ranks: RankGroups) -> int:
    """Return how many decimals tell the critical difference from every difference of ranks: 2, or 4 if these look equal."""
    means = [each.mean_rank for each in ranks.methods]
    critical = f"{ranks.critical_difference:.2f}"
    return 4 if any(f"{high - low:.2f}" == critical for low in means for high in means) else 2


def _axis(scale: Scale) -> Iterator[Shape]:
    yield Line(scale.start, AXIS, scale.end, AXIS, "axis")
    for tick in ticks(scale.low, scale.high, min(MOST_TICKS, round(scale.high))):
        x = scale.at(tick)
        yield Line(x, AXIS - 5, x, AXIS, "axis")
        yield Text(x, AXIS - 9, f"{tick:g}", "middle", "quiet")


def _critical_difference(scale: Scale, difference: float, digits: int) -> Iterator[Shape]:
    end = scale.start + (scale.end - scale.start) * difference / (scale.high - scale.low)
    end = min(end, scale.end)
    yield Line(scale.start, 20, end, 20, "axis")
    for x in (scale.start, end):
        yield Line(x, 16, x, 24, "axis")
    yield Text((scale.start + end) / 2, 12, f"CD = {difference:.{digits}f}", "middle")


def _join(ranks: RankGroups, pair: tuple[int, int], number: int, scale: Scale) -> Line:
    first, last = (ranks.methods[place].mean_rank for place in pair)
    y = AXIS + 10 + STEP * number
    return Line(scale.at(first) - 3, y, scale.at(last) + 3, y, "join")


def _names(methods: Sequence[Ranked], scale: Scale, top: float, value: float, digits: int) -> Iterator[Shape]:
    """Draw names from top to bottom, with lines to their ranks that do not cross. value: from a line to its name."""
    end = scale.start - ELBOW
    for number, method in enumerate(methods):
        x, y = scale.at(method.mean_rank), top + ROW * (number + 0.5)
        yield Polyline(
            joined([(x, AXIS), (x, y), (end, y)]), "lead", f"{method.name} {method.mean_rank:.{digits}f}"
        )
        yield label(end - value, y + 4, method.name, MOST_LETTERS, anchor="end")
        yield Text(end - 4, y + 4, f"{method.mean_rank:.{digits}f}", "end", "quiet")


MOST_METHODS = 100  # per drawing; more cannot be read
MOST_RANKED = 40  # names that fit on a rank diagram
MOST_TESTED = 300  # methods whose ranks are compared; the groups of n take a time of n³
MOST_CLASSES = 60  # columns of a heat map
FEW = 4  # up to so many columns, each has its own bar chart
NAMED = 5  # curves named in the legend
TEXT, NUMBER, DATE = "text", "number", "date"


def summary_figures(board: BoardScores) -> tuple[Figure, ...]:
    """Draw all figures that need only the scores. A figure without enough data is left out."""
    makers: tuple[Callable[[BoardScores], Iterator[Figure]], ...] = (
        progress,
        summary_by_class,
        scores_by_class_and_method,
        parts_by_method,
        critical_differences,
        median_by_method,
    )
    return tuple(figure for make in makers for figure in make(board))


def _entered(method: MethodScores) -> list[float]:
    return [value for value in method.values if value is not None]


def _complete(board: BoardScores) -> list[MethodScores]:
    return [method for method in board.methods if len(_entered(method)) == len(board.classes)]


def _left_out(board: BoardScores, drawn: int) -> str:
    """Describe the methods that a drawing leaves out."""
    incomplete = len(board.methods) - len(_complete(board))
    text = ""
    if incomplete:
        text += f" {plural(incomplete, 'method')} without a score in every {board.what} not shown."
    if len(_complete(board)) > drawn:
        text += f" Only the best {drawn} are drawn."
    return text


def median_by_method(board: BoardScores) -> Iterator[Figure]:
    """Draw the median over the classes of each method with a score in all (Figure 7 of the VOC2007 paper)."""
    rows = [(each, median(_entered(each))) for each in _complete(board) if len(board.classes) > 1]
    rows.sort(key=lambda row: -row[1])
    if not rows:
        return
    bars = [Bar(each.name, value, is_baseline=each.is_baseline) for each, value in rows[:MOST_METHODS]]
    title = f"Median {inside(board.measure)} by method"
    best, value = rows[0]
    description = (
        f"Horizontal bars, best first: the median over {_count(board)} of {plural(len(rows), 'method')}. {best.name} is first with"
        f" {score(value)}%, {rows[-1][0].name} last with {score(rows[-1][1])}%.{_left_out(board, len(bars))}"
    )
    table = Table(
        (Column("method", TEXT), Column("median")), tuple((each.name, value) for each, value in rows)
    )
    drawing = bar_chart(
        "median-by-method", title, description, bars, Legend(f"median over {_count(board)}, %")
    )
    yield Figure(drawing, table)


def _count(board: BoardScores) -> str:
    return count_classes(board.classes, board.what)


def parts_by_method(board: BoardScores) -> Iterator[Figure]:
    """Draw a bar chart of all methods for each column, if there are few, such as the parts of a person."""
    if not 1 < len(board.classes) <= FEW or not board.methods:
        return
    for place, name in enumerate(board.classes):
        values = [(each, each.values[place]) for each in board.methods]
        rows = sorted(((each, value) for each, value in values if value is not None), key=lambda row: -row[1])
        if not rows:
            continue
        bars = [Bar(each.name, value, is_baseline=each.is_baseline) for each, value in rows[:MOST_METHODS]]
        title = f"{board.measure} of {name} by method"
        description = f"Horizontal bars, best first: {plural(len(rows), 'method')}. {rows[0][0].name} is first with {score(rows[0][1])}%."
        drawing = bar_chart(f"by-method-{place + 1}", title, description, bars, Legend(f"{name}, %"))
        columns = (Column("method", TEXT), Column(name))
        yield Figure(drawing, Table(columns, tuple((each.name, value) for each, value in rows)))


def summary_by_class(board: BoardScores) -> Iterator[Figure]:
    """Draw the maximum and median over the methods for each class, and random rankings (Figures 9 and 18)."""
    baseline = board.baseline or (None,) * len(board.classes)
    by_class = [
        (name, [v for method in board.methods if (v := method.values[place]) is not None], baseline[place])
        for place, name in enumerate(board.classes)
    ]
    rows = [(name, max(values), median(values), base) for name, values, base in by_class if values]
    rows.sort(key=lambda row: -row[1])
    if not rows:
        return
    bars = [
        Bar(name, highest, inner=middle, mark=base) for name, highest, middle, base in rows[:MOST_METHODS]
    ]
    has_baseline = any(base is not None for *_, base in rows)
    title = f"{board.measure} by {board.what}"
    description = (
        f"Horizontal bars by {board.what}, largest maximum first: the maximum and the median over {plural(len(board.methods), 'method')}."
        f" {rows[0][0]} has the largest maximum, {score(rows[0][1])}%, {rows[-1][0]} the smallest, {score(rows[-1][1])}%."
        + (" A dashed line marks the score of random rankings." if has_baseline else "")
        + (f" Only the first {len(bars)} are drawn." if len(rows) > len(bars) else "")
    )
    legend = Legend("maximum, %", "median", "random baseline" if has_baseline else None)
    names = ("maximum", "median", "random baseline")[: 3 if has_baseline else 2]
    columns = (Column(board.what, TEXT), *map(Column, names))
    table = Table(columns, tuple(row[: len(columns)] for row in rows))
    yield Figure(bar_chart("by-class", title, description, bars, legend), table)


def critical_differences(board: BoardScores) -> Iterator[Figure]:
    """Draw the mean ranks over the classes with Nemenyi's critical difference (Figure 8)."""
    complete = _complete(board)[:MOST_TESTED]
    if len(complete) < 2 or len(board.classes) < 2:
        return
    table = Scoreboard(
        tuple(each.name for each in complete), board.classes, tuple(each.values for each in complete)
    )
    ranked = rank_methods(table)
    assert ranked.critical_difference is not None
    shown = ranked.methods[:MOST_RANKED]
    pairs = tuple((min(group), min(max(group), len(shown) - 1)) for group in ranked.groups)
    ranks = RankGroups(
        tuple(Ranked(each.name, each.mean_rank) for each in shown),
        tuple(pair for pair in pairs if pair[0] < pair[1]),
        len(ranked.methods),
        ranked.critical_difference,
    )
    first = [each.name for each in ranked.methods if share_group(each.letters, ranked.methods[0].letters)]
    description = (
        f"Mean ranks of {plural(len(ranked.methods), 'method')}{_tested(board)} over {_count(board)}, 1 the best, on a line from left to right."
        " This is a test across the classes; letters and p-values of leaderboards and comparisons are tests across the images."
        f" The critical difference of Nemenyi's test at the level 0.05 is {ranked.critical_difference:.2f}; bars join methods that it"
        f" cannot distinguish. Not distinguishable from the first: {', '.join(first[:MOST_RANKED])}.{_left_out(board, len(shown))}"
    )
    rows = tuple((each.name, each.mean_rank, each.letters) for each in ranked.methods)
    columns = (Column("method", TEXT), Column("mean rank", NUMBER), Column("groups", TEXT))
    yield Figure(
        rank_diagram("critical-differences", f"Mean ranks by {inside(board.measure)}", description, ranks),
        Table(columns, rows),
    )


def _tested(board: BoardScores) -> str:
    return ", those with the best means," if len(_complete(board)) > MOST_TESTED else ""


def scores_by_class_and_method(board: BoardScores) -> Iterator[Figure]:
    """Draw a heat map of classes and methods, ordered so that similar ones are neighbours."""
    methods = [each for each in board.methods if _entered(each)][:MOST_METHODS]
    chosen = _most_different(methods, len(board.classes))
    if len(methods) < 2 or len(chosen) < 2:
        return
    columns = [[each.values[place] for each in methods] for place in chosen]
    chosen = [chosen[place] for place in similar_order(columns)]
    order = similar_order([[each.values[place] for place in chosen] for each in methods])
    names = tuple(board.classes[place] for place in chosen)
    grid = Grid(
        rows=tuple(methods[row].name for row in order),
        columns=names,
        values=tuple(tuple(methods[row].values[place] for place in chosen) for row in order),
        short_columns=tuple(shown for _, shown in narrow_columns(names)),
        note="Methods and columns with similar scores stand side by side.",
    )
    left = (
        ""
        if len(chosen) == len(board.classes)
        else f" Of {_count(board)} those {len(chosen)} in which methods differ most."
    )
    description = (
        f"A table of {plural(len(methods), 'method')} by {count_classes([board.classes[place] for place in chosen], board.what)}, more strongly shaded for higher scores; rows and columns are"
        f" in the order of average-linkage clustering, so that similar ones are neighbours.{left}"
    )
    drawing = heat_map("heat-map", f"{board.measure} by method and {board.what}", description, grid)
    heads = (Column("method", TEXT), *map(Column, names))
    rows = tuple((name, *row) for name, row in zip(grid.rows, grid.values, strict=True))
    yield Figure(drawing, Table(heads, rows))


def _most_different(methods: Sequence[MethodScores], classes: int) -> list[int]:
    """Return the indices of the classes for a heat map: all, or those with the largest range of scores."""
    ranges: dict[int, float] = {}
    for place in range(classes):
        values = [value for each in methods if (value := each.values[place]) is not None]
        if values:
            ranges[place] = max(values) - min(values)
    return sorted(sorted(ranges, key=lambda place: -ranges[place])[:MOST_CLASSES])


def progress(board: BoardScores) -> Iterator[Figure]:
    """Draw the best mean over time."""
    results = [
        DatedMean(each.name, each.mean, each.date)
        for each in board.methods
        if each.mean is not None and each.date is not None
    ]
    if len(results) < 2:
        return
    ordered = sorted(results, key=lambda each: (each.date, -each.value))
    best = best_so_far(ordered)
    description = (
        f"{plural(len(results), 'result')} by submission date, and the best mean so far as a rising line: from"
        f" {score(best[0].value)}% ({best[0].name}, {written_day(best[0].date)}) to {score(best[-1].value)}% ({best[-1].name},"
        f" {written_day(best[-1].date)})."
    )
    drawing = progress_chart("progress", f"Best mean {inside(board.measure)} over time", description, ordered)
    columns = (Column("method", TEXT), Column("date", DATE), Column("mean"), Column("best so far", TEXT))
    rows = tuple(
        (each.name, each.date.date().isoformat(), each.value, "yes" if each in best else "")
        for each in ordered
    )
    yield Figure(drawing, Table(columns, rows))


def curves_of_class(place: int, name: str, curves: Sequence[Curve], axes: Axes, *, methods: int) -> Figure:
    """Draw the curves of a class, best first: five in colours, the others as thin lines (Figures 6 and 10)."""
    shown = [f"{each.name} {score(each.value)}%" for each in curves[:NAMED]]
    description = (
        f"{sentence(axes.up)} over {axes.across} of {plural(methods, 'method')} for {name}. Best: {', '.join(shown)}."
        + (f" A dashed line marks {axes.level_name}, {score(axes.level)}%." if axes.level is not None else "")
        + (f" The best {len(curves)} are drawn." if methods > len(curves) else "")
    )
    drawing = curve_chart(
        f"curves-{place + 1}",
        f"{sentence(axes.up)} and {axes.across}: {name}",
        description,
        curves,
        axes,
        NAMED,
    )
    rows = tuple((each.name, each.value) for each in curves)
    return Figure(drawing, Table((Column("method", TEXT), Column(name)), rows))


def confusion(method: str, labels: Sequence[str], counts: Sequence[Sequence[int]]) -> Figure:
    """Draw a confusion matrix: of the pixels of each true label (row), the share that got each label (column)."""
    totals = [sum(row) for row in counts]
    shares = tuple(
        tuple(count / total if total else None for count in row)
        for row, total in zip(counts, totals, strict=True)
    )
    grid = Grid(tuple(labels), tuple(labels), shares, tuple(shown for _, shown in narrow_columns(labels)))
    known = [(row[place] or 0.0, labels[place]) for place, row in enumerate(shares) if totals[place]]
    best, worst = max(known), min(known)
    description = (
        f"Rows are true labels, columns those that {method} gave, more strongly shaded for a larger share of a row's pixels. Most of {best[1]} was found,"
        f" {score(best[0])}%, least of {worst[1]}, {score(worst[0])}%."
    )
    rows = tuple((name, *row) for name, row in zip(labels, shares, strict=True))
    table = Table((Column("true label", TEXT), *map(Column, labels)), rows)
    return Figure(heat_map("confusion", f"Confusion of labels by {method}", description, grid), table)
