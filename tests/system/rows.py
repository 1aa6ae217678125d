"""Rows of a small installation written directly into the database, to test what happens between transactions."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.orm import Session

import heldout_scoring
from app.boards import boards
from app.boards.boards import BoardReaders
from app.jobs import queue
from app.models import (
    Board,
    Challenge,
    ClassScore,
    Disclosure,
    GroundTruth,
    Job,
    Method,
    Phase,
    Publication,
    Result,
    Run,
    RunState,
    Submission,
    Upload,
    User,
)
from app.people import teams
from app.people.teams import add_team
from app.platform import Platform
from app.results import recording
from app.results.recording import is_on_board
from app.submissions.methods import name_key
from tests.system.installations import installation
from tests.system.kits import small_kit
from tests.system.servers import OwnServers

COMPETITION = 3

NAMES = count(1)


@dataclass(frozen=True, slots=True)
class Rows:
    """A phase with one board, a team, and a second ground truth that is imported but not on the board yet."""

    platform: Platform
    phase_id: int
    team_id: int
    user_id: int
    truths: tuple[int, int]
    competition: int = COMPETITION
    names: Iterator[int] = field(default_factory=lambda: count(1))

    def result(self, *, mean: float | None = None, is_public: bool = True, team_id: int | None = None) -> int:
        """A result with a queued run or with a score on the board, of this team or of the fixture's."""
        with self.platform.transaction() as session:
            name = f"Method {next(self.names)}"
            method_id = add_method(session, self, name, is_public=is_public, team_id=team_id)
            result_id = add_result(session, self, method_id, team_id=team_id)
        if mean is not None:
            self.score(result_id, mean)
        return result_id

    def newer(self, older: int) -> int:
        """Another result of the same method with a queued run, as possible with open annotation."""
        with self.platform.transaction() as session:
            method_id = session.get_one(Result, older).method_id
            older_ones = update(Result).where(Result.method_id == method_id)
            session.execute(older_ones.values(is_replaceable=True))
            return add_result(session, self, method_id, team_id=None, is_replaceable=True)

    def other_team(self) -> int:
        """A second team, without members."""
        with self.platform.transaction() as session:
            challenge_id = session.get_one(Phase, self.phase_id).challenge_id
            team_id = add_team(session, challenge_id, f"team {next(self.names)}")
            assert team_id is not None
            return team_id

    def run_of(self, result_id: int) -> int:
        """The id of the newest run of a result."""
        with self.platform.transaction() as session:
            return session.scalars(select(func.max(Run.id)).where(Run.result_id == result_id)).one() or 0

    def claim(self, result_id: int) -> None:
        """Claim the newest run of a result as a worker does."""
        with self.platform.transaction() as session:
            run = self.run_of(result_id)
            lease = func.clock_timestamp() + timedelta(minutes=1)
            session.execute(
                update(Job).where(Job.run_id == run).values(attempt=Job.attempt + 1, lease_until=lease)
            )
            session.execute(
                update(Run).where(Run.id == run).values(state=RunState.RUNNING, attempt=Run.attempt + 1)
            )

    def score(self, result_id: int, mean: float) -> None:
        """Record a score for the newest run of a result, as a worker does."""
        with self.platform.transaction() as session:
            score_run(session, result_id, self.run_of(result_id), mean)

    def end(self, run_id: int, state: RunState, mean: float | None = None) -> None:
        """Set the final state of a run."""
        with self.platform.transaction() as session:
            end_run(session, run_id, state, mean)

    def refuse(self, run_id: int) -> None:
        """Record a run as refused, as a worker does."""
        with self.platform.transaction() as session:
            end_run(session, run_id, RunState.REFUSED)
            recording.record_result(session, session.get_one(Run, run_id).result_id, run_id)

    def lock_board(self, session: Session) -> None:
        """Lock the board's row until the end of the transaction."""
        session.get_one(Board, (self.phase_id, self.competition), with_for_update=True)

    def standing(self) -> dict[int, float | None]:
        """The means on the board by result."""
        with self.platform.transaction() as session:
            statement = (
                select(Result.id, ClassScore.value)
                .join(Board, is_on_board())
                .join(ClassScore, ClassScore.run_id == Result.published_run_id)
                .where(Result.phase_id == self.phase_id)
            )
            return dict(session.execute(statement).all())

    def published(self, result_id: int) -> list[int | None]:
        """The runs with which a result was published, in order; None each time it left the board."""
        with self.platform.transaction() as session:
            statement = select(Publication.run_id).where(Publication.result_id == result_id)
            return list(session.scalars(statement.order_by(Publication.id)))

    def somebody_waits_for_a_lock(self) -> bool:
        """Whether a connection to this database is waiting for a lock."""
        with self.platform.transaction() as session:
            waiting = text(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            return bool(session.scalar(waiting))

    def outdated(self) -> list[int]:
        """The results on the board with a score of earlier versions."""
        with self.platform.transaction() as session:
            board = boards.stored_board(session, self.phase_id, self.competition, BoardReaders.ORGANISERS)
            assert board is not None
            standing = recording.current_results(self.phase_id, self.competition)
            rows = boards.select_rows(session, standing, BoardReaders.ORGANISERS)
            old = [row.run_id for row in rows if boards.is_outdated(row.versions, board.versions)]
            return list(session.scalars(select(Run.result_id).where(Run.id.in_(old))))

    def unfinished(self, result_id: int) -> list[tuple[int, int]]:
        """The queued and running runs of a result with their ground truth."""
        with self.platform.transaction() as session:
            statement = select(Run.id, Run.ground_truth_id).where(
                Run.result_id == result_id, Run.state.in_((RunState.QUEUED, RunState.RUNNING))
            )
            return [(run, truth) for run, truth in session.execute(statement.order_by(Run.id))]


@pytest.fixture(scope="module")
def small_board(own_servers: OwnServers) -> Iterator[Platform]:
    """A migrated database for the tests of a module, each of which creates its own rows."""
    with installation(own_servers) as running:
        yield running.platform


def made(platform: Platform) -> Rows:
    """Create a phase, its board and a team."""
    name = f"rows{next(NAMES)}"
    with platform.transaction() as session:
        challenge = Challenge(code=name, title=name, dataset="VOC2012")
        user = User(email=f"{name}@example.org", name=name)
        session.add_all((challenge, user))
        session.flush()
        team_id = teams.own_or_new_team(session, user.id, challenge.id)
        not_offered = {
            str(info.number): "no ground truth"
            for info in heldout_scoring.competitions("VOC2012")
            if info.number != COMPETITION
        }
        phase = Phase(
            challenge_id=challenge.id,
            image_set="test",
            disclosure=Disclosure.FULL,
            protocol="voc2012",
            description_key="none",
            not_offered=not_offered,
            opens_at=func.now(),
        )
        session.add(phase)
        session.flush()
        truths = [
            GroundTruth(
                phase_id=phase.id,
                version=version,
                fingerprint=f"{name} {version}",
                statistics={},
                description_key="none",
                not_offered=not_offered,
                labels=f"{name} {version}",
            )
            for version in (1, 2)
        ]
        session.add_all(truths)
        session.flush()
        session.add(
            Board(
                phase_id=phase.id,
                competition=COMPETITION,
                protocol="voc2012",
                ground_truth_id=truths[0].id,
                scorer=heldout_scoring.SCORER,
            )
        )
        return Rows(platform, phase.id, team_id, user.id, (truths[0].id, truths[1].id))


def described(platform: Platform, folder: Path) -> Rows:
    """The same with a public description of two classes, cat and dog."""
    rows = made(platform)
    description = heldout_scoring.read_tree(small_kit(folder), "test").description
    key = platform.descriptions.put(description.to_json().encode())
    with platform.transaction() as session:
        session.get_one(Phase, rows.phase_id).description_key = key
        of_phase = GroundTruth.phase_id == rows.phase_id
        session.execute(update(GroundTruth).where(of_phase).values(description_key=key))
    return rows


def add_method(session: Session, of: Rows, name: str, *, is_public: bool, team_id: int | None = None) -> int:
    """A method of this team or of the fixture's."""
    method = Method(
        challenge_id=session.get_one(Phase, of.phase_id).challenge_id,
        team_id=team_id or of.team_id,
        name=name,
        name_key=name_key(name),
        public_at=func.now() if is_public else None,
    )
    session.add(method)
    session.flush()
    return method.id


def add_result(
    session: Session, of: Rows, method_id: int, *, team_id: int | None, is_replaceable: bool = False
) -> int:
    """A result of a method with a run queued under the board's versions."""
    upload = Upload(
        phase_id=of.phase_id, team_id=of.team_id, user_id=of.user_id, filename="results.zip", size=1
    )
    upload.id = uuid.uuid4()
    session.add(upload)
    session.flush()
    submission = Submission(
        upload_id=upload.id,
        phase_id=of.phase_id,
        method_id=method_id,
        user_id=of.user_id,
        request_digest=b"",
        training={},
    )
    session.add(submission)
    session.flush()
    result = Result(
        submission_id=submission.id,
        method_id=method_id,
        phase_id=of.phase_id,
        competition=of.competition,
        is_replaceable=is_replaceable,
    )
    session.add(result)
    session.flush()
    board = session.get_one(Board, (of.phase_id, of.competition))
    run = Run(
        result_id=result.id,
        ground_truth_id=board.ground_truth_id,
        protocol=board.protocol,
        scorer=board.scorer,
        team_id=team_id or of.team_id,
    )
    session.add(run)
    session.flush()
    queue.add_runs(session, [run.id])
    return result.id


def score_run(session: Session, result_id: int, run_id: int, mean: float) -> None:
    """Record a score as a worker's last transaction does."""
    end_run(session, run_id, RunState.SCORED, mean)
    recording.record_result(session, result_id, run_id)


def end_run(session: Session, run_id: int, state: RunState, mean: float | None = None) -> None:
    """Set the final state and the mean of a run."""
    session.execute(delete(Job).where(Job.run_id == run_id))
    session.execute(
        update(Run).where(Run.id == run_id).values(state=state, finished_at=func.clock_timestamp())
    )
    if mean is not None:
        session.add(ClassScore(run_id=run_id, position=0, value=mean, held_out_value=mean))
        session.flush()
