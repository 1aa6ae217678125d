"""The limits of a team's share of the server, whichever member asks."""

import uuid
from dataclasses import replace

import pytest

from app.core.errors import StoredBytesError
from app.models import Upload, UploadState, User
from app.platform import Platform
from app.submissions import checking, retention
from tests.system.rows import Rows, made, small_board

pytestmark = pytest.mark.system

__all__ = ["small_board"]

MiB = 1 << 20


@pytest.fixture
def board(small_board: Platform) -> Rows:
    return made(small_board)


def person(board: Rows) -> int:
    with board.platform.transaction() as session:
        user = User(email=f"{uuid.uuid4()}@example.org", name="somebody")
        session.add(user)
        session.flush()
        return user.id


def received(board: Rows, user_id: int, team_id: int) -> uuid.UUID:
    """An archive of 1 MiB waiting to be checked."""
    with board.platform.transaction() as session:
        upload = Upload(phase_id=board.phase_id, team_id=team_id, user_id=user_id, filename="results.zip")
        upload.id, upload.size, upload.received = uuid.uuid4(), MiB, MiB
        upload.state, upload.sha256 = UploadState.RECEIVED, "0" * 64
        session.add(upload)
        return upload.id


def claimed(board: Rows, upload_id: uuid.UUID) -> bool:
    owner = checking.owner_of(board.platform, upload_id)
    assert owner is not None
    return checking.claim(board.platform, upload_id, owner)


def test_a_team_has_one_check_at_a_time_without_delaying_other_teams(board: Rows) -> None:
    other = board.other_team()
    first = received(board, board.user_id, board.team_id)
    colleague = received(board, person(board), board.team_id)
    stranger = received(board, person(board), other)
    same_person = received(board, board.user_id, other)

    assert [claimed(board, each) for each in (first, colleague, stranger, same_person)] == [
        True,
        False,
        True,
        False,
    ]
    checking.release(board.platform, first)
    assert claimed(board, colleague)


def test_the_uploads_of_a_team_share_its_storage_limit(board: Rows) -> None:
    settings = board.platform.settings.model_copy(update={"max_stored_team": 3 * MiB})
    platform = replace(board.platform, settings=settings)
    for user_id in (board.user_id, person(board)):
        received(board, user_id, board.team_id)
    newcomer = person(board)

    with platform.transaction() as session:
        retention.check_storage_quota(platform, session, newcomer, board.team_id, MiB)
        with pytest.raises(
            StoredBytesError, match="Your team's 2 uploads that are not submitted take 2 of 3 MiB"
        ):
            retention.check_storage_quota(platform, session, newcomer, board.team_id, MiB + 1)
