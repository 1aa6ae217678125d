"""The login form, sessions as their owners see them, and who makes a request."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.access import Actor
from app.passwords.rules import MAX_LENGTH


class Login(BaseModel):
    """The login form."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    email: Annotated[str, Field(max_length=254)]
    password: Annotated[str, Field(max_length=MAX_LENGTH)]


@dataclass(frozen=True, slots=True)
class Browser:
    """Where a login comes from."""

    client: str  # whom the limits count: an address or a network
    name: str = "unknown browser"
    cookie: str | None = None  # of its session, which may be over


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that is not over."""

    actor: Actor | None  # whose it is; none where the person is suspended
    awaits_code: bool


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session as its owner sees it; the key names it and opens nothing."""

    key: str
    browser: str
    created_at: datetime
    last_seen_at: datetime
    is_this: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """Who makes a request."""

    actor: Actor
    awaits_code: bool = False  # the password was right, and the second factor is missing
