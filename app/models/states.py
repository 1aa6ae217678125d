"""The words of the schema: roles, disclosures, states."""

import enum


class Role(enum.StrEnum):
    """What a person is on this server."""

    PARTICIPANT = "participant"
    ORGANISER = "organiser"
    ADMIN = "admin"


class Disclosure(enum.StrEnum):
    """How much of a score is shown to participants."""

    FULL = "full"  # the annotation is public: every digit, curves, counts
    ROUNDED = "rounded"  # held out: three decimals, coarse curves


class UploadState(enum.StrEnum):
    """How far the bytes have come."""

    RECEIVING = "receiving"
    RECEIVED = "received"
    CHECKED = "checked"


class RunState(enum.StrEnum):
    """Where one scoring stands; the last three are for ever."""

    QUEUED = "queued"
    RUNNING = "running"
    SCORED = "scored"
    REFUSED = "refused"  # the participant's: the sentence says what to mend
    FAILED = "failed"  # ours: costs nothing


class EntryState(enum.StrEnum):
    """Where a method's result in a competition stands."""

    PENDING = "pending"
    SCORED = "scored"
    REFUSED = "refused"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"
