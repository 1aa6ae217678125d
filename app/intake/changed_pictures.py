"""Drawing images whose labels differ between two versions, with both, in a child process."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.images.decoding import PictureError, make, read_file
from app.images.packs import pack
from app.intake.comparing import ChangedBox, ChangedImage, changed_images
from app.intake.drawing import QUALITY, spread
from app.intake.reports import without_words
from heldout_scoring import GroundTruth
from heldout_scoring.stored import from_plain, to_plain

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

LARGEST: Final = (960, 720)  # width and height
BEFORE, AFTER, HALO, PAPER = (
    "#d55e00",
    "#0072b2",
    "#ffffff",
    "#9aa3ad",
)  # told apart without colours by their dashes
LINE: Final = 3
DASH: Final = (10, 7)  # pixels drawn, and left out
NONE: Final = "No image that both versions have differs in boxes or classes."


@dataclass(frozen=True, slots=True)
class DrawnChange:
    """An image as it was drawn. removed, added, moved, relabelled: boxes; classes: of the image, in words."""

    image: str
    width: int
    height: int
    removed: int = 0
    added: int = 0
    moved: int = 0
    relabelled: int = 0
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawnChanges:
    """Some of so many images that differ; message: why there are none."""

    pictures: tuple[DrawnChange, ...] = ()
    changed: int = 0
    message: str = ""


def choose(before: Path, after: Path) -> bytes:
    """Return, from a child process, how many images differ, and up to twelve of these as JSON, spread evenly."""
    with without_words():
        changed = changed_images(GroundTruth.open(before), GroundTruth.open(after))
        chosen = [changed[place] for place in spread(len(changed))]
        return pack([str(len(changed)).encode(), json.dumps([to_plain(each) for each in chosen]).encode()])


def draw(chosen: bytes, count: int, files: Mapping[str, Path]) -> bytes:
    """Return, from a child process, a pack: the JSON of `DrawnChanges`, then a JPEG of each of these images."""
    with without_words():
        images = [from_plain(ChangedImage, each) for each in json.loads(chosen)]
        drawn = [_drawn(each, files.get(each.image)) for each in images]
        found = DrawnChanges(tuple(view for _, view in drawn), count, "" if drawn else NONE)
        return pack([json.dumps(to_plain(found)).encode(), *(content for content, _ in drawn)])


def _drawn(changed: ChangedImage, file: Path | None) -> tuple[bytes, DrawnChange]:
    from PIL import ImageDraw  # noqa: PLC0415 - needed only here

    canvas, (width, height) = _canvas(changed, file)
    pen = ImageDraw.Draw(canvas)
    scale = canvas.width / width, canvas.height / height
    for box in changed.boxes:
        _draw_box(pen, box, scale)
    output = io.BytesIO()
    canvas.save(output, "JPEG", quality=QUALITY)
    kinds = [_kind(box) for box in changed.boxes]
    return output.getvalue(), DrawnChange(
        changed.image,
        canvas.width,
        canvas.height,
        kinds.count("removed"),
        kinds.count("added"),
        kinds.count("moved"),
        kinds.count("relabelled"),
        changed.classes,
    )


def _kind(box: ChangedBox) -> str:
    if not box.new:
        return "removed"
    if not box.old:
        return "added"
    return "relabelled" if box.before != box.after else "moved" if box.old != box.new else "marked"


def _canvas(changed: ChangedImage, file: Path | None) -> tuple["Image.Image", tuple[float, float]]:
    """The picture, or an empty one of its shape, and the size that boxes refer to."""
    from PIL import Image  # noqa: PLC0415

    if file is not None:
        try:
            made = make(read_file(file))
        except PictureError:
            made = None
        if made is not None:
            with Image.open(io.BytesIO(made.view), formats=("JPEG",)) as view:
                canvas = view.convert("RGB")
            canvas.thumbnail(LARGEST)
            return canvas, (changed.width or made.width, changed.height or made.height)
    corners = [corner for box in changed.boxes for corner in (box.old, box.new) if corner]
    width = changed.width or max([100.0, *(each[2] for each in corners)])
    height = changed.height or max([100.0, *(each[3] for each in corners)])
    scale = min(LARGEST[0] / width, LARGEST[1] / height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return Image.new("RGB", size, PAPER), (width, height)


def _draw_box(pen: "ImageDraw.ImageDraw", box: ChangedBox, scale: tuple[float, float]) -> None:
    """Before: dashed; afterwards: a whole line."""
    words = box.after if not box.old or box.before == box.after else f"{box.before} -> {box.after}"
    if box.old and box.old != box.new:
        _draw_lines(pen, box.old, scale, BEFORE, dashed=True)
        if not box.new:
            _write(pen, box.old, scale, box.before, BEFORE)
    if box.new:
        _draw_lines(pen, box.new, scale, AFTER, dashed=False)
        _write(pen, box.new, scale, words, AFTER)


def _draw_lines(
    pen: "ImageDraw.ImageDraw",
    edges: Sequence[float],
    scale: tuple[float, float],
    colour: str,
    *,
    dashed: bool,
) -> None:
    left, top, right, bottom = (
        min(max(edge * scale[place % 2], -DASH[0]), 2 * max(LARGEST)) for place, edge in enumerate(edges)
    )
    corners = ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))
    for width, fill in ((LINE + 2, HALO), (LINE, colour)):
        for one, other in pairwise(corners):
            for start, end in _dashes(one, other) if dashed else ((one, other),):
                pen.line((start, end), fill=fill, width=width)


Point = tuple[float, float]


def _dashes(one: Point, other: Point) -> Iterator[tuple[Point, Point]]:
    length = abs(other[0] - one[0]) + abs(other[1] - one[1])
    if not length:
        return
    step = (other[0] - one[0]) / length, (other[1] - one[1]) / length
    at = 0.0
    while at < length:
        end = min(at + DASH[0], length)
        yield (
            (one[0] + step[0] * at, one[1] + step[1] * at),
            (one[0] + step[0] * end, one[1] + step[1] * end),
        )
        at += sum(DASH)


def _write(
    pen: "ImageDraw.ImageDraw", edges: Sequence[float], scale: tuple[float, float], words: str, colour: str
) -> None:
    place = max(0.0, edges[0] * scale[0]) + 2 * LINE, max(0.0, edges[1] * scale[1]) + LINE
    pen.text(place, words, fill=colour, stroke_width=2, stroke_fill=HALO, font_size=18)
