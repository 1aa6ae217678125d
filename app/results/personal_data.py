"""Personal data: changing a profile, exporting, deleting an account."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import reduce
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, TypeAdapter, ValidationError
from sqlalchemy import Column, ColumnElement, Select, and_, case, delete, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, NotFoundError
from app.core.names import Visible, lookalike_key
from app.core.settings import LoginSettings
from app.jobs import mail
from app.jobs.mail import Letter
from app.models import (
    ApiToken,
    AuditRecord,
    Base,
    Challenge,
    ChallengeOrganiser,
    Identity,
    LoginSession,
    MailRequest,
    Member,
    Method,
    Phase,
    Queue,
    Result,
    ResultState,
    Role,
    Submission,
    Team,
    Terms,
    TermsAcceptance,
    Upload,
    User,
)
from app.people import teams
from app.people.sessions import can_log_in, check_owner
from app.platform import Platform
from app.results import withdrawing
from app.submissions.methods import NAMES_PEOPLE

# what an export leaves out for a token: what says how the account is entered, or what was done with it
NOT_FOR_TOKENS = frozenset(
    {"email", "new_email", "verified_at", "suspended_at", "role", "sessions", "logins", "tokens", "actions"}
)

ORCID = re.compile(
    r"(?:https?://)?(?:www\.)?(?:orcid\.org/)?(\d{4})-?(\d{4})-?(\d{4})-?(\d{3}[\dX])/?",
    re.IGNORECASE | re.ASCII,
)


def deletion_conflict(user_id: int, admins: Sequence[int]) -> ConflictError | None:
    """Why an account may not end; none if it may.

    >>> str(deletion_conflict(7, [7]))
    'You are the last admin who can log in. Make somebody else an admin first'
    >>> deletion_conflict(7, [3, 7])
    """
    if list(admins) == [user_id]:
        return ConflictError("You are the last admin who can log in. Make somebody else an admin first")
    return None


def orcid_of(text: str) -> str:
    """An ORCID iD in its own form, whether it was typed as digits or as an address.

    Raises ValueError where the check digit (ISO 7064, MOD 11-2) is another.

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
    """A name for a team that says nothing of who was in it.

    >>> erased_name(7, []), erased_name(7, ["Team 7"])
    ('Team 7', 'Team 7-2')
    """
    known = set(taken)
    names = (f"Team {team_id}", *(f"Team {team_id}-{number}" for number in range(2, len(known) + 2)))
    return next(name for name in names if name not in known)


_ADDRESS = TypeAdapter(HttpUrl)

PersonName = Annotated[
    str, Field(min_length=2, max_length=80, description="as it is shown to others"), Visible
]


def _homepage(text: str) -> str:
    if text:
        message = "must be an address that begins with https://"
        try:
            address = _ADDRESS.validate_python(text)
        except ValidationError as error:
            raise ValueError(message) from error
        # what stands before an @ looks like the host, and is not
        if address.scheme != "https" or address.username or address.password:
            raise ValueError(message)
    return text


def _orcid(text: str) -> str:
    return orcid_of(text) if text else ""


class Profile(BaseModel):
    """What a person says of themselves."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    name: PersonName
    affiliation: Annotated[str, Field(max_length=200, pattern="^[^\0]*$")] = ""
    homepage: Annotated[str, Field(max_length=300), AfterValidator(_homepage)] = ""
    orcid: Annotated[str, Field(max_length=60), AfterValidator(_orcid)] = ""


class ResultsChoice(StrEnum):
    """What becomes of the results of teams that nobody else is in."""

    KEEP = "keep"  # they stay under the team's name
    ERASE = "erase"  # private ones go; what has to stay names nobody


class Deletion(BaseModel):
    """The form that ends an account."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    password: Annotated[str, Field(max_length=200)]
    results: ResultsChoice


@dataclass(frozen=True, slots=True)
class OwnResults:
    """A team that a person is in, as far as it counts for the end of their account."""

    team: str
    challenge_title: str
    is_alone: bool
    private: int  # results that nobody else sees
    public: int


PAGE = 500  # rows of one statement of an export


def person(session: Session, user_id: int) -> User | None:
    """A person who is not gone, locked until the end of the transaction."""
    return session.scalar(select(User).where(User.id == user_id, User.deleted_at.is_(None)).with_for_update())


def lock_admins(session: Session, settings: LoginSettings) -> list[int]:
    """The admins who can log in, locked in one order, so that the last two cannot go at once."""
    is_open = (can_log_in(settings), User.suspended_at.is_(None), User.deleted_at.is_(None))
    statement = select(User.id).where(User.role == Role.ADMIN, *is_open).order_by(User.id)
    return list(session.scalars(statement.with_for_update()))


