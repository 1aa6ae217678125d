"""Where bytes are stored, named by the hash of their content; no other room sees a path or a bucket."""

from app.storage.folder import FolderStorage
from app.storage.names import content_key, digest_of, owner_of
from app.storage.places import key_store, private_store, public_store
from app.storage.protocol import Content, NewDigest, Partial, Storage

__all__ = [
    "Content",
    "FolderStorage",
    "NewDigest",
    "Partial",
    "Storage",
    "content_key",
    "digest_of",
    "key_store",
    "owner_of",
    "private_store",
    "public_store",
]
