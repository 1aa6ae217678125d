"""What a team may do, and who may join or leave it."""

from dataclasses import replace

import pytest

from app.core.errors import InTeam, LastOwner, TeamFull, TeamNotApproved, TeamSuspended
from app.models import Approval
from app.people.teams import (
    Membership,
    TeamStatus,
    joining_refusals,
    leaving_refusals,
    renaming_refusals,
    scoring_refusals,
    upload_refusals,
)

OAK = TeamStatus(
    "Oak",
    needs_approval=False,
    approval=Approval.APPROVED,
    approval_reason="",
    is_suspended=False,
    suspension_reason="",
)
SUSPENDED = replace(OAK, is_suspended=True, suspension_reason="two accounts of one person")
ALONE = Membership(1, OAK, is_owner=True, other_owners=0, others=0)


@pytest.mark.parametrize("approval", list(Approval))
@pytest.mark.parametrize("is_held_out", [True, False])
@pytest.mark.parametrize("needs_approval", [True, False])
def test_approval_is_needed_only_for_held_out_phases_of_challenges_that_require_it(
    approval: Approval, *, is_held_out: bool, needs_approval: bool
) -> None:
    team = replace(OAK, needs_approval=needs_approval, approval=approval, approval_reason="no address")
    waits = needs_approval and is_held_out and approval is not Approval.APPROVED

    found = list(scoring_refusals(team, is_held_out=is_held_out))

    assert [each.code for each in found] == ([TeamNotApproved.code] if waits else [])
    assert not list(upload_refusals(team))
    if waits and approval is Approval.REFUSED:
        assert found[0].message.endswith("did not approve the team Oak: no address")


@pytest.mark.parametrize("is_held_out", [True, False])
def test_a_suspended_team_can_neither_upload_nor_score_and_is_told_why(*, is_held_out: bool) -> None:
    for found in (upload_refusals(SUSPENDED), scoring_refusals(SUSPENDED, is_held_out=is_held_out)):
        [refusal] = found
        assert isinstance(refusal, TeamSuspended)
        assert refusal.message == "the team Oak is suspended: two accounts of one person"


def test_all_reasons_against_a_team_are_given_at_once() -> None:
    both = replace(SUSPENDED, needs_approval=True, approval=Approval.WAITING)

    codes = [each.code for each in scoring_refusals(both, is_held_out=True)]
    assert codes == [TeamSuspended.code, TeamNotApproved.code]


def test_a_person_without_a_team_may_upload_score_and_join() -> None:
    assert not list(upload_refusals(None))
    assert not list(scoring_refusals(None, is_held_out=True))
    assert not list(joining_refusals(2, OAK, None))


def test_only_a_sole_member_may_join_another_team_without_leaving_first() -> None:
    assert not list(joining_refusals(2, OAK, ALONE))
    [refusal] = joining_refusals(2, OAK, replace(ALONE, others=1))
    assert (refusal.code, "leave it first" in refusal.message) == (InTeam.code, True)
    [again] = joining_refusals(1, OAK, ALONE)
    assert again.message == "you are already in the team Oak"


def test_a_full_team_cannot_be_joined() -> None:
    [refusal] = joining_refusals(2, OAK, ALONE, full_at=3)
    assert (refusal.code, "at most 3" in refusal.message) == (TeamFull.code, True)
    [again] = joining_refusals(1, OAK, ALONE, full_at=3)
    assert again.code == InTeam.code


def test_a_suspended_team_can_be_neither_joined_nor_left() -> None:
    theirs = replace(ALONE, standing=SUSPENDED)

    for found in (
        joining_refusals(2, SUSPENDED, None),
        joining_refusals(2, OAK, theirs),
        leaving_refusals(theirs),
    ):
        assert [each.code for each in found] == [TeamSuspended.code]


@pytest.mark.parametrize(
    ("is_owner", "other_owners", "others", "may_leave"),
    [
        (True, 0, 0, True),  # the last member: the team ends
        (True, 0, 1, False),
        (True, 1, 1, True),
        (False, 1, 2, True),
    ],
)
def test_the_last_owner_cannot_leave_a_team_with_other_members(
    *, is_owner: bool, other_owners: int, others: int, may_leave: bool
) -> None:
    place = Membership(1, OAK, is_owner=is_owner, other_owners=other_owners, others=others)

    codes = [each.code for each in leaving_refusals(place)]
    assert codes == ([] if may_leave else [LastOwner.code])


@pytest.mark.parametrize(
    ("is_public", "is_organiser", "may"), [(False, False, True), (True, False, False), (True, True, True)]
)
def test_only_organisers_may_rename_a_team_with_public_results(
    *, is_public: bool, is_organiser: bool, may: bool
) -> None:
    found = list(renaming_refusals(OAK, has_public_result=is_public, is_organiser=is_organiser))
    assert (found == []) == may
