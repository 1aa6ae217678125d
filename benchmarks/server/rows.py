"""A history of any length, written by the database itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Integer,
    Text,
    Uuid,
    case,
    cast,
    func,
    insert,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.orm import Session

import heldout_scoring
from app.jobs import queue
from app.models import (
    Base,
    Board,
    Challenge,
    ClassScore,
    GroundTruth,
    Member,
    Method,
    Phase,
    Result,
    Run,
    RunState,
    Submission,
    Team,
    Upload,
    UploadState,
    User,
)
from app.results import recording
from tests.system.installations import STATEMENT

YEAR: Final = 365 * 86_400.0  # seconds over which results are spread
TEAM_SIZE: Final = 50  # results


@dataclass(frozen=True, slots=True)
class Place:
    """A phase to fill, with the competitions whose boards get results in turn."""

    challenge_id: int
    phase_id: int
    truth_id: int
    protocol: str
    competitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """Rows that belong together have the same number in every table, from `first` on; so have teams from `team` on."""

    first: int
    count: int
    team: int


def place_of(session: Session, challenge: str, image_set: str = "test") -> Place:
    """A phase of a challenge."""
    of_challenge = select(Phase).join(Challenge).where(Challenge.code == challenge)
    phase = session.scalars(of_challenge.where(Phase.image_set == image_set)).one()
    truth = session.scalars(select(GroundTruth.id).where(GroundTruth.phase_id == phase.id)).one()
    boards = select(Board.competition).where(Board.phase_id == phase.id).order_by(Board.competition)
    competitions = tuple(session.scalars(boards))
    return Place(phase.challenge_id, phase.id, truth, phase.protocol, competitions)


def add_boards(session: Session, place: Place, competitions: Sequence[int]) -> None:
    """Boards for further competitions, though the ground truth has nothing for them."""
    for competition in set(competitions) - set(place.competitions):
        session.add(
            Board(
                phase_id=place.phase_id,
                competition=competition,
                protocol=place.protocol,
                ground_truth_id=place.truth_id,
                scorer=heldout_scoring.SCORER,
            )
        )
    session.flush()


def add_scored(
    session: Session, place: Place, count: int, *, classes: Sequence[str], competition: int | None = None
) -> Results:
    """Public results that are scored and published: each of a method of its own, by its board or by turns on all of them."""
    found = _add_results(session, place, count, competition)
    number = _numbers(count)
    sent = _sent(number, count)
    _insert(
        session,
        Run,
        **_run(place, found, number),
        state=literal(RunState.SCORED, Run.state.type),
        attempt=literal(1),
        queued_at=sent,
        claimed_at=sent,
        finished_at=sent + func.make_interval(0, 0, 0, 0, 0, 0, 2.0),
        measure=literal("AP"),
    )
    for position, name in enumerate((None, *classes)):
        value = _value(number, position)
        _insert(
            session,
            ClassScore,
            run_id=number + found.first,
            class_name=cast(name, Text),
            position=literal(position),
            value=value,
            held_out_value=value,
            positives=literal(100),
            predictions=literal(1000),
        )
    recording.publish(session, Run.id.between(found.first, found.first + count - 1))
    _catch_up(session)
    return found


def add_queued(session: Session, place: Place, count: int) -> Results:
    """Results that wait for a worker, their teams by turns."""
    found = _add_results(session, place, count, None)
    number = _numbers(count)
    _insert(session, Run, **_run(place, found, number))
    queue.add_runs(session, range(found.first, found.first + count))
    _catch_up(session)
    return found


def give_to(session: Session, found: Results, team_id: int, count: int) -> None:
    """Let the first of some results be those of another team."""
    which = range(found.first, found.first + count)
    session.execute(update(Method).where(Method.id.in_(which)).values(team_id=team_id))
    session.execute(update(Run).where(Run.id.in_(which)).values(team_id=team_id))


def join_submissions(session: Session, found: Results) -> None:
    """Let some results, each of another competition, be those of one method and submission."""
    which = Result.id.between(found.first, found.first + found.count - 1)
    session.execute(update(Result).where(which).values(submission_id=found.first, method_id=found.first))


def _numbers(count: int) -> Column[int]:
    """From 0, as a column of a statement."""
    return cast(func.generate_series(0, count - 1).column_valued("number"), BigInteger)  # type: ignore[return-value]


def _teams(count: int) -> int:
    return max(10, count // TEAM_SIZE)


def _add_results(session: Session, place: Place, count: int, competition: int | None) -> Results:
    """Teams of one person each, and as many methods, uploads, submissions and pending results as there shall be results."""
    session.execute(text("SET LOCAL statement_timeout = 0"))
    latest = [
        select(func.max(model.id)).scalar_subquery()
        for model in (User, Team, Method, Submission, Result, Run)
    ]
    first = 1 + (session.scalar(select(func.greatest(*latest))) or 0)
    found, teams = Results(first, count, first), _teams(count)
    number = _numbers(teams)
    name = _named("Team ", number + first)
    address = func.concat("history", number + first, "@example.org")
    _insert(session, User, id=number + first, email=address, name=name, verified_at=func.now())
    _insert(
        session,
        Team,
        id=number + first,
        challenge_id=literal(place.challenge_id),
        name=name,
        name_key=func.lower(name),
    )
    challenge = literal(place.challenge_id)
    _insert(
        session,
        Member,
        team_id=number + first,
        user_id=number + first,
        challenge_id=challenge,
        is_owner=literal(True),
    )
    _add_submissions(session, place, found)
    number = _numbers(count)
    board = literal(competition) if competition else _by_turns(number, place.competitions)
    _insert(
        session,
        Result,
        **_ids(found, number, "id", "submission_id", "method_id"),
        phase_id=literal(place.phase_id),
        competition=board,
    )
    return found


def _add_submissions(session: Session, place: Place, found: Results) -> None:
    number = _numbers(found.count)
    team, phase = found.team + number % _teams(found.count), literal(place.phase_id)
    sent, upload = _sent(number, found.count), cast(func.md5(cast(number + found.first, Text)), Uuid)
    name = _named("Method ", number + found.first)
    _insert(
        session,
        Method,
        id=number + found.first,
        challenge_id=literal(place.challenge_id),
        team_id=team,
        name=name,
        name_key=func.lower(name),
        title=literal("A title of the usual length, as papers have them"),
        description=literal("Features of the whole image, and one linear classifier for each class. " * 8),
        public_at=sent,
        created_at=sent,
    )
    _insert(
        session,
        Upload,
        id=upload,
        phase_id=phase,
        team_id=team,
        user_id=team,
        filename=literal("results.tar.gz"),
        size=literal(2_000_000),
        received=literal(2_000_000),
        sha256=func.md5(cast(number, Text)),
        state=literal(UploadState.CHECKED, Upload.state.type),
        valid=literal(True),
        report=cast({"competitions": []}, Upload.report.type),
        started_at=sent,
        received_at=sent,
        checked_at=sent,
    )
    _insert(
        session,
        Submission,
        **_ids(found, number, "id", "method_id"),
        upload_id=upload,
        phase_id=phase,
        user_id=team,
        request_digest=literal(b""),
        training=cast(STATEMENT, Submission.training.type),
        created_at=sent,
    )


def _run(place: Place, found: Results, number: Column[int]) -> dict[str, ColumnElement[Any]]:
    return {
        **_ids(found, number, "id", "result_id"),
        "ground_truth_id": literal(place.truth_id),
        "protocol": literal(place.protocol),
        "scorer": literal(heldout_scoring.SCORER),
        "team_id": found.team + number % _teams(found.count),
    }


def _ids(found: Results, number: Column[int], *names: str) -> dict[str, ColumnElement[int]]:
    return dict.fromkeys(names, number + found.first)


def _named(what: str, number: ColumnElement[int]) -> ColumnElement[str]:
    return func.concat(what, number)


def _by_turns(number: Column[int], competitions: Sequence[int]) -> ColumnElement[int]:
    return case(
        *((number % len(competitions) == place, each) for place, each in enumerate(competitions)),
        else_=competitions[0],
    )


def _sent(number: Column[int], count: int) -> ColumnElement[Any]:
    """One after the other through the last year."""
    return func.now() - func.make_interval(0, 0, 0, 0, 0, 0, (count - number) * (YEAR / (count + 1)))


def _value(number: Column[int], position: int) -> ColumnElement[Any]:
    """A score in [0, 1) that looks drawn, and is the same in every run."""
    return func.abs(func.hashint4(cast(number * 31 + position, Integer))) % 9973 / 9973.0


def _insert(session: Session, model: type[Base], **columns: ColumnElement[Any]) -> None:
    session.execute(insert(model).from_select(list(columns), select(*columns.values())))


def _catch_up(session: Session) -> None:
    """Let ids go on after those that were chosen here, and forget what should follow from these results."""
    for model in (User, Team, Method, Submission, Result, Run):
        table = model.__tablename__
        session.execute(
            text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))")
        )
    session.execute(text("DELETE FROM job"))
