"""What happens to a run when something goes wrong, and in what order runs are taken."""

from app.models import RunState

LIVE, SHADOW = 0, 10  # priorities: a re-scoring of ten thousand runs holds no participant up

ENDED = (RunState.SCORED, RunState.REFUSED, RunState.FAILED)

GAVE_UP = "scoring failed on our side {attempts} times; it costs nothing, the organisers have been told"


def after_failure(attempt: int, attempts: int) -> RunState:
    """Whether a run that failed on our side is tried again.

    >>> after_failure(1, 3).value, after_failure(3, 3).value
    ('queued', 'failed')
    """
    return RunState.FAILED if attempt >= attempts else RunState.QUEUED
