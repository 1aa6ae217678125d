"""Separate networks, like those of hosts: nothing enters or leaves except what a test forwards."""

import ctypes
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from app.operations.supervisor import die_with_parent
from tests.system.process_trees import kill_all
from tests.system.proxies import forwarding

CLONE_NEWNET = 0x40000000
LOCALHOST = "127.0.0.1"

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Network:
    """A network namespace with only a loopback device; it disappears once nothing runs in it."""

    holder: int  # an idle process that keeps the namespace alive
    stack: ExitStack

    @property
    def path(self) -> Path:
        """The path by which others enter it, as with `nsenter --net`."""
        return Path(f"/proc/{self.holder}/ns/net")

    def inside(self, make: Callable[[], Made]) -> Made:
        """Call a function in a thread inside this network; sockets created there stay in it."""

        def enter() -> Made:
            libc = ctypes.CDLL(None, use_errno=True)
            with self.path.open() as namespace:
                if libc.setns(namespace.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            return make()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(enter).result()

    def reach(self, address: tuple[str, int], target: Callable[[], socket.socket]) -> None:
        """Let programs in this network connect to something outside at an address inside."""
        listener = self.inside(lambda: socket.create_server(address))
        self.stack.enter_context(listener)
        self.stack.enter_context(forwarding(listener, target))

    def published(self, port: int) -> str:
        """The outside address of a port in this network."""
        listener = self.stack.enter_context(socket.create_server((LOCALHOST, 0)))
        self.stack.enter_context(forwarding(listener, lambda: self.connected((LOCALHOST, port))))
        return f"http://{LOCALHOST}:{listener.getsockname()[1]}"

    def connected(self, address: tuple[str, int]) -> socket.socket:
        """A connection to a server in this network."""
        connection = self.inside(socket.socket)
        try:
            connection.connect(address)
        except OSError:
            connection.close()
            raise
        return connection

    def pids(self) -> list[int]:
        """The processes in this network, except the one that keeps it alive."""
        mine, found = self.path.stat().st_ino, []
        for folder in Path("/proc").iterdir():
            with suppress(OSError):
                is_ours = folder.name.isdigit() and (folder / "ns" / "net").stat().st_ino == mine
                if is_ours and int(folder.name) != self.holder:
                    found.append(int(folder.name))
        return found


@contextmanager
def network() -> Iterator[Network]:
    """A new network; all its processes are killed at the end."""
    if os.geteuid() != 0:
        pytest.skip("only root can make networks, mount, and become others")
    script = "ip link set lo up && echo up && exec sleep infinity"
    command = die_with_parent(["unshare", "--net", "sh", "-c", script], signal.SIGKILL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stderr
        try:
            if holder.stdout.readline() != "up\n":
                pytest.skip(f"this machine makes no networks: {holder.stderr.read().strip()}")
            with ExitStack() as stack:
                made = Network(holder.pid, stack)
                yield made
                kill_all(made.pids())
        finally:
            holder.kill()


def outside(url_host: str, port: int) -> Callable[[], socket.socket]:
    """A function that connects to a server on this machine."""
    return lambda: socket.create_connection((url_host, port))
