"""What can be broken, and how: each fault is a block during which something is unavailable."""

import ctypes
import os
import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.nemesis.schedule import Kind
from tests.nemesis.site import WORKERS, Site
from tests.system.object_proxy import SHARE
from tests.system.process_trees import command_of, sweepers_of, tree_of, working_children
from tests.system.servers import eventually

FULL = 4096  # largest size of a file while the disk is full
PATIENCE = 2.0  # seconds to wait for a process of a kind that is not always running
EVERY = 0.4  # share of S3 faults that affect every request
HERE, EXCHANGE = -100, 2  # the kernel's AT_FDCWD and RENAME_EXCHANGE

Block = AbstractContextManager[str]  # yields the name of what is broken
Breaking = Callable[[Site, float], Block]


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault and how to cause it."""

    kind: Kind
    breaking: Breaking


def one_of(found: Sequence[int], choice: float) -> list[int]:
    """One of the processes, if there are any."""
    return [found[int(choice * len(found))]] if found else []


def whole_web(site: Site, _choice: float) -> list[int]:
    return site.trees("web")


def web_itself(site: Site, _choice: float) -> list[int]:
    return site.trees("web")[:1]


def checking_child(site: Site, _choice: float) -> list[int]:
    return _working(site, ["web"])


def whole_worker(site: Site, choice: float) -> list[int]:
    return site.trees(_worker(choice))


def worker_itself(site: Site, choice: float) -> list[int]:
    return site.trees(_worker(choice))[:1]


def pool_process(site: Site, choice: float) -> list[int]:
    return one_of(site.running.pool(_worker(choice)), choice)


def scoring_child(site: Site, choice: float) -> list[int]:
    return one_of(_working(site, WORKERS), choice)


def fork_server(site: Site, choice: float) -> list[int]:
    found = [pid for pid in site.trees("web", *WORKERS) if "multiprocessing.forkserver" in command_of(pid)]
    return one_of(found, choice)


def sweeper(site: Site, choice: float) -> list[int]:
    return one_of([each for name in WORKERS for each in sweepers_of(site.running.pid(name))], choice)


def database(site: Site, _choice: float) -> list[int]:
    return _server(site, "postgres")


def broker(site: Site, _choice: float) -> list[int]:
    return _server(site, "valkey")


def _worker(choice: float) -> str:
    return WORKERS[int(choice * len(WORKERS))]


def _working(site: Site, names: Sequence[str]) -> list[int]:
    pids = [site.running.processes.pid(name) for name in names]
    return [child for pid in pids if pid for child in working_children(pid)]


def _server(site: Site, name: str) -> list[int]:
    pid = site.running.servers.urls.processes.pid(name)
    return tree_of(pid) if pid else []


def objects(site: Site, _choice: float) -> list[int]:
    assert site.objects
    pid = site.objects.service.processes.pid("weed")
    return tree_of(pid) if pid else []


Choosing = Callable[[Site, float], list[int]]


@contextmanager
def killed(choosing: Choosing, site: Site, choice: float) -> Iterator[str]:
    """Kill the processes at the beginning; their parents start new ones."""
    yield f"{len(_signalled(_found(choosing, site, choice), signal.SIGKILL))} processes"


@contextmanager
def stopped(choosing: Choosing, site: Site, choice: float) -> Iterator[str]:
    """Stop the processes and continue them at the end."""
    pids = _signalled(_found(choosing, site, choice), signal.SIGSTOP)
    try:
        yield f"{len(pids)} processes"
    finally:
        _signalled(pids, signal.SIGCONT)


def _found(choosing: Choosing, site: Site, choice: float) -> list[int]:
    eventually(lambda: bool(choosing(site, choice)), PATIENCE)
    return choosing(site, choice)


def _signalled(pids: Sequence[int], number: signal.Signals) -> list[int]:
    """The processes that received the signal."""
    reached = []
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            reached.append(pid)
    return reached


@contextmanager
def full(names: tuple[str, ...], site: Site, _choice: float) -> Iterator[str]:
    """Simulate a full disk: no file of these processes may grow, not even their logs."""
    pids = site.trees(*names)
    before = {}
    for pid in pids:
        with suppress(ProcessLookupError):
            before[pid] = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (FULL, before[pid][1]))
    try:
        yield f"{len(before)} processes"
    finally:
        # processes started meanwhile have inherited the limit
        for pid in {*before, *site.trees(*names)}:
            with suppress(ProcessLookupError):
                hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


@contextmanager
def away(store: str, site: Site, _choice: float) -> Iterator[str]:
    """Make a store unavailable by replacing its folder with a file."""
    settings = site.running.settings
    assert settings.private_storage
    folders = {"archives": settings.public_storage / "archives", "truths": settings.private_storage}
    folder = folders[store]
    stand_in = folder.with_suffix(".away")
    stand_in.touch()
    _exchange(folder, stand_in)
    try:
        yield ""
    finally:
        _exchange(folder, stand_in)
        stand_in.unlink()


def _exchange(one: Path, other: Path) -> None:
    """Swap two paths atomically, so that nobody recreates the folder in between."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(HERE, bytes(one), HERE, bytes(other), EXCHANGE):
        raise OSError(ctypes.get_errno(), "renameat2", str(one))


@contextmanager
def cut(link: str, site: Site, _choice: float) -> Iterator[str]:
    """Close every connection and refuse new ones."""
    site.links[link].go_away()
    try:
        yield link
    finally:
        site.links[link].serve_new_connections()


@contextmanager
def half_open(link: str, site: Site, _choice: float) -> Iterator[str]:
    """Keep connections open but pass nothing through; the current ones never recover."""
    site.links[link].go_silent()
    try:
        yield link
    finally:
        site.links[link].serve_new_connections()


@contextmanager
def forgetful_broker(site: Site, _choice: float) -> Iterator[str]:
    with site.running.servers.broker_down(loses=True):
        yield ""


@contextmanager
def database_down(site: Site, _choice: float) -> Iterator[str]:
    with site.running.servers.database_down():
        yield ""


@contextmanager
def in_trouble(name: str, site: Site, choice: float) -> Iterator[str]:
    """Make most or all requests to the S3 service fail."""
    assert site.objects
    share = 1.0 if choice < EVERY else SHARE
    with site.objects.proxy.in_trouble(name, share):
        yield f"{share:.0%} of requests"


@contextmanager
def objects_away(site: Site, _choice: float) -> Iterator[str]:
    """Stop the S3 service, so that connections behind the proxy are refused, and start it again."""
    assert site.objects
    with site.objects.service.down():
        yield ""
