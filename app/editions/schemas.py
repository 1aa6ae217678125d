"""Phases as pages and programs see them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from app.models import Disclosure, Quota


class PhaseState(StrEnum):
    """Whether a phase takes submissions now."""

    UPCOMING = "upcoming"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class PhaseView:
    """A phase and its rules."""

    id: int
    edition_id: int
    edition: str
    edition_title: str
    dataset: str
    image_set: str
    disclosure: Disclosure
    details_at_close: bool
    only_complete: bool  # the values of classes are shown of complete results only
    is_over: bool  # closed, and no upload can be scored any more
    protocol: str
    description_key: str
    opens_at: datetime
    closes_at: datetime | None
    grace: timedelta
    quotas: tuple[Quota, ...]  # of a team and of a person, for each task, in force; the shortest window first
    state: PhaseState
    own_quotas: tuple[Quota, ...] = ()  # what its organisers chose
    shares_quotas: bool = False  # another held-out phase has the same annotation: results count in both, and its quotas apply, too
    shows_exposure: bool = False  # everybody sees how much can have been disclosed to any team
    embargo: bool = False  # others than a result's team and organisers see it once the phase is over
    not_offered: tuple[int, ...] = ()  # competitions without ground truth
    has_images: bool = False  # pictures were imported
    shows_images: bool = False  # everybody sees its pictures
    draws_images: bool = False  # and annotation and predictions drawn over them
