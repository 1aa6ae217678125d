"""Example archives and image lists of a phase."""

import gzip
import io
import tarfile
from functools import lru_cache

import scoring
from app.editions import service as editions
from app.errors import NotFoundError
from app.examples.rules import example_files, has_sizes
from app.platform import Platform
from scoring import CompetitionInfo, Description


def example(platform: Platform, edition: str, image_set: str, competition: int) -> bytes:
    """A tar.gz with a valid result of one competition, that scores as badly as one can.

    Raises NotFoundError for a competition that the phase does not have.
    """
    description = editions.phase_description(platform, edition, image_set)
    known = {each.number: each for each in scoring.competitions(description.dataset)}
    if competition not in known or not has_sizes(description):
        raise NotFoundError(f"There is no example for a competition {competition} of {edition} {image_set}")
    return _packed(description, known[competition])


def image_list(platform: Platform, edition: str, image_set: str) -> str:
    """The names of the images of a phase, one a line.

    Raises NotFoundError.
    """
    description = editions.phase_description(platform, edition, image_set)
    return "".join(f"{image.id}\n" for image in description.images)


@lru_cache(maxsize=16)
def _packed(description: Description, competition: CompetitionInfo) -> bytes:
    """The same bytes for the same description."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path, content in example_files(description, competition):
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
