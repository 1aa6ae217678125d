"""Fixtures of the security tests: the application in this process, on real servers."""

from dataclasses import replace

import pytest
from fastapi import FastAPI

from app.main import create_app
from app.platform import Platform
from tests.login_settings import EXAMPLE_ID
from tests.pages.conftest import browser, platform
from tests.security.undoing import UndonePlatform, undone_platform

__all__ = ["app", "browser", "platform"]


@pytest.fixture(scope="module")
def undone(platform: Platform) -> UndonePlatform:
    """The platform with changes that can be undone, and with an unreachable OpenID Connect provider."""
    known = {"login_providers": (EXAMPLE_ID,)}
    return undone_platform(replace(platform, settings=platform.settings.model_copy(update=known)))


@pytest.fixture(scope="module")
def app(undone: UndonePlatform) -> FastAPI:
    """The application on it."""
    return create_app(undone)
