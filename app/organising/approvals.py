"""Approval and suspension of teams."""

import enum
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, func, literal, select, true
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.core import audit
from app.core.access import Action, Actor, require_active, require_challenge, rows_for
from app.core.errors import ConflictError, NotFoundError
from app.jobs import events
from app.models import (
    Approval,
    Challenge,
    EventKind,
    Member,
    Method,
    Result,
    ResultState,
    Submission,
    Team,
    User,
)
from app.people import teams as memberships
from app.people.teams import record
from app.platform import Platform
from app.submissions import quotas
from app.submissions.quotas import QuotaLine, SlotView
from app.web.forms import OrBlank

LARGEST_ID = 2**63 - 1
Reason = Annotated[str, Field(min_length=1, max_length=1000, description="shown to the team")]


class TeamState(enum.StrEnum):
    """Which teams to list."""

    ALL = "all"
    WAITING = "waiting"
    REFUSED = "refused"
    SUSPENDED = "suspended"


class TeamSearch(BaseModel):
    """A search for teams; an empty field matches all."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    text: Annotated[str, Field(max_length=80, description="part of a name")] = ""
    state: TeamState = TeamState.ALL
    after: Annotated[int | None, Field(ge=1, le=LARGEST_ID, description="`next` of the previous page")] = None


MostMembers = Annotated[int, Field(ge=1, le=1000, description="of a team; null: any number")]


class ApprovalRule(BaseModel):
    """Whether only approved teams are scored on the challenge's held-out annotation, and how large teams may be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    approves_teams: bool
    most_members: OrBlank[MostMembers] = None


class TeamRefusal(BaseModel):
    """The reason for not approving a team or for ending its suspension."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    reason: Reason


class Suspension(TeamRefusal):
    """The reason for suspending a team, and what happens to its public results."""

    hides_results: Annotated[
        bool, Field(description="remove its results from the boards; otherwise they stay, marked")
    ] = False


@dataclass(frozen=True, slots=True)
class TeamRow:
    """A team in the organiser's list."""

    id: int
    name: str
    affiliation: str
    members: int
    results: int
    created_at: datetime
    approval: Approval
    approval_reason: str
    suspended_at: datetime | None
    suspension_reason: str
    hides_results: bool


@dataclass(frozen=True, slots=True)
class TeamList:
    """A page of a challenge's teams, newest first; `next` is the `after` of the next page."""

    challenge: str
    challenge_title: str
    approves_teams: bool
    most_members: int | None
    waiting: int  # teams waiting for an organiser's decision
    teams: tuple[TeamRow, ...]
    next: int | None
    is_viewed: bool = False  # the reader may only read


def organised_team(session: Session, actor: Actor, team_id: int) -> Team | None:
    """Lock a team of a challenge that the actor organises; None if there is none. Raises ConflictError if it is archived."""
    theirs = rows_for(actor, Action.ORGANISE, challenge=Team.challenge_id)
    statement = select(Team).where(Team.id == team_id, theirs)
    team = session.scalar(statement.with_for_update(key_share=True))
    if team is not None:
        require_active(session, team.challenge_id)
    return team


def _is_in(state: TeamState) -> ColumnElement[bool]:
    match state:
        case TeamState.WAITING:
            return Team.approval == Approval.WAITING
        case TeamState.REFUSED:
            return Team.approval == Approval.REFUSED
        case TeamState.SUSPENDED:
            return Team.suspended_at.is_not(None)
    return true()


@dataclass(frozen=True, slots=True)
class TeamMember:
    """A member of a team, as organisers see them."""

    id: int
    name: str
    email: str  # empty for viewers
    is_owner: bool
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class QuotaUseOfPhase:
    """What a team has left in a phase that is not over."""

    phase: PhaseView
    lines: tuple[QuotaLine, ...]
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TeamSheet:
    """A team with its members, its use of quotas and its extra slots, as organisers see it."""

    challenge: str
    challenge_title: str
    approves_teams: bool
    is_viewed: bool
    team: TeamRow
    members: tuple[TeamMember, ...]  # the first ones
    quotas: tuple[QuotaUseOfPhase, ...]
    slots: tuple[SlotView, ...]  # the latest
    methods: int = 0
    last_submitted_at: datetime | None = None


MOST_MEMBERS = 100  # on the page of a team


