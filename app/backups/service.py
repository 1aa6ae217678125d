"""Taking a backup of an installation that runs, and making an installation of one."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial as partial_of
from pathlib import Path

from sqlalchemy import Connection, NullPool, create_engine

import scoring
from app import removals
from app.backup_files import (
    alone_in,
    digest_of_file,
    interrupted_backups,
    reuse,
    whole_backups,
    write,
)
from app.backups import queries
from app.backups.rules import (
    DATABASE,
    MANIFEST,
    PARTIAL,
    SUMS,
    beyond,
    manifest_from,
    manifest_text,
    name_of,
    sums_from,
    sums_text,
)
from app.backups.schemas import BackupError, Condition, Contents, Manifest, Restored, StoredKey, Taken
from app.errors import StorageDamagedError
from app.migrating import migrate
from app.platform import CONNECTION, Platform
from app.postgres_programs import dump, load
from app.storage import Storage, digest_of, verify

Report = Callable[[str], None]


def back_up(
    platform: Platform, directory: Path, now: datetime, report: Report, *, keep: int | None = None
) -> Taken:
    """Write the database and every content that it names into a new folder of `directory`, while everything runs.

    First the database, then the contents: they are never changed, and none is removed before the backup is complete. The
    folder gets its name at the end. Contents of the newest backup beside it are linked. now: in UTC; keep: how many
    backups stay. Raises BackupError, StorageUnavailableError, PostgresProgramError, SettingsError.
    """
    stores = _every_store(platform)
    folder = directory / name_of(now)
    with alone_in(directory), _connection(str(platform.settings.database_url)) as connection:
        if not _hold_removals(connection):
            raise BackupError("another backup of this installation is being taken; wait for it, or stop it")
        if folder.exists():
            raise BackupError(f"{folder} exists already")
        earlier, interrupted = whole_backups(directory), interrupted_backups(directory)
        partial = directory / f"{folder.name}{PARTIAL}"
        partial.mkdir(mode=0o700, exist_ok=True)
        report("dumping the database")
        keys, linked = _dump(platform, connection, partial / DATABASE)
        report(f"copying {len(keys)} contents")
        sums, missing, damaged, copied = {DATABASE: digest_of_file(partial / DATABASE)}, [], [], 0
        before = [*earlier[:1], *(one for one in interrupted if one != partial)]
        for each in sorted(keys):
            path, store = each.path, stores[each.store]
            reused = reuse(path, partial / path, partial_of(_is_right, store, each.key), before)
            if not reused and earlier and (earlier[0] / path).exists():
                report(f"{earlier[0] / path} has changed since it was written; the content is copied again")
            condition = _read_content(store, each.key, None if reused else partial / path)
            if condition is not Condition.INTACT:
                found = "taken from the backup before" if reused else "and in no backup here"
                report(f"{path} is {condition} in its store{';' if reused else ','} {found}")
                damaged.append(path.as_posix())
            if reused or condition is Condition.INTACT:
                sums[path], copied = digest_of_file(partial / path), copied + (not reused)
            else:
                missing.append(path.as_posix())
        manifest = _seal(partial, sums, now, (missing, damaged), linked)
        partial.rename(folder)
        return Taken(folder, manifest, copied, _remove_older(directory, interrupted, keep))


def _every_store(platform: Platform) -> dict[str, Storage]:
    return {**platform.stores_by_name, "truth": platform.truths}


def _is_right(store: Storage, key: str, file: Path) -> bool:
    return digest_of_file(file, store.new_digest) == digest_of(key)


@contextmanager
def _connection(url: str) -> Iterator[Connection]:
    """A connection of its own, which ends with the block and so gives back what it has locked."""
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=CONNECTION)
    with engine.connect() as connection:
        yield connection


def _hold_removals(connection: Connection) -> bool:
    with connection.begin():
        return removals.hold(connection)


def _dump(platform: Platform, connection: Connection, target: Path) -> tuple[set[StoredKey], tuple[str, ...]]:
    """Dump the database; the contents that it names at that moment, and the folders of linked pictures."""
    frozen = connection.execution_options(isolation_level="REPEATABLE READ")
    with frozen.begin():
        snapshot = queries.export_snapshot(frozen)
        dump(str(platform.settings.database_url), queries.server_version(frozen), snapshot, target)
        return queries.stored_keys(frozen), queries.linked_folders(frozen)


def _read_content(store: Storage, key: str, target: Path | None = None) -> Condition:
    """How a content is, read to its end; with a target that of an intact one is written there."""
    if not store.exists(key):
        return Condition.MISSING
    try:
        if target is None:
            verify(store, key)
        else:
            with store.open(key) as stream:
                write(stream, target)
    except StorageDamagedError:
        return Condition.DAMAGED
    return Condition.INTACT


def inspect(platform: Platform) -> Contents:
    """Read every content that the database names, of the stores that this process knows. Raises StorageUnavailableError."""
    stores = platform.stores_by_name
    with platform.engine.connect() as connection:
        keys = {each for each in queries.stored_keys(connection) if each.store in stores}
    conditions = {each: _read_content(stores[each.store], each.key) for each in sorted(keys)}
    with platform.engine.connect() as connection:
        named = queries.stored_keys(connection)  # what was removed meanwhile is not missing

    def found(condition: Condition) -> tuple[str, ...]:
        which = (each for each, is_so in conditions.items() if is_so is condition and each in named)
        return tuple(each.path.as_posix() for each in which)

    return Contents(len(conditions), found(Condition.MISSING), found(Condition.DAMAGED))


def _seal(
    partial: Path,
    sums: Mapping[Path, str],
    now: datetime,
    faults: tuple[list[str], list[str]],
    linked: tuple[str, ...],
) -> Manifest:
    """Write the hashes and the manifest, and see all of it on the disk; faults: what is missing here, and what is damaged in the stores."""
    (partial / SUMS).write_text(sums_text(sums))
    manifest = Manifest(
        taken_at=now,
        scorer=scoring.SCORER,
        contents=len(sums) - 1,
        size=sum((partial / path).stat().st_size for path in sums),
        missing=tuple(faults[0]),
        damaged=tuple(faults[1]),
        linked_folders=linked,
        sums=digest_of_file(partial / SUMS),
    )
    (partial / MANIFEST).write_text(manifest_text(manifest))
    os.sync()
    return manifest


def _remove_older(directory: Path, interrupted: list[Path], keep: int | None) -> tuple[Path, ...]:
    for each in interrupted:
        shutil.rmtree(each, ignore_errors=True)
    older = tuple(directory / name for name in beyond((each.name for each in whole_backups(directory)), keep))
    for each in older:
        shutil.rmtree(each)
    return older


def restore(platform: Platform, directory: Path, report: Report) -> Restored:
    """Fill an empty database and empty stores with a backup, or the newest of a directory of them.

    Every file is compared with its hash before anything is written, contents come first and the database at the end, in one
    transaction: what is interrupted can be repeated. Raises BackupError, StorageUnavailableError, PostgresProgramError,
    SettingsError, MigrationError.
    """
    folder = _chosen(directory)
    manifest, sums = _read(folder)
    contents = [StoredKey.at(path) for path in sums if path != DATABASE]
    stores, settings = _every_store(platform), platform.settings
    url = str(settings.migration_database_url or settings.database_url)
    with _connection(url) as connection:
        _refuse_rows(connection)
        _refuse_others(stores, contents)
        report(f"comparing {len(sums)} files of {folder} with their hashes")
        _compare(folder, sums)
        report(f"storing {len(contents)} contents")
        for each in contents:
            stores[each.store].put_back(folder / each.path, each.key)
        report("loading the database")
        with connection.begin():
            if table := queries.lock_empty(connection):
                raise BackupError(_not_empty(table))
            queries.drop_tables(connection)
            version = queries.server_version(connection)
        load(url, version, folder / DATABASE)
    migrate(settings)
    with platform.engine.connect() as connection:
        work = queries.work(connection)
    return Restored(manifest, work.queued, work.running, work.receiving)


def _chosen(directory: Path) -> Path:
    if (directory / MANIFEST).exists() and not directory.name.endswith(PARTIAL):
        return directory
    found = whole_backups(directory) if directory.is_dir() else []
    if not found:
        raise BackupError(
            f"{directory} is no backup that is whole: expected a folder with {MANIFEST}, or a folder of such folders"
        )
    return found[0]


def _read(folder: Path) -> tuple[Manifest, dict[Path, str]]:
    try:
        manifest = manifest_from((folder / MANIFEST).read_text("utf-8"))
        if digest_of_file(folder / SUMS) != manifest.sums:
            raise BackupError(f"{folder / SUMS} has changed since it was written; restore another backup")
        return manifest, sums_from((folder / SUMS).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BackupError(f"{folder} cannot be read: {error}") from error


def _compare(folder: Path, sums: Mapping[Path, str]) -> None:
    bad = [path for path, digest in sums.items() if not _has(folder / path, digest)]
    if bad:
        raise BackupError(
            f"{len(bad)} files of {folder} are missing or have changed, such as {bad[0]}; nothing was restored, try another backup"
        )


def _has(path: Path, digest: str) -> bool:
    try:
        return digest_of_file(path) == digest
    except OSError:
        return False


def _refuse_rows(connection: Connection) -> None:
    with connection.begin():
        table = queries.lock_empty(connection)
    if table:
        raise BackupError(_not_empty(table))


def _not_empty(table: str) -> str:
    return (
        f"the database is not empty: there are rows in {table}; restore into a new database and new stores, because what is "
        "there would be lost"
    )


def _refuse_others(stores: Mapping[str, Storage], contents: list[StoredKey]) -> None:
    """Refuse stores with anything that is not of this backup; what an interrupted restore left is."""
    expected = set(contents)
    for name, store in stores.items():
        for each in store.contents():
            if StoredKey(name, each.key) not in expected:
                raise BackupError(
                    f"the store of {name} is not empty: it has {each.key}, which is not of this backup; "
                    "restore into a new database and new stores"
                )
