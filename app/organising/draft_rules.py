"""The steps that create a challenge: what each asks, what the answers mean for its phases, and what is left to do. Pure."""

import enum
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    field_validator,
)

import heldout_scoring
from app.challenges.phase_rules import DAY, DEFAULT_GRACE, TOTAL, PhaseRules, parse_quota, quotas_in_words
from app.challenges.terms import LONGEST, SHORTEST
from app.core.names import Visible, folded, problem_of_name
from app.intake.applying import OTHER_PROTOCOL, Application
from app.intake.class_choices import MOST_CHOSEN
from app.intake.reports import HIDDEN, PUBLIC, Audience, ClassChoice, FoundSet
from app.models import ChallengeVisibility, Disclosure, Quota, in_order
from app.web.formats import plural
from app.web.forms import OrBlank
from app.web.zones import Moment, date_in_words
from heldout_scoring.competitions import CHALLENGES, classes_of


class Step(enum.StrEnum):
    """The steps, in their order."""

    WHAT = "what"
    DATA = "data"
    CHECK = "check"
    SCORING = "scoring"
    RULES = "rules"
    PAGE = "page"


TITLES: Final = {
    Step.WHAT: "What", Step.DATA: "Data", Step.CHECK: "Check", Step.SCORING: "Scoring",
    Step.RULES: "Rules", Step.PAGE: "Page and files",
}  # fmt: skip


class Task(enum.StrEnum):
    """What participants do."""

    CLASSIFICATION = "classification"
    DETECTION = "detection"
    SEGMENTATION = "segmentation"
    LAYOUT = "layout"
    ACTION = "action"


class Template(enum.StrEnum):
    """Whose files and measures a challenge has."""

    VOC = "voc"
    COCO = "coco"


class Tracks(enum.StrEnum):
    """How the training data divides the results of a task."""

    ONE = "one"  # a leaderboard for each task
    TWO = "two"  # one for methods trained on the given images, another for any data


class OwnScores(enum.StrEnum):
    """What a team sees of its own scores on hidden annotation while the phase is open."""

    ALL = "all"
    MEAN = "mean"
    NOTHING = "nothing"


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
    def _once(cls, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
        return tuple(each for each in Task if each in tasks)


class Check(BaseModel):
    """The third step: the image sets that participants submit to, by their keys in the report.

    seen: who may see the annotation of sets that were sent as public, such as `public-0=hidden`; kept with the data set.
    """

    model_config = FROZEN

    sets: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]
    seen: Annotated[tuple[str, ...], Field(max_length=200, exclude=True)] = ()
    # how many of their images the organiser knows to have no picture
    without_picture: OrBlank[Annotated[int, Field(ge=0, le=10**9)]] = None

    def audiences(self, sets: Sequence[FoundSet]) -> tuple[Audience, ...]:
        """Who may see the annotation of each set that was answered."""
        answers = dict(each.rpartition("=")[::2] for each in self.seen if each)
        return tuple(
            Audience(each.name, is_hidden=answers[each.key] == HIDDEN)
            for each in sets
            if answers.get(each.key) in (PUBLIC, HIDDEN)
        )


