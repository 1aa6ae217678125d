"""Logins at the provider, and what it says of a person."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.errors import DomainError
from app.login_settings import LoginProvider
from app.names import Visible
from app.sessions.schemas import Browser


class ProviderError(DomainError):
    """The provider is away, or what it said cannot be trusted; the message is for the log."""


class StaleError(DomainError):
    """A login at the provider that is over, was used, or was begun in another browser."""


class Purpose(StrEnum):
    """Why somebody was sent to the provider."""

    LOG_IN = "log-in"
    LINK = "link"
    CONFIRM = "confirm"  # that it is them, before something that a forgotten browser must not do


class Outcome(StrEnum):
    """What follows when somebody comes back from the provider."""

    LOGGED_IN = "logged-in"
    NEW = "new"  # an account can be made
    LINKED = "linked"
    CONFIRMED = "confirmed"
    NO_ADDRESS = "no-address"
    HAS_ACCOUNT = "has-account"
    OF_ANOTHER = "of-another"
    HAS_ANOTHER = "has-another"
    NOT_YOURS = "not-yours"
    SESSION_OVER = "session-over"
    NOT_FRESH = "not-fresh"
    SUSPENDED = "suspended"
    CLOSED = "closed"  # nobody can make an account here


@dataclass(frozen=True, slots=True)
class Started:
    """A login at a provider that has begun."""

    provider: str  # its id
    purpose: Purpose
    started_at: datetime
    user_id: int | None  # who is logged in here already
    next_page: str


@dataclass(frozen=True, slots=True)
class Departure:
    """Where a browser is sent, and the cookie by which it is known when it comes back."""

    address: str
    cookie: str


@dataclass(frozen=True, slots=True)
class Claims:
    """What the provider says of a person."""

    subject: str  # who it is, for this provider
    email: str = ""  # case folded
    is_verified: bool = False  # the provider knows that the address is theirs
    name: str = ""
    authenticated_at: int | None = None  # seconds since 1970


@dataclass(frozen=True, slots=True)
class Arrived:
    """Somebody who has come back from the provider, with what it says of them."""

    provider: LoginProvider
    started: Started
    claims: Claims
    browser: Browser
    cookie: str
    started_by: int | None  # who was logged in when it began, and still is


@dataclass(frozen=True, slots=True)
class Known:
    """What is known here of somebody who comes back from the provider."""

    owner: int | None = None  # the account that this login is linked to
    is_suspended: bool = False  # that account
    started_by: int | None = None  # who was logged in when it began, and still is
    has_account: bool = False  # an account has confirmed this e-mail address
    has_link: bool = False  # another login is linked to the account that it was begun from


@dataclass(frozen=True, slots=True)
class LinkView:
    """A login by a provider that is linked to an account, as its owner sees it."""

    email: str
    linked_at: datetime
    last_used_at: datetime


@dataclass(frozen=True, slots=True)
class Returned:
    """What came of a login at the provider."""

    outcome: Outcome
    next_page: str = "/"
    session_token: str | None = None


@dataclass(frozen=True, slots=True)
class Newcomer:
    """Somebody whom a provider knows and who has no account here."""

    provider: LoginProvider
    subject: str
    email: str
    name: str
    next_page: str


class NewAccount(BaseModel):
    """The form for an account without a password."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    name: Annotated[str, Field(min_length=2, max_length=80, description="as it is shown to others"), Visible]
