"""The steps that create a challenge: the form of each, what it means for phases, and texts that are proposed. Pure."""

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import ceil
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

import scoring
from app.challenges.phase_rules import DAY, PhaseRules
from app.challenges.terms import SHORTEST
from app.challenges.visibility import NewInvitations
from app.core.names import Visible, folded, problem_of_name
from app.intake.class_choices import MOST_CHOSEN
from app.intake.draft_phases import Task, Template, Tracks, problem_of_sets, protocols_of
from app.intake.reports import PUBLIC, ClassChoice, FoundSet
from app.models import ChallengeDraft, ChallengeVisibility, Disclosure, Quota, in_order
from app.web.formats import plural
from app.web.forms import OrBlank, all_errors
from app.web.zones import Moment

LONGEST_TERMS: Final = 20_000
OF_COCO: Final = (Task.DETECTION, Task.SEGMENTATION)


class Step(enum.StrEnum):
    """The steps, in their order."""

    WHAT = "what"
    DATA = "data"
    CHECK = "check"
    SCORING = "scoring"
    RULES = "rules"
    PAGE = "page"


TITLES: Final = {
    Step.WHAT: "What", Step.DATA: "Images and annotations", Step.CHECK: "Check", Step.SCORING: "Scoring",
    Step.RULES: "Rules", Step.PAGE: "Page and files",
}  # fmt: skip


class OthersRows(enum.StrEnum):
    """When others see a result."""

    LIVE = "live"
    FROZEN = "frozen"  # at once, but not in the last days
    AT_CLOSE = "at close"


class TermsChoice(enum.StrEnum):
    """The terms that participants accept."""

    NONE = "none"
    RESEARCH = "research"
    OWN = "own"


FROZEN: Final = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)


def _usable(code: str) -> str:
    if problem := problem_of_name(code):
        raise ValueError(problem)
    return code


Title = Annotated[str, Field(min_length=2, max_length=80), Visible]
Code = Annotated[str, Field(min_length=1, max_length=40), AfterValidator(_usable)]


Line = "^[^\0\r\n]*$"
Licence = Annotated[str, Field(max_length=200, pattern=Line)]


class What(BaseModel):
    """The first step: what the challenge is about."""

    model_config = FROZEN

    title: Title
    code: Code
    tagline: Annotated[str, Field(max_length=160, pattern=Line)] = ""
    template: Template
    tasks: Annotated[tuple[Task, ...], Field(min_length=1)]
    tracks: Tracks = Tracks.ONE

    @field_validator("tasks")
    @classmethod
    def _known(cls, tasks: tuple[Task, ...], info: ValidationInfo) -> tuple[Task, ...]:
        if info.data.get("template") is Template.COCO and (others := set(tasks) - set(OF_COCO)):
            raise ValueError(
                f"COCO-like challenges have {' and '.join(OF_COCO)}, not {', '.join(sorted(others))}"
            )
        return tuple(each for each in Task if each in tasks)

    @property
    def columns(self) -> dict[str, Any]:
        """What the row of a draft has of it."""
        return {
            "template": self.template.value,
            "tasks": [*map(str, self.tasks)],
            "tracks": self.tracks.value,
        }


class Check(BaseModel):
    """The third step: the image sets that participants submit to, by their keys in the report."""

    model_config = FROZEN

    sets: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]
    # how many of their images the organiser knows to have no picture
    without_picture: OrBlank[Annotated[int, Field(ge=0, le=10**9)]] = None


