"""What an installation can set: the only place that reads the environment."""

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from socket import gethostname
from typing import Annotated, Any, Self
from urllib.parse import quote, urlsplit

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.login_settings import LoginSettings
from app.setting_types import (
    AbsolutePath,
    BrokerUrl,
    DatabaseUrl,
    MailEncryption,
    MailSender,
    Proxies,
    addresses,
)

MiB = 1 << 20

ROOT = Path(__file__).parents[1]
PREFIX = "HELDOUT_"
FILE_SUFFIX = "_FILE"  # HELDOUT_SMTP_PASSWORD_FILE names a file that holds the value of HELDOUT_SMTP_PASSWORD
SECRETS = {
    "database_url", "database_password", "migration_database_url", "migration_database_password", "broker_url",
    "broker_password", "s3_secret_key", "s3_private_secret_key", "smtp_password", "login_providers",
    "metrics_token",
}  # fmt: skip
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - where such a server is reached


class SettingsError(ValueError):
    """Settings that cannot be used; names each variable, what was found and what is expected."""


class Settings(LoginSettings):
    """Read from variables `HELDOUT_…` or files that `HELDOUT_…_FILE` name; docs/operating.md lists each."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore", validate_default=True
    )

    data: Annotated[
        AbsolutePath, Field(description="folder of everything an embedded installation keeps")
    ] = ROOT / "heldout-data"
    database_url: Annotated[
        DatabaseUrl | None, Field(description="PostgreSQL to use; without it one is started")
    ] = None
    database_password: Annotated[
        str | None, Field(description="password of the database's user, where the address has none")
    ] = None
    migration_database_url: Annotated[
        DatabaseUrl | None,
        Field(description="the same database with the role that owns the tables; for `migrate` alone"),
    ] = None
    migration_database_password: Annotated[
        str | None, Field(description="password of that role, where the address has none")
    ] = None
    broker_url: Annotated[
        BrokerUrl | None, Field(description="Redis or Valkey to use; without it one is started")
    ] = None
    broker_password: Annotated[
        str | None, Field(description="password of the broker, where the address has none")
    ] = None
    storage: Annotated[
        AbsolutePath | None,
        Field(description="folder of archives, public descriptions and artefacts; default data/storage"),
    ] = None
    private_storage: Annotated[
        AbsolutePath | None,
        Field(description="folder of ground truth; set for workers and commands, never for the web"),
    ] = None
    s3_bucket: Annotated[
        str | None, Field(description="bucket to use in place of the folder of HELDOUT_STORAGE")
    ] = None
    s3_endpoint: Annotated[
        str | None, Field(description="address of an S3-compatible service; default that of AWS")
    ] = None
    s3_region: Annotated[str, Field(description="region of the service")] = "us-east-1"
    s3_access_key: Annotated[str | None, Field(description="access key for that bucket")] = None
    s3_secret_key: Annotated[str | None, Field(description="secret key for that bucket")] = None
    s3_private_bucket: Annotated[
        str | None,
        Field(description="bucket of ground truth; set for workers and commands, never for the web"),
    ] = None
    s3_private_access_key: Annotated[
        str | None, Field(description="access key for that bucket, which opens no other to the web")
    ] = None
    s3_private_secret_key: Annotated[str | None, Field(description="secret key for that bucket")] = None

    host: Annotated[str, Field(description="address the web server listens on")] = "127.0.0.1"
    port: Annotated[
        int, Field(description="port the web server listens on; 0 takes a free one", ge=0, le=65535)
    ] = 8000
    web_processes: Annotated[
        int,
        Field(description="web processes that share the port; each checks archives of its own", ge=1, le=64),
    ] = 1
    public_url: Annotated[
        str | None, Field(description="address that people use, for links; default from host and port")
    ] = None
    trusted_hosts: Annotated[
        str,
        Field(
            description="further names of this server, with commas; public address, localhost and IPs need none"
        ),
    ] = ""
    secure_cookies: Annotated[
        bool, Field(description="cookies over HTTPS only, also where no trusted proxy says https")
    ] = False
    trusted_proxies: Annotated[
        Proxies,
        Field(description="addresses or networks of proxies whose X-Forwarded-For and -Proto count"),
    ] = ""
    stop_seconds: Annotated[
        int,
        Field(
            description="how long a web process that is stopped waits for its requests; the rest get a 503",
            gt=0,
        ),
    ] = 30
    workers: Annotated[int, Field(description="scoring processes of one worker", ge=1)] = 2

    smtp_host: Annotated[
        str | None, Field(description="mail server; without it mail is written into the folder data/mail")
    ] = None
    smtp_port: Annotated[int, Field(description="port of the mail server", ge=1, le=65535)] = 587
    smtp_tls: Annotated[
        MailEncryption, Field(description="how the connection to the mail server is encrypted")
    ] = MailEncryption.STARTTLS
    smtp_user: Annotated[str | None, Field(description="name to log in with at the mail server")] = None
    smtp_password: Annotated[str | None, Field(description="password of that name")] = None
    mail_sender: Annotated[
        MailSender | None,
        Field(description="address that mail comes from; default heldout@ the host of the public address"),
    ] = None

    max_upload: Annotated[
        int, Field(description="largest archive in bytes; at most 5 GiB in a bucket", gt=0)
    ] = 2048 * MiB
    max_stored: Annotated[
        int, Field(description="bytes that one person's uploads may take until they are confirmed", gt=0)
    ] = 10240 * MiB
    max_stored_team: Annotated[
        int, Field(description="bytes that one team's uploads may take until they are confirmed", gt=0)
    ] = 20480 * MiB
    keep_unconfirmed_days: Annotated[
        int, Field(description="how long a valid archive is kept that nobody confirms", gt=0)
    ] = 7
    keep_invalid_days: Annotated[
        int, Field(description="how long an archive with problems is kept", gt=0)
    ] = 2
    keep_partial_days: Annotated[int, Field(description="how long an upload may take to arrive", gt=0)] = 2
    requests_at_once: Annotated[
        int,
        Field(
            description="requests of one address, or of one account, that a web process handles at the same time; others wait",
            ge=1,
        ),
    ] = 2
    checks: Annotated[
        int, Field(description="archives that one web process checks at the same time", ge=1)
    ] = 2
    check_seconds: Annotated[int, Field(description="longest check of an archive", gt=0)] = 120
    scoring_seconds: Annotated[int, Field(description="longest scoring of a run", gt=0)] = 900
    child_memory: Annotated[
        int, Field(description="address space of a check or a scoring, in bytes", gt=0)
    ] = 8192 * MiB

    lease_seconds: Annotated[
        int, Field(description="how long a claimed job may go without a heartbeat", gt=0)
    ] = 30
    sweep_seconds: Annotated[int, Field(description="how often lost runs are looked for", gt=0)] = 15
    delivery_seconds: Annotated[int, Field(description="how long a job other than a run may take", gt=0)] = (
        120
    )
    stall_seconds: Annotated[
        int,
        Field(description="how long a worker waits for its database before it gives up the connection", gt=0),
    ] = 75
    attempts: Annotated[
        int, Field(description="how often the scoring of a run may crash before it has failed", ge=1)
    ] = 3
    retry_seconds: Annotated[
        float, Field(description="first pause before a run is tried again; grows to ten minutes", gt=0)
    ] = 5

    @model_validator(mode="before")
    @classmethod
    def _with_passwords(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Put passwords that were given apart into their addresses."""
        for name in ("database", "migration_database", "broker"):
            url, password = values.get(f"{name}_url"), values.get(f"{name}_password")
            if url and password:
                if urlsplit(str(url)).password:
                    raise ValueError(
                        f"{variable(f'{name}_url')} and {variable(f'{name}_password')}: expected one password"
                    )
                values |= {f"{name}_url": _with_password(str(url), str(password)), f"{name}_password": None}
        return values

    @property
    def lease(self) -> timedelta:
        """How long a claim holds without a heartbeat."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def first_pause(self) -> timedelta:
        """How long a run waits before its first retry."""
        return timedelta(seconds=self.retry_seconds)

    @property
    def public_storage(self) -> Path:
        """The folder of every store but that of ground truth."""
        return self.storage or self.data / "storage"

    @property
    def local_address(self) -> str:
        """The address of the web server on this machine."""
        return f"http://{_in_url(WILDCARDS.get(self.host, self.host))}:{self.port}"

    @property
    def address(self) -> str:
        """The address that people use, without a slash at the end."""
        return (self.public_url or f"http://{_in_url(self.host)}:{self.port}").rstrip("/")

    @property
    def sender(self) -> str:
        """The address that mail comes from."""
        return self.mail_sender or f"heldout@{urlsplit(self.address).hostname}"

    @property
    def host_names(self) -> frozenset[str]:
        """The names of this server that a request may have in its header Host; addresses are good, too."""
        names = {
            urlsplit(self.address).hostname or "",
            "localhost",
            gethostname(),
            *addresses(self.trusted_hosts),
        }
        return frozenset(name.lower() for name in names if name)

    @property
    def proxies(self) -> list[str]:
        """The addresses and networks of proxies whose forwarded headers count."""
        return addresses(self.trusted_proxies)

    @classmethod
    def read(cls) -> Self:
        """The settings of the environment.

        Raises SettingsError with a line for each variable that cannot be used.
        """
        try:
            return cls(**_from_files(cls))
        except ValidationError as error:
            raise SettingsError("\n".join(_message(problem) for problem in error.errors())) from None


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def named_files(settings: type[BaseSettings] = Settings) -> dict[str, Path]:
    """The files that variables `HELDOUT_…_FILE` name, by setting."""
    files = {name: os.environ.get(variable(name) + FILE_SUFFIX) for name in settings.model_fields}
    return {name: Path(file) for name, file in files.items() if file}


def _from_files(settings: type[BaseSettings]) -> dict[str, Any]:
    """The contents of those files, by setting; an empty file sets nothing, as an empty variable does."""
    found = {}
    for name, file in named_files(settings).items():
        if os.environ.get(variable(name)):
            raise SettingsError(
                f"{variable(name)} and {variable(name)}{FILE_SUFFIX} are both set; expected one"
            )
        try:
            found[name] = file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text file"
            raise SettingsError(f"{variable(name)}{FILE_SUFFIX}: {file} cannot be read: {reason}") from None
    return {name: text for name, text in found.items() if text}


def _message(problem: Mapping[str, Any]) -> str:
    """The message for one problem that pydantic found; secrets are not repeated."""
    expected = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "expected")
    if not problem["loc"]:
        return expected  # of several variables
    name = str(problem["loc"][0])
    found = "its value" if name in SECRETS else repr(problem["input"])
    return f"{variable(name)}: found {found}, {expected}"


def _with_password(url: str, password: str) -> str:
    scheme, separator, rest = url.partition("://")
    user, _, place = rest.rpartition("@")
    return f"{scheme}{separator}{user.rstrip(':')}:{quote(password, safe='')}@{place}"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
