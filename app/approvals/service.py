"""Approving and suspending teams."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.access import Actor
from app.approvals import queries
from app.approvals.schemas import ApprovalRule, Suspension, TeamList, TeamRefusal, TeamSearch
from app.audit import queries as audit
from app.errors import ConflictError, NotFoundError
from app.memberships import queries as memberships
from app.memberships.service import record
from app.models import Approval, Edition, Team
from app.platform import Platform

PAGE = 50  # teams


def teams(platform: Platform, actor: Actor, edition: str, search: TeamSearch) -> TeamList:
    """A page of the teams of an edition that the reader organises.

    Raises NotFoundError.
    """
    with platform.snapshot() as session:
        found = _edition(session, actor, edition)
        rows = queries.teams(session, found.id, search, PAGE + 1)
        return TeamList(
            edition=found.code,
            edition_title=found.title,
            approves_teams=found.approves_teams,
            waiting=queries.count_waiting(session, found.id),
            teams=tuple(rows[:PAGE]),
            next=rows[PAGE - 1].id if len(rows) > PAGE else None,
        )


def _edition(session: Session, actor: Actor, code: str) -> Edition:
    found = queries.organised_edition(session, actor, code)
    if found is None:
        raise NotFoundError(f"you organise no edition {code!r}")
    return found


def set_rule(platform: Platform, actor: Actor, edition: str, rule: ApprovalRule) -> None:
    """Ask for approvals in an edition from now on, or not any more; teams that are there count as approved.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        found = _edition(session, actor, edition)
        before = {"approves_teams": found.approves_teams}
        found.approves_teams = rule.approves_teams
        audit.record(
            session,
            actor.user_id,
            "edition.approves_teams",
            f"edition {found.id}",
            edition_id=found.id,
            before=before,
            after=rule.model_dump(),
        )


def approve(platform: Platform, actor: Actor, team_id: int) -> str:
    """Let a team be scored on held-out annotation; returns the code of its edition.

    Raises NotFoundError.
    """
    with _changed(platform, actor, "team.approve", team_id) as team:
        team.approval, team.approval_reason = Approval.APPROVED, ""
    return _code(platform, team)


def refuse(platform: Platform, actor: Actor, team_id: int, refusal: TeamRefusal) -> str:
    """Do not approve a team; its members read why. Returns the code of its edition.

    Raises NotFoundError.
    """
    with _changed(platform, actor, "team.refuse", team_id, refusal.reason) as team:
        team.approval, team.approval_reason = Approval.REFUSED, refusal.reason
    return _code(platform, team)


def suspend(platform: Platform, actor: Actor, team_id: int, suspension: Suspension) -> str:
    """Let a team neither upload nor be scored; its public results are marked or hidden. Returns the code of its edition.

    What is queued already waits until the suspension is lifted; what is being scored is. Raises NotFoundError.
    """
    with _changed(platform, actor, "team.suspend", team_id, suspension.reason) as team:
        team.suspended_at = team.suspended_at or func.clock_timestamp()
        team.suspension_reason, team.hides_results = suspension.reason, suspension.hides_results
    return _code(platform, team)


def lift(platform: Platform, actor: Actor, team_id: int, change: TeamRefusal) -> str:
    """End the suspension of a team; returns the code of its edition.

    Raises NotFoundError, ConflictError for a team that is not suspended.
    """
    with _changed(platform, actor, "team.lift_suspension", team_id, change.reason) as team:
        if team.suspended_at is None:
            raise ConflictError(f"The team {team.name} is not suspended")
        team.suspended_at, team.suspension_reason, team.hides_results = None, "", False
    platform.notifier.wake_workers()
    return _code(platform, team)


@contextmanager
def _changed(platform: Platform, actor: Actor, action: str, team_id: int, reason: str = "") -> Iterator[Team]:
    """A team of an edition that the reader organises, whose change in the block is recorded and shown on boards."""
    with platform.transaction() as session:
        team = queries.organised_team(session, actor, team_id)
        if team is None:
            raise NotFoundError(f"there is no team {team_id} in an edition that you organise")
        before = _decided(team)
        yield team
        session.flush()
        session.refresh(team)
        memberships.mark_changed(session, team_id)
        facts = {"edition_id": team.edition_id, "reason": reason, "before": before, "after": _decided(team)}
        record(session, actor.user_id, action, team_id, **facts)
    platform.cache.forget_versions()


def _decided(team: Team) -> Mapping[str, Any]:
    return {
        "approval": team.approval.value,
        "approval_reason": team.approval_reason,
        "suspended_at": team.suspended_at.isoformat() if team.suspended_at else None,
        "suspension_reason": team.suspension_reason,
        "hides_results": team.hides_results,
    }


def _code(platform: Platform, team: Team) -> str:
    with platform.transaction() as session:
        return session.get_one(Edition, team.edition_id).code
