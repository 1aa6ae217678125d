"""How often a waiting page asks whether something has changed."""

from datetime import timedelta

import pytest

from app.jobs.places import poll_interval


@pytest.mark.parametrize(
    ("seconds", "place", "pause"),
    [
        (0, 1, 1),
        (19, None, 1),
        (20, 1, 2),
        (119, None, 2),
        (120, 3, 5),
        (600, 3, 15),
        (86_400, None, 15),
        (0, 20, 1),
        (0, 21, 5),
        (600, 500, 15),
        (-5, 1, 1),
    ],
)
def test_a_page_asks_less_often_the_longer_it_has_waited(seconds: int, place: int | None, pause: int) -> None:
    assert poll_interval(timedelta(seconds=seconds), place) == pause
