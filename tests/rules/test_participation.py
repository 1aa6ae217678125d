from dataclasses import replace

import pytest

from app.challenges.terms import TermsView, address_refusals, required_step, terms_refusals
from app.core.access import Actor
from app.core.errors import Refusal, TeamNotApproved, TeamSuspended
from app.models import Disclosure, Role
from tests.pages.views import NOW, PHASE

STRANGER = Actor(user_id=7)
KNOWN = replace(STRANGER, is_verified=True)
ORGANISER = replace(STRANGER, organises=frozenset({PHASE.challenge_id}))
TERMS = TermsView(1, PHASE.challenge_id, "VOC2007", "VOC 2007", 2, "Be fair.", NOW, None)


@pytest.mark.parametrize("disclosure", Disclosure)
@pytest.mark.parametrize("actor", [STRANGER, KNOWN, ORGANISER, Actor()])
def test_a_held_out_phase_needs_a_confirmed_address(disclosure: Disclosure, actor: Actor) -> None:
    found = [*address_refusals(actor, replace(PHASE, disclosure=disclosure))]

    asked = disclosure is not Disclosure.FULL and not actor.is_verified
    assert [refusal.code for refusal in found] == ["address-not-confirmed"] * asked
    assert all(
        required_step(refusal, PHASE, "/uploads/7").address == "/account/address?next=/uploads/7"
        for refusal in found
    )


@pytest.mark.parametrize(
    ("actor", "terms", "asked"),
    [
        (KNOWN, None, False),
        (KNOWN, TERMS, True),
        (KNOWN, replace(TERMS, accepted_at=NOW), False),
        (ORGANISER, TERMS, False),
        (replace(STRANGER, role=Role.ADMIN, has_second_factor=True), TERMS, False),
        (replace(STRANGER, organises=frozenset({PHASE.challenge_id + 1})), TERMS, True),
    ],
)
def test_everyone_but_organisers_has_to_accept_the_newest_terms(
    actor: Actor, terms: TermsView | None, *, asked: bool
) -> None:
    found = [*terms_refusals(actor, terms)]

    assert [refusal.code for refusal in found] == ["terms-not-accepted"] * asked
    assert all("version 2 of the terms of VOC2007" in refusal.message for refusal in found)
    assert all(
        required_step(refusal, PHASE, "/uploads/7").address
        == f"/challenges/{PHASE.challenge}/terms?next=/uploads/7"
        for refusal in found
    )


@pytest.mark.parametrize("kind", [TeamSuspended, TeamNotApproved])
def test_a_problem_with_the_team_leads_to_the_organisers(kind: type[Refusal]) -> None:
    step = required_step(kind("the team is suspended"), PHASE, "/uploads/7")

    assert (step.address, "the team is suspended") == (f"/challenges/{PHASE.challenge}/ask", step.reason)
