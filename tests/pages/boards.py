"""Scored boards written straight into the database."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from sqlalchemy import func, select, update

import heldout_scoring
from app.intake.importing import TreeImport, import_tree
from app.models import (
    ClassScore,
    Disclosure,
    Exhibit,
    GroundTruth,
    Method,
    Phase,
    Quota,
    Result,
    ResultState,
    Run,
    RunState,
    Submission,
    User,
)
from app.people import teams
from app.platform import Platform
from app.results import groups, recording
from app.results.recording import take_off_board
from heldout_scoring.scores import DIFFICULT_INCLUDED
from heldout_scoring.stored import to_plain
from tests.system.kits import small_kit
from tests.system.rows import Rows, add_method, add_result, end_run
from tests.system.servers import plain

DIGITS = 0.000321  # beyond the three decimals of a held-out phase


@dataclass(frozen=True, slots=True)
class ScoredMethod:
    """The scores of a method for cat and dog; a class without a value was not entered."""

    name: str
    cat: float | None
    dog: float | None
    is_baseline: bool = False
    other_data: str = ""

    @property
    def mean(self) -> float | None:
        """The mean of both classes."""
        return None if self.cat is None or self.dog is None else round((self.cat + self.dog) / 2, 9)


SCORED = (
    ScoredMethod("=cmd", 0.8 + DIGITS, 0.4 + DIGITS, other_data="ImageNet"),
    ScoredMethod("Beech_50%", 0.6 + DIGITS, 0.6 + DIGITS),
    ScoredMethod("Chance", 0.1 + DIGITS, 0.7 + DIGITS, is_baseline=True),
    ScoredMethod("Half", 0.9 + DIGITS, None),
)


def board_of(platform: Platform, folder: Path, challenge: str, disclosure: Disclosure) -> Rows:
    """A challenge of the small kit with these results on its board of competition 4."""
    imported = TreeImport(small_kit(folder), challenge, "test", disclosure=disclosure, quotas=(Quota(9, 7),))
    import_tree(platform, imported)
    with platform.transaction() as session:
        phase = session.scalars(select(Phase).order_by(Phase.id.desc()).limit(1)).one()
        user = User(email=f"{challenge}@example.org", name=challenge)
        session.add(user)
        session.flush()
        team = teams.own_or_new_team(session, user.id, phase.challenge_id)
        truth = session.scalars(select(GroundTruth.id).where(GroundTruth.phase_id == phase.id)).one()
        rows = Rows(platform, phase.id, team, user.id, (truth, truth), competition=4)
    for method in SCORED:
        add_scored(rows, method)
    return rows


def add_scored(rows: Rows, method_scores: ScoredMethod) -> int:
    """Add a public method with a score; return its result."""
    with rows.platform.transaction() as session:
        method = add_method(session, rows, method_scores.name, is_public=True)
        session.execute(
            update(Method).where(Method.id == method).values(is_baseline=method_scores.is_baseline)
        )
        result = add_result(session, rows, method, team_id=None)
        training = {"given_data_only": not method_scores.other_data, "other_data": method_scores.other_data}
        submission = session.get_one(Result, result).submission_id
        session.execute(update(Submission).where(Submission.id == submission).values(training=training))
    run = rows.run_of(result)
    values = {None: method_scores.mean, "cat": method_scores.cat, "dog": method_scores.dog}
    with rows.platform.transaction() as session:
        end_run(session, run, RunState.SCORED)
        session.get_one(Run, run).measure = "AP"
        session.add_all(
            ClassScore(
                run_id=run,
                position=place,
                class_name=name,
                value=value,
                held_out_value=value,
                reason=None if value is not None else "not entered: dog",
                low=value and value - 0.05,
                high=value and min(value + 0.05, 1.0),
            )
            for place, (name, value) in enumerate(values.items())
        )
        table = heldout_scoring.ScoreTable(
            f"AP, {DIFFICULT_INCLUDED}", (("cat", 0.25), ("dog", 0.75), ("mean", 0.5))
        )
        session.add(Exhibit(run_id=run, position=1, kind=table.kind, content=to_plain(table)))
        session.flush()
        recording.record_result(session, result, run)
    return result


def publish_at(rows: Rows, moment: datetime) -> None:
    """Backdate the publication of everything on this board."""
    owner = plain(str(rows.platform.settings.migration_database_url))
    with psycopg.connect(owner, autocommit=True) as connection:  # the web server itself can only append
        connection.execute(
            "UPDATE publication SET published_at = %s WHERE phase_id = %s", (moment, rows.phase_id)
        )
    with rows.platform.transaction() as session:
        session.execute(update(Method).where(Method.team_id == rows.team_id).values(public_at=moment))


def withdraw(rows: Rows, result_id: int) -> None:
    """Take a result off its board."""
    with rows.platform.transaction() as session:
        result = session.get_one(Result, result_id)
        take_off_board(session, result)
        result.state, result.withdrawn_at = ResultState.WITHDRAWN, func.now()
    rows.platform.cache.expire_versions()


def group(rows: Rows, letters: dict[str, str]) -> None:
    """Store the group letters of a board's methods, by name."""
    with rows.platform.transaction() as session:
        statement = select(Method.name, Result.published_run_id).join(Method, Result.method_id == Method.id)
        runs = dict(session.execute(statement.where(Result.phase_id == rows.phase_id)).all())
        found = {str(runs[name]): marks for name, marks in letters.items()}
        groups.store(session, (rows.phase_id, rows.competition), "1", {"letters": found}, datetime.now(UTC))
    rows.platform.cache.expire_versions()
