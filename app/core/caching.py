"""Per-process cache of rendered pages: rendered once per version, stored compressed, with an ETag."""

import gzip
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar, cast

from cachetools import LRUCache, TLRUCache
from starlette.requests import Request
from starlette.responses import Response

MAX_BYTES = 32 << 20
VARIANT_BYTES = 8 << 20  # for pages that depend on query parameters
MOST_VERSIONS = 1000  # the least recently used go first
FRESH = 1.0  # seconds for which a version is used before it is read again
LONGEST_WAIT = 60.0  # seconds to wait for another thread's computation before doing it in this one
Version = TypeVar("Version", bound=Hashable)

SPLICED_LEVEL = 1  # gzip level for pages that are made for one user


@dataclass(frozen=True, slots=True)
class Rendered:
    """A compressed page or document with its ETag."""

    compressed: bytes
    etag: str

    @classmethod
    def of(cls, content: bytes) -> "Rendered":
        """Compress content; the same content has the same ETag in every process."""
        return cls(gzip.compress(content, mtime=0), f'W/"{sha256(content).hexdigest()[:24]}"')


@dataclass(frozen=True, slots=True)
class _Version:
    """A cached value and its expiry; one that `lasts` survives `expire_versions()`."""

    value: Hashable
    until: float
    lasts: bool


class Cache:
    """Thread-safe cache of versions and renderings; concurrent requests for the same key share one computation.

    A version is read again after a second, or at once after this process itself has changed something. Variants are
    renderings that depend on query parameters, so a client can request any number of them; they only evict each other.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, variant_bytes: int = VARIANT_BYTES) -> None:
        self._lock = threading.Lock()
        self._epoch = 0
        self._versions: TLRUCache[Hashable, _Version] = TLRUCache(
            MOST_VERSIONS, ttu=lambda _key, version, _now: version.until, timer=time.monotonic
        )
        self._rendered: LRUCache[Hashable, Rendered] = LRUCache(max_bytes, getsizeof=_size)
        self._variants: LRUCache[Hashable, Rendered] = LRUCache(variant_bytes, getsizeof=_size)
        self._flights: dict[Hashable, Future[Any]] = {}

    def version(
        self,
        key: Hashable,
        read: Callable[[], Version],
        lasting: float | None = None,
        *,
        patience: float = LONGEST_WAIT,
    ) -> Version:
        """Return the version for `key`, read at most a second ago.

        lasting: seconds for which to use a version that changes made by this process do not affect.
        patience: seconds to wait for another thread's read before reading in this one.
        """
        with self._lock:
            epoch, known = self._epoch, self._versions.get(key)
        if known is not None:
            return cast("Version", known.value)

        def read_and_keep() -> Version:
            until = time.monotonic() + (FRESH if lasting is None else lasting)
            value = read()
            with self._lock:
                if epoch == self._epoch or lasting is not None:
                    self._versions[key] = _Version(value, until, lasting is not None)
            return value

        result: Version = self._once(("version", epoch, key), read_and_keep, patience)
        return result

    def known_version(self, key: Hashable) -> Any:
        """Return the version for `key` if it need not be read again, without waiting for anything."""
        with self._lock:
            known = self._versions.get(key)
        return known.value if known is not None else None

    def expire_versions(self, kind: str | None = None) -> None:
        """Expire all versions but `lasting` ones; the results of reads in progress are dropped.

        kind: expire only versions whose key starts with this name; reads in progress are then kept.
        """
        with self._lock:
            self._epoch += kind is None
            for key, version in list(self._versions.items()):
                is_of_kind = isinstance(key, tuple) and key[0] == kind
                if is_of_kind or (kind is None and not version.lasts):
                    self._versions.pop(key, None)

    def has_variant(self, key: Hashable) -> bool:
        """Whether a variant is cached and so costs nothing to request."""
        with self._lock:
            return key in self._variants

    def rendered(self, key: Hashable, make: Callable[[], bytes], *, is_variant: bool = False) -> Rendered:
        """Return the rendering for `key`, which includes its version; `make` it if it is not cached."""
        renderings = self._variants if is_variant else self._rendered
        with self._lock:
            known = renderings.get(key)
        if known is not None:
            return known

        def make_and_keep() -> Rendered:
            rendered = Rendered.of(make())
            with self._lock, suppress(ValueError):  # larger than the whole cache
                renderings[key] = rendered
            return rendered

        result: Rendered = self._once(("rendered", key), make_and_keep)
        return result

    def _once(self, key: Hashable, work: Callable[[], Any], patience: float = LONGEST_WAIT) -> Any:
        """Return the result of `work`, or raise its exception; one thread computes it while the others wait.

        patience: seconds to wait for another thread before computing it in this one.
        """
        with self._lock:
            flight = self._flights.get(key)
            if flight is None:
                mine = self._flights[key] = Future[Any]()
        if flight is not None:
            return flight.result() if wait([flight], patience).done else work()
        try:
            mine.set_result(work())
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._flights[key]
        return mine.result()


def _size(rendered: Rendered) -> int:
    return len(rendered.compressed)


def conditional_response(
    request: Request,
    rendered: Rendered,
    media_type: str,
    *,
    is_private: bool,
    splices: "Sequence[Splice]" = (),
    filename: str | None = None,
) -> Response:
    """Return the rendering, or 304 if the browser has it. Splices turn it into a page for one user.

    filename: the name under which a browser saves it.
    """
    etag = rendered.etag
    for splice in splices:
        etag = splice.etag(etag)
    headers = {
        "ETag": etag,
        "Cache-Control": "no-store" if is_private else "no-cache",
        "Vary": "Accept-Encoding, Cookie, Authorization",
    }
    if filename is not None:
        headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    known = request.headers.get("if-none-match", "")
    if known.strip() == "*" or etag in (each.strip() for each in known.split(",")):
        return Response(status_code=304, headers=headers)
    accepts_gzip = "gzip" in request.headers.get("accept-encoding", "")
    if accepts_gzip and not splices:
        body = rendered.compressed
    else:
        body = gzip.decompress(rendered.compressed)
        for splice in splices:
            body = body.replace(splice.marker, splice.content, 1)
        body = gzip.compress(body, SPLICED_LEVEL, mtime=0) if accepts_gzip else body
    if accepts_gzip:
        headers["Content-Encoding"] = "gzip"
    return Response(body, headers=headers, media_type=media_type)


@dataclass(frozen=True, slots=True)
class Splice:
    """Content for one user that replaces a marker in a shared page."""

    marker: bytes
    content: bytes

    def etag(self, page: str) -> str:
        """The ETag of a page with this content inserted. page: its ETag without."""
        digest = sha256(page.encode() + b"\0" + self.content).hexdigest()[:24]
        return f'W/"{digest}"'
