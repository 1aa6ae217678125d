"""Permissions: who may do what, as a table and as a query condition."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

from sqlalchemy import ColumnElement, Select, and_, false, not_, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.core.errors import ConflictError, ForbiddenError, NotFoundError
from app.models import Challenge, ChallengeInvitation, ChallengeVisibility, InvitedPerson, Member, Role

TRIED: Final = "sample-try"  # the challenge that visitors' test runs go to; no list shows it to anybody


class Action(enum.StrEnum):
    """What a route allows; every route names one action."""

    READ_PUBLIC = "public.read"
    REGISTER = "account.register"
    MANAGE_ACCOUNT = "account.manage"
    UPLOAD = "upload.create"
    READ_OWN = "own.read"  # the user's own teams, uploads, results, quotas, notifications and personal data
    MANAGE_NOTIFICATIONS = "notifications.manage"
    READ_UPLOAD = "upload.read"
    READ_ARCHIVE = "archive.read"
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
    ASK = "thread.ask"  # the organisers of any challenge
    READ_THREAD = "thread.read"
    REPLY = "thread.reply"
    READ_ORGANISING = (
        "challenge.read_organising"  # the organisers' pages, without what only organisers may see
    )
    CHANGE_WEBHOOK = "webhook.change"
    CREATE = "challenge.create"  # if the rule of the site lets them
    ORGANISE = "challenge.organise"
    READ_PEOPLE = "challenge.people"  # who organises a challenge
    NAME_ORGANISERS = "challenge.organisers"
    VIEW_AS = "challenge.view_as"  # view it as somebody else
    OWN = "challenge.own"  # name owners, remove people, release ground truth
    MANAGE_PEOPLE = "people.manage"
    MANAGE_ROLES = "roles.manage"
    READ_AUDIT = "audit.read"
    READ_STORAGE = "storage.read"
    MANAGE_JOBS = "jobs.manage"
    MANAGE_SITE = "site.manage"


class Scope(enum.StrEnum):
    """The part of its owner's rights that a token has."""

    READ = "read"
    SUBMIT = "submit"
    ORGANISE = "organise"  # the challenges that its owner is listed as an organiser of
    ADMIN = "admin"  # every challenge, storage and jobs


class Relation(enum.StrEnum):
    """How an actor is related to what they want to read or change."""

    ANYBODY = "anybody"
    PERSON = "person"  # anyone who is logged in
    MEMBER = "member"  # of the team it belongs to
    VIEWER = "viewer"  # of the challenge it belongs to
    ORGANISER = "organiser"  # of the challenge it belongs to; includes its owners and every admin
    OWNER = "owner"  # of the challenge it belongs to; includes every admin
    ADMIN = "admin"


