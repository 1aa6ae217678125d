"""Taking a backup of an installation that runs, and making an installation of one."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from app import removals
from app.backups import database
from app.backups.folder import (
    DATABASE,
    MANIFEST,
    NAME,
    PARTIAL,
    Backup,
    BackupError,
    digest_of_file,
    interrupted_backups,
    link,
    seal,
    whole_backups,
)
from app.errors import StorageDamagedError
from app.migrating import migrate
from app.platform import Platform
from app.storage import Storage, digest_of, is_intact

MiB = 1 << 20

Report = Callable[[str], None]


def back_up(
    platform: Platform, directory: Path, now: datetime, report: Report, *, keep: int | None = None
) -> Backup:
    """Write the database and every content that it names into a new folder of `directory`, while everything runs.

    First the database, then the contents: they are never changed, and none is removed before the backup is complete. The
    folder gets its name at the end. Contents of the newest backup beside it are linked. now: in UTC; keep: how many
    backups stay. Raises BackupError, StorageUnavailableError, SettingsError.
    """
    stores = _stores(platform)
    with _disk_errors(directory), database.connected(str(platform.settings.database_url)) as connection:
        with connection.begin():
            if not removals.hold(connection):
                raise BackupError(
                    "another backup of this installation is being taken; wait for it, or stop it"
                )
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        interrupted = interrupted_backups(directory)
        earlier = [*whole_backups(directory)[:1], *interrupted]
        partial = directory / f"{now:{NAME}}{PARTIAL}"
        partial.mkdir(mode=0o700)
        report("dumping the database")
        frozen = connection.execution_options(isolation_level="REPEATABLE READ")
        with frozen.begin():
            database.dump(frozen, partial / DATABASE)
            named, linked_folders = database.named_contents(frozen), database.linked_folders(frozen)
        report(f"copying {len(named)} contents")
        missing, damaged = _collect(sorted(named), stores, earlier, partial, report)
        with connection.begin():
            removals.release(connection)
        backup = seal(partial, now, missing, damaged, linked_folders)
        report(
            f"{backup.folder}: {len(backup.contents)} contents; {backup.size / MiB:.1f} MiB with the database"
        )
        _remove([*interrupted, *(whole_backups(directory)[keep:] if keep else ())], report)
    for each in linked_folders:
        report(f"not in it, because they are linked: the pictures in {each}")
    return backup


def _stores(platform: Platform) -> dict[str, Storage]:
    """Every store by its name. Raises SettingsError in a process that does not know that of ground truth."""
    return {**platform.stores_by_name, "truth": platform.truths}


@contextmanager
def _disk_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BackupError(f"{directory} cannot be used: {error.strerror or error}") from error


def _collect(
    named: Sequence[Path],
    stores: Mapping[str, Storage],
    earlier: Sequence[Path],
    partial: Path,
    report: Report,
) -> tuple[list[str], list[str]]:
    """Link contents from earlier backups, and copy the others; those that are missing then, and those not intact in the stores."""
    missing, damaged, copied = [], [], 0
    for path in named:
        store, target = stores[path.parts[0]], partial / path
        target.parent.mkdir(parents=True, exist_ok=True)
        is_linked = _link(path, earlier, target, store, report)
        problem = _problem(store, path.name) if is_linked else _copy(store, path.name, target)
        if problem:
            found = "; taken from the backup before" if is_linked else ", and in no backup here"
            report(f"{path} is {problem} in its store{found}")
            damaged.append(str(path))
        if problem and not is_linked:
            missing.append(str(path))
        copied += not (problem or is_linked)
    report(f"{copied} of them are new")
    return missing, damaged


def _link(path: Path, earlier: Sequence[Path], target: Path, store: Storage, report: Report) -> bool:
    """Link a content from the first of some earlier backups that has it with the right bytes; whether one has."""
    for file in (folder / path for folder in earlier):
        if file.exists():
            if digest_of_file(file, store.new_digest) == digest_of(path.name):
                link(file, target)
                return True
            report(f"{file} does not have the bytes that were stored; the content is copied again")
    return False


def _copy(store: Storage, key: str, target: Path) -> str | None:
    """Copy a content into a file, which stays if it is intact; what is wrong with it."""
    if not store.exists(key):
        return "missing"
    try:
        with store.open(key) as stream, target.open("xb") as file:
            shutil.copyfileobj(stream, file, MiB)
    except StorageDamagedError:
        target.unlink()
        return "damaged"
    return None


def _problem(store: Storage, key: str) -> str | None:
    """What is wrong with a content, read to its end."""
    if not store.exists(key):
        return "missing"
    return None if is_intact(store, key) else "damaged"


def _remove(folders: Sequence[Path], report: Report) -> None:
    for each in folders:
        shutil.rmtree(each)
        report(f"removed {each}")


def problems_of_contents(platform: Platform) -> dict[Path, str | None]:
    """Every content that the database names, of the stores that this process knows, with what is wrong with it.

    Raises StorageUnavailableError.
    """
    stores = platform.stores_by_name
    with platform.engine.connect() as connection:
        named = {path for path in database.named_contents(connection) if path.parts[0] in stores}
    found = {path: _problem(stores[path.parts[0]], path.name) for path in sorted(named)}
    with platform.engine.connect() as connection:
        named &= database.named_contents(connection)  # what was removed meanwhile is not missing
    return {path: problem for path, problem in found.items() if path in named}


def restore(platform: Platform, directory: Path, report: Report) -> None:
    """Fill an empty database and empty stores with a backup, or the newest of a directory of them.

    Every file is compared with its hash before anything is written, contents come first and the database at the end, in one
    transaction: what is interrupted can be repeated. Raises BackupError, StorageUnavailableError, SettingsError, MigrationError.
    """
    stores, settings = _stores(platform), platform.settings
    url = str(settings.migration_database_url or settings.database_url)
    with _disk_errors(directory), database.connected(url) as connection:
        backup = Backup.read(_chosen(directory))
        with connection.begin():
            database.require_empty(connection)
        for name, store in stores.items():
            _require_no_others(name, store, backup)
        report(f"comparing {len(backup.sums)} files of {backup.folder} with their hashes")
        backup.verify()
        report(f"storing {len(backup.contents)} contents")
        for path in backup.contents:
            stores[path.parts[0]].put_back(backup.folder / path, path.name)
        report("loading the database")
        database.load(connection, backup.folder / DATABASE)
    migrate(settings)
    _report_restored(platform, backup, report)


def _chosen(directory: Path) -> Path:
    """The backup in a directory: itself, or the newest of those in it."""
    is_one = (directory / MANIFEST).exists() and not directory.name.endswith(PARTIAL)
    found = [directory] if is_one else whole_backups(directory)
    if not found:
        raise BackupError(
            f"{directory} is no backup that is whole: expected a folder with {MANIFEST}, or a folder of such folders"
        )
    return found[0]


def _require_no_others(name: str, store: Storage, backup: Backup) -> None:
    """Refuse a store with anything that is not of a backup; what an interrupted restore left is."""
    expected = {path.name for path in backup.contents if path.parts[0] == name}
    for each in store.contents():
        if each.key not in expected:
            raise BackupError(
                f"the store of {name} is not empty: it has {each.key}, which is not of this backup; "
                "restore into a new database and new stores"
            )


def _report_restored(platform: Platform, backup: Backup, report: Report) -> None:
    """Say what was restored, and what goes on from there."""
    manifest = backup.manifest
    with platform.engine.connect() as connection:
        unfinished = database.count_unfinished_runs(connection)
    report(
        f"restored as of {manifest.taken_at:%Y-%m-%d %H:%M:%S} UTC: the database and {len(backup.contents)} contents"
    )
    report(f"{unfinished} runs go on as soon as a worker runs")
    if manifest.missing:
        report(
            f"{len(manifest.missing)} contents were missing when it was taken, such as {manifest.missing[0]}"
        )
    for each in manifest.linked_folders:
        report(f"not in the backup: the pictures in {each}")