def _is_alone(user_id: int) -> ColumnElement[bool]:
    """Whether nobody else is in a team, for statements about Team."""
    other = aliased(Member)
    return ~select(other.user_id).where(other.team_id == Team.id, other.user_id != user_id).exists()


def select_own_results(session: Session, user_id: int) -> tuple[OwnResults, ...]:
    """The teams of a person with what they have on boards."""
    counted = and_(Result.method_id == Method.id, Result.state.in_((ResultState.PENDING, ResultState.SCORED)))
    private = func.count(case((Method.public_at.is_(None), Result.id)))
    public = func.count(case((Method.public_at.is_not(None), Result.id)))
    statement = (
        select(Team.name, Challenge.title, _is_alone(user_id), private, public)
        .join(Member, and_(Member.team_id == Team.id, Member.user_id == user_id))
        .join(Challenge, Challenge.id == Team.challenge_id)
        .outerjoin(Method, Method.team_id == Team.id)
        .outerjoin(Result, counted)
        .group_by(Team.id, Challenge.id)
        .order_by(Challenge.id.desc())
    )
    return tuple(OwnResults(*row) for row in session.execute(statement))


def own_teams(session: Session, user_id: int) -> list[int]:
    """The teams that nobody else is in."""
    theirs = select(Member.team_id).where(Member.user_id == user_id)
    return list(session.scalars(select(Team.id).where(Team.id.in_(theirs), _is_alone(user_id))))


def withdrawable_results(session: Session, user_id: int) -> list[int]:
    """The private results of teams that nobody else is in."""
    statement = (
        select(Result.id)
        .join(Method, Method.id == Result.method_id)
        .where(
            Method.team_id.in_(own_teams(session, user_id)),
            Method.public_at.is_(None),
            Result.state.in_((ResultState.PENDING, ResultState.SCORED)),
        )
    )
    return list(session.scalars(statement.order_by(Result.id)))


def team_names(session: Session, team_id: int) -> list[str]:
    """The names of the teams in the same challenge that begin like the name of an erased one."""
    challenge = select(Team.challenge_id).where(Team.id == team_id).scalar_subquery()
    like = or_(Team.name == f"Team {team_id}", Team.name.startswith(f"Team {team_id}-"))
    return list(
        session.scalars(select(Team.name).where(Team.challenge_id == challenge, like, Team.id != team_id))
    )


def erase_team(session: Session, team_id: int, name: str) -> None:
    """Let a team and its methods name nobody."""
    renamed = update(Team).where(Team.id == team_id)
    session.execute(renamed.values(name=name, name_key=lookalike_key(name), affiliation=""))
    methods = update(Method).where(Method.team_id == team_id)
    session.execute(methods.values(**dict.fromkeys(NAMES_PEOPLE, ""), revision=Method.revision + 1))


def _owned() -> Iterator[Column[Any]]:
    """The columns of all tables whose rows end with their person; the terms that were accepted are still known."""
    for table in Base.metadata.tables.values():
        for key in table.foreign_keys:
            is_owned = key.ondelete == "CASCADE" and table.name != TermsAcceptance.__tablename__
            if key.column.table.name == User.__tablename__ and (
                is_owned or table.name == MailRequest.__tablename__
            ):
                yield key.parent


def erase_person(session: Session, user: User) -> None:
    """Delete what names a person or opens their account; the number stays, for what was done by it."""
    for column in _owned():
        session.execute(delete(column.table).where(column == user.id))
    user.email, user.name = "", "Deleted account"
    user.affiliation = user.homepage = user.orcid = ""
    user.password_hash = user.new_email = user.verified_at = None
    user.role, user.deleted_at = Role.PARTICIPANT, func.clock_timestamp()
    session.flush()


def unconfirmed(session: Session, age: timedelta, limit: int) -> list[int]:
    """Accounts older than `age` whose address nobody has confirmed, the oldest first; not of who is logged in or has a role."""
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
    """What an account says of its person."""
    columns = (User.id, User.name, User.email, User.new_email, User.affiliation, User.homepage, User.orcid)
    row_of = select(*columns, User.role, User.created_at, User.verified_at, User.suspended_at)
    row = session.execute(row_of.where(User.id == user_id)).mappings().one_or_none()
    return dict(row) if row else None


