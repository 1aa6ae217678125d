"""Fixtures of the tests that start real processes."""

from tests.system.servers import broker_url, database_url, own_servers

__all__ = ["broker_url", "database_url", "own_servers"]
