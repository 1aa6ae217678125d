"""HTML forms: reading what was sent into a model, and what a page needs to show a refused form again.

A route reads the form and does what it asks for; if either fails, the page is shown again with what was typed:

    with form.showing_errors():
        visibility.change(platform, actor, challenge, form.read(NewVisibility))
        return RedirectResponse(here, status_code=303)
    return _page(request, platform, actor, challenge, form)  # renders with `form=form`
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from types import TracebackType
from typing import Annotated, Any, Final, Self, TypeVar, get_args, get_origin

from fastapi import Depends, Request
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    HttpUrl,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import ErrorDetails
from starlette.datastructures import FormData, UploadFile

from app.core.errors import ConflictError, FieldsError, MalformedError, RefusedError
from app.storage import storage_errors
from app.web.zones import parse_moment, zone_field

Value = TypeVar("Value")
Model = TypeVar("Model", bound=BaseModel)
MOST_FIELDS: Final = 10_000  # of a form with rows
LONGEST_REASON: Final = 1000

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
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
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


@dataclass
class Form:
    """What a page shows in a form: values, a sentence for each invalid field, and why the whole was refused."""

    values: dict[str, Any] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    status: int = 200
    sent: FormData = field(default_factory=FormData)
    _names: dict[str, str] = field(default_factory=dict)  # on the page, of fields of the model

    def text(self, name: str, at_most: int | None = None) -> str:
        """Return what was sent for a field, or "". Raises FieldsError if it has more characters, and shows it again."""
        shown = self._names.get(name, name)
        found = self.sent.get(shown, self.sent.get(name, ""))
        text = found if isinstance(found, str) else ""
        if "password" not in name:  # which no page shows
            self.values[shown] = text
        if at_most is not None and len(text) > at_most:
            raise FieldsError({name: f"must have at most {at_most} characters"})
        return text

    def texts(self, name: str) -> list[str]:
        """Return everything that was sent for a field with several values."""
        shown = self._names.get(name, name)
        found = self.sent.getlist(shown if shown in self.sent else name)
        return [each for each in found if isinstance(each, str)]

    def file(self, name: str) -> UploadFile | None:
        """Return the file that was chosen for a field, or None."""
        found = self.sent.get(name)
        return found if isinstance(found, UploadFile) and found.filename else None

    def read(self, model: type[Model], **values: Any) -> Model:
        """Validate the fields of a model; what was sent for them is shown again.

        values: what to validate in place of what was sent. A time is in the zone that was sent beside it, or in UTC.
        Raises FieldsError, also if there are problems already.
        """
        return self.validated(model, self.fields(model, **values))

    def fields(self, model: type[BaseModel], **values: Any) -> dict[str, Any]:
        """Return what was sent for the fields of a model, to validate as a part of another."""
        for name, info in model.model_fields.items():
            sent = self._sent(name, info.annotation, is_list=name not in values)
            if _holds_time(info.annotation):
                zone = self.text(zone_field(self._names.get(name, name))) or "UTC"
                if name not in values:
                    values[name] = self._moment(name, sent, zone)
            values.setdefault(name, sent)
        return values

    def validated(self, model: type[Model], fields: Mapping[str, Any]) -> Model:
        """Return a model with these fields. Raises FieldsError, also if there are problems already."""
        try:
            valid = model.model_validate(fields)
        except ValidationError as error:
            raise FieldsError(field_errors(error)) from error
        if self.problems:
            raise FieldsError(self.problems)
        return valid

    def _moment(self, name: str, sent: str, zone: str) -> datetime | None:
        try:
            return parse_moment(sent, zone) if sent else None
        except ValueError as error:
            self.refuse({name: str(error)})
            return None

    def _sent(self, name: str, annotation: Any, *, is_list: bool) -> Any:
        sent: Any = self.text(name)
        if annotation is bool:
            sent = bool(sent)
        elif is_list and get_origin(annotation) in (list, tuple, frozenset):
            sent = self.texts(name)
        if sent != self.text(name):
            self.values[self._names.get(name, name)] = sent
        return sent

    def fill(self, stored: Mapping[str, Any]) -> Self:
        """Show these values in the fields that were not read."""
        self.values = {**stored, **self.values}
        return self

    def showing_errors(
        self, conflict: str = "", names: Mapping[str, str] | None = None, refusal: int | None = 409
    ) -> AbstractContextManager[None, bool]:
        """Take what is refused inside as problems of this form.

        conflict: the field that a conflict is about, if it is about one. names: of fields that are called otherwise on the
        page, such as the reason in one of its rows; they may be sent under either name. refusal: the status if rules refuse it;
        None: that of the first refusal.
        """
        self._names |= names or {}
        return _Errors(self, conflict, refusal)

    def refuse(self, by_field: Mapping[str, str], status: int = 422) -> None:
        """Show these problems, each at its field, if it has none yet."""
        found = {self._names.get(name, name): reason for name, reason in by_field.items()}
        self.problems = found | self.problems
        self.status = status


class _Errors(AbstractContextManager[None, bool]):
    def __init__(self, form: Form, conflict: str, refusal: int | None) -> None:
        self._form, self._conflict, self._refusal = form, conflict, refusal

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        match error:
            case FieldsError():
                self._form.refuse(error.by_field, error.status)
            case ConflictError() if self._conflict:
                self._form.refuse({self._conflict: str(error)}, error.status)
            case ConflictError() | MalformedError():
                self._form.refused, self._form.status = (str(error),), error.status
            case RefusedError():
                found: dict[str, str] = {}
                for each in error.refusals:
                    if each.field:
                        found[each.field] = "; ".join(filter(None, (found.get(each.field), each.message)))
                self._form.refused = tuple(each.message for each in error.refusals if not each.field)
                self._form.refuse(found, self._refusal or error.refusals[0].status)
            case _:
                return False
        return True


async def _form(request: Request) -> Form:
    return Form(sent=await request.form(max_files=0, max_fields=MOST_FIELDS))


TheForm = Annotated[Form, Depends(_form)]


async def _form_with_file(request: Request) -> AsyncIterator[Form]:
    with storage_errors():  # a file is written to the disk while the form is read
        sent = await request.form(max_files=1, max_fields=30)
    try:
        yield Form(sent=sent)
    finally:
        await sent.close()


FormWithFile = Annotated[Form, Depends(_form_with_file)]


def _holds_time(annotation: Any) -> bool:
    return annotation in (datetime, AwareDatetime) or any(map(_holds_time, get_args(annotation)))


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
    """Return the error messages for each invalid field of a form; those of the parts of a list belong to the list."""
    found: dict[str, dict[str, None]] = {}
    for problem in error.errors():
        names = [*takewhile(lambda part: isinstance(part, str), problem["loc"])]
        part = next((f"{name} " for name in problem["loc"][len(names) :] if isinstance(name, str)), "")
        found.setdefault(str(names[-1]) if names else "", {})[part + error_message(problem)] = None
    return {name: "; ".join(messages) for name, messages in found.items()}


def all_errors(error: ValidationError) -> str:
    """Return the error messages for a field whose lines are values of their own."""
    return "; ".join(map(error_message, error.errors()))


def error_message(problem: ErrorDetails) -> str:
    """Say what is wrong with a value, without its name."""
    is_text = isinstance(problem["input"], str)  # a text with validators of its own is only called too short
    kind = {"too_short": "string_too_short", "too_long": "string_too_long"} if is_text else {}
    limits = problem.get("ctx", {})
    if is_text and limits.get("min_length") == 1:
        return "must not be empty"
    template = FIELD_ERRORS.get(kind.get(problem["type"], problem["type"]))
    return template.format(**limits) if template else problem["msg"]
