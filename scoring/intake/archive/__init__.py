"""Archives of results, walked without extracting anything."""

from scoring.intake.archive.limits import Member, Meter
from scoring.intake.archive.walk import walk

__all__ = ["Member", "Meter", "walk"]
