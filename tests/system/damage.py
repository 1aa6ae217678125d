"""Damage stored contents behind a store's back, and repair them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from app.storage import FolderStorage, Storage
from app.storage.s3 import S3Storage

DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "flipped": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "truncated": lambda content: content[: len(content) // 2],
    "exchanged": lambda content: content[::-1],
    "longer": lambda content: content + b"\0",
    "emptied": lambda _: b"",
}


def overwrite(store: Storage, key: str, content: bytes) -> None:
    """Replace the bytes of a stored content, as a failing disk or a person with a shell does."""
    if isinstance(store, S3Storage):
        bucket = store.bucket
        bucket.client.put_object(Bucket=bucket.name, Key=f"{bucket.prefix}content/{key}", Body=content)
        return
    assert isinstance(store, FolderStorage)
    path = store.root / "content" / key[:2] / key
    path.unlink(missing_ok=True)
    path.write_bytes(content)


@contextmanager
def damaged(store: Storage, key: str, damage: str = "truncated") -> Iterator[None]:
    """Replace the bytes of a content until the end of the block."""
    with store.open(key) as stream:
        right = stream.read()
    overwrite(store, key, DAMAGES[damage](right))
    try:
        yield
    finally:
        overwrite(store, key, right)
