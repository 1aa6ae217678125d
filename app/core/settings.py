"""The settings of an installation; only this module reads the environment."""

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from ipaddress import ip_network
from pathlib import Path
from socket import gethostname
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import quote, urlsplit

import limits
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.core.names import is_mail_address
from app.core.units import MiB

LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class MailEncryption(StrEnum):
    """How a connection to a mail server is encrypted."""

    STARTTLS = "starttls"  # encrypted after an unencrypted greeting
    TLS = "tls"  # encrypted from the first byte
    NONE = "none"


def _absolute(path: Path) -> Path:
    return path.absolute()  # the processes of an installation run in different folders


def _database_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme not in {"postgres", "postgresql", "postgresql+psycopg"} or not _is_address(url):
        raise ValueError("expected postgresql://user:password@host:5432/database")
    return f"postgresql+psycopg://{rest}"


def _broker_url(url: str) -> str:
    if urlsplit(url).scheme not in {"redis", "rediss"} or not _is_address(url):
        raise ValueError("expected redis://:password@host:6379/0")
    return url


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number
        return False


def _proxies(text: str) -> str:
    try:
        for address in addresses(text):
            ip_network(address)
    except ValueError as error:
        raise ValueError("expected addresses or networks, such as 10.0.0.2,192.168.0.0/16") from error
    return text


def _mail_sender(text: str) -> str:
    if not is_mail_address(text):
        raise ValueError("expected an e-mail address, such as heldout@example.org")
    return text


def is_safe_url(url: str) -> bool:
    """Whether nobody can listen on the way to a URL: HTTPS, or HTTP on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def _issuer_url(url: str) -> str:
    parts = urlsplit(url)
    if not is_safe_url(url) or not _is_address(url) or parts.query or parts.fragment:
        raise ValueError("expected https://id.example.org")
    return url


def addresses(text: str) -> list[str]:
    """Split a comma-separated list."""
    return [address.strip() for address in text.split(",") if address.strip()]


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
DatabaseUrl = Annotated[str, AfterValidator(_database_url)]
BrokerUrl = Annotated[str, AfterValidator(_broker_url)]
Proxies = Annotated[str, AfterValidator(_proxies)]
IssuerUrl = Annotated[str, AfterValidator(_issuer_url)]
MailSender = Annotated[str, AfterValidator(_mail_sender)]

GITHUB: Final = "https://github.com"


def _rates(text: str) -> str:
    try:
        limits.parse_many(text)
    except ValueError as error:
        raise ValueError("expected rates such as 5/minute;20/hour or 10 per 10 minutes") from error
    return text


Rates = Annotated[str, AfterValidator(_rates)]


class Registration(StrEnum):
    """Who may create an account."""

    OPEN = "open"
    PROVIDERS = "providers"
    CLOSED = "closed"


class LoginProvider(BaseModel):
    """An OpenID Connect provider, or GitHub, that people can log in with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,30}$")]  # in URLs
    name: Annotated[str, Field(min_length=1, max_length=40)]  # on buttons
    kind: Literal["openid", "github"] = "openid"
    issuer: IssuerUrl = GITHUB  # the OpenID Connect issuer, or the URL of a GitHub Enterprise server
    client_id: Annotated[str, Field(min_length=1)]  # of this server at the provider
    client_secret: str | None = None  # None for a public client

    @model_validator(mode="after")
    def _has_issuer(self) -> Self:
        if self.kind == "openid" and self.issuer == GITHUB:
            raise ValueError("expected the issuer of the OpenID Connect provider")
        return self

    @property
    def api(self) -> str:
        """The base URL of GitHub's API."""
        return "https://api.github.com/" if self.issuer == GITHUB else f"{self.issuer}/api/v3/"


def _providers(found: object) -> object:
    """Parse providers from JSON; errors do not quote it, because it contains secrets."""
    if not isinstance(found, str):
        return found
    try:
        return json.loads(found)
    except ValueError as error:
        raise ValueError("expected JSON: a list of providers") from error


