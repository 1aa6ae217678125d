"""Who may create challenges: the rule of the site, the people it names, and requests that admins decide."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Select, exists, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, MalformedError, NotFoundError
from app.core.names import Visible, folded
from app.jobs import mail
from app.jobs.mail import MailTemplate
from app.models import ChallengeCreator, CreationRequest, CreationRule, Role, Site, User
from app.people import sessions
from app.people.sessions import is_person
from app.platform import Platform

MOST_SHOWN = 50  # decided requests


class NewRequest(BaseModel):
    """A request to be allowed to create challenges."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    sentence: Annotated[str, Field(min_length=10, max_length=500), Visible]


class RequestRefusal(BaseModel):
    """Why a request is refused; the person reads it."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    reason: Annotated[str, Field(min_length=3, max_length=500), Visible]


@dataclass(frozen=True, slots=True)
class Creator:
    """A person who may create challenges."""

    id: int
    name: str
    email: str
    added_at: datetime


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request; is_approved: None while it is not decided."""

    id: int
    user_id: int
    name: str
    email: str
    sentence: str
    asked_at: datetime
    decided_at: datetime | None
    is_approved: bool | None
    reason: str


@dataclass(frozen=True, slots=True)
class CreatorsView:
    """Who may create challenges, for admins."""

    rule: CreationRule
    creators: tuple[Creator, ...]
    open: tuple[RequestView, ...]  # the oldest first
    decided: tuple[RequestView, ...]  # the newest first


@dataclass(frozen=True, slots=True)
class OwnRequest:
    """Whether a person may create challenges, and what became of their last request."""

    rule: CreationRule
    may_create: bool
    can_ask: bool
    last: RequestView | None


def may_create(rule: CreationRule, actor: Actor, *, is_named: bool) -> bool:
    """Whether this person may create challenges. Only admins do so with a token.

    >>> ash = Actor(user_id=1, is_verified=True)
    >>> may_create(CreationRule.NAMED, ash, is_named=True), may_create(CreationRule.ADMINS, ash, is_named=True)
    (True, False)
    """
    is_confirmed = actor.is_logged_in and actor.is_verified and not actor.by_token
    return actor.is_admin or (rule is not CreationRule.ADMINS and is_named and is_confirmed)


def may_create_challenges(session: Session, actor: Actor) -> bool:
    """Whether this person may create challenges now."""
    is_named = select(exists().where(ChallengeCreator.user_id == actor.user_id))
    return may_create(rule_of(session), actor, is_named=session.scalars(is_named).one())


def rule_of(session: Session) -> CreationRule:
    """Return the rule that an admin has chosen."""
    return session.scalar(select(Site.creation)) or CreationRule.ADMINS


def creators_page(platform: Platform) -> CreatorsView:
    """Return who may create challenges, with all requests."""
    people = (
        select(User.id, User.name, User.email, ChallengeCreator.added_at)
        .join(ChallengeCreator, ChallengeCreator.user_id == User.id)
        .order_by(ChallengeCreator.added_at, User.id)
    )
    waiting = CreationRequest.decided_at.is_(None)
    with platform.snapshot() as session:
        decided = _requests().where(~waiting).order_by(CreationRequest.decided_at.desc()).limit(MOST_SHOWN)
        return CreatorsView(
            rule_of(session),
            tuple(Creator(*row) for row in session.execute(people)),
            tuple(
                RequestView(*row)
                for row in session.execute(_requests().where(waiting).order_by(CreationRequest.id))
            ),
            tuple(RequestView(*row) for row in session.execute(decided)),
        )


def _requests() -> Select[*tuple[Any, ...]]:
    return select(
        CreationRequest.id, User.id, User.name, User.email, CreationRequest.sentence, CreationRequest.asked_at,
        CreationRequest.decided_at, CreationRequest.is_approved, CreationRequest.reason,
    ).join(User, CreationRequest.user_id == User.id)  # fmt: skip


def count_open(platform: Platform) -> int:
    """Count the requests that wait for a decision."""
    waiting = select(func.count()).select_from(CreationRequest).where(CreationRequest.decided_at.is_(None))
    with platform.reading() as session:
        return session.scalars(waiting).one()


