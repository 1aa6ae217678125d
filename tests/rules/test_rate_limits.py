"""How often something may be asked for."""

import socket
import time
from collections.abc import Iterator

import pytest

from app.core.errors import RateLimitedError
from app.core.rate_limits import RESPONSE_SECONDS, SUBJECTS, Limited, RateLimiter, client_of, limiter_of
from app.core.settings import LoginSettings

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def silent_broker() -> Iterator[str]:
    """A broker that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


def limiter(broker_url: str = NOWHERE, **rates: str) -> RateLimiter:
    return limiter_of(LoginSettings(**rates), broker_url)  # type: ignore[arg-type]  # the other settings keep their defaults


def hits(counted: RateLimiter, who: str, what: Limited = Limited.LOGIN) -> int:
    """How many requests in a row are allowed."""
    for number in range(100):
        try:
            counted.hit(what, who)
        except RateLimitedError:
            return number
    return 100


def test_a_limit_allows_exactly_its_number_of_requests() -> None:
    counted = limiter(limit_login="3/minute")

    assert hits(counted, "ash") == 3
    with pytest.raises(RateLimitedError) as refused:
        counted.hit(Limited.LOGIN, "ash")
    assert 50 < refused.value.retry_after <= 60
    assert str(refused.value).startswith("Too many logins. Please try again in ")


def test_people_and_limits_are_counted_separately() -> None:
    counted = limiter(limit_login="3/minute", limit_register="2/minute")

    hits(counted, "ash")

    assert hits(counted, "beech") == 3
    assert hits(counted, "ash", Limited.REGISTER) == 2


def test_the_longer_rate_applies_when_the_shorter_one_allows_more() -> None:
    counted = limiter(limit_guess="5/second;7/10 minutes")
    assert hits(counted, "ash", Limited.GUESS) == 5
    time.sleep(1.01)  # then the first rate allows more

    assert hits(counted, "ash", Limited.GUESS) == 2
    with pytest.raises(RateLimitedError, match="10 minutes"):
        counted.hit(Limited.GUESS, "ash")


def test_a_successful_attempt_resets_the_count() -> None:
    counted = limiter(limit_guess="3/minute;4/hour")
    hits(counted, "ash", Limited.GUESS)

    counted.clear(Limited.GUESS, "ash")

    assert hits(counted, "ash", Limited.GUESS) == 3


def test_an_unresponsive_broker_costs_only_a_short_wait(silent_broker: str) -> None:
    counted = limiter(silent_broker, limit_login="3/minute")
    start = time.monotonic()

    assert hits(counted, "ash") == 3
    assert time.monotonic() - start < 40 * RESPONSE_SECONDS


def test_every_limit_has_rates_and_a_name() -> None:
    assert set(SUBJECTS) == set(Limited)
    assert set(limiter().rates) == set(Limited)


def test_a_malformed_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="expected rates such as 5/minute;20/hour"):
        LoginSettings(limit_login="often")


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_addresses_of_one_household_count_as_one_client(address: str, client: str) -> None:
    assert client_of(address) == client
