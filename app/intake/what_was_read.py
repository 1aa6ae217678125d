"""What reading a data set finds before classes are chosen and images renamed, and its file, from which reports are made again."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files as package_files
from pathlib import Path
from sys import intern
from typing import Final
from zipfile import ZipFile

from app.images.decoding import MadeImages
from app.intake.formats.reading import AnnotatedSet
from app.intake.reports import HIDDEN, ROLES, Finding, KindCount, OddTable
from app.intake.unpacking import SentPicture
from heldout_scoring import GroundTruth
from heldout_scoring.stored import from_plain, to_plain

_READERS: Final = (
    "app.intake",
    "app.images",
    "heldout_scoring",
)  # packages that decide what is read, and in which form it is kept


@cache
def form() -> str:
    """A digest of the sources of all readers: what others have read is read again."""
    return digest_of_sources(Path(str(package_files(each))) for each in _READERS)


def digest_of_sources(packages: Iterable[Path]) -> str:
    """A digest of all modules in these folders: their names and what stands in them."""
    found = sha256()
    for root in packages:
        for path in sorted(root.rglob("*.py")):
            found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


@dataclass(frozen=True, slots=True)
class Worded:
    """A finding in the words of public and in those of hidden annotation. sets: the image sets that it may be about."""

    public: Finding
    hidden: Finding
    sets: tuple[str, ...] = ()

    def of(self, role: str) -> Finding:
        """The words of annotation with this role."""
        return self.hidden if role == HIDDEN else self.public


@dataclass(frozen=True, slots=True)
class Told:
    """The findings of a role, and how many more there are of each kind."""

    problems: tuple[Worded, ...] = ()
    warnings: tuple[Worded, ...] = ()
    unlisted: tuple[KindCount, ...] = ()


@dataclass(slots=True)
class WhatWasRead:
    """Everything that reports and drawn pictures of a data set are made of.

    sets, told: by role; pictures: by role and path; is_by_folder: as in `hidden_finding`; views: pictures to draw annotation on, by the
    roles and paths that they were sent with.
    """

    dataset: str
    sets: Mapping[str, Sequence[AnnotatedSet]]
    pictures: Mapping[str, SentPicture]
    told: Mapping[str, Told]
    is_by_folder: bool
    views: Mapping[str, MadeImages]
    tables: tuple[OddTable, ...] = ()

    def save(self, path: Path, origin: str) -> None:
        """Write all of it to one file. origin: what it was read from."""
        sets = [(role, each) for role, some in self.sets.items() for each in some]
        facts = {
            "form": form(),
            "origin": origin,
            "dataset": self.dataset,
            "is_by_folder": self.is_by_folder,
            "told": {role: to_plain(each) for role, each in self.told.items()},
            "tables": [to_plain(each) for each in self.tables],
            "sets": [
                (role, each.name, each.layout, each.source, dict(each.files), list(each.ids))
                for role, each in sets
            ],
            "views": [(name, each.width, each.height) for name, each in self.views.items()],
        }
        with ZipFile(path, "w") as archive:
            archive.writestr("facts", json.dumps(facts))
            with archive.open("pictures", "w", force_zip64=True) as lines:
                for picture in self.pictures.values():
                    lines.write(_written(picture))
            truth = path.with_name(f"{path.name}-truth")  # so that memory has its arrays once
            for number, (_, each) in enumerate(sets):
                each.truth.save(truth)
                archive.write(truth, f"truth-{number}")
                truth.unlink()
            for number, view in enumerate(self.views.values()):
                archive.writestr(f"view-{number}", view.view)

    @classmethod
    def open(cls, path: Path, origin: str, images: Path) -> "WhatWasRead | None":
        """Read what `save` wrote; None if it was read from something else or by another release. images: the folder of pictures."""
        with ZipFile(path) as archive:
            facts = json.loads(archive.read("facts"))
            if (facts["form"], facts["origin"]) != (form(), origin):
                return None
            sets: dict[str, list[AnnotatedSet]] = {role: [] for role in ROLES[1:]}
            for number, (role, name, layout, source, files, ids) in enumerate(facts["sets"]):
                truth = GroundTruth.of_bytes(archive.read(f"truth-{number}"))
                sets[role].append(AnnotatedSet(name, layout, source, truth, files, role=role, ids=ids))
            with archive.open("pictures") as lines:
                pictures = {each.key: each for each in (_picture(line, images) for line in lines)}
            views = {
                name: MadeImages(view=archive.read(f"view-{number}"), width=width, height=height)
                for number, (name, width, height) in enumerate(facts["views"])
            }
        return cls(
            dataset=facts["dataset"],
            sets=sets,
            pictures=pictures,
            told={role: from_plain(Told, each) for role, each in facts["told"].items()},
            is_by_folder=facts["is_by_folder"],
            views=views,
            tables=tuple(from_plain(OddTable, each) for each in facts["tables"]),
        )


def _written(picture: SentPicture) -> bytes:
    row = (
        picture.path.name, picture.size, picture.digest.hex(), picture.length, picture.role, picture.folder, picture.modified,
        picture.camera, picture.taken, picture.bare,
    )  # fmt: skip
    return json.dumps(row).encode() + b"\n"


def _picture(line: bytes, images: Path) -> SentPicture:
    name, size, digest, length, role, folder, modified, camera, taken, bare = json.loads(line)
    return SentPicture(
        images / role / folder / name, size and tuple(size), bytes.fromhex(digest), length, role, intern(folder), modified,
        camera=intern(camera), taken=intern(taken), bare=bare,
    )  # fmt: skip
