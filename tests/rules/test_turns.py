"""Requests of one client at a time."""

import time

import anyio
import pytest
from starlette.requests import ClientDisconnect

from app import turns as turns_module
from app.errors import RateLimitedError
from app.turns import MOST_WAITING, REFUSED_AT_ONCE, Turns


async def stays() -> bool:
    return False


async def has_left() -> bool:
    return True


def test_a_client_has_so_many_requests_at_once_and_keeps_nobody_else_waiting() -> None:
    handled = {"hammer": 0, "person": 0}

    async def request(turns: Turns, client: str, end: anyio.Event) -> None:
        async with turns.of(client, stays):
            handled[client] += 1
            await end.wait()

    async def hammer() -> None:
        turns, end = Turns(2, "of yours"), anyio.Event()
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


def test_who_has_too_many_waiting_is_told_to_come_again() -> None:
    async def hammer() -> None:
        turns = Turns(1, "of yours")

        async def wait() -> None:
            async with turns.of("hammer", stays):
                await anyio.sleep_forever()

        async with anyio.create_task_group() as tasks:
            for _ in range(MOST_WAITING + 1):
                tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(RateLimitedError):
                async with turns.of("hammer", stays):
                    pass
            async with turns.of("person", stays):
                pass
            tasks.cancel_scope.cancel()

    anyio.run(hammer)


def test_who_goes_on_all_the_same_is_refused_no_faster_than_a_few_in_each_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns_module, "PAUSE", 0.05)
    rounds = 3

    async def hammer() -> float:
        turns = Turns(1, "of yours")

        async def wait() -> None:
            async with turns.of("hammer", stays):
                await anyio.sleep_forever()

        async def ask() -> None:
            with pytest.raises(RateLimitedError):
                async with turns.of("hammer", stays):
                    pass

        async with anyio.create_task_group() as waiting:
            for _ in range(MOST_WAITING + 1):
                waiting.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            begun = time.monotonic()
            async with anyio.create_task_group() as asking:
                for _ in range(rounds * REFUSED_AT_ONCE):
                    asking.start_soon(ask)
            waiting.cancel_scope.cancel()
        return time.monotonic() - begun

    assert anyio.run(hammer) >= rounds * 0.05


def test_nothing_is_done_for_clients_that_have_left_and_they_wait_for_no_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns_module, "PAUSE", 3600)

    async def hammer() -> None:
        turns, end = Turns(1, "of yours"), anyio.Event()

        async def wait() -> None:
            async with turns.of("hammer", stays):
                await end.wait()

        async def leave() -> None:
            with pytest.raises(ClientDisconnect):
                async with turns.of("hammer", has_left):
                    raise AssertionError("handled")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            for _ in range(MOST_WAITING + 10 * REFUSED_AT_ONCE):
                tasks.start_soon(leave)
            await anyio.wait_all_tasks_blocked()
            end.set()

    anyio.run(hammer)


def test_who_leaves_a_page_that_was_begun_keeps_its_place_for_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns_module, "PAUSE", 0.05)

    async def hammer() -> float:
        turns = Turns(1, "of yours")
        begun = time.monotonic()
        with pytest.raises(ClientDisconnect):
            async with turns.of("hammer", stays):
                raise ClientDisconnect
        return time.monotonic() - begun

    assert anyio.run(hammer) >= 0.05


def test_a_client_without_requests_is_forgotten() -> None:
    async def visit() -> int:
        turns = Turns(1, "of yours")
        async with turns.of("person", stays):
            pass
        return len(turns._clients)

    assert anyio.run(visit) == 0
