"""Fixtures of the security tests: the application in this process, on real servers."""

from tests.pages.conftest import app, browser, platform

__all__ = ["app", "browser", "platform"]
