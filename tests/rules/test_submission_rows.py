"""Rows of "My submissions"."""

from dataclasses import replace
from datetime import UTC, datetime

from app.models import ResultState, RunState
from app.results.submissions import QuotaEffect, SubmissionRow, by_method

ROW = SubmissionRow(
    9, "VOC2007", "val", 3, "Elm", datetime(2026, 11, 25, tzinfo=UTC), ResultState.SCORED, RunState.SCORED,
    None, 0.5, None, method_id=4,
)  # fmt: skip


def test_the_results_of_a_method_stand_together_and_the_newest_method_first() -> None:
    newest, other, older = (
        ROW,
        replace(ROW, submission=8, method="Oak", method_id=5),
        replace(ROW, submission=7),
    )

    assert by_method([newest, other, older]) == ((newest, older), (other,))


def test_a_result_that_was_cancelled_is_shown_as_such_and_not_as_abandoned() -> None:
    cancelled = replace(
        ROW, state=ResultState.WITHDRAWN, run_state=RunState.ABANDONED, quota=QuotaEffect.CANCELLED
    )

    assert cancelled.shown_state == "cancelled"
