"""Listening sockets, bound before a web process starts."""

import errno
import socket

from app.core.settings import Settings, variable

LAST_RESPONSE_SECONDS = 5.0  # for requests cancelled at shutdown to send their last response
BACKLOG = 512  # connections waiting in the kernel to be accepted; the last one waits for all before it


class ListenError(Exception):
    """The address cannot be listened on; the message says why and what to do."""


def listen(settings: Settings) -> socket.socket:
    """Return a socket that listens on the configured address.

    We own it before any process serves on it, so only our own processes respond there. Raises ListenError.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        raise ListenError(_message(error, settings)) from error
    return listener


def _message(error: OSError, settings: Settings) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {settings.port} of {settings.host} is used by another program, perhaps another installation: "
            f"stop it, or choose another port with {variable('port')} (0 picks a free one)"
        )
    if isinstance(error, PermissionError):
        return f"{variable('port')}: found {settings.port}, which this user may not listen on; expected 1024 or more"
    return f"{variable('host')}: found {settings.host!r}, where this machine cannot listen: {error.strerror}"
