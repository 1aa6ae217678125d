"""What a reader sees of a report beside its scores."""

import scoring
from app.editions.rules import disclosed_bounds
from app.exhibits.schemas import ClassValue, MatrixView, exhibits_of

OFFICIAL = scoring.ScoreTable("Average precision", (("car", 0.61234), ("cat", None)))
BESIDE = scoring.ScoreTable(
    "Average precision, difficult objects included", (("car", 0.51234), ("cat", None), ("mean", 0.25678))
)


def test_tables_after_the_first_stand_beside_the_scores_with_their_mean() -> None:
    [view] = exhibits_of([OFFICIAL.to_plain(), BESIDE.to_plain()], everything=True)

    assert (view.kind, view.title, view.total) == ("score_table", BESIDE.title, 0.25678)
    assert view.rows == (ClassValue("car", 0.51234), ClassValue("cat", None, reason="no value"))


def test_on_a_held_out_phase_they_have_three_decimals() -> None:
    [view] = exhibits_of([OFFICIAL.to_plain(), BESIDE.to_plain()], everything=False)

    assert view.total == 0.257
    assert view.rows[0] == ClassValue("car", 0.512)


def test_where_nothing_may_be_shown_there_is_nothing() -> None:
    assert exhibits_of([], everything=False) == ()


def test_a_confusion_matrix_is_shown_in_the_open_only() -> None:
    matrix = scoring.ConfusionMatrix(("background", "car"), ((3, 1), (0, 0))).to_plain()

    [table] = exhibits_of([OFFICIAL.to_plain(), matrix], everything=True)
    [shown] = table.rows

    assert shown == MatrixView(("background", "car"), ((0.75, 0.25), (None, None)), ((3, 1), (0, 0)))
    assert exhibits_of([OFFICIAL.to_plain(), matrix], everything=False) == ()


def test_bounds_are_rounded_outwards_where_annotation_is_held_out_and_told_exactly_in_the_open() -> None:
    assert disclosed_bounds(0.5432, 0.5651, everything=False) == (0.54, 0.57)
    assert disclosed_bounds(0.5432, 0.5651, everything=True) == (0.5432, 0.5651)
    assert disclosed_bounds(None, None, everything=False) == (None, None)


def test_a_class_may_be_called_mean() -> None:
    table = scoring.ScoreTable("…", (("mean", 0.5), ("car", 0.25), ("mean", 0.375)))

    [view] = exhibits_of([OFFICIAL.to_plain(), table.to_plain()], everything=True)

    assert view.rows == (ClassValue("mean", 0.5), ClassValue("car", 0.25))
    assert view.total == 0.375
