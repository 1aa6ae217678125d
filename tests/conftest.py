"""Fixtures of all tests that need servers: one pair for the whole session."""

import signal

from app.supervisor import STOP_SIGNALS, do_nothing
from tests.attacks import attacks
from tests.system.servers import broker_url, database_url, own_servers

for (
    number
) in STOP_SIGNALS:  # what the shell ignores, such as SIGHUP under nohup, programs under test must not
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, do_nothing)

__all__ = ["attacks", "broker_url", "database_url", "own_servers"]
