"""Anonymous links as their team and their readers see them."""

from dataclasses import dataclass
from datetime import datetime

from app.anonymous.rules import LinkState
from app.exhibits.schemas import ClassValue


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link as its team sees it."""

    id: int
    path: str
    address: str  # with the host of the settings, to be copied
    state: LinkState
    created_at: datetime
    run: int


@dataclass(frozen=True, slots=True)
class LinksPage:
    """The anonymous links of a result, with why it cannot have another."""

    entry: int
    submission: int
    method: str
    competition: int
    title: str
    links: tuple[LinkView, ...]
    refusals: tuple[str, ...]
    is_public: bool


@dataclass(frozen=True, slots=True)
class AnonymousResult:
    """One scoring of a result without team, method, account, archive and dates."""

    edition: str
    edition_title: str
    image_set: str
    competition: int
    title: str
    data_rule: str
    protocol: str
    ground_truth: int  # version
    scorer: str
    measure: str | None
    headline: float | None
    headline_reason: str | None
    low: float | None
    high: float | None
    classes: tuple[ClassValue, ...]
    withheld: str | None
    is_withdrawn: bool  # its team or an organiser took the result back: no values
