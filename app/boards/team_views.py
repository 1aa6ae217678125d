"""Team pages: members, invitations, quotas and results."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict
from sqlalchemy import and_, select, true, tuple_
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView, is_open_to_others
from app.challenges.disclosure import Visibility, visibility_for
from app.core.access import Action, Actor, ResultVisibility, rows_for, visible_to
from app.core.errors import NotFoundError
from app.models import Approval, Challenge, Method, Result, ResultState, Team
from app.people import invitations, teams
from app.people.invitations import TeamInvitation
from app.people.teams import MemberView, NewTeam, OwnTeam, Reason, is_shown, scoring_refusals
from app.platform import Platform
from app.results import details, standings
from app.results.details import Rank
from app.results.standings import CompetitionColumn, Matrix, MatrixCell
from app.results.submissions import SubmissionRow, team_rows
from app.submissions import quotas
from app.submissions.methods import MethodRef
from app.submissions.quotas import QuotaLine

LARGEST_ID = 2**63 - 1
AfterMember = Annotated[
    int | None,
    Query(
        ge=1,
        le=LARGEST_ID,
        description="list members after this one: `more_members` of the previous page",
    ),
]


class Ownership(BaseModel):
    """Whether a member owns the team."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    is_owner: bool
    reason: Reason = ""


class Naming(BaseModel):
    """Whether the team's public page shows your name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    is_named: bool


class Successor(BaseModel):
    """The member to transfer ownership to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    person: int


@dataclass(frozen=True, slots=True)
class ChallengeChoice:
    """A challenge in which the reader can create a team."""

    code: str
    title: str


@dataclass(frozen=True, slots=True)
class MyTeams:
    """A user's teams, and the challenges in which they may create one."""

    teams: tuple[OwnTeam, ...]
    challenges: tuple[ChallengeChoice, ...]


@dataclass(frozen=True, slots=True)
class PhaseQuota:
    """The remaining quota of a member in a phase, for this team."""

    image_set: str
    lines: tuple[QuotaLine, ...]


@dataclass(frozen=True, slots=True)
class TeamResult:
    """A result of a team on a board."""

    image_set: str
    column: CompetitionColumn
    method: MethodRef
    cell: MatrixCell


@dataclass(frozen=True, slots=True)
class TeamRank:
    """The rank of a result of a team, as the reader may see it."""

    submission: int
    competition: int
    rank: Rank


@dataclass(frozen=True, slots=True)
class TeamPage:
    """A team as the reader may see it."""

    id: int
    name: str
    affiliation: str
    challenge: str
    challenge_title: str
    is_suspended: bool
    is_member: bool
    is_owner: bool
    can_change: bool  # the reader owns the team or organises its challenge
    can_rename: bool  # not an owner whose team has public results under its name
    is_viewed: bool  # the reader views its challenge
    user_id: int | None  # of the reader
    approval: Approval | None  # None if the challenge requires none, or the reader is an outsider
    refusals: tuple[str, ...]  # why its submissions are not scored on held-out phases
    members: tuple[MemberView, ...]  # one page; outsiders see only members who agreed to be named
    more_members: int | None  # the `after` of the next page, None on the last
    invitations: tuple[TeamInvitation, ...]  # those still valid; only for owners
    quotas: tuple[PhaseQuota, ...]  # only for members
    results: tuple[SubmissionRow, ...]  # outsiders see only public results
    standings: tuple[Matrix, ...] = ()  # results on boards by phase, for the newest methods
    more_results: int | None = None  # the `before` of the next page of results, None on the last
    ranks: tuple[TeamRank, ...] = ()  # of the results on boards

    @property
    def on_boards(self) -> tuple[TeamResult, ...]:
        """The results on boards, by phase, and in each of them the best methods first."""
        return tuple(each for matrix in self.standings for each in results_of(matrix))

    @property
    def methods(self) -> tuple[tuple[TeamResult, ...], ...]:
        """The same results by method, in the order of their first ones."""
        found: dict[int, list[TeamResult]] = {}
        for each in self.on_boards:
            found.setdefault(each.method.id, []).append(each)
        return tuple(map(tuple, found.values()))

    @property
    def best(self) -> tuple[TeamResult, ...]:
        """The best result of each task, in each phase with results."""
        return tuple(each for matrix in self.standings for each in best_results(matrix).values())


def results_of(matrix: Matrix) -> Iterator[TeamResult]:
    """List the results of a team's methods in a phase."""
    for row in matrix.rows:
        for column, cell in zip(matrix.columns, row.cells, strict=True):
            if cell:
                yield TeamResult(matrix.image_set, column, row.method, cell)


def best_results(matrix: Matrix) -> dict[str, TeamResult]:
    """Return the best result of a team's methods by task; of equal ones, and where means are hidden, the first."""
    best: dict[str, TeamResult] = {}
    for each in sorted(results_of(matrix), key=lambda each: each.column.competition):
        known = best.get(each.column.title)
        if known is None or (each.cell.mean or 0) > (known.cell.mean or 0):
            best[each.column.title] = each
    return best


def visible_team(session: Session, actor: Actor, team_id: int) -> tuple[Team, Challenge] | None:
    """Find a team that the reader may see: members and organisers always, others once it has a public result."""
    public_result = (
        select(Result.id)
        .join(Result.method)
        .where(Method.team_id == Team.id, Method.public_at.is_not(None), Result.state == ResultState.SCORED)
        .where(is_open_to_others(Result.phase_id, Result.submission_id))
        .correlate(Team)
    )
    states = {
        ResultVisibility.PRIVATE: true(),
        ResultVisibility.PUBLIC: and_(public_result.exists(), is_shown(Team.id)),
    }
    may_see = rows_for(actor, Action.READ_TEAM, team=Team.id, challenge=Team.challenge_id, states=states)
    statement = select(Team, Challenge).join(Challenge).where(Team.id == team_id, may_see)
    row = session.execute(statement).one_or_none()
    return (row[0], row[1]) if row else None


