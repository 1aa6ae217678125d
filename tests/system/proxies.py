"""A TCP proxy that can go silent or disconnect, like a firewall, an unplugged cable or a failed-over host."""

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass(slots=True)
class Proxy:
    """Passes bytes between clients and a server until it goes silent or disconnects."""

    connect: Callable[[], socket.socket]  # to the server
    listener: socket.socket
    silent: threading.Event = field(default_factory=threading.Event)
    cut: threading.Event = field(default_factory=threading.Event)
    pairs: list["Pair"] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def go_silent(self) -> None:
        """From now on accept connections and bytes but pass nothing on; open connections stay open."""
        self.silent.set()
        for pair in self.pairs:
            pair.silent.set()

    def go_away(self) -> None:
        """Close every connection, and from now on each new one immediately."""
        self.cut.set()
        for pair in self.pairs:
            pair.end()

    def serve_new_connections(self) -> None:
        """Serve new connections; earlier ones are never answered again."""
        self.silent.clear()
        self.cut.clear()
        for pair in self.pairs:
            if pair.left.is_set():
                pair.close()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                if self.cut.is_set():
                    raise ConnectionAbortedError
                pair = Pair(client, self.connect())
            except OSError:  # the server itself is down
                client.close()
                continue
            if self.silent.is_set():
                pair.silent.set()
            self.pairs.append(pair)
            threading.Thread(target=pair.run, daemon=True).start()


@dataclass(slots=True)
class Pair:
    """A client's connection and the matching connection to the server."""

    client: socket.socket
    server: socket.socket
    silent: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(
        default_factory=threading.Event
    )  # by its client, without the server knowing

    def run(self) -> None:
        ends = {self.client: self.server, self.server: self.client}
        with suppress(OSError, ValueError):  # of closed connections
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    received = end.recv(1 << 16)
                    if self.silent.is_set():
                        if end is self.client and not received:
                            self.left.set()
                            return
                        if not received:
                            del ends[end]  # the server's closing is not passed on either
                        continue
                    if not received:
                        self.close()
                        return
                    ends[end].sendall(received)

    def end(self) -> None:
        """Make the forwarding thread close both ends."""
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for end in (self.client, self.server):
            end.close()


@contextmanager
def proxy(host: str, port: int) -> Iterator[Proxy]:
    """A proxy in front of a server."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        forwarding(listener, lambda: socket.create_connection((host, port))) as made,
    ):
        yield made


@contextmanager
def forwarding(listener: socket.socket, connect: Callable[[], socket.socket]) -> Iterator[Proxy]:
    """A proxy between a listening socket and what `connect` reaches, either of which may be in another network."""
    made = Proxy(connect, listener)
    threading.Thread(target=made.accept, daemon=True).start()
    try:
        yield made
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        for pair in made.pairs:
            pair.close()
