"""Anonymous links in the database."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.orm import Session

from app.access import Action, Actor
from app.editions.queries import is_past_embargo
from app.memberships.queries import is_shown
from app.models import AnonymousLink, Entry, Method, Phase, Run
from app.visibility import rows_for


@dataclass(frozen=True, slots=True)
class LinkedEntry:
    """A result with the method that it belongs to."""

    entry: Entry
    method: Method
    phase: Phase


def linkable_entry(session: Session, actor: Actor, entry_id: int) -> LinkedEntry | None:
    """An entry whose anonymous links somebody may manage."""
    return _linked(session, _linkable(actor, Entry.id == entry_id))


def lock_linkable_entry(session: Session, actor: Actor, entry_id: int) -> LinkedEntry | None:
    """The same, locked, so that nobody makes too many links at once."""
    return _linked(session, _linkable(actor, Entry.id == entry_id).with_for_update(of=Entry))


def lock_entry_of_link(session: Session, actor: Actor, link_id: int) -> LinkedEntry | None:
    """The entry of a link that somebody may manage, locked."""
    of_link = select(AnonymousLink.entry_id).where(AnonymousLink.id == link_id).scalar_subquery()
    return _linked(session, _linkable(actor, Entry.id == of_link).with_for_update(of=Entry))


def _linkable(actor: Actor, which: ColumnElement[bool]) -> Select[Entry, Method, Phase]:
    return (
        select(Entry, Method, Phase)
        .join(Method, Entry.method_id == Method.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .where(which, rows_for(actor, Action.LINK, team=Method.team_id))
    )


def _linked(session: Session, statement: Select[Entry, Method, Phase]) -> LinkedEntry | None:
    row = session.execute(statement).one_or_none()
    return LinkedEntry(*row) if row else None


def links_of(session: Session, entry_id: int) -> list[AnonymousLink]:
    """The links of an entry, newest first."""
    statement = select(AnonymousLink).where(AnonymousLink.entry_id == entry_id)
    return list(session.scalars(statement.order_by(AnonymousLink.id.desc())))


def linked_run(session: Session, token: str) -> tuple[AnonymousLink, Run, Entry, Phase, Method] | None:
    """What a link shows: nothing if it was revoked, under an embargo, and of a suspended team whose results are hidden."""
    statement: Select[AnonymousLink, Run, Entry, Phase, Method] = (
        select(AnonymousLink, Run, Entry, Phase, Method)
        .join(Run, AnonymousLink.run_id == Run.id)
        .join(Entry, AnonymousLink.entry_id == Entry.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .join(Method, Entry.method_id == Method.id)
        .where(
            AnonymousLink.token == token,
            AnonymousLink.revoked_at.is_(None),
            is_past_embargo(Phase.id),
            is_shown(Method.team_id),
        )
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1], row[2], row[3], row[4]) if row else None
