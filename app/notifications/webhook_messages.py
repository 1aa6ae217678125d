"""What a webhook is told: what concerns the organisers of its challenge, or everybody in it, and never a score."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pydantic import TypeAdapter

from app.models import Event
from app.notifications import reading
from app.notifications.kinds import ChallengeFacts, PhaseFacts, TeamFacts, line_of
from app.platform import Platform

TEST: Final = "test"


@dataclass(frozen=True, slots=True)
class EventMessage:
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
class Message:
    """The body of a delivery. text: all of it in a sentence, which chat programs show."""

    delivery: uuid.UUID
    text: str
    event: EventMessage
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
    facts = EventMessage(key, TEST, datetime.now(UTC).replace(microsecond=0), title, address)
    return Message(delivery, f"{title}: {address}", facts)


def of_event(platform: Platform, event: Event, delivery: uuid.UUID, key: uuid.UUID) -> Message:
    """Return the message of an event: what everybody whom it concerns reads."""
    with platform.snapshot() as session:
        facts = reading.facts_of_event(session, event.id)
    line = line_of(facts)
    minute = event.at.replace(second=0, microsecond=0)  # seconds tell how long something was scored
    address = platform.settings.address + (line.path or "/")
    happened = EventMessage(key, event.kind.value, minute, line.sentence, address, line.text)
    return Message(
        delivery, f"{line.sentence}: {address}", happened, facts.challenge, facts.phase, facts.team
    )
