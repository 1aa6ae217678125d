"""Looking at what stands around a deployment: broker, stores, folders, secrets, mail server, proxy."""

import stat
import tempfile
import uuid
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from shutil import disk_usage
from urllib.parse import unquote, urlsplit

import redis

from app.data_folder import EMBEDDED_DATABASE
from app.deployment.schemas import Announced, Broker, Disk, Mail, Secret, SecretFile, WebSecrets
from app.errors import StorageUnavailableError
from app.processes import NOT_FOR_WEB
from app.settings import SECRETS, Settings, named_files, variable
from app.smtp import MailError, greet
from app.storage import Storage, private_store

PATIENCE = 3.0  # seconds for each answer of a server
MOUNTED_TRUTH = Path("/truth")  # where docker-compose.yml has it, in the worker's container


def ask_broker(url: str) -> Broker | str:
    """How the broker is set up, or why it cannot be reached."""
    try:
        with redis.Redis.from_url(url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE) as client:
            memory = client.info("memory")
    except redis.RedisError as error:
        return f"cannot be reached: {error}"
    return Broker(str(memory.get("maxmemory_policy")), int(memory.get("maxmemory", 0)))


def round_trip(storage: Storage) -> str | None:
    """Why a content cannot be written, read and deleted; none if it can."""
    content = uuid.uuid4().bytes
    try:
        storage.check()
        key = storage.put(content, uuid.uuid4())
        try:
            with storage.open(key) as stream:
                if stream.read() != content:
                    return "a probe was read with other bytes than were written"
        finally:
            storage.delete(key)
        return "a probe was deleted and is still there" if storage.exists(key) else None
    except StorageUnavailableError as error:
        return error.cause


def exposure(settings: Settings) -> str | None:
    """How others than workers can read ground truth."""
    if settings.s3_private_bucket:
        keys = {
            "s3_private_access_key": settings.s3_access_key,
            "s3_private_secret_key": settings.s3_secret_key,
        }
        if settings.s3_bucket and settings.s3_access_key and _opens(settings.model_copy(update=keys)):
            return f"the keys of HELDOUT_S3_BUCKET open {settings.s3_private_bucket}, too"
        return None
    folder = settings.private_storage
    assert folder  # workers without one do not come here
    if settings.s3_bucket is None and folder.resolve().is_relative_to(settings.public_storage.resolve()):
        return f"{folder} is inside of {settings.public_storage}, which web processes read"
    if folder.stat().st_mode & 0o007 and _is_reachable(folder):
        return f"{folder} is open to other users of this machine"
    return None


def _opens(settings: Settings) -> bool:
    """Whether settings open their store of ground truth."""
    store = private_store(settings)
    assert store
    try:
        next(store.contents(), None)
    except StorageUnavailableError:
        return False
    return True


def web_secrets(settings: Settings) -> WebSecrets:
    """What a web process with these settings knows or reaches that it should not."""
    variables = tuple(sorted(variable(name) for name in NOT_FOR_WEB if getattr(settings, name) is not None))
    folder = next((each for each in (settings.data / "private", MOUNTED_TRUTH) if _is_readable(each)), None)
    return WebSecrets(variables, folder, _bucket_of_truth(settings))


def _bucket_of_truth(settings: Settings) -> str | None:
    """The bucket of the web process, if ground truth is in it."""
    if settings.s3_bucket is None:
        return None
    keys = {
        "s3_private_bucket": settings.s3_bucket,
        "s3_private_access_key": settings.s3_access_key,
        "s3_private_secret_key": settings.s3_secret_key,
    }
    store = private_store(settings.model_copy(update=keys))
    assert store
    try:
        return settings.s3_bucket if next(store.contents(), None) else None
    except StorageUnavailableError:
        return None


def _is_readable(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is not None
    except OSError:
        return False


def _is_reachable(path: Path) -> bool:
    """Whether other users of this machine can come as far as a file or folder."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.resolve().parents)


def disks(settings: Settings) -> list[Disk]:
    """The disks that archives pass through or stay on, and that of a database in the data folder."""
    folders = [Path(tempfile.gettempdir()), settings.private_storage]
    folders += [own] if (own := settings.data / EMBEDDED_DATABASE).exists() else []
    folders += [settings.public_storage] if settings.s3_bucket is None else []
    return [Disk(each, disk_usage(_existing(each)).free) for each in folders if each is not None]


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


def secrets(settings: Settings) -> Iterator[Secret]:
    """Every secret of the settings, and the file it was read from."""
    files = named_files()
    for name in sorted(SECRETS):
        value = getattr(settings, name)
        if not value or name == "login_providers":  # those that providers give are not ours to judge
            continue
        user, text = None, str(value)
        if name.endswith("_url"):
            user, text = urlsplit(text).username, unquote(urlsplit(text).password or "")
            if not text and name != "broker_url":
                continue  # the database may know its user by certificate or operating system
        file = files.get(name) or files.get(name.replace("_url", "_password"))
        yield Secret(variable(name), text, user, _secret_file(file) if file else None)


def _secret_file(path: Path) -> SecretFile:
    return SecretFile(path, stat.S_IMODE(path.stat().st_mode), _is_reachable(path))


def mail(settings: Settings) -> Mail:
    """Whether the mail server lets us in; nothing is sent."""
    try:
        greet(settings)
    except MailError as error:
        return Mail(settings.smtp_host, settings.sender, str(error))
    return Mail(settings.smtp_host, settings.sender)


def announce(url: str, size: int) -> Announced:
    """What answers when the headers of an upload announce so many bytes, none of which are sent."""
    parts = urlsplit(url)
    kind: Callable[..., HTTPConnection] = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=PATIENCE)
    try:
        connection.putrequest("PUT", f"{parts.path}/api/v1/editions/check/check/uploads")
        connection.putheader("Content-Length", str(size))
        connection.putheader("Content-Type", "application/octet-stream")
        connection.endheaders()
        try:
            return Announced(connection.getresponse().status)
        except TimeoutError:
            return Announced()  # a proxy that waits for all of it has not refused it
    except (OSError, HTTPException) as error:
        return Announced(error=str(error) or type(error).__name__)
    finally:
        connection.close()
