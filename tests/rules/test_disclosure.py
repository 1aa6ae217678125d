"""What readers see of results, depending on disclosure, reader and time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.challenges.challenges import PhaseView
from app.challenges.disclosure import (
    DisclosureChange,
    StoredScore,
    Use,
    Visibility,
    bits_at_most,
    bits_so_far,
    current_disclosure,
    disclosures_so_far,
    held_out_mean,
    held_out_value,
    most_bits,
    public_visibility,
    visibility_for,
    withheld,
)
from app.challenges.phase_rules import LEAST_FIRST, PhaseRules
from app.core.access import Actor
from app.models import Disclosure, Quota
from app.organising.disclosing import refusal_of
from heldout_scoring import ClassResult
from tests.pages.views import NOW, ORGANISER, PARTICIPANT, PHASE

SCORE = StoredScore(0.6484999, 0.6484999, None, low=0.6, high=0.7)
NO_OBJECT = StoredScore(None, 0.0, "there is no such object in the set")
NOT_ENTERED = StoredScore(None, None, "not entered")
BEST = StoredScore(0.7, 0.7, None)
HELD_OUT = [each for each in Disclosure if each is not Disclosure.FULL]


def phase(disclosure: Disclosure, **changes: object) -> PhaseView:
    return replace(PHASE, disclosure=disclosure, **changes)  # type: ignore[arg-type]  # any field


@pytest.mark.parametrize(
    ("disclosure", "mean", "value"),
    [
        (Disclosure.FULL, 0.6484999, 0.6484999),
        (Disclosure.CLASSES, 0.648, 0.648),
        (Disclosure.MEAN, 0.648, None),
        (Disclosure.LADDER, 0.7, None),
        (Disclosure.AT_CLOSE, None, None),
    ],
)
def test_each_disclosure_shows_only_its_own_values(
    disclosure: Disclosure, mean: float | None, value: float | None
) -> None:
    visibility = visibility_for(PARTICIPANT, phase(disclosure))

    assert visibility.mean(SCORE, BEST) == mean
    assert visibility.value(SCORE) == value
    assert visibility.details is (disclosure is Disclosure.FULL)
    assert visibility.interval(SCORE) == ((0.6, 0.7) if disclosure is Disclosure.FULL else (None, None))
    assert visibility.decimals == (None if disclosure is Disclosure.FULL else 3)


def test_the_ladder_shows_the_mean_of_a_result_that_is_a_step() -> None:
    assert public_visibility(phase(Disclosure.LADDER)).mean(SCORE) == 0.648


@pytest.mark.parametrize("disclosure", list(Disclosure))
def test_organisers_see_everything_and_are_told_what_the_public_does_not(disclosure: Disclosure) -> None:
    visibility = visibility_for(ORGANISER, phase(disclosure))

    assert (visibility.mean(SCORE, BEST), visibility.value(SCORE), visibility.details) == (
        0.6484999,
        0.6484999,
        True,
    )
    assert visibility.beyond_public is (disclosure is not Disclosure.FULL)


@pytest.mark.parametrize("disclosure", HELD_OUT)
def test_a_phase_that_is_over_shows_class_values_or_everything(disclosure: Disclosure) -> None:
    over = phase(disclosure, is_over=True)

    assert public_visibility(over) == Visibility(means=True, classes=True, details=False)
    assert public_visibility(replace(over, details_at_close=True)).details
    assert not visibility_for(ORGANISER, replace(over, details_at_close=True)).beyond_public
    assert not public_visibility(phase(disclosure, details_at_close=True)).details


def test_a_class_without_objects_in_hidden_ground_truth_shows_as_zero() -> None:
    visibility = public_visibility(phase(Disclosure.CLASSES))

    assert (visibility.value(NO_OBJECT), visibility.reason(NO_OBJECT)) == (0.0, None)
    assert (visibility.value(NOT_ENTERED), visibility.reason(NOT_ENTERED)) == (None, "not entered")
    everything = visibility_for(ORGANISER, phase(Disclosure.CLASSES))
    assert (everything.value(NO_OBJECT), everything.reason(NO_OBJECT)) == (None, NO_OBJECT.reason)


def test_a_mean_undefined_by_the_ground_truth_is_the_mean_of_the_shown_values() -> None:
    cat, dog = ClassResult("cat", 0.5, None, 1, 1), ClassResult("dog", None, NO_OBJECT.reason, 0, 3)

    assert held_out_mean(0.4, [cat]) == 0.4
    assert held_out_mean(None, [cat, dog]) == 0.25
    assert held_out_mean(None, []) == 0.0
    assert held_out_mean(None, [cat, ClassResult.not_entered("dog", 2)]) is None


def test_no_wording_of_a_reason_decides_what_is_shown() -> None:
    visibility = public_visibility(phase(Disclosure.CLASSES))
    swapped = (replace(NO_OBJECT, reason="not entered: cat"), replace(NOT_ENTERED, reason="no such object"))
    reasons = (
        ClassResult("cat", None, "not entered", 0, 3),
        replace(ClassResult.not_entered("cat", 2), reason="…"),
    )

    assert [visibility.reason(each) for each in swapped] == [None, "no such object"]
    assert [held_out_value(each) for each in reasons] == [0.0, None]


def test_a_phase_can_hide_the_class_values_of_incomplete_results() -> None:
    strict = phase(Disclosure.CLASSES, only_complete=True)
    visibility = public_visibility(strict)

    assert visibility.of_result(is_complete=False).value(SCORE) is None
    assert visibility.of_result(is_complete=False).mean(SCORE) == 0.648
    assert visibility.of_result(is_complete=True).value(SCORE) == 0.648
    assert public_visibility(phase(Disclosure.CLASSES)).of_result(is_complete=False).value(SCORE) == 0.648
    assert visibility_for(ORGANISER, strict).of_result(is_complete=False).value(SCORE) == SCORE.value
    over = public_visibility(replace(strict, is_over=True))
    assert over.of_result(is_complete=False).value(SCORE) == 0.648


def test_times_of_a_held_out_phase_are_shown_to_the_minute() -> None:
    moment = datetime(2026, 11, 21, 9, 30, 59, 7, tzinfo=UTC)

    assert public_visibility(phase(Disclosure.MEAN)).moment(moment) == moment.replace(second=0, microsecond=0)
    assert visibility_for(ORGANISER, phase(Disclosure.MEAN)).moment(moment) == moment
    assert public_visibility(phase(Disclosure.FULL)).moment(moment) == moment


def test_a_result_without_a_score_row_has_no_mean() -> None:
    assert public_visibility(phase(Disclosure.FULL)).mean(None) is None


@pytest.mark.parametrize("disclosure", HELD_OUT)
def test_a_page_says_what_is_withheld_and_why(disclosure: Disclosure) -> None:
    chosen = phase(disclosure)
    text = withheld(chosen, visibility_for(Actor(), chosen)) or ""

    assert "hidden" in text
    assert "because the annotation of test is held out" in text
    assert withheld(chosen, visibility_for(ORGANISER, chosen)) is None


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        ({}, "is held out"),
        ({"details_at_close": True}, "; all details of the scores become public when the phase is over"),
        ({"details_at_close": True, "closes_at": None}, "is held out"),
        ({"disclosure": Disclosure.MEAN}, "; the values of classes become public when the phase is over"),
        ({"disclosure": Disclosure.MEAN, "is_over": True}, "is held out"),
    ],
)
def test_a_page_says_until_when_values_are_withheld(changes: dict[str, object], ending: str) -> None:
    chosen = replace(PHASE, **changes)  # type: ignore[arg-type]  # any field

    assert (withheld(chosen, public_visibility(chosen)) or "").endswith(ending)


def test_an_incomplete_result_says_that_its_class_values_are_hidden() -> None:
    strict = phase(Disclosure.CLASSES, only_complete=True, closes_at=NOW)

    assert "not complete" in (withheld(strict, public_visibility(strict), is_complete=False) or "")
    assert "not complete" not in (withheld(strict, public_visibility(strict)) or "")


def terms(
    disclosure: Disclosure, *, closes_at: datetime | None = NOW, only_complete: bool = False
) -> PhaseRules:
    return PhaseRules(
        opens_at=NOW - timedelta(days=1),
        closes_at=closes_at,
        quotas=(Quota(2, 7),),
        disclosure=disclosure,
        only_complete=only_complete,
    )


@pytest.mark.parametrize("before", list(Disclosure))
@pytest.mark.parametrize("after", list(Disclosure))
def test_with_results_a_disclosure_may_only_become_stricter_or_full(
    before: Disclosure, after: Disclosure
) -> None:
    refusal = refusal_of(terms(before), terms(after), NOW, has_results=True)

    allowed = after is Disclosure.FULL or LEAST_FIRST.index(after) <= LEAST_FIRST.index(before)
    assert (refusal is None) is allowed


def test_a_phase_may_disclose_more_if_it_is_over_or_has_no_results() -> None:
    before, after = terms(Disclosure.AT_CLOSE), terms(Disclosure.CLASSES)

    assert refusal_of(before, after, NOW, has_results=False) is None
    assert refusal_of(before, after, NOW + timedelta(hours=1), has_results=True) is None


def test_disclosing_at_the_close_needs_a_closing_date() -> None:
    before, after = (terms(each, closes_at=None) for each in (Disclosure.MEAN, Disclosure.AT_CLOSE))

    assert "closing date" in (refusal_of(before, after, NOW, has_results=True) or "")


def test_classes_of_incomplete_results_stay_hidden_once_there_are_results() -> None:
    strict, usual = (terms(Disclosure.CLASSES, only_complete=each) for each in (True, False))

    assert "stricter" in (refusal_of(strict, usual, NOW, has_results=True) or "")
    assert refusal_of(usual, strict, NOW, has_results=True) is None


def test_the_rows_of_a_phase_that_becomes_public_are_not_frozen() -> None:
    frozen = replace(terms(Disclosure.CLASSES), frozen_from=NOW - timedelta(hours=1))
    public = replace(frozen, disclosure=Disclosure.FULL)

    assert "held-out phases only" in (refusal_of(frozen, public, NOW, has_results=True) or "")
    assert refusal_of(frozen, public, NOW + timedelta(hours=1), has_results=True) is None


@pytest.mark.parametrize(
    ("disclosure", "bits"),
    [
        (Disclosure.FULL, None),
        (Disclosure.CLASSES, 401),
        (Disclosure.MEAN, 20),
        (Disclosure.LADDER, 12),
        (Disclosure.AT_CLOSE, 0),
    ],
)
def test_disclosed_values_carry_a_bounded_number_of_bits(disclosure: Disclosure, bits: int | None) -> None:
    found = bits_at_most(disclosure, Use(results=2, values=40, steps=1))

    assert (found if found is None else round(found)) == bits


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ({}, Disclosure.MEAN),
        ({"is_over": True}, Disclosure.CLASSES),
        ({"is_over": True, "details_at_close": True}, Disclosure.FULL),
    ],
)
def test_more_is_disclosed_once_a_phase_is_over(changes: dict[str, object], row: Disclosure) -> None:
    assert (
        current_disclosure(phase(Disclosure.MEAN, **{"details_at_close": False, "is_over": False} | changes))
        is row
    )


CLOSES = datetime(2026, 11, 1, tzinfo=UTC)
OPEN, OVER = CLOSES - timedelta(days=9), CLOSES + timedelta(days=9)


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        ([], {Disclosure.MEAN}),
        ([DisclosureChange(OPEN, Disclosure.CLASSES, None)], {Disclosure.MEAN, Disclosure.CLASSES}),
        (
            [DisclosureChange(OPEN, Disclosure.LADDER, None), DisclosureChange(OPEN, Disclosure.FULL, None)],
            {Disclosure.MEAN, Disclosure.LADDER, Disclosure.FULL},
        ),
        ([DisclosureChange(OPEN, None, True)], {Disclosure.MEAN}),
        ([DisclosureChange(OVER, None, True)], {Disclosure.MEAN, Disclosure.FULL}),
        ([DisclosureChange(OVER, None, None)], {Disclosure.MEAN, Disclosure.CLASSES}),
    ],
)
def test_values_disclosed_before_a_change_stay_disclosed(
    changes: list[DisclosureChange], rows: set[Disclosure]
) -> None:
    now = phase(Disclosure.MEAN, details_at_close=False, is_over=False, closes_at=CLOSES)

    assert disclosures_so_far(now, changes) == rows


def test_a_stricter_disclosure_does_not_reduce_the_bits_already_disclosed() -> None:
    use = Use(results=2, values=40, steps=1)

    assert bits_so_far({Disclosure.MEAN, Disclosure.CLASSES}, use) == bits_at_most(Disclosure.CLASSES, use)
    assert bits_so_far({Disclosure.MEAN, Disclosure.FULL}, use) is None


@pytest.mark.parametrize(
    ("disclosure", "results", "bits"),
    [
        (Disclosure.FULL, (3,), None),
        (Disclosure.MEAN, (), 0),
        (Disclosure.MEAN, (1, 3), 30),
        (Disclosure.MEAN, (500, 499), 5000),
        (Disclosure.AT_CLOSE, (3,), 0),
    ],
)
def test_the_most_that_a_team_can_have_learnt_has_two_significant_digits(
    disclosure: Disclosure, results: tuple[int, ...], bits: int | None
) -> None:
    assert most_bits({disclosure}, [Use(each, 0, 0) for each in results]) == bits
