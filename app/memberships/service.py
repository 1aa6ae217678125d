"""Teams, and how people come into them."""

import secrets
from collections.abc import Iterator

from sqlalchemy.orm import Session

from app.errors import ConflictError
from app.memberships import queries
from app.models import Member


def own_team(session: Session, user_id: int, edition_id: int) -> int:
    """The team of a person in an edition; who has none gets a team of one, named after them."""
    person = queries.lock_person(session, user_id)
    team_id = queries.team_in(session, user_id, edition_id)
    if team_id is not None:
        return team_id
    made = (queries.add_team(session, edition_id, name) for name in _names(person.name))
    team_id = next((each for each in made if each is not None), None)
    if team_id is None:
        raise ConflictError("No name is free for a team of your own; create one with another name")
    session.add(Member(team_id=team_id, user_id=user_id, edition_id=edition_id, is_owner=True))
    session.flush()
    return team_id


def _names(name: str) -> Iterator[str]:
    """Names for the team of one person: their own, then with a number."""
    yield name
    yield from (f"{name} {number}" for number in range(2, 6))
    yield f"{name} {secrets.token_hex(4)}"
