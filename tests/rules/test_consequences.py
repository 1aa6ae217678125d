"""What the page says before a submission cannot be undone."""

from dataclasses import replace

import pytest

from app.models import Disclosure, Quota
from app.submissions.consequences import consequences
from app.submissions.quotas import Holder, QuotaLine, QuotaUse
from tests.rules.test_submissions import phase

HELD_OUT = replace(phase(), disclosure=Disclosure.CLASSES)
FOUND = {"number": 3, "task": "detection", "missing": ["dog", "sheep"]}
LINE = QuotaLine("detection", 1, None, (QuotaUse(Holder.TEAM, Quota(2, 7), 1, None),), 0)


def test_missing_classes_quota_and_finality_are_said() -> None:
    said = consequences(HELD_OUT, [FOUND], [LINE])

    assert said[:3] == (
        "No predictions for dog, sheep: these classes stay blank, and the method gets no mean and no rank.",
        "This phase takes one result per method. It is final: no later upload replaces it.",
        "Uses 1 of 2 detection results this week; 1 left.",
    )


def test_each_competition_and_extra_slots_are_said() -> None:
    whole = {"number": 4, "task": "detection", "missing": []}
    many = FOUND | {"missing": [f"c{n}" for n in range(12)]}
    year = replace(LINE, uses=(QuotaUse(Holder.PERSON, Quota(30, 365), 30, None),), extra=2)

    said = " ".join(consequences(HELD_OUT, [many, whole], [year]))

    assert "Competition 3: no predictions for c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more:" in said
    assert "Competition 4: no" not in said
    assert "Uses 2 of 30 detection results in 365 days; 0 left, and 2 extra." in said


@pytest.mark.parametrize("disclosure", Disclosure)
def test_every_policy_says_what_one_will_see(disclosure: Disclosure) -> None:
    said = " ".join(consequences(replace(HELD_OUT, disclosure=disclosure), [], ()))

    assert ("a newer one takes its place" in said) == (disclosure is Disclosure.FULL)
    assert "You see" in said
    assert "It costs no quota" in said
