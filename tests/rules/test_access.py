"""Who may do what."""

from dataclasses import replace

import pytest

from app.challenges.disclosure import visibility_for
from app.core.access import Action, Actor, Relation, ResultVisibility, allowed, may, relations
from app.models import Role
from tests.pages.views import PHASE

OTHER_CHALLENGE = PHASE.challenge_id + 1

NOBODY = Actor()
PARTICIPANT = Actor(user_id=1, teams=frozenset({1}))
STRANGER = Actor(user_id=2, teams=frozenset({2}))
ORGANISER = Actor(user_id=3, teams=frozenset({3}), organises=frozenset({PHASE.challenge_id}))
ELSEWHERE = Actor(user_id=4, teams=frozenset({4}), organises=frozenset({OTHER_CHALLENGE}))
ADMIN = Actor(user_id=5, teams=frozenset({5}), role=Role.ADMIN, has_second_factor=True)
VIEWER = Actor(user_id=6, teams=frozenset({6}), views=frozenset({PHASE.challenge_id}))
OWNER = replace(ORGANISER, user_id=7, owns=ORGANISER.organises)
PEOPLE = {
    "N": NOBODY, "P": PARTICIPANT, "S": STRANGER, "V": VIEWER, "O": ORGANISER, "W": OWNER, "E": ELSEWHERE, "A": ADMIN,
}  # fmt: skip


# who may act on something of PARTICIPANT's team in ORGANISER's challenge: while it is private, and once it is public
WHO_MAY = {
    Action.READ_PUBLIC: ("everybody", "everybody"),
    Action.REGISTER: ("everybody", "everybody"),
    Action.MANAGE_ACCOUNT: ("PSVOWEA", "PSVOWEA"),
    Action.UPLOAD: ("PSVOWEA", "PSVOWEA"),
    Action.READ_OWN: ("PSVOWEA", "PSVOWEA"),
    Action.MANAGE_NOTIFICATIONS: ("PSVOWEA", "PSVOWEA"),
    Action.READ_UPLOAD: ("PVOWA", "PVOWA"),
    Action.READ_ARCHIVE: ("POWA", "POWA"),
    Action.CHANGE_UPLOAD: ("P", "P"),
    Action.SUBMIT: ("P", "P"),
    Action.READ_SUBMISSION: ("PVOWA", "everybody"),
    Action.WITHDRAW: ("POWA", "OWA"),
    Action.CHANGE_METHOD: ("P", "P"),
    Action.PUBLISH: ("P", "P"),
    Action.LINK: ("P", "P"),
    Action.READ_TEAM: ("PVOWA", "everybody"),
    Action.JOIN_TEAM: ("PSVOWEA", "PSVOWEA"),
    Action.CHANGE_TEAM: ("POWA", "POWA"),
    Action.CHANGE_WEBHOOK: ("OWA", "OWA"),
    Action.ASK: ("PSVOWEA", "PSVOWEA"),
    Action.CREATE: ("PSVOWEA", "PSVOWEA"),
    Action.READ_THREAD: ("POWA", "POWA"),
    Action.REPLY: ("P", "P"),
    Action.READ_ORGANISING: ("VOWA", "VOWA"),
    Action.ORGANISE: ("OWA", "OWA"),
    Action.READ_PEOPLE: ("VOWA", "VOWA"),
    Action.NAME_ORGANISERS: ("OWA", "OWA"),
    Action.VIEW_AS: ("OWA", "OWA"),
    Action.OWN: ("WA", "WA"),
    Action.MANAGE_PEOPLE: ("A", "A"),
    Action.MANAGE_ROLES: ("A", "A"),
    Action.READ_AUDIT: ("VOWA", "VOWA"),
    Action.READ_STORAGE: ("A", "A"),
    Action.MANAGE_JOBS: ("A", "A"),
    Action.MANAGE_SITE: ("A", "A"),
}


@pytest.mark.parametrize("action", list(Action))
def test_actions_on_a_teams_result_are_allowed_as_in_the_table(action: Action) -> None:
    [team], challenge = PARTICIPANT.teams, PHASE.challenge_id

    for state, letters in zip(
        (ResultVisibility.PRIVATE, ResultVisibility.PUBLIC), WHO_MAY[action], strict=True
    ):
        found = "".join(
            letter
            for letter, actor in PEOPLE.items()
            if may(relations(actor, team_id=team, challenge_id=challenge), action, state)
        )
        assert found == ("".join(PEOPLE) if letters == "everybody" else letters)


@pytest.mark.parametrize("person", PEOPLE)
def test_a_route_is_open_to_everyone_who_may_perform_its_action_somewhere(person: str) -> None:
    actor = PEOPLE[person]
    somewhere = {
        action
        for action in Action
        if any(
            may(relations(actor, team_id=team, challenge_id=challenge), action, state)
            for team in (1, 2, 3, 4, 5, 6)
            for challenge in (PHASE.challenge_id, OTHER_CHALLENGE)
            for state in ResultVisibility
        )
    }

    assert {action for action in Action if allowed(actor, action)} == somewhere


def test_a_role_without_a_user_grants_nothing() -> None:
    nobody = Actor(
        teams=frozenset({1}),
        role=Role.ADMIN,
        has_second_factor=True,
        organises=frozenset({PHASE.challenge_id}),
    )

    assert relations(nobody, team_id=1, challenge_id=PHASE.challenge_id) == {Relation.ANYBODY}
    assert not allowed(nobody, Action.ORGANISE)
    assert not visibility_for(nobody, PHASE).details


def test_only_organisers_and_admins_see_the_details_of_a_held_out_phase() -> None:
    assert (
        "".join(letter for letter, actor in PEOPLE.items() if visibility_for(actor, PHASE).details) == "OWA"
    )
