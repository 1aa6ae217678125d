"""Geometry of scales, curves and other shapes, and the SVG they are written as."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from app.figures.drawings import Ranked, RankGroups, confusion, curves_of_class, embed_styles, rank_diagram
from app.web.charts.bars import Bar, Legend, bar_chart
from app.web.charts.clustering import similar_order
from app.web.charts.curves import COLUMNS, Axes, Curve, thinned
from app.web.charts.dots import Dot, DotRow, Range, dot_chart, series_of
from app.web.charts.heat import Grid, heat_map
from app.web.charts.scales import Scale, rounded, ticks
from app.web.charts.shapes import Drawing, Line, Polyline, Rect, Text, shortened
from app.web.dependencies import render_template

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<script>alert('x')</script>\"&"


@pytest.mark.parametrize("high", [0.003, 0.1, 0.37, 0.9, 1.0, 17.0, 40.0, 120.0])
@pytest.mark.parametrize("most", [2, 5, 20])
def test_ticks_are_few_and_evenly_spaced(high: float, most: int) -> None:
    found = ticks(0.0, high, most)

    assert 1 <= len(found) <= max(most, 2)
    assert found[0] == 0.0
    assert found[-1] <= high + 1e-9
    assert np.allclose(np.diff(found), found[1] if len(found) > 1 else 0)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0.88), (0, 0.05), (0.38, 0.87), (-0.78, 0.78), (0.9, 1), (0, 40)]
)
def test_an_axis_ends_at_ticks_beyond_all_values(low: float, high: float) -> None:
    ends = rounded(low, high)

    assert ends[0] <= low < high <= ends[1]
    assert [ticks(*ends)[place] for place in (0, -1)] == list(ends)
    assert ends[1] - ends[0] <= 2 * (high - low)


def test_a_value_outside_a_scale_is_drawn_at_its_edge() -> None:
    assert [Scale(0, 1, 10, 20).at(value) for value in (-1, 0.5, 2)] == [10, 15, 20]
    assert Scale(3, 3, 10, 20).at(3) == 15


def test_a_name_that_is_too_long_keeps_both_ends() -> None:
    assert shortened("a_method_of_many_words_v2", 11) == "a_met…ds_v2"
    assert len(shortened("x" * 50, 20)) == 20


def test_a_thinned_curve_keeps_its_ends_and_extremes() -> None:
    across = np.sort(np.random.default_rng(1).random(20_000))
    up = np.sin(40 * across) / 2 + 0.5

    fewer, high = thinned(across, up)

    assert len(fewer) <= 3 * COLUMNS
    assert (fewer[0], high.max(), high.min()) == (across[0], up.max(), up.min())
    assert (np.diff(fewer) >= 0).all()


def test_points_without_a_precision_are_left_out() -> None:
    across, _ = thinned(np.array([0.0, 0.1, np.nan]), np.array([np.nan, 0.5, 0.4]))

    assert across.tolist() == [0.1]


def curve(name: str, value: float) -> Curve:
    return Curve(name, value, np.linspace(0, 1, 50), np.linspace(1, value, 50))


def test_the_best_five_curves_are_named_and_the_others_are_thin_lines() -> None:
    curves = [curve(f"Method {place}", 0.9 - place / 20) for place in range(8)]

    figure = curves_of_class(6, "car", curves, Axes("Recall", "Precision", 0.1, "random rankings"), methods=9)

    shapes = figure.drawing.shapes
    styles = [shape.style for shape in shapes if isinstance(shape, Polyline)]
    assert sorted(styles) == [*["curve faint"] * 3, *[f"curve series-{place}" for place in range(5)]]
    words = [shape.text for shape in shapes if isinstance(shape, Text)]
    assert "Method 4" in words
    assert "Method 5" not in words
    assert "3 more" in words
    level = next(shape for shape in shapes if isinstance(shape, Line) and shape.style == "mark")
    assert level.y == level.to_y == pytest.approx(10 + 290 * 0.9)
    assert "The best 8 are drawn." in figure.drawing.description
    assert figure.drawing.name == "curves-7"


def test_a_confusion_matrix_has_the_shares_of_each_row() -> None:
    figure = confusion("Oak", ("background", "cat", "none"), ((90, 10, 0), (5, 15, 0), (0, 0, 0)))

    assert [row[1:] for row in figure.table.rows] == [(0.9, 0.1, 0.0), (0.25, 0.75, 0.0), (None, None, None)]
    assert "Most of background was found, 90.0%, least of cat, 75.0%." in figure.drawing.description
    cells = [shape.style for shape in figure.drawing.shapes if isinstance(shape, Rect)]
    assert cells[:3] == ["cell shade-9", "cell shade-1", "cell shade-0"]
    assert cells[6:] == ["cell none"] * 3


@pytest.mark.parametrize("columns", [1, 3, 10])
def test_a_heat_map_of_few_columns_is_as_wide_as_other_figures(columns: int) -> None:
    names = tuple(f"class {number}" for number in range(columns))

    drawing = heat_map("heat", "", "", Grid(("oak",), names, ((0.5,) * columns,), names))

    assert drawing.width - drawing.left == pytest.approx(440)


def test_heat_map_column_heads_are_written_in_full() -> None:
    labels = ("class_001", "class_002", "person")

    figure = confusion("Oak", labels, [[1, 0, 0], [0, 1, 0], [0, 0, 1]])

    heads = [shape for shape in figure.drawing.shapes if isinstance(shape, Text) and shape.turned]
    assert [head.text for head in heads] == list(labels)


def test_similar_rows_are_neighbours_even_if_values_are_missing() -> None:
    rows = [(0.1, 0.1), (0.9, 0.9), (0.1, None), (0.88, 0.9)]

    order = similar_order(rows)

    assert abs(order.index(1) - order.index(3)) == 1
    assert order[0] == 0
    assert similar_order(rows[:2]) == [0, 1]


def drawings(name: str) -> list[Drawing]:
    spans, legend = Range(0, 1), Legend("AP, %")
    return [
        bar_chart("bars", "", "", [Bar(name, 0.5)], legend),
        heat_map("heat", "", "", Grid((name,), ("car",), ((0.5,),), ("car",))),
        dot_chart("dots", "", "", [DotRow(name, (Dot(0.5),))], series_of(["oak"]), spans),
        rank_diagram("ranks", "", "", RankGroups((Ranked(name, 1), Ranked(name, 2)), (), 2, 1.0)),
    ]


def test_a_drawing_starts_at_its_longest_name() -> None:
    for drawing in drawings("Oak"):
        [*found] = [shape for shape in drawing.shapes if isinstance(shape, Text) and shape.text == "Oak"]
        assert 0 < found[0].x - drawing.left - 8.5 * len("Oak") < 8
        assert all(shape.x < drawing.width for shape in found)
    assert [drawing.left for drawing in drawings("a name of more letters than fit")] == [0, 0, 0, 0]


def test_a_drawing_is_written_as_accessible_escaped_svg() -> None:
    shapes = (
        Text(1, 2, EVIL, "end", "quiet", turned=-90, title=EVIL),
        Line(0, 0, 1.25, 1, "grid"),
        Polyline("0,0 1,1", "curve", EVIL),
        Rect(0, 0, 1, 1, "bar", EVIL),
    )
    drawing = Drawing("a-name", EVIL, f"{EVIL} in words", 140, 50.5, shapes, left=40)

    text = render_template("figures/drawing.svg", drawing=drawing)

    root = ET.fromstring(text.strip())
    assert root.get("role") == "img"
    assert root.get("viewBox") == "40 0 100 50.5"
    assert root.get("width") == "100"
    ids = (root.get("aria-labelledby") or "").split()
    assert [child.text for child in root[:2] if child.get("id") in ids] == [EVIL, f"{EVIL} in words"]
    tags = ("text", "line", "polyline", "rect", "circle")
    assert [len(root.findall(f"{SVG}{tag}")) for tag in tags] == [1, 1, 1, 1, 0]
    assert "style=" not in text
    assert root.findall(f"{SVG}style") == []


def test_a_standalone_drawing_includes_its_styles() -> None:
    drawing = Drawing("alone", "Alone", "Alone, in words", 10, 10, ())

    text = embed_styles(render_template("figures/drawing.svg", drawing=drawing), ".drawing { color: red; }")

    root = ET.fromstring(text.strip())
    [style] = root.findall(f"{SVG}style")
    assert style.text == ".drawing { color: red; }"
    assert root.get("class") == "drawing alone"


def test_the_legend_of_curves_names_what_the_numbers_are() -> None:
    figure = curves_of_class(
        0, "car", [curve("Oak", 0.5)], Axes("Recall", "Precision", measure="AP"), methods=1
    )

    assert "AP 50.0" in [shape.text for shape in figure.drawing.shapes if isinstance(shape, Text)]
    assert figure.drawing.plot is not None
    assert figure.drawing.plot.up == "Precision"
