"""What organisers send, and what is read of it in this process."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image

from app.intake.inspecting import TRUTHS, Wanted, inspect
from app.intake.reports import UNEXPLAINED, Report, TableChoice
from app.intake.unpacking import ReadingLimits, SentFile
from heldout_scoring import GroundTruth
from heldout_scoring.stored import from_plain
from tests.pages.data_sets import zipped

LIMITS = ReadingLimits(unpacked=64 << 20, images=1000, boxes=10_000)


@dataclass(frozen=True)
class Read:
    """A report with the annotation of each set, by its key."""

    report: Report
    truths: Mapping[str, GroundTruth]

    @property
    def problems(self) -> list[str]:
        return [str(each) for each in self.report.problems]

    @property
    def warnings(self) -> list[str]:
        return [str(each) for each in self.report.warnings]

    @property
    def codes(self) -> set[str]:
        """The codes of all problems and warnings."""
        return {each.code for each in (*self.report.problems, *self.report.warnings)}

    @property
    def truth(self) -> GroundTruth:
        """The annotation of the only set."""
        [found] = self.truths.values()
        return found


def read(
    folder: Path,
    files: Mapping[str, bytes],
    *,
    role: str = "public",
    images: Mapping[str, bytes] | None = None,
    secret: bytes | None = None,
    tables: TableChoice = UNEXPLAINED,
) -> Read:
    """Send files in a zip in this role, pictures in another as images, and read both. secret: of neutral names."""
    sent = [
        (name, f"{name}.zip", content)
        for name, content in ((role, files), ("images", images or {}))
        if content
    ]
    wanted = Wanted(chosen=tuple(f"{role}-{number}" for number in range(9)), secret=secret, tables=tables)
    return read_archives(folder, *sent, wanted=wanted)


def read_archives(
    folder: Path, *archives: tuple[str, str, Mapping[str, bytes]], wanted: Wanted | None = None
) -> Read:
    """Send archives, each with its role, its name and its files, and read them."""
    sent = []
    for number, (role, name, content) in enumerate(archives):
        path = folder / f"sent-{number}"
        path.write_bytes(zipped(content))
        sent.append(SentFile(role, name, path))
    wanted = wanted or Wanted(chosen=tuple(f"{role}-{n}" for role in ("public", "hidden") for n in range(9)))
    work = folder / "work"
    work.mkdir()
    report = from_plain(Report, json.loads(inspect(work, tuple(sent), "birds", LIMITS, wanted)))
    truths = {each.key: GroundTruth.open(work / TRUTHS / each.key) for each in report.sets}
    return Read(report, truths)


def png(values: ArrayLike, mode: str = "L", palette: bytes | None = None) -> bytes:
    """A PNG of these values."""
    image = Image.fromarray(np.asarray(values, np.uint8), None if mode != "P" else "P")
    if palette is not None:
        image.putpalette(palette)
    return saved(image, "PNG")


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()
