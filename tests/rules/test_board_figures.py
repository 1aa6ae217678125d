"""The summary figures of a board, compared with the paper on VOC2007."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.figures.board_figures import random_baseline
from app.figures.drawings import (
    BoardScores,
    MethodScores,
    Ranked,
    RankGroups,
    rank_diagram,
    summary_figures,
)
from app.web.charts.shapes import Circle, Figure, Line, Rect, Text
from heldout_scoring.metrics.labels import (
    ranked_average_precision,
    ranked_average_precision_11_points,
    roc_auc,
)
from heldout_scoring.published import classification_of_2007, detection_of_2007
from heldout_scoring.statistics.ranks import Scoreboard

DAY = datetime(2026, 11, 22, 12, tzinfo=UTC)
FIGURE_8 = {
    "INRIA_Genetic": 1.05, "INRIA_Flat": 2.20, "XRCE": 3.00, "TKK": 5.42, "QMUL_LSPCH": 5.45, "QMUL_HSLS": 6.12,
    "UVA_FuseAll": 8.07, "UVA_SFS": 8.28, "UVA_MCIP": 9.15, "INRIA_Larlus": 9.75, "Tsinghua": 11.02, "MPI_BOW": 11.20,
    "ToshCam_rdf": 12.65, "UVA_WGT": 13.32, "ToshCam_svm": 14.40, "UVA_Bigrams": 14.95, "PRIPUVA": 16.95,
}  # fmt: skip


def board_of(table: Scoreboard) -> BoardScores:
    methods = tuple(
        MethodScores(name, None if None in row else sum(v or 0 for v in row) / len(row), row)
        for name, row in zip(table.methods, table.values, strict=True)
    )
    return BoardScores("AP (11 points)", table.classes, methods)


def named(board: BoardScores) -> dict[str, Figure]:
    return {figure.drawing.name: figure for figure in summary_figures(board)}


@pytest.fixture(scope="module")
def classification() -> dict[str, Figure]:
    return named(board_of(classification_of_2007()))


def test_medians_match_figure_7(classification: dict[str, Figure]) -> None:
    figure = classification["median-by-method"]
    medians = [100 * float(value or 0) for _, value in figure.table.rows]

    assert [figure.table.rows[place][0] for place in (0, -1)] == ["INRIA_Genetic", "PRIPUVA"]
    assert [medians[place] for place in (0, -2, -1)] == pytest.approx([57.5, 32.1, 21.1], abs=0.1)
    bars = [shape for shape in figure.drawing.shapes if isinstance(shape, Rect) and shape.title]
    assert len(bars) == 17
    assert [bar.width for bar in bars] == sorted((bar.width for bar in bars), reverse=True)
    assert bars[0].width / bars[-1].width == pytest.approx(medians[0] / medians[-1])


def test_the_order_matches_figure_8_and_the_first_six_share_a_group(
    classification: dict[str, Figure],
) -> None:
    figure = classification["critical-differences"]

    found = {name: rank for name, rank, _ in figure.table.rows}
    assert list(found) == list(FIGURE_8)
    assert found == pytest.approx(FIGURE_8, abs=0.006)
    assert "CD = 5.52" in [shape.text for shape in figure.drawing.shapes if isinstance(shape, Text)]
    letters = [str(marks) for *_, marks in figure.table.rows]
    assert ["a" in marks for marks in letters] == [place < 6 for place in range(17)]


def test_a_bar_joins_exactly_the_methods_that_do_not_differ_significantly(
    classification: dict[str, Figure],
) -> None:
    shapes = classification["critical-differences"].drawing.shapes
    bars = [shape for shape in shapes if isinstance(shape, Line) and shape.style == "join"]
    axis = next(shape for shape in shapes if isinstance(shape, Line) and shape.style == "axis")
    unit = (axis.to_x - axis.x) / 16

    first = min(bars, key=lambda bar: bar.x)

    assert (first.x + 3 - axis.x) / unit + 1 == pytest.approx(1.05, abs=0.006)  # INRIA_Genetic
    assert (first.to_x - 3 - axis.x) / unit + 1 == pytest.approx(6.12, abs=0.006)  # QMUL_HSLS
    assert all((bar.to_x - bar.x - 6) / unit < 5.523 for bar in bars)


def test_maximum_and_median_by_class_match_figure_9(classification: dict[str, Figure]) -> None:
    rows = {name: rest for name, *rest in classification["by-class"].table.rows}

    assert rows["person"] == pytest.approx([0.859, 0.786])
    assert rows["bottle"] == pytest.approx([0.331, 0.222])
    assert next(iter(rows)) == "person"


def test_a_heat_map_has_a_cell_for_each_class_and_method(classification: dict[str, Figure]) -> None:
    figure = classification["heat-map"]
    cells = [shape for shape in figure.drawing.shapes if isinstance(shape, Rect)]
    methods = [row[0] for row in figure.table.rows]

    assert len(cells) == 17 * 20
    assert abs(methods.index("QMUL_HSLS") - methods.index("QMUL_LSPCH")) == 1
    assert {column.name for column in figure.table.columns[1:]} == set(classification_of_2007().classes)


def test_methods_without_a_score_in_every_class_are_counted_as_left_out() -> None:
    figures = named(board_of(detection_of_2007()))

    assert len(figures["median-by-method"].table.rows) == 6
    assert "3 methods without a score in every class" in figures["median-by-method"].drawing.description
    assert len(figures["heat-map"].table.rows) == 9
    rows = {name: rest for name, *rest in figures["by-class"].table.rows}
    assert rows["car"] == pytest.approx([0.432, 0.294])


def scored(count: int, classes: int = 3, name: str = "Method") -> BoardScores:
    methods = tuple(
        MethodScores(
            f"{name} {place}",
            0.9 - place / 200,
            tuple(0.9 - place / 200 - each / 50 for each in range(classes)),
            DAY + timedelta(days=place % 7),
        )
        for place in range(count)
    )
    return BoardScores("AP (area)", tuple(f"class {each}" for each in range(classes)), methods)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 150])
def test_a_board_of_any_length_has_the_figures_that_its_rows_allow(count: int) -> None:
    figures = named(scored(count, classes=6))

    assert set(figures) == {
        *(("by-class", "median-by-method") if count else ()),
        *(("critical-differences", "heat-map", "progress") if count > 1 else ()),
    }
    for figure in figures.values():
        assert all(len(row) == len(figure.table.columns) for row in figure.table.rows)
        assert figure.drawing.height < 2100


def test_a_board_with_hidden_class_values_has_only_the_figure_of_progress() -> None:
    board = scored(5)
    hidden = tuple(replace(each, values=(None,) * 3) for each in board.methods)

    assert set(named(replace(board, methods=hidden))) == {"progress"}
    assert summary_figures(replace(board, methods=tuple(replace(each, mean=None) for each in hidden))) == ()


def test_progress_marks_each_new_best_in_order_of_date() -> None:
    figure = named(scored(10))["progress"]
    points = [shape for shape in figure.drawing.shapes if isinstance(shape, Circle) and shape.title]

    assert [row[3] for row in figure.table.rows] == ["yes", *[""] * 9]
    assert [point.style for point in points].count("point") == 1
    assert [point.x for point in points] == sorted(point.x for point in points)


def test_the_first_result_stands_above_the_end_of_the_axis() -> None:
    methods = tuple(
        MethodScores(f"m{place}", 0.559 + place / 10, (0.5,), DAY + place * timedelta(days=9))
        for place in range(3)
    )
    shapes = named(BoardScores("AP", ("car",), methods))["progress"].drawing.shapes

    points = [shape.y for shape in shapes if isinstance(shape, Circle)]
    ends = [max(shape.y, shape.to_y) for shape in shapes if isinstance(shape, Line) and shape.style == "grid"]
    assert max(ends) - max(points) > 14


def test_progress_names_the_leader_and_names_do_not_overlap() -> None:
    means = (0.30, 0.31, 0.55, 0.56, 0.80, 0.81)
    methods = tuple(
        MethodScores(f"Method {place}", mean, (mean,), DAY + timedelta(days=place))
        for place, mean in enumerate(means)
    )

    figure = named(BoardScores("AP", ("cat",), methods))["progress"]

    names = [each for each in figure.drawing.shapes if isinstance(each, Text) and each.style == "over"]
    assert [each.text for each in names] == [f"Method {place}" for place in (5, 4, 3, 2, 1, 0)]
    ends = [(each.x, each.x + 56) if each.anchor == "start" else (each.x - 56, each.x) for each in names]
    for (name, (left, right)), (other, (other_left, other_right)) in combinations(
        zip(names, ends, strict=True), 2
    ):
        assert abs(name.y - other.y) >= 15 or right <= other_left or other_right <= left
    assert figure.table.rows[0][1] == f"{DAY:%Y-%m-%d}"


@pytest.mark.parametrize("before", [9, 13, 16, 19])
def test_the_name_of_the_leader_stands_at_no_point_of_another_method(before: int) -> None:
    results = ((0, 0.3), (20, 0.81), (before, 0.79))
    methods = tuple(
        MethodScores(f"Method {place}", mean, (mean,), DAY + timedelta(days=day))
        for place, (day, mean) in enumerate(results)
    )
    methods = (*methods, MethodScores("Later", 0.5, (0.5,), DAY + timedelta(days=30)))
    methods = (*methods, MethodScores("Best before", 0.8, (0.8,), DAY + timedelta(days=1)))

    shapes = named(BoardScores("AP", ("cat",), methods))["progress"].drawing.shapes

    [name] = [each for each in shapes if isinstance(each, Text) and each.text == "Method 1"]
    left = name.x - 56 if name.anchor == "end" else name.x
    others = [
        each for each in shapes if isinstance(each, Circle) and each.title and "Method 1 " not in each.title
    ]
    assert len(others) == 4
    assert not [
        each for each in others if left - 12 < each.x < left + 68 and name.y - 12 < each.y < name.y + 8
    ]


@pytest.mark.parametrize(
    ("place", "expected"), [(None, []), (2, ["bar quiet"])], ids=["without", "with a baseline"]
)
def test_a_legend_marks_baselines_only_if_there_are_any(place: int | None, expected: list[str]) -> None:
    board = scored(4)
    methods = tuple(replace(each, is_baseline=number == place) for number, each in enumerate(board.methods))

    shapes = named(replace(board, methods=methods))["median-by-method"].drawing.shapes

    quiet = [shape for shape in shapes if isinstance(shape, Rect) and shape.style == "bar quiet"]
    assert [shape.style for shape in quiet if not shape.title] == expected
    assert [shape.title.split(" 8")[0] for shape in quiet if shape.title] == ["Method 2"] * len(expected)
    assert ("baseline" in [shape.text for shape in shapes if isinstance(shape, Text)]) is (place is not None)


def test_each_part_has_a_bar_chart_of_all_methods() -> None:
    parts = replace(scored(4), classes=("head", "hand", "foot"), what="part")

    figures = named(parts)

    assert [figures[f"by-method-{place}"].drawing.title for place in (1, 2, 3)] == [
        "AP (area) of head by method", "AP (area) of hand by method", "AP (area) of foot by method",
    ]  # fmt: skip
    assert len(figures["by-method-2"].table.rows) == 4


def test_the_random_baseline_is_drawn_where_it_is_known() -> None:
    figures = named(replace(scored(2), baseline=(0.1, None, 0.2)))

    assert [row[3] for row in figures["by-class"].table.rows] == [0.1, None, 0.2]
    marks = [
        shape
        for shape in figures["by-class"].drawing.shapes
        if isinstance(shape, Line) and shape.style == "mark"
    ]
    assert len(marks) == 3  # including the one in the legend


def outcomes(positives: int, negatives: int, ignored: int = 0) -> NDArray[np.int8]:
    return np.repeat(np.array([1, 0, -1], np.int8), (positives, negatives, ignored))


def test_the_random_baseline_is_the_mean_of_all_permutations() -> None:
    found = random_baseline(outcomes(1, 3, 5), ranked_average_precision, permutations=4000)

    assert found == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, abs=0.015)
    assert random_baseline(outcomes(40, 60), roc_auc, permutations=100) == pytest.approx(0.5, abs=0.02)


def test_the_random_baseline_is_close_to_the_papers_value_for_person() -> None:
    found = random_baseline(
        outcomes(2007, 4952 - 2007), ranked_average_precision_11_points, permutations=100
    )  # 43.4 in the paper, for one order

    assert found == pytest.approx(0.434, abs=0.03)


def test_without_positives_there_is_no_random_baseline() -> None:
    assert random_baseline(outcomes(0, 4), ranked_average_precision, permutations=2) is None


def test_of_thousands_of_methods_only_the_best_are_drawn_and_ranked() -> None:
    first = datetime(2026, 1, 1, tzinfo=UTC)
    methods = tuple(
        MethodScores(
            f"Method {number}", 1 - number / 2000, (1 - number / 2000,) * 3, first + timedelta(hours=number)
        )
        for number in range(2000)
    )
    found = named(BoardScores("AP", ("cat", "cow", "dog"), methods))

    assert len(found["critical-differences"].table.rows) == 300
    assert "of 300 methods, those with the best means," in found["critical-differences"].drawing.description
    points = [shape for shape in found["progress"].drawing.shapes if isinstance(shape, Circle)]
    assert len(points) < 310
    assert len(found["progress"].table.rows) == 2000


def test_every_result_that_was_the_best_is_named_in_the_figure_of_progress() -> None:
    means = (0.288, 0.543, 0.61, 0.633, 0.567, 0.691, 0.78, 0.8)
    days = (0, 1, 1.7, 2.6, 3.4, 4.9, 8.2, 13.5)
    methods = tuple(
        MethodScores(f"Method {place}", mean, (mean,), DAY + timedelta(days=day))
        for place, (mean, day) in enumerate(zip(means, days, strict=True))
    )

    shapes = named(BoardScores("AP", ("cat",), methods))["progress"].drawing.shapes

    names = {each.text for each in shapes if isinstance(each, Text) and each.style == "over"}
    assert names == {f"Method {place}" for place in range(8)} - {"Method 4"}


def test_a_critical_difference_that_looks_like_a_difference_of_ranks_has_more_digits() -> None:
    def drawn(other: float) -> list[str]:
        ranks = RankGroups((Ranked("A", 1.0), Ranked("B", other)), (), 3, 1.4996)
        shapes = rank_diagram("ranks", "Ranks", "", ranks).shapes
        return [each.text for each in shapes if isinstance(each, Text) and each.text.startswith("CD = ")]

    assert (drawn(2.5), drawn(2.6)) == (["CD = 1.4996"], ["CD = 1.50"])