class ResultVisibility(enum.StrEnum):
    """Whether a result is visible to everyone."""

    PRIVATE = "private"
    PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a request; an anonymous visitor has neither an id nor teams.

    The fields describe the user and, for a request with a token, the token's scopes. `is_admin`, `is_organiser` and `runs`
    combine the two: a right needs both.
    """

    user_id: int | None = None
    teams: frozenset[int] = frozenset()  # at most one in each challenge
    name: str = ""
    email: str = ""
    role: Role = Role.PARTICIPANT
    is_verified: bool = False  # the e-mail address is confirmed
    organises: frozenset[int] = frozenset()  # ids of challenges, also of those that they own
    owns: frozenset[int] = frozenset()  # ids of challenges
    views: frozenset[int] = (
        frozenset()
    )  # ids of challenges whose organisers' pages they may read and nothing else
    scopes: frozenset[Scope] | None = None  # of the token; None if there is no token
    has_password: bool = True  # otherwise they log in through a provider only
    has_second_factor: bool = False
    is_recent: bool = False  # authenticated within the last minutes
    # the one that an organiser views as somebody else; the actor is no person then
    viewed_challenge: int | None = None
    unread: int = 0  # notifications, at most 100; not counted for a token

    @property
    def by_token(self) -> bool:
        """Whether the request was made with an API token."""
        return self.scopes is not None

    @property
    def is_logged_in(self) -> bool:
        """Whether the actor is a user rather than an anonymous visitor."""
        return self.user_id is not None

    @property
    def must_enrol(self) -> bool:
        """Whether this is an admin without a second factor, who has no admin rights until they set one up."""
        return self.is_logged_in and self.role is Role.ADMIN and not self.has_second_factor

    @property
    def is_admin(self) -> bool:
        """Whether this is an admin with a second factor and, for a token, the admin scope."""
        is_enrolled_admin = self.is_logged_in and self.role is Role.ADMIN and self.has_second_factor
        return is_enrolled_admin and self._has_scope(Scope.ADMIN)

    @property
    def is_organiser(self) -> bool:
        """Whether the actor organises at least one challenge."""
        return self.is_admin or (self._may_organise and bool(self.organises))

    @property
    def is_owner(self) -> bool:
        """Whether the actor owns at least one challenge."""
        return self.is_admin or (self._may_organise and bool(self.owns))

    @property
    def reads_organising(self) -> bool:
        """Whether the actor organises or views at least one challenge."""
        return self.is_organiser or (self._may_organise and bool(self.views))

    @property
    def _may_organise(self) -> bool:
        return self.is_logged_in and self._has_scope(Scope.ORGANISE, Scope.ADMIN)

    def _has_scope(self, *scopes: Scope) -> bool:
        """Whether the token has one of these scopes; without a token, all scopes apply."""
        return self.scopes is None or not self.scopes.isdisjoint(scopes)

    def is_member(self, team_id: int) -> bool:
        """Whether the actor is a member of this team."""
        return self.is_logged_in and team_id in self.teams

    def organises_challenge(self, challenge_id: int) -> bool:
        """Whether the actor organises this challenge, as one of its organisers or as an admin."""
        return self.is_admin or (self._may_organise and challenge_id in self.organises)

    def owns_challenge(self, challenge_id: int) -> bool:
        """Whether the actor owns this challenge, as one of its owners or as an admin."""
        return self.is_admin or (self._may_organise and challenge_id in self.owns)

    def views_challenge(self, challenge_id: int) -> bool:
        """Whether the actor may read the organisers' pages of this challenge and nothing else."""
        return (
            not self.organises_challenge(challenge_id) and self._may_organise and challenge_id in self.views
        )


def _always(*relations: Relation) -> Mapping[ResultVisibility, frozenset[Relation]]:
    return dict.fromkeys(ResultVisibility, frozenset(relations))


_TEAM = frozenset({Relation.MEMBER, Relation.ORGANISER})
_READERS = _TEAM | {Relation.VIEWER}

PERMISSIONS: Mapping[Action, Mapping[ResultVisibility, frozenset[Relation]]] = {
    Action.READ_PUBLIC: _always(Relation.ANYBODY),
    Action.REGISTER: _always(Relation.ANYBODY),
    Action.MANAGE_ACCOUNT: _always(Relation.PERSON),
    Action.UPLOAD: _always(Relation.PERSON),
    Action.READ_OWN: _always(Relation.PERSON),
    Action.MANAGE_NOTIFICATIONS: _always(Relation.PERSON),
    Action.READ_UPLOAD: _always(*_READERS),
    Action.READ_ARCHIVE: _always(*_TEAM),
    Action.CHANGE_UPLOAD: _always(Relation.MEMBER),
    Action.SUBMIT: _always(Relation.MEMBER),
    Action.READ_SUBMISSION: {
        ResultVisibility.PRIVATE: _READERS,
        ResultVisibility.PUBLIC: frozenset({Relation.ANYBODY}),
    },
    Action.WITHDRAW: {
        ResultVisibility.PRIVATE: _TEAM,
        ResultVisibility.PUBLIC: frozenset({Relation.ORGANISER}),
    },
    Action.CHANGE_METHOD: _always(Relation.MEMBER),
    Action.PUBLISH: _always(Relation.MEMBER),
    Action.LINK: _always(Relation.MEMBER),
    Action.READ_TEAM: {
        ResultVisibility.PRIVATE: _READERS,
        ResultVisibility.PUBLIC: frozenset({Relation.ANYBODY}),
    },
    Action.JOIN_TEAM: _always(Relation.PERSON),
    Action.CHANGE_TEAM: _always(*_TEAM),
    Action.ASK: _always(Relation.PERSON),
    Action.READ_THREAD: _always(*_TEAM),
    Action.REPLY: _always(Relation.MEMBER),
    Action.READ_ORGANISING: _always(Relation.VIEWER, Relation.ORGANISER),
    Action.CHANGE_WEBHOOK: _always(Relation.ORGANISER),
    Action.CREATE: _always(Relation.PERSON),
    Action.ORGANISE: _always(Relation.ORGANISER),
    Action.READ_PEOPLE: _always(Relation.VIEWER, Relation.ORGANISER),
    Action.NAME_ORGANISERS: _always(Relation.ORGANISER),
    Action.VIEW_AS: _always(Relation.ORGANISER),
    Action.OWN: _always(Relation.OWNER),
    Action.MANAGE_PEOPLE: _always(Relation.ADMIN),
    Action.MANAGE_ROLES: _always(Relation.ADMIN),
    Action.READ_AUDIT: _always(Relation.VIEWER, Relation.ORGANISER),
    Action.READ_STORAGE: _always(Relation.ADMIN),
    Action.MANAGE_JOBS: _always(Relation.ADMIN),
    Action.MANAGE_SITE: _always(Relation.ADMIN),
}


