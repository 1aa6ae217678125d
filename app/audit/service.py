"""Reading the audit."""

from app.access import Actor
from app.audit import queries
from app.audit.schemas import RecordPage, Search
from app.platform import Platform

PAGE = 50  # records


def page(platform: Platform, actor: Actor, search: Search) -> RecordPage:
    """A page of what somebody may read of the audit, newest first."""
    with platform.transaction() as session:
        found = queries.records(session, actor, search, PAGE + 1)
    return RecordPage(tuple(found[:PAGE]), found[PAGE - 1].id if len(found) > PAGE else None)
