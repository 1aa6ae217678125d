"""The installation that is broken: a web server and two workers, which reach their servers through proxies."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from sqlalchemy import make_url

from tests.system.installations import Installation, installation, is_healthy
from tests.system.process_trees import tree_of
from tests.system.proxies import Proxy, proxy
from tests.system.servers import OwnServers

WORKERS = ("worker 1", "worker 2")
LEASE = 3  # seconds

# short enough that all that waits is done within a minute of the recovery
SETTINGS: dict[str, Any] = {
    "lease_seconds": LEASE,
    "scoring_seconds": 30,
    "check_seconds": 20,
    "delivery_seconds": 10,
    "stall_seconds": 10,
    "workers": 1,
}


@dataclass(frozen=True, slots=True)
class Site:
    """What runs; `links` are the proxies by who reaches what: `web database`, `people web`."""

    running: Installation
    links: dict[str, Proxy]
    address: str  # of the web server, through a proxy
    direct: str  # without one

    def trees(self, *names: str) -> list[int]:
        """The processes of these children and all below them, which are there just now."""
        pids = [self.running.processes.pid(name) for name in names]
        return [one for pid in pids if pid for one in tree_of(pid)]

    def is_complete(self) -> bool:
        """Whether the web server answers, and every worker has its pool."""
        if not all(self.running.pool(name) for name in WORKERS):
            return False
        with httpx2.Client(base_url=self.direct, timeout=5) as http:
            return is_healthy(http)


@contextmanager
def site(servers: OwnServers) -> Iterator[Site]:
    with installation(servers, **SETTINGS) as running:
        reached = {
            "database": make_url(str(running.settings.database_url)),
            "broker": make_url(str(running.settings.broker_url)),
        }
        links = {}
        through: dict[str, dict[str, str]] = {"web": {}, "worker": {}}
        for who, changed in through.items():
            for what, url in reached.items():
                link = running.stack.enter_context(proxy(url.host or "", url.port or 0))
                links[f"{who} {what}"] = link
                between = url.set(host="127.0.0.1", port=link.port)
                changed[f"{what}_url"] = between.render_as_string(hide_password=False)
        with ThreadPoolExecutor() as together:
            started = [together.submit(running.start_worker, name, **through["worker"]) for name in WORKERS]
            direct = running.start_web(**through["web"])
        for each in started:
            each.result()
        port = int(direct.rpartition(":")[2])
        links["people web"] = running.stack.enter_context(proxy("127.0.0.1", port))
        yield Site(running, links, f"http://127.0.0.1:{links['people web'].port}", direct)
