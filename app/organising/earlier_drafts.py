"""Drafts of the release before, whose answers are JSON: the sweeper stores them in the rows of the draft and its phases.

The release after this one drops this module, `ChallengeDraft.settings` and `made_of`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.phase_rules import PhaseRules, store
from app.intake import draft_phases, intakes, testing
from app.models import Challenge, ChallengeDraft, ChallengeVisibility, Intake, IntakeState, Phase
from app.organising.draft_rules import RulesChoice, ScoringChoice, Step
from app.platform import Platform

log = structlog.get_logger()

PROPOSED: Final = "proposed"  # answers that were copied from another challenge, and not saved
DISCLOSURES: Final = {
    "all": "classes",
    "mean": "mean",
    "nothing": "at close",
}  # by what a team sees of its scores


def take_over(platform: Platform) -> None:
    """Store the answers of drafts: at once what is theirs, and with their phases what is about these."""
    is_draft = Challenge.visibility == ChallengeVisibility.DRAFT, ChallengeDraft.settings != {}
    with platform.transaction() as session:
        codes = session.scalars(select(Challenge.code).join(ChallengeDraft).where(*is_draft)).all()
    for code in codes:
        tests = testing.DeletedTests()
        with platform.transaction() as session:
            challenge = challenges.challenge_of(session, code, lock=True)
            if challenge is None or challenge.visibility is not ChallengeVisibility.DRAFT:
                continue
            draft = session.get_one(ChallengeDraft, challenge.id, with_for_update=True)
            newest = intakes.newest(session, challenge.id)
            intake = session.get_one(Intake, newest.id, with_for_update=True) if newest else None
            if intake is not None and intake.state in intakes.WITH_WORKER:
                continue  # until it is done
            if Step.WHAT in draft.settings:
                _store_own(session, draft, intake)
            elif intake is not None and intake.state is IntakeState.APPLIED:
                tests = _store_rules(session, challenge, draft)
        testing.remove_contents(platform, tests)
        platform.notifier.wake_workers()
        platform.cache.expire_versions()


def _store_own(session: Session, draft: ChallengeDraft, intake: Intake | None) -> None:
    """Store what is the draft's own, and have a worker read its data set, unless its phases are as the answers say."""
    answers = draft.settings
    what, check, rules = answers[Step.WHAT], answers.get(Step.CHECK, {}), _answer(answers, Step.RULES)
    draft.template, draft.tasks, draft.tracks = what["template"], what["tasks"], what.get("tracks", "one")
    draft.without_picture = check.get("without_picture") or 0
    draft.opens_to = ChallengeVisibility(rules.get("visibility", "listed"))
    draft.image_licence = rules.get("image_licence", "")
    draft.annotation_licence = rules.get("annotation_licence", "")
    draft.steps = sorted(step for step in Step if step in answers)
    # its phases had the rules of the answers once they were made; organisers may have changed these since
    is_made = (
        intake is not None and intake.state is IntakeState.APPLIED and draft.changed_at < intake.changed_at
    )
    if is_made:
        draft.settings = {}
        return
    draft.settings = {step: _answer(answers, step) for step in (Step.SCORING, Step.RULES)}
    if intake is not None:
        intake.sets = check.get("sets")
        if intake.report is not None:
            intakes.queue_reading(session, intake)


def _answer(answers: Mapping[str, Any], step: Step) -> dict[str, Any]:
    """Return what was saved of a step, or else proposed."""
    found: dict[str, Any] = answers.get(step) or answers.get(PROPOSED, {}).get(step) or {}
    return found


def _store_rules(session: Session, challenge: Challenge, draft: ChallengeDraft) -> testing.DeletedTests:
    """Give the phases the rules of the answers; if they contradict each other, organisers save these steps again."""
    scoring, rules = draft.settings.get(Step.SCORING), draft.settings.get(Step.RULES)
    draft.settings = {}
    statement = select(Phase).where(Phase.challenge_id == challenge.id).order_by(Phase.id)
    phases = session.scalars(statement.with_for_update()).all()
    after = _rules(phases, scoring, rules, challenges.now(session))
    tests = testing.DeletedTests()
    if problems := [each.message for one in after for each in one.contradictions()]:
        draft.steps = sorted({*draft.steps} - {Step.SCORING, Step.RULES})
        draft.refusal = f"Scoring and rules have to be saved again: {problems[0]}."
        return tests
    for phase, each in zip(phases, after, strict=True):
        store(each, phase)
    protocol = (scoring or {}).get("protocol")
    possible = draft_phases.protocols_of(challenge.dataset)
    if phases and protocol in possible and protocol != phases[0].protocol:
        tests = testing.delete_all(session, None, challenge)
        draft_phases.change_protocol(session, phases, protocol)
    log.info("answers of a draft stored", challenge=challenge.id)
    return tests


def _rules(
    phases: Sequence[Phase], scoring: dict[str, Any] | None, rules: dict[str, Any] | None, now: datetime
) -> list[PhaseRules]:
    main = [each for each in phases if each.is_held_out] or phases
    found = [PhaseRules.of(each) for each in phases]
    if rules:
        chosen = RulesChoice.model_validate({**rules, "invited": "", "terms": "none", "visibility": "listed"})
        found = [
            chosen.applied_to(each, now, is_main=phase in main)
            for each, phase in zip(found, phases, strict=True)
        ]
    if scoring:
        level = "ladder" if scoring.get("ladder") else DISCLOSURES[scoring.get("own", "all")]
        shown = ScoringChoice.model_validate({**scoring, "disclosure": level})
        found = [shown.applied_to(each, now) for each in found]
    return found
