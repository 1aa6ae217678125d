"""Uploads, methods and submissions as pages and programs see them."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.accounts.schemas import Visible
from app.editions.rules import disclosed, disclosed_bounds
from app.editions.schemas import PhaseView
from app.exhibits.schemas import ClassValue
from app.models import ClassScore, EntryState, Run, RunState


class NewMethod(BaseModel):
    """What a team tells about a method, as it will stand on the leaderboard."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: Annotated[
        str, Field(min_length=2, max_length=40, description="short name, e.g. 'LEAR_flat'"), Visible
    ]
    title: Annotated[str, Field(max_length=200, description="what the short name stands for")] = ""
    contributors: Annotated[str, Field(max_length=500, description="who made it")] = ""
    affiliation: Annotated[str, Field(max_length=300, description="where they work")] = ""
    description: Annotated[str, Field(max_length=4000, description="how it works, in one paragraph")] = ""
    is_baseline: Annotated[bool, Field(description="marked as a baseline on the board; for organisers")] = (
        False
    )


class NewSubmission(BaseModel):
    """Score this upload as this method's result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    upload: Annotated[uuid.UUID, Field(description="a checked upload without problems")]
    method: Annotated[
        NewMethod, Field(description="the method; one of the same name of your team is used again")
    ]
    competitions: Annotated[
        Annotated[tuple[int, ...], Field(min_length=1)] | None,
        Field(description="numbers of competitions; default: all that the archive has files for"),
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
    is_baseline: bool


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What stands beside the button that has an upload scored."""

    phase: PhaseView
    methods: tuple[MethodView, ...]
    quota: str | None  # what pressing it uses up
    refusals: tuple[str, ...]  # what is against it whatever the method


@dataclass(frozen=True, slots=True)
class RunView:
    """One scoring of an entry."""

    id: int
    state: RunState
    attempt: int
    queued_at: datetime
    claimed_at: datetime | None
    finished_at: datetime | None
    sentence: str | None
    position: int | None  # 1: next to be scored
    wait_seconds: int | None  # expected
    protocol: str
    measure: str | None
    ground_truth: int  # version
    scorer: str
    receipt: str | None
    headline: float | None
    headline_reason: str | None
    low: float | None  # of the headline's interval of 95 %
    high: float | None
    classes: tuple[ClassValue, ...]
    is_rescore: bool


@dataclass(frozen=True, slots=True)
class EntryView:
    """A submission's result in one competition."""

    id: int
    competition: int
    title: str
    state: EntryState
    shown: RunView  # what the board shows, or the latest run
    runs: int


@dataclass(frozen=True, slots=True)
class SubmissionView:
    """A submission with its entries."""

    id: int
    edition: str
    image_set: str
    method: MethodView
    team: str
    filename: str
    size: int
    sha256: str
    received_at: datetime
    checked_at: datetime
    created_at: datetime
    entries: tuple[EntryView, ...]
    is_ours: bool  # the reader's own team's
    is_final: bool  # nothing will change by waiting


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """A line of "my submissions": one entry."""

    submission: int
    edition: str
    image_set: str
    competition: int
    method: str
    created_at: datetime
    state: EntryState
    run_state: RunState
    position: int | None
    mean: float | None
    sentence: str | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is known of the queue: the place of each waiting run, and how long a run usually takes."""

    places: Mapping[int, int]
    seconds: float | None

    def place(self, run: Run) -> int | None:
        """1 for the run that is taken next."""
        return self.places.get(run.id)

    def wait(self, run: Run) -> int | None:
        """Seconds until the run is through, as far as one can tell."""
        place = self.place(run)
        return round(place * self.seconds) if place and self.seconds is not None else None


def run_view(
    run: Run, version: int, scores: Sequence[ClassScore], waiting: Waiting, *, everything: bool
) -> RunView:
    """A run as a reader may see it; `version` is its ground truth's."""
    headline = next((score for score in scores if score.class_name is None), None)
    low, high = _bounds(headline, everything=everything) if headline else (None, None)
    return RunView(
        id=run.id,
        state=run.state,
        attempt=run.attempt,
        queued_at=run.queued_at,
        claimed_at=run.claimed_at,
        finished_at=run.finished_at,
        sentence=run.sentence,
        position=waiting.place(run),
        wait_seconds=waiting.wait(run),
        protocol=run.protocol,
        measure=run.measure,
        ground_truth=version,
        scorer=run.scorer,
        receipt=run.receipt,
        headline=disclosed(headline.value, everything=everything) if headline else None,
        headline_reason=headline.reason if headline else None,
        low=low,
        high=high,
        classes=tuple(
            class_value(score, everything=everything) for score in scores if score.class_name is not None
        ),
        is_rescore=run.rescore_id is not None,
    )


def class_value(score: ClassScore, *, everything: bool) -> ClassValue:
    """A class's score as a reader may see it; counts tell about the hidden objects."""
    low, high = _bounds(score, everything=everything)
    return ClassValue(
        name=score.class_name or "",
        value=disclosed(score.value, everything=everything),
        low=low,
        high=high,
        reason=score.reason,
        positives=score.positives if everything else None,
        answers=score.answers if everything else None,
    )


def _bounds(score: ClassScore, *, everything: bool) -> tuple[float | None, float | None]:
    return disclosed_bounds(score.low, score.high, everything=everything)
