"""A process of the web server.

It is a module of this name because multiprocessing would import any other main program again in each child, which took longer
than checking a small archive.
"""

import gc
import os
import socket
import sys

import uvicorn

from app.connection_limits import TAKEN_AT_ONCE, PatientProtocol, PatientServer
from app.settings import Settings

SWITCH_INTERVAL = 0.0005  # seconds for which a thread keeps the interpreter from a request that wants it


# new objects until the youngest are looked through, as often before the next older ones are: a page makes thousands and leaves no cycles,
# and a tenth of its time went into looking for them
GARBAGE = (5_000, 100, 20)


def main(descriptor: int) -> None:
    """Serve on an inherited socket until a signal."""
    os.umask(0o077)
    sys.setswitchinterval(SWITCH_INTERVAL)
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        http=PatientProtocol,
        server_header=False,
        access_log=False,
        proxy_headers=False,  # app/proxies.py decides whose count
        timeout_keep_alive=30,
        timeout_graceful_shutdown=Settings.read().stop_seconds,
        log_level="warning",
        backlog=TAKEN_AT_ONCE,
    )
    gc.disable()  # a quarter of the time of starting went into looking through modules that stay
    config.load()
    gc.enable()
    # the program itself stays: looking through it for garbage took 0.2 s, in which nobody was answered
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    server = PatientServer(config)
    server.run(sockets=[socket.socket(fileno=descriptor)])
    if not server.started:
        sys.exit(os.EX_SOFTWARE)


if __name__ == "__main__":
    main(int(sys.argv[1]))
