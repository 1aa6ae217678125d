"""Methods by their names, in the database."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.home.schemas import FoundMethod
from app.memberships.queries import is_public
from app.methods.rules import name_key
from app.models import Edition, Method


def methods_called(session: Session, words: str, limit: int) -> tuple[FoundMethod, ...]:
    """The public methods whose name cannot be told from these words, or begins with them, of the newest edition first."""
    key = name_key(words)
    if not key:
        return ()
    statement = (
        select(Method.id, Method.name, Method.title, Edition.title)
        .join(Edition, Method.edition_id == Edition.id)
        .where(Method.name_key.startswith(key, autoescape=True), is_public())
        .order_by(Edition.id.desc(), Method.name_key)
        .limit(limit)
    )
    return tuple(FoundMethod(*row) for row in session.execute(statement))
