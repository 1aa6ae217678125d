"""Confirming re-scorings for tests about something else: boards of a new ground truth switch by themselves then, as others do."""

from sqlalchemy import func, update

from app.models import Rescore
from app.platform import Platform


def confirm_rescores(platform: Platform) -> None:
    """Confirm all re-scorings that wait for an organiser, as if one had published their scores before they were there."""
    waiting = Rescore.confirmed_at.is_(None), Rescore.abandoned_at.is_(None)
    with platform.transaction() as session:
        session.execute(update(Rescore).where(*waiting).values(confirmed_at=func.now()))
