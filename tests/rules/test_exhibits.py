"""What a reader sees of a report beside its scores."""

import scoring
from app.results.exhibits import ClassValue, CurveView, MatrixView, csv_of, exhibits_of

OFFICIAL = scoring.ScoreTable("Average precision", (("car", 0.61234), ("cat", None)))
BESIDE = scoring.ScoreTable(
    "Average precision, difficult objects included", (("car", 0.51234), ("cat", None), ("mean", 0.25678))
)


def test_tables_after_the_first_stand_beside_the_scores_with_their_mean() -> None:
    [view] = exhibits_of([scoring.to_plain(OFFICIAL), scoring.to_plain(BESIDE)])

    assert (view.kind, view.title, view.total) == ("score_table", BESIDE.title, 0.25678)
    assert view.rows == (ClassValue("car", 0.51234), ClassValue("cat", None, reason="no value"))


def test_a_confusion_matrix_has_the_share_of_each_count_in_its_row() -> None:
    matrix = scoring.to_plain(scoring.ConfusionMatrix(("background", "car"), ((3, 1), (0, 0))))

    [table] = exhibits_of([scoring.to_plain(OFFICIAL), matrix])
    [shown] = table.rows

    assert shown == MatrixView(("background", "car"), ((0.75, 0.25), (None, None)), ((3, 1), (0, 0)))


def test_a_class_may_be_called_mean() -> None:
    table = scoring.ScoreTable("…", (("mean", 0.5), ("car", 0.25), ("mean", 0.375)))

    [view] = exhibits_of([scoring.to_plain(OFFICIAL), scoring.to_plain(table)])

    assert view.rows == (ClassValue("mean", 0.5), ClassValue("car", 0.25))
    assert view.total == 0.375


def test_the_name_of_a_class_is_no_formula_in_the_table_of_its_curve() -> None:
    written = csv_of([CurveView("=1+1|cmd", (0.5,), (1.0,))])

    assert written.splitlines() == ["class,recall,precision", "'=1+1|cmd,0.5,1.0"]
