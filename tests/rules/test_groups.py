"""Which methods share a letter."""

import json

import numpy as np

from app.jobs import sandbox
from app.results.groups import letters_of, share_group, version_of
from heldout_scoring.statistics.bootstrap import Draws, Replicates, Setup


def test_a_digit_is_part_of_the_letter_before_it() -> None:
    assert letters_of("aZb12") == {"a", "Z", "b12"}
    assert not share_group("a", "a2")
    assert share_group("ab", "b")


def test_a_method_that_was_not_compared_shares_no_group() -> None:
    assert not share_group("", "a")
    assert not share_group("", "")


def test_the_version_depends_on_the_runs_but_not_their_order() -> None:
    assert version_of([1, 2]) == version_of([2, 1])
    assert version_of([1]) != version_of([1, 2])


def drawn(score: float | None, noise: float = 0.01, truth: str = "0f") -> bytes:
    """Replicates around a score, as they are stored."""
    values = np.full((1, 200), score or 0.0) + noise * np.sin(np.arange(200) * (1 + 50 * (score or 0)))
    setup = Setup("detection", "voc2012", truth)
    return Replicates(setup, Draws(9, 200), (), (score,), values).content


def test_methods_with_very_different_scores_have_different_letters() -> None:
    kept = ((11, drawn(0.5)), (12, drawn(0.501)), (13, drawn(0.9)))

    letters = json.loads(sandbox.groups(kept))["letters"]

    assert share_group(letters["11"], letters["12"])
    assert not share_group(letters["12"], letters["13"])


def test_runs_without_a_score_or_with_another_ground_truth_are_not_compared() -> None:
    kept = ((1, drawn(0.5)), (2, drawn(0.6)), (3, drawn(None)), (4, drawn(0.7, truth="other")))

    assert json.loads(sandbox.groups(kept))["letters"].keys() == {"1", "2"}
    assert json.loads(sandbox.groups(kept[2:3]))["letters"] == {}


def test_replicates_without_values_give_no_groups() -> None:
    kept = tuple((run, drawn(0.5, noise=np.nan)) for run in (1, 2))

    assert json.loads(sandbox.groups(kept)) == {"letters": {}, "family": {}}


def test_many_methods_are_tested_but_get_no_letters() -> None:
    kept = tuple((run, drawn(0.3 + run / 100)) for run in range(sandbox.MOST_LETTERED + 1))

    found = json.loads(sandbox.groups(kept))
    few = json.loads(sandbox.groups(kept[:-1]))

    assert (found["letters"], found["family"]["tests"]) == ({}, 210)
    assert len(few["letters"]) == sandbox.MOST_LETTERED
