"""What all tables share: names of constraints, types of columns."""

import enum
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, DateTime, Enum, Interval, LargeBinary, MetaData, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Role(enum.StrEnum):
    """The role of a person on this server; organisers are organisers of challenges and have rows of their own."""

    PARTICIPANT = "participant"
    ADMIN = "admin"


class Approval(enum.StrEnum):
    """What an organiser decided about a team, where the challenge asks for it."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"


class Disclosure(enum.StrEnum):
    """What participants see of scores until a phase is over; all but the first are for annotation that is held out."""

    FULL = "full"  # the annotation is public: every digit, curves, counts
    CLASSES = "classes"  # each class and the mean, three decimals
    MEAN = "mean"  # the mean alone, three decimals
    LADDER = "ladder"  # a new mean only where it beats the team's best by a standard error
    AT_CLOSE = "at close"  # nothing


class UploadState(enum.StrEnum):
    """How far the bytes have come; the last two hold no bytes any more."""

    RECEIVING = "receiving"
    RECEIVED = "received"
    CHECKED = "checked"
    REJECTED = "rejected"  # the bytes did not have the expected checksum
    EXPIRED = "expired"  # removed by the retention rules


class RunState(enum.StrEnum):
    """Where one scoring stands; the last four are final."""

    QUEUED = "queued"
    RUNNING = "running"
    SCORED = "scored"
    REFUSED = "refused"  # the participant's: the message says what to fix
    FAILED = "failed"  # ours: costs nothing
    ABANDONED = "abandoned"  # its re-scoring was abandoned, or its result withdrawn


class ResultState(enum.StrEnum):
    """Where a method's result in a competition stands."""

    PENDING = "pending"
    SCORED = "scored"
    REFUSED = "refused"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"  # by a newer result of its method; only where the annotation is open


class Decision(enum.StrEnum):
    """What an organiser decided about a result that a re-scoring could not score."""

    KEEP = "keep"
    WITHDRAW = "withdraw"


class ImageMode(enum.StrEnum):
    """Where workers read the pictures of a phase."""

    LINK = "link"  # in the folder that was imported
    COPY = "copy"  # in the private store


class Queue(enum.StrEnum):
    """Queues of jobs; their messages are sent to workers in this order."""

    MAIL = "mail"
    RUNS = "runs"
    FOLLOW_UPS = "follow-ups"  # what follows from a score and may come later: intervals, figures, pictures


class JobKind(enum.StrEnum):
    """What a job does."""

    RUN = "run"
    BOARD = "board"  # what boards show beside their rows
    INTERVALS = "intervals"
    ANALYSIS = "analysis"
    SIMILARITY = "similarity"
    MAIL = "mail"
    PICTURES = "pictures"
    OVERLAYS = "overlays"


class Service(enum.StrEnum):
    """Kinds of processes that report that they are alive."""

    WORKER = "worker"
    SWEEPER = "sweeper"


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
            ResultState,
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