class ClassRows(BaseModel):
    """The rows of the form for classes: the name in the annotation, the new name, the position from 1; and which are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    found: Annotated[tuple[str, ...], Field(max_length=MOST_CHOSEN)]
    names: tuple[str, ...]
    positions: tuple[Annotated[int, Field(ge=1, le=100_000)], ...]
    ignored: tuple[str, ...]

    @property
    def choices(self) -> tuple[ClassChoice, ...]:
        """What becomes of each class, in the order of the rows."""
        return tuple(
            ClassChoice(found, found if found in self.ignored else name.strip(), found in self.ignored)
            for found, name in zip(self.found, self.names, strict=True)
        )

    def fit(self, classes: Sequence[ClassChoice]) -> bool:
        """Whether these are rows for the classes of a report."""
        is_whole = len(self.found) == len(self.names) == len(self.positions)
        return is_whole and self.found == tuple(each.found for each in classes)


class ScoringChoice(BaseModel):
    """The fourth step: how results are scored, and what is shown of the scores."""

    model_config = FROZEN

    protocol: Annotated[str, Field(max_length=60)]
    disclosure: Disclosure  # of phases with hidden annotation
    others: OthersRows = OthersRows.LIVE
    frozen_days: OrBlank[Annotated[int, Field(ge=1, le=365)]] = None  # if they are frozen
    closes_at: OrBlank[Moment] = None  # asked for in this step where no date was set before
    only_complete: bool = False
    details_at_close: bool = False

    @field_validator("disclosure")
    @classmethod
    def _hidden(cls, disclosure: Disclosure) -> Disclosure:
        if not disclosure.is_held_out:
            raise ValueError(
                "what was sent as hidden stays hidden; send it as public annotation to publish it"
            )
        return disclosure

    @classmethod
    def form_of(cls, protocol: str, rules: PhaseRules) -> dict[str, Any]:
        """Return the fields that say what the rules of a phase say."""
        return {
            "protocol": protocol,
            "disclosure": rules.disclosure,
            "others": "at close" if rules.embargo else "frozen" if rules.frozen_days else "live",
            "frozen_days": rules.frozen_days or "",
            "closes_at": "",
            "only_complete": rules.only_complete,
            "details_at_close": rules.details_at_close,
        }

    def applied_to(self, rules: PhaseRules, now: datetime) -> PhaseRules:
        """Return the rules of a phase as they are shown then; where annotation is public, everything is."""
        is_at_close = self.others is OthersRows.AT_CLOSE
        if not rules.is_held_out:
            return replace(rules, embargo=is_at_close and rules.closes_at is not None)
        return rules.changed(
            now,
            closes_at=self.closes_at or rules.closes_at,
            frozen_days=self.frozen_days or 0 if self.others is OthersRows.FROZEN else 0,
            disclosure=self.disclosure,
            details_at_close=self.details_at_close,
            only_complete=self.only_complete,
            embargo=is_at_close,
        )


class RulesChoice(BaseModel):
    """The fifth step: dates, quotas, who takes part and under which terms. None as a date: with the challenge, or never."""

    model_config = FROZEN

    opens_at: OrBlank[Moment] = None
    closes_at: OrBlank[Moment] = None
    per_day: OrBlank[Annotated[int, Field(ge=1, le=1000)]] = None
    per_week: OrBlank[Annotated[int, Field(ge=1, le=1000)]] = None
    total: OrBlank[Annotated[int, Field(ge=1, le=100_000)]] = None
    approves_teams: bool = False
    most_members: OrBlank[Annotated[int, Field(ge=1, le=1000)]] = None
    visibility: ChallengeVisibility = ChallengeVisibility.LISTED
    invited: Annotated[str, Field(max_length=20_000)] = ""
    image_licence: Licence = ""
    annotation_licence: Licence = ""
    terms: TermsChoice = TermsChoice.NONE
    terms_text: Annotated[str, Field(max_length=LONGEST_TERMS, pattern="^[^\0]*$")] = ""

    @field_validator("visibility")
    @classmethod
    def _of_an_open_challenge(cls, visibility: ChallengeVisibility) -> ChallengeVisibility:
        if visibility is ChallengeVisibility.DRAFT:
            raise ValueError("choose who can see the challenge once it is open")
        return visibility

    @property
    def people(self) -> tuple[str, ...]:
        """The addresses and domains to invite; none if the challenge is not for invited people."""
        if self.visibility is not ChallengeVisibility.INVITED:
            return ()
        return tuple(dict.fromkeys(folded(each) for each in re.split(r"[\s,;]+", self.invited) if each))

    def applied_to(self, rules: PhaseRules, now: datetime, *, is_main: bool) -> PhaseRules:
        """Return the rules of a phase with these dates and quotas; one that is not main only opens then.

        Quotas of other windows than those of the form stay.
        """
        opens_at = self.opens_at or now
        if not is_main:
            return replace(rules, opens_at=opens_at)
        given = ((self.per_day, 1), (self.per_week, 7), (self.total, None))
        others = (each for each in rules.quotas if each.days not in (1, 7, None))
        quotas = in_order((*others, *(Quota(results, days) for results, days in given if results)))
        return rules.changed(now, closes_at=self.closes_at, opens_at=opens_at, quotas=quotas)


class Opening(BaseModel):
    """When a challenge opens by itself, if it does."""

    model_config = FROZEN

    opens_at: OrBlank[Moment] = None


FOUND_BY: Final = {
    ChallengeVisibility.LISTED: "Everybody can find the challenge",
    ChallengeVisibility.LINK: "Only people who have the link find the challenge",
    ChallengeVisibility.INVITED: "Only invited people see the challenge",
}


# what the forms mean


def problems_of_check(
    draft: ChallengeDraft, sets: Sequence[FoundSet], without_picture: int
) -> Mapping[str, str]:
    """Return what is wrong with the image sets that participants submit to, by field of the third step."""
    if problem := problem_of_sets(sets, draft.tasks, draft.tracks):
        return {"sets": problem}
    if sum(each.without_picture for each in sets) > without_picture:
        lacking = "; ".join(each.lacks for each in sets if each.lacks)
        return {"without_picture": f"{lacking}. Send them in step 2, or tick that they stay so"}
    return {}


def problems_of_scoring(
    choice: ScoringChoice, dataset: str, rules: Sequence[PhaseRules], now: datetime
) -> Mapping[str, str]:
    """Return what is wrong with how results are scored, by field. rules: of the phases, with the choice."""
    problems = _contradictions(rules, {"closes_at": "closes_at", "frozen_from": "frozen_days"})
    if choice.closes_at is not None and choice.closes_at <= now:
        problems["closes_at"] = "must be in the future"
    if choice.protocol not in protocols_of(dataset):
        problems["protocol"] = "choose a protocol that has rules for this data set"
    if choice.others is OthersRows.FROZEN and choice.frozen_days is None:
        problems["frozen_days"] = "say for how many days the rows of others are frozen"
    return problems


def problems_of_rules(choice: RulesChoice, rules: Sequence[PhaseRules], now: datetime) -> Mapping[str, str]:
    """Return what is wrong with dates, quotas, people and terms, by field. rules: of the phases, with the choice."""
    fields = {"quotas": "per_week", "closes_at": "closes_at", "frozen_from": "closes_at"}
    problems = _contradictions(rules, fields)
    if choice.closes_at is not None and choice.closes_at <= now:
        problems["closes_at"] = "must be in the future"
    try:
        if choice.people:
            NewInvitations(people=choice.people)
    except ValidationError as error:
        problems["invited"] = all_errors(error)
    if choice.visibility is ChallengeVisibility.INVITED and not choice.people:
        problems["invited"] = "name at least one address or domain; codes can be made later under Visibility"
    if choice.terms is TermsChoice.OWN and len(choice.terms_text) < SHORTEST:
        is_short = f"must have at least {SHORTEST} characters"
        problems["terms_text"] = is_short if choice.terms_text else "write the terms, or choose others"
    return problems


def _contradictions(rules: Sequence[PhaseRules], fields: Mapping[str, str]) -> dict[str, str]:
    """Return what contradicts itself in rules, the first of each field. fields: where each is shown, by the rule that it is about."""
    found = [problem for each in rules for problem in each.contradictions()]
    return {
        next(field for rule, field in fields.items() if rule in each.about): each.message
        for each in reversed(found)
    }


def proposed_quotas(opens_at: datetime, closes_at: datetime | None) -> Mapping[str, int | None]:
    """Propose quotas from the length of a phase, so that a test set keeps its secrets and nobody waits for long.

    >>> start = datetime(2027, 1, 1)
    >>> proposed_quotas(start, start + 3 * DAY)
    {'per_day': 2, 'per_week': None, 'total': 6}
    >>> proposed_quotas(start, start + 42 * DAY), proposed_quotas(start, None)["total"]
    ({'per_day': None, 'per_week': 2, 'total': 12}, 30)
    """
    if closes_at is None:
        return {"per_day": None, "per_week": 2, "total": 30}
    days = max(1, ceil((closes_at - opens_at) / DAY))
    if days <= 7:
        return {"per_day": 2, "per_week": None, "total": min(30, 2 * days)}
    return {"per_day": None, "per_week": 2, "total": min(30, 2 * ceil(days / 7))}


def _listed(words: Sequence[str]) -> str:
    """Join words as a sentence has them.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def form_of_terms(text: str, research: str) -> dict[str, str]:
    """Return the fields that say which terms there are. research: the text of those for research and teaching."""
    if text and text != research:
        return {"terms": TermsChoice.OWN, "terms_text": text}
    return {"terms": TermsChoice.RESEARCH if text else TermsChoice.NONE, "terms_text": ""}


