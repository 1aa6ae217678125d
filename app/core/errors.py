"""Everything that can be wrong with a request: one tree of errors, from which the table of problem codes is made.

Each class defines its response (`code`, `status`, `title`), and its docstring explains it to users of the API. The message
of an error says what happened.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from inspect import cleandoc
from typing import ClassVar


class ProblemKind:
    """A kind of problem; its `code` is stable, for programs."""

    code: ClassVar[str]
    status: ClassVar[int]
    title: ClassVar[str]

    @classmethod
    def address(cls) -> str:
        """The path of the page that explains it, which is the `type` in `application/problem+json`."""
        return f"/problems/{cls.code}"

    @classmethod
    def meaning(cls) -> str:
        """The explanation in the documentation."""
        return cleandoc(cls.__doc__ or "")


class DomainError(ProblemKind, Exception):
    """An error on our side. Nothing was lost or counted. If it happens again, please report the reference."""

    code = "server-error"
    status = 500
    title = "Server error"


class NotFoundError(DomainError):
    """There is nothing at this address, or you are not allowed to see it."""

    code = "not-found"
    status = 404
    title = "Not found"


class ForbiddenError(DomainError):
    """Your account is not allowed to do this."""

    code = "forbidden"
    status = 403
    title = "Forbidden"


class WithheldError(ForbiddenError):
    """What you asked for is hidden at the moment; the message says why and until when."""

    code = "withheld"
    status = 403
    title = "Forbidden"


class LoginRequiredError(DomainError):
    """Log in, or send an API token that has not been revoked."""

    code = "login-required"
    status = 401
    title = "Login required"


class PasswordsOffError(DomainError):
    """Log in with one of the providers on the login page; this server does not use passwords."""

    code = "passwords-off"
    status = 403
    title = "Forbidden"


class RegistrationClosedError(DomainError):
    """Accounts cannot be created this way on this server. The login page shows other ways, or ask the organisers."""

    code = "registration-closed"
    status = 403
    title = "Forbidden"


class RecentLoginRequiredError(ForbiddenError):
    """Confirm your password, then send the request again."""

    code = "recent-login-required"
    status = 403
    title = "Forbidden"


class SecondFactorRequiredError(ForbiddenError):
    """Set up a second factor at /account/second-factor."""

    code = "second-factor-required"
    status = 403
    title = "Forbidden"


class ConflictError(DomainError):
    """The request conflicts with the current state; the message says why."""

    code = "conflict"
    status = 409
    title = "Conflict"


class TooLateError(ConflictError):
    """What should be cancelled has been started or has ended."""

    code = "too-late"
    title = "Too late"


class OffsetError(ConflictError):
    """The upload has a different number of bytes; continue at the offset in the Upload-Offset header."""

    code = "upload-offset"
    status = 409
    title = "Conflict"

    def __init__(self, received: int) -> None:
        super().__init__(f"the upload has {received} bytes; continue at that offset")
        self.received = received


class LengthRequiredError(DomainError):
    """The size of an archive must be known in advance. Send it in the Content-Length header."""

    code = "length-required"
    status = 411
    title = "Length required"


class TooLargeError(DomainError):
    """The request is larger than the limit in the message."""

    code = "too-large"
    status = 413
    title = "Content too large"


class MalformedError(DomainError):
    """The request is not valid. The list of problems names each field."""

    code = "malformed"
    status = 422
    title = "Request not understood"


class FieldsError(MalformedError):
    """What is wrong with the fields of a request, by their names; "" is for what no single field is to blame for."""

    def __init__(self, by_field: Mapping[str, str]) -> None:
        super().__init__(
            "; ".join(f"{field}: {reason}" if field else reason for field, reason in by_field.items())
        )
        self.by_field = dict(by_field)


class ChecksumError(MalformedError):
    """The received bytes do not have the expected checksum. Send the archive again as a new upload."""

    code = "checksum-mismatch"
    status = 422
    title = "Checksum mismatch"

    def __init__(self, *, expected: str, found: str) -> None:
        super().__init__(
            f"the received bytes have sha256 {found}, expected {expected}; send the archive again"
        )


class BadRequestError(DomainError):
    """The request is not valid HTTP."""

    code = "bad-request"
    status = 400
    title = "Bad request"


class CrossSiteError(DomainError):
    """The request was sent from another website. Open the form on this site and send it from there."""

    code = "cross-site"
    status = 403
    title = "Forbidden"


class StorageUnavailableError(DomainError):
    """Stored files cannot be read or written at the moment. Try again after Retry-After seconds."""

    code = "storage-unavailable"
    status = 503
    title = "Service unavailable"
    message = "Storage cannot be reached at the moment. Nothing was lost; please try again in a few seconds"

    def __init__(self, cause: str) -> None:
        super().__init__(self.message)
        self.cause = cause


class StorageFullError(StorageUnavailableError):
    """The server or its database is out of disk space. The bytes of an upload received so far are kept; resume it
    later.
    """

    code = "storage-full"
    status = 507
    title = "Insufficient storage"
    message = "Storage is full at the moment. Bytes received so far are kept, and an upload can be resumed once there is space"


class StorageDamagedError(StorageUnavailableError):
    """The content of a stored file has changed: an error on our side. Try again after Retry-After seconds."""

    code = "storage-damaged"
    status = 503
    title = "Stored file damaged"
    message = "A stored file is damaged. This is an error on our side: nothing was counted, and the admins can see it. Please try again later"
    retry_after = 600  # seconds

    def __init__(self, key: str) -> None:
        super().__init__(f"the bytes of content {key} have changed")
        self.key = key


class UnsupportedTypeError(DomainError):
    """The address does not accept the media type of the body."""

    code = "unsupported-type"
    status = 415
    title = "Unsupported media type"


class ProtocolVersionError(DomainError):
    """The client uses a different version of tus. The Tus-Version header has the one to use."""

    code = "tus-version"
    status = 412
    title = "Precondition failed"


class RemovedError(DomainError):
    """The bytes have been removed. Send the archive again."""

    code = "removed"
    status = 410
    title = "Gone"


class FileDeletedError(DomainError):
    """An organiser has deleted this file of the data set. The data page of the challenge lists what is offered now."""

    code = "file-deleted"
    status = 410
    title = "Gone"


class DataQuotaError(DomainError):
    """The files of a challenge use all the space that this server gives to one. Delete some, or ask an admin for more."""

    code = "data-quota"
    status = 413
    title = "Content too large"


class IntakeTooLargeError(DomainError):
    """A data set may have so many bytes on this server. Leave out what is not needed, or ask an admin for more."""

    code = "data-set-too-large"
    status = 413
    title = "Content too large"


class NoWorkerError(DomainError):
    """Data sets are encrypted for the workers of this server, and no worker has started yet. Nothing was stored."""

    code = "no-worker"
    status = 503
    title = "No worker has started yet"


class StoredBytesError(DomainError):
    """Your unconfirmed uploads use all the space that one person has. Delete or confirm some of them."""

    code = "stored-bytes"
    status = 413
    title = "Content too large"


class CheckBusyError(DomainError):
    """Only one archive of each team and each person is checked at a time, and only a few in total. This one is
    stored; request its check again after Retry-After seconds.
    """

    code = "check-busy"
    status = 429
    title = "Too many requests"
    retry_after = 10  # seconds


class BusyError(DomainError):
    """Try again after Retry-After seconds."""

    code = "busy"
    status = 429
    title = "Too many requests"
    retry_after = 2  # seconds


class RateLimitedError(DomainError):
    """Try again after Retry-After seconds."""

    code = "rate-limit"
    status = 429
    title = "Too many requests"

    def __init__(self, subject: str, retry_after: int) -> None:
        wait = f"{retry_after} seconds" if retry_after < 120 else f"{-(-retry_after // 60)} minutes"
        super().__init__(f"Too many {subject}. Please try again in {wait}")
        self.retry_after = retry_after


class RangeError(DomainError):
    """The requested range is not within the content."""

    code = "range"
    status = 416
    title = "Range not satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(f"The file has {size} bytes; the requested range is not within them")
        self.size = size


class MethodNotAllowedError(DomainError):
    """The address exists, but not for this HTTP method."""

    code = "method-not-allowed"
    status = 405
    title = "Method not allowed"


class UnavailableError(DomainError):
    """The database cannot be reached at the moment, or the server is restarting. Try again after Retry-After seconds."""

    code = "unavailable"
    status = 503
    title = "Service unavailable"


@dataclass(frozen=True, slots=True)
class Refusal(ProblemKind):
    """A reason why the rules do not allow a request, with a message for the user."""

    field: ClassVar[str] = ""  # of the form, if it is about a single one
    message: str
    retry_at: datetime | None = None  # when the same request would be accepted


class PhaseNotOpen(Refusal):
    """The phase is not open yet; the message says when it opens."""

    code = "not-open"
    status = 403
    title = "Not open yet"


class PhaseClosed(Refusal):
    """The phase no longer accepts submissions."""

    code = "closed"
    status = 403
    title = "Closed"


class NotChecked(Refusal):
    """Complete the upload and have it checked first."""

    code = "not-checked"
    status = 409
    title = "Not checked yet"


class InvalidArchive(Refusal):
    """The archive is invalid. Fix the problems in its report and upload it again."""

    code = "invalid"
    status = 422
    title = "Archive has problems"


class RemovedArchive(Refusal):
    """The bytes have been removed. Send the archive again."""

    code = "removed"
    status = 410
    title = "Gone"


class NotInArchive(Refusal):
    """The archive has no prediction files for a requested competition."""

    code = "not-in-archive"
    status = 422
    title = "Not in the archive"
    field = "competitions"


class OneResult(Refusal):
    """A method has only one result in each competition. Submit another method under its own name."""

    code = "one-result"
    status = 409
    title = "Method has a result"
    field = "name"


class NameRetired(Refusal):
    """A method with this name was withdrawn from the competition, where its name cannot be used again. Choose
    another name.
    """

    code = "name-retired"
    status = 409
    title = "Name retired"
    field = "name"


class MethodHidden(Refusal):
    """The organisers have hidden the method. Ask them; only they can show it again."""

    code = "method-hidden"
    status = 403
    title = "Method hidden"


class NameTaken(Refusal):
    """The names of methods and of teams are unique in a challenge, and no two may look alike. Choose a name that
    cannot be confused with another.
    """

    code = "name-taken"
    status = 409
    title = "Name taken"
    field = "name"


class NameFixed(Refusal):
    """The abbreviation of a method cannot be changed after its first score, nor the name of a team after its first
    public result.
    """

    code = "name-fixed"
    status = 409
    title = "Name has a score"
    field = "name"


class TrainingNotStated(Refusal):
    """Each competition requires a statement about the training data. The message says what is missing."""

    code = "training-statement"
    status = 409
    title = "Statement missing"
    field = "training"


class DescriptionTooShort(Refusal):
    """A method needs a description before it becomes public, of as many characters as its challenge asks for."""

    code = "description-too-short"
    status = 409
    title = "Description too short"
    field = "description"


class AnswerMissing(Refusal):
    """A method has to answer the required questions of its challenge before it becomes public."""

    code = "answer-missing"
    status = 409
    title = "Answer missing"
    field = "answers"


class AnswerInvalid(Refusal):
    """An answer does not fit its question. The message says what was expected and what was found."""

    code = "answer-invalid"
    status = 422
    title = "Answer does not fit"
    field = "answers"


class QuestionAnswered(Refusal):
    """Methods have answered the question, so it can no longer change in a way that their answers would not fit.

    Delete it with its answers and ask another.
    """

    code = "question-answered"
    status = 409
    title = "Question has answers"
    field = "kind"


class QuestionRepeated(Refusal):
    """The questions of a challenge have different texts, which head their columns and name them in files of settings."""

    code = "question-repeated"
    status = 409
    title = "Question asked already"
    field = "text"


class TooManyQuestions(Refusal):
    """A challenge asks at most 20 questions about its methods."""

    code = "too-many-questions"
    status = 409
    title = "Too many questions"
    field = "text"


class AskingOff(Refusal):
    """The organisers of the challenge take no questions on this server; the message says where they do, if anywhere."""

    code = "asking-off"
    status = 409
    title = "No questions here"


class MessageLimit(Refusal):
    """Only so many messages are accepted in a time. The Retry-After header has the seconds until the next is."""

    code = "message-limit"
    status = 429
    title = "Too many requests"


class ReportLimit(Refusal):
    """A person reports at most 10 labels a day, and an image has at most 50 open reports. The Retry-After header has the
    seconds until the next is accepted, if that depends on the time alone.
    """

    code = "report-limit"
    status = 429
    title = "Too many reports"


class NamesAsker(Refusal):
    """What would be published contains names of the team that asked; the message lists them. Remove them, or send
    `names_may_stay`.
    """

    code = "names-asker"
    status = 409
    title = "Names the team"
    field = "names_may_stay"


class NoReceiver(Refusal):
    """No team with members matches the audience of the message."""

    code = "no-receiver"
    status = 409
    title = "Nobody to send it to"
    field = "audience"


class NoLink(Refusal):
    """A result can have anonymous links while it has a score and its method is not public, ten at most."""

    code = "no-link"
    status = 409
    title = "No anonymous link"


class QuotaUsed(Refusal):
    """The quota of the phase is used up. The Retry-After header has the seconds until the next free slot."""

    code = "quota"
    status = 429
    title = "Too many requests"


class PhaseBroken(Refusal):
    """The dates and quotas of the phase contradict each other; the message says which."""

    code = "phase-broken"
    status = 422
    title = "Rules contradict each other"


class ChallengeNotReady(Refusal):
    """Something is left to do before the challenge can open; the message says what."""

    code = "challenge-not-ready"
    status = 409
    title = "The challenge is not ready"


class PhaseUnfair(Refusal):
    """The change of the phase would be unfair to people who rely on its dates; the message says why."""

    code = "phase-unfair"
    status = 409
    title = "Unfair change"


class AddressNotConfirmed(Refusal):
    """Open the link in the mail that was sent to you; /account/address sends it again."""

    code = "address-not-confirmed"
    status = 403
    title = "Address not confirmed"


class TeamSuspended(Refusal):
    """An organiser has suspended the team; the message gives the reason."""

    code = "team-suspended"
    status = 403
    title = "Team suspended"


class TeamNotApproved(Refusal):
    """In this challenge, an organiser must approve a team before it is scored on held-out annotation."""

    code = "team-not-approved"
    status = 403
    title = "Team not approved"


class InTeam(Refusal):
    """You can be a member of only one team in each challenge."""

    code = "in-team"
    status = 409
    title = "In a team already"
    field = "challenge"


class TeamFull(Refusal):
    """The organisers limit how many members a team has; those it had before stay."""

    code = "team-full"
    status = 409
    title = "Team is full"


class LastOwner(Refusal):
    """A team with several members needs an owner. Make another member an owner first."""

    code = "last-owner"
    status = 409
    title = "Last owner"


class InvitationEnded(Refusal):
    """The invitation has been used up or revoked, or it has expired."""

    code = "invitation-ended"
    status = 410
    title = "Invitation ended"


class TermsNotAccepted(Refusal):
    """Read and accept the terms of the challenge in a browser, at the address in the message."""

    code = "terms-not-accepted"
    status = 403
    title = "Terms not accepted"


class RefusedError(Exception):
    """The rules do not allow a request; carries all reasons at once."""

    def __init__(self, refusals: Sequence[Refusal], fields: Mapping[str, str] | None = None) -> None:
        """`fields` are further response headers, such as what is left of a limit."""
        super().__init__("; ".join(refusal.message for refusal in refusals))
        self.refusals = tuple(refusals)
        self.fields = dict(fields or {})


def raise_if_refused(refusals: Iterable[Refusal]) -> None:
    """Raise RefusedError if there are any refusals."""
    if found := tuple(refusals):
        raise RefusedError(found)


def kinds() -> dict[str, type[ProblemKind]]:
    """Return every kind of problem by code, sorted by status and code."""
    found = {each.code: each for each in _below(ProblemKind) if "code" in vars(each)}
    return dict(sorted(found.items(), key=lambda row: (row[1].status, row[0])))


def _below(kind: type[ProblemKind]) -> Iterator[type[ProblemKind]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)
