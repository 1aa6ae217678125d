"""The platform of a worker's processes: a database call that never comes back ends the process."""

from dataclasses import replace

from app.platform import Platform, platform_of
from app.settings import Settings
from app.watchdog import Watchdog


def watched_platform(settings: Settings) -> Platform:
    """A platform whose transactions are watched; to be made in the process that uses it."""
    return replace(platform_of(settings), guard=Watchdog(settings.stall_seconds).guard)
