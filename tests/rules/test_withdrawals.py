"""Who may withdraw a result, and the least that an archive can be scored in."""

from datetime import UTC, datetime

import pytest

from app.core.errors import ConflictError, ForbiddenError, MalformedError
from app.models import ResultState
from app.results.withdrawing import withdrawal_refusal
from app.submissions.acceptance import Archive, smallest_proposal

TASKS = {1: "classification", 2: "classification", 3: "detection", 4: "detection"}
NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize("state", [ResultState.PENDING, ResultState.SCORED])
def test_a_team_may_withdraw_a_private_result_without_a_reason(state: ResultState) -> None:
    assert withdrawal_refusal(state, is_organiser=False, is_public=False, reason=None) is None


def test_an_organiser_may_withdraw_a_public_result_with_a_reason() -> None:
    assert (
        withdrawal_refusal(ResultState.SCORED, is_organiser=True, is_public=True, reason="wrong team") is None
    )


@pytest.mark.parametrize(
    ("state", "is_organiser", "is_public", "error", "words"),
    [
        (ResultState.WITHDRAWN, True, False, ConflictError, "already been withdrawn"),
        (ResultState.REFUSED, False, False, ConflictError, "its state is refused"),
        (ResultState.FAILED, True, True, ConflictError, "its state is failed"),
        (ResultState.SCORED, True, True, MalformedError, "Give a reason"),
        (ResultState.SCORED, False, True, ForbiddenError, "ask an organiser"),
    ],
)
def test_a_refused_withdrawal_says_why(
    state: ResultState, *, is_organiser: bool, is_public: bool, error: type[Exception], words: str
) -> None:
    refusal = withdrawal_refusal(state, is_organiser=is_organiser, is_public=is_public, reason=None)

    assert isinstance(refusal, error)
    assert words in str(refusal)


@pytest.mark.parametrize(("numbers", "expected"), [((1, 2, 3, 4), [1, 3]), ((2, 4), [2, 4]), ((4,), [4])])
def test_the_smallest_proposal_has_one_competition_of_each_task(
    numbers: tuple[int, ...], expected: list[int]
) -> None:
    assert list(smallest_proposal(Archive(NOW, True, numbers), TASKS).competitions) == expected
