"""Problems as the documentation shows them."""

from typing import Any

from app.problems import MEDIA_TYPE, PROBLEMS, Problem, ProblemItem


def example_problem() -> dict[str, Any]:
    """A problem as the documentation shows it."""
    kind = PROBLEMS["quota"]
    detail = "2 of 2 detection results in 7 days are used; the next slot is free at 2026-11-24 14:00 UTC"
    return Problem(
        type=kind.type,
        code=kind.code,
        title=kind.title,
        status=kind.status,
        detail=detail,
        reference="5f2b9c0d1e7a",
        problems=[ProblemItem(code=kind.code, message=detail)],
    ).model_dump()


def problem_responses() -> dict[int | str, dict[str, Any]]:
    """What the OpenAPI description says of errors."""
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    item = schema.pop("$defs")["ProblemItem"]
    schema["properties"]["problems"]["items"] = item
    content = {MEDIA_TYPE: {"schema": schema, "example": example_problem()}}
    return {"4XX": {"description": "Problem", "content": content}}
