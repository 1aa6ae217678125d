"""The form for a new token, and tokens as their owners see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.access import Scope
from app.names import Visible
from app.tokens.rules import DEFAULT_LIFETIME


class NewToken(BaseModel):
    """The form for a new token."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=80, description="what will use it"), Visible]
    scope: Annotated[frozenset[Scope], Field(min_length=1, description="what it may do")]
    days: Annotated[Literal[1, 7, 30, 90, 365], Field(description="how long it lasts")] = DEFAULT_LIFETIME


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token as its owner sees it: never the token itself."""

    id: int
    name: str
    hint: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    is_expired: bool

    @property
    def state(self) -> str:
        """What became of it."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.is_expired else "active"
