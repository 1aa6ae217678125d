"""Deleting a challenge: a draft, or one that was open while nobody but its organisers submitted.

Its data sets and what was made of them are removed from the stores at once, and the rest, which may be much, by the daily sweep,
once no row names it. Accounts of people and the audit stay.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, Select, delete, func, or_, select
from sqlalchemy.orm import Session

from app.challenges import kits
from app.core import audit
from app.core.access import Action, Actor, require_challenge
from app.core.errors import ConflictError, FieldsError, ForbiddenError, StorageUnavailableError
from app.intake import intakes, testing
from app.models import (
    Announcement,
    Artefact,
    AuditRecord,
    Challenge,
    ChallengeInvitation,
    ChallengeOrganiser,
    ChallengeRole,
    ChallengeVisibility,
    DataDownload,
    DataFile,
    Event,
    GroundTruth,
    Intake,
    IntakeFile,
    LabelReport,
    MadeFile,
    Member,
    Method,
    MethodChange,
    Notification,
    OneTimeLink,
    Phase,
    Picture,
    PictureSource,
    Publication,
    Question,
    Result,
    RetiredAddress,
    Role,
    Submission,
    Team,
    TeamMessage,
    Terms,
    TermsAcceptance,
    Thread,
    ThreadMessage,
    Upload,
    User,
    Webhook,
)
from app.organising import drafts
from app.organising.settings import open_challenge
from app.platform import Platform
from app.submissions.retention import STORED
from app.web.formats import plural

OF_THE_CHALLENGE: Final = (TeamMessage, Thread, Question, DataFile, Method, Team, OneTimeLink)


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of what is deleted; bytes: stored for it, None if the database does not know or there is nothing to store."""

    what: str
    count: int
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Deletion:
    """What deleting a challenge would delete. refusals: why it cannot be deleted; empty if it can."""

    challenge: str
    title: str
    parts: tuple[Part, ...]
    bytes: int
    refusals: tuple[str, ...]
    audit_records: int  # which stay


class Confirmation(BaseModel):
    """The code of the challenge, typed by whoever deletes it."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    code: Annotated[str, Field(max_length=100, description="the code of the challenge, as in its address")]


def plan(platform: Platform, actor: Actor, code: str) -> Deletion:
    """Return what deleting a challenge would delete now. Raises NotFoundError, ForbiddenError, ConflictError for a draft."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code, Action.OWN)
        if challenge.visibility is ChallengeVisibility.DRAFT:
            raise ConflictError("This challenge is a draft; delete it where it is made")
        return _plan(session, challenge)


