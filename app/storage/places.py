"""Create the stores that the settings describe."""

from pathlib import Path

from app.core.settings import Settings, SettingsError
from app.storage.base import Catalogue, Storage
from app.storage.folder import FolderStorage

NO_CATALOGUE = Catalogue()
LARGEST_OBJECT = 5 << 30  # bytes


def public_store(settings: Settings, name: str, catalogue: Catalogue = NO_CATALOGUE) -> Storage:
    """Return a store that web processes and workers use, with its own folder or prefix.

    Raises SettingsError if only one of access key and secret key is set, or the endpoint is not a URL.
    """
    if settings.s3_bucket is None:
        return FolderStorage(settings.public_storage / name, catalogue=catalogue)
    _expect_pair("S3", settings.s3_access_key, settings.s3_secret_key)
    keys = (settings.s3_access_key, settings.s3_secret_key)
    return _in_bucket(settings, settings.s3_bucket, f"{name}/", keys, catalogue)


def private_store(settings: Settings, catalogue: Catalogue = NO_CATALOGUE) -> Storage | None:
    """Return the store of ground truth and matches; None in a process without its settings.

    catalogue: must hash with a secret key if anything is to be stored, so that keys in this store and in the database reveal
    nothing. Raises SettingsError if one of a pair of keys is missing, or the endpoint is not a URL.
    """
    return _private(settings, Path(), "truths/", catalogue)


def key_store(settings: Settings, catalogue: Catalogue = NO_CATALOGUE) -> Storage | None:
    """Return the store of the key with which ground truth is hashed, which is also in private storage."""
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
    # not needed if stores are folders, and takes half a second to import
    from app.storage.s3 import Account, Bucket, S3Storage, client_of  # noqa: PLC0415

    if settings.max_upload > LARGEST_OBJECT:
        raise SettingsError(
            f"HELDOUT_MAX_UPLOAD: found {settings.max_upload}, expected at most {LARGEST_OBJECT}, "
            "the largest object that S3 services accept at once"
        )
    account = Account(settings.s3_endpoint, settings.s3_region, *keys)
    try:
        return S3Storage(
            Bucket(bucket, prefix, client_of(account)), largest_content=LARGEST_OBJECT, catalogue=catalogue
        )
    except ValueError:
        raise SettingsError(
            f"HELDOUT_S3_ENDPOINT: found {settings.s3_endpoint!r}, expected https://host:port"
        ) from None
