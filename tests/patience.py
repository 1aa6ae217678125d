"""How long tests wait. What they wait for is usually over within a tenth of it, so that a busy machine makes nothing fail."""

from datetime import timedelta

from sqlalchemy import text
from sqlalchemy.orm import Session

LIMIT = 120  # seconds until a test gives up
START = timedelta(seconds=LIMIT)  # until a process is ready
HANGS = 60  # seconds for which a server, a receiver or a name hangs that is to be left before


def take_time(session: Session) -> None:
    """Let a transaction that adds thousands of rows for a test take longer than a request may."""
    session.execute(text("SET LOCAL statement_timeout = 0"))
