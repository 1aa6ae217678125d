"""Messages of organisers to teams of their challenge: written as a draft, previewed, tested, then sent once."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, assert_never

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from sqlalchemy import Select, func, insert, literal, select, true
from sqlalchemy.orm import Session

import scoring
from app.challenges import challenges
from app.challenges.answers import LONGEST_MESSAGE
from app.challenges.challenges import PhaseView, offered_competitions
from app.challenges.terms import locked_challenge, require_organiser
from app.challenges.texts import Lines
from app.core import audit
from app.core.access import Action, Actor, rows_for, visible_to
from app.core.errors import (
    ConflictError,
    MalformedError,
    MessageLimit,
    NoReceiver,
    NotFoundError,
    RefusedError,
)
from app.core.names import Visible, lookalike_key
from app.core.paging import page_of
from app.jobs import events
from app.models import (
    Challenge,
    EventKind,
    Member,
    MessageAudience,
    Method,
    Phase,
    ReceivedMessage,
    Result,
    ResultState,
    Submission,
    Team,
    TeamMessage,
    Upload,
    User,
)
from app.people import teams
from app.people.team_choice import TeamChoice, team_choice
from app.platform import Platform
from app.web.formats import plural
from app.web.forms import OrBlank
from app.web.zones import date_in_words

PAGE: Final = 20  # messages
NAMES: Final = 10  # teams named in a preview
A_DAY: Final = 10  # messages of a challenge sent within 24 hours
DAY: Final = timedelta(days=1)
OF_A_PHASE: Final = (MessageAudience.NOT_SUBMITTED, MessageAudience.RESULT)


class NewTeamMessage(BaseModel):
    """A message to teams, and which."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True, validate_default=True)

    title: Annotated[str, Field(min_length=3, max_length=120), Visible]
    text: Annotated[Lines, Field(min_length=1, max_length=LONGEST_MESSAGE, description="Markdown")]
    audience: MessageAudience
    image_set: Annotated[
        OrBlank[Annotated[str, Field(max_length=100)]],
        Field(description="the phase, for `uploaded only` and `have a result`"),
    ] = None
    competition: Annotated[
        OrBlank[Annotated[int, Field(ge=1, le=99)]], Field(description="its number, for `have a result`")
    ] = None
    team: Annotated[
        OrBlank[Annotated[str, Field(max_length=40)]], Field(description="its name, for `one team`")
    ] = None
    version: Annotated[
        int, Field(ge=0, le=2**31 - 1, description="the version of a draft that was edited; 0 for a new one")
    ] = 0

    @field_validator("image_set", "competition", "team")
    @classmethod
    def _fits_the_audience(cls, value: object, info: ValidationInfo) -> object:
        needed = {
            "image_set": OF_A_PHASE,
            "competition": (MessageAudience.RESULT,),
            "team": (MessageAudience.TEAM,),
        }
        if info.data.get("audience") not in needed[str(info.field_name)]:
            return None  # what a form has in the fields of another audience does not matter
        if value is None:
            raise ValueError("is missing")
        return value


@dataclass(frozen=True, slots=True)
class TeamMessageView:
    """A message to teams, for organisers. to: its audience in words; teams, people: of those who received it."""

    id: int
    challenge: str
    challenge_title: str
    version: int
    title: str
    text: str
    audience: MessageAudience
    image_set: str | None
    competition: int | None
    team: str | None
    to: str
    created_at: datetime
    created_by: str
    sent_at: datetime | None
    teams: int
    people: int


@dataclass(frozen=True, slots=True)
class TeamMessageSheet:
    """A message with what its organiser should know before sending it. teams, people: who would receive it now, or has;
    names: of the first teams that would.
    """

    message: TeamMessageView
    teams: int
    people: int
    names: tuple[str, ...]
    refusal: str  # why it cannot be sent now; empty if it can


@dataclass(frozen=True, slots=True)
class AudienceChoices:
    """What an organiser chooses an audience from."""

    challenge: str
    title: str
    phases: tuple[PhaseView, ...]
    competitions: tuple[scoring.CompetitionInfo, ...]
    teams: TeamChoice