def _distinct(providers: tuple[LoginProvider, ...]) -> tuple[LoginProvider, ...]:
    for values in ([each.id for each in providers], [each.issuer for each in providers]):
        if len(set(values)) < len(values):
            raise ValueError("expected each id and each issuer only once")
    return providers


LoginProviders = Annotated[
    tuple[LoginProvider, ...], NoDecode, BeforeValidator(_providers), AfterValidator(_distinct)
]


class LoginSettings(BaseSettings):
    """Logins, sessions and rate limits; `app/core/rate_limits.py` says who is counted."""

    login_providers: Annotated[
        LoginProviders,
        Field(description="providers that people can log in with, as JSON; see *Logging in by a provider*"),
    ] = ()
    passwords: Annotated[
        bool, Field(description="whether people may log in with passwords; otherwise only with providers")
    ] = True
    registration: Annotated[
        Registration,
        Field(
            description="who may create an account: `open` everyone, `providers` only with a provider, `closed` no one"
        ),
    ] = Registration.OPEN

    metrics_token: Annotated[
        str | None,
        Field(
            description="token with which a monitoring server reads /metrics; without it, no one can",
            min_length=20,
        ),
    ] = None

    session_days: Annotated[int, Field(description="how long a login lasts", gt=0)] = 14
    session_idle_hours: Annotated[int, Field(description="how long an unused login lasts", gt=0)] = 72
    recent_login_minutes: Annotated[
        int, Field(description="how long after a login no page asks for the password again", gt=0)
    ] = 30

    limit_login: Annotated[
        Rates,
        Field(description="logins from one address, and to one account from browsers new to it"),
    ] = "30/minute;300/hour"
    limit_guess: Annotated[
        Rates,
        Field(
            description="passwords for one account from one address, and codes for one account; "
            "each rate enforces a longer pause"
        ),
    ] = "5/minute;10/10 minutes;20/hour;50/day"
    limit_register: Annotated[Rates, Field(description="registrations from one address")] = "30/hour;100/day"
    limit_upload: Annotated[Rates, Field(description="uploads, checks and submissions of one person")] = (
        "180/10 minutes;1800/day"
    )
    limit_change: Annotated[
        Rates,
        Field(
            description="changes of one person: methods, teams, invitations, tokens, links, texts and their previews"
        ),
    ] = "120/10 minutes;1000/day"
    limit_code: Annotated[
        Rates,
        Field(description="codes of invitations to a challenge and of the setup, from one person or address"),
    ] = "20/minute;100/hour"
    limit_view: Annotated[
        Rates,
        Field(
            description="expensive pages, for one person or address: submissions, images, curves, "
            "figures, comparisons, searches, leaderboard selections that are not cached, downloads of personal data"
        ),
    ] = "200/minute;3000/hour"

    @model_validator(mode="after")
    def _has_a_way_in(self) -> Self:
        if not self.passwords and not self.login_providers:
            raise ValueError("HELDOUT_PASSWORDS: without passwords expected HELDOUT_LOGIN_PROVIDERS")
        return self

    @property
    def may_register_with_password(self) -> bool:
        """Whether anyone may create an account with a password."""
        return self.passwords and self.registration is Registration.OPEN

    @property
    def session_lifetime(self) -> timedelta:
        """The maximum duration of a login."""
        return timedelta(days=self.session_days)

    @property
    def session_idle(self) -> timedelta:
        """How long an unused login lasts."""
        return timedelta(hours=self.session_idle_hours)

    @property
    def recent_login(self) -> timedelta:
        """How long after a login sensitive actions are allowed without the password."""
        return timedelta(minutes=self.recent_login_minutes)


