"""Forms for one's profile and the end of one's account."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, TypeAdapter, ValidationError

from app.names import Visible
from app.profiles.rules import orcid_of

_ADDRESS = TypeAdapter(HttpUrl)

PersonName = Annotated[
    str, Field(min_length=2, max_length=80, description="as it is shown to others"), Visible
]


def _homepage(text: str) -> str:
    if text:
        message = "must be an address that begins with https://"
        try:
            address = _ADDRESS.validate_python(text)
        except ValidationError as error:
            raise ValueError(message) from error
        # what stands before an @ looks like the host, and is not
        if address.scheme != "https" or address.username or address.password:
            raise ValueError(message)
    return text


def _orcid(text: str) -> str:
    return orcid_of(text) if text else ""


class Profile(BaseModel):
    """What a person says of themselves."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    name: PersonName
    affiliation: Annotated[str, Field(max_length=200, pattern="^[^\0]*$")] = ""
    homepage: Annotated[str, Field(max_length=300), AfterValidator(_homepage)] = ""
    orcid: Annotated[str, Field(max_length=60), AfterValidator(_orcid)] = ""


class Results(StrEnum):
    """What becomes of the results of teams that nobody else is in."""

    KEEP = "keep"  # they stay under the team's name
    ERASE = "erase"  # private ones go; what has to stay names nobody


class Deletion(BaseModel):
    """The form that ends an account."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    password: Annotated[str, Field(max_length=200)]
    results: Results


@dataclass(frozen=True, slots=True)
class OwnResults:
    """A team that a person is in, as far as it counts for the end of their account."""

    team: str
    edition_title: str
    is_alone: bool
    private: int  # results that nobody else sees
    public: int
