"""What the server makes for every phase, unasked: image lists, examples, programs that write a result, statistics."""

import enum
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Literal
from urllib.parse import quote

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.challenges import challenges, files, versions
from app.challenges.annotation_files import info_of
from app.challenges.availability import Stage
from app.challenges.challenges import PhaseView, description_of, largest_archive, offered_competitions
from app.challenges.examples import example_name, has_sizes
from app.challenges.files import FileView, OfferedFile, refusal_of_images
from app.challenges.phase_rules import PhaseState
from app.challenges.snippets import snippet
from app.core.access import Actor
from app.core.errors import NotFoundError
from app.models import Audience, FileKind, Picture, PictureSource
from app.platform import Platform
from app.storage import digest_of
from app.web.tables import csv_of
from app.web.zones import MINUTE
from heldout_scoring import CompetitionInfo, Description, Limits, PublicCounts
from heldout_scoring.competitions import name_of


class GeneratedKind(enum.StrEnum):
    """What a generated file is."""

    LIST = "list"
    TABLE = "table"
    DESCRIPTION = "description"
    IMAGE_INFO = "image info"
    EXAMPLE = "example"


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A file that the server makes of the public description of a phase.

    size: None where it is only known once the file is made; competition: of an example; track: whose training data it is for, if
    its task has several.
    """

    name: str
    title: str
    address: str
    kind: GeneratedKind = GeneratedKind.DESCRIPTION
    size: int | None = None
    task: str = ""
    competition: int | None = None
    track: str = ""


Made = Literal["images", "annotation"]


@dataclass(frozen=True, slots=True)
class NotOffered:
    """Images or annotation of a phase that nobody can download, and why."""

    what: Made
    reason: str


@dataclass(frozen=True, slots=True)
class Snippet:
    """A program that writes a valid result of a task."""

    task: str
    title: str
    code: str
    common: str  # of the code for every image set, without its name


@dataclass(frozen=True, slots=True)
class ImageArchive:
    """All images of a phase in one file. sha256 and address: for those who may see the images now; reason: why not."""

    name: str
    size: int
    sha256: str | None = None
    address: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MadeArchive:
    """A file that a worker made of what is public: annotation, or a development kit.

    audience: for whom it is; licence: of the annotation in it, empty if the organisers name none; sha256 and address: for those
    who may download it; reason: why not.
    """

    name: str
    size: int
    audience: Audience
    licence: str = ""
    sha256: str | None = None
    address: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PhaseFiles:
    """What the server makes for a phase, and the limits of what is sent to it.

    gallery: the page of its images, if the reader may see them; largest: bytes of an archive of predictions; coming: archives that a
    worker makes.
    """

    image_set: str
    images: int
    files: tuple[GeneratedFile, ...]
    snippets: tuple[Snippet, ...]
    gallery: str | None
    largest: int
    limits: Limits
    archive: ImageArchive | None = None
    annotation: MadeArchive | None = None
    coming: tuple[Made, ...] = ()
    not_offered: tuple[NotOffered, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectCount:
    """The images that show a class, and its objects without and with those that are marked as difficult."""

    images: int
    objects: int
    with_difficult: int


@dataclass(frozen=True, slots=True)
class StatisticsTable:
    """Images and objects of each class and set, as in the reports on VOC.

    images: of each set in all; rows: a count for each set, None where the annotation is not public.
    """

    image_sets: tuple[str, ...]
    images: tuple[int, ...]
    rows: tuple[tuple[str, tuple[ObjectCount | None, ...]], ...]
    totals: tuple[ObjectCount | None, ...]


def files_of(platform: Platform, session: Session, actor: Actor, phase: PhaseView) -> PhaseFiles:
    """Return what the server makes for a phase, as a reader may have it."""
    refused = refusal_of_images(session, actor, phase)
    description = description_of(platform.descriptions, phase.description_key)
    base = f"/challenges/{quote(phase.challenge)}/{quote(phase.image_set)}"
    twin = f"/api/v1{base}/description"
    offered = offered_competitions(phase)
    files = [
        GeneratedFile(
            list_name(phase.challenge, phase.image_set, "txt"),
            "Image list",
            f"{base}/images.txt",
            GeneratedKind.LIST,
            sum(len(each.id) + 1 for each in description.images),
        ),
        GeneratedFile(
            list_name(phase.challenge, phase.image_set, "csv"),
            "Sizes of the images",
            f"{base}/images.csv",
            GeneratedKind.TABLE,
        ),
        GeneratedFile("description.json", "Description for programs", twin),
    ]
    if description.class_numbers:
        name = f"image_info_{phase.image_set}.json"
        address = f"{base}/image_info.json"
        files.append(
            GeneratedFile(name, "Images and categories, as in COCO", address, GeneratedKind.IMAGE_INFO)
        )
    if has_sizes(description):
        files += (
            GeneratedFile(
                example_name(phase.challenge, phase.image_set, each.number),
                f"{name_of(phase.dataset, each.number)}: a valid result of competition {each.number}",
                f"{base}/example.tar.gz?competition={each.number}",
                GeneratedKind.EXAMPLE,
                task=each.title,
                competition=each.number,
                track=name_of(phase.dataset, each.number).removeprefix(each.title).removeprefix(", "),
            )
            for each in offered
        )
    return PhaseFiles(
        image_set=phase.image_set,
        images=len(description.images),
        files=tuple(files),
        snippets=snippets_of(description, offered, f"{platform.settings.address}{twin}"),
        gallery=None if refused else f"/pictures/{quote(phase.challenge)}/{quote(phase.image_set)}",
        largest=largest_archive(phase, platform.settings.max_upload),
        limits=description.limits,
        archive=_archive_of(session, phase, refused),
        coming=("images",) if _is_packed_soon(session, phase) else (),
    )


def _is_packed_soon(session: Session, phase: PhaseView) -> bool:
    source = session.get(PictureSource, phase.id)
    return (
        source is not None
        and source.offers_archive
        and phase.publishes_images
        and source.archive_key is None
        and source.archive_problem is None
        and source.problem is None
    )


def _archive_of(session: Session, phase: PhaseView, refused: Exception | None) -> ImageArchive | None:
    """Return the archive of a phase's images if it has one that is not only for organisers. refused: why the reader has none."""
    source = session.get(PictureSource, phase.id)
    if (
        source is None
        or not (source.offers_archive and phase.publishes_images)
        or source.archive_key is None
        or source.archive_size is None
    ):
        return None
    archive = ImageArchive(archive_name(phase), source.archive_size, reason=str(refused) if refused else "")
    if refused:
        return archive
    address = f"/challenges/{quote(phase.challenge)}/{quote(phase.image_set)}/images.tar"
    return replace(archive, sha256=digest_of(source.archive_key), address=address)


