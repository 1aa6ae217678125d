"""Choosing one of the teams of a challenge in a form, however many there are."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.models import Team

MOST_LISTED: Final = 200


@dataclass(frozen=True, slots=True)
class TeamChoice:
    """Names of teams to choose from. more: teams that are not listed; part: what was typed and stands in all of these names."""

    names: tuple[str, ...] = ()
    more: int = 0
    part: str = ""


def team_choice(session: Session, challenge_id: int, typed: str = "") -> TeamChoice:
    """Return the teams of a challenge; if one of them is not called as was typed, those with that in their names."""
    everybody = _choice(session, challenge_id, "")
    if not typed or typed in everybody.names or _choice(session, challenge_id, typed, exactly=True).names:
        return everybody
    found = _choice(session, challenge_id, typed)
    return found if found.names else everybody


def _choice(session: Session, challenge_id: int, part: str, *, exactly: bool = False) -> TeamChoice:
    matches = Team.name == part if exactly else Team.name.icontains(part, autoescape=True)
    which = (Team.challenge_id == challenge_id, matches)
    statement = select(Team.name).where(*which).order_by(func.lower(Team.name), Team.id).limit(MOST_LISTED)
    names = tuple(session.scalars(statement))
    count = session.scalar(select(func.count()).select_from(Team).where(*which)) or 0
    return TeamChoice(names, count - len(names), part)
