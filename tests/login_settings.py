"""Platforms with other settings of logins."""

from dataclasses import replace
from typing import Any

from app.core.settings import LoginProvider
from app.platform import Platform

EXAMPLE_ID = LoginProvider(
    id="example", name="Example ID", issuer="http://127.0.0.1:9", client_id="heldout", client_secret=None
)


def with_settings(platform: Platform, **changed: Any) -> Platform:
    """The same platform with some settings changed."""
    return replace(platform, settings=platform.settings.model_copy(update=changed))
