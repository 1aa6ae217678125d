"""The groups of a board are updated with its rows."""

from pathlib import Path

import numpy as np
from sqlalchemy import select

from app.jobs import queue
from app.models import BoardGroups, Job, JobKind, RunAnalysis
from app.platform import Platform
from app.results import groups
from app.results.groups import share_group
from heldout_scoring.statistics.bootstrap import Draws, Replicates, Setup
from tests.system.rows import Rows, described
from tests.working import do_all, handling


def draw(board: Rows, result_id: int, score: float) -> int:
    """Store replicates of a result's run, as its analysis job does; return the run's number."""
    run_id = board.run_of(result_id)
    values = np.full((1, 200), score) + 0.01 * np.sin(np.arange(200) * (1 + 50 * score))
    drawn = Replicates(Setup("detection", "voc2012", "0f"), Draws(9, 200), (), (score,), values)
    kept = {"replicates": drawn.content, "image_outcomes": b"", "diagnosis": {}}
    with board.platform.transaction() as session:
        session.add(RunAnalysis(run_id=run_id, **kept))
        queue.add_board(session, board.phase_id, board.competition)
    return run_id


def deliver(platform: Platform) -> None:
    do_all(platform, handlers=handling(JobKind.INTERVALS, lambda *_: None))


def letters(board: Rows) -> dict[int, str]:
    with board.platform.transaction() as session:
        return groups.letters_by_run(session, board.phase_id, board.competition)


def test_public_methods_get_letters_once_their_replicates_are_stored(
    platform: Platform, tmp_path: Path
) -> None:
    board = described(platform, tmp_path)
    near, nearer, far = (board.result(mean=mean) for mean in (0.5, 0.501, 0.9))
    hidden = board.result(mean=0.7, is_public=False)
    deliver(platform)
    assert letters(board) == {}

    runs = [
        draw(board, result, score)
        for result, score in ((near, 0.5), (nearer, 0.501), (far, 0.9), (hidden, 0.7))
    ]
    deliver(platform)

    found = letters(board)
    assert found.keys() == set(runs[:3])
    assert share_group(found[runs[0]], found[runs[1]])
    assert not share_group(found[runs[1]], found[runs[2]])


def test_groups_of_the_same_runs_are_not_computed_twice(platform: Platform, tmp_path: Path) -> None:
    board = described(platform, tmp_path)
    results = [board.result(mean=mean) for mean in (0.5, 0.9)]
    for result, score in zip(results, (0.5, 0.9), strict=True):
        draw(board, result, score)
    deliver(platform)
    with platform.transaction() as session:
        before = session.get_one(BoardGroups, (board.phase_id, board.competition)).as_of
        queue.add_board(session, board.phase_id, board.competition)

    deliver(platform)

    with platform.transaction() as session:
        assert session.get_one(BoardGroups, (board.phase_id, board.competition)).as_of == before
        assert (
            session.scalars(select(Job.error).where(Job.kind == JobKind.BOARD, Job.error.is_not(None))).all()
            == []
        )
