"""What the page says before a submission cannot be undone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.challenges.challenges import PhaseView
from app.models import Disclosure, Quota
from app.submissions.consequences import consequences
from app.submissions.quotas import Holder, QuotaLine, QuotaUse
from tests.rules.test_submissions import phase

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HELD_OUT = replace(phase(), disclosure=Disclosure.CLASSES, quotas=(Quota(2, 7),))
FOUND = {"number": 3, "task": "detection", "missing": ["dog", "sheep"]}
LINE = QuotaLine("detection", 1, None, (QuotaUse(Holder.TEAM, Quota(2, 7), 1, NOW + timedelta(days=2)),), 0)


def say(
    phase: PhaseView,
    found: Sequence[Mapping[str, Any]],
    quota: Sequence[QuotaLine],
    *,
    is_public: bool = False,
) -> list[str]:
    """The sentences, with the day that one ends with."""
    said = consequences(phase, found, quota, NOW, is_public=is_public)
    return [f"{each.text} {each.at:%d %B}" if each.at else each.text for each in said]


def test_missing_classes_quota_finality_and_visibility_are_said() -> None:
    assert say(HELD_OUT, [FOUND], [LINE]) == [
        "No predictions for dog, sheep: these classes stay blank, and the method gets no mean and no rank.",
        "One final result per method: you cannot replace it later.",
        "Uses 1 of 2 detection results this week; none is left after it, and the next one is free 23 November",
        "You see each class and the mean in tenths of a percent.",
        "Only your team and the organisers see the result until you make the method public.",
        "You can cancel it at no cost until a worker starts it.",
    ]


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (
            QuotaUse(Holder.TEAM, Quota(3, 30), 1, NOW),
            "Uses 1 of 3 detection results in 30 days; 1 left after it.",
        ),
        (
            QuotaUse(Holder.TEAM, Quota(1, 7), 0, None),
            "Uses 1 of 1 detection results this week; none is left after it, and the next one is free 28 November",
        ),
        (
            QuotaUse(Holder.TEAM, Quota(1, 7), 1, NOW),
            "No detection result left this week; the next one is free 21 November",
        ),
    ],
)
def test_what_is_left_afterwards_is_said(used: QuotaUse, expected: str) -> None:
    assert expected in say(HELD_OUT, [FOUND], [QuotaLine("detection", used.left, None, (used,), 0)])


def test_a_public_method_is_seen_by_everybody_unless_there_is_an_embargo() -> None:
    secret = replace(HELD_OUT, embargo=True)

    assert "Everybody sees the method and its results. This cannot be undone." in say(
        HELD_OUT, [], (), is_public=True
    )
    assert "Others see the method and its results once the phase is over. This cannot be undone." in say(
        secret, [], (), is_public=True
    )


def test_each_competition_and_extra_slots_are_said() -> None:
    whole = {"number": 4, "task": "detection", "missing": []}
    many = FOUND | {"missing": [f"c{n}" for n in range(12)]}
    year = replace(LINE, uses=(QuotaUse(Holder.PERSON, Quota(30, 365), 30, None),), extra=2)

    said = " ".join(say(HELD_OUT, [many, whole], [year]))

    assert "Competition 3: no predictions for c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more:" in said
    assert "Competition 4: no" not in said
    assert "Uses 2 of 30 detection results in 365 days, and 2 extra; none is left after it" in said


@pytest.mark.parametrize("disclosure", Disclosure)
def test_every_policy_says_what_one_will_see(disclosure: Disclosure) -> None:
    said = " ".join(say(replace(HELD_OUT, disclosure=disclosure, quotas=()), [], ()))

    assert ("a newer one takes its place" in said) == (disclosure is Disclosure.FULL)
    assert "You see" in said
    assert "It costs no quota" in said
