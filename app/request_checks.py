"""What a request must satisfy before a route sees it: its origin, its length."""

from http import HTTPStatus
from ipaddress import ip_address

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive

from app.access import Actor
from app.addresses import parts_of
from app.errors import BadRequestError, CrossSiteError, LoginNeededError, TooLargeError

MAX_SMALL_BODY = 1 << 20  # largest body that is not an archive, in bytes
BODY_SECONDS = 60  # between two pieces of a body
FORM_OVERHEAD = 1 << 16  # what a form adds to its file
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def check_request(request: Request, actor: Actor, max_upload: int, hosts: frozenset[str]) -> int:
    """The largest body, in bytes, that this request may have.

    Raises CrossSiteError, BadRequestError, TooLargeError, LoginNeededError for an archive from nobody.
    """
    refuse_other_host(request.headers.get("host", ""), hosts)
    if request.method not in SAFE_METHODS and not actor.by_token and _is_cross_site(request.headers):
        raise CrossSiteError(
            "This request was sent by a page of another site; open the form on this site and send it from there"
        )
    refuse_ambiguous_length(request.headers)
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise BadRequestError("Content-Length is not a number")
    takes_archives = _takes_archives(request.url.path)
    limit = max_upload + FORM_OVERHEAD if takes_archives and actor.is_logged_in else MAX_SMALL_BODY
    if int(length) > limit:
        if takes_archives and not actor.is_logged_in:
            raise LoginNeededError("Log in before you send an archive, or send an API token")
        raise TooLargeError(_limit_message(limit))
    return limit


def refuse_ambiguous_length(headers: Headers) -> None:
    """Raise BadRequestError where two servers could see two ends of a request, and a second request after the first."""
    if "content-length" in headers and "transfer-encoding" in headers:
        raise BadRequestError("Content-Length together with Transfer-Encoding")


def refuse_other_host(host: str, known: frozenset[str]) -> None:
    """Raise BadRequestError for a name that this server does not have; addresses are its own.

    A page of another site can have its name lead to our address, and then be of the same origin as we are.
    """
    name = parts_of(f"//{host}").hostname or ""
    if host and name not in known and not _is_address(name):
        raise BadRequestError("The header Host does not name this server")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def bounded(receive: Receive, limit: int) -> Receive:
    """Count the bytes of a body as they arrive, whatever length was declared, and wait for each piece only so long.

    Raises TooLargeError, HTTPException.
    """
    received, is_complete = 0, False

    async def counted() -> Message:
        nonlocal received, is_complete
        if is_complete:  # what comes then says only that the client has left
            return await receive()
        try:
            with anyio.fail_after(BODY_SECONDS):
                message = await receive()
        except TimeoutError as error:
            sentence = f"Nothing of the request arrived for {BODY_SECONDS} seconds"
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, sentence) from error
        is_complete = not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > limit:
            raise TooLargeError(_limit_message(limit))
        return message

    return counted


def _takes_archives(path: str) -> bool:
    return path.endswith(("/uploads", "/submit")) or path.startswith("/api/v1/uploads/")


def _limit_message(limit: int) -> str:
    """The limit as the sender knows it, without what a form adds to an archive."""
    what, most = ("A request to this address", limit)
    if limit != MAX_SMALL_BODY:
        what, most = ("An archive", limit - FORM_OVERHEAD)
    return f"{what} may have at most {most} bytes ({most >> 20} MiB)"


def _is_cross_site(headers: Headers) -> bool:
    """Whether a browser says that a page of another site sent this.

    Every browser sends one of the two headers with a request that changes something; programs send neither.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and parts_of(origin).netloc != headers.get("host")
