"""Errors of the domain, with messages for people and without HTTP in them."""

from sqlalchemy.exc import IntegrityError


class DomainError(Exception):
    """The root of these errors; `code` names the row of `app/problems.py` that says how it is answered."""

    code = "server-error"


class NotFoundError(DomainError):
    """There is nothing at this address; the message says what was looked for."""

    code = "not-found"


class ForbiddenError(DomainError):
    """The person may not do this; the message says who may."""

    code = "forbidden"


class WithheldError(ForbiddenError):
    """A part of a result that is not shown while the annotation is held out."""

    code = "withheld"


class LoginNeededError(DomainError):
    """Only somebody who is logged in may do this."""

    code = "login-required"


class RecentLoginNeededError(ForbiddenError):
    """Only somebody who has just shown that it is them may do this."""

    code = "recent-login-required"


class SecondFactorNeededError(ForbiddenError):
    """An admin has to set up a second factor before anything else."""

    code = "second-factor-required"


class ConflictError(DomainError):
    """The request does not fit the present state."""

    code = "conflict"


class OffsetError(ConflictError):
    """Bytes were sent for another offset than the upload's."""

    code = "upload-offset"

    def __init__(self, received: int) -> None:
        super().__init__(f"the upload has {received} bytes; continue at that offset")
        self.received = received


class TooLargeError(DomainError):
    """More bytes than are accepted; the message states the limit."""

    code = "too-large"


class MalformedError(DomainError):
    """A request that cannot be understood; the message says what was expected."""

    code = "malformed"


class ChecksumError(MalformedError):
    """The bytes that arrived do not have the expected checksum."""

    code = "checksum-mismatch"

    def __init__(self, *, expected: str, found: str) -> None:
        super().__init__(
            f"the bytes that arrived have sha256 {found}, expected {expected}; send the archive again"
        )


class BadRequestError(DomainError):
    """A request that is not valid HTTP."""

    code = "bad-request"


class CrossSiteError(DomainError):
    """A request that a page of another site sent in a person's name."""

    code = "cross-site"


class StorageUnavailableError(DomainError):
    """Stored bytes cannot be read or written at the moment; `cause` is for the log, the message for everybody."""

    code = "storage-unavailable"
    message = "Storage cannot be reached at the moment. Nothing was lost; please try again in a few seconds"

    def __init__(self, cause: str) -> None:
        super().__init__(self.message)
        self.cause = cause


class StorageFullError(StorageUnavailableError):
    """There is no space left for these bytes."""

    code = "storage-full"
    message = "Storage is full at the moment. What has arrived is kept, and an upload can be resumed once there is space"


class StorageDamagedError(StorageUnavailableError):
    """A stored content has other bytes than were stored; `key` names it."""

    code = "storage-damaged"
    message = "A file that is stored here is damaged. This is an error on our side: nothing was counted, and the admins see it. Please try again later"
    retry_after = 600  # seconds

    def __init__(self, key: str) -> None:
        super().__init__(f"the bytes of content {key} have changed")
        self.key = key


class UnsupportedTypeError(DomainError):
    """A body of another media type than the address takes."""

    code = "unsupported-type"


class ProtocolVersionError(DomainError):
    """A client that speaks another version of the upload protocol."""

    code = "tus-version"


class PieceChecksumError(DomainError):
    """The bytes of one request do not have the checksum that came with them; none of them was stored."""

    code = "piece-checksum"


class RemovedError(DomainError):
    """The bytes were removed; the message says what to do."""

    code = "removed"


class StoredBytesError(DomainError):
    """A person's unconfirmed uploads would take more than they may; the message says how to make room."""

    code = "stored-bytes"


class CheckBusyError(DomainError):
    """Another archive of the same person, or as many of others as there are places, are still being checked."""

    code = "check-busy"
    retry_after = 10  # seconds


class BusyError(DomainError):
    """The server has too much to do for this request at the moment; nothing was done."""

    code = "busy"
    retry_after = 2  # seconds


class RateLimitedError(DomainError):
    """Somebody asks for something too often; `subject` is what, in the plural."""

    code = "rate-limit"

    def __init__(self, subject: str, retry_after: int) -> None:
        wait = f"{retry_after} seconds" if retry_after < 120 else f"{-(-retry_after // 60)} minutes"
        super().__init__(f"Too many {subject}. Please try again in {wait}")
        self.retry_after = retry_after


class RangeError(DomainError):
    """A range of bytes that is not within the content."""

    code = "range"

    def __init__(self, size: int) -> None:
        super().__init__(f"The archive has {size} bytes; the range is not within them")
        self.size = size


def violated_constraint(error: IntegrityError) -> str | None:
    """The name of the constraint that refused a row, as the database reports it; message texts are translated."""
    diagnostics = getattr(error.orig, "diag", None)
    return getattr(diagnostics, "constraint_name", None)
