"""What a webhook is told: what the person who made it may see at that time, and of scores never more than their team does."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import TypeAdapter
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.core.access import Actor
from app.core.errors import NotFoundError
from app.models import Challenge, Event, Role, Team
from app.notifications import reading, sentences
from app.notifications.kinds import KINDS
from app.notifications.reading import OF_SUBMISSIONS
from app.notifications.sentences import Facts
from app.platform import Platform
from app.results import submissions
from app.results.submissions import SubmissionView

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
class ResultFacts:
    """A result in one competition. mean: in [0, 1] as its team sees it; None if there is none, or it is hidden."""

    competition: int
    state: str
    mean: float | None


@dataclass(frozen=True, slots=True)
class SubmissionFacts:
    """The submission of an event."""

    id: int
    method: str
    results: tuple[ResultFacts, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """The body of a delivery. text: all of it in a sentence, which chat programs show."""

    delivery: uuid.UUID
    text: str
    event: EventFacts
    challenge: ChallengeFacts | None = None
    phase: PhaseFacts | None = None
    team: TeamFacts | None = None
    submission: SubmissionFacts | None = None

    def to_json(self) -> bytes:
        """Write it as JSON."""
        return MESSAGES.dump_json(self)


MESSAGES: Final = TypeAdapter(Message)


def of_team(actor: Actor, team_id: int) -> Actor:
    """Return the same person as a member of one team alone, whatever else they may do."""
    return Actor(user_id=actor.user_id, teams=frozenset({team_id}), role=Role.PARTICIPANT)


def of_test(delivery: uuid.UUID, key: uuid.UUID, address: str) -> Message:
    """Return the message of a test. address: of the page of the webhook."""
    title = "A test of this webhook"
    facts = EventFacts(key, TEST, datetime.now(UTC).replace(microsecond=0), title, address)
    return Message(delivery, f"{title}: {address}", facts)


def of_event(
    platform: Platform, actor: Actor, event: Event, delivery: uuid.UUID, key: uuid.UUID, *, scores: bool
) -> Message:
    """Return the message of an event as this person may see it. scores: whether it has those of a submission."""
    with platform.snapshot() as session:
        team = session.get(Team, event.team_id) if event.team_id else None
        challenge = _challenge(session, event, team)
        phase = challenges.phase_of_id(session, event.phase_id) if event.phase_id else None
        facts = reading.facts_of_event(session, event.id)
    line = sentences.line_of(facts)
    submission = _submission(platform, actor, event.details) if event.kind in OF_SUBMISSIONS else None
    minute = event.at.replace(second=0, microsecond=0)  # seconds tell how long something was scored
    title = f"{KINDS[event.kind].title}: {submission.method.name}" if submission else line.sentence
    address = platform.settings.address + (line.path or "/")
    return Message(
        delivery,
        f"{title}: {address}",
        EventFacts(key, event.kind.value, minute, title, address, line.text),
        challenge=ChallengeFacts(challenge.code, challenge.title) if challenge else None,
        phase=_phase_facts(phase),
        team=TeamFacts(team.id, team.name) if team else None,
        submission=_submission_facts(submission, facts, scores=scores) if submission else None,
    )


def _challenge(session: Session, event: Event, team: Team | None) -> Challenge | None:
    challenge_id = event.challenge_id or (team.challenge_id if team else None)
    return session.get(Challenge, challenge_id) if challenge_id else None


def _submission(platform: Platform, actor: Actor, details: Mapping[str, Any]) -> SubmissionView | None:
    """Return the submission that an event is about, if the actor may see it now."""
    try:
        return submissions.submission_page(platform, actor, details["submission"])
    except NotFoundError:
        return None


def _phase_facts(phase: PhaseView | None) -> PhaseFacts | None:
    return PhaseFacts(phase.image_set, phase.state, phase.opens_at, phase.closes_at) if phase else None


def _submission_facts(view: SubmissionView, facts: Facts, *, scores: bool) -> SubmissionFacts:
    """Return a submission with the results as the event tells of them, whatever became of them since."""
    results = (
        ResultFacts(each.competition, each.state.value, each.mean if scores else None)
        for each in facts.results
    )
    return SubmissionFacts(view.id, view.method.name, tuple(results))