def not_offered(phase: PhaseView, made: PhaseFiles, files: Sequence[FileView]) -> Iterator[NotOffered]:
    """Yield what of a phase's images and annotation nobody can download. files: of its challenge, which may have either."""
    own = {each.kind for each in files if each.image_set == phase.image_set}
    # annotation for all image sets, such as that of a training set, is not the hidden one
    for_all = {each.kind for each in files if each.image_set is None}
    kinds: dict[Made, FileKind] = {"images": FileKind.IMAGES, "annotation": FileKind.ANNOTATION}
    archives = {"images": made.archive, "annotation": made.annotation}
    for what, kind in kinds.items():
        wanted = {kind, FileKind.BOTH}
        is_hidden = what == "annotation" and phase.is_held_out
        if archives[what] is not None or what in made.coming or own & wanted:
            continue
        if is_hidden or not for_all & wanted:
            yield NotOffered(what, _reason_against(phase, made, what))


def _reason_against(phase: PhaseView, made: PhaseFiles, what: Made) -> str:
    if what == "images":
        return (
            "Not offered as a file, but you can look at them one by one."
            if made.gallery
            else "The organisers do not offer them here."
        )
    if phase.is_held_out:
        return "Hidden: the server scores results with it."
    if phase.state is PhaseState.UPCOMING:
        return f"Public from the opening on, {phase.opens_at:{MINUTE}}."
    return "Public, but the server cannot pack it."


def archive_name(phase: PhaseView) -> str:
    """Return the name under which the archive of a phase's images is saved."""
    return f"{phase.challenge}-{phase.image_set}-images.tar"


def list_name(challenge: str, image_set: str, ending: str) -> str:
    """Return the name under which the list of a phase's images is saved, which no other phase has."""
    return f"{challenge}-{image_set}-images.{ending}"


def snippets_of(
    description: Description, competitions: Iterable[CompetitionInfo], address: str
) -> tuple[Snippet, ...]:
    """Return a program for the first competition of each task."""
    first = {each.task: each for each in reversed(tuple(competitions))}
    return tuple(
        Snippet(
            task,
            each.title,
            snippet(description, each, address),
            snippet(replace(description, image_set=""), each, ""),
        )
        for task, each in reversed(first.items())
    )


def image_table(platform: Platform, challenge: str, image_set: str) -> str:
    """Return the names and sizes of a phase's images as CSV; a size that is not known is blank.

    Raises NotFoundError.
    """
    return table_of(challenges.phase_description(platform, challenge, image_set))


def table_of(description: Description) -> str:
    r"""Return the names and sizes of the images of a description as CSV, and their files' names where these are others.

    What is not known is blank.

    >>> from heldout_scoring import Image
    >>> table_of(Description("COCO", "val", (), (), (Image("7", 40, 30, file="=1.jpg"),)))
    "name,width,height,file\r\n7,40,30,'=1.jpg\r\n"
    """
    has_files = any(each.file for each in description.images)
    rows = (
        (
            each.id,
            *((each.width, each.height) if each.has_size else (None, None)),
            *((each.file,) if has_files else ()),
        )
        for each in description.images
    )
    return csv_of(("name", "width", "height", *(("file",) if has_files else ())), rows)


