"""`heldout-server check`: check how a deployment is set up, and say what to fix."""

import stat
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from ipaddress import ip_address, ip_network
from pathlib import Path
from shutil import disk_usage
from typing import Annotated
from urllib.parse import unquote, urlsplit

import redis
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

import heldout_scoring
from app.core import logs
from app.core.errors import StorageUnavailableError
from app.core.settings import SECRETS, Settings, SettingsError, named_files, variable
from app.jobs import attempts, heartbeats
from app.jobs.mail import MailError, check_connection
from app.models import GroundTruth
from app.operations import backup, health
from app.operations.command_settings import require_servers
from app.operations.data_folder import EMBEDDED_DATABASE, installation_settings
from app.operations.health import health_of
from app.operations.migrating import APPEND_ONLY, schema_problem
from app.operations.processes import NOT_FOR_SENDERS, NOT_FOR_WEB, NOT_FOR_WORKERS
from app.platform import Platform, platform_of
from app.storage import Storage, private_store
from app.web.formats import plural, size

TIMEOUT = 3.0  # seconds for each response of a server
PROBE_MIB = 64  # MiB that must fit on the disk of the database
MAX_CLOCK_DIFFERENCE = 2.0  # seconds
MIN_SECRET = 16  # characters
COMMON_SECRETS = {"admin", "changeme", "heldout", "minioadmin", "password", "postgres", "secret", "valkey"}
MOUNTED_SECRETS = "/run/secrets"  # visible in one container only, whatever the modes of its files
MOUNTED_TRUTH = Path("/truth")  # where docker-compose.yml has it, in the worker's container
SHOWN = 3  # missing ground truth that a message names

ROLE = text("""
SELECT rolname AS name, rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls AS is_powerful,
    (SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
        WHERE nspname = 'public' AND relkind IN ('r', 'p') AND pg_has_role(relowner, 'MEMBER')) AS owned,
    has_schema_privilege('public', 'CREATE') AS may_create,
    ARRAY(SELECT name FROM unnest(CAST(:append_only AS text[])) AS name
        WHERE to_regclass('public.' || quote_ident(name)) IS NOT NULL
        AND has_table_privilege('public.' || quote_ident(name), 'UPDATE, DELETE, TRUNCATE')) AS rewritable
FROM pg_roles WHERE rolname = current_user
""")

console = Console()


class CheckedProcess(StrEnum):
    """The process whose settings are checked."""

    WEB = "web"
    WORKER = "worker"
    SENDER = "sender"


HIDDEN = {
    CheckedProcess.WEB: NOT_FOR_WEB,
    CheckedProcess.WORKER: NOT_FOR_WORKERS,
    CheckedProcess.SENDER: NOT_FOR_SENDERS,
}


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A row of the table; advice: what to do about a failure, empty if there is none; listed: lines below the table."""

    name: str
    finding: str
    advice: str = ""
    listed: tuple[str, ...] = ()


def check(
    part: Annotated[
        CheckedProcess | None,
        typer.Argument(
            help="the process whose settings these are; by default a worker if a store of ground truth is configured",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check a deployment from its settings, and say what to fix. Exits with 1 if a check fails."""
    logs.configure()
    own = Settings.read()
    settings = require_servers(installation_settings(own))
    knows_truth = settings.private_storage is not None or settings.s3_private_bucket is not None
    part = part or (CheckedProcess.WORKER if knows_truth else CheckedProcess.WEB)
    is_embedded = own.database_url is None  # its data folder has the settings of all its processes
    if is_embedded:
        settings = settings.model_copy(update=dict.fromkeys(HIDDEN[part] - {"passwords", "registration"}))
    platform = platform_of(settings)
    found = list(checks(platform, part, is_embedded=is_embedded))
    repaired = 0 if part is CheckedProcess.SENDER else _released(platform)
    platform.engine.dispose()
    console.print(_table(part, found))
    for line in (line for each in found for line in each.listed):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if repaired:
        console.print(f"{plural(repaired, 'damaged file')} repaired: what waited goes on")
    if failures := [each.name for each in found if each.advice]:
        console.print(f"{len(failures)} of {len(found)} checks failed: {', '.join(failures)}", soft_wrap=True)
        raise typer.Exit(1)
    console.print(f"{len(found)} checks, none failed")


def _released(platform: Platform) -> int:
    """Release what waits for damaged files that are whole again, as far as this process has their stores; return how many were."""
    try:
        return attempts.check_damaged(platform, timedelta(0))
    except (SQLAlchemyError, StorageUnavailableError):
        return 0  # which is a line of the table


