"""Editions, phases and competitions as pages and programs see them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from app.models import Disclosure


class PhaseState(StrEnum):
    """Whether a phase takes submissions now."""

    UPCOMING = "upcoming"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class PhaseView:
    """A phase and its rules."""

    id: int
    edition: str
    edition_title: str
    dataset: str
    image_set: str
    disclosure: Disclosure
    protocol: str
    description_key: str
    opens_at: datetime
    closes_at: datetime | None
    grace: timedelta
    quota: int | None
    quota_window: timedelta
    state: PhaseState


@dataclass(frozen=True, slots=True)
class Leader:
    """One of the first rows of a board."""

    rank: int
    method: str
    submission: int
    mean: float


@dataclass(frozen=True, slots=True)
class CompetitionCard:
    """A competition of a phase on the edition's page."""

    edition: str
    image_set: str
    number: int
    task: str
    title: str
    data_rule: str
    methods: int
    leaders: tuple[Leader, ...]


@dataclass(frozen=True, slots=True)
class PhaseCard:
    """A phase with its competitions on the edition's page."""

    phase: PhaseView
    competitions: tuple[CompetitionCard, ...]


@dataclass(frozen=True, slots=True)
class EditionSummary:
    """An edition in the list of all."""

    code: str
    title: str
    dataset: str
    phases: tuple[PhaseView, ...]
    methods: int


@dataclass(frozen=True, slots=True)
class EditionView:
    """An edition with everything its page shows."""

    code: str
    title: str
    dataset: str
    phases: tuple[PhaseCard, ...]