@dataclass(frozen=True, slots=True)
class TeamMessages:
    """A page of the messages of a challenge, newest first."""

    choices: AudienceChoices
    messages: tuple[TeamMessageView, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class ReceivedView:
    """A message as a team reads it; it does not say who else received it. received: its number in lists of teams."""

    id: int
    received: int
    title: str
    text: str
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReceivedMessages:
    """A page of the messages that a team received, newest first."""

    team_id: int
    team: str
    challenge: str
    challenge_title: str
    messages: tuple[ReceivedView, ...]
    next: int | None


def _to(message: TeamMessage, image_set: str | None, team: str | None) -> str:
    match message.audience:
        case MessageAudience.ALL:
            return "All teams"
        case MessageAudience.NOT_SUBMITTED:
            return f"Teams that uploaded to {image_set} and submitted nothing"
        case MessageAudience.RESULT:
            return f"Teams with a result in competition {message.competition} on {image_set}"
        case MessageAudience.TEAM:
            return f"The team {team}" if team else "A team that was deleted"
        case other:
            assert_never(other)


def _receivers(message: TeamMessage) -> Select[int]:
    """The teams that a message goes to: those with members now."""
    statement = select(Team.id).where(Team.challenge_id == message.challenge_id, teams.has_members(Team.id))
    match message.audience:
        case MessageAudience.ALL:
            return statement
        case MessageAudience.NOT_SUBMITTED:
            uploaded = select(Upload.id).where(Upload.team_id == Team.id, Upload.phase_id == message.phase_id)
            submitted = (
                select(Submission.id)
                .join(Method, Method.id == Submission.method_id)
                .where(Method.team_id == Team.id, Submission.phase_id == message.phase_id)
            )
            return statement.where(uploaded.exists(), ~submitted.exists())
        case MessageAudience.RESULT:
            result = (
                select(Result.id)
                .join(Method, Method.id == Result.method_id)
                .where(
                    Method.team_id == Team.id,
                    Result.phase_id == message.phase_id,
                    Result.competition == message.competition,
                    Result.state.in_((ResultState.PENDING, ResultState.SCORED)),
                )
            )
            return statement.where(result.exists())
        case MessageAudience.TEAM:
            return statement.where(Team.id == message.team_id)
        case other:
            assert_never(other)


def _rows() -> Select[*tuple[Any, ...]]:
    return (
        select(TeamMessage, Challenge, Phase.image_set, Team.name, User.name)
        .join(Challenge, Challenge.id == TeamMessage.challenge_id)
        .join(User, User.id == TeamMessage.created_by)
        .outerjoin(Phase, Phase.id == TeamMessage.phase_id)
        .outerjoin(Team, Team.id == TeamMessage.team_id)
    )


def _view(row: Any) -> TeamMessageView:
    message, challenge, image_set, team, author = row
    return TeamMessageView(
        message.id, challenge.code, challenge.title, message.version, message.title, message.text, message.audience,
        image_set, message.competition, team, _to(message, image_set, team), message.created_at, author, message.sent_at,
        message.teams, message.people,
    )  # fmt: skip


def team_messages(
    platform: Platform, actor: Actor, code: str, before: int | None = None, team: str = ""
) -> TeamMessages:
    """Return the messages of a challenge, drafts among them. team: what was typed as a name. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_organiser(actor, challenges.challenge_of(session, code), code)
        statement = _rows().where(
            TeamMessage.challenge_id == challenge.id, TeamMessage.id < before if before else true()
        )
        statement = statement.order_by(TeamMessage.id.desc()).limit(PAGE + 1)
        found = [_view(row) for row in session.execute(statement)]
        page = page_of(found, PAGE, number=lambda message: message.id)
        return TeamMessages(_choices(session, challenge, team), page.rows, page.next)


def _choices(session: Session, challenge: Challenge, team: str) -> AudienceChoices:
    phases = tuple(challenges.phases_of(session, challenge.code))
    known = {each.number: each for phase in phases for each in offered_competitions(phase)}
    competitions = tuple(known[number] for number in sorted(known))
    listed = team_choice(session, challenge.id, team)
    return AudienceChoices(challenge.code, challenge.title, phases, competitions, listed)


def audience_choices(platform: Platform, actor: Actor, code: str, team: str = "") -> AudienceChoices:
    """Return what an audience is chosen from. team: what was typed as its name. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_organiser(actor, challenges.challenge_of(session, code), code)
        return _choices(session, challenge, team)


def message_sheet(platform: Platform, actor: Actor, message_id: int) -> TeamMessageSheet:
    """Return a message with who would receive it now. Raises NotFoundError."""
    with platform.snapshot() as session:
        row = session.execute(_organised(_rows(), actor, message_id)).one_or_none()
        if row is None:
            raise _not_found(message_id)
        message: TeamMessage = row[0]
        if message.sent_at is not None:
            return TeamMessageSheet(_view(row), message.teams, message.people, (), "")
        receivers = _receivers(message)
        people = select(func.count()).select_from(Member).where(Member.team_id.in_(receivers))
        names = select(Team.name).where(Team.id.in_(receivers)).order_by(Team.name).limit(NAMES)
        refusal = _limit(session, message.challenge_id)
        return TeamMessageSheet(
            _view(row),
            session.scalar(select(func.count()).select_from(receivers.subquery())) or 0,
            session.scalar(people) or 0,
            tuple(session.scalars(names)),
            refusal.message if refusal else "",
        )


def _organised(
    statement: Select[*tuple[Any, ...]], actor: Actor, message_id: int
) -> Select[*tuple[Any, ...]]:
    theirs = rows_for(actor, Action.ORGANISE, challenge=TeamMessage.challenge_id)
    return statement.where(TeamMessage.id == message_id, theirs)


def _not_found(message_id: int) -> NotFoundError:
    return NotFoundError(f"there is no message {message_id}")


def _draft(session: Session, actor: Actor, message_id: int) -> TeamMessage:
    """Return a message, locked until the end of the transaction. Raises NotFoundError."""
    message: TeamMessage | None = session.scalar(
        _organised(select(TeamMessage), actor, message_id).with_for_update()
    )
    if message is None:
        raise _not_found(message_id)
    return message


def _limit(session: Session, challenge_id: int) -> MessageLimit | None:
    """Return why no message may be sent to teams of a challenge now, if so."""
    sent = select(TeamMessage.sent_at).where(
        TeamMessage.challenge_id == challenge_id, TeamMessage.sent_at > func.clock_timestamp() - DAY
    )
    oldest = session.scalar(sent.order_by(TeamMessage.sent_at.desc()).offset(A_DAY - 1).limit(1))
    if oldest is None:
        return None
    at = oldest + DAY
    message = f"{plural(A_DAY, 'message')} were sent to teams within 24 hours; the next is possible on {date_in_words(at)}"
    return MessageLimit(message, retry_at=at)


def write(platform: Platform, actor: Actor, code: str, new: NewTeamMessage) -> int:
    """Write a draft and return it; the same text again at once is the same draft.

    Raises NotFoundError, ForbiddenError, MalformedError if there is no such phase, competition or team.
    """
    with platform.transaction() as session:
        challenge = require_organiser(actor, locked_challenge(session, code), code)
        facts = _facts(session, challenge, new)
        same = [getattr(TeamMessage, name) == value for name, value in facts.items()]
        just_now = TeamMessage.created_at > func.clock_timestamp() - timedelta(minutes=10)
        again = select(TeamMessage.id).where(*same, TeamMessage.created_by == actor.user_id, just_now)
        written = session.scalar(again.where(TeamMessage.challenge_id == challenge.id).limit(1))
        if written is not None:
            return written
        message = TeamMessage(challenge_id=challenge.id, created_by=actor.user_id, **facts)
        session.add(message)
        session.flush()
        return message.id


def _facts(session: Session, challenge: Challenge, new: NewTeamMessage) -> dict[str, Any]:
    """Return the columns that a message has of its form."""
    phase = team_id = None
    if new.image_set is not None:
        phase = challenges.phase_of(session, challenge.code, new.image_set)
        if phase is None:
            raise MalformedError(
                f"there is no phase {new.image_set!r} in {challenge.code}", field="image_set"
            )
        numbers = [each.number for each in offered_competitions(phase)]
        if new.competition is not None and new.competition not in numbers:
            raise MalformedError(
                f"there is no competition {new.competition} in {new.image_set}", field="competition"
            )
    if new.team is not None:
        of_name = select(Team.id).where(
            Team.challenge_id == challenge.id, Team.name_key == lookalike_key(new.team), Team.name == new.team
        )
        team_id = session.scalar(of_name)
        if team_id is None:
            raise MalformedError(f"there is no team {new.team!r} in {challenge.code}", field="team")
    return {
        "title": new.title, "text": new.text, "audience": new.audience, "phase_id": phase.id if phase else None,
        "competition": new.competition, "team_id": team_id,
    }  # fmt: skip


def change(platform: Platform, actor: Actor, message_id: int, new: NewTeamMessage) -> None:
    """Change a draft; the same texts change nothing.

    Raises NotFoundError, MalformedError, ConflictError if it was sent, or changed since the version that was edited.
    """
    with platform.transaction() as session:
        message = _draft(session, actor, message_id)
        facts = _facts(session, session.get_one(Challenge, message.challenge_id), new)
        _raise_if_sent(message)
        if all(getattr(message, name) == value for name, value in facts.items()):
            return
        _raise_if_changed(message, new.version)
        for name, value in facts.items():
            setattr(message, name, value)
        message.version += 1


def _raise_if_sent(message: TeamMessage) -> None:
    if message.sent_at is not None:
        raise ConflictError("This message was sent and can no longer change; write another")


def _raise_if_changed(message: TeamMessage, version: int) -> None:
    if message.version != version:
        raise ConflictError(
            "Another organiser has changed this draft after you had opened it. Nothing was changed or sent"
        )


def discard(platform: Platform, actor: Actor, message_id: int) -> str:
    """Delete a draft and return the code of its challenge. Raises NotFoundError, ConflictError if it was sent."""
    with platform.transaction() as session:
        message = _draft(session, actor, message_id)
        _raise_if_sent(message)
        code = session.get_one(Challenge, message.challenge_id).code
        session.delete(message)
        return code


def test(platform: Platform, actor: Actor, message_id: int) -> None:
    """Notify the organiser of a message as its teams are, and nobody else. Raises NotFoundError."""
    with platform.transaction() as session:
        message = _draft(session, actor, message_id)
        events.record(
            session,
            EventKind.MESSAGE,
            challenge_id=message.challenge_id,
            user_id=actor.user_id,
            message=message.id,
            title=f"{message.title} (a test)",
            path=f"/organise/messages/{message.id}",
        )


def send(platform: Platform, actor: Actor, message_id: int, version: int) -> None:
    """Send a draft to the teams that match its audience now; one that was sent is not sent again.

    Raises NotFoundError, ConflictError if it was changed since this version, RefusedError if nobody would receive it or too
    many were sent.
    """
    with platform.transaction() as session:
        message = _draft(session, actor, message_id)
        if message.sent_at is not None:
            return
        _raise_if_changed(message, version)
        session.get_one(
            Challenge, message.challenge_id, with_for_update={"key_share": True}
        )  # one at a time is counted
        if refusal := _limit(session, message.challenge_id):
            raise RefusedError([refusal])
        team_ids = select(literal(message.id), _receivers(message).subquery().c.id)
        session.execute(insert(ReceivedMessage).from_select(["message_id", "team_id"], team_ids))
        received = select(ReceivedMessage.team_id).where(ReceivedMessage.message_id == message.id)
        message.teams = session.scalar(select(func.count()).select_from(received.subquery())) or 0
        if not message.teams:
            raise RefusedError([NoReceiver("no team with members matches now, so nothing was sent")])
        members = select(func.count()).select_from(Member).where(Member.team_id.in_(received))
        message.people = session.scalar(members) or 0
        message.sent_at = challenges.now(session)
        events.record_each(session, EventKind.MESSAGE, _events_of(message))
        audit.record(
            session,
            actor.user_id,
            "message.send",
            f"message {message.id}",
            challenge_id=message.challenge_id,
            details={
                "title": message.title,
                "audience": message.audience,
                "teams": message.teams,
                "people": message.people,
            },
        )


def _events_of(message: TeamMessage) -> Select[*tuple[Any, ...]]:
    """An event for each team that received a message; its mail shows the text as it is then."""
    path = func.concat("/teams/", ReceivedMessage.team_id, f"/messages#message-{message.id}")
    details = func.jsonb_build_object("message", message.id, "title", message.title, "path", path)
    return select(
        literal(message.challenge_id).label("challenge_id"), ReceivedMessage.team_id, details.label("details")
    ).where(ReceivedMessage.message_id == message.id)


def received_messages(
    platform: Platform, actor: Actor, team_id: int, before: int | None = None
) -> ReceivedMessages:
    """Return the messages that a team of the reader received, newest first. Raises NotFoundError."""
    with platform.snapshot() as session:
        team = session.execute(
            select(Team, Challenge)
            .join(Challenge)
            .where(
                Team.id == team_id,
                Team.id.in_(teams.teams_now(actor)),
                visible_to(actor, Team.challenge_id),
            )
        ).one_or_none()
        if team is None:
            raise NotFoundError(f"you are not in a team {team_id}")
        statement = (
            select(
                TeamMessage.id, ReceivedMessage.id, TeamMessage.title, TeamMessage.text, TeamMessage.sent_at
            )
            .join(ReceivedMessage, ReceivedMessage.message_id == TeamMessage.id)
            .where(ReceivedMessage.team_id == team_id, ReceivedMessage.id < before if before else true())
            .order_by(ReceivedMessage.id.desc())
            .limit(PAGE + 1)
        )
        found = [ReceivedView(*row) for row in session.execute(statement)]
    page = page_of(found, PAGE, number=lambda message: message.received)
    return ReceivedMessages(team_id, team[0].name, team[1].code, team[1].title, page.rows, page.next)
