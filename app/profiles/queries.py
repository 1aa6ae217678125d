"""Everything that the database has of a person."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, and_, case, delete, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.login_settings import LoginSettings
from app.methods.rules import NAMES_PEOPLE
from app.models import (
    ApiToken,
    AuditRecord,
    Base,
    Edition,
    EditionOrganiser,
    Entry,
    EntryState,
    Identity,
    LoginSession,
    MailRequest,
    Member,
    Method,
    Phase,
    Role,
    Submission,
    Team,
    Terms,
    TermsAcceptance,
    Upload,
    User,
)
from app.names import lookalike_key
from app.profiles.schemas import OwnResults
from app.sessions.queries import can_log_in

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


def own_results(session: Session, user_id: int) -> tuple[OwnResults, ...]:
    """The teams of a person with what they have on boards."""
    counted = and_(Entry.method_id == Method.id, Entry.state.in_((EntryState.PENDING, EntryState.SCORED)))
    private = func.count(case((Method.public_at.is_(None), Entry.id)))
    public = func.count(case((Method.public_at.is_not(None), Entry.id)))
    statement = (
        select(Team.name, Edition.title, _is_alone(user_id), private, public)
        .join(Member, and_(Member.team_id == Team.id, Member.user_id == user_id))
        .join(Edition, Edition.id == Team.edition_id)
        .outerjoin(Method, Method.team_id == Team.id)
        .outerjoin(Entry, counted)
        .group_by(Team.id, Edition.id)
        .order_by(Edition.id.desc())
    )
    return tuple(OwnResults(*row) for row in session.execute(statement))


def own_teams(session: Session, user_id: int) -> list[int]:
    """The teams that nobody else is in."""
    theirs = select(Member.team_id).where(Member.user_id == user_id)
    return list(session.scalars(select(Team.id).where(Team.id.in_(theirs), _is_alone(user_id))))


def withdrawable(session: Session, user_id: int) -> list[int]:
    """The private results of teams that nobody else is in."""
    statement = (
        select(Entry.id)
        .join(Method, Method.id == Entry.method_id)
        .where(
            Method.team_id.in_(own_teams(session, user_id)),
            Method.public_at.is_(None),
            Entry.state.in_((EntryState.PENDING, EntryState.SCORED)),
        )
    )
    return list(session.scalars(statement.order_by(Entry.id)))


def team_names(session: Session, team_id: int) -> list[str]:
    """The names of the teams in the same edition that begin like the name of an erased one."""
    edition = select(Team.edition_id).where(Team.id == team_id).scalar_subquery()
    like = or_(Team.name == f"Team {team_id}", Team.name.startswith(f"Team {team_id}-"))
    return list(
        session.scalars(select(Team.name).where(Team.edition_id == edition, like, Team.id != team_id))
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
        User.id.not_in(select(EditionOrganiser.user_id)),
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
        Team.id, Team.name, Edition.code.label("edition"), Member.is_owner, Member.is_named, Member.joined_at
    ).join(Member, Member.team_id == Team.id).join(Edition, Edition.id == Team.edition_id).where(
        Member.user_id == user_id
    )  # fmt: skip
    yield "terms", select(
        Terms.id, Edition.code.label("edition"), Terms.version, TermsAcceptance.accepted_at
    ).join(TermsAcceptance, TermsAcceptance.terms_id == Terms.id).join(Edition, Edition.id == Terms.edition_id).where(
        TermsAcceptance.user_id == user_id
    )  # fmt: skip
    yield "uploads", select(
        func.row_number().over(order_by=(Upload.started_at, Upload.id)).label("id"), Upload.id.label("upload"),
        Edition.code.label("edition"), Phase.image_set, Upload.filename, Upload.received, Upload.state,
        Upload.started_at,
    ).join(Phase, Phase.id == Upload.phase_id).join(Edition, Edition.id == Phase.edition_id).where(
        Upload.user_id == user_id
    )  # fmt: skip
    yield "submissions", select(
        Submission.id, Edition.code.label("edition"), Phase.image_set, Method.name.label("method"), Method.title,
        Method.description, Submission.upload_id, Submission.training, Submission.created_at,
    ).join(Phase, Phase.id == Submission.phase_id).join(Edition, Edition.id == Phase.edition_id).join(
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
