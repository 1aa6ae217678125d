"""Kinds of mail, and who gets one."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Letter(StrEnum):
    """A kind of mail; its text is `templates/mail/<value>.txt`."""

    CONFIRM_ADDRESS = "confirm-address"
    ALREADY_REGISTERED = "already-registered"
    RESET_PASSWORD = "reset-password"  # noqa: S105 - the name of a template
    LOGIN_LINK = "login-link"
    CONFIRM_NEW_ADDRESS = "confirm-new-address"
    ADDRESS_CHANGED = "address-changed"
    PASSWORD_CHANGED = "password-changed"  # noqa: S105 - the name of a template
    SECOND_FACTOR_ON = "second-factor-on"
    SECOND_FACTOR_OFF = "second-factor-off"
    RECOVERY_CODES_RENEWED = "recovery-codes-renewed"
    RECOVERY_CODE_USED = "recovery-code-used"
    TOKEN_CREATED = "token-created"  # noqa: S105 - the name of a template
    PROVIDER_LINKED = "provider-linked"
    PROVIDER_UNLINKED = "provider-unlinked"
    NEW_BROWSER = "new-browser"
    ACCOUNT_DELETED = "account-deleted"


@dataclass(frozen=True, slots=True)
class Link:
    """The page that a letter's link leads to, and how long the link works."""

    path: str
    lifetime: timedelta


@dataclass(frozen=True, slots=True)
class Limit:
    """So many in a span of time."""

    count: int
    window: timedelta


@dataclass(frozen=True, slots=True)
class Requested:
    """What was asked for in the last day: for this letter and address, for this person, and by all in the last hour."""

    now: datetime
    to_address: tuple[datetime, ...]  # oldest first
    by_person: tuple[datetime, ...]
    last_hour: int


@dataclass(frozen=True, slots=True)
class Recipient:
    """A person as far as mail needs them."""

    user_id: int
    address: str
    new_address: str | None  # not confirmed yet
    is_verified: bool
    is_taken: bool  # somebody else has confirmed the address


@dataclass(frozen=True, slots=True)
class Text:
    """A letter in words."""

    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where people find their mail: where it is sent to, or in a folder of this machine."""

    is_sent: bool
    folder: str | None = None
