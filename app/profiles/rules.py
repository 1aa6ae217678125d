"""What an account may be changed to, and when it may end."""

import re
from collections.abc import Iterable, Sequence
from functools import reduce

from app.errors import ConflictError

# what an export leaves out for a token: what says how the account is entered, or what was done with it
NOT_FOR_TOKENS = frozenset(
    {"email", "new_email", "verified_at", "suspended_at", "role", "sessions", "logins", "tokens", "actions"}
)

ORCID = re.compile(
    r"(?:https?://)?(?:www\.)?(?:orcid\.org/)?(\d{4})-?(\d{4})-?(\d{4})-?(\d{3}[\dX])/?",
    re.IGNORECASE | re.ASCII,
)


def deletion_conflict(user_id: int, admins: Sequence[int]) -> ConflictError | None:
    """Why an account may not end; none if it may.

    >>> str(deletion_conflict(7, [7]))
    'You are the last admin who can log in. Make somebody else an admin first'
    >>> deletion_conflict(7, [3, 7])
    """
    if list(admins) == [user_id]:
        return ConflictError("You are the last admin who can log in. Make somebody else an admin first")
    return None


def orcid_of(text: str) -> str:
    """An ORCID iD in its own form, whether it was typed as digits or as an address.

    Raises ValueError where the check digit (ISO 7064, MOD 11-2) is another.

    >>> orcid_of("https://orcid.org/0000-0002-1825-0097"), orcid_of("000000021694233x")
    ('0000-0002-1825-0097', '0000-0002-1694-233X')
    """
    found = ORCID.fullmatch(text)
    if found is None:
        raise ValueError("is not an ORCID iD, such as 0000-0002-1825-0097")
    digits = "".join(found.groups()).upper()
    if _check_digit(digits[:-1]) != digits[-1]:
        raise ValueError("has a wrong check digit; compare it digit by digit")
    return "-".join(found.groups()).upper()


def _check_digit(digits: str) -> str:
    total = reduce(lambda before, digit: (before + int(digit)) * 2, digits, 0)
    return "0123456789X"[(12 - total % 11) % 11]


def erased_name(team_id: int, taken: Iterable[str]) -> str:
    """A name for a team that says nothing of who was in it.

    >>> erased_name(7, []), erased_name(7, ["Team 7"])
    ('Team 7', 'Team 7-2')
    """
    known = set(taken)
    names = (f"Team {team_id}", *(f"Team {team_id}-{number}" for number in range(2, len(known) + 2)))
    return next(name for name in names if name not in known)
