"""Personal data: changing a profile, exporting, and deleting an account."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import reduce
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import Column, ColumnElement, Select, and_, case, delete, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, NotFoundError
from app.core.names import Visible, lookalike_key
from app.core.settings import LoginSettings
from app.jobs import mail
from app.jobs.mail import MailTemplate
from app.models import (
    Answer,
    ApiToken,
    AuditRecord,
    Base,
    Challenge,
    ChallengeInvitation,
    ChallengeOrganiser,
    CreationRequest,
    DataDownload,
    DataFile,
    Event,
    Identity,
    InvitedPerson,
    LabelEdit,
    LabelReport,
    LoginSession,
    MailChoice,
    MailRequest,
    Member,
    Method,
    Notification,
    NotificationMail,
    Phase,
    Question,
    QuestionKind,
    Result,
    ResultState,
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
)
from app.people import sessions, teams
from app.people.accounts import lock_admins
from app.people.locking import lock_person
from app.people.sessions import check_owner, lock_owner, password_hash_of
from app.people.tokens import is_live
from app.platform import Platform
from app.results import withdrawing
from app.submissions.methods import NAMES_PEOPLE
from app.web.forms import HttpsOrBlank

# left out of an export for a token: how to log in to the account, and what was done with it
NOT_FOR_TOKENS = frozenset(
    {
        "email",
        "new_email",
        "verified_at",
        "suspended_at",
        "role",
        "sessions",
        "logins",
        "tokens",
        "mails",
        "actions",
    }
)

ORCID = re.compile(
    r"(?:https?://)?(?:www\.)?(?:orcid\.org/)?(\d{4})-?(\d{4})-?(\d{4})-?(\d{3}[\dX])/?",
    re.IGNORECASE | re.ASCII,
)


def deletion_conflict(user_id: int, admins: Sequence[int]) -> ConflictError | None:
    """Return why an account may not be deleted, or None if it may.

    >>> str(deletion_conflict(7, [7]))
    'You are the last admin who can log in. Make another person an admin first'
    >>> deletion_conflict(7, [3, 7])
    """
    if list(admins) == [user_id]:
        return ConflictError("You are the last admin who can log in. Make another person an admin first")
    return None


def orcid_of(text: str) -> str:
    """Normalise an ORCID iD, given as digits or as a URL.

    Raises ValueError if the check digit (ISO 7064, MOD 11-2) is wrong.

    >>> orcid_of("https://orcid.org/0000-0002-1825-0097"), orcid_of("000000021694233x")
    ('0000-0002-1825-0097', '0000-0002-1694-233X')
    """
    found = ORCID.fullmatch(text)
    if found is None:
        raise ValueError("is not an ORCID iD, such as 0000-0002-1825-0097")
    digits = "".join(found.groups()).upper()
    if _check_digit(digits[:-1]) != digits[-1]:
        raise ValueError("has a wrong check digit; compare it digit by digit")
    return "-".join(found.groups()).upper()


def _check_digit(digits: str) -> str:
    total = reduce(lambda before, digit: (before + int(digit)) * 2, digits, 0)
    return "0123456789X"[(12 - total % 11) % 11]


def erased_name(team_id: int, taken: Iterable[str]) -> str:
    """Return a team name that does not reveal who was a member.

    >>> erased_name(7, []), erased_name(7, ["Team 7"])
    ('Team 7', 'Team 7-2')
    """
    known = set(taken)
    names = (f"Team {team_id}", *(f"Team {team_id}-{number}" for number in range(2, len(known) + 2)))
    return next(name for name in names if name not in known)


PersonName = Annotated[str, Field(min_length=2, max_length=80, description="as shown to others"), Visible]


def _orcid(text: str) -> str:
    return orcid_of(text) if text else ""


class Profile(BaseModel):
    """A person's profile."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    name: PersonName
    affiliation: Annotated[str, Field(max_length=200, pattern="^[^\0]*$")] = ""
    homepage: Annotated[HttpsOrBlank, Field(max_length=300)] = ""
    orcid: Annotated[str, Field(max_length=60), AfterValidator(_orcid)] = ""


class ResultsChoice(StrEnum):
    """What happens to the results of teams without other members."""

    KEEP = "keep"  # they stay under the team's name
    ERASE = "erase"  # private ones are withdrawn, and the rest no longer name anyone


