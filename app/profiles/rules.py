"""What an account may be changed to, and when it may end."""

from collections.abc import Iterable, Sequence

from app.errors import ConflictError


def deletion_conflict(user_id: int, admins: Sequence[int]) -> ConflictError | None:
    """Why an account may not end; none if it may.

    >>> str(deletion_conflict(7, [7]))
    'You are the last admin who can log in. Make somebody else an admin first'
    >>> deletion_conflict(7, [3, 7])
    """
    if list(admins) == [user_id]:
        return ConflictError("You are the last admin who can log in. Make somebody else an admin first")
    return None


def erased_name(team_id: int, taken: Iterable[str]) -> str:
    """A name for a team that says nothing of who was in it.

    >>> erased_name(7, []), erased_name(7, ["Team 7"])
    ('Team 7', 'Team 7-2')
    """
    known = set(taken)
    names = (f"Team {team_id}", *(f"Team {team_id}-{number}" for number in range(2, len(known) + 2)))
    return next(name for name in names if name not in known)