def team_sheet(platform: Platform, actor: Actor, team_id: int) -> TeamSheet:
    """Return a team of a challenge that the actor organises or views. Raises NotFoundError."""
    theirs = rows_for(actor, Action.READ_ORGANISING, challenge=Team.challenge_id)
    with platform.snapshot() as session:
        team = session.scalar(select(Team).where(Team.id == team_id, theirs))
        if team is None:
            raise NotFoundError(f"there is no team {team_id} in a challenge that you organise")
        challenge = session.get_one(Challenge, team.challenge_id)
        [row] = select_teams(session, challenge.id, TeamSearch(after=team_id + 1), 1)
        is_viewed = actor.views_challenge(challenge.id)
        address = literal("") if is_viewed else User.email
        people = (
            select(User.id, User.name, address, Member.is_owner, Member.joined_at)
            .join(Member, Member.user_id == User.id)
            .where(Member.team_id == team_id)
            .order_by(~Member.is_owner, Member.joined_at, User.id)
            .limit(MOST_MEMBERS)
        )
        members = tuple(TeamMember(*each) for each in session.execute(people))
        slots = quotas.slot_views(session, None, team_id=team_id)
        phases = [each for each in challenges.phases_of(session, challenge.code) if not each.is_over]
        use = tuple(_use_of(session, phase, team_id) for phase in phases if phase.quotas)
        submitted = (
            select(func.count(Method.id.distinct()), func.max(Submission.created_at))
            .select_from(Method)
            .outerjoin(Submission, Submission.method_id == Method.id)
            .where(Method.team_id == team_id)
        )
        methods, last = session.execute(submitted).one()
    return TeamSheet(
        challenge.code,
        challenge.title,
        challenge.approves_teams,
        is_viewed,
        row,
        members,
        use,
        slots.rows,
        methods,
        last,
    )


def _use_of(session: Session, phase: PhaseView, team_id: int) -> QuotaUseOfPhase:
    tasks = tuple(dict.fromkeys(each.task for each in challenges.offered_competitions(phase)))
    used = quotas.usage(session, phase, team_id, 0)  # no person: what the team has left
    return QuotaUseOfPhase(
        phase, quotas.quota_lines(challenges.now(session), phase.quotas, tasks, used), tasks
    )


def select_teams(session: Session, challenge_id: int, search: TeamSearch, limit: int) -> list[TeamRow]:
    """Return the matching teams of a challenge, newest first."""
    members = select(func.count()).where(Member.team_id == Team.id).correlate(Team).scalar_subquery()
    results = (
        select(func.count(Result.id))
        .join(Result.method)
        .where(Method.team_id == Team.id, Result.state == ResultState.SCORED)
        .correlate(Team)
        .scalar_subquery()
    )
    found = Team.name.icontains(search.text, autoescape=True) if search.text else true()
    earlier = Team.id < search.after if search.after is not None else true()
    statement = (
        select(Team, members.label("members"), results.label("results"))
        .where(Team.challenge_id == challenge_id, found, _is_in(search.state), earlier)
        .order_by(Team.id.desc())
        .limit(limit)
    )
    return [_row(row[0], members=row.members, results=row.results) for row in session.execute(statement)]


def _row(team: Team, *, members: int, results: int) -> TeamRow:
    return TeamRow(
        id=team.id,
        name=team.name,
        affiliation=team.affiliation,
        members=members,
        results=results,
        created_at=team.created_at,
        approval=team.approval,
        approval_reason=team.approval_reason,
        suspended_at=team.suspended_at,
        suspension_reason=team.suspension_reason,
        hides_results=team.hides_results,
    )


def count_waiting(session: Session, challenge_id: int) -> int:
    """Count the teams of a challenge that are waiting for a decision."""
    waiting = select(func.count()).where(Team.challenge_id == challenge_id, _is_in(TeamState.WAITING))
    return session.scalar(waiting) or 0


PAGE = 50  # teams


def teams(platform: Platform, actor: Actor, challenge: str, search: TeamSearch) -> TeamList:
    """Return a page of the teams of a challenge that the actor organises or views.

    Raises NotFoundError.
    """
    with platform.snapshot() as session:
        found = require_challenge(session, actor, challenge, Action.READ_ORGANISING)
        rows = select_teams(session, found.id, search, PAGE + 1)
        return TeamList(
            challenge=found.code,
            challenge_title=found.title,
            approves_teams=found.approves_teams,
            most_members=found.most_members,
            waiting=count_waiting(session, found.id),
            teams=tuple(rows[:PAGE]),
            next=rows[PAGE - 1].id if len(rows) > PAGE else None,
            is_viewed=actor.views_challenge(found.id),
        )


