"""Permissions: who may do what, as a table and as a condition of a query."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sqlalchemy import ColumnElement, and_, false, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute

from app.models import Member, Role


class Action(enum.StrEnum):
    """What a route lets somebody do; every route names one."""

    READ_PUBLIC = "public.read"
    REGISTER = "account.register"
    MANAGE_ACCOUNT = "account.manage"
    UPLOAD = "upload.create"
    READ_OWN = "own.read"  # lists of what is one's own
    READ_UPLOAD = "upload.read"
    CHANGE_UPLOAD = "upload.change"
    SUBMIT = "submission.create"
    READ_SUBMISSION = "submission.read"
    WITHDRAW = "result.withdraw"
    CHANGE_METHOD = "method.change"
    PUBLISH = "method.publish"
    LINK = "link.manage"
    READ_TEAM = "team.read"
    JOIN_TEAM = "team.join"
    CHANGE_TEAM = "team.change"
    ORGANISE = "challenge.organise"
    NAME_ORGANISERS = "challenge.organisers"
    MANAGE_PEOPLE = "people.manage"
    MANAGE_ROLES = "roles.manage"
    READ_AUDIT = "audit.read"
    READ_STORAGE = "storage.read"
    MANAGE_JOBS = "jobs.manage"


class Scope(enum.StrEnum):
    """What a token may do, of what its owner may."""

    READ = "read"
    SUBMIT = "submit"
    ORGANISE = "organise"  # the challenges that its owner organises by name
    ADMIN = "admin"  # every challenge, storage and jobs


class Relation(enum.StrEnum):
    """How somebody stands to what they want to read or change."""

    ANYBODY = "anybody"
    PERSON = "person"  # is logged in
    MEMBER = "member"  # of the team that it belongs to
    ORGANISER = "organiser"  # of the challenge that it belongs to; every admin is one
    ADMIN = "admin"


class State(enum.StrEnum):
    """Whether a result is shown to everybody."""

    PRIVATE = "private"
    PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a request; a visitor who is not logged in has neither id nor teams.

    The fields are facts of now: the owner's and, where a token makes the request, its scopes. What they may do follows from
    `is_admin`, `is_organiser` and `runs`, which take the lower of the two.
    """

    user_id: int | None = None
    teams: frozenset[int] = frozenset()  # at most one in each challenge
    name: str = ""
    email: str = ""
    role: Role = Role.PARTICIPANT
    is_verified: bool = False  # the e-mail address is known to be theirs
    organises: frozenset[int] = frozenset()  # ids of challenges
    scopes: frozenset[Scope] | None = None  # of the token that makes the request; none: a person does
    has_password: bool = True  # else only a provider lets them in
    has_second_factor: bool = False
    is_recent: bool = False  # has shown within the last minutes that it is them

    @property
    def by_token(self) -> bool:
        """Whether a program makes this request."""
        return self.scopes is not None

    @property
    def is_logged_in(self) -> bool:
        """Whether somebody is logged in."""
        return self.user_id is not None

    @property
    def must_enrol(self) -> bool:
        """Whether this person is an admin without a second factor, who has no rights of an admin until they set one up."""
        return self.is_logged_in and self.role is Role.ADMIN and not self.has_second_factor

    @property
    def is_admin(self) -> bool:
        """Whether this person runs the server, and a token that they use was made for that."""
        is_one = self.is_logged_in and self.role is Role.ADMIN and self.has_second_factor
        return is_one and self._has_scope(Scope.ADMIN)

    @property
    def is_organiser(self) -> bool:
        """Whether this person runs at least one challenge."""
        return self.is_admin or (self._may_organise and bool(self.organises))

    @property
    def _may_organise(self) -> bool:
        return self.is_logged_in and self._has_scope(Scope.ORGANISE, Scope.ADMIN)

    def _has_scope(self, *scopes: Scope) -> bool:
        """Whether the token of a request has one of these scopes; a person has all."""
        return self.scopes is None or not self.scopes.isdisjoint(scopes)

    def is_member(self, team_id: int) -> bool:
        """Whether this person is in this team."""
        return self.is_logged_in and team_id in self.teams

    def runs(self, challenge_id: int) -> bool:
        """Whether this person runs this challenge: its organisers and every admin."""
        return self.is_admin or (self._may_organise and challenge_id in self.organises)


