from statistics import median

import pytest

from heldout_scoring.published import classification_of_2007, detection_of_2007


def test_the_classification_table_reproduces_the_medians_of_figure_7() -> None:
    table = classification_of_2007()
    medians = {
        name: median(value for value in row if value is not None)
        for name, row in zip(table.methods, table.values, strict=True)
    }

    best, *_, last = sorted(medians, key=lambda name: -medians[name])
    assert best == "INRIA_Genetic"
    assert last == "PRIPUVA"
    assert 100 * medians[best] == pytest.approx(57.5, abs=0.1)
    assert 100 * medians[last] == pytest.approx(21.1, abs=0.1)
    assert 100 * sorted(medians.values())[1] == pytest.approx(32.1, abs=0.1)


def test_the_classification_table_is_complete() -> None:
    table = classification_of_2007()

    assert (len(table.methods), len(table.classes)) == (17, 20)
    assert table.incomplete() == ()
    best = {name: max(row[place] or 0 for row in table.values) for place, name in enumerate(table.classes)}
    assert best["bottle"] == pytest.approx(0.331)
    assert best["person"] == pytest.approx(0.859)


def test_the_detection_table_has_gaps_where_a_class_was_not_entered() -> None:
    table = detection_of_2007()
    rows = dict(zip(table.methods, table.values, strict=True))

    assert (len(table.methods), len(table.classes)) == (9, 20)
    assert table.incomplete() == ("Darmstadt", "IRISA", "Oxford")
    assert [value for value in rows["Darmstadt"] if value is not None] == [0.301]
    assert rows["MPI_Center"][table.classes.index("bottle")] == 0.0
