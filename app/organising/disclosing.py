"""The disclosure of a phase, as organisers see and change it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from app.challenges import challenges, news, same_labels
from app.challenges.challenges import PhaseView
from app.challenges.disclosure import Exposure, bits_so_far, disclosures_so_far
from app.challenges.phase_rules import (
    PhaseRules,
    has_results,
    new_contradictions,
    quotas_of_new_phase,
    unfair_changes,
)
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, FieldsError, ForbiddenError
from app.models import Disclosure, Phase
from app.platform import Platform
from app.results import exposure, ladder


@dataclass(frozen=True, slots=True)
class DisclosureTerms:
    """The rules of a phase that decide what is shown of its scores."""

    disclosure: Disclosure
    details_at_close: bool
    only_complete: bool

    @classmethod
    def of(cls, rules: PhaseRules) -> "DisclosureTerms":
        """Return those of a phase."""
        return cls(rules.disclosure, rules.details_at_close, rules.only_complete)


@dataclass(frozen=True, slots=True)
class DisclosureView:
    """What a phase discloses; refusals: why each option is not allowed, None if it is."""

    phase: PhaseView
    terms: DisclosureTerms
    refusals: Mapping[Disclosure, str | None]


class NewDisclosure(BaseModel):
    """A change of what a phase discloses."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    disclosure: Annotated[Disclosure, Field(description="what participants see until the phase is over")]
    details_at_close: Annotated[
        bool, Field(description="show curves, intervals and counts once it is over")
    ] = False
    only_complete: Annotated[bool, Field(description="show class values only for complete results")] = False
    shows_exposure: Annotated[
        bool,
        Field(description="show on the challenge's page how many bits can have been disclosed to any team"),
    ] = False
    annotation_is_public: Annotated[bool, Field(description="required for full disclosure")] = False
    reason: Annotated[str, Field(min_length=1, max_length=1000, description="recorded in the audit log")]


TEAMS = 20  # per page
MADE_AS_PUBLIC = (
    "the annotation of this phase was sent as public, so the names of its images may tell what they show; say in the step Check that nobody"
    " may see it, and make the phases again"
)


def disclosure_page(platform: Platform, actor: Actor, phase_id: int) -> DisclosureView:
    """Return what a phase discloses, and what it may disclose instead.

    Raises NotFoundError, also for a phase that the actor does not organise.
    """
    with platform.transaction() as session:
        phase = challenges.require_phase(session, actor, phase_id)
        now, is_scored = challenges.now(session), has_results(session, phase_id)
    refusals = {
        each: refusal_of(
            phase.rules,
            _disclosing(phase.rules, disclosure=each),
            now,
            has_results=is_scored,
            is_draft=phase.is_draft,
        )
        for each in Disclosure
    }
    return DisclosureView(phase, DisclosureTerms.of(phase), refusals)


def _disclosing(rules: PhaseRules, *, disclosure: Disclosure, **others: Any) -> PhaseRules:
    """Return the rules of a phase that discloses this instead; one without quotas gets some when it becomes held out."""
    quotas = quotas_of_new_phase(rules.quotas or None, disclosure)
    return replace(rules, disclosure=disclosure, quotas=quotas, **others)


def refusal_of(
    before: PhaseRules, after: PhaseRules, now: datetime, *, has_results: bool, is_draft: bool = False
) -> str | None:
    """Return why what a phase discloses may not change like this, or None if it may."""
    if is_draft and after.disclosure.is_held_out and not before.disclosure.is_held_out:
        return MADE_AS_PUBLIC  # in an open challenge, it was known
    if before.is_over_at(now):  # rows are frozen no longer
        before, after = replace(before, frozen_from=None), replace(after, frozen_from=None)
    problems = (
        *new_contradictions(before, after),
        *unfair_changes(before, after, now, has_results=has_results),
    )
    return problems[0].message if problems else None


def exposure_page(
    platform: Platform, actor: Actor, phase_id: int, after: int = 0
) -> tuple[PhaseView, tuple[Exposure, ...]]:
    """Estimate how much each team can have learnt about the hidden labels: `TEAMS` teams by id, after team `after`.

    Raises NotFoundError as `disclosure_page` does.
    """
    with platform.transaction() as session:
        phase = challenges.require_phase(session, actor, phase_id)
        found = exposure.uses(session, phase_id, after, TEAMS)
        rows = disclosures_so_far(phase, exposure.disclosure_changes(session, phase_id))
    return phase, tuple(replace(each, bits=bits_so_far(rows, each.use)) for each in found)


def change_disclosure(
    platform: Platform, actor: Actor, phase_id: int, wanted: NewDisclosure
) -> DisclosureView:
    """Change what a phase discloses, with a reason.

    Raises NotFoundError as `disclosure_page` does, ConflictError for an unsafe change, FieldsError for full disclosure
    without the confirmation that the annotation is public, RateLimitedError after many refusals because another phase hides it.
    """
    if not wanted.disclosure.is_held_out:
        if not wanted.annotation_is_public:
            reason = "full disclosure is for public annotation only; confirm that it is public"
            raise FieldsError({"annotation_is_public": reason})
        with platform.transaction() as session:
            phase = challenges.require_phase(session, actor, phase_id)
            if phase.is_held_out and actor.owns_challenge(phase.challenge_id) and actor.user_id is not None:
                same_labels.note_disclosing(session, actor.user_id, phase_id)
    with platform.transaction() as session:
        phase = challenges.require_phase(session, actor, phase_id, lock=True)
        stored = session.get_one(Phase, phase_id)
        rules, now = PhaseRules.of(stored), challenges.now(session)
        new_rules = _disclosing(
            rules,
            disclosure=wanted.disclosure,
            details_at_close=wanted.details_at_close,
            only_complete=wanted.only_complete,
        )
        before, after = DisclosureTerms.of(rules), DisclosureTerms.of(new_rules)
        releases = after.details_at_close or not after.disclosure.is_held_out
        if releases and after != before and not actor.owns_challenge(phase.challenge_id):
            raise ForbiddenError(
                "Only owners of the challenge show everything of a phase, because that makes its annotation known"
            )
        refusal = refusal_of(
            rules, new_rules, now, has_results=has_results(session, phase_id), is_draft=phase.is_draft
        )
        if refusal:
            raise ConflictError(refusal)
        was_public = not before.disclosure.is_held_out
        if not after.disclosure.is_held_out and same_labels.phases_hiding(
            session, phase_id, was_public=was_public
        ):
            raise ConflictError(
                "another phase keeps the same annotation hidden, so it cannot become public here; an admin can import it as"
                " public with --allow-public-copy"
            )
        shown_before = stored.shows_exposure
        news.change_rules(session, stored, new_rules)
        stored.shows_exposure = wanted.shows_exposure
        if after.disclosure is Disclosure.LADDER and before.disclosure is not Disclosure.LADDER:
            ladder.show_own(session, phase_id)
        audit.record(
            session,
            actor.user_id,
            "phase.disclose",
            f"phase {phase_id}",
            challenge_id=phase.challenge_id,
            reason=wanted.reason,
            before=asdict(before) | {"shows_exposure": shown_before},
            after=asdict(after) | {"shows_exposure": wanted.shows_exposure},
        )
    platform.cache.expire_versions()
    return disclosure_page(platform, actor, phase_id)
