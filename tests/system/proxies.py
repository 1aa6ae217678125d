"""A TCP proxy that can go silent, as a firewall or a host that has failed over does."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass(slots=True)
class Proxy:
    """Passes bytes between clients and a server, until it goes silent."""

    server: tuple[str, int]
    listener: socket.socket
    silent: threading.Event = field(default_factory=threading.Event)
    pairs: list["Pair"] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def go_silent(self) -> None:
        """From now on accept connections and bytes, and pass nothing on; those that are open stay so for ever."""
        self.silent.set()
        for pair in self.pairs:
            pair.silent.set()

    def serve_new_connections(self) -> None:
        """Serve whoever connects from now on; nobody else is ever answered again."""
        self.silent.clear()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            pair = Pair(client, socket.create_connection(self.server))
            if self.silent.is_set():
                pair.silent.set()
            self.pairs.append(pair)
            threading.Thread(target=pair.run, daemon=True).start()


@dataclass(slots=True)
class Pair:
    """A client, and the connection to the server that belongs to it."""

    client: socket.socket
    server: socket.socket
    silent: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        ends = {self.client: self.server, self.server: self.client}
        with suppress(OSError):
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    received = end.recv(1 << 16)
                    if self.silent.is_set():
                        if end is self.client and not received:
                            return
                        if not received:
                            del ends[end]  # the server's end is not passed on either
                        continue
                    if not received:
                        self.close()
                        return
                    ends[end].sendall(received)

    def close(self) -> None:
        for end in (self.client, self.server):
            end.close()


@contextmanager
def proxy(host: str, port: int) -> Iterator[Proxy]:
    """A proxy in front of a server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Proxy((host, port), listener)
        threading.Thread(target=made.accept, daemon=True).start()
        try:
            yield made
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for pair in made.pairs:
                pair.close()
