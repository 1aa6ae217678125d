"""How runs end."""

from app.models import RunState

ENDED = (RunState.SCORED, RunState.REFUSED, RunState.FAILED)

STOPPED_MESSAGE = "scoring this archive was stopped: "
LOST_MESSAGE = "the worker stopped {losses} times while scoring this; this costs nothing, and organisers see it on their page"
FAILED_MESSAGE = (
    "scoring failed on our side {crashes} times; this costs nothing, and organisers see it on their page"
)
