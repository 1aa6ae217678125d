"""What a queued run waits for, in the order of what lasts longest."""

from datetime import UTC, datetime

import pytest

from app.jobs.places import Cause, Waiting, wait_of

AT = datetime(2027, 3, 31, 11, 58, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("waiting", "place", "seconds", "has_worker", "cause", "words"),
    [
        (Waiting("1", is_suspended=True, pause_reason="x"), None, None, True, Cause.SUSPENDED, "suspended"),
        (Waiting("1", pause_reason="A label."), None, None, False, Cause.PAUSED, "scoring: A label. It keeps"),
        (Waiting("1", damaged="ground truth"), None, None, False, Cause.DAMAGED, "ground truth damaged"),
        (Waiting("1"), 4, None, False, Cause.WORKER, "Number 4 in the queue. No worker is alive"),
        (Waiting("1"), None, None, False, Cause.WORKER, "No worker is alive"),
        (Waiting("1", retry_at=AT), 1, 60, True, Cause.RETRY, "tried again at 11:58 UTC"),
        (Waiting("1"), 1, 60, True, Cause.TURN, "Number 1 in the queue, where teams take turns; scored within a minute."),
        (Waiting("1"), 9, None, True, Cause.TURN, "Number 9 in the queue, where teams take turns."),
        (Waiting("1"), None, None, True, Cause.TURN, "In the queue."),
    ],
)  # fmt: skip
def test_everything_that_waits_says_what_it_waits_for(
    waiting: Waiting, place: int | None, seconds: int | None, *, has_worker: bool, cause: Cause, words: str
) -> None:
    found = wait_of(waiting, place, seconds, has_worker=has_worker)

    assert found.cause is cause
    assert words in found.text
