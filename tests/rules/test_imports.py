from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.challenges.phase_rules import RuleChange, format_rule, parse_quota, rule_changes, unfair_changes
from app.core.names import check_name
from app.intake.importing import (
    NONE,
    TreeImport,
    changed_rules,
    new_rules,
    parse_date,
    warnings,
)
from app.models import Disclosure, Quota

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def request(**options: Any) -> TreeImport:
    return TreeImport(Path(), "VOC2007", "test", **options)


@pytest.mark.parametrize("name", ["VOC2007", "sample", "2012", "my_challenge-v2.1", "a" * 40])
def test_ordinary_names_can_be_used_in_urls(name: str) -> None:
    check_name(name, "challenge code")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "cannot be used in URLs"),
        ("../etc", "cannot be used in URLs"),
        ("a/b", "cannot be used in URLs"),
        ("a\\b", "cannot be used in URLs"),
        ("a..b", "cannot be used in URLs"),
        (".hidden", "cannot be used in URLs"),
        ("VOC 2007", "cannot be used in URLs"),
        ("VOC2007\n", "cannot be used in URLs"),
        ("é", "cannot be used in URLs"),
        ("a" * 41, "has 41 characters; at most 40 are allowed"),
        ("organise", "is reserved"),
        ("API", "is reserved"),
        ("results", "is reserved"),
    ],
)
def test_other_names_are_refused_with_a_reason(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_name(name, "challenge code")


@pytest.mark.parametrize("text", ["2027-01-31T12:00", "2027-01-31", "tomorrow", "2027-02-31T12:00Z"])
def test_a_date_needs_its_time_zone(text: str) -> None:
    with pytest.raises(ValueError, match="such as 2027-01-31T12:00Z"):
        parse_date(text)


def test_a_new_phase_is_held_out_with_a_quota_by_default() -> None:
    rules = new_rules(request(), NOW)

    assert (rules.disclosure, rules.quotas) == (Disclosure.CLASSES, (Quota(2, 7), Quota(30, 365)))
    assert (rules.opens_at, rules.closes_at, rules.grace) == (NOW, None, timedelta(hours=1))
    assert new_rules(request(disclosure=Disclosure.FULL), NOW).quotas == ()


def test_options_that_are_not_given_keep_their_values() -> None:
    rules = new_rules(request(quotas=(Quota(5, 7),), closes_in=30 * DAY, details_at_close=True), NOW)

    assert changed_rules(rules, request(), NOW + DAY) == rules
    assert changed_rules(rules, request(closes_at=NONE), NOW) == replace(rules, closes_at=None)


def test_changes_are_reported_with_old_and_new_values() -> None:
    before = new_rules(request(), NOW)
    after = changed_rules(
        before, request(quotas=(Quota(30, 30), Quota(5, 7)), closes_at=NOW + DAY, grace=timedelta(0)), NOW
    )

    assert rule_changes(before, after) == (
        RuleChange("closes_at", "none", "22 Nov 2026 12:00 UTC"),
        RuleChange("grace", "60 minutes", "0 minutes"),
        RuleChange("quotas", "2 in 7 days; 30 in 365 days", "5 in 7 days; 30 in 30 days"),
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"quotas": ()}, "a held-out phase needs a quota"),
        ({"closes_at": NOW - DAY}, r"would close \(20 Nov 2026 12:00 UTC\) before it opens"),
        ({"closes_at": NOW + DAY, "closes_in": DAY}, "not both"),
        ({"embargo": True}, "an embargo ends when the phase closes, so it needs a closing date"),
    ],
)
def test_rules_that_contradict_each_other_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        new_rules(request(**options), NOW)


def test_a_public_phase_that_becomes_held_out_gets_a_quota_and_a_warning() -> None:
    before = new_rules(request(disclosure=Disclosure.FULL), NOW)
    after = changed_rules(before, request(disclosure=Disclosure.CLASSES), NOW)

    assert after.quotas == (Quota(2, 7), Quota(30, 365))
    [warning] = warnings(before, after)
    assert "were public until now" in warning
    [warning] = warnings(after, before)
    assert "shown to everyone" in warning
    assert list(warnings(after, after)) == []
    assert list(warnings(after, replace(after, disclosure=Disclosure.MEAN))) == []


def test_an_embargo_cannot_change_once_there_are_results() -> None:
    before = new_rules(request(closes_in=DAY), NOW)
    after = changed_rules(before, request(embargo=True), NOW)

    assert after.embargo
    assert list(unfair_changes(before, after, NOW, has_results=False)) == []
    assert list(unfair_changes(after, after, NOW, has_results=True)) == []
    [problem] = unfair_changes(before, after, NOW, has_results=True)
    assert "its embargo cannot change" in problem.message


@pytest.mark.parametrize(("value", "words"), [(True, "yes"), (False, "no"), (2, "2"), ("voc2007", "voc2007")])
def test_rule_values_are_shown_in_words(value: object, words: str) -> None:
    assert format_rule(value) == words


def test_a_phase_that_discloses_at_its_close_needs_a_closing_date() -> None:
    with pytest.raises(ValueError, match="needs a closing date"):
        new_rules(request(disclosure=Disclosure.AT_CLOSE), NOW)
    assert new_rules(request(disclosure=Disclosure.AT_CLOSE, closes_in=DAY), NOW).closes_at == NOW + DAY


@pytest.mark.parametrize("text", ["", "two", "0/7", "2/0", "2/7/1", "-2", "2 per week", "2/all/7", "all"])
def test_a_malformed_quota_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="written as results/days"):
        parse_quota(text)
