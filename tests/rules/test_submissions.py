"""Whether a submission is taken."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from app.editions.rules import state_of
from app.editions.schemas import PhaseState, PhaseView
from app.models import Disclosure, EntryState
from app.submissions.rules import Archive, Past, RefusalCode, RefusedError, refusals

NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)


def phase(
    quota: int | None = None, opens: datetime = NOW - 30 * DAY, closes: datetime | None = None
) -> PhaseView:
    view = PhaseView(
        id=1,
        edition="VOC2012",
        edition_title="VOC2012",
        dataset="VOC2012",
        image_set="test",
        disclosure=Disclosure.ROUNDED,
        protocol="voc2012",
        description_key="",
        opens_at=opens,
        closes_at=closes,
        grace=timedelta(hours=1),
        quota=quota,
        quota_window=7 * DAY,
        state=PhaseState.OPEN,
    )
    return replace(view, state=state_of(view, NOW))


def archive(
    started: datetime = NOW, *, valid: bool | None = True, competitions: tuple[int, ...] = (3,)
) -> Archive:
    return Archive(started, valid, competitions)


def past(method: str, age: timedelta, state: EntryState = EntryState.SCORED, competition: int = 3) -> Past:
    return Past(method, competition, state, NOW - age)


def codes(*arguments: object) -> list[RefusalCode]:
    return [refusal.code for refusal in refusals(NOW, *arguments)]  # type: ignore[arg-type]


def test_a_checked_archive_of_a_new_method_is_taken_while_the_phase_is_open() -> None:
    assert codes(phase(), archive(), "ash", [3], []) == []


def test_the_third_submission_in_a_week_is_refused() -> None:
    before = [past("oak", 2 * DAY), past("elm", 6 * DAY)]

    [refusal] = refusals(NOW, phase(quota=2), archive(), "ash", [3], before)

    assert refusal.code is RefusalCode.QUOTA
    assert "2 of 2" in refusal.sentence
    assert "2026-11-22 02:00 UTC" in refusal.sentence


def test_what_was_refused_or_failed_costs_no_quota() -> None:
    before = [past("oak", DAY, EntryState.REFUSED), past("elm", DAY, EntryState.FAILED)]

    assert codes(phase(quota=1), archive(), "ash", [3], before) == []


def test_what_was_withdrawn_costs_quota_because_it_told_a_score() -> None:
    before = [past("oak", DAY, EntryState.WITHDRAWN)]

    assert codes(phase(quota=1), archive(), "ash", [3], before) == [RefusalCode.QUOTA]


def test_a_submission_older_than_the_window_costs_nothing_any_more() -> None:
    assert codes(phase(quota=1), archive(), "ash", [3], [past("oak", 7 * DAY)]) == []


def test_quota_is_counted_for_each_competition_alone() -> None:
    assert codes(phase(quota=1), archive(), "ash", [3], [past("oak", DAY, competition=4)]) == []


def test_a_method_has_one_result_whatever_the_case_of_its_name() -> None:
    assert codes(phase(), archive(), "ASH", [3], [past("ash", DAY)]) == [RefusalCode.ONE_RESULT]


def test_a_method_that_waits_for_its_score_has_its_one_result_already() -> None:
    assert codes(phase(), archive(), "ash", [3], [past("ash", MINUTE, EntryState.PENDING)]) == [
        RefusalCode.ONE_RESULT
    ]


def test_a_method_whose_archive_was_refused_may_try_again() -> None:
    assert codes(phase(), archive(), "ash", [3], [past("ash", DAY, EntryState.REFUSED)]) == []


def test_a_method_may_enter_another_competition() -> None:
    assert codes(phase(), archive(competitions=(3, 4)), "ash", [4], [past("ash", DAY)]) == []


def test_the_name_of_a_withdrawn_method_stays_burnt() -> None:
    assert codes(phase(), archive(), "ash", [3], [past("ash", DAY, EntryState.WITHDRAWN)]) == [
        RefusalCode.NAME_BURNT
    ]


def test_nothing_is_taken_before_the_phase_opens() -> None:
    assert codes(phase(opens=NOW + MINUTE), archive(), "ash", [3], []) == [RefusalCode.NOT_OPEN]


def test_an_upload_started_before_the_deadline_may_be_confirmed_within_the_grace() -> None:
    closed = phase(closes=NOW - 30 * MINUTE)

    assert codes(closed, archive(started=NOW - 31 * MINUTE), "ash", [3], []) == []
    assert codes(closed, archive(started=NOW - 29 * MINUTE), "ash", [3], []) == [RefusalCode.CLOSED]


def test_after_the_grace_nothing_is_taken() -> None:
    closed = phase(closes=NOW - 61 * MINUTE)

    assert codes(closed, archive(started=NOW - 2 * DAY), "ash", [3], []) == [RefusalCode.CLOSED]


def test_the_moment_of_closing_is_closed() -> None:
    assert codes(phase(closes=NOW), archive(started=NOW), "ash", [3], []) == [RefusalCode.CLOSED]


def test_an_archive_that_was_not_checked_or_has_problems_is_refused() -> None:
    assert codes(phase(), archive(valid=None), "ash", [3], []) == [RefusalCode.NOT_CHECKED]
    assert codes(phase(), archive(valid=False), "ash", [3], []) == [RefusalCode.INVALID]


def test_a_competition_without_files_in_the_archive_is_refused() -> None:
    assert codes(phase(), archive(), "ash", [4], []) == [RefusalCode.NOT_IN_ARCHIVE]
    assert codes(phase(), archive(competitions=()), "ash", [], []) == [RefusalCode.NOT_IN_ARCHIVE]


def test_all_reasons_are_told_at_once() -> None:
    found = codes(phase(quota=1, closes=NOW), archive(valid=False), "ash", [3], [past("ash", DAY)])

    assert set(found) == {RefusalCode.CLOSED, RefusalCode.INVALID, RefusalCode.ONE_RESULT, RefusalCode.QUOTA}


def test_a_refusal_says_every_reason_in_one_message() -> None:
    found = refusals(NOW, phase(closes=NOW), archive(valid=False), "ash", [3], [])

    message = str(RefusedError(found))

    assert all(refusal.sentence in message for refusal in found)
