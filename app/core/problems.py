"""Problems as `application/problem+json`, and their description in the API documentation."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import BaseModel, Field

from app.core.errors import (
    BadRequestError,
    ConflictError,
    DomainError,
    ForbiddenError,
    LoginRequiredError,
    MalformedError,
    MethodNotAllowedError,
    NotFoundError,
    ProblemKind,
    QuotaUsed,
    TooLargeError,
    UnavailableError,
    kinds,
)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = 10  # seconds, if the database or the storage is unavailable
PROBLEMS = kinds()
BY_STATUS: Mapping[int, type[ProblemKind]] = {
    each.status: each
    for each in (
        BadRequestError,
        LoginRequiredError,
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


def kind_of_status(status: int) -> type[ProblemKind]:
    """Return the kind of problem for an error if only its HTTP status is known.

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

    type: Annotated[str, Field(description="URL of the page that explains the code")]
    code: Annotated[str, Field(description="stable; use this in programs")]
    title: Annotated[str, Field(description="the same for every problem of this code")]
    status: int
    detail: Annotated[str, Field(description="what happened, for people; the wording may change")]
    reference: Annotated[str, Field(description="give this when you ask for help")]
    problems: Annotated[list[ProblemItem], Field(description="the individual problems, if there are several")]


def problem_of(kind: type[ProblemKind], detail: str, reference: str, problems: list[ProblemItem]) -> Problem:
    """Return a problem of this kind."""
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
    """Return the problem that the documentation shows as an example."""
    detail = "2 of 2 detection results in 7 days are used; the next slot is free on Tue 24 Nov 2026 14:00 UTC"
    items = [ProblemItem(code=QuotaUsed.code, message=detail)]
    return problem_of(QuotaUsed, detail, "5f2b9c0d1e7a", items).model_dump()


def problem_responses() -> dict[int | str, dict[str, Any]]:
    """Return the description of error responses for OpenAPI."""
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    item = schema.pop("$defs")["ProblemItem"]
    schema["properties"]["problems"]["items"] = item
    content = {MEDIA_TYPE: {"schema": schema, "example": example_problem()}}
    return {"4XX": {"description": "Problem", "content": content}}
