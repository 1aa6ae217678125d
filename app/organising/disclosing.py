"""The disclosure of a phase, as organisers see and change it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.challenges import challenges
from app.challenges.challenges import PhaseView, quotas_of_new_phase
from app.challenges.disclosure import (
    DisclosureTerms,
    Exposure,
    bits_so_far,
    change_refusal,
    disclosures_so_far,
)
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, ForbiddenError, MalformedError
from app.jobs import queue
from app.models import Disclosure, Phase, Result
from app.platform import Platform
from app.results import exposure, ladder
from app.submissions.quotas import organised_phase


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


def disclosure_page(platform: Platform, actor: Actor, phase_id: int) -> DisclosureView:
    """Return what a phase discloses, and what it may disclose instead.

    Raises NotFoundError, also for a phase that the actor does not organise.
    """
    with platform.transaction() as session:
        phase = organised_phase(session, actor, phase_id)
        has_results = exposure.has_results(session, phase_id)
    terms = DisclosureTerms(phase.disclosure, phase.details_at_close, phase.only_complete)
    refusals = {
        each: change_refusal(
            terms,
            replace(terms, disclosure=each),
            closes=phase.closes_at is not None,
            has_results=has_results,
            is_over=phase.is_over,
        )
        for each in Disclosure
    }
    return DisclosureView(phase, terms, refusals)


def exposure_page(
    platform: Platform, actor: Actor, phase_id: int, after: int = 0
) -> tuple[PhaseView, tuple[Exposure, ...]]:
    """Estimate how much each team can have learnt about the hidden labels: `TEAMS` teams by id, after team `after`.

    Raises NotFoundError as `disclosure_page` does.
    """
    with platform.transaction() as session:
        phase = organised_phase(session, actor, phase_id)
        found = exposure.uses(session, phase_id, after, TEAMS)
        rows = disclosures_so_far(phase, exposure.disclosure_changes(session, phase_id))
    return phase, tuple(
        Exposure(team, name, archives, contents, incomplete, use, lists, bits_so_far(rows, use))
        for team, name, archives, contents, incomplete, use, lists in found
    )


def change_disclosure(
    platform: Platform, actor: Actor, phase_id: int, wanted: NewDisclosure
) -> DisclosureView:
    """Change what a phase discloses, with a reason.

    Raises NotFoundError as `disclosure_page` does, ConflictError for an unsafe change, MalformedError for full disclosure
    without the confirmation that the annotation is public.
    """
    if not (wanted.disclosure.is_held_out or wanted.annotation_is_public):
        raise MalformedError("full disclosure is for public annotation only; confirm that it is public")
    with platform.transaction() as session:
        phase = organised_phase(session, actor, phase_id)
        stored = session.get_one(Phase, phase_id, with_for_update=True)
        before = DisclosureTerms(stored.disclosure, stored.details_at_close, stored.only_complete)
        after = DisclosureTerms(wanted.disclosure, wanted.details_at_close, wanted.only_complete)
        releases = after.details_at_close or not after.disclosure.is_held_out
        if releases and after != before and not actor.owns_challenge(phase.challenge_id):
            raise ForbiddenError(
                "Only owners of the challenge show everything of a phase, because that makes its annotation known"
            )
        refusal = change_refusal(
            before,
            after,
            closes=stored.closes_at is not None,
            has_results=exposure.has_results(session, phase_id),
            is_over=phase.is_over,
        )
        if refusal:
            raise ConflictError(refusal)
        if not after.disclosure.is_held_out and challenges.phases_hiding(session, phase_id, ""):
            raise ConflictError(
                "another phase keeps the same annotation hidden, so it cannot become public here; an admin can import it as"
                " public with --allow-public-copy"
            )
        if after.disclosure.is_held_out and not stored.quotas:
            stored.quotas = quotas_of_new_phase(None, after.disclosure)
        shown_before = stored.shows_exposure
        for name, value in asdict(after).items():
            setattr(stored, name, value)
        queue.add_boards(session, Result.phase_id == phase_id)
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