_READING = frozenset(
    {
        Action.READ_PUBLIC,
        Action.READ_OWN,
        Action.READ_UPLOAD,
        Action.READ_ARCHIVE,
        Action.READ_SUBMISSION,
        Action.READ_TEAM,
        Action.READ_THREAD,
    }
)
_ORGANISING = _READING | {
    Action.READ_ORGANISING,
    Action.ORGANISE,
    Action.WITHDRAW,
    Action.READ_AUDIT,
    Action.MANAGE_NOTIFICATIONS,
}
# no scope covers accounts, people, new challenges, organisers, roles and webhooks: a leaked token can neither create another, nor take over an
# account, nor have its owner's events sent to somebody from then on
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
        Action.MANAGE_NOTIFICATIONS,
        Action.ASK,
        Action.REPLY,
    },
    Scope.ORGANISE: _ORGANISING,
    Scope.ADMIN: _ORGANISING | {Action.READ_STORAGE, Action.MANAGE_JOBS, Action.MANAGE_SITE},
}


def scopes_for(owner: Actor) -> tuple[Scope, ...]:
    """The scopes that this user may give to a new token.

    >>> [scope.value for scope in scopes_for(Actor(user_id=1, organises=frozenset({7})))]
    ['read', 'submit', 'organise']
    """
    held = {Scope.ORGANISE: bool(owner.organises | owner.views), Scope.ADMIN: owner.is_admin}
    return tuple(scope for scope in Scope if held.get(scope, owner.is_logged_in))


def in_scope(actor: Actor, action: Action) -> bool:
    """Whether the token, if there is one, may be used for `action`.

    >>> in_scope(Actor(user_id=1, scopes=frozenset({Scope.READ})), Action.SUBMIT)
    False
    """
    return actor.scopes is None or any(action in SCOPES[scope] for scope in actor.scopes)


def may(relations: frozenset[Relation], action: Action, state: ResultVisibility) -> bool:
    """Whether someone with these relations to an object in this state may do `action`.

    >>> may(frozenset({Relation.ANYBODY}), Action.READ_SUBMISSION, ResultVisibility.PRIVATE)
    False
    """
    return bool(relations & PERMISSIONS[action][state])


def relations(actor: Actor, *, team_id: int, challenge_id: int) -> frozenset[Relation]:
    """The actor's relations to an object of this team in this challenge."""
    return _relations(
        actor,
        member=actor.is_member(team_id),
        viewer=actor.views_challenge(challenge_id),
        organiser=actor.organises_challenge(challenge_id),
        owner=actor.owns_challenge(challenge_id),
    )


def _relations(
    actor: Actor, *, member: bool, viewer: bool, organiser: bool, owner: bool
) -> frozenset[Relation]:
    found = {
        Relation.PERSON: actor.is_logged_in,
        Relation.MEMBER: member,
        Relation.VIEWER: viewer,
        Relation.ORGANISER: organiser,
        Relation.OWNER: owner,
        Relation.ADMIN: actor.is_admin,
    }
    return frozenset({Relation.ANYBODY, *(relation for relation, holds in found.items() if holds)})


def allowed(actor: Actor, action: Action) -> bool:
    """Whether `actor` may do `action` to anything at all; `rows_for` selects the rows.

    >>> allowed(Actor(), Action.READ_PUBLIC), allowed(Actor(), Action.UPLOAD)
    (True, False)
    """
    found = _relations(
        actor,
        member=actor.is_logged_in,
        viewer=actor.reads_organising,
        organiser=actor.is_organiser,
        owner=actor.is_owner,
    )
    return in_scope(actor, action) and any(may(found, action, state) for state in ResultVisibility)


def only_for_admins(action: Action) -> bool:
    """Whether only admins may do `action`."""
    return all(relations == {Relation.ADMIN} for relations in PERMISSIONS[action].values())


