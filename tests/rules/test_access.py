"""Who may do what."""

import pytest

from app.access import Action, Actor, allowed
from app.disclosure.rules import sight_of
from app.models import Role
from tests.pages.views import PHASE

NOBODY = Actor()
PARTICIPANT = Actor(user_id=1)
ORGANISER = Actor(user_id=2, organises=frozenset({PHASE.edition_id}))
ADMIN = Actor(user_id=3, role=Role.ADMIN)


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
    assert not sight_of(Actor(role=Role.ADMIN), PHASE).details