def set_approval_rule(platform: Platform, actor: Actor, challenge: str, rule: ApprovalRule) -> None:
    """Turn approvals in a challenge on or off, and limit the size of teams. Existing teams count as approved and keep their members.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        found = require_challenge(session, actor, challenge, lock=True)
        before = {"approves_teams": found.approves_teams, "most_members": found.most_members}
        found.approves_teams, found.most_members = rule.approves_teams, rule.most_members
        audit.record(
            session,
            actor.user_id,
            "challenge.approves_teams",
            f"challenge {found.id}",
            challenge_id=found.id,
            before=before,
            after=rule.model_dump(),
        )


def approve(platform: Platform, actor: Actor, team_id: int) -> str:
    """Approve a team, so that it is scored on held-out annotation; return the code of its challenge.

    Raises NotFoundError.
    """
    with _changing(platform, actor, "team.approve", team_id, EventKind.TEAM_APPROVED) as team:
        team.approval, team.approval_reason = Approval.APPROVED, ""
    return _code(platform, team)


def refuse(platform: Platform, actor: Actor, team_id: int, refusal: TeamRefusal) -> str:
    """Refuse to approve a team, for a reason that its members see; return the code of its challenge.

    Raises NotFoundError.
    """
    with _changing(platform, actor, "team.refuse", team_id, EventKind.TEAM_REFUSED, refusal.reason) as team:
        team.approval, team.approval_reason = Approval.REFUSED, refusal.reason
    return _code(platform, team)


def suspend(platform: Platform, actor: Actor, team_id: int, suspension: Suspension) -> str:
    """Suspend a team: it can neither upload nor be scored, and its public results are marked or hidden.

    Queued runs wait until the suspension ends; running ones finish. Returns the code of its challenge. Raises NotFoundError.
    """
    with _changing(
        platform, actor, "team.suspend", team_id, EventKind.TEAM_SUSPENDED, suspension.reason
    ) as team:
        team.suspended_at = team.suspended_at or func.clock_timestamp()
        team.suspension_reason, team.hides_results = suspension.reason, suspension.hides_results
    return _code(platform, team)


def lift(platform: Platform, actor: Actor, team_id: int, change: TeamRefusal) -> str:
    """End the suspension of a team; return the code of its challenge.

    Raises NotFoundError, and ConflictError if the team is not suspended.
    """
    with _changing(
        platform, actor, "team.lift_suspension", team_id, EventKind.TEAM_SUSPENDED, change.reason
    ) as team:
        if team.suspended_at is None:
            raise ConflictError(f"The team {team.name} is not suspended")
        team.suspended_at, team.suspension_reason, team.hides_results = None, "", False
    platform.notifier.wake_workers()
    return _code(platform, team)


@contextmanager
def _changing(
    platform: Platform, actor: Actor, action: str, team_id: int, kind: EventKind, reason: str = ""
) -> Iterator[Team]:
    """Yield a team of a challenge that the actor organises; record its changes and update boards afterwards.

    kind: what the team is told if something has changed.
    """
    with platform.transaction() as session:
        team = organised_team(session, actor, team_id)
        if team is None:
            raise NotFoundError(f"there is no team {team_id} in a challenge that you organise")
        before = _decision(team)
        yield team
        session.flush()
        session.refresh(team)
        memberships.mark_changed(session, team_id)
        facts = {
            "challenge_id": team.challenge_id,
            "reason": reason,
            "before": before,
            "after": _decision(team),
        }
        record(session, actor.user_id, action, team_id, **facts)
        if before != facts["after"]:
            events.record(
                session,
                kind,
                challenge_id=team.challenge_id,
                team_id=team_id,
                is_suspended=team.suspended_at is not None,
            )
    platform.cache.expire_versions()


def _decision(team: Team) -> Mapping[str, Any]:
    return {
        "approval": team.approval.value,
        "approval_reason": team.approval_reason,
        "suspended_at": team.suspended_at.isoformat() if team.suspended_at else None,
        "suspension_reason": team.suspension_reason,
        "hides_results": team.hides_results,
    }


def _code(platform: Platform, team: Team) -> str:
    with platform.transaction() as session:
        return session.get_one(Challenge, team.challenge_id).code
