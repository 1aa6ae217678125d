"""Which names are acceptable, and the messages for fields that are not."""

import hashlib
import unicodedata
from collections.abc import Mapping
from datetime import timedelta

from pydantic import ValidationError
from pydantic_core import ErrorDetails

KEEP_ENDED = timedelta(days=30)  # how long it is known whose session an ended one was

FIELD_ERRORS = {
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "missing": "is missing",
    "string_pattern_mismatch": "is not an e-mail address, such as name@example.org",
    "too_short": "choose at least one",
    "value_error": "{error}",
}


def hash_of_token(token: str) -> bytes:
    """How a token of a session, a program or a link is stored.

    >>> len(hash_of_token("secret"))
    32
    """
    # a token is 192 random bits or more, so one round of a plain hash is enough
    return hashlib.sha256(token.encode()).digest()


def folded(text: str) -> str:
    """The form under which two spellings of a name are one: NFKC, case folded, trimmed.

    >>> folded(" ADMIN ") == folded("admin")
    True
    """
    return unicodedata.normalize("NFKC", text).casefold().strip()


def is_visible(name: str) -> bool:
    r"""Whether a name shows what it is: something to see, no control, format or unassigned characters.

    >>> is_visible("LEAR_flat"), is_visible("admin\u200b"), is_visible("  "), is_visible("\u202egro.evil")
    (True, False, False, False)
    """
    kinds = [unicodedata.category(character) for character in name]
    return any(kind[0] in "LNPS" for kind in kinds) and not any(
        kind[0] == "C" or kind in ("Zl", "Zp") for kind in kinds
    )


def field_errors(error: ValidationError) -> Mapping[str, str]:
    """For each invalid field of a form, by its innermost name, what is wrong with it."""
    return {_field(problem["loc"]): _message(problem) for problem in error.errors()}


def _field(location: tuple[int | str, ...]) -> str:
    return next((part for part in reversed(location) if isinstance(part, str)), "")


def _message(problem: ErrorDetails) -> str:
    template = FIELD_ERRORS.get(problem["type"])
    return template.format(**problem.get("ctx", {})) if template else problem["msg"]