def _table(part: CheckedProcess, found: Sequence[CheckRow]) -> Table:
    table = Table(title=f"the deployment as a {part} sees it", title_justify="left")
    table.add_column("check", no_wrap=True)
    table.add_column("result", no_wrap=True)
    table.add_column("what was found", overflow="fold")
    for each in found:
        words = f"{each.finding}.\nTo do: {each.advice}." if each.advice else each.finding
        table.add_row(each.name, "[bold red]failed[/]" if each.advice else "[green]ok[/]", escape(words))
    return table


def checks(platform: Platform, part: CheckedProcess, *, is_embedded: bool) -> Iterator[CheckRow]:
    """Run and yield every check for a web process, a worker or a sender, which needs no broker and no store.

    is_embedded: web, workers and servers are known to be processes of one user on this machine.
    """
    settings = platform.settings
    yield from _database(platform)
    if part is CheckedProcess.SENDER:
        yield _truth_of_web(settings, is_embedded=is_embedded)
        yield mail(settings)
        return
    yield broker(str(settings.broker_url))
    for name in ("archives", "descriptions", "artefacts", "files", "intake"):
        yield _store(f"store of {name}", getattr(platform, name))
    yield stored_files(platform)
    if part is CheckedProcess.WORKER:
        yield _truth_of_worker(platform)
    else:
        yield _truth_of_web(settings, is_embedded=is_embedded)
    yield _disks(settings)
    yield secrets(settings)
    yield address(settings.address, settings.proxies)


def _database(platform: Platform) -> Iterator[CheckRow]:
    """Check the database and what it records about workers and jobs."""
    try:
        with platform.transaction() as session:
            yield CheckRow("database", "answers")
            yield _role(session)
            problem = schema_problem(session.connection())
            yield _schema(problem)
            yield clock(_clock_difference(session))
            yield _database_disk(session)
        if problem is None:
            with platform.snapshot() as session:
                yield from _workers_and_jobs(session, platform.settings)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        advice = "compare HELDOUT_DATABASE_URL with the server that runs"
        yield CheckRow("database", f"cannot be reached: {reason}", advice)


def _role(session: Session) -> CheckRow:
    """Check that the application's role can read and write rows, and nothing else."""
    role = session.execute(ROLE, {"append_only": list(APPEND_ONLY)}).one()
    powers = [
        *(["may manage roles or databases"] if role.is_powerful else []),
        *([f"owns {role.owned} tables"] if role.owned else []),
        *(["may create tables"] if role.may_create else []),
        *([f"may change or delete rows of {', '.join(role.rewritable)}"] if role.rewritable else []),
    ]
    if not powers:
        return CheckRow("database role", f"{role.name} can read and write rows, and nothing else")
    return CheckRow(
        "database role",
        f"{role.name} {', '.join(powers)}; an attacker who takes over a web process could rewrite history",
        "create a role that owns the database and set it in HELDOUT_MIGRATION_DATABASE_URL, use another role with nothing "
        "but LOGIN in HELDOUT_DATABASE_URL, and run `heldout-server migrate`",
    )


def _schema(problem: str | None) -> CheckRow:
    if problem is None:
        return CheckRow("migrations", "this version can run on the database's schema")
    finding, _, advice = problem.partition("; ")
    return CheckRow("migrations", finding, advice or "run `heldout-server migrate`")


def _clock_difference(session: Session) -> float:
    """Return how many seconds this machine's clock is ahead of the database's."""
    before = time.time()
    moment = float(session.scalar(select(func.extract("epoch", func.clock_timestamp()))) or 0)
    return (before + time.time()) / 2 - moment


def clock(difference: float) -> CheckRow:
    """Check that this machine and the database agree about the time; difference: in seconds.

    >>> clock(-3.04).finding
    "this machine's clock is 3.0 s behind the database's"
    """
    if abs(difference) <= MAX_CLOCK_DIFFERENCE:
        return CheckRow("clock", f"{abs(difference):.1f} s from the database's")
    side = "ahead of" if difference > 0 else "behind"
    return CheckRow(
        "clock",
        f"this machine's clock is {abs(difference):.1f} s {side} the database's",
        "synchronise the clocks of both machines (NTP); deadlines use the database's clock, links and codes use both",
    )


