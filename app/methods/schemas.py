"""Methods as pages and programs see them, and what is stated of their training."""

import enum
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, TypeAdapter, ValidationError

from app.forms import OrBlank
from app.memberships.schemas import MemberView
from app.names import Visible
from app.standings.schemas import ResultView

_ADDRESS = TypeAdapter(HttpUrl)


class Annotation(enum.StrEnum):
    """Which annotation a segmentation method with given data was trained on."""

    SEGMENTATIONS = "segmentations"
    BOXES = "segmentations and boxes"


def _printable_ascii(name: str) -> str:
    """Other alphabets have letters that look like these ones; a title may have any."""
    if not (name.isascii() and name.isprintable()):
        message = (
            "must have only letters A to Z, digits and ASCII punctuation, so that no two names look the same"
        )
        raise ValueError(message)
    return name


def _web_address(text: str) -> str:
    if text:
        try:
            _ADDRESS.validate_python(text)
        except ValidationError as error:
            message = "must be an address that begins with https:// or http://"
            raise ValueError(message) from error
    return text


Address = Annotated[str, Field(max_length=500), AfterValidator(_web_address)]


Name = Annotated[
    str,
    Field(min_length=2, max_length=40, description="abbreviation, unique in the edition, e.g. 'LEAR_flat'"),
    AfterValidator(_printable_ascii),
    Visible,
]
Title = Annotated[str, Field(max_length=200, description="what the abbreviation stands for")]
Contributors = Annotated[str, Field(max_length=500, description="who made it")]
Affiliation = Annotated[str, Field(max_length=300, description="where they work")]
Description = Annotated[
    str, Field(max_length=4000, description="how it works; at least 500 characters once it is public")
]
PaperAddress = Annotated[
    Address, Field(description="address of a paper", examples=["https://example.org/paper"])
]
CodeAddress = Annotated[
    Address, Field(description="address of the code", examples=["https://example.org/code"])
]


class NewMethod(BaseModel):
    """What a team says about a method, as the leaderboard shows it."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: Name
    title: Title = ""
    contributors: Contributors = ""
    affiliation: Affiliation = ""
    description: Description = ""
    paper_url: PaperAddress = ""
    code_url: CodeAddress = ""
    is_baseline: Annotated[bool, Field(description="marked as a baseline on the board; for organisers")] = (
        False
    )


class MethodEdit(BaseModel):
    """What to change about a method; fields that are left out stay as they are."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: Name | None = None
    title: Title | None = None
    contributors: Contributors | None = None
    affiliation: Affiliation | None = None
    description: Description | None = None
    paper_url: PaperAddress | None = None
    code_url: CodeAddress | None = None


class Training(BaseModel):
    """What the team states of the data that a method was trained on."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    given_data_only: Annotated[
        bool,
        Field(
            description="only the given training and validation data was used; required where no other is allowed"
        ),
    ] = False
    other_data: Annotated[
        str,
        Field(max_length=1000, description="which other data was used; required where any data is allowed"),
    ] = ""
    no_excluded_data: Annotated[
        bool,
        Field(
            description="neither the test images nor other excluded data was used; required where any data is allowed"
        ),
    ] = False
    annotation: Annotated[
        OrBlank[Annotation],
        Field(description="for segmentation with given data: which annotation was used"),
    ] = None


@dataclass(frozen=True, slots=True)
class MethodView:
    """A method of a team."""

    id: int
    name: str
    title: str
    contributors: str
    affiliation: str
    description: str
    paper_url: str
    code_url: str
    is_baseline: bool
    public_at: datetime | None  # none: only its team and organisers see its results


@dataclass(frozen=True, slots=True)
class Change:
    """An earlier text of a public method."""

    changed_at: datetime
    before: dict[str, str]


@dataclass(frozen=True, slots=True)
class MethodPage:
    """A method with where it is from, its earlier texts and what this reader may do with it."""

    method: MethodView
    edition: str
    edition_title: str
    team_id: int
    team: str
    members: tuple[MemberView, ...]  # of the team, who agreed to be named
    has_more_members: bool  # on the page of the team
    submissions: tuple[int, ...]
    results: tuple[ResultView, ...]  # that stand on boards
    changes: tuple[Change, ...]
    is_ours: bool
    can_rename: bool
    unpublishable: str | None  # why it cannot be made public yet
