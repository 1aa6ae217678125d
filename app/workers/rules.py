"""How often a page asks whether something has changed."""

from datetime import timedelta
from typing import Final

FAR: Final = 20  # runs before one's own, from which on nothing happens within seconds
PAUSES: Final = (  # for how long somebody has waited, and the seconds between two questions until then
    (timedelta(seconds=20), 1),
    (timedelta(minutes=2), 2),
    (timedelta(minutes=10), 5),
)
LONGEST_PAUSE: Final = 15


def pause_between_questions(waited: timedelta, place: int | None) -> int:
    """Seconds after which a page asks again: more of them the longer it has waited; place: in the queue, none for a run under way.

    >>> pause_between_questions(timedelta(seconds=5), 1), pause_between_questions(timedelta(hours=1), 1)
    (1, 15)
    """
    pause = next((seconds for end, seconds in PAUSES if waited < end), LONGEST_PAUSE)
    return max(pause, 5) if place is not None and place > FAR else pause
