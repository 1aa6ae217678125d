"""The rules of a challenge in sentences: what follows from the settings of its phases, the organisers' text, the terms."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.challenges import challenges, terms, texts
from app.challenges.challenges import PhaseView, description_of, largest_archive
from app.challenges.disclosure import DISCLOSURE_LEVELS
from app.challenges.phase_rules import quotas_in_words
from app.models import Disclosure
from app.platform import Platform
from app.web.formats import duration, plural
from app.web.zones import date_in_words
from heldout_scoring import Limits


@dataclass(frozen=True, slots=True)
class Rule:
    """What a phase says of one subject."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RulesOfPhase:
    """A phase with its rules. largest: bytes of an archive, as it is sent."""

    phase: PhaseView
    rules: tuple[Rule, ...]
    largest: int
    limits: Limits


@dataclass(frozen=True, slots=True)
class ComparedRule:
    """What each phase says of one subject; empty where it says nothing."""

    title: str
    cells: tuple[tuple[str, ...], ...]

    @property
    def is_shared(self) -> bool:
        """Whether all phases say the same."""
        return len(set(self.cells)) == 1

    def differs(self, sentence: str) -> bool:
        """Whether a phase does not say this."""
        return any(sentence not in cell for cell in self.cells)


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
    def compared(self) -> tuple[ComparedRule, ...]:
        """The rules of all phases by subject."""
        said = [{rule.title: rule.sentences for rule in each.rules} for each in self.phases]
        titles = dict.fromkeys(title for each in said for title in each)
        return tuple(ComparedRule(title, tuple(each.get(title, ()) for each in said)) for title in titles)


def rules_of(phase: PhaseView, *, approves_teams: bool, most_members: int | None = None) -> tuple[Rule, ...]:
    """Return what the settings of a phase mean for those who take part. approves_teams, most_members: of its challenge."""
    rules = (
        Rule("Dates", _dates(phase)),
        Rule("Who may submit", _admission(phase, approves_teams=approves_teams)),
        Rule("Teams", _teams(most_members)),
        Rule("Results of a method", _results(phase)),
        Rule("Quota", _quota(phase)),
        Rule("What is shown of a score", _visibility(phase)),
        Rule("Ranks", _ranks(phase)),
    )
    return tuple(rule for rule in rules if rule.sentences)


def _dates(phase: PhaseView) -> tuple[str, ...]:
    opens = date_in_words(phase.opens_at)
    if phase.closes_at is None:
        return (f"Results are accepted from {opens}. There is no closing date.",)
    grace = (
        f"An upload that was started before then may finish and be confirmed up to {duration(phase.grace_in_force)} later."
        if phase.grace_in_force
        else "An upload has to be confirmed by then."
    )
    return (f"Results are accepted from {opens} until {date_in_words(phase.closes_at)}.", grace)


def _admission(phase: PhaseView, *, approves_teams: bool) -> tuple[str, ...]:
    if not phase.is_held_out:
        return ("Anyone with an account.",)
    approval = "A team may upload at once, and is scored as soon as the organisers have approved it."
    return ("Anyone with a confirmed e-mail address.", *([approval] if approves_teams else []))


def _teams(most_members: int | None) -> tuple[str, ...]:
    return (f"A team has at most {plural(most_members, 'member')}.",) if most_members else ()


def _results(phase: PhaseView) -> tuple[str, ...]:
    if not phase.is_held_out:
        return (
            "A method may be submitted again, and its newest result in a competition replaces the one before.",
        )
    return (
        "A method has one result in a competition. It is final: no later result replaces it.",
        "A withdrawn result leaves the boards, and the name of its method cannot be used in that competition again.",
    )


def _quota(phase: PhaseView) -> tuple[str, ...]:
    if not phase.quotas:
        return ("There is no quota.",)
    counted = [
        sentence
        for is_said, sentence in (
            (
                any(quota.days for quota in phase.quotas),
                "Days are counted back from now, not from a fixed date.",
            ),
            (phase.quotas[-1].days is None, "In total means over the whole phase, however long it becomes."),
        )
        if is_said
    ]
    shared = ["Results in other phases with the same annotation count, too."] if phase.shares_quotas else []
    return (
        f"A team, and each person in all teams together, may have at most {quotas_in_words(phase.quotas)} scored, for each task.",
        *counted,
        *shared,
        "Only results that revealed a score count. Uploads and checks are free.",
        "A result that is refused, that fails, or that is withdrawn before it has a score does not count.",
    )


def _visibility(phase: PhaseView) -> tuple[str, ...]:
    found = ["A method and its results are private until its team makes it public."]
    if phase.is_over and phase.details_at_close:
        found.append("The phase is over, and everything about its scores is shown.")
    elif phase.is_over and phase.is_held_out:
        found.append("The phase is over: each class and the mean are shown, in tenths of a percent.")
    else:
        found.append(DISCLOSURE_LEVELS[phase.disclosure].rule)
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


def _later(phase: PhaseView) -> tuple[str, ...]:
    if not phase.is_held_out or phase.closes_at is None:
        return ()
    if phase.details_at_close:
        return ("Everything about them becomes public when the phase is over.",)
    if phase.disclosure is Disclosure.CLASSES:
        return ()
    return ("Each class and the mean become public when the phase is over.",)


def _ranks(phase: PhaseView) -> tuple[str, ...]:
    if phase.disclosure is Disclosure.AT_CLOSE and not phase.is_over:
        return ("There are no ranks until the phase is over.",)
    return (
        "Methods are ranked by their mean as it is shown; equal means share a rank.",
        "A method without predictions for one of the classes has neither a mean nor a rank.",
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
