"""Fixtures of the security tests: the application in this process, on real servers."""

from dataclasses import replace

import pytest
from fastapi import FastAPI

from app.main import create_app
from app.platform import Platform
from tests.pages.conftest import browser, platform

__all__ = ["app", "browser", "platform"]


@pytest.fixture(scope="module")
def app(platform: Platform) -> FastAPI:
    """The application, with an OpenID Connect provider that is away."""
    known = {"oidc_issuer": "http://127.0.0.1:9", "oidc_client_id": "heldout", "oidc_name": "Example ID"}
    return create_app(replace(platform, settings=platform.settings.model_copy(update=known)))
