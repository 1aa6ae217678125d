"""What a reader sees of a report besides its scores."""

import heldout_scoring
from app.results.exhibits import ClassValue, CurveView, MatrixView, csv_of, exhibits_of
from heldout_scoring.stored import to_plain

OFFICIAL = heldout_scoring.ScoreTable("Average precision", (("car", 0.61234), ("cat", None)))
BESIDE = heldout_scoring.ScoreTable(
    "Average precision, difficult objects included", (("car", 0.51234), ("cat", None), ("mean", 0.25678))
)


def test_further_score_tables_are_shown_with_their_mean() -> None:
    [view] = exhibits_of([to_plain(OFFICIAL), to_plain(BESIDE)])

    assert (view.kind, view.title, view.total) == ("score_table", BESIDE.title, 0.25678)
    assert view.rows == (ClassValue("car", 0.51234), ClassValue("cat", None, reason="no value"))


def test_a_confusion_matrix_shows_each_count_as_a_share_of_its_row() -> None:
    matrix = to_plain(heldout_scoring.ConfusionMatrix(("background", "car"), ((3, 1), (0, 0))))

    [table] = exhibits_of([to_plain(OFFICIAL), matrix])
    [shown] = table.rows

    assert shown == MatrixView(("background", "car"), ((0.75, 0.25), (None, None)), ((3, 1), (0, 0)))


def test_a_class_may_be_called_mean() -> None:
    table = heldout_scoring.ScoreTable("…", (("mean", 0.5), ("car", 0.25), ("mean", 0.375)))

    [view] = exhibits_of([to_plain(OFFICIAL), to_plain(table)])

    assert view.rows == (ClassValue("mean", 0.5), ClassValue("car", 0.25))
    assert view.total == 0.375


def test_a_class_name_is_not_a_formula_in_the_csv_of_its_curve() -> None:
    written = csv_of([CurveView("=1+1|cmd", (0.5,), (1.0,))])

    assert written.splitlines() == ["class,recall,precision", "'=1+1|cmd,0.5,1.0"]
