"""Limits on a client's concurrent requests."""

import anyio
import pytest

from app.core.errors import RateLimitedError
from app.web.middleware import MOST_WAITING, ConcurrencyLimiter


def test_a_clients_concurrent_requests_are_limited_without_delaying_others() -> None:
    handled = {"hammer": 0, "person": 0}

    async def request(turns: ConcurrencyLimiter, client: str, end: anyio.Event) -> None:
        async with turns.of(client):
            handled[client] += 1
            await end.wait()

    async def hammer() -> None:
        turns, end = ConcurrencyLimiter(2, "of yours"), anyio.Event()
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(request, turns, "hammer", end)
            await anyio.wait_all_tasks_blocked()
            assert handled == {"hammer": 2, "person": 0}
            tasks.start_soon(request, turns, "person", end)
            await anyio.wait_all_tasks_blocked()
            assert handled == {"hammer": 2, "person": 1}
            end.set()
        assert handled == {"hammer": 10, "person": 1}

    anyio.run(hammer)


def test_a_client_with_too_many_waiting_requests_is_refused() -> None:
    async def hammer() -> None:
        turns = ConcurrencyLimiter(1, "of yours", MOST_WAITING)

        async def wait() -> None:
            async with turns.of("hammer"):
                await anyio.sleep_forever()

        async with anyio.create_task_group() as tasks:
            for _ in range(MOST_WAITING + 1):
                tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(RateLimitedError):
                async with turns.of("hammer"):
                    pass
            async with turns.of("person"):
                pass
            tasks.cancel_scope.cancel()

    anyio.run(hammer)


def test_a_client_without_requests_takes_no_memory() -> None:
    async def visit() -> int:
        turns = ConcurrencyLimiter(1, "of yours", MOST_WAITING)
        async with turns.of("person"):
            pass
        return len(turns._semaphores)

    assert anyio.run(visit) == 0
