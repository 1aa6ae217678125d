"""Editions and competitions as pages and programs see them."""

from dataclasses import dataclass

from app.editions.schemas import PhaseView
from app.leaderboards.schemas import Leader
from app.participation.schemas import Step
from app.quotas.schemas import QuotaLine
from scoring import CompetitionInfo


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
    bits: int | None = None  # that can have been disclosed to any team, where the organiser shows it


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
    steps: tuple[Step, ...] = ()  # what this person has to do first
    can_upload: bool = True
