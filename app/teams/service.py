"""A team with its members, invitations, quota and results."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from app.access import Actor
from app.disclosure.rules import sight_of
from app.editions import queries as editions
from app.editions.schemas import PhaseView
from app.errors import NotFoundError
from app.invitations import queries as invitations
from app.memberships import queries as memberships
from app.memberships.rules import scoring_refusals
from app.models import Edition, Team
from app.platform import Platform
from app.quotas import service as quotas
from app.standings import service as standings
from app.submissions.service import team_rows
from app.teams import queries
from app.teams.schemas import MyTeams, PhaseQuota, TeamPage


def my_teams(platform: Platform, actor: Actor) -> MyTeams:
    """The reader's teams, and the editions in which they have none."""
    with platform.snapshot() as session:
        return MyTeams(
            memberships.teams_of(session, actor.user_id),
            queries.editions_without_team(session, actor.user_id),
        )


def team_page(
    platform: Platform, actor: Actor, team_id: int, after: int | None = None, before: int | None = None
) -> TeamPage:
    """A team as this reader may see it.

    after: the member behind whom the list of members begins; before: the submission before which the listed ones were made.

    Raises NotFoundError, also for what is there but not for this reader.
    """
    with platform.snapshot() as session:
        found = queries.visible_team(session, actor, team_id)
        if found is None:
            raise NotFoundError(f"there is no team {team_id}, or it has no public results")
        page = _page(session, actor, *found, after)
    only_public = not (page.is_member or page.can_change)
    listed = team_rows(platform, actor, (team_id,), only_public=only_public, before=before)
    return replace(page, results=listed.rows, more_results=listed.next)


def _page(session: Session, actor: Actor, team: Team, edition: Edition, after: int | None) -> TeamPage:
    mine = memberships.member(session, team.id, actor.user_id)
    is_owner = mine is not None and mine.is_owner
    is_ours = mine is not None or actor.runs(edition.id)
    standing = memberships.standing(session, team.id)
    against = scoring_refusals(standing, is_held_out=True) if is_ours else ()
    people = memberships.members_of(session, team.id, only_named=not is_ours, after=after)
    phases = editions.phases_of(session, edition.code)
    sights = {phase.id: (phase, sight_of(actor, phase)) for phase in phases}
    return TeamPage(
        id=team.id,
        name=team.name,
        affiliation=team.affiliation,
        edition=edition.code,
        edition_title=edition.title,
        is_suspended=team.suspended_at is not None,
        is_member=mine is not None,
        is_owner=is_owner,
        can_change=is_owner or actor.runs(edition.id),
        user_id=actor.user_id,
        approval=team.approval if edition.approves_teams and is_ours else None,
        refusals=tuple(each.message for each in against),
        members=people.members,
        more_members=people.next,
        invitations=invitations.invitations_of(session, team.id) if is_owner else (),
        quotas=_quotas(session, actor, phases) if mine is not None else (),
        results=(),
        standings=standings.of_team(session, team.id, sights, only_public=not is_ours),
    )


def _quotas(session: Session, actor: Actor, phases: Sequence[PhaseView]) -> tuple[PhaseQuota, ...]:
    found = (PhaseQuota(phase.image_set, quotas.lines(session, actor, phase)) for phase in phases)
    return tuple(each for each in found if each.lines)
