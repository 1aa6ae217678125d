"""Groups of methods in the database."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.models import BoardGroups, RunAnalysis


def letters_by_run(session: Session, phase_id: int, competition: int) -> dict[int, str]:
    """The letters of the runs on a board, as far as they have been compared; for those alone who see details."""
    found = session.get(BoardGroups, (phase_id, competition))
    return {int(run): marks for run, marks in found.letters.items()} if found else {}


def version(session: Session, phase_id: int, competition: int) -> str | None:
    """The version of the runs that were compared last."""
    found = session.get(BoardGroups, (phase_id, competition))
    return found.version if found else None


def analysed(session: Session, run_ids: Collection[int]) -> list[int]:
    """Which of these runs have their replicates."""
    return list(session.scalars(select(RunAnalysis.run_id).where(RunAnalysis.run_id.in_(run_ids))))


def replicates(session: Session, run_ids: Collection[int]) -> Iterator[tuple[int, bytes]]:
    """Runs with their replicates, a few at a time."""
    statement = select(RunAnalysis.run_id, RunAnalysis.replicates).where(RunAnalysis.run_id.in_(run_ids))
    rows = session.execute(statement.order_by(RunAnalysis.run_id).execution_options(yield_per=20))
    return ((run, content) for run, content in rows)


def store(
    session: Session, board: tuple[int, int], version: str, letters: Mapping[str, str], as_of: datetime
) -> None:
    """Write the letters of a board (phase, competition) in place of those before, unless these are from later data."""
    values = {"version": version, "letters": dict(letters), "as_of": as_of}
    statement = insert(BoardGroups).values(phase_id=board[0], competition=board[1], **values)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=[BoardGroups.phase_id, BoardGroups.competition],
            set_=values,
            where=BoardGroups.as_of <= as_of,
        )
    )
