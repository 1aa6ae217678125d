"""Bytes on their way from a request into a store."""

import hashlib
from asyncio import CancelledError
from collections.abc import AsyncGenerator, AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from app.errors import PieceChecksumError
from app.storage.failures import storage_errors

MiB = 1 << 20

IN_MEMORY = 2 * MiB  # of one request; what is larger goes through a temporary file


async def verified(chunks: AsyncIterator[bytes], algorithm: str, digest: bytes) -> AsyncGenerator[bytes]:
    """The same bytes, once all of them are here and have this digest.

    Raises PieceChecksumError before the first byte if they do not.
    """
    content_hash = hashlib.new(algorithm, usedforsecurity=False)
    with SpooledTemporaryFile(max_size=IN_MEMORY) as spool:
        async for chunk in chunks:
            content_hash.update(chunk)
            with storage_errors():
                spool.write(chunk)
        if content_hash.digest() != digest:
            raise PieceChecksumError("The bytes do not have the checksum in Upload-Checksum; send them again")
        spool.seek(0)
        while block := spool.read(MiB):
            yield block


async def pieces_of(chunks: AsyncIterator[bytes], size: int) -> AsyncGenerator[BinaryIO]:
    """Chunks gathered into files of `size` bytes; what came before an error is yielded before it is raised."""
    broken: BaseException | None = None
    with SpooledTemporaryFile(max_size=IN_MEMORY) as piece:
        try:
            async for chunk in chunks:
                with storage_errors():
                    piece.write(chunk)
                if piece.tell() >= size:
                    yield _rewound(piece)
                    piece.seek(0)
                    piece.truncate()
        except (Exception, CancelledError) as error:  # noqa: BLE001 - whatever it is, the bytes before it have arrived
            broken = error
        if piece.tell():
            yield _rewound(piece)
    if broken is not None:
        raise broken


def _rewound(piece: SpooledTemporaryFile[bytes]) -> BinaryIO:
    piece.seek(0)
    return cast("BinaryIO", piece)
