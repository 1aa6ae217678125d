"""The dates of the sample: what was submitted and scored a moment ago is told as if it had happened over five weeks."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from types import MappingProxyType
from typing import Final

from sqlalchemy import create_engine, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session, contains_eager

import sample
from app.challenges import challenges
from app.core.access import TRIED
from app.jobs import queue
from app.models import (
    Announcement,
    AuditRecord,
    Board,
    Challenge,
    DataFile,
    GroundTruth,
    Member,
    Method,
    Phase,
    Publication,
    PublishedAnswer,
    Quota,
    Result,
    Run,
    Submission,
    Team,
    Thread,
    ThreadMessage,
    Upload,
)
from app.operations.setup import SAMPLE_CHALLENGE
from app.platform import Platform
from sample import texts

# days before the first start at which the phases opened, and after it at which they close
OPENED: Final[Mapping[str, float]] = MappingProxyType({"pilot": 36.0, "val": 36.0, "test": 15.0})
CLOSES: Final[Mapping[str, float]] = MappingProxyType({"pilot": -16.0, "test": 9.0})
QUOTAS: Final = (Quota(3, 7), Quota(30, None))


def submitted_days_ago(method: sample.Method, image_set: str) -> float | None:
    """Return how many days before the first start a method was submitted to a phase; None if it was not.

    To the test set older methods came in the week after it opened, in their order.
    """
    match image_set:
        case "test":
            return min(method.days, 9.0 + method.days / 6)
        case "pilot":
            return method.days if method.days > -CLOSES["pilot"] else None
    return method.days


def take_back_in_time(platform: Platform) -> None:
    """Give everything in the sample the date at which it is told to have happened, and the phases their dates and quotas.

    Of publications only the owner of the tables can change the dates; scores stay as they are.
    """
    settings = platform.settings
    engine = create_engine(
        settings.migration_database_url or str(settings.database_url), hide_parameters=True
    )
    try:
        with Session(engine) as session, session.begin():
            _take_back(session)
    finally:
        engine.dispose()
    platform.cache.expire_versions()
    platform.notifier.wake_workers()


def _take_back(session: Session) -> None:
    start = challenges.now(session)
    challenge = challenges.find_challenge(session, SAMPLE_CHALLENGE)
    row = session.get_one(Challenge, challenge.id)
    row.created_at = start - timedelta(days=max(OPENED.values()))
    phases = session.scalars(select(Phase).where(Phase.challenge_id == challenge.id)).all()
    for phase in phases:
        _date_phase(session, phase, start)
    days = {each.name: each for each in sample.METHODS}
    submissions = (
        select(Submission)
        .join(Submission.method)
        .join(Submission.phase)
        .where(Phase.challenge_id == challenge.id)
        .options(contains_eager(Submission.method), contains_eager(Submission.phase))
    )
    for each in session.scalars(submissions).all():
        method = days.get(each.method.name)
        ago = submitted_days_ago(method, each.phase.image_set) if method else None
        if ago is not None:
            _date_submission(session, each, start - timedelta(days=ago))
    for team in session.scalars(select(Team).where(Team.challenge_id == challenge.id)):
        first = session.scalar(select(func.min(Method.created_at)).where(Method.team_id == team.id))
        team.created_at = first or team.created_at
        session.execute(update(Member).where(Member.team_id == team.id).values(joined_at=team.created_at))
    _date_texts(session, challenge.id, start)
    session.flush()
    _date_records(session, row)
    queue.add_boards(session, Result.phase_id.in_([each.id for each in phases]))


def _date_records(session: Session, challenge: Challenge) -> None:
    """Date what the audit log tells of the challenge, and put its records in the order of their dates."""
    people = select(Member.user_id).where(Member.challenge_id == challenge.id)
    dated = (
        ("team", Team.challenge_id, Team.id, Team.created_at),
        ("method", Method.challenge_id, Method.id, Method.public_at),
        ("announcement", Announcement.challenge_id, Announcement.id, Announcement.created_at),
        ("thread", PublishedAnswer.challenge_id, PublishedAnswer.thread_id, PublishedAnswer.created_at),
    )
    moments = {
        f"{noun} {number}": moment
        for noun, of, key, column in dated
        for number, moment in session.execute(select(key, column).where(of == challenge.id))
    }
    phases = select(func.concat("phase ", Phase.id)).join(Phase.challenge)
    told = or_(
        AuditRecord.challenge_id == challenge.id,
        AuditRecord.user_id.in_(people),
        AuditRecord.subject.in_(phases.where(Challenge.code.in_((SAMPLE_CHALLENGE, TRIED)))),
    )
    log = AuditRecord.__table__
    rows = [dict(row) for row in session.execute(select(log).where(told).order_by(log.c.id)).mappings()]
    numbers = [row["id"] for row in rows]
    for row in rows:
        row["at"] = moments.get(row["subject"]) or challenge.created_at
    session.execute(delete(AuditRecord).where(AuditRecord.id.in_(numbers)))
    in_order = sorted(rows, key=itemgetter("at"))
    session.execute(
        insert(AuditRecord), [{**row, "id": number} for number, row in zip(numbers, in_order, strict=True)]
    )


def _date_phase(session: Session, phase: Phase, start: datetime) -> None:
    opened = start - timedelta(days=OPENED[phase.image_set])
    phase.opens_at = opened
    if phase.image_set in CLOSES:
        phase.closes_at = start + timedelta(days=CLOSES[phase.image_set])
    if phase.is_held_out:
        phase.quotas, phase.details_at_close = QUOTAS, True
    session.flush()
    for column, table in ((GroundTruth.imported_at, GroundTruth), (Board.activated_at, Board)):
        session.execute(update(table).where(table.phase_id == phase.id).values({column: opened}))


def _date_submission(session: Session, submission: Submission, moment: datetime) -> None:
    """Move a submission, its archive and its runs to a moment, as far apart as they were."""
    back = moment - submission.created_at
    results = select(Result.id).where(Result.submission_id == submission.id)
    for condition, columns in (
        (Upload.id == submission.upload_id, (Upload.started_at, Upload.received_at, Upload.checked_at)),
        (Run.result_id.in_(results), (Run.queued_at, Run.claimed_at, Run.finished_at)),
        (Publication.result_id.in_(results), (Publication.published_at,)),
    ):
        moved = {column: column + back for column in columns}
        session.execute(
            update(columns[0].class_).where(condition).values(moved),
            execution_options={"synchronize_session": False},
        )
    method = submission.method
    if moment < method.created_at:
        method.created_at = method.public_at = moment
    submission.created_at = moment


def _date_texts(session: Session, challenge_id: int, start: datetime) -> None:
    """Date announcements, the training set, the question and its answer."""
    for days, title, _ in texts.NEWS:
        of_title = Announcement.challenge_id == challenge_id, Announcement.title == title
        session.execute(update(Announcement).where(*of_title).values(created_at=start - timedelta(days=days)))
    opened = start - timedelta(days=max(OPENED.values()))
    session.execute(
        update(DataFile)
        .where(DataFile.challenge_id == challenge_id)
        .values(created_at=opened, stored_at=opened)
    )
    asked, answered = (start - timedelta(days=days) for days in (texts.ASKED, texts.ANSWERED))
    threads = select(Thread.id).where(Thread.challenge_id == challenge_id)
    of_threads = ThreadMessage.thread_id.in_(threads)
    session.execute(update(Thread).where(Thread.challenge_id == challenge_id).values(created_at=asked))
    session.execute(
        update(ThreadMessage).where(of_threads, ~ThreadMessage.is_answer).values(created_at=asked)
    )
    session.execute(
        update(ThreadMessage).where(of_threads, ThreadMessage.is_answer).values(created_at=answered)
    )
    session.execute(
        update(PublishedAnswer)
        .where(PublishedAnswer.challenge_id == challenge_id)
        .values(created_at=answered)
    )
