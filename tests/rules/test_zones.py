"""Times in forms: the moment that is meant by a date, a time and a zone."""

from datetime import UTC, datetime

import pytest
from pydantic import BaseModel, ValidationError

from app.challenges.file_changes import FileFacts
from app.intake.applying import Application
from app.operations.notices import NewNotice
from app.organising.draft_rules import RulesChoice
from app.organising.phases import NewRules
from app.submissions.quotas import NewSlots
from app.web.zones import aoe, moments_of, parse_moment


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2027-03-31T23:59", "UTC", "2027-03-31T23:59"),
        ("2027-03-31T23:59", "AoE", "2027-04-01T11:59"),  # the next day in Greenwich
        ("2027-12-31T12:00", "AoE", "2028-01-01T00:00"),  # and the next year
        ("2028-02-28T23:59:59", "AoE", "2028-02-29T11:59:59"),
        ("2027-04-01T01:30", "Pacific/Kiritimati", "2027-03-31T11:30"),  # 14 hours ahead: the day before
        ("2027-03-31T23:59", "Pacific/Pago_Pago", "2027-04-01T10:59"),
        ("2027-01-31T12:00", "Europe/Berlin", "2027-01-31T11:00"),
        ("2027-07-31T12:00", "Europe/Berlin", "2027-07-31T10:00"),  # in summer
        ("2027-10-31T02:30", "Europe/Berlin", "2027-10-31T00:30"),  # there are two; the first
        ("2027-07-31 12:00", "Asia/Kathmandu", "2027-07-31T06:15"),
    ],
)
def test_a_time_in_a_zone_is_a_moment(text: str, zone: str, expected: str) -> None:
    assert parse_moment(text, zone).astimezone(UTC) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "problem"),
    [
        ("2027-03-28T02:30", "Europe/Berlin", "does not exist in Europe/Berlin"),
        ("2027-03-31", "AoE", "must be a date and a time"),
        ("tomorrow", "UTC", "must be a date and a time"),
        ("2027-02-29T12:00", "UTC", "must be a date and a time"),
        ("2027-03-31T23:59Z", "AoE", "choose the zone beside it"),
        ("2027-03-31T23:59", "Mars/Olympus", "unknown time zone"),
        ("2027-03-31T23:59", "../../etc/passwd", "unknown time zone"),
        ("2027-03-31T23:59", "/etc/localtime", "unknown time zone"),
        ("2027-03-31T23:59", "a\0b", "unknown time zone"),
        ("0001-01-01T00:00", "Asia/Tokyo", "a year from 1970 to 2999"),
        ("9999-12-31T23:59", "AoE", "a year from 1970 to 2999"),
        ("9999-12-31T23:59", "UTC", "a year from 1970 to 2999"),
    ],
)
def test_what_is_no_moment_is_refused(text: str, zone: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_moment(text, zone)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (Application, "opens_at"), (Application, "closes_at"), (NewRules, "opens_at"), (NewRules, "closes_at"),
        (RulesChoice, "opens_at"), (RulesChoice, "closes_at"), (NewSlots, "expires_at"), (NewNotice, "ends_at"),
        (FileFacts, "available_from"), (FileFacts, "available_until"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
def test_programs_give_no_time_that_pages_cannot_show(model: type[BaseModel], name: str, moment: str) -> None:
    with pytest.raises(ValidationError) as raised:
        model.model_validate({name: moment})

    assert (name, "Value error, must be in a year from 1970 to 2999") in [
        (each["loc"][0], each["msg"]) for each in raised.value.errors()
    ]


def test_every_problem_of_a_form_is_found_at_once() -> None:
    form = {"opens_at": "x", "closes_at": "2027-03-31T23:59", "closes_zone": "Mars", "ends_at": ""}

    moments, problems = moments_of(form, ("opens_at", "closes_at", "ends_at"))

    assert moments == {"opens_at": None, "closes_at": None, "ends_at": None}
    assert sorted(problems) == ["closes_at", "opens_at"]


def test_a_moment_is_shown_with_the_day_that_it_is_anywhere_on_earth() -> None:
    assert aoe(datetime(2027, 3, 1, 11, 59, tzinfo=UTC)) == "Sun 28 Feb 2027 23:59 AoE"
