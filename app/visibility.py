"""Which rows somebody may do something to: the table of permissions as a condition of a query."""

from collections.abc import Mapping
from types import MappingProxyType

from sqlalchemy import ColumnElement, and_, false, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute

from app.access import PERMISSIONS, Action, Actor, Relation, State
from app.models import Member

Number = InstrumentedAttribute[int] | InstrumentedAttribute[int | None]
NO_STATES: Mapping[State, ColumnElement[bool]] = MappingProxyType({})


def rows_for(
    actor: Actor,
    action: Action,
    *,
    team: Number | None = None,
    edition: Number | None = None,
    states: Mapping[State, ColumnElement[bool]] = NO_STATES,
) -> ColumnElement[bool]:
    """The rows that `actor` may do `action` to, being in the teams that they are in at the time of the query.

    team, edition: the columns of the team and of the edition that a row belongs to, where it does; states: what tells
    that a row is in a state, where the table of permissions asks for it; a row can be in several.
    """
    if not states:
        [relations] = set(PERMISSIONS[action].values())
        return _relates(actor, relations, team, edition)
    return or_(
        *(
            and_(states[state], _relates(actor, relations, team, edition))
            for state, relations in PERMISSIONS[action].items()
        )
    )


def _relates(
    actor: Actor, relations: frozenset[Relation], team: Number | None, edition: Number | None
) -> ColumnElement[bool]:
    """Whether the actor stands to a row in one of these relations."""
    found: list[ColumnElement[bool]] = [false()]
    if (
        Relation.ANYBODY in relations
        or (Relation.PERSON in relations and actor.is_logged_in)
        or (relations & {Relation.ADMIN, Relation.ORGANISER} and actor.is_admin)
    ):
        return true()
    if Relation.MEMBER in relations and team is not None and actor.is_logged_in:
        found.append(team.in_(select(Member.team_id).where(Member.user_id == actor.user_id)))
    if Relation.ORGANISER in relations and edition is not None and actor.is_organiser:
        found.append(edition.in_(actor.organises))
    return or_(*found)
