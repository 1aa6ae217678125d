"""How a problem is written for programs: `application/problem+json`, and what the documentation shows of it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import BaseModel, Field

from app.core.errors import (
    BadRequestError,
    ConflictError,
    DomainError,
    ForbiddenError,
    Kind,
    LoginNeededError,
    MalformedError,
    MethodNotAllowedError,
    NotFoundError,
    QuotaUsed,
    TooLargeError,
    UnavailableError,
    kinds,
)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = 10  # seconds, when the database or the storage is away
PROBLEMS = kinds()
BY_STATUS: Mapping[int, type[Kind]] = {
    each.status: each
    for each in (
        BadRequestError,
        LoginNeededError,
        ForbiddenError,
        NotFoundError,
        MethodNotAllowedError,
        ConflictError,
        TooLargeError,
        MalformedError,
        DomainError,
        UnavailableError,
    )
}


def kind_of_status(status: int) -> type[Kind]:
    """The kind of an error that a library raised with nothing but an HTTP status.

    >>> kind_of_status(404).code, kind_of_status(408).code, kind_of_status(408).title
    ('not-found', 'bad-request', 'Request timeout')
    """
    if status in BY_STATUS:
        return BY_STATUS[status]
    nearest = BadRequestError if status < 500 else DomainError
    return type("HttpError", (nearest,), {"status": status, "title": HTTPStatus(status).phrase.capitalize()})


class ProblemItem(BaseModel):
    """One of several problems of a request."""

    code: str
    message: str


class Problem(BaseModel):
    """The body of every response with a status of 400 or more."""

    type: Annotated[str, Field(description="address of the page that explains the code")]
    code: Annotated[str, Field(description="stable; decide by this")]
    title: Annotated[str, Field(description="the same for every problem of this code")]
    status: int
    detail: Annotated[str, Field(description="what happened, for people; the wording may change")]
    reference: Annotated[str, Field(description="to be given when you ask for help")]
    problems: Annotated[list[ProblemItem], Field(description="each of several problems")]


def problem_of(kind: type[Kind], detail: str, reference: str, problems: list[ProblemItem]) -> Problem:
    """A problem of this kind."""
    return Problem(
        type=kind.address(),
        code=kind.code,
        title=kind.title,
        status=kind.status,
        detail=detail,
        reference=reference,
        problems=problems,
    )


def example_problem() -> dict[str, Any]:
    """A problem as the documentation shows it."""
    detail = "2 of 2 detection results in 7 days are used; the next slot is free at 2026-11-24 14:00 UTC"
    items = [ProblemItem(code=QuotaUsed.code, message=detail)]
    return problem_of(QuotaUsed, detail, "5f2b9c0d1e7a", items).model_dump()


def problem_responses() -> dict[int | str, dict[str, Any]]:
    """What the OpenAPI description says of errors."""
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    item = schema.pop("$defs")["ProblemItem"]
    schema["properties"]["problems"]["items"] = item
    content = {MEDIA_TYPE: {"schema": schema, "example": example_problem()}}
    return {"4XX": {"description": "Problem", "content": content}}
