"""The rules of a challenge in sentences: what follows from the settings of its phases, the organisers' text, the terms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from sqlalchemy.orm import Session

from app.challenges import challenges, terms, texts
from app.challenges.challenges import PhaseView, description_of, largest_archive
from app.challenges.disclosure import DISCLOSURE_LEVELS, current_disclosure
from app.challenges.phase_rules import quotas_in_words
from app.models import Disclosure
from app.platform import Platform
from app.web.formats import duration, plural
from app.web.zones import MINUTE, date_in_words
from heldout_scoring import Limits


@dataclass(frozen=True, slots=True)
class Rule:
    """What a phase says of one subject. short: the first of the sentences in a few words, for tables."""

    title: str
    short: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RulesOfPhase:
    """A phase with its rules. largest: bytes of an archive, as it is sent."""

    phase: PhaseView
    rules: tuple[Rule, ...]
    largest: int
    limits: Limits


@dataclass(frozen=True, slots=True)
class Said:
    """What the same phases say of a subject. image_sets: of these phases; empty if all of them say so."""

    image_sets: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparedRule:
    """What the phases say of one subject; shorts: in a few words, phases that follow each other together, with their number."""

    title: str
    shorts: tuple[tuple[Said, int], ...]
    details: tuple[Said, ...]


SUMMARY: Final = ("Dates", "Who may submit", "Quota", "Results of a method", "What is shown of a score")
"""The rules that most people look for, in the order in which they do."""


@dataclass(frozen=True, slots=True)
class RulesView:
    """The rules of a challenge. text: the organisers', Markdown; terms: plain text, None if there are none."""

    challenge: str
    title: str
    phases: tuple[RulesOfPhase, ...]
    text: str
    terms: str | None
    terms_version: int | None

    @property
    def compared(self) -> Mapping[str, ComparedRule]:
        """The rules of all phases by subject."""
        said = {each.phase.image_set: {rule.title: rule for rule in each.rules} for each in self.phases}
        titles = dict.fromkeys(title for rules in said.values() for title in rules)
        return {
            title: _compared(title, {image_set: rules.get(title) for image_set, rules in said.items()})
            for title in titles
        }

    @property
    def summary(self) -> tuple[ComparedRule, ...]:
        """The rules that say most, those of `SUMMARY`."""
        compared = self.compared
        return tuple(compared[title] for title in SUMMARY if title in compared)


def _compared(title: str, said: Mapping[str, Rule | None]) -> ComparedRule:
    """Put together what phases say of a subject. said: by their image sets."""
    details: dict[tuple[str, ...], list[str]] = {}
    every = {image_set: rule.sentences if rule else () for image_set, rule in said.items()}
    for sentence in dict.fromkeys(sentence for sentences in every.values() for sentence in sentences):
        those = tuple(image_set for image_set, sentences in every.items() if sentence in sentences)
        details.setdefault(those if len(those) < len(said) else (), []).append(sentence)
    return ComparedRule(
        title,
        tuple(_in_short(said)),
        tuple(Said(image_sets, tuple(details[image_sets])) for image_sets in sorted(details, key=bool)),
    )


def _in_short(said: Mapping[str, Rule | None]) -> Iterator[tuple[Said, int]]:
    for short, those in groupby(said.items(), key=lambda pair: pair[1].short if pair[1] else ""):
        image_sets = tuple(image_set for image_set, _ in those)
        yield Said(image_sets if len(image_sets) < len(said) else (), (short,)), len(image_sets)


def rules_of(
    phase: PhaseView, *, approves_teams: bool = False, most_members: int | None = None
) -> tuple[Rule, ...]:
    """Return what the settings of a phase mean for those who take part. approves_teams, most_members: of its challenge."""
    rules = (
        _dates(phase),
        _admission(phase, approves_teams=approves_teams),
        _teams(most_members),
        _training(phase),
        _results(phase),
        _quota(phase),
        _visibility(phase),
        _ranks(phase),
    )
    return tuple(rule for rule in rules if rule)


def _dates(phase: PhaseView) -> Rule:
    opens = date_in_words(phase.opens_at)
    if phase.closes_at is None:
        words = f"Results are accepted from {opens}. There is no closing date."
        return Rule("Dates", f"From\N{NO-BREAK SPACE}{_short(phase.opens_at)}; no closing date", (words,))
    closes = date_in_words(phase.closes_at)
    grace = (
        f"An upload that was started before the close may finish and be submitted up to {duration(phase.grace_in_force)} later."
        if phase.grace_in_force
        else "An upload has to be submitted before the close."
    )
    short = f"{_short(phase.opens_at)} to\N{NO-BREAK SPACE}{_short(phase.closes_at)}"
    return Rule("Dates", short, (f"Results are accepted from {opens} until {closes}.", grace))


def _short(moment: datetime) -> str:
    """Write a time to the minute, for tables: in a narrow cell it stays on one line."""
    return f"{moment.astimezone(UTC):{MINUTE}}".replace(" ", "\N{NO-BREAK SPACE}")


def _admission(phase: PhaseView, *, approves_teams: bool) -> Rule:
    if not phase.is_held_out:
        return Rule("Who may submit", "Anyone with an account", ("Anyone with an account.",))
    approval = "A team may upload at once, and is scored as soon as the organisers have approved it."
    return Rule(
        "Who may submit",
        "Anyone with a confirmed e-mail address",
        ("Anyone with a confirmed e-mail address.", *([approval] if approves_teams else [])),
    )


