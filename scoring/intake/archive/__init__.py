"""Archives of results, walked without extracting anything."""

from scoring.intake.archive.limits import Member, Meter
from scoring.intake.archive.walk import is_archive, walk

__all__ = ["Member", "Meter", "is_archive", "walk"]
