"""HTML forms: the submitted values of an API model's fields, and error messages for fields."""

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends, Request
from pydantic import AfterValidator, BaseModel, BeforeValidator, HttpUrl, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from starlette.datastructures import FormData, UploadFile

from app.storage import storage_errors

Value = TypeVar("Value")
MOST_FIELDS: Final = 10_000  # of a form with rows

FIELD_ERRORS = {
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "missing": "is missing",
    "string_pattern_mismatch": "is not an e-mail address, such as name@example.org",
    "too_short": "at least one is needed",
    "too_long": "must be at most {max_length}, not {actual_length}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "int_parsing": "must be a whole number",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "datetime_from_date_parsing": "must be a date and a time",
    "value_error": "{error}",
}


async def _sent(request: Request) -> FormData:
    return await request.form(max_files=0)


SentForm = Annotated[FormData, Depends(_sent)]


async def _sent_long(request: Request) -> FormData:
    return await request.form(max_files=0, max_fields=MOST_FIELDS)


LongForm = Annotated[FormData, Depends(_sent_long)]


async def _sent_with_file(request: Request) -> AsyncIterator[FormData]:
    with storage_errors():  # a file is written to the disk while the form is read
        form = await request.form(max_files=1, max_fields=30)
    try:
        yield form
    finally:
        await form.close()


FormWithFile = Annotated[FormData, Depends(_sent_with_file)]


def file_of(sent: FormData, name: str) -> UploadFile | None:
    """Return the file that was chosen for a field of a form, or None."""
    found = sent.get(name)
    return found if isinstance(found, UploadFile) and found.filename else None


# an optional field: a form sends "" where a program sends null
OrBlank = Annotated[Value | None, BeforeValidator(lambda value: None if value == "" else value)]

_ADDRESS: Final = TypeAdapter(HttpUrl)


def _https_or_blank(text: str) -> str:
    if text:
        message = "must be an address that begins with https://"
        try:
            address = _ADDRESS.validate_python(text)
        except ValidationError as error:
            raise ValueError(message) from error
        # the part before an @ looks like the host but is not
        if address.scheme != "https" or address.username or address.password:
            raise ValueError(message)
    return text


HttpsOrBlank = Annotated[str, AfterValidator(_https_or_blank)]


def values_of(sent: FormData, model: type[BaseModel]) -> dict[str, Any]:
    """Return the submitted value of each field of a model, to validate and to show again: text, or whether a box is ticked.

    >>> class Terms(BaseModel):
    ...     reason: str
    ...     is_public: bool
    >>> values_of(FormData([("reason", "asked for"), ("another", "1")]), Terms)
    {'reason': 'asked for', 'is_public': False}
    """
    return {
        name: bool(sent.get(name)) if field.annotation is bool else sent.get(name, "")
        for name, field in model.model_fields.items()
    }


def field_errors(error: ValidationError) -> Mapping[str, str]:
    """Return an error message for each invalid field of a form, by its innermost name."""
    return {_field(problem["loc"]): _message(problem) for problem in error.errors()}


def all_errors(error: ValidationError) -> str:
    """Return the error messages for a field whose lines are values of their own."""
    return "; ".join(map(_message, error.errors()))


def _field(location: tuple[int | str, ...]) -> str:
    return next((part for part in reversed(location) if isinstance(part, str)), "")


def _message(problem: ErrorDetails) -> str:
    is_text = isinstance(problem["input"], str)  # a text with validators of its own is only called too short
    kind = {"too_short": "string_too_short", "too_long": "string_too_long"} if is_text else {}
    limits = problem.get("ctx", {})
    if is_text and limits.get("min_length") == 1:
        return "must not be empty"
    template = FIELD_ERRORS.get(kind.get(problem["type"], problem["type"]))
    return template.format(**limits) if template else problem["msg"]