class Deletion(BaseModel):
    """The form to delete an account."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    password: Annotated[str, Field(max_length=200)]
    results: ResultsChoice


@dataclass(frozen=True, slots=True)
class OwnResults:
    """A team of a person and its results, as the page that deletes an account shows them."""

    team: str
    challenge_title: str
    is_alone: bool
    private: int  # results that are not public
    public: int


@dataclass(frozen=True, slots=True)
class AccountSummary:
    """What the page of an account says beside its links: live sessions, active tokens, and linked logins."""

    sessions: int
    tokens: int
    logins: int


PAGE = 500  # rows for each statement of an export


def _is_alone(user_id: int) -> ColumnElement[bool]:
    """Whether a person is the only member of a team, for statements about Team."""
    other = aliased(Member)
    return ~select(other.user_id).where(other.team_id == Team.id, other.user_id != user_id).exists()


def select_own_results(session: Session, user_id: int) -> tuple[OwnResults, ...]:
    """Return a person's teams and their numbers of results on boards."""
    counted = and_(Result.method_id == Method.id, Result.state.in_((ResultState.PENDING, ResultState.SCORED)))
    private = func.count(case((Method.public_at.is_(None), Result.id)))
    public = func.count(case((Method.public_at.is_not(None), Result.id)))
    statement = (
        select(Team.name, Challenge.title, _is_alone(user_id), private, public)
        .join(Member, and_(Member.team_id == Team.id, Member.user_id == user_id))
        .join(Team.challenge)
        .outerjoin(Method, Method.team_id == Team.id)
        .outerjoin(Result, counted)
        .group_by(Team.id, Challenge.id)
        .order_by(Challenge.id.desc())
    )
    return tuple(OwnResults(*row) for row in session.execute(statement))


def own_teams(session: Session, user_id: int) -> list[int]:
    """Return the teams whose only member is this person."""
    theirs = select(Member.team_id).where(Member.user_id == user_id)
    return list(session.scalars(select(Team.id).where(Team.id.in_(theirs), _is_alone(user_id))))


def withdrawable_results(session: Session, user_id: int) -> list[int]:
    """Return the private results of teams whose only member is this person."""
    statement = (
        select(Result.id)
        .join(Result.method)
        .where(
            Method.team_id.in_(own_teams(session, user_id)),
            Method.public_at.is_(None),
            Result.state.in_((ResultState.PENDING, ResultState.SCORED)),
        )
    )
    return list(session.scalars(statement.order_by(Result.id)))


def team_names(session: Session, team_id: int) -> list[str]:
    """Return names in the team's challenge that conflict with the name of an erased team."""
    challenge = select(Team.challenge_id).where(Team.id == team_id).scalar_subquery()
    like = or_(Team.name == f"Team {team_id}", Team.name.startswith(f"Team {team_id}-"))
    return list(
        session.scalars(select(Team.name).where(Team.challenge_id == challenge, like, Team.id != team_id))
    )


def erase_team(session: Session, team_id: int, name: str) -> None:
    """Remove all names of people from a team and its methods."""
    renamed = update(Team).where(Team.id == team_id)
    session.execute(renamed.values(name=name, name_key=lookalike_key(name), affiliation=""))
    methods = update(Method).where(Method.team_id == team_id)
    session.execute(methods.values(**dict.fromkeys(NAMES_PEOPLE, ""), revision=Method.revision + 1))
    theirs = select(Method.id).where(Method.team_id == team_id)
    free_text = select(Question.id).where(Question.kind.in_((QuestionKind.TEXT, QuestionKind.LINK)))
    session.execute(delete(Answer).where(Answer.method_id.in_(theirs), Answer.question_id.in_(free_text)))


def _owned() -> Iterator[Column[Any]]:
    """Yield the columns of all tables whose rows are deleted with their person, except accepted terms."""
    for table in Base.metadata.tables.values():
        for key in table.foreign_keys:
            is_owned = key.ondelete == "CASCADE" and table.name != TermsAcceptance.__tablename__
            if key.column.table.name == User.__tablename__ and (
                is_owned or table.name == MailRequest.__tablename__
            ):
                yield key.parent


