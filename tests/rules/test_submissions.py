"""Whether a submission is taken."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from app.editions.rules import state_of
from app.editions.schemas import PhaseState, PhaseView
from app.models import Disclosure, EntryState
from app.refusals import RefusalCode, RefusedError
from app.submissions.rules import (
    Archive,
    PriorEntry,
    Proposal,
    quota_lines,
    quota_text,
    race_conflict,
    refusals,
)

NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)


def phase(
    quota: int | None = None, opens: datetime = NOW - 30 * DAY, closes: datetime | None = None
) -> PhaseView:
    view = PhaseView(
        id=1,
        edition_id=1,
        edition="VOC2012",
        edition_title="VOC2012",
        dataset="VOC2012",
        image_set="test",
        disclosure=Disclosure.CLASSES,
        details_at_close=False,
        only_complete=False,
        is_over=False,
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


def past(
    method: str, age: timedelta, state: EntryState = EntryState.SCORED, competition: int = 3
) -> PriorEntry:
    return PriorEntry(method, competition, state, NOW - age)


def proposal(method: str, competitions: list[int]) -> Proposal:
    return Proposal(method, competitions, {1: "classification", 3: "detection", 4: "detection"})


def codes(*arguments: object) -> list[RefusalCode]:
    return [refusal.code for refusal in refusals(NOW, *arguments)]  # type: ignore[arg-type]


def test_a_checked_archive_of_a_new_method_is_taken_while_the_phase_is_open() -> None:
    assert codes(phase(), archive(), proposal("ash", [3]), []) == []


def test_the_third_submission_in_a_week_is_refused() -> None:
    before = [past("oak", 2 * DAY), past("elm", 6 * DAY)]

    [refusal] = refusals(NOW, phase(quota=2), archive(), proposal("ash", [3]), before)

    assert refusal.code is RefusalCode.QUOTA
    assert "2 of 2" in refusal.message
    assert "2026-11-22 02:00 UTC" in refusal.message


def test_what_was_refused_or_failed_costs_no_quota() -> None:
    before = [past("oak", DAY, EntryState.REFUSED), past("elm", DAY, EntryState.FAILED)]

    assert codes(phase(quota=1), archive(), proposal("ash", [3]), before) == []


def test_what_was_withdrawn_costs_quota_because_it_revealed_a_score() -> None:
    before = [past("oak", DAY, EntryState.WITHDRAWN)]

    assert codes(phase(quota=1), archive(), proposal("ash", [3]), before) == [RefusalCode.QUOTA]


def test_a_submission_older_than_the_window_costs_nothing_any_more() -> None:
    assert codes(phase(quota=1), archive(), proposal("ash", [3]), [past("oak", 7 * DAY)]) == []


def test_competitions_of_one_task_are_counted_together_because_they_share_their_annotation() -> None:
    before = [past("oak", DAY, competition=4)]

    assert codes(phase(quota=1), archive(), proposal("ash", [3]), before) == [RefusalCode.QUOTA]
    assert codes(phase(quota=1), archive(competitions=(1,)), proposal("ash", [1]), before) == []


def test_an_archive_with_more_results_of_a_task_than_the_quota_is_never_accepted_whole() -> None:
    both = archive(competitions=(3, 4))

    [refusal] = refusals(NOW, phase(quota=1), both, proposal("ash", [3, 4]), [])

    assert (refusal.code, refusal.retry_at) == (RefusalCode.QUOTA, None)
    assert "this archive has 2" in refusal.message


def test_two_results_at_once_wait_until_two_slots_are_free() -> None:
    both = archive(competitions=(3, 4))
    before = [past("oak", 2 * DAY), past("elm", 6 * DAY)]

    [refusal] = refusals(NOW, phase(quota=2), both, proposal("ash", [3, 4]), before)

    assert refusal.retry_at == NOW + 5 * DAY


def test_the_quota_that_is_shown_is_that_of_the_fullest_task_of_the_archive() -> None:
    tasks = {1: "classification", 3: "detection", 4: "detection"}
    before = [past("oak", DAY, competition=4)]

    assert quota_text(NOW, phase(), archive(), tasks, before) is None
    assert quota_text(NOW, phase(quota=2), archive(competitions=(1, 3)), tasks, before) == (
        "1 of 2 results per task left in 7 days"
    )
    assert quota_text(NOW, phase(quota=2), archive(competitions=(1,)), tasks, before) == (
        "2 of 2 results per task left in 7 days"
    )


def test_baselines_of_organisers_have_no_quota() -> None:
    baseline = replace(proposal("ash", [3]), is_baseline=True)

    assert codes(phase(quota=1), archive(), baseline, [past("oak", DAY)]) == []


def test_a_method_has_one_result_whatever_the_case_of_its_name() -> None:
    assert codes(phase(), archive(), proposal("ASH", [3]), [past("ash", DAY)]) == [RefusalCode.ONE_RESULT]


def test_a_method_that_waits_for_its_score_has_its_one_result_already() -> None:
    assert codes(phase(), archive(), proposal("ash", [3]), [past("ash", MINUTE, EntryState.PENDING)]) == [
        RefusalCode.ONE_RESULT
    ]


def test_a_method_whose_archive_was_refused_may_try_again() -> None:
    assert codes(phase(), archive(), proposal("ash", [3]), [past("ash", DAY, EntryState.REFUSED)]) == []


def test_a_method_may_enter_another_competition() -> None:
    assert codes(phase(), archive(competitions=(3, 4)), proposal("ash", [4]), [past("ash", DAY)]) == []


def test_the_name_of_a_withdrawn_method_stays_retired() -> None:
    assert codes(phase(), archive(), proposal("ash", [3]), [past("ash", DAY, EntryState.WITHDRAWN)]) == [
        RefusalCode.NAME_RETIRED
    ]


def test_nothing_is_taken_before_the_phase_opens() -> None:
    assert codes(phase(opens=NOW + MINUTE), archive(), proposal("ash", [3]), []) == [RefusalCode.NOT_OPEN]


def test_an_upload_started_before_the_deadline_may_be_confirmed_within_the_grace() -> None:
    closed = phase(closes=NOW - 30 * MINUTE)

    assert codes(closed, archive(started=NOW - 31 * MINUTE), proposal("ash", [3]), []) == []
    assert codes(closed, archive(started=NOW - 29 * MINUTE), proposal("ash", [3]), []) == [RefusalCode.CLOSED]


def test_after_the_grace_nothing_is_taken() -> None:
    closed = phase(closes=NOW - 61 * MINUTE)

    assert codes(closed, archive(started=NOW - 2 * DAY), proposal("ash", [3]), []) == [RefusalCode.CLOSED]


def test_the_moment_of_closing_is_closed() -> None:
    assert codes(phase(closes=NOW), archive(started=NOW), proposal("ash", [3]), []) == [RefusalCode.CLOSED]


def test_an_archive_that_has_been_removed_is_refused() -> None:
    removed = replace(archive(), is_removed=True)

    assert codes(phase(), removed, proposal("ash", [3]), []) == [RefusalCode.REMOVED]


def test_the_quota_that_is_left_is_shown_for_each_task() -> None:
    tasks = {1: "classification", 3: "detection", 4: "detection"}
    prior = [past("oak", 2 * DAY), past("elm", 6 * DAY, competition=4)]

    classification, detection = quota_lines(NOW, phase(quota=2), tasks, prior)

    assert (classification.left, classification.next_free) == (2, None)
    assert (detection.left, detection.next_free) == (0, NOW + DAY)
    assert quota_lines(NOW, phase(), tasks, prior) == ()


def test_an_archive_that_was_not_checked_or_has_problems_is_refused() -> None:
    assert codes(phase(), archive(valid=None), proposal("ash", [3]), []) == [RefusalCode.NOT_CHECKED]
    assert codes(phase(), archive(valid=False), proposal("ash", [3]), []) == [RefusalCode.INVALID]


def test_a_competition_without_files_in_the_archive_is_refused() -> None:
    assert codes(phase(), archive(), proposal("ash", [4]), []) == [RefusalCode.NOT_IN_ARCHIVE]
    assert codes(phase(), archive(competitions=()), proposal("ash", []), []) == [RefusalCode.NOT_IN_ARCHIVE]


def test_all_reasons_are_given_at_once() -> None:
    found = codes(phase(quota=1, closes=NOW), archive(valid=False), proposal("ash", [3]), [past("ash", DAY)])

    assert set(found) == {RefusalCode.CLOSED, RefusalCode.INVALID, RefusalCode.ONE_RESULT, RefusalCode.QUOTA}


def test_a_refusal_says_every_reason_in_one_message() -> None:
    found = refusals(NOW, phase(closes=NOW), archive(valid=False), proposal("ash", [3]), [])

    message = str(RefusedError(found))

    assert all(refusal.message in message for refusal in found)


def test_a_confirmation_that_lost_a_race_says_what_it_lost() -> None:
    assert isinstance(race_conflict("uq_entry_one_result"), RefusedError)
    assert "at the same time" in str(race_conflict("submission_user_id_idempotency_key_key"))
