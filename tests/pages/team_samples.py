"""Contexts for the pages of teams."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.boards.team_views import ChallengeChoice, MyTeams, PhaseQuota, TeamPage, TeamRank
from app.models import Approval, ResultState, RunState
from app.organising.approvals import TeamList, TeamRow, TeamState
from app.people.invitations import OfferedTeam, TeamInvitation, TeamLink
from app.people.teams import MemberView, OwnTeam
from app.results.details import Rank
from app.results.submissions import SubmissionRow
from app.submissions.quotas import Usage, quota_lines
from tests.pages.challenge_samples import matrix
from tests.pages.drawn import EVIL
from tests.pages.views import NOW, PHASE

Sample = tuple[str, dict[str, Any]]

RESULT = SubmissionRow(
    12, "VOC2007", "test", 3, EVIL, NOW, ResultState.SCORED, RunState.SCORED, None, 0.648, None
)
TEAM = TeamPage(
    id=7,
    name=EVIL,
    affiliation=EVIL,
    challenge="VOC2007",
    challenge_title="PASCAL VOC 2007",
    is_suspended=False,
    is_member=True,
    is_owner=True,
    can_change=True,
    can_rename=True,
    is_viewed=False,
    user_id=1,
    approval=Approval.WAITING,
    refusals=(EVIL,),
    members=(
        MemberView(1, "Ada", is_owner=True, is_named=True, joined_at=NOW, homepage=EVIL, orcid=EVIL),
        MemberView(2, EVIL, is_owner=False, is_named=False, joined_at=NOW),
        MemberView(3, "Eve", is_owner=True, is_named=False, joined_at=NOW),
    ),
    more_members=3,
    invitations=(TeamInvitation(4, 1, EVIL, NOW, NOW + timedelta(days=7)),),
    quotas=(PhaseQuota("test", quota_lines(NOW, PHASE.quotas, ("detection",), Usage())),),
    results=(RESULT,),
    standings=(matrix(),),
    more_results=12,
    ranks=(TeamRank(12, 1, Rank(1, 2)),),
)
OWN = OwnTeam(
    7,
    EVIL,
    "VOC2007",
    "PASCAL VOC 2007",
    2,
    is_owner=True,
    is_named=False,
    approval=Approval.APPROVED,
    is_suspended=False,
)
MY_TEAMS = MyTeams((OWN,), (ChallengeChoice("x", EVIL), ChallengeChoice("y", "Y")))
ROW = TeamRow(1, EVIL, EVIL, 2, 3, NOW, Approval.WAITING, "", None, "", hides_results=False)
TEAMS = TeamList(
    "VOC2007",
    EVIL,
    approves_teams=True,
    most_members=5,
    waiting=1,
    teams=(
        ROW,
        replace(ROW, id=2, approval=Approval.REFUSED, approval_reason=EVIL),
        replace(ROW, id=3, approval=Approval.APPROVED, suspended_at=NOW, suspension_reason=EVIL),
    ),
    next=1,
)
OFFER = OfferedTeam(EVIL, "VOC2007", "PASCAL VOC 2007", 2, EVIL, EVIL, keeps_results=True, refusals=(EVIL,))


def of_teams() -> Iterator[Sample]:
    """The pages of teams."""
    nothing: dict[str, Any] = {"form": {}, "problems": {}}
    yield "teams/mine.html", {"mine": MyTeams((), ()), **nothing}
    page = {"search": {"text": EVIL, "state": "waiting"}, "states": list(TeamState)}
    yield "approvals/teams.html", {"list": TEAMS, "older": "/organise/x", **page}
    no_rule = replace(TEAMS, approves_teams=False)
    for found in (no_rule, replace(no_rule, teams=())):
        yield "approvals/teams.html", {"list": found, "older": None, **page}
    problems = {"name": EVIL, "challenge": EVIL}
    yield (
        "teams/mine.html",
        {"mine": MY_TEAMS, "form": {"name": EVIL, "challenge": "x"}, "problems": problems},
    )
    for offer in (None, OFFER, replace(OFFER, leaves=None, invited_by="", refusals=())):
        yield "teams/invitation.html", {"offer": offer, "token": "t0ken"}
    link = TeamLink(1, "t0ken", "https://voc.example/invitations/t0ken", 2, NOW)
    yield "teams/team.html", {"team": TEAM, "new_link": link, **nothing}
    alone = replace(TEAM, members=TEAM.members[:1], invitations=(), results=(), quotas=())
    yield (
        "teams/team.html",
        {"team": alone, "new_link": None, "form": {"name": EVIL}, "problems": {"name": EVIL}},
    )
    organisers = replace(TEAM, is_member=False, is_owner=False, user_id=9, approval=Approval.REFUSED)
    stranger = replace(organisers, can_change=False, is_suspended=True, approval=None, refusals=())
    for team in (organisers, stranger, replace(stranger, members=(), affiliation="")):
        yield "teams/team.html", {"team": team, "new_link": None, **nothing}
