"""The installation to break: a web server and two workers that reach their servers through proxies."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from sqlalchemy import make_url

from tests.system.installations import Installation, installation, is_healthy
from tests.system.object_proxy import ObjectProxy, object_proxy
from tests.system.object_store import ObjectStore, object_store
from tests.system.process_trees import tree_of
from tests.system.proxies import Proxy, proxy
from tests.system.servers import OwnServers

WORKERS = ("worker 1", "worker 2")
LEASE = 3  # seconds

# short enough that everything queued is done within a minute of the recovery
SETTINGS: dict[str, Any] = {
    "lease_seconds": LEASE,
    "scoring_seconds": 30,
    "check_seconds": 20,
    "delivery_seconds": 10,
    "stall_seconds": 10,
    "workers": 1,
}


class Store(StrEnum):
    """The location of all stores of a night."""

    FOLDER = "folder"
    S3 = "s3"


@dataclass(frozen=True, slots=True)
class Objects:
    """A service for all stores, and the proxy through which everybody reaches it, including the test."""

    service: ObjectStore
    proxy: ObjectProxy


@dataclass(frozen=True, slots=True)
class Site:
    """The running site; `links` are the proxies by their two ends: `web database`, `people web`."""

    running: Installation
    objects: Objects | None  # None if stores are folders
    scratch: Path  # temporary files of all processes
    links: dict[str, Proxy]
    address: str  # of the web server through a proxy
    direct: str  # without a proxy

    @property
    def store(self) -> Store:
        return Store.S3 if self.objects else Store.FOLDER

    def trees(self, *names: str) -> list[int]:
        """The current processes of these children and all their descendants."""
        pids = [self.running.processes.pid(name) for name in names]
        return [one for pid in pids if pid for one in tree_of(pid)]

    def is_complete(self) -> bool:
        """Whether the web server answers and every worker has its pool."""
        if not all(self.running.pool(name) for name in WORKERS):
            return False
        with httpx2.Client(base_url=self.direct, timeout=5) as http:
            return is_healthy(http)


@contextmanager
def site(servers: OwnServers, store: Store) -> Iterator[Site]:
    with ExitStack() as stack:
        objects = stack.enter_context(_objects()) if store is Store.S3 else None
        settings = SETTINGS | (objects.service.settings() | _through(objects) if objects else {})
        running = stack.enter_context(installation(servers, **settings))
        scratch = stack.enter_context(_own_scratch(running.settings.data / "scratch"))
        links, web, worker = _links(running)
        with ThreadPoolExecutor() as together:
            started = [together.submit(running.start_worker, name, **worker) for name in WORKERS]
            started.append(together.submit(running.start_sender))
            direct = running.start_web(**web)
        for each in started:
            each.result()
        port = int(direct.rpartition(":")[2])
        links["people web"] = running.stack.enter_context(proxy("127.0.0.1", port))
        yield Site(running, objects, scratch, links, f"http://127.0.0.1:{links['people web'].port}", direct)


def _links(running: Installation) -> tuple[dict[str, Proxy], dict[str, str], dict[str, str]]:
    """Proxies to all servers, and the settings of the web server and workers that use them."""
    settings = running.settings
    reached = {"database": make_url(str(settings.database_url)), "broker": make_url(str(settings.broker_url))}
    links = {}
    through: dict[str, dict[str, str]] = {"web": {}, "worker": {}}
    for who, changed in through.items():
        for what, url in reached.items():
            link = running.stack.enter_context(proxy(url.host or "", url.port or 0))
            links[f"{who} {what}"] = link
            between = url.set(host="127.0.0.1", port=link.port)
            changed[f"{what}_url"] = between.render_as_string(hide_password=False)
        if settings.s3_endpoint:
            link = running.stack.enter_context(proxy("127.0.0.1", urlsplit(settings.s3_endpoint).port or 0))
            links[f"{who} objects"] = link
            changed["s3_endpoint"] = f"http://127.0.0.1:{link.port}"
    return links, through["web"], through["worker"]


@contextmanager
def _objects() -> Iterator[Objects]:
    with object_store() as service, object_proxy(service.endpoint) as between:
        yield Objects(service, between)


def _through(objects: Objects) -> dict[str, str]:
    return {"s3_endpoint": objects.proxy.endpoint}


@contextmanager
def _own_scratch(folder: Path) -> Iterator[Path]:
    """A separate folder for temporary files of processes started in the block."""
    folder.mkdir()
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder)
    try:
        yield folder
    finally:
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
