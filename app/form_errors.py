"""Messages for fields of forms."""

from collections.abc import Mapping

from pydantic import ValidationError
from pydantic_core import ErrorDetails

FIELD_ERRORS = {
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "missing": "is missing",
    "string_pattern_mismatch": "is not an e-mail address, such as name@example.org",
    "too_short": "choose at least one",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "int_parsing": "must be a whole number",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "datetime_from_date_parsing": "must be a date and a time",
    "value_error": "{error}",
}


def field_errors(error: ValidationError) -> Mapping[str, str]:
    """For each invalid field of a form, by its innermost name, what is wrong with it."""
    return {_field(problem["loc"]): _message(problem) for problem in error.errors()}


def _field(location: tuple[int | str, ...]) -> str:
    return next((part for part in reversed(location) if isinstance(part, str)), "")


def _message(problem: ErrorDetails) -> str:
    template = FIELD_ERRORS.get(problem["type"])
    return template.format(**problem.get("ctx", {})) if template else problem["msg"]
