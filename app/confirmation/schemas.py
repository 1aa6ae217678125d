"""What a link in a mail offers, and the form for another address."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.names import MailAddress


class Outcome(StrEnum):
    """How the use of a link ended."""

    CONFIRMED = "confirmed"
    GONE = "gone"  # used, expired, or for an address that the account does not have any more
    WRONG_PASSWORD = "wrong-password"  # noqa: S105 - a name
    TAKEN = "taken"  # another account has confirmed the address


@dataclass(frozen=True, slots=True)
class Offer:
    """What a link can confirm; whoever is not logged in to its account gives the password."""

    address: str
    needs_password: bool


@dataclass(frozen=True, slots=True)
class Used:
    """What came of a link: a new session for whoever gave the password."""

    outcome: Outcome
    session_token: str | None = None


class NewAddress(BaseModel):
    """The form for another address."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    email: MailAddress
    password: Annotated[str, Field(max_length=200)]