def image_info(platform: Platform, challenge: str, image_set: str) -> str:
    """Return the images and categories of a phase in the format of COCO's image_info files, without annotation.

    Raises NotFoundError, also for a challenge whose images have no numbers.
    """
    with platform.transaction() as session:
        phase = challenges.find_phase(session, challenge, image_set)
        files = picture_files(platform, session, phase)
    description = description_of(platform.descriptions, phase.description_key)
    if not description.class_numbers:
        raise NotFoundError(
            f"The images of {challenge} {image_set} have no numbers; /images.csv has their names"
        )
    return json.dumps(info_of(description, files))


def picture_files(platform: Platform, session: Session, phase: PhaseView) -> dict[str, str]:
    """Return what people know the files of a phase's images by, as far as that is known: what they are called in its archive."""
    rows = session.execute(select(Picture.name, Picture.file).where(Picture.phase_id == phase.id))
    imported = {name: file_after_image(name, file) for name, file in rows if file}
    return imported | dict(description_of(platform.descriptions, phase.description_key).files)


def file_after_image(image: str, file: str) -> str:
    """What people know an imported file by where annotation gives it no name of its own: its image, which no two files share.

    >>> file_after_image("12", "cat/000000000012.JPG")
    '12.JPG'
    """
    return f"{image}{PurePosixPath(file).suffix}"


def statistics_of(
    platform: Platform, session: Session, phases: Sequence[PhaseView], files: Sequence[OfferedFile]
) -> StatisticsTable | None:
    """Count images and objects by class and set; counts of annotation only where it is public. None without phases."""
    if not phases:
        return None
    descriptions = [description_of(platform.descriptions, each.description_key) for each in phases]
    counted = [_counts(session, each) if annotation_is_public(each, files) else {} for each in phases]
    classes = dict.fromkeys(name for each in descriptions for name in each.classes)
    return StatisticsTable(
        image_sets=tuple(each.image_set for each in phases),
        images=tuple(len(each.images) for each in descriptions),
        rows=tuple((name, tuple(each.get(name) for each in counted)) for name in classes),
        totals=tuple(each.get("") for each in counted),
    )


def public_description(platform: Platform, challenge: str, image_set: str) -> str:
    """Return everything public about a phase as JSON: with it, archives are checked at home as they are here.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        phase = challenges.find_phase(session, challenge, image_set)
        counts = public_counts(session, phase.challenge)
    with platform.descriptions.open(phase.description_key) as stream:
        description = Description.from_json(stream.read().decode())
    return replace(description, public_counts=counts).to_json()


def public_counts(session: Session, code: str) -> PublicCounts | None:
    """Return the objects of each class in the challenge's image set with the most of them whose annotation is public."""
    challenge = challenges.challenge_of(session, code)
    phases = challenges.phases_of(session, code)
    present = files.load_present(session, challenge) if challenge else ()
    counted = {
        each.image_set: _counts(session, each) for each in phases if annotation_is_public(each, present)
    }
    known = {name: counts for name, counts in counted.items() if counts}
    if not known:
        return None
    largest = max(known, key=lambda name: known[name][""].objects)
    return PublicCounts(
        largest, tuple((name, count.objects) for name, count in known[largest].items() if name)
    )


def annotation_is_public(phase: PhaseView, files: Sequence[OfferedFile]) -> bool:
    """Whether the annotation of a phase is public: it is not held out, the phase has opened, its files are out."""
    return audience_of_annotation(phase, files, Audience.EVERYBODY) is not None


def audience_of_annotation(
    phase: PhaseView, files: Sequence[OfferedFile], usual: Audience
) -> Audience | None:
    """Return for whom the public annotation of a phase is, as the available files say; None while it is not public.

    A file for all phases counts where none is for the phase alone. usual: the audience where there is no file.
    """
    if phase.is_held_out or phase.state is PhaseState.UPCOMING:
        return None
    with_annotation = [each for each in files if each.row.kind in (FileKind.ANNOTATION, FileKind.BOTH)]
    own = [each for each in with_annotation if each.image_set == phase.image_set]
    for_all = [each for each in with_annotation if each.image_set is None]
    offers = own or for_all
    if not offers:
        return usual
    available = {each.row.audience for each in offers if each.availability.stage(each.now) is Stage.AVAILABLE}
    return next((each for each in Audience if each in available), None)  # the largest comes first


def _counts(session: Session, phase: PhaseView) -> dict[str, ObjectCount]:
    """Return the counts of each class of public annotation; those of all classes under the empty name."""
    truth = versions.shown_truth(session, phase.id)
    if truth is None or not truth.statistics:
        return {}
    rows = {each["name"]: _count(each) for each in truth.statistics["rows"]}
    return rows | {"": _count(truth.statistics["total"])}


def _count(row: dict[str, Any]) -> ObjectCount:
    return ObjectCount(row["images"], row["objects"], row["objects"] + row["difficult"])