ROOT = Path(__file__).parents[2]
PREFIX = "HELDOUT_"
FILE_SUFFIX = "_FILE"  # HELDOUT_SMTP_PASSWORD_FILE names a file that holds the value of HELDOUT_SMTP_PASSWORD
SECRETS = {
    "database_url", "database_password", "migration_database_url", "migration_database_password", "broker_url",
    "broker_password", "s3_secret_key", "s3_private_secret_key", "smtp_password", "login_providers",
    "metrics_token",
}  # fmt: skip
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - addresses at which such a server can be reached


class SettingsError(ValueError):
    """Invalid settings; the message names each variable, what was found and what was expected."""


class Settings(LoginSettings):
    """Settings from `HELDOUT_…` variables, or from the files that `HELDOUT_…_FILE` name; docs/administer/settings.md lists them."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore", validate_default=True
    )

    data: Annotated[AbsolutePath, Field(description="folder for all data of an embedded installation")] = (
        ROOT / "heldout-data"
    )
    database_url: Annotated[
        DatabaseUrl | None, Field(description="PostgreSQL server to use; without it, one is started")
    ] = None
    database_password: Annotated[
        str | None, Field(description="password of the database user, if the URL has none")
    ] = None
    migration_database_url: Annotated[
        DatabaseUrl | None,
        Field(description="the same database with the role that owns the tables; only for `migrate`"),
    ] = None
    migration_database_password: Annotated[
        str | None, Field(description="password of that role, if the URL has none")
    ] = None
    broker_url: Annotated[
        BrokerUrl | None, Field(description="Redis or Valkey server to use; without it, one is started")
    ] = None
    broker_password: Annotated[
        str | None, Field(description="password of the broker, if the URL has none")
    ] = None
    storage: Annotated[
        AbsolutePath | None,
        Field(
            description="folder for archives, public descriptions, artefacts and data files; default data/storage"
        ),
    ] = None
    private_storage: Annotated[
        AbsolutePath | None,
        Field(description="folder for ground truth; set for workers and commands, never for the web"),
    ] = None
    s3_bucket: Annotated[
        str | None, Field(description="bucket to use instead of the folder of HELDOUT_STORAGE")
    ] = None
    s3_endpoint: Annotated[str | None, Field(description="URL of an S3-compatible service; default AWS")] = (
        None
    )
    s3_region: Annotated[str, Field(description="region of the service")] = "us-east-1"
    s3_access_key: Annotated[str | None, Field(description="access key for that bucket")] = None
    s3_secret_key: Annotated[str | None, Field(description="secret key for that bucket")] = None
    s3_redirects: Annotated[
        bool,
        Field(
            description="send downloads of data files to the bucket, whose endpoint people have to reach; otherwise through this server"
        ),
    ] = True
    s3_private_bucket: Annotated[
        str | None,
        Field(description="bucket for ground truth; set for workers and commands, never for the web"),
    ] = None
    s3_private_access_key: Annotated[
        str | None,
        Field(description="access key for that bucket; the key of the other bucket must not open it"),
    ] = None
    s3_private_secret_key: Annotated[str | None, Field(description="secret key for that bucket")] = None

    host: Annotated[str, Field(description="address the web server listens on")] = "127.0.0.1"
    port: Annotated[
        int, Field(description="port the web server listens on; 0 chooses a free one", ge=0, le=65535)
    ] = 8000
    web_processes: Annotated[
        int,
        Field(description="web processes that share the port; each checks its own archives", ge=1, le=64),
    ] = 1
    public_url: Annotated[
        str | None, Field(description="URL that people use, for links; default from host and port")
    ] = None
    trusted_hosts: Annotated[
        str,
        Field(
            description="further names of this server, comma-separated; the public URL, localhost and IPs are implied"
        ),
    ] = ""
    secure_cookies: Annotated[
        bool, Field(description="send cookies over HTTPS only, even if no trusted proxy says https")
    ] = False
    trusted_proxies: Annotated[
        Proxies,
        Field(description="addresses or networks of proxies whose X-Forwarded-For and -Proto are trusted"),
    ] = ""
    stop_seconds: Annotated[
        int,
        Field(
            description="how long a stopping web process waits for its requests; the rest get a 503",
            gt=0,
        ),
    ] = 30
    workers: Annotated[int, Field(description="scoring processes of one worker", ge=1)] = 2

    smtp_host: Annotated[
        str | None, Field(description="mail server; without it, mail is written to the folder data/mail")
    ] = None
    smtp_port: Annotated[int, Field(description="port of the mail server", ge=1, le=65535)] = 587
    smtp_tls: Annotated[
        MailEncryption, Field(description="how the connection to the mail server is encrypted")
    ] = MailEncryption.STARTTLS
    smtp_user: Annotated[str | None, Field(description="user name for the mail server")] = None
    smtp_password: Annotated[str | None, Field(description="password of that user")] = None
    mails_per_minute: Annotated[
        int, Field(description="mails about events that are sent in a minute; the others wait", gt=0)
    ] = 60
    mail_sender: Annotated[
        MailSender | None,
        Field(description="sender of mail; default heldout@ the host of the public URL"),
    ] = None

    try_it_now: Annotated[
        bool,
        Field(
            description="whether visitors of the sample may have the server submit an archive of its own to see how scoring works"
        ),
    ] = True

    webhook_http: Annotated[
        bool, Field(description="whether webhooks may use plain HTTP, which anybody on the way can read")
    ] = False
    webhook_networks: Annotated[
        Proxies,
        Field(description="private addresses or networks that webhooks may reach all the same"),
    ] = ""

    max_upload: Annotated[
        int, Field(description="largest archive in bytes; at most 5 GiB in a bucket", gt=0)
    ] = 2048 * MiB
    max_stored: Annotated[
        int, Field(description="bytes that one person's unconfirmed uploads may use", gt=0)
    ] = 10240 * MiB
    max_stored_team: Annotated[
        int, Field(description="bytes that one team's unconfirmed uploads may use", gt=0)
    ] = 20480 * MiB
    max_data: Annotated[
        int, Field(description="bytes that the data files of one challenge may use", gt=0)
    ] = 51200 * MiB
    max_intake: Annotated[
        int, Field(description="bytes that one data set of an organiser may have as it is sent", gt=0)
    ] = 20480 * MiB
    max_intake_unpacked: Annotated[int, Field(description="bytes that it may have unpacked", gt=0)] = (
        204800 * MiB
    )
    max_intake_images: Annotated[int, Field(description="images that it may have", gt=0)] = 1_000_000
    max_intake_boxes: Annotated[int, Field(description="objects that may be annotated in it", gt=0)] = (
        10_000_000
    )
    intake_memory: Annotated[
        int, Field(description="address space of the process that reads it, in bytes", gt=0)
    ] = 2048 * MiB
    intake_seconds: Annotated[
        int,
        Field(
            description="time limit for reading it; workers end any job after twice the time for scoring",
            gt=0,
        ),
    ] = 1500
    import_folder: Annotated[
        AbsolutePath | None,
        Field(
            description="folder of the workers from which admins may take data sets; without it, nobody may"
        ),
    ] = None
    keep_unconfirmed_days: Annotated[
        int, Field(description="how long a valid, unconfirmed archive is kept", gt=0)
    ] = 7
    keep_invalid_days: Annotated[int, Field(description="how long an invalid archive is kept", gt=0)] = 2
    keep_partial_days: Annotated[int, Field(description="how long an upload may take to arrive", gt=0)] = 2
    requests_at_once: Annotated[
        int,
        Field(
            description="requests of one address, or of one account, that a web process handles at the same time, and as many of "
            "all visitors together; others wait",
            ge=1,
        ),
    ] = 2
    checks: Annotated[
        int, Field(description="archives that one web process checks at the same time", ge=1)
    ] = 2
    check_seconds: Annotated[int, Field(description="time limit for checking an archive", gt=0)] = 120
    scoring_seconds: Annotated[int, Field(description="time limit for scoring a run", gt=0)] = 900
    child_memory: Annotated[
        int, Field(description="address space of a check or a scoring, in bytes", gt=0)
    ] = 8192 * MiB

    lease_seconds: Annotated[
        int, Field(description="how long a claimed job may go without a heartbeat", gt=0)
    ] = 30
    sweep_seconds: Annotated[int, Field(description="interval between sweeps for lost runs", gt=0)] = 15
    delivery_seconds: Annotated[int, Field(description="how long a job other than a run may take", gt=0)] = (
        120
    )
    stall_seconds: Annotated[
        int,
        Field(description="how long a worker waits for the database before it drops the connection", gt=0),
    ] = 75
    attempts: Annotated[
        int,
        Field(description="how many times the scoring of a run may crash before the run has failed", ge=1),
    ] = 3
    retry_seconds: Annotated[
        float, Field(description="pause before the first retry of a run; grows to ten minutes", gt=0)
    ] = 5

    @model_validator(mode="before")
    @classmethod
    def _with_passwords(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Put passwords that are set separately into their URLs."""
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
        """How long a claim is valid without a heartbeat."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def first_pause(self) -> timedelta:
        """How long a run waits before its first retry."""
        return timedelta(seconds=self.retry_seconds)

    @property
    def public_storage(self) -> Path:
        """The folder of all stores except that of ground truth."""
        return self.storage or self.data / "storage"

    @property
    def local_address(self) -> str:
        """The URL of the web server on this machine."""
        return f"http://{_in_url(WILDCARDS.get(self.host, self.host))}:{self.port}"

    @property
    def address(self) -> str:
        """The URL that people use, without a trailing slash."""
        return (self.public_url or f"http://{_in_url(self.host)}:{self.port}").rstrip("/")

    @property
    def sender(self) -> str:
        """The sender of mail."""
        return self.mail_sender or f"heldout@{urlsplit(self.address).hostname}"

    @property
    def host_names(self) -> frozenset[str]:
        """The names of this server that a Host header may have; IP addresses are allowed, too."""
        names = {
            urlsplit(self.address).hostname or "",
            "localhost",
            gethostname(),
            *addresses(self.trusted_hosts),
        }
        return frozenset(name.lower() for name in names if name)

    @property
    def proxies(self) -> list[str]:
        """The addresses and networks of trusted proxies."""
        return addresses(self.trusted_proxies)

    @classmethod
    def read(cls) -> Self:
        """Read the settings from the environment.

        Raises SettingsError with a line for each invalid variable.
        """
        try:
            return cls(**_from_files(cls))
        except ValidationError as error:
            raise SettingsError("\n".join(_message(problem) for problem in error.errors())) from None


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def named_files(settings: type[BaseSettings] = Settings) -> dict[str, Path]:
    """Return the files that `HELDOUT_…_FILE` variables name, by setting."""
    files = {name: os.environ.get(variable(name) + FILE_SUFFIX) for name in settings.model_fields}
    return {name: Path(file) for name, file in files.items() if file}


def _from_files(settings: type[BaseSettings]) -> dict[str, Any]:
    """The contents of those files, by setting; like an empty variable, an empty file sets nothing."""
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
    """The message for one problem that pydantic found; it does not quote secrets."""
    of_ours = problem.get("ctx", {}).get("error")  # by a validator of this module
    expected = str(of_ours or str(problem["msg"]).replace("Input should be", "expected"))
    if not problem["loc"]:
        return expected  # about several variables
    name = str(problem["loc"][0])
    found = "its value" if name in SECRETS else repr(problem["input"])
    return f"{variable(name)}: found {found}, {expected}"


def _with_password(url: str, password: str) -> str:
    scheme, separator, rest = url.partition("://")
    user, _, place = rest.rpartition("@")
    return f"{scheme}{separator}{user.rstrip(':')}:{quote(password, safe='')}@{place}"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