def _database_disk(session: Session) -> CheckRow:
    """Check that PROBE_MIB MiB more fit on the database's disk; PostgreSQL does not report how much is free."""
    has_room = health.has_free_space(session, PROBE_MIB)
    if has_room is None:
        return CheckRow("disk of database", "unknown: temp_file_limit does not allow the test")
    if has_room:
        return CheckRow("disk of database", f"has room for {PROBE_MIB} MiB")
    return CheckRow(
        "disk of database",
        f"has no room for {PROBE_MIB} MiB",
        "free disk space on its machine now: requests that store anything get 507, and without space for its log PostgreSQL stops",
    )


def _workers_and_jobs(session: Session, settings: Settings) -> Iterator[CheckRow]:
    """Check that a worker of this version is alive, that lost runs are found, and that jobs get done."""
    slots = heartbeats.slots_by_scorer(session)
    if heldout_scoring.SCORER in slots:
        yield CheckRow("workers", f"alive, {slots[heldout_scoring.SCORER]} runs at the same time")
    else:
        others = f", only of {', '.join(sorted(slots))}" if slots else ""
        finding = f"no worker of scorer version {heldout_scoring.SCORER} is alive{others}"
        yield CheckRow("workers", finding, "start one with `heldout-server worker`, or read its log")
    if heartbeats.alive_senders(session):
        yield CheckRow("senders", "alive")
    else:
        advice = "start one with `heldout-server sender`, or read its log"
        yield CheckRow("senders", "none is alive: mail and webhooks wait", advice)
    state = health_of(health.progress_of_jobs(session), settings.sweep_seconds)
    age = "no sweep yet" if state.sweep.value is None else f"last sweep {state.sweep.value:g} s ago"
    advice = "start a worker or `heldout-server beat`; if one is running, read its log"
    yield CheckRow("sweeper", age, "" if state.sweep.status == "ok" else advice)
    late = [f"the oldest job is {state.jobs.value:g} s late"] if state.jobs.status != "ok" else []
    dead = [f"{state.dead_jobs.value:g} jobs failed for good"] if state.dead_jobs.status != "ok" else []
    advice = "see the error of each on /admin, and the worker's log"
    yield CheckRow("jobs", ", ".join(late + dead) or "on time", advice if late or dead else "")


def broker(url: str) -> CheckRow:
    """Check that the broker responds and evicts nothing."""
    try:
        with redis.Redis.from_url(url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT) as client:
            memory = client.info("memory")
    except redis.RedisError as error:
        advice = "compare HELDOUT_BROKER_URL with the server that runs"
        return CheckRow("broker", f"cannot be reached: {error}", advice)
    policy = str(memory.get("maxmemory_policy"))
    if policy == "noeviction" or not int(memory.get("maxmemory", 0)):
        return CheckRow("broker", "answers, and evicts nothing")
    return CheckRow(
        "broker",
        f"evicts keys when its memory is full ({policy}): login limits are lost and runs start late",
        "set `maxmemory-policy noeviction`",
    )


def _store(name: str, storage: Storage) -> CheckRow:
    """Check that a probe can be written to a store, read back and deleted."""
    error = _round_trip(storage)
    if error is None:
        return CheckRow(name, "a probe was written, read and deleted")
    return CheckRow(
        name, error, "make the store writable for this user or its keys valid, and free space on it"
    )


def _round_trip(storage: Storage) -> str | None:
    """Return why a file cannot be written, read and deleted; None if it can."""
    content = uuid.uuid4().bytes
    try:
        storage.check()
        key = storage.put(content, uuid.uuid4())
        try:
            with storage.open(key) as stream:
                if stream.read() != content:
                    return "a probe came back with different bytes"
        finally:
            storage.delete(key)
        return "a probe was deleted and is still there" if storage.exists(key) else None
    except StorageUnavailableError as error:
        return error.cause


def stored_files(platform: Platform) -> CheckRow:
    """Check that every stored file that the database refers to is there and intact."""
    try:
        found = backup.check_stored_files(platform)
    except (SQLAlchemyError, StorageUnavailableError):
        return CheckRow("stored files", "unknown: the database or a store is unavailable")
    listed = tuple(f"{problem}: {path}" for path, problem in found.items() if problem)
    if not listed:
        return CheckRow("stored files", f"all {len(found)} that the database refers to are intact")
    return CheckRow(
        "stored files",
        f"{len(listed)} of {len(found)} that the database refers to are damaged or missing, listed below",
        'copy them back from a backup, which has them under the same names: "Damaged files" in docs/administer/backup.md',
        listed,
    )


