"""An organiser's decisions about pairs of similar results."""

import pytest
from sqlalchemy import select

from app.core.access import Actor
from app.core.errors import ForbiddenError, NotFoundError
from app.evaluation import similarity
from app.evaluation.similarity import Dismissal
from app.models import AuditRecord, Phase, SimilarPair
from app.platform import Platform
from tests.system.rows import made, small_board

pytestmark = pytest.mark.system

__all__ = ["small_board"]


def test_only_organisers_of_the_challenge_dismiss_a_pair_and_each_decision_is_recorded(
    small_board: Platform,
) -> None:
    board = made(small_board)
    older, newer = board.result(mean=0.5), board.result(mean=0.5)
    with small_board.transaction() as session:
        challenge_id = session.get_one(Phase, board.phase_id).challenge_id
        pair = SimilarPair(phase_id=board.phase_id, result_id=newer, other_id=older, same_predictions=True)
        session.add(pair)
        session.flush()
        pair_id = pair.id
    organiser = Actor(user_id=board.user_id, organises=frozenset({challenge_id}))
    other_organiser = Actor(user_id=board.user_id, organises=frozenset({challenge_id + 1}))

    for stranger in (other_organiser, Actor(user_id=board.user_id, teams=frozenset({board.team_id}))):
        with pytest.raises(ForbiddenError):
            similarity.pairs(small_board, stranger, board.phase_id)
        with pytest.raises(NotFoundError):
            similarity.dismiss(small_board, stranger, pair_id, Dismissal(reason="not mine"))
    assert [each.id for each in similarity.pairs(small_board, organiser, board.phase_id).pairs] == [pair_id]
    similarity.dismiss(small_board, organiser, pair_id, Dismissal(reason="one baseline"))
    assert similarity.pairs(small_board, organiser, board.phase_id).pairs == ()
    similarity.restore(small_board, organiser, pair_id)

    assert len(similarity.pairs(small_board, organiser, board.phase_id).pairs) == 1
    with small_board.transaction() as session:
        records = select(AuditRecord.action, AuditRecord.reason).where(
            AuditRecord.subject == f"pair {pair_id}"
        )
        assert session.execute(records.order_by(AuditRecord.id)).all() == [
            ("pair.dismiss", "one baseline"),
            ("pair.restore", ""),
        ]
