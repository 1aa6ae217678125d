"""The base of all tables: naming conventions, column types, enumerations."""

import enum
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, DateTime, Enum, Interval, LargeBinary, MetaData, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Role(enum.StrEnum):
    """The role of a person on this server; organisers of challenges have their own table."""

    PARTICIPANT = "participant"
    ADMIN = "admin"


class ChallengeRole(enum.StrEnum):
    """What a person may do on the organisers' pages of a challenge, from most to least."""

    OWNER = "owner"  # everything, also removing people, naming owners and releasing ground truth
    ORGANISER = "organiser"
    VIEWER = "viewer"  # reads, without addresses, archives and hidden values


class Approval(enum.StrEnum):
    """An organiser's decision about a team, in challenges that require approval."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"


class Disclosure(enum.StrEnum):
    """What participants see of scores until a phase is over; all but `FULL` are for held-out annotation."""

    FULL = "full"  # the annotation is public: every digit, curves, counts
    CLASSES = "classes"  # each class and the mean, three decimals
    MEAN = "mean"  # the mean alone, three decimals
    LADDER = "ladder"  # a new mean only if it beats the team's best by a standard error
    AT_CLOSE = "at close"  # nothing

    @property
    def is_held_out(self) -> bool:
        """Whether the annotation is hidden, so that every score reveals something of it."""
        return self is not Disclosure.FULL


class ChallengeVisibility(enum.StrEnum):
    """Who can see a challenge and everything that belongs to it."""

    DRAFT = "draft"  # its organisers and admins
    LISTED = "listed"  # everybody
    LINK = "by link"  # everybody who has its address; it is in no list, feed or search
    INVITED = "invited"  # people with an invitation


class CreationRule(enum.StrEnum):
    """Who may create challenges."""

    ADMINS = "admins"
    NAMED = "named people"  # and admins
    APPROVAL = "after approval"  # everybody whose request an admin has approved, named people, and admins


class QuestionKind(enum.StrEnum):
    """What a question about a method is answered with."""

    YES_NO = "yes or no"
    CHOICE = "choice"
    NUMBER = "number"
    TEXT = "text"
    LINK = "link"


class UploadState(enum.StrEnum):
    """The state of an upload; in the last two, its bytes have been removed."""

    RECEIVING = "receiving"
    RECEIVED = "received"
    CHECKED = "checked"
    REJECTED = "rejected"  # wrong checksum
    EXPIRED = "expired"  # removed by the retention rules


class RunState(enum.StrEnum):
    """The state of a run; the last four are final."""

    QUEUED = "queued"
    RUNNING = "running"
    SCORED = "scored"
    REFUSED = "refused"  # the participant's error: the message says what to fix
    FAILED = "failed"  # our error: does not count against quotas
    ABANDONED = "abandoned"  # its re-scoring was abandoned, or its result withdrawn


class ResultState(enum.StrEnum):
    """The state of a result."""

    PENDING = "pending"
    SCORED = "scored"
    REFUSED = "refused"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"  # by a newer result of its method; only if the annotation is open


class Decision(enum.StrEnum):
    """An organiser's decision about a result that a re-scoring could not score."""

    KEEP = "keep"
    WITHDRAW = "withdraw"


class ImageMode(enum.StrEnum):
    """Where workers read the images of a phase from."""

    LINK = "link"  # the imported folder
    COPY = "copy"  # the private store


class FileKind(enum.StrEnum):
    """What a file of a data set contains."""

    IMAGES = "images"
    ANNOTATION = "annotation"
    BOTH = "images, annotation"
    CODE = "code"
    OTHER = "other"


class Audience(enum.StrEnum):
    """Who may download a file once it is available; organisers always may."""

    EVERYBODY = "everybody"
    TERMS = "terms accepted"  # people who are logged in and have accepted the current terms, if there are any
    TEAMS = "approved teams"  # of these, the members of teams that are approved and not suspended


