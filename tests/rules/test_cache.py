"""One rendering per version, however many readers ask at once."""

import gzip
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from app.core.caching import Cache, Rendered
from tests.patience import HANGS

CROWD = 16


def at_once(ask: Callable[[], object]) -> list[object]:
    """What many threads get when they ask at the same moment."""
    start = threading.Barrier(CROWD)

    def wait_and_ask() -> object:
        start.wait()
        return ask()

    with ThreadPoolExecutor(CROWD) as crowd:
        asked = [crowd.submit(wait_and_ask) for _ in range(CROWD)]
        return [each.result() for each in asked]


def test_simultaneous_requests_share_one_rendering() -> None:
    cache, made = Cache(), []
    all_are_waiting = threading.Event()

    def make() -> bytes:
        made.append(1)
        all_are_waiting.wait(0.2)
        return b"page"

    answers = at_once(lambda: cache.rendered("key", make))

    assert len(made) == 1
    assert {answer.etag for answer in answers if isinstance(answer, Rendered)} == {Rendered.of(b"page").etag}
    assert gzip.decompress(cache.rendered("key", make).compressed) == b"page"


def test_a_reader_that_has_waited_long_enough_computes_the_version_itself() -> None:
    cache, begun, hangs = Cache(), threading.Event(), threading.Event()

    def hang() -> int:
        begun.set()
        hangs.wait(HANGS)
        return 1

    with ThreadPoolExecutor(2) as readers:
        stuck = readers.submit(cache.version, "storage", hang)
        begun.wait(HANGS)
        found = cache.version("storage", lambda: 2, patience=0.05)
        again = cache.version("storage", lambda: 3)
        hangs.set()

    assert (found, again, stuck.result()) == (2, 2, 1)


def test_the_next_request_retries_a_failed_rendering() -> None:
    cache = Cache()

    def fail() -> bytes:
        raise LookupError("no such board")

    with pytest.raises(LookupError):
        cache.rendered("key", fail)
    assert cache.rendered("key", lambda: b"page").etag == Rendered.of(b"page").etag


def test_a_version_is_cached_briefly_and_read_again_after_a_change_by_this_process() -> None:
    cache, versions = Cache(), iter((1, 2, 3))

    assert [cache.version("board", lambda: next(versions)) for _ in range(3)] == [1, 1, 1]
    cache.expire_versions()
    assert cache.version("board", lambda: next(versions)) == 2


def test_a_version_with_a_longer_lifetime_survives_a_change_by_this_process() -> None:
    cache, versions = Cache(), iter((1, 2))

    assert cache.version("uses", lambda: next(versions), 60) == 1
    cache.expire_versions()
    assert cache.version("uses", lambda: next(versions), 60) == 1
    assert cache.version("others", lambda: next(versions), 0) == 2


def test_a_change_expires_only_versions_of_its_own_kind() -> None:
    cache = Cache()
    keys = ("board", ("board", 3), ("queue", "1"))
    for key in keys:
        cache.version(key, lambda: 1)

    cache.expire_versions("queue")

    assert [cache.version(key, lambda: 2) for key in keys] == [1, 1, 2]


def test_a_version_read_before_a_change_is_not_used_after_it() -> None:
    cache = Cache()

    def read_while_it_changes() -> int:
        cache.expire_versions()
        return 1

    assert cache.version("board", read_while_it_changes) == 1
    assert cache.version("board", lambda: 2) == 2


def test_the_least_recently_used_page_is_evicted_first() -> None:
    size = len(Rendered.of(b"a").compressed)
    cache, made = Cache(max_bytes=2 * size), []

    def page(name: bytes) -> bytes:
        made.append(name)
        return name

    for name in (b"a", b"b", b"a", b"c", b"a", b"b"):
        cache.rendered(name, partial(page, name))

    assert made == [b"a", b"b", b"c", b"b"]


def test_many_variants_do_not_evict_the_usual_pages() -> None:
    size = len(Rendered.of(b"page 00").compressed)
    cache, made = Cache(max_bytes=10 * size, variant_bytes=2 * size), []

    def page(name: bytes) -> bytes:
        made.append(name)
        return name

    cache.rendered("usual", partial(page, b"usual"))
    for number in range(50):
        cache.rendered(number, partial(page, b"page %02d" % number), is_variant=True)
    cache.rendered("usual", partial(page, b"usual"))
    cache.rendered(49, partial(page, b"page 49"), is_variant=True)

    assert made.count(b"usual") == 1
    assert made.count(b"page 49") == 1
    assert len(made) == 51


def test_the_least_recently_used_version_is_evicted_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.core.caching.MOST_VERSIONS", 2)
    cache, read = Cache(), []

    def ask(key: str) -> str:
        return cache.version(key, lambda: read.append(key) or key)  # type: ignore[func-returns-value]

    answers = [ask(key) for key in ("a", "b", "a", "c", "b", "a")]

    assert answers == ["a", "b", "a", "c", "b", "a"]
    assert read == ["a", "b", "c", "b", "a"]
