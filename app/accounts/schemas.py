"""Forms of accounts, and tokens as their owners see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.access import Actor
from app.accounts.rules import is_visible
from app.drafts import Draft


def _visible(name: str) -> str:
    if not is_visible(name):
        message = "must have visible characters, and no control or invisible ones"
        raise ValueError(message)
    return name


Visible = AfterValidator(_visible)
Password = Annotated[str, Field(min_length=10, max_length=200, description="at least 10 characters")]
Email = Annotated[
    str, Field(max_length=254, pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$", description="where we can reach you")
]


class Registration(BaseModel):
    """The form for a new account."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    email: Email
    name: Annotated[str, Field(min_length=2, max_length=80, description="as it is shown to others"), Visible]
    password: Password


class Login(BaseModel):
    """The login form."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    email: Annotated[str, Field(max_length=254)]
    password: Annotated[str, Field(max_length=200)]


class NewToken(BaseModel):
    """The form for a new token."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=80, description="what will use it"), Visible]


@dataclass(frozen=True, slots=True)
class Visit:
    """Who makes a request, and the form that they have not sent again yet."""

    actor: Actor
    draft: Draft | None = None


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token as its owner sees it: never the token itself."""

    id: int
    name: str
    hint: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
