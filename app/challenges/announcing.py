"""Announcing: to everybody, in the news, or to some teams, each of which reads what it received but not who else did.

What everybody reads and what some teams received are tables of their own, so that nothing of the latter can slip into a page or
a feed for everybody.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, assert_never
from urllib.parse import quote

from fastapi import Query
from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from sqlalchemy import Select, func, insert, literal, select, true
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges, news
from app.challenges.challenges import PhaseView, offered_competitions
from app.challenges.news import AnnouncementView, NewAnnouncement, ReceivedView
from app.core import audit
from app.core.access import Actor, require_challenge, visible_to
from app.core.errors import (
    FieldsError,
    MessageLimit,
    NoReceiver,
    NotFoundError,
    RefusedError,
)
from app.core.names import lookalike_key
from app.core.paging import RowPage, page_of
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

PAGE: Final = 20  # announcements
NAMES: Final = 10  # teams named in a preview
A_DAY: Final = 10  # announcements to teams of a challenge within 24 hours
DAY: Final = timedelta(days=1)
DOUBLE_CLICK: Final = timedelta(minutes=10)
EVERYBODY: Final = "everybody"  # what a form sends for no audience
OF_A_PHASE: Final = (MessageAudience.NOT_SUBMITTED, MessageAudience.RESULT)
ToTeamsBefore = Annotated[
    int | None, Query(ge=1, le=2**63 - 1, description="`next_to_teams` of the previous page")
]
ReceivedBefore = Annotated[
    int | None, Query(ge=1, le=2**63 - 1, description="`next_received` of the previous page")
]


def _teams(value: object) -> object:
    if value == "":
        raise ValueError("choose one")
    return None if value == EVERYBODY else value


class AddressedAnnouncement(NewAnnouncement):
    """The form of an announcement, and whom it is for."""

    model_config = ConfigDict(validate_default=True)

    audience: Annotated[
        MessageAudience | None,
        BeforeValidator(_teams),
        Field(description="teams; everybody reads it in the news if left out"),
    ] = None
    image_set: Annotated[
        OrBlank[Annotated[str, Field(max_length=100)]],
        Field(description="the phase, for `uploaded only` and `have a result`"),
    ] = None
    competition: Annotated[
        OrBlank[Annotated[int, Field(ge=1, le=99)]],
        Field(description="its number, for `have a result`"),
    ] = None
    team: Annotated[
        OrBlank[Annotated[str, Field(max_length=40)]],
        Field(description="its name, for `one team`"),
    ] = None

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
class WrittenView:
    """An announcement in the list of organisers. to: its audience in words; teams, people: of those who received it, if it was
    to teams; sent_at: None for a draft of the release before, which nobody received.
    """

    id: int
    is_public: bool
    title: str
    text: str
    to: str
    created_at: datetime
    sent_at: datetime | None
    is_automatic: bool = False
    created_by: str = ""
    teams: int | None = None
    people: int | None = None


@dataclass(frozen=True, slots=True)
class AudienceChoices:
    """What an organiser chooses an audience from."""

    phases: tuple[PhaseView, ...]
    competitions: tuple[heldout_scoring.CompetitionInfo, ...]
    teams: TeamChoice


@dataclass(frozen=True, slots=True)
class Written:
    """A page of the announcements of a challenge, to everybody and to teams, newest first; `next` and `next_to_teams` are the
    `before` and the `to_teams_before` of the following page.
    """

    challenge: str
    title: str
    choices: AudienceChoices
    announcements: tuple[WrittenView, ...]
    has_more: bool
    next: int | None
    next_to_teams: int | None


@dataclass(frozen=True, slots=True)
class Receivers:
    """Who would receive an announcement to teams now. names: of the first teams; refusal: why it cannot be sent, or empty."""

    to: str
    teams: int
    people: int
    names: tuple[str, ...]
    refusal: str


# whom an announcement is for


def _in_words(message: TeamMessage, image_set: str | None, team: str | None) -> str:
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
    """The teams that an announcement goes to: those with members now."""
    statement = select(Team.id).where(Team.challenge_id == message.challenge_id, teams.has_members(Team.id))
    match message.audience:
        case MessageAudience.ALL:
            return statement
        case MessageAudience.NOT_SUBMITTED:
            uploaded = select(Upload.id).where(Upload.team_id == Team.id, Upload.phase_id == message.phase_id)
            submitted = (
                select(Submission.id)
                .join(Submission.method)
                .where(Method.team_id == Team.id, Submission.phase_id == message.phase_id)
            )
            return statement.where(uploaded.exists(), ~submitted.exists())
        case MessageAudience.RESULT:
            result = (
                select(Result.id)
                .join(Result.method)
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


def _message(
    session: Session, challenge: Challenge, new: AddressedAnnouncement, actor: Actor
) -> TeamMessage | None:
    """Return an announcement to teams that is not stored yet; None if it is for everybody.

    Raises MalformedError if there is no such phase, competition or team.
    """
    if new.audience is None:
        return None
    phase = team_id = None
    if new.image_set is not None:
        phase = challenges.phase_of(session, challenge.code, new.image_set)
        if phase is None:
            raise FieldsError({"image_set": f"there is no phase {new.image_set!r} in {challenge.code}"})
        numbers = [each.number for each in offered_competitions(phase)]
        if new.competition is not None and new.competition not in numbers:
            raise FieldsError(
                {"competition": f"there is no competition {new.competition} in {new.image_set}"}
            )
    if new.team is not None:
        of_name = select(Team.id).where(
            Team.challenge_id == challenge.id, Team.name_key == lookalike_key(new.team), Team.name == new.team
        )
        team_id = session.scalar(of_name)
        if team_id is None:
            raise FieldsError({"team": f"there is no team {new.team!r} in {challenge.code}"})
    return TeamMessage(
        challenge_id=challenge.id,
        created_by=actor.user_id,
        title=new.title,
        text=new.text,
        audience=new.audience,
        phase_id=phase.id if phase else None,
        competition=new.competition,
        team_id=team_id,
    )


def preview(platform: Platform, actor: Actor, code: str, new: AddressedAnnouncement) -> Receivers | None:
    """Return who would receive an announcement now; None if everybody reads it.

    Raises NotFoundError, ForbiddenError, MalformedError if there is no such phase, competition or team.
    """
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        message = _message(session, challenge, new, actor)
        if message is None:
            return None
        receivers = _receivers(message)
        people = select(func.count()).select_from(Member).where(Member.team_id.in_(receivers))
        names = select(Team.name).where(Team.id.in_(receivers)).order_by(Team.name).limit(NAMES)
        refusal = _limit(session, challenge.id)
        return Receivers(
            _in_words(message, new.image_set, new.team),
            session.scalar(select(func.count()).select_from(receivers.subquery())) or 0,
            session.scalar(people) or 0,
            tuple(session.scalars(names)),
            refusal.message if refusal else "",
        )


# announcing


def publish(platform: Platform, actor: Actor, code: str, new: AddressedAnnouncement) -> WrittenView:
    """Announce something to everybody, or to the teams that match its audience now, and return it.

    The same to the same teams again is a double click, and is not sent again. Raises NotFoundError, ForbiddenError,
    MalformedError if there is no such phase, competition or team, RefusedError if no team would receive it or too many were sent.
    """
    if new.audience is None:
        number = news.publish(platform, actor, code, new)
        return _of_news(news.editable_announcement(platform, actor, code, number))
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        message = _message(session, challenge, new, actor)
        assert message is not None
        number = _sent_just_now(session, message) or _send(session, actor, challenge, message)
        return _to_teams(session.execute(_rows().where(TeamMessage.id == number)).one())


def _sent_just_now(session: Session, message: TeamMessage) -> int | None:
    """Return the same announcement if the same organiser has sent it a moment ago."""
    names = ("challenge_id", "created_by", "title", "text", "audience", "phase_id", "competition", "team_id")
    same = [getattr(TeamMessage, name) == getattr(message, name) for name in names]
    just_now = TeamMessage.sent_at > func.clock_timestamp() - DOUBLE_CLICK
    return session.scalar(select(TeamMessage.id).where(*same, just_now).limit(1))


def _limit(session: Session, challenge_id: int) -> MessageLimit | None:
    """Return why nothing may be sent to teams of a challenge now, if so."""
    sent = select(TeamMessage.sent_at).where(
        TeamMessage.challenge_id == challenge_id, TeamMessage.sent_at > func.clock_timestamp() - DAY
    )
    oldest = session.scalar(sent.order_by(TeamMessage.sent_at.desc()).offset(A_DAY - 1).limit(1))
    if oldest is None:
        return None
    at = oldest + DAY
    message = f"{plural(A_DAY, 'announcement')} were sent to teams within 24 hours; the next is possible on {date_in_words(at)}"
    return MessageLimit(message, retry_at=at)


def _send(session: Session, actor: Actor, challenge: Challenge, message: TeamMessage) -> int:
    """Send an announcement to its teams, in the transaction that locks the challenge; return its id. Raises RefusedError."""
    if refusal := _limit(session, challenge.id):
        raise RefusedError([refusal])
    message.sent_at = challenges.now(session)
    session.add(message)
    session.flush()
    team_ids = select(literal(message.id), _receivers(message).subquery().c.id)
    session.execute(insert(ReceivedMessage).from_select(["message_id", "team_id"], team_ids))
    received = select(ReceivedMessage.team_id).where(ReceivedMessage.message_id == message.id)
    message.teams = session.scalar(select(func.count()).select_from(received.subquery())) or 0
    if not message.teams:
        raise RefusedError([NoReceiver("no team with members matches now, so nothing was sent")])
    members = select(func.count()).select_from(Member).where(Member.team_id.in_(received))
    message.people = session.scalar(members) or 0
    events.record_each(session, EventKind.MESSAGE, _events_of(message, challenge.code))
    details = {
        "title": message.title,
        "audience": message.audience,
        "teams": message.teams,
        "people": message.people,
    }
    audit.record(
        session,
        actor.user_id,
        "message.send",
        f"message {message.id}",
        challenge_id=challenge.id,
        details=details,
    )
    return message.id


def _events_of(message: TeamMessage, code: str) -> Select[*tuple[Any, ...]]:
    """An event for each team that received an announcement; its mail shows the text."""
    path = f"/challenges/{quote(code)}/news#message-{message.id}"
    details = func.jsonb_build_object("message", message.id, "title", message.title, "path", path)
    return select(
        literal(message.challenge_id).label("challenge_id"), ReceivedMessage.team_id, details.label("details")
    ).where(ReceivedMessage.message_id == message.id)


# what organisers have written


def written(
    platform: Platform,
    actor: Actor,
    code: str,
    before: int | None = None,
    to_teams_before: int | None = None,
    team: str = "",
) -> Written:
    """Return a page of the announcements of a challenge. team: what was typed as a name. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        public = news.newest(session, code, PAGE, before)
        to_teams = _newest_to_teams(session, challenge.id, to_teams_before)
        choices = _choices(session, challenge, team)
    found = sorted(
        (*map(_of_news, public.rows), *to_teams.rows), key=lambda row: row.created_at, reverse=True
    )
    shown = tuple(found[:PAGE])
    return Written(
        challenge.code,
        challenge.title,
        choices,
        shown,
        has_more=len(found) > PAGE or bool(public.next or to_teams.next),
        next=min((row.id for row in shown if row.is_public), default=before),
        next_to_teams=min((row.id for row in shown if not row.is_public), default=to_teams_before),
    )