def challenges_without_team(session: Session, actor: Actor) -> tuple[ChallengeChoice, ...]:
    """List the challenges in which a user may found a team, newest first: they have none, or may leave theirs by it."""
    theirs = teams.standing_in_the_way(actor.user_id)
    statement = select(Challenge.code, Challenge.title).where(
        Challenge.id.not_in(theirs), visible_to(actor, Challenge.id, in_lists=True)
    )
    return tuple(ChallengeChoice(*row) for row in session.execute(statement.order_by(Challenge.id.desc())))


def my_teams(platform: Platform, actor: Actor) -> MyTeams:
    """Return the reader's teams and the challenges in which they have none."""
    with platform.snapshot() as session:
        return MyTeams(
            teams.teams_of(session, actor.user_id),
            challenges_without_team(session, actor),
        )


def team_page(
    platform: Platform, actor: Actor, team_id: int, after: int | None = None, before: int | None = None
) -> TeamPage:
    """Return a team as the reader may see it.

    after: list members after this one; before: list results of submissions before this one. Raises NotFoundError if the team
    does not exist or is not visible to the reader.
    """
    return _with_results(platform, actor, shown_team(platform, actor, team_id, after), before)


def shown_team(platform: Platform, actor: Actor, team_id: int, after: int | None = None) -> TeamPage:
    """Return a team as `team_page` does, without the list of results by date, which its HTML page does not show."""
    with platform.snapshot() as session:
        return _page(session, actor, team_id, after)


def create_team(platform: Platform, actor: Actor, challenge: str, new: NewTeam) -> TeamPage:
    """Create a team as `teams.create_team` does, and return it as it was then: its owner may leave it at once."""
    with platform.transaction() as session:
        page = _page(session, actor, teams.create_team(session, actor, challenge, new))
    return _with_results(platform, actor, page)


def accept_invitation(platform: Platform, actor: Actor, token: str) -> TeamPage:
    """Join a team as `invitations.accept` does, and return it as it was then."""
    with platform.transaction() as session:
        page = _page(session, actor, invitations.accept(session, actor, token))
    return _with_results(platform, actor, page)


def _with_results(platform: Platform, actor: Actor, page: TeamPage, before: int | None = None) -> TeamPage:
    only_public = not (page.is_member or page.can_change or page.is_viewed)
    listed = team_rows(platform, actor, (page.id,), only_public=only_public, before=before)
    return replace(page, results=listed.rows, more_results=listed.next)


def _page(session: Session, actor: Actor, team_id: int, after: int | None = None) -> TeamPage:
    found = visible_team(session, actor, team_id)
    if found is None:
        raise NotFoundError(f"there is no team {team_id}, or it has no public results")
    team, challenge = found
    mine = teams.member(session, team.id, actor.user_id)
    is_owner = mine is not None and mine.is_owner
    is_viewed = actor.views_challenge(challenge.id)
    is_member = mine is not None
    organises = actor.organises_challenge(challenge.id)
    is_ours = is_member or is_viewed or organises
    refusals = scoring_refusals(teams.team_status(session, team.id), is_held_out=True) if is_ours else ()
    people = teams.members_of(session, team.id, only_named=not is_ours, after=after)
    phases = challenges.phases_of(session, challenge.code)
    visibilities = {phase.id: (phase, visibility_for(actor, phase)) for phase in phases}
    matrices = standings.matrices_of_team(session, team.id, visibilities, only_public=not is_ours)
    return TeamPage(
        id=team.id,
        name=team.name,
        affiliation=team.affiliation,
        challenge=challenge.code,
        challenge_title=challenge.title,
        is_suspended=team.suspended_at is not None,
        is_member=is_member,
        is_owner=is_owner,
        can_change=is_owner or organises,
        can_rename=organises or (is_owner and not teams.shows_result(session, team.id)),
        is_viewed=is_viewed,
        user_id=actor.user_id,
        approval=team.approval if challenge.approves_teams and is_ours else None,
        refusals=tuple(each.message for each in refusals),
        members=people.members,
        more_members=people.next,
        invitations=invitations.invitations_of(session, team.id) if is_owner else (),
        quotas=_quotas(session, actor, phases) if is_member else (),
        results=(),
        standings=matrices,
        ranks=tuple(_ranks(session, actor, visibilities.values(), matrices)),
    )


def _ranks(
    session: Session,
    actor: Actor,
    phases: Iterable[tuple[PhaseView, Visibility]],
    matrices: Iterable[Matrix],
) -> Iterator[TeamRank]:
    shown = {matrix.image_set: [*results_of(matrix)] for matrix in matrices}
    for phase, visibility in phases:
        places = [(each.cell.submission, each.column.competition) for each in shown.get(phase.image_set, ())]
        statement = select(Result).where(tuple_(Result.submission_id, Result.competition).in_(places))
        results = {each.id: each for each in session.scalars(statement)} if places else {}
        for number, rank in details.ranks(session, actor, phase, visibility, results.values()).items():
            yield TeamRank(results[number].submission_id, results[number].competition, rank)


def _quotas(session: Session, actor: Actor, phases: Sequence[PhaseView]) -> tuple[PhaseQuota, ...]:
    found = (PhaseQuota(phase.image_set, quotas.lines(session, actor, phase)) for phase in phases)
    return tuple(each for each in found if each.lines)
