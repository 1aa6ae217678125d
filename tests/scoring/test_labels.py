import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.data.predictions import ClassConfidences
from heldout_scoring.metrics.labels import (
    ClassLabels,
    Value,
    rank_by_confidence,
    ranked_average_precision,
    ranked_average_precision_11_points,
    roc_auc,
    with_difficult,
)
from heldout_scoring.metrics.ranking import ELEVEN_RECALLS
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.scores import draw_precision
from heldout_scoring.tasks.labels import ACTION, CLASSIFICATION
from tests.scoring import label_oracles, oracles

SUBJECTS = 12
label = st.sampled_from([1, -1, 0])
labels = st.lists(label, min_size=SUBJECTS, max_size=SUBJECTS)
confidences = st.one_of(st.sampled_from([0.0, -0.0, 0.5, 1.0]), st.floats(-2, 2))
lines = st.lists(st.tuples(st.integers(0, SUBJECTS - 1), confidences), max_size=30)
measures = pytest.mark.parametrize("measure", [ranked_average_precision, ranked_average_precision_11_points])


def predictions(found: list[tuple[int, float]]) -> ClassConfidences:
    return ClassConfidences(
        np.array([who for who, _ in found], np.int32), np.array([sure for _, sure in found], np.float64)
    )


def known(found: list[int], rows: list[int] | None = None) -> ClassLabels:
    """The labels of subjects; rows: the subjects that have one, in order."""
    chosen = np.array(range(SUBJECTS) if rows is None else rows, np.int32)
    return ClassLabels(SUBJECTS, chosen, chosen + 100, np.array(found, np.int8)[chosen])


def naive(
    found: list[tuple[int, float]], said: list[int], rows: list[int] | None = None
) -> list[tuple[str, float, int]]:
    chosen = range(SUBJECTS) if rows is None else rows
    return label_oracles.ranking(
        [(str(who), sure) for who, sure in found], {str(who): said[who] for who in chosen}
    )


@given(lines, labels, st.permutations(range(SUBJECTS)), st.integers(0, SUBJECTS))
def test_the_ranking_equals_that_of_a_plain_loop(
    found: list[tuple[int, float]], said: list[int], order: list[int], count: int
) -> None:
    rows = order[:count]

    ranked = rank_by_confidence("car", predictions(found), known(said, rows))

    expected = naive(found, said, rows)
    assert (ranked.image - 100).tolist() == [int(who) for who, _, _ in expected]
    assert ranked.confidence.tolist() == [sure for _, sure, _ in expected]
    assert ranked.outcomes.tolist() == [outcome for _, _, outcome in expected]
    assert ranked.positives == sum(said[who] == 1 for who in rows)


@given(lines, labels)
def test_both_measures_equal_plain_loops_to_the_last_bit(
    found: list[tuple[int, float]], said: list[int]
) -> None:
    ranked = rank_by_confidence("car", predictions(found), known(said))

    outcomes = [outcome for _, _, outcome in naive(found, said)]
    positives = said.count(1)
    area = oracles.area(outcomes, positives)
    value = ranked_average_precision(ranked)
    assert value == area or (math.isnan(value) and math.isnan(area))
    assert ranked_average_precision_11_points(ranked) == oracles.eleven(outcomes, positives, ELEVEN_RECALLS)


@given(st.lists(confidences, min_size=SUBJECTS, max_size=SUBJECTS), labels, st.permutations(range(SUBJECTS)))
def test_the_order_of_the_lines_changes_nothing(sure: list[float], said: list[int], order: list[int]) -> None:
    straight = rank_by_confidence("car", predictions(list(enumerate(sure))), known(said))
    mixed = rank_by_confidence("car", predictions([(who, sure[who]) for who in order]), known(said))

    assert straight.image.tolist() == mixed.image.tolist()
    assert straight.outcomes.tobytes() == mixed.outcomes.tobytes()


@measures
@given(found=lines, said=labels)
def test_a_value_is_between_0_and_1_or_is_nan(
    measure: Value, found: list[tuple[int, float]], said: list[int]
) -> None:
    value = measure(rank_by_confidence("car", predictions(found), known(said)))

    assert 0 <= value <= 1 or (math.isnan(value) and 1 not in said)


@measures
@given(said=labels.filter(lambda said: 1 in said))
def test_a_perfect_prediction_scores_1(measure: Value, said: list[int]) -> None:
    value = measure(
        rank_by_confidence("car", predictions([(w, float(x)) for w, x in enumerate(said)]), known(said))
    )

    assert value == pytest.approx(1, abs=1e-12)


@measures
@given(found=lines, said=labels.filter(lambda said: 1 in said))
def test_adding_a_negative_at_the_end_never_raises_the_score(
    measure: Value, found: list[tuple[int, float]], said: list[int]
) -> None:
    rows = list(range(SUBJECTS - 1))
    if 1 not in said[:-1]:
        return
    before = measure(rank_by_confidence("car", predictions(found), known(said, rows)))
    last = [(who, sure) for who, sure in found if who != SUBJECTS - 1]

    after = measure(rank_by_confidence("car", predictions(last), known([*said[:-1], -1])))

    assert after <= before


@given(lines, labels)
def test_nothing_is_ignored_once_difficult_images_are_included(
    found: list[tuple[int, float]], said: list[int]
) -> None:
    ranked = with_difficult(rank_by_confidence("car", predictions(found), known(said)))

    easy = rank_by_confidence(
        "car", predictions(found), known([abs(each) if each == 1 else each or 1 for each in said])
    )
    assert ranked.outcomes.tolist() == easy.outcomes.tolist()
    assert ranked.outcomes.dtype == np.int8
    assert ranked.positives == easy.positives


def test_each_years_protocol_uses_its_own_measure_of_rankings() -> None:
    measures: dict[Value, set[str]] = {}
    rows = [row for row in PROTOCOLS.values() if row.name not in {"coco", "lvis"}]
    for row in rows:
        assert row.rules_of(CLASSIFICATION) == row.rules_of(ACTION)
        measures.setdefault(row.rules_of(CLASSIFICATION).measure.of, set()).add(row.name[:7])

    assert measures == {
        roc_auc: {"voc2006"},
        ranked_average_precision_11_points: {"voc2007", "voc2008", "voc2009"},
        ranked_average_precision: {
            row.name[:7] for row in rows if row.name[:7] > "voc2009" or row.name[:3] != "voc"
        },
    }


def test_a_curve_has_an_outcome_for_each_row() -> None:
    ranked = rank_by_confidence("car", predictions([(2, 0.5)]), known([1, 0, -1] + [-1] * (SUBJECTS - 3)))

    curve = draw_precision(ranked)

    assert list(curve.outcomes) == [0, 1, 255] + [0] * (SUBJECTS - 3)
    assert curve.points().recall[-1] == 1
