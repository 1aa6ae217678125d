"""The second factor as its owner sees it."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class FactorView:
    """Whether a person has a second factor, or is about to."""

    since: datetime | None = None  # none: it is not in use
    recovery_codes: int = 0  # that are left
    secret: str | None = None  # to be shown until it is in use
    picture: str | None = None  # the same as a QR code, in SVG
