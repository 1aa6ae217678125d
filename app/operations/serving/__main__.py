"""A process of the web server.

It is a module of this name because multiprocessing would import any other main program again in each child, which took longer
than checking a small archive.
"""

import asyncio
import os
import socket
import sys

import uvicorn
from anyio.to_thread import current_default_thread_limiter

from app.core.settings import Settings
from app.operations.serving import BACKLOG, LAST_RESPONSE_SECONDS

# requests that are handled at the same time in threads; others wait. They share one interpreter: forty of them spent more of a
# processor on taking it from each other than on their requests, and ten connections to the database are kept open
THREADS = 8
MAX_CONNECTIONS = (
    800  # of a process, those of a proxy included; each takes a file descriptor, of which it often has 1024
)


class Server(uvicorn.Server):
    """uvicorn with few threads, which lets requests that it cancels at its end send a last response."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        current_default_thread_limiter().total_tokens = THREADS
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving. uvicorn cancels requests that take too long and does not wait for their responses."""
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=LAST_RESPONSE_SECONDS)


def main(descriptor: int) -> None:
    """Serve on an inherited socket until a signal."""
    os.umask(0o077)
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        http="h11",
        server_header=False,
        access_log=False,
        proxy_headers=False,  # app/main.py decides whose count
        timeout_keep_alive=30,
        timeout_graceful_shutdown=Settings.read().stop_seconds,
        log_level="warning",
        backlog=BACKLOG,
        limit_concurrency=MAX_CONNECTIONS,
    )
    server = Server(config)
    server.run(sockets=[socket.socket(fileno=descriptor)])
    if not server.started:
        sys.exit(os.EX_SOFTWARE)


if __name__ == "__main__":
    main(int(sys.argv[1]))