def erase_person(session: Session, user: User) -> None:
    """Delete a person's data and access. The id remains, for the records that refer to it."""
    for column in _owned():
        session.execute(delete(column.table).where(column == user.id))
    session.execute(delete(ChallengeInvitation).where(ChallengeInvitation.address == user.email))
    user.email, user.name = "", "Deleted account"
    user.affiliation = user.homepage = user.orcid = ""
    user.password_hash = user.new_email = user.verified_at = None
    user.role, user.deleted_at = Role.PARTICIPANT, func.clock_timestamp()
    session.flush()


def unconfirmed(session: Session, age: timedelta, limit: int) -> list[int]:
    """Return accounts older than `age` with an unconfirmed address, no live session, and no role, oldest first."""
    live = select(LoginSession.user_id).where(LoginSession.expires_at > func.now())
    statement = select(User.id).where(
        User.verified_at.is_(None),
        User.deleted_at.is_(None),
        User.created_at < func.now() - age,
        User.role == Role.PARTICIPANT,
        User.id.not_in(live),
        User.id.not_in(select(ChallengeOrganiser.user_id)),
    )
    return list(session.scalars(statement.order_by(User.created_at).limit(limit)))


def profile_of(session: Session, user_id: int) -> Mapping[str, Any] | None:
    """Return an account's profile."""
    columns = (User.id, User.name, User.email, User.new_email, User.affiliation, User.homepage, User.orcid)
    row_of = select(*columns, User.role, User.created_at, User.verified_at, User.suspended_at)
    row = session.execute(row_of.where(User.id == user_id)).mappings().one_or_none()
    return dict(row) if row else None


