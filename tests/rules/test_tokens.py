"""What an API token looks like, and what it may do."""

import pytest

from app.access import SCOPES, Action, Actor, Scope, allowed
from app.models import Role
from app.tokens.rules import is_token, new_token
from app.tokens.schemas import NewToken

R, S, O = Scope.READ, Scope.SUBMIT, Scope.ORGANISE  # noqa: E741 - the letters of the table below
NEVER: set[Scope] = set()

# which scopes let the token of an admin do it
SCOPES_OF = {
    Action.READ_PUBLIC: {R, S, O},
    Action.REGISTER: NEVER,
    Action.MANAGE_ACCOUNT: NEVER,
    Action.UPLOAD: {S},
    Action.READ_OWN: {R, S, O},
    Action.READ_UPLOAD: {R, S, O},
    Action.CHANGE_UPLOAD: {S},
    Action.SUBMIT: {S},
    Action.READ_SUBMISSION: {R, S, O},
    Action.WITHDRAW: {S, O},
    Action.CHANGE_METHOD: {S},
    Action.PUBLISH: {S},
    Action.LINK: {S},
    Action.READ_TEAM: {R, S, O},
    Action.JOIN_TEAM: {S},
    Action.CHANGE_TEAM: {S},
    Action.ORGANISE: {O},
    Action.NAME_ORGANISERS: NEVER,
    Action.MANAGE_PEOPLE: NEVER,
    Action.MANAGE_ROLES: NEVER,
    Action.READ_AUDIT: {O},
    Action.READ_STORAGE: {O},
    Action.MANAGE_JOBS: {O},
}


@pytest.mark.parametrize("action", list(Action))
def test_the_table_says_which_scope_a_token_needs(action: Action) -> None:
    admin = {scope: Actor(user_id=1, role=Role.ADMIN, scopes=frozenset({scope})) for scope in Scope}

    assert {scope for scope, actor in admin.items() if allowed(actor, action)} == SCOPES_OF[action]


@pytest.mark.parametrize("action", list(Action))
def test_a_token_may_nothing_that_its_owner_may_not(action: Action) -> None:
    participant = Actor(user_id=1)
    token = Actor(user_id=1, scopes=frozenset(Scope))

    assert not allowed(token, action) or allowed(participant, action)


def test_several_scopes_add_up_and_none_opens_nothing() -> None:
    both = Actor(user_id=1, scopes=frozenset({R, S}))

    assert allowed(both, Action.SUBMIT)
    assert not any(allowed(Actor(user_id=1, scopes=frozenset()), action) for action in Action)
    assert set(SCOPES) == set(Scope)


def test_a_token_has_a_prefix_and_a_checksum_and_never_comes_twice() -> None:
    tokens = {new_token() for _ in range(100)}

    assert len(tokens) == 100
    assert all(is_token(token) and token.startswith("hld_") and len(token) == 40 for token in tokens)


def test_a_token_that_was_changed_anywhere_is_none() -> None:
    token = new_token()

    changed = [
        f"{token[:place]}{'0' if token[place] != '0' else '1'}{token[place + 1 :]}" for place in range(40)
    ]

    assert not any(is_token(each) for each in changed)


@pytest.mark.parametrize("text", ["", "hld_", "hld_" + "é" * 36, "x" * 40])
def test_what_has_another_shape_is_no_token(text: str) -> None:
    assert not is_token(text)


def test_a_longer_or_shorter_token_is_none() -> None:
    assert not is_token(new_token() + "0")
    assert not is_token(new_token()[:-1])


def test_a_token_has_at_least_one_scope_and_lasts_a_year_at_most() -> None:
    with pytest.raises(ValueError, match="scope"):
        NewToken.model_validate({"name": "x", "scope": []})
    with pytest.raises(ValueError, match="scope"):
        NewToken.model_validate({"name": "x", "scope": ["admin"]})
    with pytest.raises(ValueError, match="days"):
        NewToken.model_validate({"name": "x", "scope": ["read"], "days": 366})
