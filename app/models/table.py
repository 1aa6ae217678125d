"""What all tables share: names of constraints, types of columns."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, DateTime, Enum, Interval, LargeBinary, MetaData, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.models.states import (
    Approval,
    Decision,
    Disclosure,
    EntryState,
    ImageMode,
    JobKind,
    Queue,
    Role,
    RunState,
    Service,
    UploadState,
)

TYPES: dict[Any, Any] = {
    datetime: DateTime(timezone=True),
    timedelta: Interval(),
    bytes: LargeBinary(),
    dict[str, Any]: JSONB(),
    list[int]: JSONB(none_as_null=True),
    list[str]: JSONB(none_as_null=True),
    list[dict[str, Any]]: JSONB(),
    **{  # a state is stored as its word, so that plain SQL can be read
        kind: Enum(
            kind,
            native_enum=False,
            length=20,
            create_constraint=True,
            name=kind.__name__.lower(),
            values_callable=lambda words: [word.value for word in words],
        )
        for kind in (
            Role,
            Approval,
            Disclosure,
            UploadState,
            RunState,
            EntryState,
            Decision,
            ImageMode,
            Queue,
            JobKind,
            Service,
        )
    },
}


class Base(DeclarativeBase):
    """Names constraints, so that migrations can speak of them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = TYPES


def key_column() -> Mapped[int]:
    """An id that the database counts up."""
    return mapped_column(BigInteger, primary_key=True)


def now_column() -> Mapped[datetime]:
    """The database's time when the row was written."""
    return mapped_column(server_default=func.now())