def refusals(platform: Platform, actor: Actor, code: str) -> tuple[str, ...]:
    """Return why a challenge cannot be deleted now; empty if it can. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code, Action.OWN)
        return tuple(_refusals(session, challenge.id))


def _plan(session: Session, challenge: Challenge) -> Deletion:
    parts = tuple(part for part in _parts(session, challenge.id) if part.count)
    records = select(func.count()).where(_audit_of(challenge.id))
    return Deletion(
        challenge.code,
        challenge.title,
        parts,
        sum(part.bytes or 0 for part in parts),
        tuple(_refusals(session, challenge.id)),
        session.scalar(records) or 0,
    )


def _audit_of(challenge_id: int) -> ColumnElement[bool]:
    return AuditRecord.challenge_id == challenge_id


def _refusals(session: Session, challenge_id: int) -> Iterator[str]:
    """Yield why a challenge cannot be deleted: others submitted to it, or published in it before they organised it."""
    if others := session.scalar(_submissions_of_others(challenge_id)):
        yield f"{plural(others, 'submission')} of people who do not organise it, or of teams with such members"
    foreign = (
        select(func.count())
        .join_from(Publication, Phase, Phase.id == Publication.phase_id)
        .where(Phase.challenge_id == challenge_id, ~or_(Publication.by_organisers, Publication.is_test))
    )
    if not others and (published := session.scalar(foreign)):
        yield f"{plural(published, 'change')} of leaderboards by people who did not organise it then"


def _submissions_of_others(challenge_id: int) -> Select[int]:
    """Count submissions by people who do not organise a challenge, or of teams with such members."""
    organisers = select(ChallengeOrganiser.user_id).where(
        ChallengeOrganiser.challenge_id == challenge_id, ChallengeOrganiser.role != ChallengeRole.VIEWER
    )
    theirs = organisers.union(select(User.id).where(User.role == Role.ADMIN)).subquery()
    organises = select(theirs.c.user_id)
    others = select(Member.team_id).where(
        Member.challenge_id == challenge_id, Member.user_id.not_in(organises)
    )
    return (
        select(func.count())
        .select_from(Submission)
        .join(Submission.phase)
        .join(Submission.method)
        .where(
            Phase.challenge_id == challenge_id,
            or_(Submission.user_id.not_in(organises), Method.team_id.in_(others)),
        )
    )


def _parts(session: Session, challenge_id: int) -> Iterator[Part]:
    """Count what belongs to a challenge, by kind."""
    phases = select(Phase.id).where(Phase.challenge_id == challenge_id).scalar_subquery()
    teams = select(Team.id).where(Team.challenge_id == challenge_id).scalar_subquery()
    methods = select(Method.id).where(Method.challenge_id == challenge_id).scalar_subquery()
    of_phases = {
        "version of annotation": GroundTruth.phase_id, "image": Picture.phase_id,
        "report of a label": LabelReport.phase_id, "submission": Submission.phase_id, "result": Result.phase_id,
        "publication on a leaderboard": Publication.phase_id,
    }  # fmt: skip
    of_challenge: dict[str, Any] = {
        "team": Team, "method": Method, "question of a team": Thread, "announcement": Announcement,
        "announcement to teams": TeamMessage, "question about methods": Question, "webhook": Webhook,
        "invitation to see it": ChallengeInvitation, "person who organises or views it": ChallengeOrganiser,
        "version of its terms": Terms, "event": Event,
    }  # fmt: skip

    def one(what: str, *which: ColumnElement[bool], size: Any = None) -> Part:
        stored = func.coalesce(func.sum(size), 0) if size is not None else func.count()
        count, found = session.execute(select(func.count(), stored).where(*which)).one()
        return Part(what, count, int(found) if size is not None else None)

    yield one("phase", Phase.challenge_id == challenge_id)
    yield from (one(what, column.in_(phases)) for what, column in of_phases.items())
    received = Upload.state.in_(STORED)
    yield one("upload", Upload.phase_id.in_(phases), received, size=Upload.received)
    yield one("removed upload", Upload.phase_id.in_(phases), ~received)
    yield one("change of a method", MethodChange.method_id.in_(methods))
    yield one("membership of a team", Member.team_id.in_(teams))
    yield from (one(what, table.challenge_id == challenge_id) for what, table in of_challenge.items())
    of_threads = select(Thread.id).where(Thread.challenge_id == challenge_id)
    yield one("message about a question", ThreadMessage.thread_id.in_(of_threads))
    of_terms = select(Terms.id).where(Terms.challenge_id == challenge_id)
    yield one("acceptance of its terms", TermsAcceptance.terms_id.in_(of_terms))
    of_events = select(Event.id).where(Event.challenge_id == challenge_id)
    yield one("notification", Notification.event_id.in_(of_events))
    files = DataFile.challenge_id == challenge_id
    yield one("file", files, size=func.coalesce(DataFile.size, 0))
    yield one("record of a download", DataDownload.file_id.in_(select(DataFile.id).where(files)))
    yield one("file that the server made", MadeFile.challenge_id == challenge_id, size=MadeFile.size)
    archives = PictureSource.phase_id.in_(phases), PictureSource.archive_key.is_not(None)
    yield one("archive of images", *archives, size=PictureSource.archive_size)
    intakes_ = Intake.challenge_id == challenge_id
    yield one("data set", intakes_)
    of_intakes = select(Intake.id).where(intakes_)
    yield one("file of a data set", IntakeFile.intake_id.in_(of_intakes), size=IntakeFile.received)
    yield one("drawing or small image pack", testing.is_artefact_of(challenge_id), size=Artefact.size)


def delete_challenge(platform: Platform, actor: Actor, code: str, confirmation: Confirmation) -> Deletion:
    """Delete a challenge that was open, and return what was deleted; its address is not given to another.

    A submission that comes at the same time is there before, and refuses this, or finds nothing to submit to. Raises
    NotFoundError, ForbiddenError, FieldsError unless its code was typed, ConflictError for a draft, if others submitted, and
    while a worker applies a data set.
    """
    with platform.transaction() as session:
        challenge = open_challenge(session, actor, code, Action.OWN)
        if confirmation.code != challenge.code:
            raise FieldsError({"code": f"type {challenge.code}, the code of the challenge"})
        _lock(session, challenge)
        deletion = _plan(session, challenge)
        if deletion.refusals:
            raise ConflictError(
                f"This challenge cannot be deleted any more: {'; '.join(deletion.refusals)}. Archive it instead"
            )
        session.scalar(select(func.delete_challenge_publications(challenge.id)))
        testing.delete_submissions(session, challenge.id)
        deleted = {part.what: part.count for part in deletion.parts}
        session.add(RetiredAddress(code=challenge.code))
        unused = _delete(session, actor, challenge, "challenge.delete_opened", {"deleted": deleted})
    unused.remove(platform)
    return deletion


def delete_draft(platform: Platform, actor: Actor, code: str) -> None:
    """Delete a draft with its data and its test runs.

    Raises NotFoundError, ForbiddenError, ConflictError.
    """
    with platform.transaction() as session:
        challenge, _ = drafts.locked(session, actor, code)
        if not actor.owns_challenge(challenge.id):
            raise ForbiddenError("Only owners delete a draft")
        _lock(session, challenge)
        testing.delete_all(session, actor.user_id, challenge)
        unused = _delete(session, actor, challenge, "challenge.delete", {})
    unused.remove(platform)


def _lock(session: Session, challenge: Challenge) -> None:
    """Have whoever adds something to a locked challenge or its phases wait, and then find them gone.

    Its teams are locked first, as by whoever uploads or asks for one of them.
    """
    theirs = select(Team.id).where(Team.challenge_id == challenge.id).order_by(Team.id)
    session.execute(theirs.with_for_update(key_share=True))
    session.refresh(challenge, with_for_update=True)
    phases = select(Phase.id).where(Phase.challenge_id == challenge.id).order_by(Phase.id)
    session.execute(phases.with_for_update())


@dataclass(frozen=True, slots=True)
class _Unused:
    """What is left in the stores of the data sets of a deleted challenge: their objects, and files that were made of them."""

    objects: set[str]
    made: set[str]

    def remove(self, platform: Platform) -> None:
        """Remove it, after the transaction that deleted the challenge; what cannot be removed now is left to the sweep."""
        platform.cache.expire_versions()
        with suppress(StorageUnavailableError):
            intakes.delete_objects(platform, self.objects)
            kits.remove(platform, self.made)


def _delete(
    session: Session, actor: Actor, challenge: Challenge, action: str, details: dict[str, Any]
) -> _Unused:
    """Delete a locked challenge whose submissions are deleted. Raises ConflictError while a worker applies a data set."""
    here = challenge.id
    unused = _Unused(intakes.delete_all(session, here), kits.forget_all(session, here))
    session.execute(delete(DataFile).where(DataFile.challenge_id == here))
    testing.delete_phases(session, here)
    for table in OF_THE_CHALLENGE:
        session.execute(delete(table).where(table.challenge_id == here))
    audit.record(
        session, actor.user_id, action, f"challenge {here}",
        challenge_id=here, before={"code": challenge.code, "title": challenge.title}, details=details,
    )  # fmt: skip
    session.flush()
    session.execute(delete(Challenge).where(Challenge.id == here))
    return unused
