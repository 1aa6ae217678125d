"""Which results are steps of a ladder."""

from app.results.ladder import is_significant_gain


def test_a_step_beats_the_best_by_more_than_a_standard_error() -> None:
    assert is_significant_gain(0.61, 0.5, 0.1)
    assert not is_significant_gain(0.6, 0.5, 0.1)
    assert not is_significant_gain(0.4, 0.5, 0.0)


def test_the_same_predictions_again_are_not_a_step() -> None:
    assert not is_significant_gain(0.5, 0.5, 0.0)


def test_a_gain_with_an_unknown_error_is_not_a_step() -> None:
    assert not is_significant_gain(0.9, 0.5, None)