def _always(*relations: Relation) -> Mapping[State, frozenset[Relation]]:
    return dict.fromkeys(State, frozenset(relations))


_TEAM = frozenset({Relation.MEMBER, Relation.ORGANISER})

PERMISSIONS: Mapping[Action, Mapping[State, frozenset[Relation]]] = {
    Action.READ_PUBLIC: _always(Relation.ANYBODY),
    Action.REGISTER: _always(Relation.ANYBODY),
    Action.MANAGE_ACCOUNT: _always(Relation.PERSON),
    Action.UPLOAD: _always(Relation.PERSON),
    Action.READ_OWN: _always(Relation.PERSON),
    Action.READ_UPLOAD: _always(*_TEAM),
    Action.CHANGE_UPLOAD: _always(Relation.MEMBER),
    Action.SUBMIT: _always(Relation.MEMBER),
    Action.READ_SUBMISSION: {State.PRIVATE: _TEAM, State.PUBLIC: frozenset({Relation.ANYBODY})},
    Action.WITHDRAW: {State.PRIVATE: _TEAM, State.PUBLIC: frozenset({Relation.ORGANISER})},
    Action.CHANGE_METHOD: _always(Relation.MEMBER),
    Action.PUBLISH: _always(Relation.MEMBER),
    Action.LINK: _always(Relation.MEMBER),
    Action.READ_TEAM: {State.PRIVATE: _TEAM, State.PUBLIC: frozenset({Relation.ANYBODY})},
    Action.JOIN_TEAM: _always(Relation.PERSON),
    Action.CHANGE_TEAM: _always(*_TEAM),
    Action.ORGANISE: _always(Relation.ORGANISER),
    Action.NAME_ORGANISERS: _always(Relation.ORGANISER),
    Action.MANAGE_PEOPLE: _always(Relation.ADMIN),
    Action.MANAGE_ROLES: _always(Relation.ADMIN),
    Action.READ_AUDIT: _always(Relation.ORGANISER),
    Action.READ_STORAGE: _always(Relation.ADMIN),
    Action.MANAGE_JOBS: _always(Relation.ADMIN),
}


_READING = frozenset(
    {Action.READ_PUBLIC, Action.READ_OWN, Action.READ_UPLOAD, Action.READ_SUBMISSION, Action.READ_TEAM}
)
_ORGANISING = _READING | {Action.ORGANISE, Action.WITHDRAW, Action.READ_AUDIT}
# accounts, people, organisers and roles are in no scope: a token that leaks can neither make another nor take an account over
SCOPES: Mapping[Scope, frozenset[Action]] = {
    Scope.READ: _READING,
    Scope.SUBMIT: _READING
    | {
        Action.UPLOAD,
        Action.CHANGE_UPLOAD,
        Action.SUBMIT,
        Action.WITHDRAW,
        Action.CHANGE_METHOD,
        Action.PUBLISH,
        Action.LINK,
        Action.JOIN_TEAM,
        Action.CHANGE_TEAM,
    },
    Scope.ORGANISE: _ORGANISING,
    Scope.ADMIN: _ORGANISING | {Action.READ_STORAGE, Action.MANAGE_JOBS},
}


def scopes_for(owner: Actor) -> tuple[Scope, ...]:
    """What somebody may make a token for.

    >>> [scope.value for scope in scopes_for(Actor(user_id=1, organises=frozenset({7})))]
    ['read', 'submit', 'organise']
    """
    held = {Scope.ORGANISE: bool(owner.organises), Scope.ADMIN: owner.is_admin}
    return tuple(scope for scope in Scope if held.get(scope, owner.is_logged_in))