class IntakeState(enum.StrEnum):
    """The state of a data set that an organiser sends."""

    RECEIVING = "receiving"
    RECEIVED = "received"  # a worker will read it
    READING = "reading"
    READ = "read"  # and can be applied
    INVALID = "invalid"  # the report says why
    FAILED = "failed"  # for another reason than what is in it
    CANCELLED = "cancelled"
    APPLYING = "applying"
    APPLIED = "applied"


class IntakeRole(enum.StrEnum):
    """What a file of a data set contains."""

    IMAGES = "images"
    PUBLIC = "public"  # annotation that anyone may see
    HIDDEN = "hidden"  # annotation that stays with the workers


class PhaseMoment(enum.StrEnum):
    """A date of a phase that a file's availability follows."""

    OPENING = "opening"
    CLOSING = "closing"


class Queue(enum.StrEnum):
    """Queues of jobs. A sender takes the first two, workers the others in this order."""

    MAIL = "mail"
    WEBHOOKS = "webhooks"
    ORGANISING = "organising"  # what an organiser waits for: reading a data set, applying it
    RUNS = "runs"
    FOLLOW_UPS = "follow-ups"  # work after scoring that may come later: intervals, figures, images


class JobKind(enum.StrEnum):
    """What a job does."""

    RUN = "run"
    BOARD = "board"  # figures and groups of a leaderboard
    INTERVALS = "intervals"
    ANALYSIS = "analysis"
    SIMILARITY = "similarity"
    MAIL = "mail"
    PICTURES = "pictures"
    OVERLAYS = "overlays"
    NOTIFY = "notify"  # people, of recorded events
    INTAKE = "intake"  # read a data set, or apply it
    INTAKE_PICTURES = "data set pictures"  # draw some of hidden annotation for whoever asks
    TRUTH_COPY = "ground truth copy"  # go back to an earlier version
    VERSION_DIFF = "version diff"  # what changed between two versions of ground truth
    DRAWN_DIFF = "drawn version diff"  # some of it drawn over pictures for whoever asks
    LABEL_SCENE = "label scene"  # an image with its labels for whoever asks
    LABEL_PREVIEW = "label preview"  # what somebody's corrected labels change
    TRIALS = "trials"  # make up results of a ground truth, and score them
    NOTIFICATION_MAIL = "notification mail"
    WEBHOOK = "webhook"
    KIT = "kit"  # the files of a challenge's public annotation, and its development kit


class EventKind(enum.StrEnum):
    """What people are notified of; `notifications/kinds.py` says whom, and how."""

    SCORED = "submission scored"
    INVALID = "upload invalid"
    REFUSED = "submission refused"  # the scorer found what the check could not see
    FAILED = "submission failed"  # our error
    WAITS = "submission waits"  # for stored content that is damaged
    RESCORED = "score changed"  # by a re-scoring
    PUBLISHED = "method published"
    DEADLINE = "deadline near"
    OPENED = "phase opened"
    CLOSED = "phase closed"
    EXTENDED = "deadline moved"
    ANNOUNCEMENT = "announcement"
    ANSWER = "question answered"
    MESSAGE = "message of organisers"
    INVITATION = "team invitation"
    TEAM_APPROVED = "team approved"
    TEAM_REFUSED = "team refused"
    TEAM_SUSPENDED = "team suspended"
    TERMS_CHANGED = "terms changed"
    DECISION = "decision of organisers"  # about a submission or a method
    QUOTA = "quota changed"  # by organisers
    UPLOAD_OUTDATED = (
        "upload outdated"  # checked by another version of the annotation than the boards show now
    )
    HOOK_OFF = "webhook off"
    LABEL_ANSWER = "label report closed"  # for whoever reported it
    QUESTION = "question asked"  # from here on for organisers
    LABELS_REPORTED = "labels reported"
    RUNS_FAILED = "runs failed"
    TEAM_WAITS = "team waits for approval"
    DATA_SET_READ = "data set read"
    TRUTH_READY = "ground truth ready"  # imported, or on the boards
    PREVIEW = "preview of scores"  # waits for organisers to publish it, or was discarded
    DATA_SET_EXPIRES = "data set expires"
    OUTAGE = "outage near a deadline"  # of the release before
    STORAGE_LOW = "storage low"  # from here on for admins
    BACKUP_OLD = "backup old"
    WORKER_AWAY = "no worker"
    INTAKE_KEY = "key of data sets"  # the one in the database is none of the workers'
    MAIL_FAILS = "mail fails"


