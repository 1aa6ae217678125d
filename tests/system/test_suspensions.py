"""What happens to the public results of a suspended team and to its name on boards."""

from typing import Any

import pytest

from app.boards import boards, team_views
from app.boards.boards import BoardReaders
from app.core.access import Actor
from app.core.errors import NotFoundError, RefusedError
from app.models import Phase, Role
from app.organising import approvals
from app.organising.approvals import Suspension, TeamRefusal
from app.people import teams as memberships
from app.people.teams import TeamChange
from app.platform import Platform
from app.results import recording, submissions
from tests.system.rows import Rows, made, small_board

__all__ = ["small_board"]

pytestmark = pytest.mark.system

NOBODY = Actor()


@pytest.fixture
def board(small_board: Platform) -> Rows:
    return made(small_board)


def admin(board: Rows) -> Actor:
    return Actor(user_id=board.user_id, role=Role.ADMIN, has_second_factor=True)


def shown(board: Rows, audience: BoardReaders = BoardReaders.PUBLIC) -> list[tuple[str, bool]]:
    """The teams on the board and whether they are marked as suspended."""
    with board.platform.transaction() as session:
        rows = boards.select_rows(
            session, recording.current_results(board.phase_id, board.competition), audience
        )
        return [(row.team.name, row.team.is_suspended) for row in rows]


def version(board: Rows) -> Any:
    with board.platform.transaction() as session:
        return boards.board_version(session, board.phase_id, board.competition)


def submission_is_public(board: Rows) -> bool:
    with board.platform.transaction() as session:
        rows = boards.select_rows(
            session, recording.current_results(board.phase_id, board.competition), BoardReaders.ORGANISERS
        )
        return submissions.submission_of(session, NOBODY, rows[0].submission_id) is not None


def test_an_organiser_says_whether_results_of_a_suspended_team_are_marked_or_hidden(board: Rows) -> None:
    board.result(mean=0.5)
    [(name, _)] = shown(board)
    before = version(board)

    approvals.suspend(board.platform, admin(board), board.team_id, Suspension(reason="two accounts"))
    assert shown(board) == [(name, True)]
    marked = version(board)
    assert marked != before
    assert team_views.team_page(board.platform, NOBODY, board.team_id).is_suspended

    hiding = Suspension(reason="two accounts", hides_results=True)
    approvals.suspend(board.platform, admin(board), board.team_id, hiding)
    assert shown(board) == []
    assert shown(board, BoardReaders.ORGANISERS) == [(name, True)]
    assert version(board) != marked
    assert not submission_is_public(board)
    with pytest.raises(NotFoundError):
        team_views.team_page(board.platform, NOBODY, board.team_id)

    approvals.lift(board.platform, admin(board), board.team_id, TeamRefusal(reason="explained"))
    assert shown(board) == [(name, False)]
    assert submission_is_public(board)


@pytest.mark.sampled
def test_only_organisers_rename_a_team_with_public_results(board: Rows) -> None:
    owner = Actor(user_id=board.user_id, teams=frozenset({board.team_id}))
    memberships.change(board.platform, owner, board.team_id, TeamChange(name=f"Before {board.team_id}"))
    board.result(mean=0.5)
    before = version(board)

    with pytest.raises(RefusedError, match="has public results under this name"):
        memberships.change(board.platform, owner, board.team_id, TeamChange(name="After"))
    change = TeamChange(name=f"After {board.team_id}", reason="the company has another name")
    memberships.change(board.platform, admin(board), board.team_id, change)

    assert shown(board) == [(f"After {board.team_id}", False)]
    assert version(board) != before


def test_strangers_see_public_results_and_members_who_agreed_to_be_named(board: Rows) -> None:
    board.result(mean=0.5)
    board.result(mean=0.7, is_public=False)
    owner = Actor(user_id=board.user_id, teams=frozenset({board.team_id}))

    seen = team_views.team_page(board.platform, NOBODY, board.team_id)
    assert ([row.mean for row in seen.results], seen.members) == ([0.5], ())
    memberships.set_listed_publicly(board.platform, owner, board.team_id, is_named=True)
    assert len(team_views.team_page(board.platform, NOBODY, board.team_id).members) == 1
    assert len(team_views.team_page(board.platform, owner, board.team_id).results) == 2


def test_a_team_with_results_survives_its_last_member(board: Rows) -> None:
    board.result(mean=0.5)
    owner = Actor(user_id=board.user_id, teams=frozenset({board.team_id}))

    memberships.leave(board.platform, owner, board.team_id)

    assert len(shown(board)) == 1
    with board.platform.transaction() as session:
        challenge_id = session.get_one(Phase, board.phase_id).challenge_id
        assert memberships.own_or_new_team(session, board.user_id, challenge_id) != board.team_id
