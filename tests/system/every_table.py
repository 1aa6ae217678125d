"""A row in every table, generated from the models' columns."""

import enum
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Column, Connection, Table, func, insert, select

from app.models import Base, Challenge, Result

OF_TYPE: Final[dict[type, Any]] = {
    str: "x",
    int: 1,
    float: 0.5,
    bool: False,
    bytes: b"x",
    object: {},  # JSON
    datetime: datetime(2026, 11, 23, tzinfo=UTC),
    timedelta: timedelta(days=1),
    uuid.UUID: uuid.UUID(int=1),
}


SAID: Final[dict[str, tuple[dict[str, Any], ...]]] = {  # rows of tables with constraints over several columns
    "result": ({"competition": 1}, {"competition": 2}),
    "challenge_invitation": ({"domain": "example.org"},),
    "webhook": ({"challenge_id": select(func.min(Challenge.id)).scalar_subquery()},),
    "outage": ({"ended_at": datetime(2026, 11, 24, tzinfo=UTC)},),
    "alike_pair": (
        {
            "result_id": select(func.max(Result.id)).scalar_subquery(),
            "other_id": select(func.min(Result.id)).scalar_subquery(),
        },
    ),
}


def fill_empty_tables(connection: Connection) -> None:
    """Insert a row into each empty table, referenced tables first; raises IntegrityError if a row is rejected."""
    for table in Base.metadata.sorted_tables:
        if not connection.scalar(select(func.count()).select_from(table)):
            columns = [
                each for each in table.columns if _is_needed(each) and each is not table.autoincrement_column
            ]
            values = {column.name: _value(connection, table, column) for column in columns}
            for said in SAID.get(table.name, ({},)):
                connection.execute(insert(table).values(values | said))


def _is_needed(column: Column[Any]) -> bool:
    makes_itself = (column.default, column.server_default, column.identity)
    return not column.nullable and makes_itself == (None, None, None)


def _value(connection: Connection, table: Table, column: Column[Any]) -> Any:
    for key in column.foreign_keys:
        if key.column.table is not table:
            return connection.scalar(select(key.column).limit(1))
    kind = column.type.python_type
    return next(iter(kind)) if issubclass(kind, enum.Enum) else OF_TYPE[kind]
