"""Statements sent to the database while a page is rendered."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from app.platform import Platform


@contextmanager
def asked(platform: Platform, *, of_site: bool = False) -> Iterator[list[str]]:
    """The statements sent to the database inside the block; those about the site, twice a minute, only if `of_site`."""
    found: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if of_site or "FROM site" not in statement:
            found.append(statement)

    event.listen(platform.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(platform.engine, "before_cursor_execute", note)