def exported(user_id: int) -> Iterator[tuple[str, Select[*tuple[Any, ...]]]]:
    """For each list of an export its name, and a statement that has an `id` to go on after."""
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
    ).join(Member, Member.team_id == Team.id).join(Challenge, Challenge.id == Team.challenge_id).where(
        Member.user_id == user_id
    )  # fmt: skip
    yield "terms", select(
        Terms.id, Challenge.code.label("challenge"), Terms.version, TermsAcceptance.accepted_at
    ).join(TermsAcceptance, TermsAcceptance.terms_id == Terms.id).join(Challenge, Challenge.id == Terms.challenge_id).where(
        TermsAcceptance.user_id == user_id
    )  # fmt: skip
    yield "uploads", select(
        func.row_number().over(order_by=(Upload.started_at, Upload.id)).label("id"), Upload.id.label("upload"),
        Challenge.code.label("challenge"), Phase.image_set, Upload.filename, Upload.received, Upload.state,
        Upload.started_at,
    ).join(Phase, Phase.id == Upload.phase_id).join(Challenge, Challenge.id == Phase.challenge_id).where(
        Upload.user_id == user_id
    )  # fmt: skip
    yield "submissions", select(
        Submission.id, Challenge.code.label("challenge"), Phase.image_set, Method.name.label("method"), Method.title,
        Method.description, Submission.upload_id, Submission.training, Submission.created_at,
    ).join(Phase, Phase.id == Submission.phase_id).join(Challenge, Challenge.id == Phase.challenge_id).join(
        Method, Method.id == Submission.method_id
    ).where(Submission.user_id == user_id)  # fmt: skip
    yield "actions", select(AuditRecord.id, AuditRecord.at, AuditRecord.action, AuditRecord.subject).where(
        AuditRecord.user_id == user_id
    )  # fmt: skip


def rows_after(session: Session, statement: Select[*tuple[Any, ...]], last: int) -> list[dict[str, Any]]:
    """The next rows of a list of an export."""
    rows = statement.subquery()
    page = select(rows).where(rows.c.id > last).order_by(rows.c.id).limit(PAGE)
    return [dict(row) for row in session.execute(page).mappings()]


KEEP_UNCONFIRMED = timedelta(days=30)  # accounts whose address nobody confirms
BATCH = 100  # accounts of one sweep


def profile(platform: Platform, actor: Actor) -> Profile:
    """What the person says of themselves."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = person(session, actor.user_id)
        assert user is not None
        return Profile(name=user.name, affiliation=user.affiliation, homepage=user.homepage, orcid=user.orcid)


def change(platform: Platform, actor: Actor, new: Profile) -> None:
    """Change what the person says of themselves; names of teams stay as they are."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = person(session, actor.user_id)
        assert user is not None
        user.name, user.affiliation = new.name, new.affiliation
        user.homepage, user.orcid = new.homepage, new.orcid


def own_results(platform: Platform, actor: Actor) -> tuple[OwnResults, ...]:
    """What the person's teams have on boards."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        return select_own_results(session, actor.user_id)


def export(platform: Platform, actor: Actor) -> Iterator[str]:
    """Everything that is stored of the person, as JSON in pieces; each is a short transaction of its own.

    A token gets what it may read anyway: nothing of how the account is entered, and no e-mail address.
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
    """End an account: whatever names the person or opens the account is erased, results stay or go as they choose.

    Public results stay, because boards and papers refer to them; with ERASE they name nobody.
    Raises WrongPasswordError, BusyError, and ConflictError for the last admin.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = person(session, actor.user_id)
        known = user.password_hash if user else None
        withdrawable = withdrawable_results(session, actor.user_id)
        conflict = deletion_conflict(actor.user_id, lock_admins(session, platform.settings))
    check_owner(actor, form.password, known)
    if conflict is not None:
        raise conflict
    if form.results is ResultsChoice.ERASE:
        for result_id in withdrawable:
            _withdraw(platform, actor, result_id)
    with platform.transaction() as session:
        _delete(session, platform.settings, actor.user_id, form.results)
    platform.cache.forget_versions()
    platform.notifier.wake_workers(Queue.MAIL)


def _withdraw(platform: Platform, actor: Actor, result_id: int) -> None:
    try:
        withdrawing.withdraw(platform, actor, result_id, "the account was deleted")
    except (ConflictError, NotFoundError):  # it ended otherwise in the meantime
        return


def sweep(platform: Platform) -> int:
    """End accounts whose address was not confirmed in time; how many. Nobody can log in to them any more."""
    with platform.transaction() as session:
        due = unconfirmed(session, KEEP_UNCONFIRMED, BATCH)
    for user_id in due:
        with platform.transaction() as session:
            _delete(session, platform.settings, user_id, ResultsChoice.KEEP)
    return len(due)


def _delete(session: Session, settings: LoginSettings, user_id: int, results: ResultsChoice) -> None:
    conflict = deletion_conflict(user_id, lock_admins(session, settings))
    if conflict is not None:
        raise conflict
    user = person(session, user_id)
    if user is None:
        return
    alone = own_teams(session, user_id)
    teams.leave_every_team(session, user_id)
    if results is ResultsChoice.ERASE:
        for team_id in alone:
            erase_team(session, team_id, erased_name(team_id, team_names(session, team_id)))
    mail.tell_owner(session, Letter.ACCOUNT_DELETED, user)
    erase_person(session, user)
    audit.record(session, user_id, "account.delete", f"person {user_id}", details={"results": results.value})