def _truth_of_worker(platform: Platform) -> CheckRow:
    """Check that a worker can read all ground truth that the database refers to, and nothing else can."""
    advice = "workers need the store that imports wrote to: mount it, and make it readable and writable"
    try:
        if error := _round_trip(platform.truths):
            return CheckRow("ground truth", error, advice)
        with platform.transaction() as session:
            keys = list(session.scalars(select(GroundTruth.key).order_by(GroundTruth.id.desc())))
        missing = [key for key in keys if not platform.truths.exists(key)]
    except SettingsError as error:
        return CheckRow("ground truth", str(error), advice)
    except (SQLAlchemyError, StorageUnavailableError):
        return CheckRow("ground truth", "unknown: the database or the store is unavailable")
    if missing:
        return CheckRow(
            "ground truth",
            f"{len(missing)} of {len(keys)} are missing: {', '.join(missing[:SHOWN])}",
            "is this the store that imports wrote to? If so, import the trees again or restore a backup",
        )
    if exposed := exposure(platform.settings):
        advice = "close it: only workers may have access to ground truth"
        return CheckRow("ground truth", exposed, advice)
    return CheckRow("ground truth", f"all {len(keys)} that the database refers to can be read")


def exposure(settings: Settings) -> str | None:
    """Return how anything but a worker can read ground truth, or None."""
    if settings.s3_private_bucket:
        keys = {
            "s3_private_access_key": settings.s3_access_key,
            "s3_private_secret_key": settings.s3_secret_key,
        }
        if (
            settings.s3_bucket
            and settings.s3_access_key
            and _has_files(settings.model_copy(update=keys)) is not None
        ):
            return f"the keys of HELDOUT_S3_BUCKET also open {settings.s3_private_bucket}"
        return None
    folder = settings.private_storage
    assert folder  # workers without one never get here
    if settings.s3_bucket is None and folder.resolve().is_relative_to(settings.public_storage.resolve()):
        return f"{folder} is inside {settings.public_storage}, which web processes read"
    if folder.stat().st_mode & 0o007 and _is_reachable(folder):
        return f"{folder} is open to other users of this machine"
    return None


def _has_files(settings: Settings) -> bool | None:
    """Return whether the configured store of ground truth has any files; None if it cannot be opened."""
    store = private_store(settings)
    assert store
    try:
        return next(store.contents(), None) is not None
    except StorageUnavailableError:
        return None


def _truth_of_web(settings: Settings, *, is_embedded: bool) -> CheckRow:
    """Check that the web process has no access to ground truth; is_embedded: it is known to run as the worker's user."""
    if known := forbidden_web_variables(settings):
        advice = "remove these variables from its environment; they are for workers and commands"
        return CheckRow("ground truth", f"the web process is given {', '.join(known)}", advice)
    if has_truth_in_public_bucket(settings):
        return CheckRow(
            "ground truth",
            f"the web process's keys give access to ground truth in the bucket {settings.s3_bucket}",
            "put ground truth into its own bucket, with keys that web processes do not have",
        )
    folder = next((each for each in (settings.data / "private", MOUNTED_TRUTH) if _is_readable(each)), None)
    if folder is None:
        return CheckRow("ground truth", "cannot be reached from here")
    if is_embedded:
        return CheckRow(
            "ground truth",
            "web processes are not told where it is, but they run as the same user; see SECURITY.md",
        )
    advice = "run it as another user, or on another machine or in a container without this folder"
    return CheckRow("ground truth", f"the web process can read {folder}", advice)


def forbidden_web_variables(settings: Settings) -> list[str]:
    """Return the variables in these settings that a web process must not be given."""
    return sorted(variable(name) for name in NOT_FOR_WEB if getattr(settings, name) is not None)


def has_truth_in_public_bucket(settings: Settings) -> bool:
    """Return whether ground truth is in the web process's bucket."""
    if settings.s3_bucket is None:
        return False
    keys = {
        "s3_private_bucket": settings.s3_bucket,
        "s3_private_access_key": settings.s3_access_key,
        "s3_private_secret_key": settings.s3_secret_key,
    }
    return bool(_has_files(settings.model_copy(update=keys)))


