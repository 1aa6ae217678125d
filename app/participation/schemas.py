"""Terms as people and programs read them, and the form that sets them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

SHORTEST = 20  # characters of terms


@dataclass(frozen=True, slots=True)
class TermsView:
    """The terms of an edition that hold now, and when the reader accepted them."""

    id: int
    edition_id: int
    edition: str
    edition_title: str
    version: int
    text: str
    set_at: datetime
    accepted_at: datetime | None


@dataclass(frozen=True, slots=True)
class Step:
    """What a person does before their results are taken, and the page for it."""

    title: str
    reason: str
    address: str


def _long_enough_or_none(text: str) -> str:
    if 0 < len(text) < SHORTEST:
        raise ValueError(f"must have at least {SHORTEST} characters, or none")
    return text


class NewTerms(BaseModel):
    """The form for terms."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    text: Annotated[
        str, Field(max_length=50_000, pattern="^[^\0]*$"), AfterValidator(_long_enough_or_none)
    ]  # none: the edition has no terms any more


class Accepted(BaseModel):
    """The terms of an edition, as programs read them."""

    edition: str
    version: int
    text: str
    set_at: datetime
    accepted_at: Annotated[
        datetime | None, Field(description="by you; none: not yet, or you are not logged in")
    ]
    accept_at: Annotated[str, Field(description="the page where a person accepts them")]
