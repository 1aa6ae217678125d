"""Teams and their members in the database."""

from sqlalchemy import (
    ColumnElement,
    Select,
    SQLColumnExpression,
    and_,
    delete,
    func,
    not_,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from app.access import Actor
from app.jobs import queue
from app.memberships.rules import Place, Standing
from app.memberships.schemas import MemberPage, MemberView, OwnTeam
from app.models import (
    Approval,
    Edition,
    Entry,
    EntryState,
    Invitation,
    Member,
    Method,
    Phase,
    Submission,
    Team,
    Upload,
    User,
)
from app.names import lookalike_key

PAGE = 200  # members of a team


def team_in(session: Session, user_id: int | None, edition_id: int) -> int | None:
    """The team of a person in an edition."""
    statement = select(Member.team_id).where(Member.user_id == user_id, Member.edition_id == edition_id)
    return session.scalar(statement)


def teams_now(actor: Actor) -> Select[int]:
    """The reader's teams at the time of the query, also those that were made since the request began."""
    return select(Member.team_id).where(Member.user_id == actor.user_id)


def lock_person(session: Session, user_id: int) -> User:
    """A person, locked so that one change of their memberships passes at a time; locked before any team."""
    return session.get_one(User, user_id, with_for_update={"key_share": True})


def lock_team(session: Session, team_id: int) -> Team | None:
    """A team, locked so that one change of it, and one confirmation, passes at a time; rows that refer to it are not held up."""
    return session.scalar(select(Team).where(Team.id == team_id).with_for_update(key_share=True))


def lock_teams(session: Session, team_ids: set[int]) -> None:
    """Lock several teams, in the order that everybody keeps to."""
    session.execute(
        select(Team.id).where(Team.id.in_(team_ids)).order_by(Team.id).with_for_update(key_share=True)
    )


def member(session: Session, team_id: int, user_id: int | None) -> Member | None:
    """A person's membership of a team."""
    return session.scalar(select(Member).where(Member.team_id == team_id, Member.user_id == user_id))


def has_members(team: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Whether anybody is in a team."""
    return select(Member.user_id).where(Member.team_id == team).exists()


def is_erased(session: Session, team_id: int) -> bool:
    """Whether a team was left without a name when its last member's account was deleted (`erased_name`)."""
    name = f"Team {team_id}"
    has_none = or_(Team.name == name, Team.name.startswith(f"{name}-"))
    erased = select(Team.id).where(Team.id == team_id, has_none, not_(has_members(Team.id)))
    return session.scalar(erased) is not None


def add_team(session: Session, edition_id: int, name: str, affiliation: str = "") -> int | None:
    """A new team of this name; none where the edition has one whose name looks the same."""
    waits = session.scalar(select(Edition.approves_teams).where(Edition.id == edition_id))
    statement = insert(Team).values(
        edition_id=edition_id,
        name=name,
        name_key=lookalike_key(name),
        affiliation=affiliation,
        approval=Approval.WAITING if waits else Approval.APPROVED,
    )
    return session.scalar(statement.on_conflict_do_nothing().returning(Team.id))


def standing(session: Session, team_id: int | None) -> Standing | None:
    """What organisers have decided about a team."""
    statement = select(Team, Edition.approves_teams).join(Edition).where(Team.id == team_id)
    row = session.execute(statement).one_or_none()
    return _standing(*row) if row else None


def _standing(team: Team, needs_approval: bool) -> Standing:  # noqa: FBT001 - a column
    return Standing(
        name=team.name,
        needs_approval=needs_approval,
        approval=team.approval,
        approval_reason=team.approval_reason,
        is_suspended=team.suspended_at is not None,
        suspension_reason=team.suspension_reason,
    )


def place_in(session: Session, user_id: int | None, edition_id: int) -> Place | None:
    """The team of a person in an edition, with what counts for leaving it."""
    mine, other = Member, aliased(Member)
    others = select(func.count()).where(other.team_id == mine.team_id, other.user_id != mine.user_id)
    statement = (
        select(
            mine.team_id,
            mine.is_owner,
            others.where(other.is_owner).correlate(mine).scalar_subquery(),
            others.correlate(mine).scalar_subquery(),
        ).where(mine.user_id == user_id, mine.edition_id == edition_id)
    )  # fmt: skip
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    team_id, is_owner, other_owners, others_count = row
    found = standing(session, team_id)
    assert found is not None
    return Place(team_id, found, is_owner, other_owners, others_count)


def longest_member(session: Session, team_id: int, but: int) -> Member | None:
    """Who has been in a team for longest, apart from one person."""
    statement = select(Member).where(Member.team_id == team_id, Member.user_id != but)
    return session.scalar(statement.order_by(Member.joined_at, Member.user_id).limit(1))


def teams_of(session: Session, user_id: int | None) -> tuple[OwnTeam, ...]:
    """The teams of a person, of the newest edition first."""
    every = aliased(Member)
    members = select(func.count()).where(every.team_id == Team.id).correlate(Team).scalar_subquery()
    statement = (
        select(Team, Edition, members, Member.is_owner, Member.is_named)
        .join(Member, Member.team_id == Team.id)
        .join(Edition, Team.edition_id == Edition.id)
        .where(Member.user_id == user_id)
        .order_by(Edition.id.desc())
    )
    return tuple(
        OwnTeam(
            id=team.id,
            name=team.name,
            edition=edition.code,
            edition_title=edition.title,
            members=count,
            is_owner=is_owner,
            is_named=is_named,
            approval=team.approval if edition.approves_teams else None,
            is_suspended=team.suspended_at is not None,
        )
        for team, edition, count, is_owner, is_named in session.execute(statement)
    )


def members_of(session: Session, team_id: int, *, only_named: bool, after: int | None = None) -> MemberPage:
    """A page of the members of a team, owners first, then by when they joined.

    only_named: those who agreed to be named; after: the person behind whom it begins, if that is one of those listed.
    """
    listed = [Member.team_id == team_id, *([Member.is_named] if only_named else [])]
    order = (~Member.is_owner, Member.joined_at, Member.user_id)
    last = session.execute(select(*order).where(*listed, Member.user_id == after)).one_or_none()
    statement = (
        select(
            User.id, User.name, Member.is_owner, Member.is_named, Member.joined_at, User.affiliation, User.homepage, User.orcid
        )
        .join(Member, Member.user_id == User.id)
        .where(*listed, *([tuple_(*order) > tuple_(*last)] if last else []))
        .order_by(*order)
        .limit(PAGE + 1)
    )  # fmt: skip
    found = tuple(MemberView(*row) for row in session.execute(statement))
    return MemberPage(found[:PAGE], found[PAGE - 1].id if len(found) > PAGE else None)


def count_members(session: Session, team_id: int) -> int:
    """How many members a team has."""
    return session.scalar(select(func.count()).where(Member.team_id == team_id)) or 0


def remove_member(session: Session, team_id: int, user_id: int) -> None:
    """End a membership, and the invitations that this member made."""
    session.execute(delete(Member).where(Member.team_id == team_id, Member.user_id == user_id))
    revoke_invitations(session, Invitation.team_id == team_id, Invitation.created_by == user_id)


def revoke_invitations(session: Session, *which: ColumnElement[bool]) -> None:
    """Revoke the invitations, of those that conditions name, which have not been revoked yet."""
    open_ones = update(Invitation).where(Invitation.revoked_at.is_(None), *which)
    session.execute(open_ones.values(revoked_at=func.now()))


def _unconfirmed(user_id: int, edition_id: int) -> tuple[ColumnElement[bool], ...]:
    phases = select(Phase.id).where(Phase.edition_id == edition_id)
    is_confirmed = select(Submission.id).where(Submission.upload_id == Upload.id).exists()
    return Upload.user_id == user_id, Upload.phase_id.in_(phases), ~is_confirmed


def has_unconfirmed(session: Session, user_id: int, edition_id: int) -> bool:
    """Whether a person has uploads in an edition that are not confirmed."""
    return session.scalar(select(Upload.id).where(*_unconfirmed(user_id, edition_id)).limit(1)) is not None


def move_uploads(session: Session, user_id: int, edition_id: int, team_id: int) -> None:
    """Give a person's unconfirmed uploads of an edition to this team; what is confirmed stays where it is."""
    session.execute(update(Upload).where(*_unconfirmed(user_id, edition_id)).values(team_id=team_id))


def delete_if_unused(session: Session, team_id: int) -> bool:
    """Delete a team without members, unless something was made in its name; whether it is gone."""
    used = [select(each.team_id).where(each.team_id == team_id).exists() for each in (Member, Method, Upload)]
    unused = delete(Team).where(Team.id == team_id, and_(*(~each for each in used)))
    return session.scalar(unused.returning(Team.id)) is not None


def is_shown(team: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Whether the public results of a team are shown; organisers may hide those of a suspended one."""
    return team.not_in(select(Team.id).where(Team.hides_results))


def is_public() -> ColumnElement[bool]:
    """Whether everybody may see a method; for statements that have Method."""
    return and_(Method.public_at.is_not(None), is_shown(Method.team_id))


def has_public_result(session: Session, team_id: int) -> bool:
    """Whether everybody sees a result of this team, or would if organisers did not hide it."""
    statement = (
        select(Entry.id)
        .join(Method, Entry.method_id == Method.id)
        .where(Method.team_id == team_id, Method.public_at.is_not(None), Entry.state == EntryState.SCORED)
    )
    return session.scalar(statement.limit(1)) is not None


def mark_changed(session: Session, team_id: int) -> None:
    """Let boards be made anew that show methods of this team."""
    theirs = update(Method).where(Method.team_id == team_id)
    session.execute(theirs.values(revision=Method.revision + 1))
    queue.add_boards(session, Entry.method_id.in_(select(Method.id).where(Method.team_id == team_id)))
