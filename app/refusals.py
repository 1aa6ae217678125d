"""Reasons of the rules against a request, for programs and for people."""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime


class RefusalCode(enum.StrEnum):
    """Why the rules do not take a request; each is a row of `app/problems.py`."""

    NOT_OPEN = "not-open"
    CLOSED = "closed"
    NOT_CHECKED = "not-checked"
    INVALID = "invalid"
    REMOVED = "removed"
    NOT_IN_ARCHIVE = "not-in-archive"
    ONE_RESULT = "one-result"
    NAME_RETIRED = "name-retired"
    NAME_TAKEN = "name-taken"
    NAME_FIXED = "name-fixed"
    TRAINING_STATEMENT = "training-statement"
    DESCRIPTION_TOO_SHORT = "description-too-short"
    NO_LINK = "no-link"
    QUOTA = "quota"
    PHASE_BROKEN = "phase-broken"
    PHASE_UNFAIR = "phase-unfair"
    ADDRESS_NOT_CONFIRMED = "address-not-confirmed"
    TEAM_SUSPENDED = "team-suspended"
    TEAM_NOT_APPROVED = "team-not-approved"
    IN_TEAM = "in-team"
    LAST_OWNER = "last-owner"
    INVITATION_ENDED = "invitation-ended"
    TERMS_NOT_ACCEPTED = "terms-not-accepted"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason, with its message for people."""

    code: RefusalCode
    message: str
    retry_at: datetime | None = None  # when the same would be accepted


class RefusedError(Exception):
    """The rules do not take a request; all the reasons at once."""

    def __init__(self, refusals: Sequence[Refusal], fields: Mapping[str, str] | None = None) -> None:
        """`fields` tells programs more, such as what is left of a limit."""
        super().__init__("; ".join(refusal.message for refusal in refusals))
        self.refusals = tuple(refusals)
        self.fields = dict(fields or {})


def refuse(refusals: Iterable[Refusal]) -> None:
    """Raise RefusedError if there is a reason."""
    if found := tuple(refusals):
        raise RefusedError(found)
