"""A real S3 server for tests: SeaweedFS on free ports with its data in a temporary folder."""

import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from app.operations.supervisor import Child, Supervisor, supervised
from app.storage import Storage
from app.storage.s3 import Account, Bucket, S3Storage, client_of
from tests.patience import START

PARTS = ("master", "volume", "filer", "s3")
STORES = count(1)
MiB = 1 << 20


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A running server; the account `public` may use only the bucket of that name, `admin` all buckets."""

    endpoint: str
    processes: Supervisor

    def settings(self) -> dict[str, str]:
        """The settings of an installation with all its stores here."""
        return {
            "s3_endpoint": self.endpoint,
            "s3_bucket": "public",
            "s3_access_key": "public",
            "s3_secret_key": "secret of public",
            "s3_private_bucket": "truth",
            "s3_private_access_key": "admin",
            "s3_private_secret_key": "secret of admin",
        }

    def account(self, name: str) -> Account:
        return account(self.endpoint, name)

    def storage(self) -> Storage:
        """An empty store under its own prefix; a bucket for each would soon overload the server."""
        return store_at(self.endpoint, f"store-{next(STORES)}/")

    @contextmanager
    def down(self) -> Iterator[None]:
        child = self.processes.stop("weed")
        try:
            yield
        finally:
            self.processes.start(child, lambda: responses(self.account("admin")), START)


def account(endpoint: str, name: str) -> Account:
    return Account(endpoint, "us-east-1", name, f"secret of {name}")


def store_at(endpoint: str, prefix: str) -> Storage:
    client = client_of(account(endpoint, "public"))
    return S3Storage(Bucket("public", prefix, client), piece_size=6 * MiB)


def responses(account: Account) -> bool:
    try:
        client_of(account).list_buckets()
    except (ClientError, BotoCoreError):
        return False
    return True


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    with tempfile.TemporaryDirectory(prefix="heldout test ") as folder, supervised(print) as processes:
        data = Path(folder)
        ports = free_ports(2 * len(PARTS))
        store = ObjectStore(f"http://127.0.0.1:{ports[3]}", processes)
        command = weed(
            data, dict(zip(PARTS, ports[:4], strict=True)), dict(zip(PARTS, ports[4:], strict=True))
        )
        # killed because it stops slowly and nothing of it is needed afterwards
        child = Child("weed", command, dict(os.environ), data / "weed.log", signal.SIGKILL)
        processes.start(child, lambda: responses(store.account("admin")), START)
        for bucket in ("public", "truth"):
            client_of(store.account("admin")).create_bucket(Bucket=bucket)
        try:
            yield store
        finally:
            processes.stop_all()
            for port in ports:  # it creates some of its sockets there whatever its arguments
                for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                    left.unlink(missing_ok=True)


def weed(data: Path, ports: dict[str, int], grpc: dict[str, int]) -> list[str]:
    accounts = data / "accounts.json"
    allowed = {
        "admin": ["Admin"],
        "public": [f"{right}:public" for right in ("Read", "Write", "List", "Tagging")],
    }
    identities = [
        {
            "name": name,
            "credentials": [{"accessKey": name, "secretKey": f"secret of {name}"}],
            "actions": actions,
        }
        for name, actions in allowed.items()
    ]
    accounts.write_text(json.dumps({"identities": identities}))
    (data / "data").mkdir()
    return [
        str(Path(sys.executable).with_name("weed")), "-logtostderr=true", "server", f"-dir={data / 'data'}",
        "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false",
        "-master.volumeSizeLimitMB=256", "-volume.max=100", "-filer", "-s3", f"-s3.config={accounts}",
        "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0",
        *(f"-{part}.port={port}" for part, port in ports.items()),
        *(f"-{part}.port.grpc={port}" for part, port in grpc.items()),
    ]  # fmt: skip


def free_ports(number: int) -> list[int]:
    with ExitStack() as together:
        probes = [together.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
