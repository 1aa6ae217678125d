"""Rendered pages of this process: made once per version, kept compressed, with an ETag."""

import gzip
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar, cast

from cachetools import LRUCache, TLRUCache
from starlette.requests import Request
from starlette.responses import Response

MAX_BYTES = 32 << 20
VARIANT_BYTES = 8 << 20  # of pages that addresses ask for beside the usual one
MOST_VERSIONS = 1000  # what was not asked for longest goes first
FRESH = 1.0  # seconds for which a version is used without reading it again
LONGEST_WAIT = 60.0  # seconds for somebody else's rendering; then one makes it oneself
Version = TypeVar("Version", bound=Hashable)

SPLICED_LEVEL = 1  # of compression, where a page is made for one person


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page or a document, compressed, and the name of its content."""

    compressed: bytes
    etag: str

    @classmethod
    def of(cls, content: bytes) -> "Rendered":
        """Compress a content; the same content has the same ETag in every process."""
        return cls(gzip.compress(content, mtime=0), f'W/"{sha256(content).hexdigest()[:24]}"')


@dataclass(frozen=True, slots=True)
class _Version:
    """What was read, and until when it is used; one that lasts survives changes of other things."""

    value: Hashable
    until: float
    lasts: bool


class Cache:
    """Versions and renderings, each computed by one thread while others wait for it.

    A version is read again after a second, and at once after this process itself has changed something. Variants are renderings
    of which an address can ask for any number; whoever asks for many displaces only other variants.
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
        """The version of what `key` names, at most a second old.

        lasting: seconds for which a version is used that this process does not change, whatever else it changes.
        patience: seconds for which one waits for somebody else's reading before one reads oneself.
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

    def forget_versions(self, kind: str | None = None) -> None:
        """Read every version again at its next use; the results of reads that are under way are dropped.

        kind: of which alone, a read that is under way excepted; the name with which their keys begin.
        """
        with self._lock:
            self._epoch += kind is None
            for key, version in list(self._versions.items()):
                is_of_kind = isinstance(key, tuple) and key[0] == kind
                if is_of_kind or (kind is None and not version.lasts):
                    self._versions.pop(key, None)

    def has_variant(self, key: Hashable) -> bool:
        """Whether a variant is there, and costs nothing to ask for."""
        with self._lock:
            return key in self._variants

    def rendered(self, key: Hashable, make: Callable[[], bytes], *, is_variant: bool = False) -> Rendered:
        """What was made for `key`, which names its version, too; made now if it is not there."""
        shelf = self._variants if is_variant else self._rendered
        with self._lock:
            known = shelf.get(key)
        if known is not None:
            return known

        def make_and_keep() -> Rendered:
            rendered = Rendered.of(make())
            with self._lock, suppress(ValueError):  # larger than the whole shelf
                shelf[key] = rendered
            return rendered

        result: Rendered = self._once(("rendered", key), make_and_keep)
        return result

    def _once(self, key: Hashable, work: Callable[[], Any], patience: float = LONGEST_WAIT) -> Any:
        """The result of `work`, which one thread does while those who want the same wait; also its exception.

        patience: seconds for which one waits for somebody else before one does it oneself.
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
    splice: "Splice | None" = None,
    filename: str | None = None,
) -> Response:
    """The rendering, or 304 for a browser that has it. With a splice, a page for one person is made from it.

    filename: under which a browser saves it.
    """
    etag = rendered.etag if splice is None else splice.etag(rendered)
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
    takes_gzip = "gzip" in request.headers.get("accept-encoding", "")
    if splice is None and takes_gzip:
        body = rendered.compressed
    else:
        body = gzip.decompress(rendered.compressed)
        if splice is not None:
            body = body.replace(splice.marker, splice.content, 1)
            body = gzip.compress(body, SPLICED_LEVEL, mtime=0) if takes_gzip else body
    if takes_gzip:
        headers["Content-Encoding"] = "gzip"
    return Response(body, headers=headers, media_type=media_type)


@dataclass(frozen=True, slots=True)
class Splice:
    """What stands in a page in place of a marker for one person."""

    marker: bytes
    content: bytes

    def etag(self, rendered: Rendered) -> str:
        """The name of the page with this content in it."""
        digest = sha256(rendered.etag.encode() + b"\0" + self.content).hexdigest()[:24]
        return f'W/"{digest}"'
