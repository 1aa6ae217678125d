"""Everything that can be wrong with a request: one tree, from which the table of problem codes is made.

Each class says how it is answered (`code`, `status`, `title`), and its docstring explains it to people who call the API. The message of
an error says what happened.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from inspect import cleandoc
from typing import ClassVar


class Kind:
    """A kind of problem; `code` is what programs can rely on."""

    code: ClassVar[str]
    status: ClassVar[int]
    title: ClassVar[str]

    @classmethod
    def address(cls) -> str:
        """The page that explains it, which `application/problem+json` carries as the type."""
        return f"/problems/{cls.code}"

    @classmethod
    def meaning(cls) -> str:
        """What the documentation says of it."""
        return cleandoc(cls.__doc__ or "")


class DomainError(Kind, Exception):
    """An error on our side. Nothing was lost or counted. Report the reference if it happens again."""

    code = "server-error"
    status = 500
    title = "Server error"


class NotFoundError(DomainError):
    """There is nothing at this address, or you may not see it."""

    code = "not-found"
    status = 404
    title = "Not found"


class ForbiddenError(DomainError):
    """Your account may not do this."""

    code = "forbidden"
    status = 403
    title = "Forbidden"


class WithheldError(ForbiddenError):
    """The message says why it is hidden, and until when."""

    code = "withheld"
    status = 403
    title = "Forbidden"


class LoginNeededError(DomainError):
    """Log in, or send an API token that has not been revoked."""

    code = "login-required"
    status = 401
    title = "Login required"


class PasswordsOffError(DomainError):
    """Log in by one of the providers on the login page; this server takes no passwords."""

    code = "passwords-off"
    status = 403
    title = "Forbidden"


class RegistrationClosedError(DomainError):
    """Accounts are not made this way here. The login page has the ways that there are, or the organisers can help."""

    code = "registration-closed"
    status = 403
    title = "Forbidden"


class RecentLoginNeededError(ForbiddenError):
    """Confirm your password, and send it again."""

    code = "recent-login-required"
    status = 403
    title = "Forbidden"


class SecondFactorNeededError(ForbiddenError):
    """Set up a second factor at /account/second-factor."""

    code = "second-factor-required"
    status = 403
    title = "Forbidden"


class ConflictError(DomainError):
    """The request does not fit the present state; the message says why."""

    code = "conflict"
    status = 409
    title = "Conflict"


class OffsetError(ConflictError):
    """The upload has another number of bytes; continue at the offset in the header Upload-Offset."""

    code = "upload-offset"
    status = 409
    title = "Conflict"

    def __init__(self, received: int) -> None:
        super().__init__(f"the upload has {received} bytes; continue at that offset")
        self.received = received


class LengthRequiredError(DomainError):
    """The size of an archive has to be known before it arrives. Send it in the header Content-Length."""

    code = "length-required"
    status = 411
    title = "Length required"


class TooLargeError(DomainError):
    """The request is larger than the limit in the message."""

    code = "too-large"
    status = 413
    title = "Content too large"


class MalformedError(DomainError):
    """The request cannot be understood. The list of problems names each field."""

    code = "malformed"
    status = 422
    title = "Request not understood"


class ChecksumError(MalformedError):
    """The bytes that arrived do not have the expected checksum. Send the archive again as a new upload."""

    code = "checksum-mismatch"
    status = 422
    title = "Checksum mismatch"

    def __init__(self, *, expected: str, found: str) -> None:
        super().__init__(
            f"the bytes that arrived have sha256 {found}, expected {expected}; send the archive again"
        )


class BadRequestError(DomainError):
    """The request is not valid HTTP."""

    code = "bad-request"
    status = 400
    title = "Bad request"


class CrossSiteError(DomainError):
    """A page of another site sent this request. Open the form on this site and send it from there."""

    code = "cross-site"
    status = 403
    title = "Forbidden"


class StorageUnavailableError(DomainError):
    """Stored files cannot be read or written at the moment. Send the request again after Retry-After seconds."""

    code = "storage-unavailable"
    status = 503
    title = "Service unavailable"
    message = "Storage cannot be reached at the moment. Nothing was lost; please try again in a few seconds"

    def __init__(self, cause: str) -> None:
        super().__init__(self.message)
        self.cause = cause


class StorageFullError(StorageUnavailableError):
    """The server or its database has no space left. Bytes of an upload that have arrived are kept; resume it
    later.
    """

    code = "storage-full"
    status = 507
    title = "Insufficient storage"
    message = "Storage is full at the moment. What has arrived is kept, and an upload can be resumed once there is space"


class StorageDamagedError(StorageUnavailableError):
    """A stored file has other bytes than were stored: an error on our side. Send the request again after
    Retry-After seconds.
    """

    code = "storage-damaged"
    status = 503
    title = "Stored file damaged"
    message = "A file that is stored here is damaged. This is an error on our side: nothing was counted, and the admins see it. Please try again later"
    retry_after = 600  # seconds

    def __init__(self, key: str) -> None:
        super().__init__(f"the bytes of content {key} have changed")
        self.key = key


class UnsupportedTypeError(DomainError):
    """The body has another media type than this address takes."""

    code = "unsupported-type"
    status = 415
    title = "Unsupported media type"


class ProtocolVersionError(DomainError):
    """The client speaks another version of tus. The header Tus-Version names the one to use."""

    code = "tus-version"
    status = 412
    title = "Precondition failed"


class RemovedError(DomainError):
    """The bytes have been removed. Send the archive again."""

    code = "removed"
    status = 410
    title = "Gone"


class StoredBytesError(DomainError):
    """Your uploads that are not confirmed take all the space that one person has. Delete or confirm some."""

    code = "stored-bytes"
    status = 413
    title = "Content too large"


class CheckBusyError(DomainError):
    """One archive of a team, and of a person, is checked at a time, and only a few of all. This one is stored;
    ask for its check again after Retry-After seconds.
    """

    code = "check-busy"
    status = 429
    title = "Too many requests"
    retry_after = 10  # seconds


class BusyError(DomainError):
    """Send the request again after Retry-After seconds."""

    code = "busy"
    status = 429
    title = "Too many requests"
    retry_after = 2  # seconds


class RateLimitedError(DomainError):
    """Send the request again after Retry-After seconds."""

    code = "rate-limit"
    status = 429
    title = "Too many requests"

    def __init__(self, subject: str, retry_after: int) -> None:
        wait = f"{retry_after} seconds" if retry_after < 120 else f"{-(-retry_after // 60)} minutes"
        super().__init__(f"Too many {subject}. Please try again in {wait}")
        self.retry_after = retry_after


class RangeError(DomainError):
    """The range is not within the content."""

    code = "range"
    status = 416
    title = "Range not satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(f"The archive has {size} bytes; the range is not within them")
        self.size = size


class MethodNotAllowedError(DomainError):
    """The address exists, but not for this HTTP method."""

    code = "method-not-allowed"
    status = 405
    title = "Method not allowed"


class UnavailableError(DomainError):
    """The database cannot be reached at the moment, or the server is being restarted. Send the request again
    after Retry-After seconds.
    """

    code = "unavailable"
    status = 503
    title = "Service unavailable"


@dataclass(frozen=True, slots=True)
class Refusal(Kind):
    """A reason of the rules not to take a request, with its message for people."""

    message: str
    retry_at: datetime | None = None  # when the same would be accepted


class PhaseNotOpen(Refusal):
    """The phase opens later; the message says when."""

    code = "not-open"
    status = 403
    title = "Not open yet"


class PhaseClosed(Refusal):
    """The phase no longer accepts submissions."""

    code = "closed"
    status = 403
    title = "Closed"


class NotChecked(Refusal):
    """Complete the upload, and have it checked."""

    code = "not-checked"
    status = 409
    title = "Not checked yet"


class InvalidArchive(Refusal):
    """Fix the problems in its report, and upload it again."""

    code = "invalid"
    status = 422
    title = "Archive has problems"


class RemovedArchive(Refusal):
    """The bytes have been removed. Send the archive again."""

    code = "removed"
    status = 410
    title = "Gone"


class NotInArchive(Refusal):
    """The archive has no result files for a requested competition."""

    code = "not-in-archive"
    status = 422
    title = "Not in the archive"


class OneResult(Refusal):
    """A method has one result in a competition. Another method needs a name of its own."""

    code = "one-result"
    status = 409
    title = "Method has a result"


class NameRetired(Refusal):
    """A method of this name was withdrawn from the competition; its name cannot be used again there. Choose
    another.
    """

    code = "name-retired"
    status = 409
    title = "Name retired"


class NameTaken(Refusal):
    """Names of methods and of teams are unique in a challenge, and none may look like another. Choose one that
    cannot be mistaken for it.
    """

    code = "name-taken"
    status = 409
    title = "Name taken"


class NameFixed(Refusal):
    """The abbreviation of a method can be changed until its first score, the name of a team until its first
    public result.
    """

    code = "name-fixed"
    status = 409
    title = "Name has a score"


class TrainingStatement(Refusal):
    """Every competition asks which data a method was trained on. The message says what is missing."""

    code = "training-statement"
    status = 409
    title = "Statement missing"


class DescriptionTooShort(Refusal):
    """A method is described in at least 500 characters before it becomes public."""

    code = "description-too-short"
    status = 409
    title = "Description too short"


class NoLink(Refusal):
    """A result has anonymous links while it has a score and its method is not public; ten at most."""

    code = "no-link"
    status = 409
    title = "No anonymous link"


class QuotaUsed(Refusal):
    """The quota of the phase is used up. The header Retry-After has the seconds until the next free slot."""

    code = "quota"
    status = 429
    title = "Too many requests"


class PhaseBroken(Refusal):
    """Dates and quotas of a phase have to fit together; the message says which do not."""

    code = "phase-broken"
    status = 422
    title = "Rules contradict each other"


class PhaseUnfair(Refusal):
    """The change of a phase would be unfair to people who rely on its dates; the message says why."""

    code = "phase-unfair"
    status = 409
    title = "Unfair change"


class AddressNotConfirmed(Refusal):
    """Open the link in the mail to your address; /account/address sends it again."""

    code = "address-not-confirmed"
    status = 403
    title = "Address not confirmed"


class TeamSuspended(Refusal):
    """An organiser has suspended the team; the message has the reason."""

    code = "team-suspended"
    status = 403
    title = "Team suspended"


class TeamNotApproved(Refusal):
    """Only teams that an organiser has approved are scored on held-out annotation of this challenge."""

    code = "team-not-approved"
    status = 403
    title = "Team not approved"


class InTeam(Refusal):
    """A person is in one team of a challenge."""

    code = "in-team"
    status = 409
    title = "In a team already"


class LastOwner(Refusal):
    """A team with several members keeps an owner. Make another member one first."""

    code = "last-owner"
    status = 409
    title = "Last owner"


class InvitationEnded(Refusal):
    """The invitation was used up or revoked, or has expired."""

    code = "invitation-ended"
    status = 410
    title = "Invitation ended"


class TermsNotAccepted(Refusal):
    """A person reads and accepts the terms of the challenge, in the browser at the address in the message."""

    code = "terms-not-accepted"
    status = 403
    title = "Terms not accepted"


class RefusedError(Exception):
    """The rules do not take a request; all the reasons at once."""

    def __init__(self, refusals: Sequence[Refusal], fields: Mapping[str, str] | None = None) -> None:
        """`fields` tells programs more, such as what is left of a limit."""
        super().__init__("; ".join(refusal.message for refusal in refusals))
        self.refusals = tuple(refusals)
        self.fields = dict(fields or {})


def refuse(refusals: Iterable[Refusal]) -> None:
    """Raise RefusedError if there is a reason."""
    if found := tuple(refusals):
        raise RefusedError(found)


def kinds() -> dict[str, type[Kind]]:
    """Every kind of problem by its code, by status and name."""
    found = {each.code: each for each in _below(Kind) if "code" in vars(each)}
    return dict(sorted(found.items(), key=lambda row: (row[1].status, row[0])))


def _below(kind: type[Kind]) -> Iterator[type[Kind]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)
