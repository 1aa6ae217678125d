"""Groups of methods on a board whose scores do not differ significantly."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.jobs import sandbox
from app.jobs.sandbox import ChildLimits, run_in_subprocess
from app.models import BoardGroups, Job, JobKind, RunAnalysis
from app.platform import Platform
from heldout_scoring import HolmFamily, Replicates
from heldout_scoring.stored import from_plain

MOST_RUNS: Final = 1000  # compared in pairs, the best of a board
TEST: Final = "paired bootstrap, Holm"
_LETTER = re.compile(r"[A-Za-z][0-9]*")


def letters_of(marks: str) -> frozenset[str]:
    """Return the single letters of a method's marks; a digit belongs to the letter before it.

    >>> sorted(letters_of("abz2"))
    ['a', 'b', 'z2']
    """
    return frozenset(_LETTER.findall(marks))


def share_group(marks: str, others: str) -> bool:
    """Whether two methods with these marks do not differ significantly. A method without marks was not compared.

    >>> share_group("ab", "bc"), share_group("a", "a2"), share_group("", "")
    (True, False, False)
    """
    return not letters_of(marks).isdisjoint(letters_of(others))


def version_of(run_ids: Iterable[int]) -> str:
    """Return the version of a comparison from its test and its runs, which never change."""
    return sha256(f"{TEST} {sorted(run_ids)!r}".encode()).hexdigest()[:16]


def letters_by_run(session: Session, phase_id: int, competition: int) -> dict[int, str]:
    """Return the letters of a board's compared runs. Only for readers who see details."""
    found = session.get(BoardGroups, (phase_id, competition))
    return {int(run): marks for run, marks in found.letters.items()} if found else {}


@dataclass(frozen=True, slots=True)
class BoardFamily:
    """The tests of all pairs of a board's methods. version: of the runs that were compared."""

    version: str
    family: HolmFamily


def family_of(session: Session, phase_id: int, competition: int) -> BoardFamily | None:
    """Return the tests of all pairs of a board, None if its methods have not been compared. Only for readers who see details."""
    found = session.get(BoardGroups, (phase_id, competition))
    if found is None or not found.family.get("tests"):
        return None
    return BoardFamily(found.version, from_plain(HolmFamily, found.family))


def stored_version(session: Session, phase_id: int, competition: int) -> str | None:
    """Return the version of the last comparison."""
    found = session.get(BoardGroups, (phase_id, competition))
    return found.version if found else None


def is_awaited(session: Session, phase_id: int, competition: int, run_ids: Collection[int]) -> bool:
    """Whether a comparison of these runs, the public ones on a board, is still to come: the last one was of others.

    A board that was never compared and has fewer than two such runs awaits none.
    """
    analysed = analysed_runs(session, run_ids)
    stored = stored_version(session, phase_id, competition)
    if stored != version_of(analysed) and (stored or len(analysed) > 1):
        return True
    others = set(run_ids) - set(analysed)
    queued = select(Job.payload["run_id"].as_integer()).where(
        Job.kind == JobKind.INTERVALS, Job.dead_at.is_(None)
    )
    return bool(others) and not others.isdisjoint(session.scalars(queued))


def analysed_runs(session: Session, run_ids: Collection[int]) -> list[int]:
    """Return those of these runs that have replicates."""
    return list(session.scalars(select(RunAnalysis.run_id).where(RunAnalysis.run_id.in_(run_ids))))


def replicates(session: Session, run_ids: Collection[int]) -> Iterator[tuple[int, bytes]]:
    """Iterate over runs with their replicates, a few at a time."""
    statement = select(RunAnalysis.run_id, RunAnalysis.replicates).where(RunAnalysis.run_id.in_(run_ids))
    rows = session.execute(statement.order_by(RunAnalysis.run_id).execution_options(yield_per=20))
    return ((run, content) for run, content in rows)


def store(
    session: Session, board: tuple[int, int], version: str, compared: Mapping[str, Any], as_of: datetime
) -> None:
    """Store the comparison of a board (phase, competition), see `sandbox.groups`, unless the stored one is from later data."""
    values = {"version": version, "letters": {}, "family": {}, **compared, "as_of": as_of}
    statement = insert(BoardGroups).values(phase_id=board[0], competition=board[1], **values)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=[BoardGroups.phase_id, BoardGroups.competition],
            set_=values,
            where=BoardGroups.as_of <= as_of,
        )
    )


def compute(platform: Platform, board: tuple[int, int], run_ids: Sequence[int], as_of: datetime) -> None:
    """Compare all pairs of the runs on a board (phase, competition), read at `as_of`, and store it.

    Does nothing if the same runs have been compared; runs without replicates follow once they have them. Raises the errors of
    storage and the child process.
    """
    with platform.transaction() as session:
        analysed = analysed_runs(session, run_ids)
        version = version_of(analysed)
        if stored_version(session, *board) == version:
            return
    compared = _compare(platform, analysed) if len(analysed) > 1 else {}
    with platform.transaction() as session:
        store(session, board, version, compared, as_of)


def _compare(platform: Platform, run_ids: Sequence[int]) -> dict[str, Any]:
    with platform.transaction() as session:
        drawn = [
            (run, headline_of(Replicates.of_bytes(content))) for run, content in replicates(session, run_ids)
        ]
    drawn.sort(key=lambda each: -(each[1].scores[-1] or 0.0))
    headlines = tuple((run, each.content) for run, each in drawn[:MOST_RUNS])
    settings = platform.settings
    limits = ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory, nice=10)
    compared: dict[str, Any] = json.loads(run_in_subprocess(limits, sandbox.groups, headlines))
    return compared


def headline_of(drawn: Replicates) -> Replicates:
    """Reduce replicates to the headline's, keeping the names of the classes: those of other classes are not paired."""
    return replace(drawn, scores=drawn.scores[-1:], values=drawn.values[-1:])