NO_PERSON = (
    0  # the user id of somebody who is logged in for an organiser's view only; nothing is stored about them
)


@dataclass(frozen=True, slots=True)
class View:
    """A challenge that an organiser views as somebody else, reading only."""

    challenge_id: int
    code: str
    title: str
    is_visitor: bool

    @property
    def eyes(self) -> str:
        """Whose eyes, in words.

        >>> View(1, "sample", "Sample", is_visitor=False).eyes
        'a new participant'
        """
        return "a visitor" if self.is_visitor else "a new participant"

    @property
    def actor(self) -> Actor:
        """Who makes requests during the view: nobody who exists, with the rights of whom they stand for."""
        if self.is_visitor:
            return Actor(viewed_challenge=self.challenge_id)
        return Actor(
            user_id=NO_PERSON,
            name="A new participant",
            is_verified=True,
            viewed_challenge=self.challenge_id,
        )


@dataclass(frozen=True, slots=True)
class Caller:
    """The actor of a request, and whether a login is incomplete."""

    actor: Actor
    awaits_code: bool = False  # the password was correct; the second factor is still missing
    view: View | None = None  # that the actor stands for
    organiser: Actor | None = None  # who has it


Number = InstrumentedAttribute[int] | InstrumentedAttribute[int | None]
NO_STATES: Mapping[ResultVisibility, ColumnElement[bool]] = MappingProxyType({})


def rows_for(
    actor: Actor,
    action: Action,
    *,
    team: Number | None = None,
    challenge: Number | None = None,
    states: Mapping[ResultVisibility, ColumnElement[bool]] = NO_STATES,
) -> ColumnElement[bool]:
    """The condition for rows to which `actor` may do `action`; team membership is as of the query.

    team, challenge: the columns with the team and the challenge of a row, if it has them; states: the condition for each
    state, needed if the permissions differ by state. A row can be in several states. Rows of a challenge that the actor may
    not see are never among them.
    """
    if not states:
        [relations] = set(PERMISSIONS[action].values())
        related = _relates(actor, relations, team, challenge)
    else:
        related = or_(
            *(
                and_(states[state], _relates(actor, relations, team, challenge))
                for state, relations in PERMISSIONS[action].items()
            )
        )
    return related if challenge is None else and_(related, visible_to(actor, challenge))


def _relates(
    actor: Actor, relations: frozenset[Relation], team: Number | None, challenge: Number | None
) -> ColumnElement[bool]:
    """The condition that the actor has one of these relations to a row."""
    found: list[ColumnElement[bool]] = [false()]
    if (
        Relation.ANYBODY in relations
        or (Relation.PERSON in relations and actor.is_logged_in)
        or (relations & {Relation.ADMIN, Relation.ORGANISER, Relation.OWNER} and actor.is_admin)
    ):
        return true()
    if Relation.MEMBER in relations and team is not None and actor.is_logged_in:
        found.append(team.in_(select(Member.team_id).where(Member.user_id == actor.user_id)))
    if challenge is not None:
        theirs = {
            Relation.VIEWER: actor.views if actor.reads_organising else frozenset(),
            Relation.ORGANISER: actor.organises if actor.is_organiser else frozenset(),
            Relation.OWNER: actor.owns if actor.is_owner else frozenset(),
        }
        if ids := frozenset[int]().union(*(theirs.get(each, frozenset()) for each in relations)):
            found.append(challenge.in_(ids))
    return or_(*found)


def visible_to(actor: Actor, challenge: Number, *, in_lists: bool = False) -> ColumnElement[bool]:
    """The condition for rows of challenges that the actor may see. challenge: the column with the id of the challenge.

    in_lists: only challenges that a list, a feed or a search shows this actor: of those that are reached by their address
    alone, the actor's own, and none that is archived or that visitors' test runs go to.
    """
    seen = true() if actor.is_admin else challenge.in_(_visible_challenges(actor, in_lists=in_lists))
    if not in_lists:
        return seen
    tried = select(Challenge.id).where(Challenge.code == TRIED)
    return and_(seen, not_(_is_archived(challenge)), challenge.not_in(tried))


def _is_archived(challenge: Number) -> ColumnElement[bool]:
    return challenge.in_(select(Challenge.id).where(Challenge.archived_at.is_not(None)))


