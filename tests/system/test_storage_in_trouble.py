"""A store on a misbehaving S3 service: every failure is a storage error, and nothing is lost or doubled."""

import io
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import TypeVar

import pytest

from app.core.errors import OffsetError, StorageUnavailableError
from app.storage import Storage
from tests.system.object_proxy import TROUBLES, ObjectProxy, object_proxy
from tests.system.object_store import ObjectStore, store_at
from tests.system.test_storage import read

pytestmark = pytest.mark.system

ARCHIVE = bytes(range(256)) * 1024
HALVES = ARCHIVE[:100_000], ARCHIVE[100_000:]
PATIENCE = 200  # attempts

Answer = TypeVar("Answer")


@pytest.fixture(scope="module")
def service(objects: ObjectStore) -> Iterator[ObjectProxy]:
    with object_proxy(objects.endpoint) as running:
        running.chance = Random(2012)
        yield running


def insist(attempt: Callable[[], Answer]) -> Answer:
    """Retry after storage errors until the call succeeds, and return its result."""
    for _ in range(PATIENCE):
        with suppress(StorageUnavailableError):
            return attempt()
    raise AssertionError("no attempt succeeded")


def sent(store: Storage, upload: uuid.UUID) -> None:
    """Send both halves, each at the offset reported by the store."""
    while (offset := insist(lambda: store.length(upload))) < len(ARCHIVE):
        end = len(HALVES[0]) if offset < len(HALVES[0]) else len(ARCHIVE)
        with suppress(StorageUnavailableError, OffsetError):
            store.append(upload, offset, io.BytesIO(ARCHIVE[offset:end]))


@pytest.mark.sampled
@pytest.mark.parametrize("name", sorted(set(TROUBLES) - {"slow"}))
def test_work_interrupted_at_any_point_can_be_repeated(service: ObjectProxy, name: str) -> None:
    store, upload = store_at(service.endpoint, f"{name}/"), uuid.uuid4()

    with service.in_trouble(name, share=0.3):
        sent(store, upload)
        key = insist(lambda: store.commit(upload, len(ARCHIVE)))
        there = insist(lambda: store.exists(key))
        found = insist(lambda: read(store, key))
        insist(lambda: store.discard(upload))
        insist(lambda: store.delete(insist(lambda: store.put(b"other"))))

    assert (there, found) == (True, ARCHIVE)
    assert [each.key for each in store.contents()] == [key]
    assert list(store.partials()) == []
