"""Serving on a socket that is bound before a web process starts."""

import errno
import socket

from app.core.settings import Settings, variable

LAST_RESPONSE_SECONDS = 5.0  # in which requests that are cancelled by a stop send their last response
BACKLOG = 512  # connections that wait in the kernel to be taken; whoever comes last waits for all of them


class ListenError(Exception):
    """The address cannot be listened on; says why and what can be done."""


def listen(settings: Settings) -> socket.socket:
    """A socket that listens on the address of the settings.

    It is ours before any process serves on it, so that only our own processes respond there. Raises ListenError.
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
            f"port {settings.port} of {settings.host} is taken by another program, perhaps another installation: "
            f"stop it, or choose another port with {variable('port')} (0 takes a free one)"
        )
    if isinstance(error, PermissionError):
        return f"{variable('port')}: found {settings.port}, which this user may not listen on; expected 1024 or more"
    return f"{variable('host')}: found {settings.host!r}, where this machine cannot listen: {error.strerror}"
