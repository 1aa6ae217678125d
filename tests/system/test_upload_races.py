"""Two simultaneous writes to one upload, forced into the harmful order."""

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from app.core.access import Actor
from app.core.errors import ConflictError
from app.models import UploadState
from app.people import accounts, sessions
from app.platform import Platform
from app.storage import content_key
from app.submissions import receiving, uploads
from app.submissions.uploads import UploadMetadata
from tests.system.installations import installation
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers

pytestmark = [pytest.mark.slow, pytest.mark.system]

ARCHIVE = results(cat=5, dog=5)
MIDDLE = len(ARCHIVE) // 2
OTHER = bytes(len(ARCHIVE) - MIDDLE)


@pytest.fixture(scope="module")
def platform(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with installation(own_servers) as running:
        running.load(small_kit(tmp_path_factory.mktemp("upload races")), "races", quota=9)
        yield running.platform


@pytest.fixture(scope="module")
def somebody(platform: Platform) -> Actor:
    token = accounts.create_program_token(platform, "oak@example.org", "Oak")
    return sessions.identify(platform, None, token)


@pytest.fixture
def half(platform: Platform, somebody: Actor) -> uuid.UUID:
    """An upload of which the first half has arrived."""
    upload = receiving.create_upload(
        platform, somebody, ("races", "test"), UploadMetadata("results.tar.gz", len(ARCHIVE))
    )
    asyncio.run(receiving.receive(platform, upload, 0, stream(ARCHIVE[:MIDDLE])))
    return upload.id


async def stream(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def test_a_stale_request_changes_no_byte_of_an_upload_being_completed(
    platform: Platform, somebody: Actor, half: uuid.UUID
) -> None:
    async def race() -> None:
        stale = uploads.get_upload(platform, somebody, half)
        fresh = uploads.get_upload(platform, somebody, half)
        await receiving.receive(platform, fresh, MIDDLE, stream(ARCHIVE[MIDDLE:]))
        is_open, is_complete = asyncio.Event(), asyncio.Event()

        async def late() -> AsyncIterator[bytes]:
            is_open.set()
            await is_complete.wait()
            yield OTHER

        intruder = asyncio.create_task(receiving.receive(platform, stale, MIDDLE, late()))
        opened = asyncio.create_task(is_open.wait())
        await asyncio.wait((intruder, opened), return_when=asyncio.FIRST_COMPLETED)
        upload = await receiving.finish(platform, somebody, half)
        is_complete.set()
        with pytest.raises(ConflictError):
            await intruder
        opened.cancel()
        assert (upload.state, upload.valid) == (UploadState.CHECKED, True)

    asyncio.run(race())

    upload = uploads.get_upload(platform, somebody, half)
    assert upload.sha256 == hashlib.sha256(ARCHIVE).hexdigest()
    with platform.archives.open(content_key(upload.sha256, half)) as stored:
        assert hashlib.sha256(stored.read()).hexdigest() == upload.sha256
