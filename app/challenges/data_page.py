"""The data page of a challenge: its files, and what the server makes for every phase."""

from dataclasses import dataclass

from app.challenges import challenges, files, terms
from app.challenges.challenges import PhaseView
from app.challenges.files import FileView
from app.challenges.phase_files import ImageArchive, PhaseFiles, StatisticsTable, files_of, statistics_of
from app.core.access import Actor
from app.platform import Platform


@dataclass(frozen=True, slots=True)
class DataPage:
    """What a challenge offers for download, as the reader may have it."""

    challenge: str
    title: str
    has_terms: bool
    files: tuple[FileView, ...]
    phases: tuple[PhaseFiles, ...]
    statistics: StatisticsTable | None
    is_organiser: bool


def data_page(platform: Platform, actor: Actor, code: str) -> DataPage:
    """Return the data page of a challenge; for visitors it is read at most once a second. Raises NotFoundError."""
    if actor.is_logged_in:
        return _read(platform, actor, code)
    return platform.cache.version(("data", code), lambda: _read(platform, actor, code))


def _read(platform: Platform, actor: Actor, code: str) -> DataPage:
    with platform.snapshot() as session:
        challenge = challenges.find_challenge(session, code)
        reader = files.reader_of(session, actor, challenge)
        has_terms = terms.current_terms(session, code, None) is not None
        phases = challenges.phases_of(session, code)
        shown = files.load_present(session, challenge)
        return DataPage(
            challenge=challenge.code,
            title=challenge.title,
            has_terms=has_terms,
            files=files.offered(session, reader, challenge),
            phases=tuple(files_of(platform, session, actor, each) for each in phases),
            statistics=statistics_of(platform, session, phases, shown),
            is_organiser=actor.organises_challenge(challenge.id),
        )


def phases_of(platform: Platform, code: str) -> list[PhaseView]:
    """Return the phases of a challenge, whose states stand above its data."""
    with platform.snapshot() as session:
        return challenges.phases_of(session, code)


def checksums(platform: Platform, actor: Actor, code: str) -> str:
    """Return the SHA-256 of every file and archive that the reader may download, as `sha256sum -c` reads it.

    Raises NotFoundError.
    """
    page = data_page(platform, actor, code)
    found: list[FileView | ImageArchive] = [
        *page.files, *(each.archive for each in page.phases if each.archive)
    ]  # fmt: skip
    return "".join(f"{each.sha256}  {each.name}\n" for each in found if each.sha256)
