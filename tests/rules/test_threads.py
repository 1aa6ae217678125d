"""When the next message to organisers is possible, and what a question may be about."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.challenges.answers import mentioned
from app.challenges.asking import NewAsking
from app.models import AskingPlace
from app.notifications.threads import LIMITS, NewThread, next_possible

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
MINUTES = st.lists(st.integers(0, 2000), max_size=35)


@given(MINUTES)
def test_the_next_message_is_possible_as_soon_as_every_window_has_room(minutes: list[int]) -> None:
    times = sorted((NOW - timedelta(minutes=each) for each in minutes), reverse=True)

    found = next_possible(times, NOW)

    if found is None:
        assert has_room(times, NOW)
    else:
        assert has_room(times, found[1])
        assert not has_room(times, found[1] - timedelta(microseconds=1))


def has_room(times: list[datetime], moment: datetime) -> bool:
    return all(sum(each > moment - limit.window for each in times) < limit.messages for limit in LIMITS)


def test_a_question_is_about_one_object() -> None:
    facts = {
        "title": "Why?",
        "text": "Why?",
        "upload": str(uuid.UUID(int=1)),
        "submission": "7",
        "image_set": "test",
    }

    with pytest.raises(ValidationError) as error:
        NewThread.model_validate(facts)

    assert [each["loc"] for each in error.value.errors()] == [("submission",), ("image_set",)]
    assert NewThread.model_validate(facts | {"upload": "", "image_set": ""}).about.submission == 7


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Why does FERN fail?", ("Fern",)),
        ("ferns and fernweh", ()),
        ("See https://voc.example/uploads/7-a, /threads/12", ("/uploads/7-a", "/threads/12")),
        ("a+b (c) is fine", ("a+b (c)",)),
    ],
)
def test_names_are_found_as_whole_words(text: str, found: tuple[str, ...]) -> None:
    assert mentioned([text], ["Fern", "a+b (c)"]) == found


def test_the_address_of_a_forum_is_stored_without_lookalike_letters() -> None:
    new = NewAsking(place=AskingPlace.FORUM, forum="https://\u0430sk.example/a b")

    assert new.forum == "https://xn--sk-6kc.example/a%20b"
    assert NewAsking(place=AskingPlace.HERE, forum="https://a.example").forum == ""
