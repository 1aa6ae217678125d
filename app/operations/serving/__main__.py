"""A process of the web server.

It is named __main__ because multiprocessing would import any other main program again in each child, which took longer than
checking a small archive.
"""

import asyncio
import gc
import os
import socket
import sys

import uvicorn
from anyio.to_thread import current_default_thread_limiter

from app.core.settings import Settings
from app.operations.serving import BACKLOG, LAST_RESPONSE_SECONDS

# requests handled at the same time in threads; others wait. Threads share one interpreter: forty of them spent more CPU time on
# contending for it than on their requests, and only ten database connections are kept open
THREADS = 8
MAX_CONNECTIONS = 800  # per process, including a proxy's; each needs a file descriptor, often limited to 1024


class Server(uvicorn.Server):
    """uvicorn with few threads, which lets requests cancelled at shutdown send a last response."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving."""
        gc.enable()
        current_default_thread_limiter().total_tokens = THREADS
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving, and wait for the responses of cancelled requests, which uvicorn does not."""
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=LAST_RESPONSE_SECONDS)


def main(descriptor: int) -> None:
    """Serve on an inherited socket until a signal."""
    os.umask(0o077)
    gc.disable()  # until all is imported: nothing of it is garbage, and looking for some takes a fifth of the start
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        http="h11",
        server_header=False,
        access_log=False,
        proxy_headers=False,  # app/main.py decides which proxies to trust
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