class ClassRows(BaseModel):
    """The rows of the form for classes: the name in the annotation, the new name, the position from 1; and which are ignored.

    plain: whether names get `_` in place of blanks, because names of files of results have them.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    found: Annotated[tuple[str, ...], Field(max_length=MOST_CHOSEN)]
    names: tuple[str, ...]
    positions: tuple[Annotated[int, Field(ge=1, le=100_000)], ...]
    ignored: tuple[str, ...]
    plain: bool = False

    @property
    def choices(self) -> tuple[ClassChoice, ...]:
        """What becomes of each class, in the order of the rows."""
        names = ("_".join(name.split()) if self.plain else name.strip() for name in self.names)
        return tuple(
            ClassChoice(found, found if found in self.ignored else name, found in self.ignored)
            for found, name in zip(self.found, names, strict=True)
        )

    def fit(self, classes: Sequence[ClassChoice]) -> bool:
        """Whether these are rows for the classes of a report."""
        is_whole = len(self.found) == len(self.names) == len(self.positions)
        return is_whole and self.found == tuple(each.found for each in classes)


class ScoringChoice(BaseModel):
    """The fourth step: how results are scored, and what is shown of the scores."""

    model_config = FROZEN

    protocol: Annotated[str, Field(max_length=60)]
    own: OwnScores = OwnScores.ALL
    others: OthersRows = OthersRows.LIVE
    frozen_days: OrBlank[Annotated[int, Field(ge=1, le=365)]] = None  # if they are frozen
    ladder: bool = False
    only_complete: bool = False
    details_at_close: bool = False

    @property
    def freezes(self) -> bool:
        """Whether the rows of others are frozen before the close."""
        return self.others is OthersRows.FROZEN

    @property
    def disclosure(self) -> Disclosure:
        """The disclosure of a phase whose annotation is hidden."""
        by_own = {OwnScores.ALL: Disclosure.CLASSES, OwnScores.NOTHING: Disclosure.AT_CLOSE}
        return by_own.get(self.own, Disclosure.LADDER if self.ladder else Disclosure.MEAN)


class SharedRules(BaseModel):
    """What the fifth step asks but people: dates, quotas, visibility, terms. None as a date: with the challenge, or never."""

    model_config = FROZEN

    opens_at: OrBlank[Moment] = None
    closes_at: OrBlank[Moment] = None
    per_day: OrBlank[Annotated[int, Field(ge=1, le=1000)]] = None
    per_week: OrBlank[Annotated[int, Field(ge=1, le=1000)]] = None
    total: OrBlank[Annotated[int, Field(ge=1, le=100_000)]] = None
    approves_teams: bool = False
    most_members: OrBlank[Annotated[int, Field(ge=1, le=1000)]] = None
    visibility: ChallengeVisibility = ChallengeVisibility.LISTED
    image_licence: Licence = ""
    annotation_licence: Licence = ""
    terms: TermsChoice = TermsChoice.NONE
    terms_text: Annotated[str, Field(max_length=LONGEST, pattern="^[^\0]*$")] = ""

    @field_validator("visibility")
    @classmethod
    def _of_an_open_challenge(cls, visibility: ChallengeVisibility) -> ChallengeVisibility:
        if visibility is ChallengeVisibility.DRAFT:
            raise ValueError("choose who can see the challenge once it is open")
        return visibility


class RulesChoice(SharedRules):
    """The fifth step: dates, quotas, who takes part and under which terms."""

    invited: Annotated[str, Field(max_length=20_000)] = ""
    saved_at: AwareDatetime

    @property
    def people(self) -> tuple[str, ...]:
        """The addresses and domains to invite; none if the challenge is not for invited people."""
        if self.visibility is not ChallengeVisibility.INVITED:
            return ()
        return tuple(dict.fromkeys(folded(each) for each in re.split(r"[\s,;]+", self.invited) if each))


def _parsed(quotas: object) -> object:
    """Read quotas that are written as on the command line."""
    given = quotas.split(",") if isinstance(quotas, str) else quotas
    if not isinstance(given, list | tuple):
        return given
    if not all(isinstance(each, str | Quota) for each in given):
        raise ValueError("must be a list of quotas such as 2/7, or 30/all for 30 in total")
    return in_order(parse_quota(each) if isinstance(each, str) else each for each in given)


def _written(quotas: tuple[Quota, ...]) -> list[str]:
    return [f"{each.results}/{each.days or TOTAL}" for each in quotas]


class PhaseChoice(BaseModel):
    """The rules of a phase for which those of the steps do not hold, as a file of settings gives them."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    protocol: Annotated[str, Field(max_length=60)] = ""  # empty: that of step 4
    opens_at: OrBlank[Moment] = None  # None: with the challenge
    closes_at: OrBlank[Moment]
    grace_minutes: Annotated[int, Field(ge=0, le=10_080)] = int(DEFAULT_GRACE.total_seconds() // 60)
    quotas: Annotated[
        tuple[Quota, ...],
        Field(max_length=5),
        BeforeValidator(_parsed),
        PlainSerializer(_written, return_type=list[str]),
    ]
    disclosure: Disclosure
    details_at_close: bool = False
    only_complete: bool = False
    embargo: bool = False
    frozen_days: Annotated[int, Field(ge=0, le=365)] = 0

    @classmethod
    def of(cls, rules: PhaseRules, protocol: str) -> "PhaseChoice":
        """Return the rules of a phase as they were set."""
        return cls.model_construct(
            protocol=protocol,
            opens_at=rules.opens_at,
            closes_at=rules.closes_at,
            grace_minutes=int(rules.grace.total_seconds() // 60),
            quotas=in_order(rules.quotas),
            disclosure=rules.disclosure,
            details_at_close=rules.details_at_close,
            only_complete=rules.only_complete,
            embargo=rules.embargo,
            frozen_days=rules.frozen_days,
        )

    def rules(self, now: datetime) -> PhaseRules:
        """The rules of a phase that opens now unless it has a date."""
        return PhaseRules(
            opens_at=self.opens_at or now,
            grace=timedelta(minutes=self.grace_minutes),
            quotas=self.quotas,
            disclosure=self.disclosure,
            details_at_close=self.details_at_close,
            only_complete=self.only_complete,
            embargo=self.embargo,
        ).changed(now, closes_at=self.closes_at, frozen_days=self.frozen_days)


@dataclass(frozen=True, slots=True)
class Answers:
    """The saved answers; None for steps that were not saved yet. phases: with rules of their own, by image set."""

    what: What | None = None
    check: Check | None = None
    scoring: ScoringChoice | None = None
    rules: RulesChoice | None = None
    phases: Mapping[str, PhaseChoice] = field(default_factory=dict)

    def opens_at(self, image_set: str) -> datetime | None:
        """When a phase opens; None: with the challenge."""
        own = self.phases.get(image_set)
        return own.opens_at if own else self.rules.opens_at if self.rules else None


# what the answers mean


def kind_of(task: str) -> Task:
    """The task of the library that a card stands for.

    >>> kind_of("coco-segmentation"), kind_of("action")
    (<Task.SEGMENTATION: 'segmentation'>, <Task.ACTION: 'action'>)
    """
    return Task(task.rpartition("-")[2])


def tasks_of(template: Template) -> tuple[Task, ...]:
    """The tasks that a template knows."""
    return (Task.DETECTION, Task.SEGMENTATION) if template is Template.COCO else tuple(Task)


def problems_of_what(what: What) -> Mapping[str, str]:
    """Return what contradicts itself in the first step, by field."""
    others = [each.value for each in what.tasks if each not in tasks_of(what.template)]
    if others:
        return {"tasks": f"COCO-like challenges have detection and segmentation, not {', '.join(others)}"}
    return {}


def competitions_of(dataset: str, what: What) -> tuple[int, ...]:
    """Return the numbers of the competitions that a challenge offers.

    >>> birds = What(title="Birds", code="birds", template="voc", tasks=["detection"])
    >>> competitions_of("birds", birds), competitions_of("COCO", birds)
    ((4,), (1,))
    """
    found = [each for each in heldout_scoring.competitions(dataset) if kind_of(each.task) in what.tasks]
    shared = {each.title for each in found if not each.own_data}
    both = what.tracks is Tracks.TWO
    return tuple(each.number for each in found if both or each.own_data or each.title not in shared)


def is_numbered(what: What, sets: Sequence[FoundSet]) -> bool:
    """Whether people know the competitions by their numbers: those of PASCAL VOC with its classes."""
    known = classes_of(sets[0].dataset) if sets else ()
    return (
        what.template is Template.VOC
        and bool(known)
        and tuple(each.name for each in sets[0].classes) == known
    )


def protocols_of(dataset: str) -> tuple[str, ...]:
    """Return the names of the protocols that have rules for every task of a data set, its own first."""
    tasks = {each.task for each in heldout_scoring.competitions(dataset)}
    current = [
        each for name, each in heldout_scoring.PROTOCOLS.items() if name == each.name
    ]  # without former names
    found = [each.name for each in current if tasks <= {rules.task.name for rules in each.tasks}]
    usual = usual_protocol(dataset)
    return tuple(sorted(found, key=lambda name: name != usual))


def usual_protocol(dataset: str) -> str:
    """Return the protocol that is proposed for a data set.

    >>> usual_protocol("VOC2007"), usual_protocol("birds")
    ('voc2007', 'voc2012')
    """
    return heldout_scoring.default_protocol(dataset) if dataset in CHALLENGES else OTHER_PROTOCOL


def problems_of_check(check: Check, what: What, sets: Sequence[FoundSet]) -> Mapping[str, str]:
    """Return what is wrong with the chosen image sets, by field."""
    chosen = [each for each in sets if each.key in check.sets]
    if len(chosen) < len(check.sets):
        return {"sets": "choose image sets of the report"}
    if wrong := _problem_of_sets(check, chosen):
        return {"sets": wrong}
    bare = [
        each.name for each in chosen if not set(each.competitions) & set(competitions_of(each.dataset, what))
    ]
    if bare:
        tasks = ", ".join(each.value for each in what.tasks)
        return {
            "sets": f"{', '.join(bare)}: there is no annotation for {tasks}; choose other tasks in step 1"
        }
    if sum(each.without_picture for each in chosen) > (check.without_picture or 0):
        lacking = "; ".join(each.lacks for each in chosen if each.lacks)
        return {"without_picture": f"{lacking}. Send them in step 2, or tick that they stay so"}
    return {}


def _problem_of_sets(check: Check, chosen: Sequence[FoundSet]) -> str:
    """What is wrong with the chosen sets together."""
    answered = {each.set for each in check.audiences(chosen)}
    if unanswered := [each.name for each in chosen if each.is_open and each.name not in answered]:
        return f"say who may see the annotation of {', '.join(unanswered)}, which was sent as public"
    names = [each.name for each in chosen]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        return f"two sets are called {', '.join(twice)}; rename their files, or choose one"
    if len({each.dataset for each in chosen}) > 1:
        return "the chosen sets are of different kinds: development kits and COCO JSON do not mix"
    return ""


def problems_of_scoring(choice: ScoringChoice, dataset: str) -> Mapping[str, str]:
    """Return what is wrong with how results are scored, by field."""
    problems = {}
    if choice.protocol not in protocols_of(dataset):
        problems["protocol"] = "choose a protocol that has rules for this data set"
    if choice.ladder and choice.own is not OwnScores.MEAN:
        problems["ladder"] = "the ladder shows the primary figure; choose that as what a team sees"
    if choice.others is OthersRows.FROZEN and choice.frozen_days is None:
        problems["frozen_days"] = "say for how many days the rows of others are frozen"
    return problems


def problems_of_rules(
    rules: RulesChoice, choice: ScoringChoice | None, sets: Sequence[FoundSet], now: datetime
) -> Mapping[str, str]:
    """Return what is wrong with the rules, by field. sets: those that participants submit to."""
    problems = {}
    is_held_out = any(each.role == HIDDEN for each in sets)
    for each in reversed([*rules_of(rules, choice, now, is_held_out=is_held_out).contradictions()]):
        problems[next(field for name, field in _FIELDS.items() if name in each.about)] = each.message
    if rules.closes_at is not None and rules.closes_at <= now:
        problems["closes_at"] = "must be in the future"
    if rules.visibility is ChallengeVisibility.INVITED and not rules.people:
        problems["invited"] = "name at least one address or domain; codes can be made later under Visibility"
    if rules.terms is TermsChoice.OWN and not rules.terms_text:
        problems["terms_text"] = "write the terms, or choose others"
    elif rules.terms is TermsChoice.OWN and len(rules.terms_text.strip()) < SHORTEST:
        problems["terms_text"] = f"must have at least {SHORTEST} characters"
    return problems


def problems_of_phases(
    phases: Mapping[str, PhaseChoice], sets: Sequence[FoundSet], now: datetime
) -> Mapping[str, str]:
    """Return what is wrong with phases that have rules of their own, by image set. sets: those that participants submit to."""
    roles = {each.name: each.role for each in sets}
    problems = {}
    for name, choice in phases.items():
        found = [each.message for each in choice.rules(now).contradictions()]
        if choice.closes_at is not None and choice.closes_at <= now:
            found.append("closes_at must be in the future")
        if roles and name not in roles:
            found.append("none of the chosen image sets has this name")
        elif roles and choice.disclosure.is_held_out != (roles[name] == HIDDEN):
            found.append(
                "its annotation was sent as hidden, so the disclosure cannot be full"
                if roles[name] == HIDDEN
                else "its annotation was sent as public, so the disclosure can only be full"
            )
        if choice.protocol and choice.protocol not in heldout_scoring.PROTOCOLS:
            found.append(f"there is no protocol {choice.protocol}")
        if found:
            problems[name] = "; ".join(found)
    return problems


# the field of step 5 at which a contradiction of rules is shown
_FIELDS: Final = {"quotas": "per_week", "closes_at": "closes_at", "frozen_from": "closes_at"}


def rules_of(
    rules: RulesChoice,
    choice: ScoringChoice | None,
    now: datetime,
    *,
    is_held_out: bool,
    is_main: bool = True,
) -> PhaseRules:
    """Return the rules of a phase as the steps say. is_main: it has the dates and quotas of step 5."""
    shown = choice if is_held_out else None
    closes_at = rules.closes_at if is_main else None
    before = PhaseRules(
        opens_at=rules.opens_at or now,
        quotas=quotas_of(rules) if is_main else (),
        disclosure=Disclosure.FULL if not is_held_out else shown.disclosure if shown else Disclosure.CLASSES,
        details_at_close=shown is not None and shown.details_at_close,
        only_complete=shown is not None and shown.only_complete,
        embargo=choice is not None
        and choice.others is OthersRows.AT_CLOSE
        and (is_held_out or closes_at is not None),
    )
    return before.changed(
        now, closes_at=closes_at, frozen_days=shown.frozen_days if shown and shown.freezes else None
    )


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


def quotas_of(rules: RulesChoice) -> tuple[Quota, ...]:
    """Return the quotas, ordered."""
    given = ((rules.per_day, 1), (rules.per_week, 7), (rules.total, None))
    return in_order(Quota(results, days) for results, days in given if results)


def main_sets(sets: Sequence[FoundSet]) -> tuple[FoundSet, ...]:
    """Return the sets whose phases have the dates and quotas of step 5: the hidden ones, or all if none is hidden."""
    hidden = tuple(each for each in sets if each.role == HIDDEN)
    return hidden or tuple(sets)


def applications_of(answers: Answers, sets: Sequence[FoundSet]) -> tuple[Application, ...]:
    """Return how each chosen image set becomes a phase. All steps must have been saved."""
    what, check, choice, rules = answers.what, answers.check, answers.scoring, answers.rules
    assert what is not None
    assert check is not None
    assert choice is not None
    assert rules is not None
    chosen = [each for each in sets if each.key in check.sets]
    main = main_sets(chosen)
    return tuple(
        _application(each, what, choice, rules, answers.phases.get(each.name), is_main=each in main)
        for each in chosen
    )


def _application(
    found: FoundSet,
    what: What,
    choice: ScoringChoice,
    rules: RulesChoice,
    own: PhaseChoice | None,
    *,
    is_main: bool,
) -> Application:
    is_held_out = found.role == HIDDEN
    phase = (
        own.rules(rules.saved_at)
        if own
        else rules_of(rules, choice, rules.saved_at, is_held_out=is_held_out, is_main=is_main)
    )
    frozen_days = choice.frozen_days if is_held_out and choice.freezes else None
    return Application(
        set=found.key,
        phase=found.name,
        disclosure=phase.disclosure if is_held_out else None,
        quotas=phase.quotas,
        opens_at=own.opens_at if own else rules.opens_at,
        closes_at=phase.closes_at,
        protocol=(own.protocol if own else "") or choice.protocol,
        embargo=phase.embargo,
        frozen_days=(own.frozen_days or None) if own else frozen_days,
        grace_minutes=own.grace_minutes if own else None,
        details_at_close=phase.details_at_close,
        only_complete=phase.only_complete,
        competitions=competitions_of(found.dataset, what),
    )


# in words

ROLES: Final = {"hidden": HIDDEN, "public": PUBLIC}
_SEEN: Final = {
    OwnScores.ALL: "a team sees each class and the mean of its own results, in tenths of a percent",
    OwnScores.MEAN: "a team sees only the mean of its own results, in tenths of a percent",
    OwnScores.NOTHING: "nobody sees scores",
}
_FOUND_BY: Final = {
    ChallengeVisibility.LISTED: "Everybody can find the challenge",
    ChallengeVisibility.LINK: "Only people who have the link find the challenge",
    ChallengeVisibility.INVITED: "Only invited people see the challenge",
}


def in_words(what: What, choice: ScoringChoice, rules: RulesChoice, sets: Sequence[FoundSet]) -> str:
    """Say everything that was chosen in one paragraph. sets: those that participants submit to."""
    return " ".join(_sentences(what, choice, rules, sets))


def _sentences(
    what: What, choice: ScoringChoice, rules: RulesChoice, sets: Sequence[FoundSet]
) -> Iterator[str]:
    tasks = _listed([each.value for each in what.tasks])
    tracks = (
        "with a leaderboard for methods trained on the given images and another for any data"
        if what.tracks is Tracks.TWO
        else "with one leaderboard for each task"
    )
    yield f"{what.title} is a challenge in {tasks}, {tracks}."
    roles = {word: [each.name for each in sets if each.role == role] for word, role in ROLES.items()}
    for_what = [f"{_listed(names)}, whose annotation is {word}" for word, names in roles.items() if names]
    if for_what:
        yield f"Participants submit results for {', and for '.join(for_what)}."
    yield _dates(rules, sets)
    quotas = quotas_of(rules)
    if quotas:
        yield f"A team, and each person in it, may have {quotas_in_words(quotas)}."
    else:
        yield "There is no limit to results."
    if any(each.role == HIDDEN for each in sets):
        yield from _shown(choice)
    yield f"{_FOUND_BY[rules.visibility]}{_admitted(rules)}."
    yield _terms(rules)


def _dates(rules: RulesChoice, sets: Sequence[FoundSet]) -> str:
    names = _listed([each.name for each in main_sets(sets)])
    phase = f"The phase {names}" if names else "The phase"
    opens = f"opens on {date_in_words(rules.opens_at)}" if rules.opens_at else "opens with the challenge"
    if rules.closes_at is None:
        return f"{phase} {opens} and has no closing date."
    return f"{phase} {opens} and closes on {date_in_words(rules.closes_at)}."


def _shown(choice: ScoringChoice) -> Iterator[str]:
    ladder = ", and a new one only where it beats the best before" if choice.ladder else ""
    yield f"While it is open, {_SEEN[choice.own]}{ladder}."
    if choice.own is not OwnScores.NOTHING:
        when = (
            "once the phase is over"
            if choice.others is OthersRows.AT_CLOSE
            else "as soon as a team makes it public"
        )
        yield f"Others see a result {when}."
        if choice.freezes:
            days = "day" if choice.frozen_days == 1 else f"{choice.frozen_days} days"
            yield f"In the last {days} they see only results that were submitted before, until the phase is over."
    if choice.details_at_close:
        yield "When it is over, everything about the scores is shown, which gives the hidden annotation away."


def _admitted(rules: RulesChoice) -> str:
    size = f" of at most {plural(rules.most_members, 'member')}" if rules.most_members else ""
    return (
        f", and a team{size} is scored once you have approved it"
        if rules.approves_teams
        else f", and any team{size} is scored"
    )


def _terms(rules: RulesChoice) -> str:
    accepted = (
        "There are no terms to accept"
        if rules.terms is TermsChoice.NONE
        else "Participants accept your terms"
    )
    licences = [
        f"the {what} under {licence}"
        for what, licence in (
            ("images are", rules.image_licence),
            ("annotation is", rules.annotation_licence),
        )
        if licence
    ]
    return f"{accepted}{'; ' if licences else ''}{_listed(licences)}."


def _listed(words: Sequence[str]) -> str:
    """Join words as a sentence has them.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def terms_of(rules: SharedRules, title: str) -> str:
    """Return the text of the terms; empty if there are none."""
    if rules.terms is TermsChoice.OWN:
        return rules.terms_text
    if rules.terms is TermsChoice.NONE:
        return ""
    images = rules.image_licence or "the licence that the organisers name"
    annotation = rules.annotation_licence or "the licence that the organisers name"
    return (
        f"By taking part in {title} you agree that:\n\n"
        "1. You use the images and the annotation for research and teaching only.\n"
        f"2. You respect their licences: images under {images}, annotation under {annotation}.\n"
        "3. You do not try to find out hidden annotation other than by submitting results within the quota.\n"
        "4. You take part with one account, and you name in each method the data that it was trained on.\n"
        "5. Results that you make public may be shown and cited together with the name of your team.\n"
    )


def _objects(found: FoundSet) -> str:
    """Count the objects of a set as the other pages do: without difficult ones."""
    difficult = f" ({found.objects:,} with difficult ones)" if found.difficult else ""
    return f"{found.objects - found.difficult:,}{difficult}"


def page_of(what: What, choice: ScoringChoice, rules: RulesChoice, sets: Sequence[FoundSet]) -> str:
    """Propose the text of the challenge's page, in Markdown. sets: those that participants know of.

    Of hidden annotation it says no more than how many images there are.
    """
    rows = [
        f"| {each.name} | {each.images:,} | {_objects(each) if each.role == PUBLIC else 'hidden'} |"
        for each in sets
    ]
    classes = tuple(dict.fromkeys(row.name for each in sets for row in each.classes))
    protocol = heldout_scoring.PROTOCOLS[choice.protocol].title
    licences = [
        f"{what_} are under {licence}."
        for what_, licence in (("Images", rules.image_licence), ("Annotations", rules.annotation_licence))
        if licence
    ]
    return "\n".join(
        [
            *([what.tagline, ""] if what.tagline else []),
            "## Task",
            "",
            f"{_listed([each.value.capitalize() for each in what.tasks])} of {plural(len(classes), 'class')}: "
            f"{', '.join(classes)}."
            if classes
            else f"{_listed([each.value.capitalize() for each in what.tasks])}.",
            "",
            "## Data",
            "",
            "| image set | images | objects |",
            "|---|---:|---:|",
            *rows,
            "",
            *([" ".join(licences), ""] if licences else []),
            "## Scoring",
            "",
            f"Results are scored by the protocol [{protocol}](/docs/protocols/{choice.protocol}).",
            "",
        ]
    )


# what is left to do


@dataclass(frozen=True, slots=True)
class Item:
    """Something to do before a challenge opens. is_required: it cannot open without."""

    title: str
    is_done: bool
    address: str
    link: str
    text: str = ""
    is_required: bool = True
    is_link_kept: bool = False  # once it is done


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a draft, for its checklist. saved: steps with answers; contradictions: of these answers."""

    code: str
    saved: Collection[Step]
    is_read: bool
    contradictions: Sequence[str]
    is_made: bool  # its phases are as the answers say
    is_making: bool
    has_text: bool
    organisers: int
    sends_mail: bool
    mail_lacks: str = ""
    # whether trial results were scored, by phase with hidden annotation
    trials: Mapping[int, bool] = field(default_factory=dict)
    tests_on: str | None = None  # an image set for a test run; None: there is none yet, or it is too late
    is_tested: bool = False  # a result of one was scored with the present annotation
    invited: int = 0  # addresses and domains that the answers name, until the challenge is open
    not_invited: Sequence[str] = ()  # those of them without an invitation
    says_pictures: bool = False  # it is said where participants get the pictures
    untrue_pictures: Sequence[str] = ()  # what of that is not so


def checklist_of(facts: Facts) -> tuple[Item, ...]:
    """Return everything to do, done or not."""
    here, organise = f"/organise/new/{facts.code}", f"/organise/challenges/{facts.code}"
    steps = (Step.CHECK, Step.SCORING, Step.RULES)
    missing = next((each for each in steps if each not in facts.saved), None)
    answered = missing is None and not facts.contradictions
    making = "A worker is at it." if facts.is_making else ""
    return (
        Item("The annotation was read and can be used", facts.is_read, f"{here}/data", "Images and annotation"),
        Item(
            "Classes, scoring and rules are decided", answered, f"{here}/{missing or Step.RULES}",
            f"{TITLES[missing or Step.RULES]}", "; ".join(facts.contradictions),
        ),
        Item(
            "The phases are made from the data set", facts.is_made, f"{organise}#make", "Make them",
            making or ("" if facts.is_made else "Make the phases below; do so again after a change of the steps."),
        ),
        *_trials(facts),
        *_test_run(facts),
        *_invitations(facts),
        Item("The page has a text", facts.has_text, f"{here}/page", "Page and files"),
        _pictures(facts),
        Item(
            "A second organiser", facts.organisers > 1, f"{organise}/organisers", "Invite",
            "Somebody who can act while you are away.", is_required=False,
        ),
        Item(
            "Mail works", facts.sends_mail, "/admin", "Settings of the server",
            facts.mail_lacks, is_required=False,
        ),
    )  # fmt: skip


def _pictures(facts: Facts) -> Item:
    """Return an item that leads to where participants get the pictures; what is said of that has to be so."""
    address, link = f"/organise/challenges/{facts.code}/data#pictures", "Files"
    if not facts.says_pictures:
        return Item(
            "It is said where participants get the images", False, address, link,
            "Say it in step 6 or with the files; or open without images for participants.", is_required=False,
        )  # fmt: skip
    return Item(
        "Participants get the images as it is said", not facts.untrue_pictures, address, link, "; ".join(facts.untrue_pictures)
    )  # fmt: skip


def _invitations(facts: Facts) -> Iterator[Item]:
    """Yield an item that leads to the invitations, if the challenge is for invited people."""
    if facts.invited:
        missing = facts.not_invited
        yield Item(
            "The people whom the rules name are invited", not missing, f"/organise/new/{facts.code}/{Step.RULES}", TITLES[Step.RULES],
            f"{len(missing):,} of {facts.invited:,} are not, such as {missing[0]}. Save the rules again to invite them, or without them."
            if missing else "",
        )  # fmt: skip


def _trials(facts: Facts) -> Iterator[Item]:
    """Yield an item that leads to the scores of made-up results, for each phase with hidden annotation."""
    for phase, is_scored in facts.trials.items():
        yield Item(
            "Trial results show what participants will see", is_scored,
            f"/organise/phases/{phase}/trials", "Look at them" if is_scored else "Trial results",
            "A worker scores made-up results after the phases are made.", is_required=False, is_link_kept=True,
        )  # fmt: skip


def _test_run(facts: Facts) -> Iterator[Item]:
    """Yield an item that leads to a test run, or to what came of it."""
    if facts.tests_on is not None:
        submit, seen = (
            f"/challenges/{facts.code}/{facts.tests_on}/submit",
            f"/organise/challenges/{facts.code}/submissions",
        )
        yield Item(
            "A test run", facts.is_tested, seen if facts.is_tested else submit, "Look at it" if facts.is_tested else "Submit a test",
            "Submit an archive as participants will. Dates and quotas do not count; everything of it is deleted before the challenge"
            " opens.", is_required=False, is_link_kept=True,
        )  # fmt: skip


def can_open(items: Sequence[Item]) -> bool:
    """Whether everything that is required is done."""
    return all(each.is_done for each in items if each.is_required)
