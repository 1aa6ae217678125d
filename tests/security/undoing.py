"""A platform whose changes can be undone, so that many requests can be tried on the same rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from app.platform import Platform


@dataclass(frozen=True, slots=True)
class UndonePlatform(Platform):
    """Within `undone` every transaction is a savepoint in one that is rolled back."""

    held: list[Connection] = field(default_factory=list)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A session as services expect it."""
        if not self.held:
            with Platform.transaction(self) as session:
                yield session
            return
        with (
            Session(
                self.held[-1], expire_on_commit=False, join_transaction_mode="create_savepoint"
            ) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """The same session, because only its connection sees what a request wrote."""
        with self.transaction() if self.held else Platform.reading(self) as session:
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        """The same session, because nobody else changes anything within one connection."""
        with self.transaction() if self.held else Platform.snapshot(self) as session:
            yield session

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Roll back everything that happens inside."""
        with self.engine.connect() as connection:
            transaction = connection.begin()
            self.held.append(connection)
            try:
                yield
            finally:
                self.held.pop()
                transaction.rollback()


def undone_platform(platform: Platform) -> UndonePlatform:
    """The same platform, with changes that can be undone."""
    return UndonePlatform(
        **{each.name: getattr(platform, each.name) for each in fields(Platform) if each.init}
    )