def add_creator(platform: Platform, actor: Actor, email: str) -> None:
    """Let the person with this e-mail address create challenges. Raises MalformedError if no account has it."""
    with platform.transaction() as session:
        user = sessions.user_of_email(session, folded(email))
        if user is None:
            raise MalformedError(f"no account has the address {email}")
        _name(session, user.id)
        audit.record(session, actor.user_id, "creator.add", f"person {user.id}")


def _name(session: Session, user_id: int) -> None:
    session.execute(insert(ChallengeCreator).values(user_id=user_id).on_conflict_do_nothing())


def remove_creator(platform: Platform, actor: Actor, user_id: int) -> None:
    """Stop a person from creating more challenges; those that exist stay. Raises NotFoundError."""
    with platform.transaction() as session:
        row = session.get(ChallengeCreator, user_id)
        if row is None:
            raise NotFoundError(f"person {user_id} is not named")
        session.delete(row)
        audit.record(session, actor.user_id, "creator.remove", f"person {user_id}")


def own_request(platform: Platform, actor: Actor) -> OwnRequest:
    """Return whether a person may create challenges, and their last request."""
    with platform.snapshot() as session:
        own = _requests().where(CreationRequest.user_id == actor.user_id)
        row = session.execute(own.order_by(CreationRequest.id.desc()).limit(1)).one_or_none()
        last = RequestView(*row) if row else None
        may = may_create_challenges(session, actor)
        is_waiting = last is not None and last.decided_at is None
        rule = rule_of(session)
        can_ask = rule is CreationRule.APPROVAL and actor.is_verified and not may and not is_waiting
        return OwnRequest(rule, may, can_ask, last)


def ask(platform: Platform, actor: Actor, new: NewRequest) -> None:
    """Ask to be allowed to create challenges; admins are told by mail. Raises ConflictError."""
    with platform.transaction() as session:
        if rule_of(session) is not CreationRule.APPROVAL:
            raise ConflictError("This server takes no requests to create challenges; ask its admins")
        if not actor.is_verified:
            raise ConflictError("Confirm your e-mail address first")
        if may_create_challenges(session, actor):
            raise ConflictError("You may create challenges already")
        row = insert(CreationRequest).values(user_id=actor.user_id, sentence=new.sentence, reason="")
        if not session.execute(row.on_conflict_do_nothing().returning(CreationRequest.id)).all():
            raise ConflictError("Your last request is not decided yet")
        audit.record(session, actor.user_id, "creation.ask", f"person {actor.user_id}")
        for admin in session.scalars(select(User).where(User.role == Role.ADMIN, is_person())):
            mail.notify_owner(
                session, MailTemplate.CREATION_ASKED, admin, name=actor.name, sentence=new.sentence
            )


def approve(platform: Platform, actor: Actor, request_id: int) -> None:
    """Approve a request, and tell the person by mail. Raises NotFoundError, ConflictError if it is decided."""
    with platform.transaction() as session:
        row, user = _lock_open(session, request_id)
        row.decided_at, row.is_approved = func.clock_timestamp(), True
        _name(session, user.id)
        audit.record(session, actor.user_id, "creation.approve", f"person {user.id}")
        mail.notify_owner(session, MailTemplate.CREATION_APPROVED, user)


def refuse(platform: Platform, actor: Actor, request_id: int, refusal: RequestRefusal) -> None:
    """Refuse a request, and tell the person why. Raises NotFoundError, ConflictError if it is decided."""
    with platform.transaction() as session:
        row, user = _lock_open(session, request_id)
        row.decided_at, row.is_approved, row.reason = func.clock_timestamp(), False, refusal.reason
        audit.record(session, actor.user_id, "creation.refuse", f"person {user.id}", reason=refusal.reason)
        mail.notify_owner(session, MailTemplate.CREATION_REFUSED, user, reason=refusal.reason)


def _lock_open(session: Session, request_id: int) -> tuple[CreationRequest, User]:
    row = session.get(CreationRequest, request_id, with_for_update=True)
    if row is None:
        raise NotFoundError(f"there is no request {request_id}")
    if row.decided_at is not None:
        raise ConflictError("Another admin has decided this request already")
    return row, session.get_one(User, row.user_id)
