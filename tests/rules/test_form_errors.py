"""What is said below a field whose value was refused."""

from typing import Annotated

import pytest
from pydantic import BaseModel, Field, ValidationError

from app.core.errors import MalformedError
from app.notifications.threads import NewThread
from app.web.forms import field_errors


class Tried(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=3)] = "x"
    title: Annotated[str, Field(min_length=2)] = "xx"
    tasks: Annotated[tuple[str, ...], Field(min_length=1)] = ("x",)


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


def test_the_field_of_an_error_is_not_read_from_its_sentence() -> None:
    error = MalformedError("expected team: name", field="path")

    assert (error.by_field, str(error)) == ({"path": "expected team: name"}, "path: expected team: name")
    assert MalformedError("Choose one: a file").by_field == {"": "Choose one: a file"}
