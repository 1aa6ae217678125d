"""Drawing a few pictures of a data set with their annotation, in a child process, so that people see whether boxes fit."""

import io
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from app.images.decoding import MadeImages, PictureError, make, read_file
from app.images.packs import pack
from app.intake.findings import images_of_odd_boxes, labelled
from app.intake.formats.pictures import pictures_of
from app.intake.formats.reading import AnnotatedSet
from app.intake.unpacking import Unpacked
from heldout_scoring import BoxConvention, GroundTruth
from heldout_scoring.data.label_maps import label_colours
from heldout_scoring.stored import to_plain

if TYPE_CHECKING:
    from PIL import Image

MOST: Final = 12
NONE: Final = "No image of these image sets was sent, none could be read, or all that were looked at show ignored classes."
LARGEST: Final = (480, 360)  # width and height
QUALITY: Final = 85
COLOURS: Final = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#808000")


@dataclass(frozen=True, slots=True)
class DrawnPicture:
    """A picture as it was drawn. image: what organisers know it by; classes: those that it shows by its annotation; boxes: how many were drawn."""

    image: str
    image_set: str
    width: int
    height: int
    classes: tuple[str, ...]
    boxes: int


@dataclass(frozen=True, slots=True)
class DrawnPictures:
    """Some pictures of a data set; message: why there are none."""

    pictures: tuple[DrawnPicture, ...] = ()
    message: str = ""


def views_of(unpacked: Unpacked, sets: Sequence[AnnotatedSet]) -> Mapping[str, MadeImages]:
    """Up to twelve pictures to draw annotation on, by the roles and paths that they were sent with: those of odd boxes, and some spread evenly."""
    of_sets = [(each, pictures_of(unpacked, each)) for each in sets]
    odd = [
        pictures[image]
        for each, pictures in of_sets
        for image in images_of_odd_boxes(each.truth)
        if image in pictures
    ]
    every = [picture for _, pictures in of_sets for picture in pictures.values() if picture.size]
    known = {
        each.sent_as: each
        for each in (*odd[: MOST // 2], *map(every.__getitem__, spread(len(every))))
        if each.size
    }
    views: dict[str, MadeImages] = {}
    for picture in list(known.values())[:MOST]:
        with suppress(PictureError):
            views[picture.sent_as] = replace(make(read_file(picture.path)), thumbnail=b"")
    return views


def spread(count: int) -> list[int]:
    """At most twelve of so many places, spread evenly."""
    return sorted(set(np.linspace(0, count - 1, MOST).astype(int).tolist())) if count else []


def draw(unpacked: Unpacked, sets: Sequence[AnnotatedSet], views: Mapping[str, MadeImages]) -> bytes:
    """Return a pack: the JSON of `DrawnPictures`, then up to twelve of the views that these sets have, as JPEG."""
    candidates = [
        (each, image, views[picture.sent_as])
        for each in sets
        for image, picture in pictures_of(unpacked, each).items()
        if picture.sent_as in views
    ]
    annotations = {id(each): _Annotation.of(each.truth) for each in sets}
    drawn, contents = [], []
    for place in spread(len(candidates)):
        each, image, made = candidates[place]
        content, view = _drawn(each, image, made, annotations[id(each)])
        drawn.append(view)
        contents.append(content)
    return pack(
        [json.dumps(to_plain(DrawnPictures(tuple(drawn), "" if drawn else NONE))).encode(), *contents]
    )


@dataclass(frozen=True, slots=True)
class _Annotation:
    """The annotation of a set by image: place of each image, class places, and place of its label image."""

    truth: GroundTruth
    places: Mapping[str, int]
    masks: Mapping[str, int]
    shown: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, truth: GroundTruth) -> "_Annotation":
        known = labelled(truth)
        shown: dict[str, tuple[int, ...]] = {}
        for image, label in zip(known.image.tolist(), known.label.tolist(), strict=True):
            shown[known.images[image]] = (*shown.get(known.images[image], ()), label)
        return cls(
            truth,
            {name: place for place, name in enumerate(truth.lists.images)},
            {name: place for place, name in enumerate(truth.lists.segmentation)},
            shown,
        )


def _drawn(
    found: AnnotatedSet, image: str, made: MadeImages, annotation: _Annotation
) -> tuple[bytes, DrawnPicture]:
    """Draw the boxes, or the label image, of a picture over it."""
    from PIL import Image, ImageDraw  # noqa: PLC0415 - needed only here

    truth = annotation.truth
    with Image.open(io.BytesIO(made.view), formats=("JPEG",)) as view:
        canvas = view.convert("RGB")
    canvas.thumbnail(LARGEST)
    if image in annotation.masks and len(truth.tables.masks):
        canvas = _with_labels(canvas, truth.tables.masks[annotation.masks[image]])
    objects = truth.tables.objects
    rows = np.flatnonzero(objects.image == annotation.places.get(image, -1))
    edges = truth.tables.convention.convert(objects.boxes[rows], BoxConvention.HALF_OPEN)
    scaled = edges * np.tile([canvas.width / made.width, canvas.height / made.height], 2)
    pen = ImageDraw.Draw(canvas)
    for row, box in zip(rows.tolist(), np.clip(scaled, -10, 2 * max(LARGEST)).tolist(), strict=True):
        label = int(objects.name[row])
        colour = COLOURS[label % len(COLOURS)]
        left, top = box[:2]
        pen.rectangle((left, top, max(box[2] - 1, left), max(box[3] - 1, top)), outline=colour, width=2)
        pen.text(
            (left + 3, top + 1), truth.lists.classes[label], fill=colour, stroke_width=2, stroke_fill="white"
        )
    output = io.BytesIO()
    canvas.save(output, "JPEG", quality=QUALITY)
    classes = tuple(truth.lists.classes[label] for label in sorted(annotation.shown.get(image, ())))
    return output.getvalue(), DrawnPicture(
        found.called(image), found.name, canvas.width, canvas.height, classes, len(rows)
    )


def _with_labels(
    canvas: "Image.Image", labels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
) -> "Image.Image":
    """The picture under its label image in the colours of the development kits."""
    from PIL import Image  # noqa: PLC0415

    painted = Image.fromarray(labels).resize(canvas.size, Image.Resampling.NEAREST)
    painted.putpalette(label_colours())
    return Image.blend(canvas, painted.convert("RGB"), 0.5)