def exported(user_id: int) -> Iterator[tuple[str, Select[*tuple[Any, ...]]]]:
    """Yield the name of each list of an export, and a statement with an `id` to page by."""
    yield "sessions", select(
        func.row_number().over(order_by=LoginSession.created_at).label("id"), LoginSession.browser,
        LoginSession.created_at, LoginSession.last_seen_at, LoginSession.expires_at,
    ).where(LoginSession.user_id == user_id)  # fmt: skip
    yield "logins", select(
        func.row_number().over(order_by=Identity.linked_at).label("id"), Identity.issuer, Identity.subject, Identity.email,
        Identity.linked_at, Identity.last_used_at,
    ).where(Identity.user_id == user_id)  # fmt: skip
    yield "tokens", select(
        ApiToken.id, ApiToken.name, ApiToken.created_at, ApiToken.expires_at, ApiToken.last_used_at, ApiToken.revoked_at
    ).where(ApiToken.user_id == user_id)  # fmt: skip
    yield "teams", select(
        Team.id, Team.name, Challenge.code.label("challenge"), Member.is_owner, Member.is_named, Member.joined_at
    ).join(Member, Member.team_id == Team.id).join(Team.challenge).where(
        Member.user_id == user_id
    )  # fmt: skip
    yield "terms", select(
        Terms.id, Challenge.code.label("challenge"), Terms.version, TermsAcceptance.accepted_at
    ).join(TermsAcceptance, TermsAcceptance.terms_id == Terms.id).join(Challenge, Challenge.id == Terms.challenge_id).where(
        TermsAcceptance.user_id == user_id
    )  # fmt: skip
    yield "invitations", select(
        Challenge.id, Challenge.code.label("challenge"), InvitedPerson.redeemed_at
    ).join(InvitedPerson, InvitedPerson.challenge_id == Challenge.id).where(
        InvitedPerson.user_id == user_id
    )  # fmt: skip
    yield "requests", select(
        CreationRequest.id, CreationRequest.sentence, CreationRequest.asked_at, CreationRequest.decided_at,
        CreationRequest.is_approved, CreationRequest.reason,
    ).where(CreationRequest.user_id == user_id)  # fmt: skip
    yield "downloads", select(
        DataDownload.id, Challenge.code.label("challenge"), DataFile.name.label("file"), DataDownload.version,
        DataDownload.terms_version, DataDownload.requests, DataDownload.first_at, DataDownload.last_at,
    ).join(DataFile, DataFile.id == DataDownload.file_id).join(Challenge, Challenge.id == DataFile.challenge_id).where(
        DataDownload.user_id == user_id
    )  # fmt: skip
    yield "uploads", select(
        func.row_number().over(order_by=(Upload.started_at, Upload.id)).label("id"), Upload.id.label("upload"),
        Challenge.code.label("challenge"), Phase.image_set, Upload.filename, Upload.received, Upload.state,
        Upload.started_at,
    ).join(Upload.phase).join(Phase.challenge).where(
        Upload.user_id == user_id
    )  # fmt: skip
    yield "submissions", select(
        Submission.id, Challenge.code.label("challenge"), Phase.image_set, Method.name.label("method"), Method.title,
        Method.description, Submission.upload_id, Submission.training, Submission.created_at,
    ).join(Submission.phase).join(Phase.challenge).join(Submission.method).where(Submission.user_id == user_id)  # fmt: skip
    yield "notifications", select(  # to the minute, as on pages: durations can reveal something of hidden scores
        Notification.id, Event.kind, func.date_trunc("minute", Event.at).label("at"), Notification.read_at
    ).join(Event, Event.id == Notification.event_id).where(Notification.user_id == user_id)  # fmt: skip
    yield "mails", select(
        NotificationMail.id, NotificationMail.kind, NotificationMail.address, NotificationMail.sent_at
    ).where(NotificationMail.user_id == user_id)  # fmt: skip
    yield "mail_choices", select(
        func.row_number().over(order_by=MailChoice.kind).label("id"), MailChoice.kind, MailChoice.by_mail
    ).where(MailChoice.user_id == user_id)  # fmt: skip
    yield "threads", select(
        Thread.id, Challenge.code.label("challenge"), Thread.title, Thread.state, Thread.created_at
    ).join(Challenge, Challenge.id == Thread.challenge_id).where(Thread.asked_by == user_id)  # fmt: skip
    yield "thread_messages", select(
        ThreadMessage.id, ThreadMessage.thread_id.label("thread"), ThreadMessage.text, ThreadMessage.created_at
    ).where(ThreadMessage.author_id == user_id)  # fmt: skip
    yield "label_reports", select(
        LabelReport.id, Challenge.code.label("challenge"), Phase.image_set, LabelReport.image, LabelReport.kind,
        LabelReport.text, LabelReport.version, LabelReport.created_at, LabelReport.closed_at, LabelReport.answer,
        LabelReport.corrected_in,
    ).join(LabelReport.phase).join(Phase.challenge).where(LabelReport.user_id == user_id)  # fmt: skip
    yield "team_messages", select(
        TeamMessage.id, Challenge.code.label("challenge"), TeamMessage.title, TeamMessage.text, TeamMessage.created_at,
        TeamMessage.sent_at,
    ).join(Challenge, Challenge.id == TeamMessage.challenge_id).where(TeamMessage.created_by == user_id)  # fmt: skip
    yield "label_edits", select(  # whose values only workers can read
        func.row_number().over(order_by=(LabelEdit.saved_at, LabelEdit.id)).label("id"),
        Challenge.code.label("challenge"), Phase.image_set, LabelEdit.image, LabelEdit.saved_at,
    ).join(Phase, Phase.id == LabelEdit.phase_id).join(Phase.challenge).where(
        LabelEdit.user_id == user_id
    )  # fmt: skip
    yield "actions", select(AuditRecord.id, AuditRecord.at, AuditRecord.action, AuditRecord.subject).where(
        AuditRecord.user_id == user_id
    )  # fmt: skip


def rows_after(session: Session, statement: Select[*tuple[Any, ...]], last: int) -> list[dict[str, Any]]:
    """Return the next rows of a list of an export."""
    rows = statement.subquery()
    page = select(rows).where(rows.c.id > last).order_by(rows.c.id).limit(PAGE)
    return [dict(row) for row in session.execute(page).mappings()]


KEEP_UNCONFIRMED = timedelta(days=30)  # how long accounts with unconfirmed addresses are kept
BATCH = 100  # accounts for each sweep


def profile(platform: Platform, actor: Actor) -> Profile:
    """Return the reader's profile."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = session.get_one(User, actor.user_id)
        return Profile(name=user.name, affiliation=user.affiliation, homepage=user.homepage, orcid=user.orcid)


def change(platform: Platform, actor: Actor, new: Profile) -> None:
    """Change the reader's profile. Names of teams stay the same."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = lock_person(session, actor.user_id, User.deleted_at.is_(None))
        assert user is not None
        user.name, user.affiliation = new.name, new.affiliation
        user.homepage, user.orcid = new.homepage, new.orcid


