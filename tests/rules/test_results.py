"""The figures on a result's page."""

from dataclasses import replace

import pytest

from app.results.analyses import AnalysisView, analysis_view
from app.results.details import classes_to_draw, curves_figure, errors_figure, sweep_figure, view_of
from app.results.exhibits import CurveView, RocView
from app.web.charts.shapes import Circle, Figure, Polyline
from heldout_scoring import Curve, RocCurve
from heldout_scoring.analysis.errors import (
    Diagnosis,
    ErrorBreakdown,
    ErrorCount,
    ErrorKind,
    Sweep,
    SweepPoint,
    Swept,
)
from heldout_scoring.stored import to_plain
from tests.pages.result_views import errors, sweep

PR = CurveView("cat", (0.0, 0.5, 1.0), (None, 1.0, 0.5))


def lines(figure: Figure) -> list[Polyline]:
    return [shape for shape in figure.drawing.shapes if isinstance(shape, Polyline)]


def test_at_most_two_existing_classes_are_drawn() -> None:
    assert classes_to_draw(["dog", "cat", "cow"], ["cat", "cow", "dog"]) == ("dog", "cat")
    assert classes_to_draw(["<script>"], []) == ()


def test_curves_share_a_figure_with_their_scores_and_a_table() -> None:
    figure = curves_figure([("cat", 0.75, PR), ("dog", None, replace(PR, name="dog"))])

    assert figure is not None
    assert [line.title for line in lines(figure)] == ["cat 75.0", "dog"]
    assert "cat 75.0; dog without a score" in figure.drawing.description
    assert figure.table.rows[0] == (0.0, 1.0, 1.0)
    assert figure.table.rows[10] == (1.0, 0.5, 0.5)


def test_a_curve_has_a_blank_at_recalls_it_does_not_reach() -> None:
    figure = curves_figure([("cat", 0.5, CurveView("cat", (0.5,), (1.0,)))])

    assert figure is not None
    assert [row[1] for row in figure.table.rows[4:7]] == [1.0, 1.0, None]


def test_the_table_of_a_roc_curve_has_the_best_rate_at_each_level() -> None:
    figure = curves_figure([("cat", 0.9, RocView("cat", (0.0, 0.25, 1.0), (0.5, 0.75, 1.0)))])

    assert figure is not None
    assert figure.table.columns[0].name == "false positive rate at most"
    assert [row[1] for row in figure.table.rows[::5]] == [0.5, 0.75, 1.0]
    assert curves_figure([]) is None


def test_both_kinds_of_stored_curves_can_be_read() -> None:
    assert view_of(to_plain(Curve("cat", 1, bytes([1])))) == CurveView("cat", (1.0,), (1.0,))
    assert isinstance(view_of(to_plain(RocCurve("cat", bytes([1, 0]), bytes([1, 1])))), RocView)


def test_errors_are_bars_for_one_result_and_dots_for_several() -> None:
    one = errors_figure([("oak", errors())])
    two = errors_figure([("oak", errors()), ("elm", errors()), ("ash", None)])

    assert one is not None
    assert two is not None
    assert not any(isinstance(shape, Circle) for shape in one.drawing.shapes)
    assert sum(isinstance(shape, Circle) for shape in two.drawing.shapes) == 2 + 2  # the legend, and one kind
    assert two.table.rows[0] == ("localisation", 1200, 0.081, 1200, 0.081)
    assert errors_figure([("oak", None)]) is None


def test_methods_keep_their_colours_where_others_have_no_curve_or_analysis() -> None:
    curve = CurveView("cat", (0.5, 1.0), (1.0, 0.5))
    curves = curves_figure([("oak", None, None), ("elm", 0.5, curve)])
    kinds = errors_figure([("oak", None), ("elm", errors())])

    assert curves is not None
    assert kinds is not None
    [line] = [each for each in curves.drawing.shapes if isinstance(each, Polyline) and "," in each.points]
    assert (line.style, line.title) == ("curve series-1", "elm 50.0")
    assert curves.table.rows[0] == (0.0, None, 1.0)
    assert {each.style for each in kinds.drawing.shapes if isinstance(each, Circle)} == {"dot series-1"}


def test_sweeps_over_iou_and_size_are_drawn_with_gaps_for_missing_values() -> None:
    by_iou, by_area = (sweep_figure([sweep(swept, None), sweep(swept, "car")]) for swept in ("iou", "area"))

    assert [len(line.points.split()) for line in lines(by_iou)] == [2, 2]
    assert lines(by_area)[0].points != lines(by_iou)[0].points
    assert by_area.table.rows[2] == (0.5, None, None)


def test_over_all_classes_errors_are_summed_and_gains_averaged() -> None:
    classes = [
        ErrorBreakdown(name, value, (ErrorCount(ErrorKind.SIMILAR, count, gain),))
        for name, value, count, gain in (("cat", 0.5, 3, 0.1), ("dog", 0.25, 4, 0.3), ("cow", None, 5, None))
    ]
    points = (SweepPoint(0.5, 0.25, 3), SweepPoint(0.6, None, 0))
    sweeps = (Sweep("cat", Swept.IOU, points), Sweep("dog", Swept.IOU, (points[0], SweepPoint(0.6, 0.5, 1))))

    view = analysis_view(to_plain(Diagnosis(tuple(classes), sweeps)))

    together = view.errors_of(None)
    assert together is not None
    assert (together.value, together.rows[0].count) == (0.375, 12)
    assert together.rows[0].gain == pytest.approx(0.2)
    [[mean, cat]] = view.sweeps_of([None, "cat"])
    assert [level.value for level in mean.levels] == [0.25, 0.5]
    assert [level.positives for level in mean.levels] == [6, 1]
    assert cat.name == "cat"


def test_an_analysis_is_empty_until_it_is_computed() -> None:
    assert analysis_view(None) == AnalysisView(is_computed=False)
    assert analysis_view(to_plain(Diagnosis())) == AnalysisView(is_computed=True)


def test_a_figure_of_curves_states_the_position_of_its_axes() -> None:
    curves = curves_figure([("cat", 0.5, PR)])

    assert curves is not None
    assert curves.drawing.plot is not None
    assert (curves.drawing.plot.across, curves.drawing.plot.right) == ("recall", 1.0)
