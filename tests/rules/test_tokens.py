"""What an API token looks like, and what it may do."""

from dataclasses import replace

import pytest

from app.core.access import SCOPES, Action, Actor, Scope, allowed
from app.models import Role
from app.people.tokens import NewToken, is_token, new_token

R, S, O, A = Scope.READ, Scope.SUBMIT, Scope.ORGANISE, Scope.ADMIN  # noqa: E741 - the letters of the table below
NEVER: set[Scope] = set()

OWN, OTHER = 7, 8  # challenges
PARTICIPANT = Actor(user_id=1)
ORGANISER = Actor(user_id=1, organises=frozenset({OWN}))
ADMIN = replace(ORGANISER, role=Role.ADMIN, has_second_factor=True)

# the scopes with which an admin's token may perform the action
SCOPES_OF = {
    Action.READ_PUBLIC: {R, S, O, A},
    Action.REGISTER: NEVER,
    Action.MANAGE_ACCOUNT: NEVER,
    Action.UPLOAD: {S},
    Action.READ_OWN: {R, S, O, A},
    Action.MANAGE_NOTIFICATIONS: {S, O, A},
    Action.READ_THREAD: {R, S, O, A},
    Action.ASK: {S},
    Action.REPLY: {S},
    Action.READ_UPLOAD: {R, S, O, A},
    Action.READ_ARCHIVE: {R, S, O, A},
    Action.CHANGE_UPLOAD: {S},
    Action.SUBMIT: {S},
    Action.READ_SUBMISSION: {R, S, O, A},
    Action.WITHDRAW: {S, O, A},
    Action.CHANGE_METHOD: {S},
    Action.PUBLISH: {S},
    Action.LINK: {S},
    Action.READ_TEAM: {R, S, O, A},
    Action.JOIN_TEAM: {S},
    Action.CHANGE_TEAM: {S},
    Action.CHANGE_WEBHOOK: NEVER,
    Action.CREATE: NEVER,
    Action.ORGANISE: {O, A},
    Action.READ_ORGANISING: {O, A},
    Action.READ_PEOPLE: NEVER,
    Action.NAME_ORGANISERS: NEVER,
    Action.VIEW_AS: NEVER,
    Action.OWN: NEVER,
    Action.MANAGE_PEOPLE: NEVER,
    Action.MANAGE_ROLES: NEVER,
    Action.READ_AUDIT: {O, A},
    Action.READ_STORAGE: {A},
    Action.MANAGE_JOBS: {A},
    Action.MANAGE_SITE: {A},
}


@pytest.mark.parametrize("action", list(Action))
def test_each_action_needs_one_of_the_scopes_in_the_table(action: Action) -> None:
    admin = {scope: replace(ADMIN, scopes=frozenset({scope})) for scope in Scope}

    assert {scope for scope, actor in admin.items() if allowed(actor, action)} == SCOPES_OF[action]


@pytest.mark.parametrize(
    ("owner", "scopes", "runs_own", "runs_other", "is_admin"),
    [
        # a person, in a browser
        (PARTICIPANT, None, False, False, False),
        (ORGANISER, None, True, False, False),
        (ADMIN, None, True, True, True),
        (replace(ADMIN, has_second_factor=False), None, True, False, False),
        # an organiser's token; the owner may have become an admin since
        (ORGANISER, {O}, True, False, False),
        (ADMIN, {O}, True, False, False),
        (replace(ADMIN, has_second_factor=False), {O}, True, False, False),
        (ORGANISER, {R, S}, False, False, False),
        # an admin's token; the owner may no longer be one
        (ADMIN, {A}, True, True, True),
        (ADMIN, {R, S}, False, False, False),
        (replace(ADMIN, has_second_factor=False), {A}, True, False, False),
        (replace(ADMIN, has_second_factor=False, organises=frozenset()), {A}, False, False, False),
        (ORGANISER, {A}, True, False, False),
        (PARTICIPANT, {O, A}, False, False, False),
        # nobody
        (replace(ADMIN, user_id=None), {A}, False, False, False),
    ],
)
def test_a_token_has_the_lesser_of_its_scopes_and_its_owners_rights(
    owner: Actor, scopes: set[Scope] | None, *, runs_own: bool, runs_other: bool, is_admin: bool
) -> None:
    actor = replace(owner, scopes=None if scopes is None else frozenset(scopes))

    assert (actor.organises_challenge(OWN), actor.organises_challenge(OTHER), actor.is_admin) == (
        runs_own,
        runs_other,
        is_admin,
    )
    assert actor.is_organiser == (runs_own or runs_other)
    assert allowed(actor, Action.READ_STORAGE) == is_admin


@pytest.mark.parametrize("action", list(Action))
def test_a_token_never_allows_more_than_its_owner_may_do(action: Action) -> None:
    participant = Actor(user_id=1)
    token = Actor(user_id=1, scopes=frozenset(Scope))

    assert not allowed(token, action) or allowed(participant, action)


def test_scopes_add_up_and_a_token_without_scopes_allows_nothing() -> None:
    both = Actor(user_id=1, scopes=frozenset({R, S}))

    assert allowed(both, Action.SUBMIT)
    assert not any(allowed(Actor(user_id=1, scopes=frozenset()), action) for action in Action)
    assert set(SCOPES) == set(Scope)


def test_a_token_has_a_prefix_and_a_checksum_and_is_unique() -> None:
    tokens = {new_token() for _ in range(100)}

    assert len(tokens) == 100
    assert all(is_token(token) and token.startswith("hld_") and len(token) == 40 for token in tokens)


def test_a_token_with_any_character_changed_is_invalid() -> None:
    token = new_token()

    changed = [
        f"{token[:place]}{'0' if token[place] != '0' else '1'}{token[place + 1 :]}" for place in range(40)
    ]

    assert not any(is_token(each) for each in changed)


@pytest.mark.parametrize("text", ["", "hld_", "hld_" + "é" * 36, "x" * 40])
def test_text_of_another_format_is_not_a_token(text: str) -> None:
    assert not is_token(text)


def test_a_longer_or_shorter_token_is_invalid() -> None:
    assert not is_token(new_token() + "0")
    assert not is_token(new_token()[:-1])


def test_a_token_has_at_least_one_scope_and_lasts_a_year_at_most() -> None:
    with pytest.raises(ValueError, match="scope"):
        NewToken.model_validate({"name": "x", "scope": []})
    with pytest.raises(ValueError, match="scope"):
        NewToken.model_validate({"name": "x", "scope": ["root"]})
    with pytest.raises(ValueError, match="days"):
        NewToken.model_validate({"name": "x", "scope": ["read"], "days": 366})
