"""The groups of a board are updated with its rows."""

from pathlib import Path

import numpy as np
from sqlalchemy import select

from app.boards import comparisons
from app.boards.rows import BoardKey
from app.challenges import challenges
from app.core.access import Actor
from app.jobs import queue
from app.models import BoardGroups, Job, JobKind, Result, RunAnalysis
from app.platform import Platform
from app.results import groups
from app.results.groups import share_group
from heldout_scoring.analysis import Diagnosis, ImageOutcomes
from heldout_scoring.statistics.bootstrap import Draws, Replicates, Setup
from heldout_scoring.stored import to_plain
from tests.system.rows import Rows, described
from tests.working import do_all, handling


def draw(board: Rows, result_id: int, score: float) -> int:
    """Store replicates of a result's run, as its analysis job does; return the run's number."""
    run_id = board.run_of(result_id)
    values = np.full((1, 200), score) + 0.01 * np.sin(np.arange(200) * (1 + 50 * score))
    drawn = Replicates(Setup("detection", "voc2012", "0f"), Draws(9, 200), (), (score,), values)
    counts = np.ones(1, np.int32)
    outcomes = ImageOutcomes(("a",), counts, counts, 0 * counts)
    kept = {
        "replicates": drawn.content,
        "image_outcomes": outcomes.content,
        "diagnosis": to_plain(Diagnosis()),
    }
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


def test_a_board_with_less_than_two_public_methods_awaits_no_comparison(
    platform: Platform, tmp_path: Path
) -> None:
    board = described(platform, tmp_path)
    runs = [draw(board, board.result(mean=mean), mean) for mean in (0.5, 0.9)]

    with platform.transaction() as session:
        awaited = [
            groups.is_awaited(session, board.phase_id, board.competition, runs[:count]) for count in range(3)
        ]

    assert awaited == [False, False, True]


def test_a_corrected_p_is_awaited_until_all_methods_of_the_board_have_been_compared(
    platform: Platform, tmp_path: Path
) -> None:
    board = described(platform, tmp_path)
    results = [board.result(mean=mean) for mean in (0.5, 0.501, 0.9)]
    for result, score in zip(results[:2], (0.5, 0.501), strict=True):
        draw(board, result, score)
    deliver(platform)
    with platform.transaction() as session:
        methods = [session.get_one(Result, result).method_id for result in results[1:]]
        phase = challenges.phase_of_id(session, board.phase_id)
    assert phase is not None
    key = BoardKey(phase.challenge, phase.image_set, board.competition)
    draw(board, results[2], 0.9)

    def compared() -> tuple[float | None, bool]:
        found = comparisons.comparison(platform, Actor(), key, methods)
        assert found.statistics is not None
        [pair] = found.statistics.pairs
        return pair.difference.holm, found.is_computed

    assert compared() == (None, False)
    deliver(platform)
    corrected, is_computed = compared()
    assert corrected is not None
    assert corrected < 0.05
    assert is_computed
