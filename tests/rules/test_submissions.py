"""Whether a submission is accepted."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from app.challenges.challenges import PhaseView
from app.challenges.phase_rules import PhaseState
from app.core.errors import (
    InvalidArchive,
    NameRetired,
    NotChecked,
    NotInArchive,
    OneResult,
    PhaseClosed,
    PhaseNotOpen,
    QuotaUsed,
    RefusedError,
    RemovedArchive,
)
from app.models import Disclosure, Quota, ResultState
from app.submissions.acceptance import Archive, PriorResult, Proposal, race_conflict, refusals
from app.submissions.methods import METHOD_NAME
from app.submissions.quotas import CountedResult, Usage

NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
USED = CountedResult("detection", NOW - DAY, is_teams=True, is_persons=True)


def phase(
    quotas: tuple[Quota, ...] = (), opens: datetime = NOW - 30 * DAY, closes: datetime | None = None
) -> PhaseView:
    view = PhaseView(
        id=1,
        challenge_id=1,
        challenge="VOC2012",
        challenge_title="VOC2012",
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
        quotas=quotas,
        state=PhaseState.OPEN,
    )
    return replace(view, state=view.state_at(NOW))


def archive(
    started: datetime = NOW, *, valid: bool | None = True, competitions: tuple[int, ...] = (3,)
) -> Archive:
    return Archive(started, valid, competitions)


def past(method: str, state: ResultState = ResultState.SCORED, competition: int = 3) -> PriorResult:
    return PriorResult(method, competition, state)


def proposal(method: str, competitions: list[int]) -> Proposal:
    return Proposal(method, competitions, {1: "classification", 3: "detection", 4: "detection"})


def codes(
    phase: PhaseView,
    archive: Archive,
    proposal: Proposal,
    prior: Sequence[PriorResult],
    used: Sequence[CountedResult] = (),
) -> list[str]:
    return [refusal.code for refusal in refusals(NOW, phase, archive, proposal, prior, Usage(used))]


def test_a_checked_archive_of_a_new_method_is_accepted_in_an_open_phase() -> None:
    assert codes(phase(), archive(), proposal("ash", [3]), []) == []


def test_an_archive_counts_towards_the_quota_of_each_task_but_a_baseline_does_not() -> None:
    limited, both = phase((Quota(1, 7),)), archive(competitions=(1, 3))

    assert codes(limited, both, proposal("ash", [1, 3]), [], [USED]) == [QuotaUsed.code]
    assert codes(limited, both, proposal("ash", [1]), [], [USED]) == []
    assert codes(limited, both, replace(proposal("ash", [1, 3]), is_baseline=True), [], [USED]) == []


def test_a_method_has_one_result_regardless_of_the_case_of_its_name() -> None:
    assert codes(phase(), archive(), proposal("ASH", [3]), [past("ash")]) == [OneResult.code]


def test_a_pending_result_counts_as_the_methods_one_result() -> None:
    assert codes(phase(), archive(), proposal("ash", [3]), [past("ash", ResultState.PENDING)]) == [
        OneResult.code
    ]


def test_a_method_whose_archive_was_refused_may_try_again() -> None:
    assert codes(phase(), archive(), proposal("ash", [3]), [past("ash", ResultState.REFUSED)]) == []


def test_a_method_may_enter_another_competition() -> None:
    assert codes(phase(), archive(competitions=(3, 4)), proposal("ash", [4]), [past("ash")]) == []


def test_the_name_of_a_withdrawn_method_stays_retired() -> None:
    assert codes(phase(), archive(), proposal("ash", [3]), [past("ash", ResultState.WITHDRAWN)]) == [
        NameRetired.code
    ]


def test_nothing_is_accepted_before_the_phase_opens() -> None:
    assert codes(phase(opens=NOW + MINUTE), archive(), proposal("ash", [3]), []) == [PhaseNotOpen.code]


def test_an_upload_started_in_time_may_be_confirmed_in_the_grace_period() -> None:
    closed = phase(closes=NOW - 30 * MINUTE)

    assert codes(closed, archive(started=NOW - 31 * MINUTE), proposal("ash", [3]), []) == []
    assert codes(closed, archive(started=NOW - 29 * MINUTE), proposal("ash", [3]), []) == [PhaseClosed.code]


def test_nothing_is_accepted_after_the_grace_period() -> None:
    closed = phase(closes=NOW - 61 * MINUTE)

    assert codes(closed, archive(started=NOW - 2 * DAY), proposal("ash", [3]), []) == [PhaseClosed.code]


def test_a_phase_is_closed_at_the_very_moment_of_its_deadline() -> None:
    assert codes(phase(closes=NOW), archive(started=NOW), proposal("ash", [3]), []) == [PhaseClosed.code]


def test_an_archive_that_has_been_removed_is_refused() -> None:
    removed = replace(archive(), is_removed=True)

    assert codes(phase(), removed, proposal("ash", [3]), []) == [RemovedArchive.code]


def test_an_archive_that_was_not_checked_or_has_problems_is_refused() -> None:
    assert codes(phase(), archive(valid=None), proposal("ash", [3]), []) == [NotChecked.code]
    assert codes(phase(), archive(valid=False), proposal("ash", [3]), []) == [InvalidArchive.code]


def test_a_competition_without_files_in_the_archive_is_refused() -> None:
    assert codes(phase(), archive(), proposal("ash", [4]), []) == [NotInArchive.code]
    assert codes(phase(), archive(competitions=()), proposal("ash", []), []) == [NotInArchive.code]


def test_all_reasons_are_given_at_once() -> None:
    found = codes(
        phase((Quota(1, 7),), closes=NOW), archive(valid=False), proposal("ash", [3]), [past("ash")], [USED]
    )

    assert set(found) == {PhaseClosed.code, InvalidArchive.code, OneResult.code, QuotaUsed.code}


def test_a_refusals_message_contains_every_reason() -> None:
    found = refusals(NOW, phase(closes=NOW), archive(valid=False), proposal("ash", [3]), [], Usage())

    message = str(RefusedError(found))

    assert all(refusal.message in message for refusal in found)


def test_a_confirmation_that_lost_a_race_is_refused_with_the_reason() -> None:
    for constraint in ("uq_result_one_result", "uq_result_one_pending", METHOD_NAME):
        assert isinstance(race_conflict(constraint), RefusedError)
    assert "at the same time" in str(race_conflict("submission_user_id_idempotency_key_key"))


OPEN = replace(phase(), disclosure=Disclosure.FULL)


def test_with_public_annotation_a_new_result_may_replace_a_scored_one() -> None:
    for state in (ResultState.SCORED, ResultState.WITHDRAWN, ResultState.REPLACED, ResultState.REFUSED):
        assert refusals(NOW, OPEN, archive(), proposal("Net", [3]), [past("Net", state)], Usage()) == []


def test_with_public_annotation_a_pending_result_cannot_be_replaced() -> None:
    [refusal] = refusals(
        NOW, OPEN, archive(), proposal("net", [3]), [past("Net", ResultState.PENDING)], Usage()
    )

    assert isinstance(refusal, OneResult)
    assert "not scored yet" in refusal.message


def test_nothing_is_accepted_in_an_archived_challenge_whatever_its_dates() -> None:
    archived = replace(phase(), archived_at=NOW - DAY)

    assert codes(archived, archive(), proposal("ash", [3]), []) == [PhaseClosed.code]
