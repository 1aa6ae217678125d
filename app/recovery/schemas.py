"""Forms for new passwords."""

from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from app.names import MailAddress


class Outcome(StrEnum):
    """How the use of a link ended."""

    DONE = "done"
    GONE = "gone"  # used or expired
    TAKEN = "taken"  # another account has confirmed the address


class Forgotten(BaseModel):
    """The form of somebody who has forgotten the password."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    email: MailAddress


@dataclass(frozen=True, slots=True)
class Passwords:
    """The present password and the one that takes its place; neither is trimmed."""

    present: str
    new: str
