"""What an installation can set: the only place that reads the environment."""

import json
import secrets
import socket
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

MiB = 1 << 20

NOTE = "installation.json"  # in the data folder while an installation runs there, so that commands find it
NOTED = ("database_url", "broker_url", "private_storage", "secret_key", "host", "port", "public_url")


class Settings(BaseSettings):
    """Read from variables `HELDOUT_…`; the README lists each with its meaning."""

    model_config = SettingsConfigDict(env_prefix="HELDOUT_", frozen=True, extra="ignore")

    data: Annotated[Path, Field(description="folder of everything an embedded installation keeps")] = Path(
        "heldout-data"
    )
    database_url: Annotated[str | None, Field(description="PostgreSQL to use; without it one is started")] = (
        None
    )
    broker_url: Annotated[
        str | None, Field(description="Redis or Valkey to use; without it one is started")
    ] = None
    storage: Annotated[
        Path | None, Field(description="folder of uploads and public descriptions; default data/storage")
    ] = None
    private_storage: Annotated[
        Path | None,
        Field(description="folder of ground truth; set for workers and commands, never for the web"),
    ] = None
    secret_key: Annotated[
        str | None, Field(description="key that signs form tokens; generated when embedded")
    ] = None

    host: Annotated[str, Field(description="address the web server listens on")] = "127.0.0.1"
    port: Annotated[int, Field(description="port the web server listens on; 0 takes a free one")] = 8000
    public_url: Annotated[
        str | None, Field(description="address that people use, for links; default from host and port")
    ] = None
    secure_cookies: Annotated[
        bool, Field(description="cookies over HTTPS only; set it behind a TLS proxy")
    ] = False
    workers: Annotated[int, Field(description="scoring processes of one worker", ge=1)] = 2

    max_upload: Annotated[int, Field(description="largest archive in bytes", gt=0)] = 2048 * MiB
    checks: Annotated[
        int, Field(description="archives that one web process checks at the same time", ge=1)
    ] = 2
    check_seconds: Annotated[int, Field(description="longest check of an archive", gt=0)] = 120
    scoring_seconds: Annotated[int, Field(description="longest scoring of a run", gt=0)] = 900
    child_memory: Annotated[
        int, Field(description="address space of a check or a scoring, in bytes", gt=0)
    ] = 8192 * MiB

    lease_seconds: Annotated[
        int, Field(description="how long a claimed run may go without a heartbeat", gt=0)
    ] = 30
    sweep_seconds: Annotated[int, Field(description="how often lost runs are looked for", gt=0)] = 15
    attempts: Annotated[int, Field(description="how often a run is tried before it has failed", ge=1)] = 3
    session_days: Annotated[int, Field(description="how long a login lasts", gt=0)] = 14

    @property
    def lease(self) -> timedelta:
        """How long a claim holds without a heartbeat."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def archives(self) -> Path:
        """Where uploads and public descriptions lie."""
        return self.storage or self.data / "storage"

    @property
    def local_address(self) -> str:
        """The address of the web server on this machine."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """The address that people use, without a slash at the end."""
        return (self.public_url or f"http://{self.host}:{self.port}").rstrip("/")

    @cached_property
    def signing_key(self) -> str:
        """The key of form tokens; without a setting, one for the life of this process."""
        return self.secret_key or secrets.token_urlsafe(32)


def installation_settings() -> Settings:
    """The settings of the environment, completed by those of the installation that runs in the data folder."""
    settings = Settings()
    note = settings.data / NOTE
    if settings.database_url is not None or not note.exists():
        return settings
    noted = Settings.model_validate(json.loads(note.read_text()))
    return settings.model_copy(update=noted.model_dump(include=set(NOTED)))


def free_port(host: str) -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
