"""Editions and competitions as pages and programs see them."""

import uuid
from dataclasses import dataclass, field

from app.editions.schemas import PhaseView
from app.images.pictures import Representative
from app.participation.schemas import Step
from app.published.schemas import PublishedLine
from app.quotas.schemas import QuotaLine
from app.standings.schemas import Arrival, Matrix
from scoring import CompetitionInfo, Limits
from scoring.protocol_table import TaskDescription


@dataclass(frozen=True, slots=True)
class CompetitionLine:
    """A competition of a phase on the edition's page."""

    number: int
    task: str
    title: str
    data_rule: str


@dataclass(frozen=True, slots=True)
class PhaseCard:
    """A phase with the competitions that can be entered."""

    phase: PhaseView
    competitions: tuple[CompetitionLine, ...]
    bits: int | None = None  # that can have been disclosed to any team, where the organiser shows it
    pictures: tuple[Representative, ...] = ()  # one for each task, where the reader sees them


@dataclass(frozen=True, slots=True)
class EditionSummary:
    """An edition in the list of all."""

    code: str
    title: str
    dataset: str
    phases: tuple[PhaseView, ...]


@dataclass(frozen=True, slots=True)
class PhasePictures:
    """A picture for each task of a phase."""

    phase: PhaseView
    pictures: tuple[Representative, ...]


@dataclass(frozen=True, slots=True)
class HomeView:
    """What there is to enter and to read."""

    editions: tuple[EditionSummary, ...]  # the newest first
    open: tuple[PhaseView, ...]  # what closes first is first
    upcoming: tuple[PhaseView, ...]
    deadline: PhaseView | None  # the open phase that closes first
    newest: tuple[Arrival, ...]
    published: tuple[PublishedLine, ...] = ()  # historical editions, not scored here
    pictures: PhasePictures | None = None  # of an open phase whose images everybody sees


@dataclass(frozen=True, slots=True)
class EditionView:
    """An edition with everything its page shows."""

    code: str
    title: str
    dataset: str
    phases: tuple[PhaseCard, ...]
    matrix: Matrix | None = None  # of one phase; none where there is no phase
    has_terms: bool = False


@dataclass(frozen=True, slots=True)
class ExpectedFiles:
    """A competition with what a line of its result files holds."""

    info: CompetitionInfo
    grammar: str


@dataclass(frozen=True, slots=True)
class SubmitView:
    """What somebody needs to know before an upload."""

    phase: PhaseView
    competitions: tuple[ExpectedFiles, ...]
    quota: tuple[QuotaLine, ...]
    max_upload: int  # bytes
    limits: Limits
    steps: tuple[Step, ...] = ()  # what this person has to do first
    can_upload: bool = True


@dataclass(frozen=True, slots=True)
class ExampleFile:
    """The beginning of a valid result file."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CompetitionView:
    """What a competition of a phase asks for, and how it is scored now."""

    phase: PhaseView
    info: CompetitionInfo
    data_rule: str
    path: str  # of its files in an archive, with <class> or the like for what differs
    grammar: str  # of a line or file
    example: ExampleFile | None  # none where a file is no text
    has_example: bool  # an example archive can be downloaded
    classes: tuple[str, ...]
    protocol: str
    rules: TaskDescription | None  # none for a protocol that this version does not know
    ground_truth: int
    ground_truth_id: uuid.UUID  # of this version of the annotation, random
    scorer: str
    has_terms: bool
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class FoundMethod:
    """A public method whose name begins like what was looked for."""

    id: int
    name: str
    title: str
    edition_title: str


@dataclass(frozen=True, slots=True)
class Found:
    """What is called like some words."""

    words: str
    editions: tuple[EditionSummary, ...]  # the most likely first
    methods: tuple[FoundMethod, ...]