def _is_readable(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is not None
    except OSError:
        return False


def _is_reachable(path: Path) -> bool:
    """Return whether other users of this machine can reach a file or folder."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.resolve().parents)


def _disks(settings: Settings) -> CheckRow:
    """Check that the disks of temporary files, stores and the embedded database have space for two of the largest archives."""
    folders = [Path(tempfile.gettempdir()), settings.private_storage]
    folders += [own] if (own := settings.data / EMBEDDED_DATABASE).exists() else []
    folders += [settings.public_storage] if settings.s3_bucket is None else []
    free = {each: disk_usage(_existing(each)).free for each in folders if each is not None}
    needed = 2 * settings.max_upload
    finding = ", ".join(f"{size(bytes_free)} for {each}" for each, bytes_free in free.items())
    if min(free.values()) >= needed:
        return CheckRow("free disk", finding)
    return CheckRow(
        "free disk",
        f"{finding}; expected {size(needed)}, two of the largest archives",
        "free space, use another disk, or lower HELDOUT_MAX_UPLOAD",
    )


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


def secrets(settings: Settings) -> CheckRow:
    """Check that every secret an operator chooses is long, and in a file that only its user can read."""
    files = named_files()
    problems = []
    for name in sorted(SECRETS - {"login_providers"}):
        value = getattr(settings, name)
        if value is None:
            continue
        user, found = None, str(value)
        if name.endswith("_url"):
            user, found = urlsplit(found).username, unquote(urlsplit(found).password or "")
            if not found and name != "broker_url":
                continue  # the database may authenticate by certificate or operating-system user
        file = files.get(name) or files.get(name.replace("_url", "_password"))
        problem = secret_problem(found, user) or (_file_problem(file) if file else None)
        problems += [f"{variable(name)} {problem}"] if problem else []
    if not problems:
        return CheckRow("secrets", "long, and unreadable for others")
    advice = "generate them as deploy/secrets.sh does, in files with mode 600 or in a folder with mode 700"
    return CheckRow("secrets", "; ".join(problems), advice)


def secret_problem(found: str, user: str | None = None) -> str | None:
    """Return why a secret could be guessed, or None; user: the user name it belongs to.

    >>> secret_problem("k7Vq2nRw9"), secret_problem("k7Vq2-nRw9_xTz4LmB8c")
    ('has 9 characters, expected 16', None)
    """
    if not found:
        return "has no password: anyone who can reach it has full access"
    if found.casefold() in COMMON_SECRETS or found == user:
        return "is a password that everyone tries first"
    return f"has {len(found)} characters, expected {MIN_SECRET}" if len(found) < MIN_SECRET else None


def _file_problem(file: Path) -> str | None:
    mode = stat.S_IMODE(file.stat().st_mode)
    if file.is_relative_to(MOUNTED_SECRETS) or not mode & 0o026 or not _is_reachable(file):
        return None
    return f"is in {file}, which others can read or change (mode {mode:o})"


def address(url: str, proxies: Sequence[str]) -> CheckRow:
    """Check that the server is reached by HTTPS through a trusted proxy, or only from this machine."""
    parts = urlsplit(url)
    if any(ip_network(proxy, strict=False).prefixlen == 0 for proxy in proxies):
        return CheckRow(
            "public address",
            "every address is a trusted proxy, so any client can fake its address",
            "list the addresses of the proxies in HELDOUT_TRUSTED_PROXIES",
        )
    if _is_local(parts.hostname or ""):
        return CheckRow("public address", f"{url}, for this machine only")
    if parts.scheme != "https":
        return CheckRow(
            "public address",
            f"{url} sends passwords unencrypted",
            "put a proxy with a certificate in front, and set HELDOUT_PUBLIC_URL to its https address",
        )
    if not proxies:
        return CheckRow(
            "public address",
            f"{url} is served by a proxy that is not trusted: all clients count as one address and share its rate limits",
            "set the proxy's address in HELDOUT_TRUSTED_PROXIES",
        )
    return CheckRow("public address", f"{url}, behind {', '.join(proxies)}")


def _is_local(host: str) -> bool:
    """Return whether only this machine can reach a host of this name.

    >>> _is_local("127.0.0.1"), _is_local("localhost"), _is_local("0.0.0.0"), _is_local("voc.example.org")
    (True, True, False, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def mail(settings: Settings) -> CheckRow:
    """Check that the mail server accepts our login; nothing is sent."""
    try:
        check_connection(settings)
    except MailError as error:
        return CheckRow("mail", str(error), "compare HELDOUT_SMTP_… with what the mail server expects")
    if settings.smtp_host is not None:
        return CheckRow("mail", f"{settings.smtp_host} accepts mail from {settings.sender}")
    if _is_local(urlsplit(settings.address).hostname or ""):
        return CheckRow("mail", "is written to the folder mail in the data folder")
    return CheckRow(
        "mail",
        "is written to a folder: nobody can confirm an address or reset a password",
        "set HELDOUT_SMTP_HOST",
    )