def _choices(session: Session, challenge: Challenge, team: str) -> AudienceChoices:
    phases = tuple(challenges.phases_of(session, challenge.code))
    known = {each.number: each for phase in phases for each in offered_competitions(phase)}
    competitions = tuple(known[number] for number in sorted(known))
    return AudienceChoices(phases, competitions, team_choice(session, challenge.id, team))


def _rows() -> Select[*tuple[Any, ...]]:
    return (
        select(TeamMessage, Phase.image_set, Team.name, User.name)
        .join(User, User.id == TeamMessage.created_by)
        .outerjoin(Phase, Phase.id == TeamMessage.phase_id)
        .outerjoin(Team, Team.id == TeamMessage.team_id)
    )


def _newest_to_teams(session: Session, challenge_id: int, before: int | None) -> RowPage[WrittenView]:
    which = (TeamMessage.challenge_id == challenge_id, TeamMessage.id < before if before else true())
    statement = _rows().where(*which).order_by(TeamMessage.id.desc()).limit(PAGE + 1)
    return page_of([_to_teams(row) for row in session.execute(statement)], PAGE, number=lambda row: row.id)


def _to_teams(row: Any) -> WrittenView:
    message, image_set, team, author = row
    return WrittenView(
        message.id, False, message.title, message.text, _in_words(message, image_set, team), message.created_at,
        message.sent_at, created_by=author, teams=message.teams, people=message.people,
    )  # fmt: skip