def in_scope(actor: Actor, action: Action) -> bool:
    """Whether the token of a request, if it has one, may be used for `action`.

    >>> in_scope(Actor(user_id=1, scopes=frozenset({Scope.READ})), Action.SUBMIT)
    False
    """
    return actor.scopes is None or any(action in SCOPES[scope] for scope in actor.scopes)


def may(relations: frozenset[Relation], action: Action, state: State) -> bool:
    """Whether somebody who stands so to something in this state may do `action` to it.

    >>> may(frozenset({Relation.ANYBODY}), Action.READ_SUBMISSION, State.PRIVATE)
    False
    """
    return bool(relations & PERMISSIONS[action][state])


def relations(actor: Actor, *, team_id: int, challenge_id: int) -> frozenset[Relation]:
    """How an actor stands to something of this team in this challenge."""
    return _relations(actor, is_member=actor.is_member(team_id), is_organiser=actor.runs(challenge_id))


def _relations(actor: Actor, *, is_member: bool, is_organiser: bool) -> frozenset[Relation]:
    found = {
        Relation.PERSON: actor.is_logged_in,
        Relation.MEMBER: is_member,
        Relation.ORGANISER: is_organiser,
        Relation.ADMIN: actor.is_admin,
    }
    return frozenset({Relation.ANYBODY, *(relation for relation, holds in found.items() if holds)})


def allowed(actor: Actor, action: Action) -> bool:
    """Whether `actor` may do `action` to anything at all; which rows these are is said by app/core/access.py.

    >>> allowed(Actor(), Action.READ_PUBLIC), allowed(Actor(), Action.UPLOAD)
    (True, False)
    """
    found = _relations(actor, is_member=actor.is_logged_in, is_organiser=actor.is_organiser)
    return in_scope(actor, action) and any(may(found, action, state) for state in State)


def only_for_admins(action: Action) -> bool:
    """Whether organisers may never do `action`."""
    return all(relations == {Relation.ADMIN} for relations in PERMISSIONS[action].values())


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request."""

    actor: Actor
    awaits_code: bool = False  # the password was right, and the second factor is missing


Number = InstrumentedAttribute[int] | InstrumentedAttribute[int | None]
NO_STATES: Mapping[State, ColumnElement[bool]] = MappingProxyType({})


def rows_for(
    actor: Actor,
    action: Action,
    *,
    team: Number | None = None,
    challenge: Number | None = None,
    states: Mapping[State, ColumnElement[bool]] = NO_STATES,
) -> ColumnElement[bool]:
    """The rows that `actor` may do `action` to, being in the teams that they are in at the time of the query.

    team, challenge: the columns of the team and of the challenge that a row belongs to, where it does; states: what tells
    that a row is in a state, where the table of permissions asks for it; a row can be in several.
    """
    if not states:
        [relations] = set(PERMISSIONS[action].values())
        return _relates(actor, relations, team, challenge)
    return or_(
        *(
            and_(states[state], _relates(actor, relations, team, challenge))
            for state, relations in PERMISSIONS[action].items()
        )
    )


def _relates(
    actor: Actor, relations: frozenset[Relation], team: Number | None, challenge: Number | None
) -> ColumnElement[bool]:
    """Whether the actor stands to a row in one of these relations."""
    found: list[ColumnElement[bool]] = [false()]
    if (
        Relation.ANYBODY in relations
        or (Relation.PERSON in relations and actor.is_logged_in)
        or (relations & {Relation.ADMIN, Relation.ORGANISER} and actor.is_admin)
    ):
        return true()
    if Relation.MEMBER in relations and team is not None and actor.is_logged_in:
        found.append(team.in_(select(Member.team_id).where(Member.user_id == actor.user_id)))
    if Relation.ORGANISER in relations and challenge is not None and actor.is_organiser:
        found.append(challenge.in_(actor.organises))
    return or_(*found)
