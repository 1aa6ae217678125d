"""Content-addressed storage in folders and buckets; no other package handles paths or buckets."""

from app.storage.base import (
    DIGEST,
    Catalogue,
    NewDigest,
    Partial,
    Storage,
    StoredContent,
    content_key,
    digest_of,
    is_intact,
    owner_of,
    storage_errors,
    verify,
)
from app.storage.folder import FolderStorage
from app.storage.places import key_store, private_store, public_store

__all__ = [
    "DIGEST",
    "Catalogue",
    "FolderStorage",
    "NewDigest",
    "Partial",
    "Storage",
    "StoredContent",
    "content_key",
    "digest_of",
    "is_intact",
    "key_store",
    "owner_of",
    "private_store",
    "public_store",
    "storage_errors",
    "verify",
]