def own_results(platform: Platform, actor: Actor) -> tuple[OwnResults, ...]:
    """Return the reader's teams and their numbers of results on boards."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        return select_own_results(session, actor.user_id)


def account_summary(platform: Platform, actor: Actor) -> AccountSummary:
    """Count what gives access to the reader's account."""
    assert actor.user_id is not None
    active = select(func.count()).select_from(ApiToken).where(ApiToken.user_id == actor.user_id, *is_live())
    linked = select(func.count()).select_from(Identity).where(Identity.user_id == actor.user_id)
    with platform.reading() as session:
        return AccountSummary(
            sessions.count_sessions(session, actor.user_id, platform.settings),
            session.scalar(active) or 0,
            session.scalar(linked) or 0,
        )


def export(platform: Platform, actor: Actor) -> Iterator[str]:
    """Yield everything that is stored about the reader, as pieces of JSON, each read in its own short transaction.

    A token gets only what it may read anyway: no e-mail address and nothing about how to log in.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        account = profile_of(session, actor.user_id) or {}
    left_out = NOT_FOR_TOKENS if actor.by_token else frozenset()
    account = {name: value for name, value in account.items() if name not in left_out}
    yield f'{{"account": {_json(account)},\n"left_out": {_json(sorted(left_out))}'
    lists = ((name, each) for name, each in exported(actor.user_id) if name not in left_out)
    for name, statement in lists:
        yield f',\n"{name}": ['
        last, separator = 0, "\n"
        while True:
            with platform.transaction() as session:
                rows = rows_after(session, statement, last)
            for row in rows:
                yield f"{separator}{_json(row)}"
                separator = ",\n"
            if len(rows) < PAGE:
                break
            last = rows[-1]["id"]
        yield "]"
    yield "}\n"


def _json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def end_account(platform: Platform, actor: Actor, form: Deletion) -> None:
    """Delete an account: erase the person's data and access; keep or erase results as chosen.

    Public results stay, because boards and papers refer to them; with ERASE they no longer name the person.
    Raises WrongPasswordError, BusyError, and ConflictError for the last admin.
    """
    assert actor.user_id is not None
    known = password_hash_of(platform, actor.user_id)
    check_owner(actor, form.password, known)
    with platform.transaction() as session:
        _require_other_admin(session, platform.settings, actor.user_id)
        user = lock_owner(session, actor.user_id, known, ends_access=True)
        teams.lock_teams(session, {each.id for each in teams.teams_of(session, user.id)})
        if form.results is ResultsChoice.ERASE:
            for result_id in withdrawable_results(session, user.id):
                _withdraw(session, actor, result_id)
        _delete(session, user, form.results)
    platform.cache.expire_versions()


def _withdraw(session: Session, actor: Actor, result_id: int) -> None:
    try:
        withdrawing.withdraw_in(session, actor, result_id, "the account was deleted")
    except (ConflictError, NotFoundError):  # it has ended in another way meanwhile
        return


def delete_unconfirmed_accounts(platform: Platform) -> int:
    """Delete accounts whose address was not confirmed in time and that nobody is logged in to. Return how many."""
    with platform.transaction() as session:
        due = unconfirmed(session, KEEP_UNCONFIRMED, BATCH)
    for user_id in due:
        with platform.transaction() as session:
            _require_other_admin(session, platform.settings, user_id)
            user = lock_person(session, user_id, User.deleted_at.is_(None), ends_access=True)
            if user is not None:
                _delete(session, user, ResultsChoice.KEEP)
    return len(due)


def _require_other_admin(session: Session, settings: LoginSettings, user_id: int) -> None:
    """Lock the admins, before anybody else. Raises ConflictError if the person is the last."""
    conflict = deletion_conflict(user_id, lock_admins(session, settings))
    if conflict is not None:
        raise conflict


def _delete(session: Session, user: User, results: ResultsChoice) -> None:
    """Delete the account of a locked person."""
    user_id = user.id
    alone = own_teams(session, user_id)
    teams.leave_every_team(session, user_id)
    for team_id in alone:
        if results is ResultsChoice.ERASE or not teams.has_uploads(session, team_id):
            erase_team(session, team_id, erased_name(team_id, team_names(session, team_id)))
    mail.notify_owner(session, MailTemplate.ACCOUNT_DELETED, user)
    erase_person(session, user)
    audit.record(session, user_id, "account.delete", f"person {user_id}", details={"results": results.value})
