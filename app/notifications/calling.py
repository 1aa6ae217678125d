"""Calling an address that somebody else chose, without reaching what only this machine can reach.

The name is resolved once, every address that it has is checked, and the connection is made to one of these addresses, so
that a name which changes in between leads nowhere else.
"""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import SOCK_STREAM, getaddrinfo
from typing import Final

import anyio
import anyio.to_thread
import httpx2

from app.core.settings import Settings, addresses

TOTAL_SECONDS: Final = 5.0  # for everything: the name, the connection, the request, the answer
CONNECT_SECONDS: Final = 2.0  # for each address of the name
MOST_BYTES: Final = (
    64 << 10
)  # of an answer that are read, because some receivers take a hang-up for a failure
DRAIN_SECONDS: Final = 1.0  # and for so long
LONGEST_URL: Final = 500
PORTS: Final = {"https": 443, "http": 80}
LOWEST_OTHER_PORT: Final = 1024

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolver = Callable[[str, int], Sequence[str]]

# what `is_global` of some versions of Python takes for public, and is not a machine on the internet
SPECIAL: Final = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))
UNICAST: Final = IPv6Network("2000::/3")
NAT64: Final = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the operator allows beyond HTTPS to public addresses: plain HTTP, and these networks."""

    http: bool = False
    networks: tuple[Network, ...] = ()

    @classmethod
    def by(cls, settings: Settings) -> "Allowed":
        """Return what the settings allow."""
        return cls(settings.webhook_http, tuple(map(ip_network, addresses(settings.webhook_networks))))


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended. status: of the answer, None without one; problem: why it does not count as received, or empty."""

    status: int | None
    seconds: float
    problem: str = ""


class UncallableError(Exception):
    """The call cannot be made or was not answered. The message says why; it never quotes an answer."""


# one sentence for names without an address and those of private networks, or people learn which names exist there
FORBIDDEN: Final = "the name has no address that this server calls"
UNANSWERED: Final = f"no answer within {TOTAL_SECONDS:g} seconds"


def checked_url(text: str, allowed: Allowed) -> str:
    """Return a URL in its normal form. Raises ValueError unless it may be called, as far as is known without resolving it.

    >>> checked_url("https://Hooks.example.org/a?b=c", Allowed())
    'https://hooks.example.org/a?b=c'
    """
    try:
        url = httpx2.URL(text.strip())
    except httpx2.InvalidURL as error:
        raise ValueError("is not a URL, such as https://hooks.example.org/heldout") from error
    if problem := next(_problems(url, allowed), None):
        raise ValueError(problem)
    return str(url)


def _problems(url: httpx2.URL, allowed: Allowed) -> Iterator[str]:
    """Yield what is wrong with a URL."""
    host = url.raw_host.decode()
    if url.scheme not in PORTS:
        yield "must begin with https://"
    if url.scheme == "http" and not allowed.http:
        yield "must begin with https://; the admins of this server do not allow http://"
    if not host or "%" in host:
        yield "must name a host, such as hooks.example.org"
    if url.userinfo or url.fragment:
        yield "must have neither a user name nor a fragment"
    if len(str(url)) > LONGEST_URL:
        yield f"must have at most {LONGEST_URL} characters"
    if not _is_port(url.port):
        yield f"must have port 443, 80, or one from {LOWEST_OTHER_PORT} to 65535"
    if (literal := _literal(host)) and not is_callable(literal, allowed.networks):
        yield "must be a public address; this server does not call private ones"


def host_of(url: str) -> str:
    """Return the host of a URL, with its port if it is not the usual one."""
    return httpx2.URL(url).netloc.decode()


def _is_port(port: int | None) -> bool:
    return port is None or port in PORTS.values() or LOWEST_OTHER_PORT <= port <= 65535


def _literal(host: str) -> Address | None:
    """Return the address that a host is written as; None if it is a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def is_callable(address: Address, networks: Sequence[Network]) -> bool:
    """Whether this server calls an address: a public one, or one in these networks.

    An IPv6 address that stands for an IPv4 address is judged as that one.

    >>> [is_callable(ip_address(each), ()) for each in ("192.0.2.1", "9.9.9.9", "::ffff:127.0.0.1", "64:ff9b::9.9.9.9")]
    [False, True, False, True]
    """
    address = _without_disguise(address)
    return any(address in network for network in networks) or _is_public(address)


def _without_disguise(address: Address) -> Address:
    """Return the IPv4 address in an IPv6 address that is mapped, of 6to4, or of NAT64."""
    if isinstance(address, IPv4Address):
        return address
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_public(address: Address) -> bool:
    is_special = any(address in network for network in SPECIAL)
    is_unicast = isinstance(address, IPv4Address) or address in UNICAST
    return (
        address.is_global and is_unicast and not (address.is_multicast or address.is_reserved or is_special)
    )


def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a name, best first. Raises OSError."""
    return [str(found[4][0]) for found in getaddrinfo(host, port, type=SOCK_STREAM)]


