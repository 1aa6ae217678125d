"""Who may do what: actions, and the one function that decides."""

import enum
from dataclasses import dataclass

from app.models import Role


class Action(enum.StrEnum):
    """What a route lets somebody do; every route names one."""

    READ_PUBLIC = "public.read"
    REGISTER = "account.register"
    MANAGE_ACCOUNT = "account.manage"
    UPLOAD = "upload.create"
    SUBMIT = "submission.create"
    READ_SUBMISSION = "submission.read"  # which rows: submissions.queries
    ORGANISE = "edition.organise"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a request; a visitor who is not logged in has neither id nor teams."""

    user_id: int | None = None
    teams: frozenset[int] = frozenset()  # at most one in each edition
    name: str = ""
    email: str = ""
    role: Role = Role.PARTICIPANT
    organises: frozenset[int] = frozenset()  # ids of editions
    by_token: bool = False

    @property
    def is_logged_in(self) -> bool:
        """Whether somebody is logged in."""
        return self.user_id is not None

    @property
    def is_admin(self) -> bool:
        """Whether this person runs the server."""
        return self.is_logged_in and self.role is Role.ADMIN

    @property
    def is_organiser(self) -> bool:
        """Whether this person runs at least one edition."""
        return self.is_admin or (self.is_logged_in and bool(self.organises))

    def runs(self, edition_id: int) -> bool:
        """Whether this person runs this edition: its organisers and every admin."""
        return self.is_admin or (self.is_logged_in and edition_id in self.organises)


ANYBODY = frozenset({Action.READ_PUBLIC, Action.REGISTER, Action.READ_SUBMISSION})
MEMBERS = ANYBODY | {Action.MANAGE_ACCOUNT, Action.UPLOAD, Action.SUBMIT}
ORGANISERS = MEMBERS | {Action.ORGANISE}


def allowed(actor: Actor, action: Action) -> bool:
    """Whether `actor` may do `action` at all; rows that are not theirs are hidden by the queries.

    >>> allowed(Actor(), Action.READ_PUBLIC), allowed(Actor(), Action.UPLOAD)
    (True, False)
    """
    if actor.is_organiser:
        return action in ORGANISERS
    return action in (MEMBERS if actor.is_logged_in else ANYBODY)
