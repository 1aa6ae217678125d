"""Storing what a worker made, and reading it for a page."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice

from app import removals
from app.artefacts import queries
from app.artefacts.schemas import ArtefactView, Content
from app.cache import Rendered
from app.platform import Platform
from app.storage import digest_of

BATCH = 100  # contents of one transaction
UNUSED_AGE = timedelta(days=1)  # of a content that no row names; its row may be about to be written


def store(  # noqa: PLR0913 - what an artefact is, each by its name
    platform: Platform,
    kind: str,
    subject: str,
    version: str,
    media_type: str,
    content: bytes,
    *,
    as_of: datetime | None = None,
) -> None:
    """Keep an artefact in place of the one before of this kind and subject.

    version: of what it was made from; as_of: when that was read, by the database's clock, so that of two workers the one
    that read later data has the last word; by default now. Doing so twice gives the same.
    """
    with platform.transaction() as session:
        before = queries.find(session, kind, subject)
        moment = as_of or queries.now(session)
        is_same = before is not None and digest_of(before.key) == sha256(content).hexdigest()
        if before is not None and is_same and queries.renew(session, before, version, moment):
            return
    key = platform.artefacts.put(
        content, uuid.uuid4()
    )  # of its own: a shared one could not be removed safely
    view = ArtefactView(kind, subject, version, key, media_type, len(content), moment)
    with platform.transaction() as session:
        queries.put(session, view, moment)


def read(platform: Platform, kind: str, subject: str) -> Content | None:
    """An artefact with its bytes; none if it has not been made yet."""
    with platform.transaction() as session:
        found = queries.find(session, kind, subject)
    return None if found is None else Content(found.version, found.media_type, content_of(platform, found))


def content_of(platform: Platform, artefact: ArtefactView) -> bytes:
    """The bytes of an artefact."""
    with platform.artefacts.open(artefact.key) as stream:
        return stream.read()


def rendered(platform: Platform, artefact: ArtefactView) -> Rendered:
    """An artefact compressed and with an ETag, read from the store once and then kept in memory."""
    return platform.cache.rendered(("artefact", artefact.key), lambda: content_of(platform, artefact))


def remove_unused(platform: Platform) -> int:
    """Remove contents that no artefact names any more; how many.

    It lists the whole store, so a sweep does it once a day; what a backup keeps it from, it does on the next.
    """
    before, count = datetime.now(UTC) - UNUSED_AGE, 0
    keys = (each.key for each in platform.artefacts.contents() if each.stored_at < before)
    for some in _batches(keys):
        with platform.transaction() as session:
            if not removals.are_allowed(session):
                return count
            unused = set(some) - queries.named(session, some)
        for key in unused:
            platform.artefacts.delete(key)
        count += len(unused)
    return count


def _batches(keys: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(keys, BATCH)):
        yield batch
