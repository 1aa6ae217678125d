"""What is said below a field whose value was refused."""

from datetime import UTC, datetime
from typing import Annotated

import pytest
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import FormData

from app.core.errors import (
    ConflictError,
    FieldsError,
    MalformedError,
    NameRetired,
    NameTaken,
    NotFoundError,
    PhaseClosed,
    RefusedError,
)
from app.notifications.threads import NewThread
from app.web.forms import Form, OrBlank, field_errors
from app.web.zones import Moment


class Tried(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=3)] = "x"
    title: Annotated[str, Field(min_length=2)] = "xx"
    tasks: Annotated[tuple[str, ...], Field(min_length=1)] = ("x",)


class Row(BaseModel):
    days: Annotated[int, Field(ge=1, le=365)]


class Listed(BaseModel):
    quotas: tuple[Row, ...]
    people: tuple[Annotated[str, Field(min_length=1)], ...]


@pytest.mark.parametrize(
    ("model", "field", "sent", "said"),
    [
        (Tried, "name", "", "must not be empty"),
        (Tried, "name", "four", "must have at most 3 characters"),
        (Tried, "title", "", "must have at least 2 characters"),
        (Tried, "title", "x", "must have at least 2 characters"),
        (Tried, "tasks", (), "at least one is needed"),
        (NewThread, "text", "", "must not be empty"),
        (NewThread, "text", "x" * 5001, "must have at most 5000 characters"),
    ],
)
def test_a_text_is_empty_or_short_and_a_list_lacks_something(
    model: type[BaseModel], field: str, sent: object, said: str
) -> None:
    with pytest.raises(ValidationError) as error:
        model.model_validate(
            {"title": "Why is it so?", "text": "Why?", field: sent} if model is NewThread else {field: sent}
        )

    assert field_errors(error.value) == {field: said}


def test_the_problems_of_the_parts_of_a_list_belong_to_the_list() -> None:
    with pytest.raises(ValidationError) as error:
        Listed.model_validate({"quotas": [{"days": 0}, {"days": 400}], "people": ["", "x", ""]})

    assert field_errors(error.value) == {
        "quotas": "days must be at least 1; days must be at most 365",
        "people": "must not be empty",
    }


def test_the_field_of_an_error_is_not_read_from_its_sentence() -> None:
    error = FieldsError({"path": "expected team: name", "": "Choose one: a file"})

    assert error.by_field == {"path": "expected team: name", "": "Choose one: a file"}
    assert str(error) == "path: expected team: name; Choose one: a file"


class Change(BaseModel):
    name: Annotated[str, Field(min_length=1)]
    starts_at: OrBlank[Moment] = None
    roles: tuple[str, ...] = ()
    is_public: bool = False


def sent(*fields: tuple[str, str]) -> Form:
    return Form(sent=FormData(list(fields)))


def test_a_form_is_read_as_its_model_has_it() -> None:
    form = sent(
        ("title", "A"), ("roles", "x"), ("roles", "y"), ("is_public", "on"),
        ("starts_at", "2027-01-01T12:00"), ("starts_zone", "AoE"),
    )  # fmt: skip

    with form.showing_errors(names={"name": "title"}):
        change = form.read(Change)

    assert change == Change(
        name="A", starts_at=datetime(2027, 1, 2, tzinfo=UTC), roles=("x", "y"), is_public=True
    )
    assert form.values == {
        "title": "A", "roles": ["x", "y"], "is_public": True, "starts_at": "2027-01-01T12:00", "starts_zone": "AoE",
    }  # fmt: skip


def test_all_problems_are_found_at_once_and_what_was_typed_stays() -> None:
    form = sent(("starts_at", "tomorrow"), ("starts_zone", "UTC"), ("roles", "x"))

    with form.showing_errors(names={"name": "title"}):
        form.read(Change)

    assert form.problems == {"title": "must not be empty", "starts_at": "must be a date and a time"}
    assert (form.status, form.values["starts_at"], form.values["roles"]) == (422, "tomorrow", ["x"])


@pytest.mark.parametrize(
    ("error", "problems", "refused", "status"),
    [
        (FieldsError({"name": "is taken", "": "is odd"}), {"title": "is taken", "": "is odd"}, (), 422),
        (MalformedError("not so"), {}, ("not so",), 422),
        (ConflictError("not now"), {}, ("not now",), 409),
        (
            RefusedError((NameTaken("taken"), NameRetired("retired"), PhaseClosed("closed"))),
            {"title": "taken; retired"}, ("closed",), 409,
        ),
    ],
    ids=("fields", "malformed", "conflict", "refused"),
)  # fmt: skip
def test_what_an_operation_refuses_is_shown_at_its_field_or_above_the_form(
    error: Exception, problems: dict[str, str], refused: tuple[str, ...], status: int
) -> None:
    form = sent(("title", "A"))

    with form.showing_errors(names={"name": "title"}):
        form.read(Change)
        raise error

    assert (form.problems, form.refused, form.status) == (problems, refused, status)


def test_a_conflict_may_belong_to_a_field_and_other_errors_pass() -> None:
    form = sent(("name", "A"))

    with form.showing_errors(conflict="name"):
        raise ConflictError("is taken")

    assert (form.problems, form.refused, form.status) == ({"name": "is taken"}, (), 409)
    with pytest.raises(NotFoundError), form.showing_errors():
        raise NotFoundError("nothing")
