"""The sentences of a challenge's rules say what each setting of a phase means."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.challenges.challenges import PhaseView
from app.challenges.disclosure import DISCLOSURE_LEVELS
from app.challenges.rules import RulesOfPhase, RulesView, rules_of
from app.models import Disclosure, Quota
from heldout_scoring import Limits
from tests.pages.views import PHASE, VAL

HELD_OUT = replace(
    PHASE,
    opens_at=datetime(2027, 1, 5, 9, 30, tzinfo=UTC),
    closes_at=datetime(2027, 2, 1, 12, tzinfo=UTC),
    grace=timedelta(hours=1),
    quotas=(Quota(2, 7), Quota(30, 365)),
)


def sentences(
    phase: Any = HELD_OUT, *, approves_teams: bool = False, most_members: int | None = None
) -> set[str]:
    return {
        sentence
        for rule in rules_of(phase, approves_teams=approves_teams, most_members=most_members)
        for sentence in rule.sentences
    }


CHANGES: list[tuple[dict[str, Any], str]] = [
    (
        {"opens_at": datetime(2027, 1, 6, 9, tzinfo=UTC)},
        "Results are accepted from Wed 6 Jan 2027 09:00 UTC until Mon 1 Feb 2027 12:00 UTC.",
    ),
    (
        {"closes_at": datetime(2027, 3, 1, tzinfo=UTC)},
        "Results are accepted from Tue 5 Jan 2027 09:30 UTC until Mon 1 Mar 2027 00:00 UTC.",
    ),
    (
        {"closes_at": None},
        "Results are accepted from Tue 5 Jan 2027 09:30 UTC. There is no closing date.",
    ),
    (
        {"grace": timedelta(minutes=90)},
        "An upload that was started before the close may finish and be submitted up to 1 hour 30 minutes later.",
    ),
    ({"grace": timedelta(0)}, "An upload has to be submitted before the close."),
    ({"quotas": ()}, "There is no limit."),
    (
        {"quotas": (Quota(1, 1),)},
        "The server scores at most 1 result in 1 day, per task.",
    ),
    ({"shares_quotas": True}, "Results in other phases with the same annotation count, too."),
    (
        {"disclosure": Disclosure.FULL},
        "A method may be submitted again, and its newest result in a competition replaces the one before.",
    ),
    (
        {"disclosure": Disclosure.FULL},
        "The annotation is public, so nothing of a score is hidden: lists round it to tenths of a percent, CSV and JSON have every digit.",
    ),
    (
        {"disclosure": Disclosure.MEAN},
        "The annotation is hidden: only the mean is shown, in tenths of a percent.",
    ),
    ({"disclosure": Disclosure.MEAN}, "Each class and the mean become public when the phase is over."),
    (
        {"disclosure": Disclosure.LADDER},
        DISCLOSURE_LEVELS[Disclosure.LADDER].rule,
    ),
    ({"disclosure": Disclosure.AT_CLOSE}, "The annotation is hidden: no scores are shown."),
    ({"disclosure": Disclosure.AT_CLOSE}, "There are no ranks until the phase is over."),
    ({"details_at_close": True}, "All details of them become public when the phase is over."),
    (
        {"details_at_close": True, "is_over": True},
        "The phase is over, and all details of its scores are shown.",
    ),
    ({"is_over": True}, "The phase is over: each class and the mean are shown, in tenths of a percent."),
    (
        {"only_complete": True},
        "Scores of classes are shown only for results with predictions for all of them.",
    ),
    (
        {"embargo": True},
        "Until the phase is over, a result is shown to its team and the organisers alone.",
    ),
    (
        {"shows_exposure": True},
        "The overview says how many bits of the hidden annotation any team can have learnt from its scores.",
    ),
]


@pytest.mark.parametrize(("setting", "sentence"), CHANGES)
def test_each_setting_of_a_phase_changes_its_sentence(setting: dict[str, Any], sentence: str) -> None:
    before, after = sentences(), sentences(replace(HELD_OUT, **setting))

    assert sentence in after
    assert sentence not in before


def test_a_limit_of_members_is_said_where_there_is_one() -> None:
    limit = "A team has at most 3 members."
    assert limit in sentences(most_members=3)
    assert not any("members" in each for each in sentences())


def test_a_challenge_that_approves_teams_says_so_where_annotation_is_hidden() -> None:
    approval = "A team may upload at once, and is scored as soon as the organisers have approved it."

    assert approval not in sentences()
    assert approval in sentences(approves_teams=True)
    assert approval not in sentences(replace(HELD_OUT, disclosure=Disclosure.FULL), approves_teams=True)


def test_a_held_out_phase_says_that_results_are_final_and_what_gives_a_place_back() -> None:
    found = sentences()

    assert "A method has one result in a competition. It is final: no later result replaces it." in found
    assert "Only results that revealed a score count. Uploads and checks are free." in found
    assert "Methods are ranked by their mean as it is shown; those with equal scores share a rank." in found


def test_nothing_is_said_to_become_public_of_a_phase_that_never_closes() -> None:
    endless = replace(HELD_OUT, closes_at=None, disclosure=Disclosure.MEAN)

    assert not [sentence for sentence in sentences(endless) if "become" in sentence]


def view_of(*phases: PhaseView) -> RulesView:
    """The rules of a challenge with these phases."""
    rules = (RulesOfPhase(each, rules_of(each), 1024, Limits()) for each in phases)
    return RulesView("a", "A", tuple(rules), "", None, None)


def test_what_image_sets_say_alike_is_said_once_and_names_them() -> None:
    rules = view_of(PHASE, VAL).compared

    [ranks] = rules["Ranks"].details
    assert (ranks.image_sets, len(ranks.sentences)) == ((), 2)
    assert [each.image_sets for each in rules["Quota"].details] == [(PHASE.image_set,), (VAL.image_set,)]
    assert {sentence for rule in rules.values() for each in rule.details for sentence in each.sentences} == (
        sentences(PHASE) | sentences(VAL)
    )


def test_a_date_of_a_table_breaks_only_between_its_two_ends() -> None:
    until = replace(PHASE, opens_at=datetime(2027, 1, 5, 9, 30, tzinfo=UTC))
    short = {
        end: next(rule.short for rule in rules_of(replace(until, closes_at=end)) if rule.title == "Dates")
        for end in (datetime(2027, 2, 1, 12, tzinfo=UTC), None)
    }

    assert [each.replace("\xa0", "_").split(" ") for each in short.values()] == [
        ["5_Jan_2027_09:30_UTC", "to_1_Feb_2027_12:00_UTC"],
        ["From_5_Jan_2027_09:30_UTC;", "no", "closing", "date"],
    ]


def test_the_summary_joins_image_sets_that_follow_each_other_with_the_same_rule() -> None:
    pilot = replace(HELD_OUT, image_set="pilot")
    summary = {rule.title: rule.shorts for rule in view_of(VAL, pilot, HELD_OUT).summary}

    assert len(summary) == 5
    assert [(each.image_sets, each.sentences, number) for each, number in summary["Who may submit"]] == [
        ((VAL.image_set,), ("Anyone with an account",), 1),
        (("pilot", HELD_OUT.image_set), ("Anyone with a confirmed e-mail address",), 2),
    ]
    [(alone, number)] = view_of(VAL).summary[0].shorts
    assert (alone.image_sets, number) == ((), 1)