def _of_news(row: AnnouncementView) -> WrittenView:
    return WrittenView(
        row.id, True, row.title, row.text, "Everybody", row.created_at, row.created_at, is_automatic=row.is_automatic
    )  # fmt: skip


# what a team received


def received(platform: Platform, actor: Actor, code: str, before: int | None = None) -> RowPage[ReceivedView]:
    """Return what the reader's team in a challenge received, newest first."""
    if not actor.is_logged_in:
        return RowPage()
    statement = (
        select(TeamMessage.id, ReceivedMessage.id, TeamMessage.title, TeamMessage.text, TeamMessage.sent_at)
        .join(ReceivedMessage, ReceivedMessage.message_id == TeamMessage.id)
        .join(Challenge, Challenge.id == TeamMessage.challenge_id)
        .where(
            Challenge.code == code,
            ReceivedMessage.team_id.in_(teams.teams_now(actor)),
            ReceivedMessage.id < before if before else true(),
        )
        .order_by(ReceivedMessage.id.desc())
        .limit(PAGE + 1)
    )
    with platform.reading() as session:
        found = [ReceivedView(*row) for row in session.execute(statement)]
    return page_of(found, PAGE, number=lambda row: row.received)


def challenge_of_team(platform: Platform, actor: Actor, team_id: int) -> str:
    """Return the code of the challenge of a team of the reader's. Raises NotFoundError."""
    is_own = Team.id == team_id, Team.id.in_(teams.teams_now(actor)), visible_to(actor, Challenge.id)
    statement = select(Challenge.code).join(Team, Team.challenge_id == Challenge.id).where(*is_own)
    with platform.reading() as session:
        code = session.scalar(statement)
    if code is None:
        raise NotFoundError(f"you are not in a team {team_id}")
    return code
