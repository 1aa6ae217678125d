"""People in every role of a challenge, and what they are told."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select, text, update
from starlette.testclient import TestClient

from app.core.access import Actor
from app.jobs import events
from app.models import (
    Challenge,
    ChallengeOrganiser,
    Disclosure,
    Event,
    EventKind,
    Member,
    Notification,
    NotificationMail,
    Phase,
    Queue,
    Quota,
    Role,
    SecondFactor,
    User,
)
from app.people import sessions
from app.people.sessions import Browser, start_session
from app.platform import Platform
from app.web.dependencies import SESSION_COOKIE
from tests.system.rows import Rows, made
from tests.working import do_all

ROLES = ("member", "other team", "organiser", "co-organiser", "admin", "visitor")
CONTACT = "hello@challenge.example"


@dataclass(frozen=True, slots=True)
class Scene:
    """A challenge with a phase and people in every role; all their addresses are confirmed."""

    rows: Rows
    people: dict[str, int]
    addresses: dict[str, str]

    @property
    def platform(self) -> Platform:
        return self.rows.platform

    @property
    def challenge_id(self) -> int:
        with self.platform.transaction() as session:
            return session.get_one(Phase, self.rows.phase_id).challenge_id

    @property
    def code(self) -> str:
        with self.platform.transaction() as session:
            return session.get_one(Challenge, self.challenge_id).code

    def record(self, kind: EventKind, **facts: Any) -> None:
        """Record an event of this challenge, phase and team, and tell everybody."""
        where = {
            "challenge_id": self.challenge_id,
            "phase_id": self.rows.phase_id,
            "team_id": self.rows.team_id,
        }
        with self.platform.transaction() as session:
            events.record(session, kind, **(where | facts))
        do_all(self.platform, Queue.MAIL)

    def told(self, kind: EventKind) -> set[str]:
        """The roles whose people have a notification of this kind."""
        statement = select(Notification.user_id).join(Event).where(Event.kind == kind)
        with self.platform.transaction() as session:
            ids = set(session.scalars(statement.where(Event.challenge_id == self.challenge_id)))
        return {role for role, number in self.people.items() if number in ids}

    def actor(self, role: str) -> Actor:
        with self.platform.transaction() as session:
            found = sessions.actor_of(session, self.people[role])
        assert found is not None
        return found

    def log_in(self, role: str, browser: Callable[[], TestClient]) -> TestClient:
        """A browser of somebody in this role."""
        with self.platform.transaction() as session:
            cookie = start_session(session, self.platform, self.people[role], Browser("test"))
            session.execute(text("UPDATE login_session SET awaits_code = false"))
        opened = browser()
        opened.cookies.set(SESSION_COOKIE, cookie)
        return opened

    def disclose(self, disclosure: Disclosure, *, is_over: bool = False) -> None:
        """Set what the phase shows of scores, and whether it is over."""
        day = timedelta(days=1)
        with self.platform.transaction() as session:
            phase = session.get_one(Phase, self.rows.phase_id)
            phase.disclosure, phase.quotas = disclosure, (Quota(2, 7),)
            phase.opens_at = func.now() - 9 * day
            phase.closes_at = func.now() + (-day if is_over else day)


def scene(platform: Platform) -> Scene:
    """A new challenge with a person in each role."""
    rows = made(platform)
    other = rows.other_team()
    with platform.transaction() as session:
        challenge_id = session.get_one(Phase, rows.phase_id).challenge_id
        code = session.get_one(Challenge, challenge_id).code
        people = {"member": rows.user_id}
        for role in ROLES[1:]:
            person = User(email=f"{role.replace(' ', '-')}.{code}@example.org", name=role.title())
            session.add(person)
            session.flush()
            people[role] = person.id
        session.execute(
            update(User).where(User.id.in_(people.values())).values(verified_at=func.now(), password_hash="x")
        )
        session.add(Member(team_id=other, user_id=people["other team"], challenge_id=challenge_id))
        for role in ("organiser", "co-organiser"):
            session.add(ChallengeOrganiser(challenge_id=challenge_id, user_id=people[role]))
        session.get_one(User, people["admin"]).role = Role.ADMIN
        session.add(SecondFactor(user_id=people["admin"], secret="none", confirmed_at=func.now()))
        addresses = dict(session.execute(select(User.id, User.email)).all())
    return Scene(rows, people, {role: addresses[number] for role, number in people.items()})


def make_due(platform: Platform) -> None:
    """Let every mail be due now."""
    with platform.transaction() as session:
        session.execute(update(NotificationMail).values(due_at=func.now()))
        session.execute(text("UPDATE job SET not_before = NULL"))
