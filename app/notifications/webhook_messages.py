"""What a webhook is told: what concerns the organisers of its challenge, or everybody in it, and never a score."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pydantic import TypeAdapter
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.models import Challenge, Event, Team
from app.notifications import reading, sentences
from app.platform import Platform

TEST: Final = "test"


@dataclass(frozen=True, slots=True)
class EventFacts:
    """What happened. id: the same for all webhooks that are told of it; address: of the page that says more.

    text: the Markdown of an announcement, an answer or a message.
    """

    id: uuid.UUID
    kind: str
    at: datetime
    title: str
    address: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ChallengeFacts:
    """The challenge of an event."""

    code: str
    title: str


@dataclass(frozen=True, slots=True)
class PhaseFacts:
    """The phase of an event."""

    image_set: str
    state: str
    opens_at: datetime
    closes_at: datetime | None


@dataclass(frozen=True, slots=True)
class TeamFacts:
    """The team of an event."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Message:
    """The body of a delivery. text: all of it in a sentence, which chat programs show."""

    delivery: uuid.UUID
    text: str
    event: EventFacts
    challenge: ChallengeFacts | None = None
    phase: PhaseFacts | None = None
    team: TeamFacts | None = None

    def to_json(self) -> bytes:
        """Write it as JSON."""
        return MESSAGES.dump_json(self)


MESSAGES: Final = TypeAdapter(Message)


def of_test(delivery: uuid.UUID, key: uuid.UUID, address: str) -> Message:
    """Return the message of a test. address: of the page of the webhook."""
    title = "A test of this webhook"
    facts = EventFacts(key, TEST, datetime.now(UTC).replace(microsecond=0), title, address)
    return Message(delivery, f"{title}: {address}", facts)


def of_event(platform: Platform, event: Event, delivery: uuid.UUID, key: uuid.UUID) -> Message:
    """Return the message of an event."""
    with platform.snapshot() as session:
        team = session.get(Team, event.team_id) if event.team_id else None
        challenge = _challenge(session, event, team)
        phase = challenges.phase_of_id(session, event.phase_id) if event.phase_id else None
        facts = reading.facts_of_event(session, event.id)
    line = sentences.line_of(facts)
    minute = event.at.replace(second=0, microsecond=0)  # seconds tell how long something was scored
    address = platform.settings.address + (line.path or "/")
    return Message(
        delivery,
        f"{line.sentence}: {address}",
        EventFacts(key, event.kind.value, minute, line.sentence, address, line.text),
        challenge=ChallengeFacts(challenge.code, challenge.title) if challenge else None,
        phase=_phase_facts(phase),
        team=TeamFacts(team.id, team.name) if team else None,
    )


def _challenge(session: Session, event: Event, team: Team | None) -> Challenge | None:
    challenge_id = event.challenge_id or (team.challenge_id if team else None)
    return session.get(Challenge, challenge_id) if challenge_id else None


def _phase_facts(phase: PhaseView | None) -> PhaseFacts | None:
    return PhaseFacts(phase.image_set, phase.state, phase.opens_at, phase.closes_at) if phase else None
