"""Bytes on their way from a request into a store."""

from asyncio import CancelledError
from collections.abc import AsyncGenerator, AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from app.storage.failures import storage_errors

MiB = 1 << 20

IN_MEMORY = 2 * MiB  # of one request; what is larger goes through a temporary file


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
