"""Archives of results, walked without extracting anything."""

from scoring.archive.limits import Meter
from scoring.archive.member import Member
from scoring.archive.walk import walk

__all__ = ["Member", "Meter", "walk"]
