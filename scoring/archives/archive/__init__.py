"""Archives of results, walked without extracting anything."""

from scoring.archives.archive.limits import Member, Meter
from scoring.archives.archive.walk import is_archive, type_of, walk

__all__ = ["Member", "Meter", "is_archive", "type_of", "walk"]
