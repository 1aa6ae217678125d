"""What a provider says about a person who logs in there, and why it may say nothing."""

from dataclasses import dataclass
from enum import StrEnum

from app.core.errors import DomainError


class ProviderError(DomainError):
    """The provider is unavailable or its response cannot be trusted. The message is for the log."""


class StaleError(DomainError):
    """A login at the provider that has ended, was already used, or was started in another browser."""


class Purpose(StrEnum):
    """Why a browser was sent to the provider."""

    LOG_IN = "log-in"
    LINK = "link"
    CONFIRM = "confirm"  # confirm one's identity before an action that needs a recent login


@dataclass(frozen=True, slots=True)
class Claims:
    """What the provider says about a person."""

    subject: str  # the provider's identifier of the person
    email: str = ""  # case folded
    is_verified: bool = False  # the provider has verified the address
    name: str = ""
    authenticated_at: int | None = None  # seconds since 1970
