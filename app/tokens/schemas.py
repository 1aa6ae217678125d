"""The form for a new token, and tokens as their owners see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.names import Visible


class NewToken(BaseModel):
    """The form for a new token."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=80, description="what will use it"), Visible]


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token as its owner sees it: never the token itself."""

    id: int
    name: str
    hint: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