def research_terms(title: str, image_licence: str, annotation_licence: str) -> str:
    """Return terms for research and teaching, which name the challenge and its licences."""
    images = image_licence or "the licence that the organisers name"
    annotation = annotation_licence or "the licence that the organisers name"
    return (
        f"By taking part in {title} you agree that:\n\n"
        "1. You use the images and the annotation for research and teaching only.\n"
        f"2. You respect their licences: images under {images}, annotation under {annotation}.\n"
        "3. You do not try to find out hidden annotation other than by submitting results within the quota.\n"
        "4. You take part with one account, and you name in each method the data that it was trained on.\n"
        "5. Results that you make public may be shown and cited together with the name of your team."
    )


def _objects(found: FoundSet) -> str:
    """Count the objects of a set as the other pages do: without difficult ones."""
    difficult = f" ({found.objects:,} with difficult ones)" if found.difficult else ""
    return f"{found.objects - found.difficult:,}{difficult}"


def page_of(
    tagline: str, tasks: Sequence[str], protocol: str, licences: Mapping[str, str], sets: Sequence[FoundSet]
) -> str:
    """Propose the text of the challenge's page, in Markdown. licences: of "Images" and "Annotations"; sets: all of the data set.

    Of hidden annotation it says no more than how many images there are.
    """
    rows = [
        f"| {each.name} | {each.images:,} | {_objects(each) if each.role == PUBLIC else 'hidden'} |"
        for each in sets
    ]
    classes = sets[0].classes if sets else ()
    named = [f"{what} are under {licence}." for what, licence in licences.items() if licence]
    return "\n".join(
        [
            *([tagline, ""] if tagline else []),
            "## Task",
            "",
            f"{_listed([each.capitalize() for each in tasks])} of {plural(len(classes), 'class')}: "
            f"{', '.join(each.name for each in classes)}."
            if classes
            else f"{_listed([each.capitalize() for each in tasks])}.",
            "",
            "## Data",
            "",
            "| image set | images | objects |",
            "|---|---:|---:|",
            *rows,
            "",
            *([" ".join(named), ""] if named else []),
            "## Scoring",
            "",
            f"Results are scored by the protocol [{scoring.PROTOCOLS[protocol].title}](/docs/protocols/{protocol}).",
            "",
        ]
    )
