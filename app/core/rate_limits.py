"""Rate limits, counted on the broker for all web processes."""

import enum
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import TypeVar

import limits
import redis
import structlog
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.core import counters
from app.core.errors import RateLimitedError
from app.core.settings import LoginSettings

log = structlog.get_logger()

Answer = TypeVar("Answer")


class Limited(enum.StrEnum):
    """What is limited; the setting `limit_…` of the same name has the rates."""

    LOGIN = "login"  # by client address, and by account for browsers new to it
    GUESS = "guess"  # passwords by account and client address, codes by account
    REGISTER = "register"  # by client address
    UPLOAD = "upload"  # by person: uploads, checks and submissions
    CHANGE = "change"  # by person
    CODE = "code"  # by person or client address: codes of invitations and of the setup
    VIEW = "view"  # by person or client address: expensive pages


SUBJECTS = {
    Limited.LOGIN: "logins",
    Limited.GUESS: "attempts to log in to this account",
    Limited.REGISTER: "registrations from your address",
    Limited.UPLOAD: "uploads, checks and submissions",
    Limited.CHANGE: "changes of methods, teams, tokens, links and texts",
    Limited.CODE: "codes of invitations and of the setup",
    Limited.VIEW: "pages with images, curves, figures, comparisons or selections",
}

RESPONSE_SECONDS = 0.25  # timeout for responses of the broker
PAUSE = 10  # seconds before an unresponsive broker is tried again


@dataclass(slots=True)
class RateLimiter:
    """Counts requests in the broker, or in this process while the broker is unavailable, so that no request waits or fails."""

    rates: dict[Limited, list[limits.RateLimitItem]]
    shared: FixedWindowRateLimiter
    own: FixedWindowRateLimiter = field(default_factory=lambda: FixedWindowRateLimiter(MemoryStorage()))
    unavailable_until: float = 0.0  # as time.monotonic()

    def hit(self, what: Limited, *who: str) -> None:
        """Count one more of `what` for this client. Raises RateLimitedError if that is too many."""
        for rate in self.rates[what]:
            wait = self._with_storage(_hit, rate, what, *who)
            if wait:
                counters.count_refusal(what)
                raise RateLimitedError(SUBJECTS[what], wait)

    def clear(self, what: Limited, *who: str) -> None:
        """Reset the count."""
        for rate in self.rates[what]:
            self._with_storage(FixedWindowRateLimiter.clear, rate, what, *who)

    def _with_storage(
        self, ask: Callable[..., Answer], rate: limits.RateLimitItem, what: Limited, *who: str
    ) -> Answer:
        if time.monotonic() >= self.unavailable_until:
            try:
                return ask(self.shared, rate, what, *who)
            except StorageError as error:
                self.unavailable_until = time.monotonic() + PAUSE
                log.warning("rate limits counted in this process", error=str(error.storage_error))
        return ask(self.own, rate, what, *who)


def _hit(limiter: FixedWindowRateLimiter, rate: limits.RateLimitItem, *who: str) -> int:
    """Count one more; return 0 if it is allowed, otherwise the seconds until it is."""
    if limiter.hit(rate, *who):
        return 0
    return max(1, math.ceil(limiter.get_window_stats(rate, *who).reset_time - time.time()))


def limiter_of(settings: LoginSettings, broker_url: str) -> RateLimiter:
    """Return a limiter with the rates of the settings; it does not connect yet."""
    pool = redis.ConnectionPool.from_url(
        broker_url,
        socket_timeout=RESPONSE_SECONDS,
        socket_connect_timeout=RESPONSE_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    storage = RedisStorage(
        broker_url, connection_pool=pool, key_prefix="heldout-limits", wrap_exceptions=True
    )
    rates = {what: limits.parse_many(getattr(settings, f"limit_{what}")) for what in Limited}
    return RateLimiter(rates, FixedWindowRateLimiter(storage))


def client_of(address: str) -> str:
    """The client to count for an IP address: an IPv6 /64 network is one client, because it is one household's.

    >>> client_of("2001:db8::7:1"), client_of("192.0.2.7")
    ('2001:db8::/64', '192.0.2.7')
    """
    try:
        parsed = ip_address(address)
    except ValueError:  # such as the path of a socket
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return f"{IPv6Address(int(parsed) >> 64 << 64)}/64"
