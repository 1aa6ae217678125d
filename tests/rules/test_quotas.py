"""How much of a quota is left, and when there will be more."""

from datetime import UTC, datetime, timedelta

import pytest

from app.challenges.phase_rules import HELD_OUT_QUOTAS
from app.core.errors import Refusal
from app.models import Quota, in_order
from app.submissions.quotas import (
    CountedResult,
    Holder,
    Usage,
    quota_line,
    quota_lines,
    quota_refusals,
    quota_text,
    slots_to_use,
)

NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
DAY = timedelta(days=1)
WEEK = Quota(2, 7)
YEAR = Quota(3, 365)


def result(
    age: float, task: str = "detection", *, is_teams: bool = True, is_persons: bool = True
) -> CountedResult:
    return CountedResult(task, NOW - age * DAY, is_teams, is_persons)


def refused(
    number: int, *counted: CountedResult, quotas: tuple[Quota, ...] = (WEEK,), task: str = "detection"
) -> list[Refusal]:
    return list(quota_refusals(NOW, quotas, {task: number}, Usage(counted)))


def test_the_third_result_of_a_week_is_refused_until_the_first_is_a_week_old() -> None:
    [refusal] = refused(1, result(2), result(6))

    assert refusal.message == (
        "2 of 2 detection results in 7 days are used; the next slot is free on Sun 22 Nov 2026 02:00 UTC"
    )
    assert refusal.retry_at == NOW + DAY


def test_a_slot_is_free_again_the_moment_its_window_ends() -> None:
    assert refused(1, result(2), result(7)) == []
    assert refused(1, result(2), result(6.999)) != []


def test_each_task_has_its_own_quota() -> None:
    assert refused(1, result(1), result(1), task="classification") == []


def test_every_full_window_is_a_reason_for_refusal() -> None:
    messages = [
        refusal.message for refusal in refused(1, result(1), result(2), result(200), quotas=(WEEK, YEAR))
    ]

    assert [message.split(";")[0] for message in messages] == [
        "2 of 2 detection results in 7 days are used",
        "3 of 3 detection results in 365 days are used",
    ]


def test_results_in_another_team_count_for_the_person_but_not_for_the_team() -> None:
    elsewhere = [result(1, is_teams=False), result(3, is_teams=False)]

    [refusal] = refused(1, *elsewhere)

    assert refusal.message.startswith(
        "2 of 2 detection results in 7 days are used by you, in this team or another;"
    )
    assert refusal.retry_at == NOW + 4 * DAY


def test_results_of_other_members_count_for_the_team() -> None:
    [refusal] = refused(1, result(1, is_persons=False), result(3, is_persons=False))

    assert "are used;" in refusal.message


def test_more_results_at_once_than_the_quota_are_never_accepted() -> None:
    [refusal] = refused(3)

    assert refusal.retry_at is None
    assert refusal.message.endswith("this archive has 3: score fewer competitions of this task at once")


def test_two_results_at_once_wait_until_two_slots_are_free() -> None:
    [refusal] = refused(2, result(2), result(6))

    assert refusal.retry_at == NOW + 5 * DAY


def test_the_tightest_window_of_team_or_person_decides_what_is_left() -> None:
    counted = [result(1, is_teams=False), result(100), result(200)]

    line = quota_line(NOW, (WEEK, YEAR), "detection", Usage(counted))

    assert line.left == 0
    assert (line.tightest.holder, line.tightest.quota) == (Holder.PERSON, YEAR)
    assert [(use.holder, use.quota, use.left) for use in line.windows] == [
        (Holder.PERSON, WEEK, 1),
        (Holder.PERSON, YEAR, 0),
    ]


@pytest.mark.parametrize(
    ("ages", "left", "days"),
    [((), 2, None), ((3,), 1, 4), ((3, 5), 0, 2), ((3, 5, 200), 0, 165), ((100, 200, 300), 0, 65)],
)
def test_the_next_slot_is_when_one_more_result_will_be_left(
    ages: tuple[int, ...], left: int, days: int | None
) -> None:
    line = quota_line(NOW, (WEEK, YEAR), "detection", Usage([result(age) for age in ages]))

    assert (line.left, line.next_slot) == (left, None if days is None else NOW + days * DAY)


def test_the_smaller_quota_of_a_longer_window_limits_what_is_left() -> None:
    line = quota_line(NOW, (Quota(5, 7), Quota(1, 365)), "detection", Usage([result(1, "layout")]))

    assert (line.left, line.next_slot) == (1, None)


def test_the_task_with_the_least_left_is_described_in_words() -> None:
    lines = quota_lines(NOW, (WEEK,), ("classification", "detection"), Usage([result(1)]))

    assert quota_text(lines) == "1 left of 2 detection results per 7 days"
    assert quota_lines(NOW, (), ("detection",), Usage([result(1)])) == ()
    assert quota_text(()) is None


def test_the_smaller_of_two_quotas_with_the_same_window_counts() -> None:
    assert in_order([Quota(30, 365), Quota(5, 7), Quota(2, 7)]) == HELD_OUT_QUOTAS


def test_additional_submissions_are_used_once_the_quota_is_full() -> None:
    usage = Usage([result(2)], {"detection": [7, 8]})

    def tried(number: int) -> tuple[int, object]:
        wanted = {"detection": number}
        refusals = list(quota_refusals(NOW, (WEEK,), wanted, usage))
        return len(refusals), slots_to_use(NOW, (WEEK,), wanted, usage)["detection"]

    assert [tried(number) for number in (1, 2, 3)] == [(0, []), (0, [7]), (0, [7, 8])]
    assert tried(4)[0] == 1
    line = quota_line(NOW, (WEEK,), "detection", usage)
    assert (line.left, line.extra) == (1, 2)
    assert quota_text((line,)) == "1 left of 2 detection results per 7 days, and 2 extra"