class ServicePart(enum.StrEnum):
    """What people need of an installation, each of which can be unavailable."""

    UPLOADS = "uploads"  # and their checks, and everything else that needs database and storage
    SCORING = "scoring"


class AskingPlace(enum.StrEnum):
    """Where the organisers of a challenge are asked."""

    HERE = "here"
    FORUM = "forum"  # on another site
    NOWHERE = "nowhere"


class PicturesFrom(enum.StrEnum):
    """Where participants get the pictures of a challenge."""

    HERE = "here"  # the archive that the server makes of the images of each phase
    FILES = "files"  # that the organisers offer
    ELSEWHERE = "elsewhere"  # an address on another site


class LabelProblem(enum.StrEnum):
    """What is wrong with a label of an image, as whoever reports it says."""

    CLASS = "wrong class"
    BOX = "wrong box"
    MISSING = "object missing"
    OTHER = "other"


class ThreadState(enum.StrEnum):
    """Whose turn it is in a question to the organisers."""

    OPEN = "open"  # the organisers'
    ANSWERED = "answered"
    CLOSED = "closed"  # by an organiser: it takes no more messages


class MessageAudience(enum.StrEnum):
    """The teams to which organisers send a message; only those that have members."""

    ALL = "all teams"
    NOT_SUBMITTED = "uploaded only"  # to a phase, without submitting anything to it
    RESULT = "have a result"  # in a competition of a phase, scored or on its way
    TEAM = "one team"


class Service(enum.StrEnum):
    """Kinds of processes that send heartbeats."""

    WORKER = "worker"
    SWEEPER = "sweeper"
    SENDER = "sender"


def enum_type(kind: type[enum.StrEnum], name: str = "", *, length: int = 20, is_open: bool = False) -> Enum:
    """Return the type of a column; a table with several columns of this kind needs a name for each.

    is_open: the database accepts any word, so that a new member needs no migration.
    """
    return Enum(
        kind,
        native_enum=False,
        length=length,
        create_constraint=not is_open,
        name=name or kind.__name__.lower(),
        values_callable=lambda kind: [member.value for member in kind],
    )


TYPES: dict[Any, Any] = {
    datetime: DateTime(timezone=True),
    timedelta: Interval(),
    bytes: LargeBinary(),
    dict[str, Any]: JSONB(),
    list[int]: JSONB(none_as_null=True),
    list[str]: JSONB(none_as_null=True),
    list[dict[str, Any]]: JSONB(none_as_null=True),
    **{  # enumerations are stored as their values, so that plain SQL is readable
        kind: enum_type(kind)
        for kind in (
            Role,
            Approval,
            Disclosure,
            QuestionKind,
            UploadState,
            RunState,
            ResultState,
            Decision,
            ImageMode,
            FileKind,
            Audience,
            AskingPlace,
            LabelProblem,
            ThreadState,
            MessageAudience,
        )
    },
    ChallengeRole: enum_type(ChallengeRole, is_open=True),
    JobKind: enum_type(JobKind, is_open=True),
    Queue: enum_type(Queue, is_open=True),
    Service: enum_type(Service, is_open=True),
    ChallengeVisibility: enum_type(ChallengeVisibility, is_open=True),
    PicturesFrom: enum_type(PicturesFrom, is_open=True),
    CreationRule: enum_type(CreationRule, is_open=True),
    ServicePart: enum_type(ServicePart, is_open=True),
    EventKind: enum_type(EventKind, length=40, is_open=True),
}


class Base(DeclarativeBase):
    """The base class of all tables; it names constraints, so that migrations can refer to them."""

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
    """Return an auto-incremented primary key column."""
    return mapped_column(BigInteger, primary_key=True)


def now_column() -> Mapped[datetime]:
    """Return a column with the database's time when the row was inserted."""
    return mapped_column(server_default=func.now())
