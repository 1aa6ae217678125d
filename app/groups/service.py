"""Computing which methods of a board cannot be told apart."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from app import children
from app.groups import queries
from app.groups.rules import MOST_RUNS, version_of
from app.platform import Platform
from app.sandbox import ChildLimits, run_in_subprocess
from scoring import Replicates
from scoring.statistics.kept_replicates import pack_replicates, read_replicates


def compute(platform: Platform, board: tuple[int, int], run_ids: Sequence[int], as_of: datetime) -> None:
    """Compute and store the letters of the runs on a board (phase, competition), read at `as_of`.

    Nothing is done if the same runs were compared already; a run without replicates follows when it has them. Raises
    whatever keeps storage or the child process from working.
    """
    with platform.transaction() as session:
        analysed = queries.analysed(session, run_ids)
        version = version_of(analysed)
        if queries.version(session, *board) == version:
            return
    letters = _compare(platform, analysed) if len(analysed) > 1 else {}
    with platform.transaction() as session:
        queries.store(session, board, version, letters, as_of)


def _compare(platform: Platform, run_ids: Sequence[int]) -> dict[str, str]:
    with platform.transaction() as session:
        drawn = [
            (run, headline_of(read_replicates(content)))
            for run, content in queries.replicates(session, run_ids)
        ]
    drawn.sort(key=lambda each: -(each[1].scores[-1] or 0.0))
    headlines = tuple((run, pack_replicates(each)) for run, each in drawn[:MOST_RUNS])
    settings = platform.settings
    limits = ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory, nice=10)
    letters: dict[str, str] = json.loads(run_in_subprocess(limits, children.groups, headlines))
    return letters


def headline_of(drawn: Replicates) -> Replicates:
    """The replicates of the headline alone, but with the names of the classes: those of other classes are not paired."""
    return replace(drawn, scores=drawn.scores[-1:], values=drawn.values[-1:])
