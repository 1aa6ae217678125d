"""Fixtures of all tests that need servers: one pair for the whole session."""

from tests.attacks import attacks
from tests.system.servers import broker_url, database_url, own_servers

__all__ = ["attacks", "broker_url", "database_url", "own_servers"]
