"""Which store is where, as the settings say."""

from pathlib import Path

from app.core.settings import Settings, SettingsError
from app.storage.base import Catalogue, Storage
from app.storage.folder import FolderStorage

NOTHING_KNOWN = Catalogue()
LARGEST_OBJECT = 5 << 30  # bytes


def public_store(settings: Settings, name: str, catalogue: Catalogue = NOTHING_KNOWN) -> Storage:
    """One of the stores that web processes and workers use, in a folder or below a prefix of its own.

    Raises SettingsError for half a pair of keys, or an address that is none.
    """
    if settings.s3_bucket is None:
        return FolderStorage(settings.public_storage / name, catalogue=catalogue)
    _expect_pair("S3", settings.s3_access_key, settings.s3_secret_key)
    keys = (settings.s3_access_key, settings.s3_secret_key)
    return _in_bucket(settings, settings.s3_bucket, f"{name}/", keys, catalogue)


def private_store(settings: Settings, catalogue: Catalogue = NOTHING_KNOWN) -> Storage | None:
    """The store of ground truth and matches; none in a process that does not know where it is.

    catalogue: hashes under a key wherever something is stored, so that names in this store and in the database tell nothing.
    Raises SettingsError for half a pair of keys, or an address that is none.
    """
    return _private(settings, Path(), "truths/", catalogue)


def key_store(settings: Settings, catalogue: Catalogue = NOTHING_KNOWN) -> Storage | None:
    """The store of the key under which ground truth is hashed, beside it in private storage."""
    return _private(settings, Path("keys"), "keys/", catalogue)


def _private(settings: Settings, folder: Path, prefix: str, catalogue: Catalogue) -> Storage | None:
    if settings.s3_private_bucket is None:
        root = settings.private_storage
        return FolderStorage(root / folder, catalogue=catalogue) if root else None
    keys = (settings.s3_private_access_key, settings.s3_private_secret_key)
    _expect_pair("S3_PRIVATE", *keys)
    return _in_bucket(settings, settings.s3_private_bucket, prefix, keys, catalogue)


def _expect_pair(name: str, access_key: str | None, secret_key: str | None) -> None:
    if (access_key is None) != (secret_key is None):
        raise SettingsError(
            f"HELDOUT_{name}_ACCESS_KEY and HELDOUT_{name}_SECRET_KEY: expected both or neither"
        )


def _in_bucket(
    settings: Settings, bucket: str, prefix: str, keys: tuple[str | None, str | None], catalogue: Catalogue
) -> Storage:
    # not needed where stores are folders, and half a second to import
    from app.storage.s3 import Account, Bucket, S3Storage, client_of  # noqa: PLC0415

    if settings.max_upload > LARGEST_OBJECT:
        raise SettingsError(
            f"HELDOUT_MAX_UPLOAD: found {settings.max_upload}, expected at most {LARGEST_OBJECT}, "
            "the largest object that S3 services take at once"
        )
    account = Account(settings.s3_endpoint, settings.s3_region, *keys)
    try:
        return S3Storage(Bucket(bucket, prefix, client_of(account)), catalogue=catalogue)
    except ValueError:
        raise SettingsError(
            f"HELDOUT_S3_ENDPOINT: found {settings.s3_endpoint!r}, expected https://host:port"
        ) from None