@cache
def _certificates() -> ssl.SSLContext:
    """Return the context that verifies certificates. Cached, because creating it takes longer than a call."""
    return httpx2.create_ssl_context()


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    allowed: Allowed,
    *,
    resolver: Resolver = resolve,
    tls: ssl.SSLContext | None = None,
) -> CallOutcome:
    """Send a request and return how it ended, within five seconds; redirects are not followed.

    resolver: finds the addresses of a name; tls: verifies certificates, by default as browsers do.
    """
    started, status, problem = time.monotonic(), None, ""
    try:
        status = anyio.run(_post_in_time, url, body, headers, allowed, resolver, tls or _certificates())
        problem = _refusal(status)
    except UncallableError as error:
        problem = str(error)
    return CallOutcome(status, time.monotonic() - started, problem)


def _refusal(status: int) -> str:
    """Return why a status does not count as received; empty if it does."""
    if 200 <= status < 300:
        return ""
    return "redirects are not followed" if 300 <= status < 400 else "the receiver answered with an error"


async def _post_in_time(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    allowed: Allowed,
    resolver: Resolver,
    tls: ssl.SSLContext,
) -> int:
    """Return the status of the answer. Raises UncallableError."""
    try:
        with anyio.fail_after(TOTAL_SECONDS):
            target = httpx2.URL(
                checked_url(url, allowed)
            )  # the operator may allow less than when it was chosen
            found = await anyio.to_thread.run_sync(
                _callable, target, allowed, resolver, abandon_on_cancel=True
            )
            return await _post_to_first(target, found, body, headers, tls)
    except ValueError as error:
        raise UncallableError(f"the URL {error}") from error
    except (TimeoutError, httpx2.TimeoutException) as error:
        raise UncallableError(UNANSWERED) from error
    except httpx2.HTTPError as error:
        raise UncallableError(_words(error)) from error


def _callable(url: httpx2.URL, allowed: Allowed, resolver: Resolver) -> Sequence[str]:
    """Return the addresses of a URL's host. Raises UncallableError if it has none, or one that is not called."""
    try:
        found = resolver(url.raw_host.decode(), url.port or PORTS[url.scheme])
        is_allowed = all(is_callable(ip_address(each), allowed.networks) for each in found)
    except (OSError, ValueError) as error:  # ValueError: an address with a scope, such as fe80::1%eth0
        raise UncallableError(FORBIDDEN) from error
    if not found or not is_allowed:
        raise UncallableError(FORBIDDEN)
    return list(dict.fromkeys(found))


async def _post_to_first(
    url: httpx2.URL, found: Sequence[str], body: bytes, headers: Mapping[str, str], tls: ssl.SSLContext
) -> int:
    """Send the request to the first of these addresses that can be connected to, and return the status of the answer."""
    host = url.raw_host.decode()
    sent = {**headers, "Host": url.netloc.decode()}
    timeout = httpx2.Timeout(TOTAL_SECONDS, connect=CONNECT_SECONDS)
    async with httpx2.AsyncClient(
        verify=tls, trust_env=False, follow_redirects=False, timeout=timeout
    ) as client:
        for address in found:
            request = client.build_request(
                "POST",
                url.copy_with(host=address),
                headers=sent,
                content=body,
                extensions={"sni_hostname": host},  # also the name for which the certificate has to be valid
            )
            try:
                return await _status(client, request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if address == found[-1]:
                    raise
    raise UncallableError(FORBIDDEN)


async def _status(client: httpx2.AsyncClient, request: httpx2.Request) -> int:
    """Send a request and return the status of the answer, whose beginning is read and forgotten."""
    response = await client.send(request, stream=True)
    try:
        with anyio.move_on_after(DRAIN_SECONDS), suppress(httpx2.HTTPError):
            read = 0
            async for chunk in response.aiter_raw():
                read += len(chunk)
                if read >= MOST_BYTES:
                    break
        return response.status_code
    finally:
        with anyio.CancelScope(shield=True):
            await response.aclose()


def _words(error: Exception) -> str:
    """Return what went wrong in a connection; an answer that is not HTTP is not quoted."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) and cause not in causes:
        causes.append(cause)  # type: ignore[arg-type]  # causes of exceptions are exceptions
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in causes):
        return "the certificate is not valid for this name"
    if any(isinstance(each, ssl.SSLError) for each in causes):
        return "the connection could not be encrypted"
    if isinstance(error, httpx2.ConnectError):
        return "the connection was refused"
    return "the connection broke off, or the answer is not HTTP"
