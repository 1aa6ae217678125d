"""The data page of a challenge: its files, and what the server makes for every phase."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.challenges import challenges, files, kits, pictures_from, terms
from app.challenges.challenges import PhaseView
from app.challenges.files import FileView
from app.challenges.phase_files import (
    GeneratedFile,
    GeneratedKind,
    ImageArchive,
    MadeArchive,
    NotOffered,
    PhaseFiles,
    Snippet,
    StatisticsTable,
    files_of,
    not_offered,
    statistics_of,
)
from app.challenges.pictures_from import UNSAID, ParticipantsPictures
from app.core.access import Actor
from app.models import Audience, Challenge, ChallengeVisibility
from app.platform import Platform


@dataclass(frozen=True, slots=True)
class MissingFiles:
    """Images or annotation that nobody can download of these image sets, for one reason."""

    what: str
    image_sets: tuple[str, ...]
    reason: str


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
    image_licence: str = ""  # of the challenge; a file that is offered has its own
    annotation_licence: str = ""
    pictures: ParticipantsPictures = UNSAID
    kit: MadeArchive | None = None  # once it is made
    is_kit_coming: bool = False
    needs_token: bool = False  # whether something is not for everybody, so that programs say whose they are

    @property
    def examples(self) -> dict[str, tuple[tuple[GeneratedFile, ...], ...]]:
        """The examples of results by task, for each phase."""
        of_phases = [
            tuple(each for each in phase.files if each.kind is GeneratedKind.EXAMPLE) for phase in self.phases
        ]
        tasks = dict.fromkeys(each.task for found in of_phases for each in found)
        return {
            task: tuple(tuple(each for each in found if each.task == task) for found in of_phases)
            for task in tasks
        }

    @property
    def programs(self) -> tuple[tuple[str, Snippet], ...]:
        """Programs for the tasks, of image sets whose programs differ in their names alone the last."""
        found = {each.common: (phase.image_set, each) for phase in self.phases for each in phase.snippets}
        return tuple(found.values())

    @property
    def downloads(self) -> tuple[FileView | ImageArchive | MadeArchive, ...]:
        """What has a checksum: files of the organisers, and the archives that the server makes."""
        made = (self.kit, *(file for each in self.phases for file in (each.archive, each.annotation)))
        return (*(file for file in made if file), *self.files)

    @property
    def is_being_packed(self) -> bool:
        """Whether a worker makes an archive that is not here yet."""
        return self.is_kit_coming or any(each.coming for each in self.phases)

    @property
    def missing(self) -> tuple[MissingFiles, ...]:
        """What nobody can download, and why."""
        found: dict[NotOffered, list[str]] = {}
        for phase in self.phases:
            for each in phase.not_offered:
                found.setdefault(each, []).append(phase.image_set)
        return tuple(MissingFiles(each.what, tuple(sets), each.reason) for each, sets in found.items())


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
        own_files = [files_of(platform, session, actor, each) for each in phases]
        made = kits.archives_of(session, actor, challenge, own_files)
        offered = files.offered(session, reader, challenge)
        return DataPage(
            challenge=challenge.code,
            title=challenge.title,
            has_terms=has_terms,
            files=offered,
            phases=tuple(
                replace(each, not_offered=tuple(not_offered(phase, each, offered)))
                for phase, each in zip(phases, made.phases, strict=True)
            ),
            statistics=statistics_of(platform, session, phases, shown),
            is_organiser=actor.organises_challenge(challenge.id),
            image_licence=challenge.image_licence,
            annotation_licence=challenge.annotation_licence,
            pictures=pictures_from.answer_of(challenge),
            kit=made.kit,
            is_kit_coming=made.is_kit_coming,
            needs_token=_needs_token(
                challenge, (*offered, made.kit, *(each.annotation for each in made.phases))
            ),
        )


def _needs_token(challenge: Challenge, found: Iterable[FileView | MadeArchive | None]) -> bool:
    audiences = {each.audience for each in found if each}
    return challenge.visibility is ChallengeVisibility.INVITED or bool(audiences - {Audience.EVERYBODY})


def phases_of(platform: Platform, code: str) -> list[PhaseView]:
    """Return the phases of a challenge, whose states stand above its data."""
    with platform.snapshot() as session:
        return challenges.phases_of(session, code)


def checksums(platform: Platform, actor: Actor, code: str) -> str:
    """Return the SHA-256 of every file and archive that the reader may download, as `sha256sum -c` reads it.

    Raises NotFoundError.
    """
    page = data_page(platform, actor, code)
    return "".join(f"{each.sha256}  {each.name}\n" for each in page.downloads if each.sha256)
