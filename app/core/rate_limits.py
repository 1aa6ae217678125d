"""How often something may be asked for: one limiter for all web processes, on the broker."""

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
    """What is counted; its rates are the setting `limit_…` of this name."""

    LOGIN = "login"  # by client address, and by account from browsers that are new to it
    GUESS = "guess"  # passwords by account and client address, codes by account
    REGISTER = "register"  # by client address
    UPLOAD = "upload"  # by person: uploads, checks and submissions
    CHANGE = "change"  # by person
    VIEW = "view"  # by person or client address: what takes long to make


SUBJECTS = {
    Limited.LOGIN: "logins",
    Limited.GUESS: "attempts to log in to this account",
    Limited.REGISTER: "registrations from your address",
    Limited.UPLOAD: "uploads, checks and submissions",
    Limited.CHANGE: "changes of methods, teams, tokens and links",
    Limited.VIEW: "pages with images, curves, figures, comparisons or selections",
}

RESPONSE_SECONDS = 0.25  # within which the broker has to respond
PAUSE = 10  # seconds for which a broker that did not respond is not asked


@dataclass(slots=True)
class RateLimiter:
    """Counts on the broker; in this process while the broker is away, so that nobody waits for it or gets an error."""

    rates: dict[Limited, list[limits.RateLimitItem]]
    shared: FixedWindowRateLimiter
    own: FixedWindowRateLimiter = field(default_factory=lambda: FixedWindowRateLimiter(MemoryStorage()))
    is_away_until: float = 0.0  # by the clock of this process

    def hit(self, what: Limited, *who: str) -> None:
        """Count one more of `what` by somebody; raises RateLimitedError when that is too many."""
        for rate in self.rates[what]:
            wait = self._with_storage(_hit, rate, what, *who)
            if wait:
                counters.count_refusal(what)
                raise RateLimitedError(SUBJECTS[what], wait)

    def clear(self, what: Limited, *who: str) -> None:
        """Count from zero again."""
        for rate in self.rates[what]:
            self._with_storage(FixedWindowRateLimiter.clear, rate, what, *who)

    def _with_storage(
        self, ask: Callable[..., Answer], rate: limits.RateLimitItem, what: Limited, *who: str
    ) -> Answer:
        if time.monotonic() >= self.is_away_until:
            try:
                return ask(self.shared, rate, what, *who)
            except StorageError as error:
                self.is_away_until = time.monotonic() + PAUSE
                log.warning("limits are counted in this process", error=str(error.storage_error))
        return ask(self.own, rate, what, *who)


def _hit(limiter: FixedWindowRateLimiter, rate: limits.RateLimitItem, *who: str) -> int:
    """Seconds until one more is allowed; 0 if this one is, which is counted."""
    if limiter.hit(rate, *who):
        return 0
    return max(1, math.ceil(limiter.get_window_stats(rate, *who).reset_time - time.time()))


def limiter_of(settings: LoginSettings, broker_url: str) -> RateLimiter:
    """The limiter that the settings describe; nothing is connected yet."""
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
    """Who is counted for a client address: an IPv6 network of 64 bits is one client, as it is one household's.

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
