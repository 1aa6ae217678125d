"""Rendered pages of this process: made once per version, kept compressed, with an ETag."""

import gzip
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from contextlib import nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeVar, cast

from starlette.requests import Request
from starlette.responses import Response

MAX_BYTES = 32 << 20
VARIANT_BYTES = (
    8 << 20
)  # of pages that addresses ask for beside the usual one; whoever asks for many displaces only these
SLOW = 0.25  # seconds of processor time from which on a rendering is slow
REST = 10  # times as long as a slow rendering took, the next version is not rendered
MOST_VERSIONS = 1000  # what was read longest ago goes first
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


@dataclass(slots=True)
class _Shelf:
    """Renderings up to so many bytes, of a document only the newest; what was not asked for longest goes first."""

    max_bytes: int
    rendered: OrderedDict[Hashable, tuple[Rendered, Hashable]] = field(default_factory=OrderedDict)
    newest: dict[Hashable, Hashable] = field(default_factory=dict)  # the key of each document's rendering
    bytes: int = 0

    def find(self, key: Hashable) -> Rendered | None:
        known = self.rendered.get(key)
        if known is None:
            return None
        self.rendered.move_to_end(key)
        return known[0]

    def keep(self, key: Hashable, rendered: Rendered, document: Hashable) -> None:
        self._drop(key)
        if document is not None:
            self._drop(self.newest.get(document))
            self.newest[document] = key
        self.rendered[key] = rendered, document
        self.bytes += len(rendered.compressed)
        while self.bytes > self.max_bytes:
            self._drop(next(iter(self.rendered)))

    def _drop(self, key: Hashable) -> None:
        if key in self.rendered:
            rendered, document = self.rendered.pop(key)
            self.bytes -= len(rendered.compressed)
            self.newest.pop(document, None)


@dataclass(slots=True)
class Cache:
    """Versions and renderings, each computed by one thread while others wait for it.

    A version is read again after a second, and at once after this process itself has changed something. Variants are renderings
    of which an address can ask for any number; they have a shelf of their own.
    """

    max_bytes: int = MAX_BYTES
    variant_bytes: int = VARIANT_BYTES
    _lock: threading.Lock = field(default_factory=threading.Lock)
    # variants are rendered one by one: eight who share the interpreter with a short request keep it waiting eight times as long
    _variants: threading.Lock = field(default_factory=threading.Lock)
    _epoch: int = 0
    _versions: dict[Hashable, tuple[float, Hashable, float | None]] = field(default_factory=dict)
    _shelves: tuple[_Shelf, _Shelf] = field(init=False)
    _flights: dict[Hashable, Future[Any]] = field(default_factory=dict)
    _resting: dict[Hashable, tuple[float, Rendered]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Put up the shelves."""
        self._shelves = _Shelf(self.max_bytes), _Shelf(self.variant_bytes)

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
        if known is not None and time.monotonic() - known[0] < (FRESH if known[2] is None else known[2]):
            return cast("Version", known[1])

        def read_and_keep() -> Version:
            started = time.monotonic()
            version = read()
            with self._lock:
                if epoch == self._epoch or lasting is not None:
                    self._versions.pop(key, None)
                    self._versions[key] = started, version, lasting
                    if len(self._versions) > MOST_VERSIONS:
                        del self._versions[next(iter(self._versions))]
            return version

        result: Version = self._once(("version", epoch, key), read_and_keep, patience)
        return result

    def forget_versions(self, kind: str | None = None) -> None:
        """Read every version again at its next use; the results of reads that are under way are dropped.

        kind: of which alone, a read that is under way excepted; the name with which their keys begin.
        """
        with self._lock:
            if kind is not None:
                for key in [each for each in self._versions if isinstance(each, tuple) and each[0] == kind]:
                    del self._versions[key]
                return
            self._epoch += 1
            self._versions = {key: each for key, each in self._versions.items() if each[2] is not None}

    def has_variant(self, key: Hashable) -> bool:
        """Whether a variant is there, and costs nothing to ask for."""
        with self._lock:
            return self._shelves[True].find(key) is not None

    def rendered(
        self,
        key: Hashable,
        make: Callable[[], bytes],
        *,
        is_variant: bool = False,
        document: Hashable = None,
    ) -> Rendered:
        """What was made for `key`, which names its version, too; made now if it is not there.

        document: what `key` names without the version. Its newest rendering takes the place of the one before. Where the last was
        slow, it is given for a while whatever the version is, so that a large board under constant change costs a tenth of a processor.
        """
        shelf = self._shelves[is_variant]
        with self._lock:
            until, last = self._resting.get(document, (0.0, None))
            known = shelf.find(key)
        if known is not None:
            return known
        if last is not None and time.monotonic() < until:
            return last

        def make_and_keep() -> Rendered:
            with self._variants if is_variant else nullcontext():
                begun = time.thread_time()
                rendered = Rendered.of(make())
                seconds, now = time.thread_time() - begun, time.monotonic()
            with self._lock:
                shelf.keep(key, rendered, document)
                self._resting = {each: one for each, one in self._resting.items() if one[0] > now}
                if document is not None and seconds > SLOW:
                    self._resting[document] = now + REST * seconds, rendered
            return rendered

        result: Rendered = self._once(("rendered", key), make_and_keep)
        return result

    def _once(self, key: Hashable, work: Callable[[], Any], patience: float = LONGEST_WAIT) -> Any:
        """The result of `work`, which one thread does while those who want the same wait; also its exception.

        patience: seconds for which one waits for somebody else before one does it oneself.
        """
        given_up: Future[Any] | None = None
        while True:
            with self._lock:
                flight = self._flights.get(key)
                if flight is None or flight is given_up:
                    mine = self._flights[key] = Future[Any]()
                    break
            given_up = flight
            if not wait([flight], patience).done:
                continue
            return flight.result()
        try:
            mine.set_result(work())
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                if self._flights.get(key) is mine:
                    del self._flights[key]
        return mine.result()


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