def _teams(most_members: int | None) -> Rule | None:
    if not most_members:
        return None
    limit = plural(most_members, "member")
    return Rule("Teams", f"At most {limit}", (f"A team has at most {limit}.",))


def _training(phase: PhaseView) -> Rule | None:
    rules = {info.own_data: info.own_data_rule for info in challenges.offered_competitions(phase)}
    if len(rules) == 1:
        [rule] = rules.values()
        return Rule("Training data", rule.removeprefix("trained on ").capitalize(), (f"Methods are {rule}.",))
    if not rules:
        return None
    return Rule(
        "Training data",
        "Given data or any data, each with leaderboards of their own",
        (
            "Methods with given data and methods with any data have leaderboards of their own.",
            f"Given data: {rules[False]}.",
            f"Any data: {rules[True]}.",
        ),
    )


def _results(phase: PhaseView) -> Rule:
    if not phase.is_held_out:
        newest = (
            "A method may be submitted again, and its newest result in a competition replaces the one before."
        )
        return Rule("Results of a method", "The newest replaces the one before", (newest,))
    return Rule(
        "Results of a method",
        "One, and no later result replaces it",
        (
            "A method has one result in a competition. It is final: no later result replaces it.",
            "A withdrawn result leaves the boards, and the name of its method cannot be used in that competition again.",
        ),
    )


def _quota(phase: PhaseView) -> Rule:
    if not phase.quotas:
        return Rule("Quota", "No limit", ("There is no limit.",))
    counted = [
        sentence
        for is_said, sentence in (
            (
                any(quota.days for quota in phase.quotas),
                "Days are counted back from now, not from a fixed date.",
            ),
            (
                phase.quotas[-1].days is None,
                "“In total” means over the whole phase, however long it becomes.",
            ),
        )
        if is_said
    ]
    shared = ["Results in other phases with the same annotation count, too."] if phase.shares_quotas else []
    words = quotas_in_words(phase.quotas)
    return Rule(
        "Quota",
        words,
        (
            f"The server scores at most {words}.",
            "A task counts over all its leaderboards together; for each team, and for each person in all their teams.",
            *counted,
            *shared,
            "Only results that revealed a score count. Uploads and checks are free.",
            "A result that is refused, that fails, or that is withdrawn before it has a score does not count.",
        ),
    )


def shown_of_scores(phase: PhaseView) -> tuple[str, ...]:
    """Return what participants see of scores, and what of it changes when, in sentences."""
    if phase.is_over and phase.details_at_close:
        found = ["The phase is over, and all details of its scores are shown."]
    elif phase.is_over and phase.is_held_out:
        found = ["The phase is over: each class and the mean are shown, in tenths of a percent."]
    else:
        found = [DISCLOSURE_LEVELS[current_disclosure(phase)].rule]
        if phase.only_complete and phase.is_held_out:
            found.append("Scores of classes are shown only for results with predictions for all of them.")
        found.extend(_later(phase))
    if phase.embargo and not phase.is_over:
        found.append("Until the phase is over, a result is shown to its team and the organisers alone.")
    elif phase.frozen_from is not None and not phase.is_over:
        found.append(
            f"Results that are submitted from {date_in_words(phase.frozen_from)} on are shown to their teams and the organisers"
            " alone until the phase is over."
        )
    if phase.shows_exposure:
        found.append(
            "The overview says how many bits of the hidden annotation any team can have learnt from its scores."
        )
    return tuple(found)


def _visibility(phase: PhaseView) -> Rule:
    private = "A method and its results are private until its team makes it public."
    short = DISCLOSURE_LEVELS[current_disclosure(phase)].shown.removesuffix(".")
    return Rule("What is shown of a score", short, (*shown_of_scores(phase), private))


def _later(phase: PhaseView) -> tuple[str, ...]:
    if not phase.is_held_out or phase.closes_at is None:
        return ()
    if phase.details_at_close:
        return ("All details of them become public when the phase is over.",)
    if phase.disclosure is Disclosure.CLASSES:
        return ()
    return ("Each class and the mean become public when the phase is over.",)


def _ranks(phase: PhaseView) -> Rule:
    if phase.disclosure is Disclosure.AT_CLOSE and not phase.is_over:
        return Rule("Ranks", "None until the phase is over", ("There are no ranks until the phase is over.",))
    return Rule(
        "Ranks",
        "By the mean as it is shown; methods with equal scores share a rank",
        (
            "Methods are ranked by their mean as it is shown; those with equal scores share a rank.",
            "A method without predictions for one of the classes has neither a mean nor a rank.",
        ),
    )


def rules_page(platform: Platform, code: str) -> RulesView:
    """Load the rules of a challenge. Raises NotFoundError."""
    with platform.snapshot() as session:
        return rules_view(platform, session, code)


def rules_view(platform: Platform, session: Session, code: str) -> RulesView:
    """Load the rules of a challenge. Raises NotFoundError."""
    challenge = challenges.find_challenge(session, code)
    phases = challenges.phases_of(session, code)
    current = terms.current_terms(session, code, None)
    return RulesView(
        challenge.code,
        challenge.title,
        tuple(
            RulesOfPhase(
                each,
                rules_of(
                    each,
                    approves_teams=challenge.approves_teams,
                    most_members=challenge.most_members,
                ),
                largest_archive(each, platform.settings.max_upload),
                description_of(platform.descriptions, each.description_key).limits,
            )
            for each in phases
        ),
        texts.texts_of(session, challenge.id).rules,
        current.text if current else None,
        current.version if current else None,
    )
