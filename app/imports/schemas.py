"""What an import is given, and what it did."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path

import scoring
from app.images.making import Taken
from app.models import Disclosure, ImageMode, Quota


class NoLimit(Enum):
    """An option that takes a rule away: a phase without a closing date."""

    NONE = "none"


NONE = NoLimit.NONE


class NoImages(Enum):
    """An option that takes the pictures of a phase away."""

    NONE = "none"


@dataclass(frozen=True, slots=True)
class TreeImport:
    """A development-kit tree or a file of COCO's JSON to load, and the rules of its phase.

    What is None is not given: it keeps its value in an existing phase, and has its default in a new one.
    """

    tree: Path
    edition: str
    image_set: str
    title: str | None = None
    protocol: str | None = None  # by default that of the tree's year
    disclosure: Disclosure | None = None
    details_at_close: bool | None = None
    only_complete: bool | None = None  # the values of classes are shown of complete results only
    quotas: tuple[Quota, ...] | None = (
        None  # results of a team, and of a person, for each task; empty: as many as they like
    )
    opens_at: datetime | None = None
    closes_at: datetime | NoLimit | None = None
    closes_in: timedelta | None = None  # from the import on, instead of closes_at
    grace: timedelta | None = None
    embargo: bool | None = None  # others see results once the phase is over
    limits: Mapping[str, int] = field(default_factory=dict)  # limits of an archive that change
    images: ImageMode | NoImages | None = None  # what becomes of the pictures; by default they are linked
    image_folder: Path | None = None  # where they lie, by default in the tree
    allow_public_copy: bool = False  # of annotation that another phase holds as hidden


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a phase that an import can change."""

    disclosure: Disclosure
    details_at_close: bool
    only_complete: bool
    quotas: tuple[Quota, ...]
    opens_at: datetime
    closes_at: datetime | None
    grace: timedelta
    embargo: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A rule that an import changed, in words."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import left.

    version: of the ground truth; is_new: was it not there before? new_boards: competitions that are offered from now on;
    not_offered: those without ground truth, and what the annotation lacks; warnings: what the changes mean; pictures: none where the
    tree has none.
    """

    phase_id: int
    version: int
    is_new: bool
    statistics: scoring.Statistics
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]
    new_boards: tuple[int, ...]
    not_offered: Mapping[int, str]
    pictures: Taken | None = None
    pictures_removed: bool = False