def _visible_challenges(actor: Actor, *, in_lists: bool) -> Select[int]:
    shown = (
        (ChallengeVisibility.LISTED,) if in_lists else (ChallengeVisibility.LISTED, ChallengeVisibility.LINK)
    )
    found: list[ColumnElement[bool]] = [Challenge.visibility.in_(shown)]
    if actor.reads_organising:
        found.append(Challenge.id.in_(actor.organises | actor.views))
    if actor.viewed_challenge is not None and not in_lists:
        is_draft = Challenge.visibility == ChallengeVisibility.DRAFT  # shown as it will be once it is open
        found.append(and_(is_draft, Challenge.id == actor.viewed_challenge))
    if actor.is_logged_in:
        own = select(Member.challenge_id).where(Member.user_id == actor.user_id)
        redeemed = select(InvitedPerson.challenge_id).where(InvitedPerson.user_id == actor.user_id)
        invited = and_(
            Challenge.visibility == ChallengeVisibility.INVITED,
            or_(Challenge.id.in_(own), Challenge.id.in_(redeemed), Challenge.id.in_(_inviting(actor))),
        )
        found += [invited, and_(Challenge.visibility == ChallengeVisibility.LINK, Challenge.id.in_(own))]
    return select(Challenge.id).where(or_(*found))


def _inviting(actor: Actor) -> Select[int]:
    """The challenges to which the actor's address or its domain is invited; it has to be confirmed."""
    _, _, domain = actor.email.rpartition("@")
    return select(ChallengeInvitation.challenge_id).where(
        ChallengeInvitation.revoked_at.is_(None),
        or_(ChallengeInvitation.address == actor.email, ChallengeInvitation.domain == domain)
        if actor.is_verified
        else false(),
    )


def no_challenge(code: str) -> NotFoundError:
    """Return the error for a challenge that does not exist or that the actor may not see."""
    return NotFoundError(f"there is no challenge {code!r}")


ARCHIVED: Final = (
    "This challenge is archived: nothing in it changes until one of its owners takes it back under Settings"
)


def require_active(session: Session, challenge_id: int) -> None:
    """Raise ConflictError if a challenge is archived. Whoever changes something in one asks this, or `require`."""
    is_archived = select(Challenge.id).where(Challenge.id == challenge_id, _is_archived(Challenge.id))
    if session.scalar(is_archived) is not None:
        raise ConflictError(ARCHIVED)


T = TypeVar("T")


def require(
    session: Session,
    actor: Actor,
    action: Action,
    statement: Select[T],
    challenge: Number,
    missing: NotFoundError,
    *,
    lock: bool = False,
) -> T:
    """Return the row that a statement selects, of a challenge in which the actor may do `action`.

    challenge: the column with the id of the challenge; lock: against changes until the end of the transaction, while rows
    that refer to this one can still be added; who locks means to change something, which an archived challenge refuses.

    Raises `missing` if there is no such row or the actor may not see the challenge, ForbiddenError if they see it but may
    not do `action` there, and ConflictError if it is archived.
    """
    is_permitted = rows_for(actor, action, challenge=challenge)
    whole = statement.add_columns(_is_archived(challenge), is_permitted).where(visible_to(actor, challenge))
    if lock:
        whole = whole.with_for_update(key_share=True).execution_options(populate_existing=True)
    row = session.execute(whole).one_or_none()
    if row is None:
        raise missing
    if not row[-1]:
        raise ForbiddenError(
            f"Only {'owners' if action is Action.OWN else 'organisers'} of this challenge may do this"
        )
    if row[-2] and (action is Action.JOIN_TEAM or (lock and action is Action.ORGANISE)):
        raise ConflictError(ARCHIVED)
    found: T = row[0]
    return found


def require_challenge(
    session: Session, actor: Actor, code: str, action: Action = Action.ORGANISE, *, lock: bool = False
) -> Challenge:
    """Return a challenge to which the actor may do `action`. lock: as `require` does.

    Raises NotFoundError if they may not see it, ForbiddenError if they see it but may not do this.
    """
    statement = select(Challenge).where(Challenge.code == code)
    return require(session, actor, action, statement, Challenge.id, no_challenge(code), lock=lock)


def visibility_of(session: Session, code: str) -> ChallengeVisibility | None:
    """Return who can see the challenge with this code; None if there is none."""
    return session.scalar(select(Challenge.visibility).where(Challenge.code == code))


def can_see(session: Session, actor: Actor, code: str) -> bool:
    """Whether there is a challenge with this code that the actor may see."""
    statement = select(Challenge.id).where(Challenge.code == code, visible_to(actor, Challenge.id))
    return session.scalar(statement) is not None
