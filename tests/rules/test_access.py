"""Who may do what."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.access import Action, Actor, allowed
from app.editions.rules import disclosed, sees_details, shows_details
from app.editions.schemas import PhaseView
from app.models import Disclosure, Role
from tests.pages.views import NOW, PHASE

HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)

NOBODY = Actor()
PARTICIPANT = Actor(user_id=1, team_id=1)
ORGANISER = Actor(user_id=2, team_id=2, organises=frozenset({PHASE.edition_id}))
ADMIN = Actor(user_id=3, team_id=3, role=Role.ADMIN)


@pytest.mark.parametrize("action", [Action.UPLOAD, Action.SUBMIT, Action.MANAGE_ACCOUNT, Action.ORGANISE])
def test_nobody_in_particular_only_reads_and_registers(action: Action) -> None:
    assert not allowed(NOBODY, action)
    assert allowed(NOBODY, Action.READ_PUBLIC)
    assert allowed(NOBODY, Action.REGISTER)


def test_a_participant_submits_and_does_not_organise() -> None:
    assert allowed(PARTICIPANT, Action.SUBMIT)
    assert not allowed(PARTICIPANT, Action.ORGANISE)


@pytest.mark.parametrize("actor", [ORGANISER, ADMIN])
@pytest.mark.parametrize("action", list(Action))
def test_organisers_and_admins_may_do_everything_there_is(actor: Actor, action: Action) -> None:
    assert allowed(actor, action)


def test_a_role_without_a_person_opens_nothing() -> None:
    assert not allowed(Actor(role=Role.ADMIN), Action.ORGANISE)
    assert not sees_details(Actor(role=Role.ADMIN), phase(Disclosure.ROUNDED))


def test_on_a_held_out_phase_only_organisers_see_every_digit() -> None:
    value, held_out, public = 0.123456, phase(Disclosure.ROUNDED), phase(Disclosure.FULL)

    assert disclosed(value, details=sees_details(PARTICIPANT, held_out)) == 0.123
    assert disclosed(value, details=sees_details(ORGANISER, held_out)) == value
    assert disclosed(value, details=sees_details(NOBODY, public)) == value


def test_no_value_stays_no_value() -> None:
    assert disclosed(None, details=False) is None


def test_a_held_out_phase_shows_details_only_after_its_grace_and_only_if_its_organiser_chose_so() -> None:
    chosen = replace(phase(Disclosure.ROUNDED), closes_at=NOW, grace=HOUR, details_at_close=True)

    assert not shows_details(chosen, NOW + HOUR - SECOND)
    assert shows_details(chosen, NOW + HOUR)
    assert not shows_details(replace(chosen, details_at_close=False), NOW + HOUR)
    assert not shows_details(replace(chosen, closes_at=None), NOW + HOUR)


def phase(disclosure: Disclosure) -> PhaseView:
    shown = disclosure is Disclosure.FULL
    return replace(PHASE, disclosure=disclosure, shows_details=shown)
