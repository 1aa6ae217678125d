"""Large bodies: a request gathered into pieces for a store, and stored content as a download, whole or by byte ranges."""

import re
import uuid
from asyncio import CancelledError
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any, BinaryIO, Final, TypeVar, cast

from fastapi import Header, Response
from fastapi.responses import RedirectResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from app.core.errors import OffsetError, RangeError, TooLargeError
from app.core.names import attachment
from app.core.units import MiB
from app.storage import Storage, storage_errors

LARGEST_PICTURE = 16 * MiB  # that organisers may send for a challenge
IN_MEMORY = 2 * MiB  # for each request; larger pieces go to a temporary file

ByteRange = Annotated[str | None, Header(alias="Range")]
IfRange = Annotated[str | None, Header(alias="If-Range")]
CONTENT_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    code: {"content": {"application/octet-stream": {}}} for code in (200, 206)
}


Piece = TypeVar("Piece")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """Stored content with the name under which it is saved, and its sha256. address: of a bucket that sends it in our place."""

    store: Storage
    key: str
    size: int
    filename: str
    sha256: str
    address: str | None = None


async def chunks_of(file: UploadFile) -> AsyncIterator[bytes]:
    """Read a file of a form piece by piece."""
    while chunk := await file.read(MiB):
        yield chunk


async def within_size(chunks: AsyncIterator[bytes], offset: int, size: int) -> AsyncIterator[bytes]:
    """Pass chunks on. Raises TooLargeError beyond the declared size."""
    async for chunk in chunks:
        offset += len(chunk)
        if offset > size:
            raise TooLargeError(f"{size} bytes were declared, but more arrived")
        yield chunk


async def pieces_of(chunks: AsyncIterator[bytes], size: int) -> AsyncGenerator[BinaryIO]:
    """Gather chunks into files of `size` bytes. What arrived before an error is yielded before it is raised."""
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
        except (Exception, CancelledError) as error:  # noqa: BLE001 - store what arrived before any error
            broken = error
        if piece.tell():
            yield _rewound(piece)
    if broken is not None:
        raise broken


async def append_pieces(pieces: AsyncGenerator[Piece], end: int, append: Callable[[int, Piece], int]) -> int:
    """Append pieces as they arrive, each in a thread; a slow client holds no lock, connection or thread. Return the new end."""
    async with aclosing(pieces):
        async for piece in pieces:
            end = await run_in_threadpool(append, end, piece)
    return end


async def append_to(
    store: Storage, upload_id: uuid.UUID, offset: int, size: int, chunks: AsyncIterator[bytes]
) -> int:
    """Append what arrives to a partial upload in a store, and return its new end. size: declared.

    What arrived before an error is stored. Raises OffsetError, ConflictError if another request is writing to it, TooLargeError
    beyond the declared size, and what the store raises.
    """
    end = await run_in_threadpool(store.length, upload_id)
    if offset != end:
        raise OffsetError(end)
    pieces = pieces_of(within_size(chunks, offset, size), store.piece_size)
    return await append_pieces(pieces, end, partial(store.append, upload_id))


def _rewound(piece: SpooledTemporaryFile[bytes]) -> BinaryIO:
    piece.seek(0)
    return cast("BinaryIO", piece)


def content_response(file: StoredFile, byte_range: str | None, if_range: str | None) -> Response:
    """Return a download of a stored file, whole or a range of bytes; a browser saves it, whatever its type.

    Raises RangeError, and what the store raises if the content is not there.
    """
    if file.address is not None:
        return RedirectResponse(file.address, 307, headers={"Cache-Control": "no-store"})
    etag = f'"{file.sha256}"'
    headers = {
        "Content-Disposition": attachment(file.filename),
        "Accept-Ranges": "bytes",
        "ETag": etag,
        "Cache-Control": "no-store",
    }
    try:
        part = parse_range(byte_range if if_range in (None, etag) else None, file.size)
    except ValueError:
        raise RangeError(file.size) from None
    first, last = part or (0, file.size - 1)
    headers["Content-Length"] = str(last - first + 1)
    if part is not None:
        headers["Content-Range"] = f"bytes {first}-{last}/{file.size}"
    blocks = _blocks(file, first, last)
    next(blocks)  # opens the content: once the headers are sent, no error can be said any more
    return StreamingResponse(
        blocks,
        206 if part else 200,
        headers=headers,
        media_type="application/octet-stream",
    )


def _blocks(file: StoredFile, first: int, last: int) -> Iterator[bytes]:
    """Yield the bytes of a stored file from `first` to `last`, after nothing once it is open.

    The last bytes of a whole file follow only after verification: a download of corrupt bytes breaks off.
    """
    with file.store.open(file.key, first) as content:
        yield b""
        before, rest = b"", last - first + 1
        while rest and (block := content.read(min(MiB, rest))):
            rest -= len(block)
            yield before
            before = block
        content.read(1)
        yield before


def parse_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and last byte of a request for a single range; None for the whole content.

    Raises ValueError for a range outside the content.

    >>> parse_range("bytes=0-99", 1000), parse_range("bytes=-1", 1000), parse_range(None, 1000)
    ((0, 99), (999, 999), None)
    """
    found = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", (header or "").strip(), re.ASCII)
    if found is None or found[0] == "bytes=-":
        return None  # several ranges or another unit: the whole content is a valid response
    first, last = found[1], found[2]
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last), size - 1) if first and last else size - 1
    if start > end:
        raise ValueError(f"bytes {start} to {end}")
    return start, end
