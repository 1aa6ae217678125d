"""The table of problem codes: what programs can rely on, and what each means."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from pydantic import BaseModel, Field

MEDIA_TYPE = "application/problem+json"


class ProblemItem(BaseModel):
    """One of several problems of a request."""

    code: str
    message: str


class Problem(BaseModel):
    """The body of every response with a status of 400 or more."""

    type: Annotated[str, Field(description="address of the page that explains the code")]
    code: Annotated[str, Field(description="stable; decide by this")]
    title: Annotated[str, Field(description="the same for every problem of this code")]
    status: int
    detail: Annotated[str, Field(description="what happened, for people; the wording may change")]
    reference: Annotated[str, Field(description="to be given when you ask for help")]
    problems: Annotated[list[ProblemItem], Field(description="each of several problems")]


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A row of the table; `type` is its address, where the page explains it."""

    code: str
    status: int
    title: str
    meaning: str

    @property
    def type(self) -> str:
        """The address that `application/problem+json` carries as the type."""
        return f"/problems/{self.code}"


def _row(code: str, status: int, title: str, meaning: str) -> tuple[str, ProblemType]:
    return code, ProblemType(code, status, title, meaning)


RETRY_AFTER = 10  # seconds, when the database or the storage is away

PROBLEMS: Mapping[str, ProblemType] = dict(
    (
        _row("bad-request", 400, "Bad request", "The request is not valid HTTP."),
        _row(
            "login-required", 401, "Login required", "Log in, or send an API token that has not been revoked."
        ),
        _row("forbidden", 403, "Forbidden", "Your account may not do this."),
        _row("recent-login-required", 403, "Forbidden", "Confirm your password, and send it again."),
        _row("second-factor-required", 403, "Forbidden", "Set up a second factor at /account/second-factor."),
        _row("withheld", 403, "Forbidden", "The message says why it is hidden, and until when."),
        _row(
            "cross-site",
            403,
            "Forbidden",
            "A page of another site sent this request. Open the form on this site and send it from there.",
        ),
        _row(
            "address-not-confirmed",
            403,
            "Address not confirmed",
            "Open the link in the mail to your address; /account/address sends it again.",
        ),
        _row(
            "terms-not-accepted",
            403,
            "Terms not accepted",
            "A person reads and accepts the terms of the edition, in the browser at the address in the message.",
        ),
        _row("not-open", 403, "Not open yet", "The phase opens later; the message says when."),
        _row("closed", 403, "Closed", "The phase no longer accepts submissions."),
        _row(
            "team-suspended",
            403,
            "Team suspended",
            "An organiser has suspended the team; the message has the reason.",
        ),
        _row(
            "team-not-approved",
            403,
            "Team not approved",
            "Only teams that an organiser has approved are scored on held-out annotation of this edition.",
        ),
        _row("not-found", 404, "Not found", "There is nothing at this address, or you may not see it."),
        _row(
            "method-not-allowed",
            405,
            "Method not allowed",
            "The address exists, but not for this HTTP method.",
        ),
        _row(
            "conflict", 409, "Conflict", "The request does not fit the present state; the message says why."
        ),
        _row(
            "upload-offset",
            409,
            "Conflict",
            "The upload has another number of bytes; continue at the offset in the header Upload-Offset.",
        ),
        _row("not-checked", 409, "Not checked yet", "Complete the upload, and have it checked."),
        _row(
            "one-result",
            409,
            "Method has a result",
            "A method has one result in a competition. Another method needs a name of its own.",
        ),
        _row(
            "name-retired",
            409,
            "Name retired",
            "A method of this name was withdrawn from the competition; its name cannot be used again there. Choose another.",
        ),
        _row(
            "name-taken",
            409,
            "Name taken",
            "Names of methods and of teams are unique in an edition, and none may look like another. Choose one that cannot be mistaken for it.",
        ),
        _row(
            "name-fixed",
            409,
            "Name has a score",
            "The abbreviation of a method can be changed until its first score, the name of a team until its first public result.",
        ),
        _row(
            "no-link",
            409,
            "No anonymous link",
            "A result has anonymous links while it has a score and its method is not public; ten at most.",
        ),
        _row(
            "training-statement",
            409,
            "Statement missing",
            "Every competition asks which data a method was trained on. The message says what is missing.",
        ),
        _row(
            "description-too-short",
            409,
            "Description too short",
            "A method is described in at least 500 characters before it becomes public.",
        ),
        _row("in-team", 409, "In a team already", "A person is in one team of an edition."),
        _row(
            "last-owner",
            409,
            "Last owner",
            "A team with several members keeps an owner. Make another member one first.",
        ),
        _row(
            "invitation-ended",
            410,
            "Invitation ended",
            "The invitation was used up or revoked, or has expired.",
        ),
        _row("removed", 410, "Gone", "The bytes have been removed. Send the archive again."),
        _row(
            "tus-version",
            412,
            "Precondition failed",
            "The client speaks another version of tus. The header Tus-Version names the one to use.",
        ),
        _row(
            "stored-bytes",
            413,
            "Content too large",
            "Your uploads that are not confirmed take all the space that one person has. Delete or confirm some.",
        ),
        _row(
            "unsupported-type",
            415,
            "Unsupported media type",
            "The body has another media type than this address takes.",
        ),
        _row("range", 416, "Range not satisfiable", "The range is not within the content."),
        _row(
            "check-busy",
            429,
            "Too many requests",
            "One archive of a team, and of a person, is checked at a time, and only a few of all. This one is stored; "
            "ask for its check again after Retry-After seconds.",
        ),
        _row("rate-limit", 429, "Too many requests", "Send the request again after Retry-After seconds."),
        _row("busy", 429, "Too many requests", "Send the request again after Retry-After seconds."),
        _row(
            "piece-checksum",
            460,
            "Checksum mismatch",
            "The bytes do not have the checksum in Upload-Checksum. None was stored; send them again.",
        ),
        _row("too-large", 413, "Content too large", "The request is larger than the limit in the message."),
        _row(
            "malformed",
            422,
            "Request not understood",
            "The request cannot be understood. The list of problems names each field.",
        ),
        _row(
            "checksum-mismatch",
            422,
            "Checksum mismatch",
            "The bytes that arrived do not have the expected checksum. Send the archive again as a new upload.",
        ),
        _row("invalid", 422, "Archive has problems", "Fix the problems in its report, and upload it again."),
        _row(
            "not-in-archive",
            422,
            "Not in the archive",
            "The archive has no result files for a requested competition.",
        ),
        _row(
            "quota",
            429,
            "Too many requests",
            "The quota of the phase is used up. The header Retry-After has the seconds until the next free slot.",
        ),
        _row(
            "phase-broken",
            422,
            "Rules contradict each other",
            "Dates and quotas of a phase have to fit together; the message says which do not.",
        ),
        _row(
            "phase-unfair",
            409,
            "Unfair change",
            "The change of a phase would be unfair to people who rely on its dates; the message says why.",
        ),
        _row(
            "server-error",
            500,
            "Server error",
            "An error on our side. Nothing was lost or counted. Report the reference if it happens again.",
        ),
        _row(
            "unavailable",
            503,
            "Service unavailable",
            "The database cannot be reached at the moment, or the server is being restarted. "
            "Send the request again after Retry-After seconds.",
        ),
        _row(
            "storage-unavailable",
            503,
            "Service unavailable",
            "Stored files cannot be read or written at the moment. Send the request again after Retry-After seconds.",
        ),
        _row(
            "storage-damaged",
            503,
            "Stored file damaged",
            "A stored file has other bytes than were stored: an error on our side. Send the request again after Retry-After seconds.",
        ),
        _row(
            "storage-full",
            507,
            "Insufficient storage",
            "The server or its database has no space left. Bytes of an upload that have arrived are kept; resume it later.",
        ),
    )
)

BY_STATUS: Mapping[int, str] = {
    400: "bad-request",
    401: "login-required",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    409: "conflict",
    413: "too-large",
    422: "malformed",
    500: "server-error",
    503: "unavailable",
}


def problem_type_of_status(status: int) -> ProblemType:
    """The row for an error that a library raised with nothing but an HTTP status.

    >>> problem_type_of_status(404).code, problem_type_of_status(415).title
    ('not-found', 'Unsupported media type')
    """
    code = BY_STATUS.get(status)
    if code is not None:
        return PROBLEMS[code]
    title = HTTPStatus(status).phrase.capitalize()
    return ProblemType("bad-request" if status < 500 else "server-error", status, title, "")
