"""Label images read from files, and label maps from arrays."""

from collections.abc import Iterator

import numpy as np

from scoring.archives.pixels import labels_of
from scoring.archives.png import GREY, PngError, open_png
from scoring.data.arrays import Bytes
from scoring.data.checking import DataError, some_of
from scoring.data.ground_truth import GroundTruth
from scoring.data.label_maps import VOID, LabelMap, LabelMaps
from scoring.errors import Problem, Problems
from scoring.readers.image_index import ImageIndex
from scoring.readers.voc.label_images import LABEL_COLOURS
from scoring.tasks.task import Keyed


def read_label_image(data: bytes, images: ImageIndex, *, file: str, problems: Problems) -> LabelMap | None:
    """Read a label image, named after its image; None if it is invalid, which becomes a problem.

    A damaged or truncated file, trailing data, another size than the image's, a type other than indexed or 8-bit grey, and
    labels beyond the classes are problems. Indices count, not colours.

    >>> from scoring import Description, Image, labels_to_png
    >>> index = ImageIndex.of(Description("VOC2012", "val", ("cat",), (), (Image("a", 3, 1),)))
    >>> data = labels_to_png(np.array([[0, 1, 1]], np.uint8))
    >>> read_label_image(data, index, file="comp5_val_cls/a.png", problems=Problems()).labels.tolist()
    [[0, 1, 1]]
    """
    name = file.rpartition("/")[2].removesuffix(".png")
    image = images.anywhere.get(name)
    try:
        png = open_png(data, (image.width, image.height) if image else None)
        labels = labels_of(png)
    except PngError as error:
        problems.add(Problem(error.code, str(error), file, found=error.found, expected=error.expected))
        return None
    most = int(labels.max())
    if most > images.classes:
        problems.add(_out_of_range(labels, images.classes, file))
        return None
    used = 3 * (most + 1)
    grey = png.header.kind == GREY
    recoloured = not grey and png.palette[:used] != LABEL_COLOURS[:used]
    moved = _moved(labels, png.palette, images.classes) if recoloured else None
    return LabelMap(name, labels, grey, recoloured, moved)


def _moved(labels: Bytes, palette: bytes, classes: int) -> tuple[int, int] | None:
    """A label of the image that has the kits' colour of another one, if all its colours are the kits'; else None."""
    kit = {LABEL_COLOURS[3 * label : 3 * label + 3]: label for label in (*range(classes + 1), VOID)}
    used = np.flatnonzero(np.bincount(labels.ravel(), minlength=1)).tolist()
    meant = {label: kit.get(palette[3 * label : 3 * label + 3]) for label in used}
    if None in meant.values():
        return None
    return next(((label, other) for label, other in meant.items() if other not in (None, label)), None)


def _out_of_range(labels: Bytes, classes: int, file: str) -> Problem:
    wrong = labels > classes
    row, column = np.unravel_index(int(wrong.argmax()), labels.shape)
    found, expected = str(labels[row, column]), f"0 to {classes}"
    many = np.count_nonzero(wrong)
    others = f", the first of {many} such pixels" if many > 1 else ""
    message = (
        f"the label {found} at column {column + 1}, row {row + 1} is out of range{others};"
        f" expected values from {expected}"
    )
    if found == str(VOID):
        message += f"; {VOID} (void) is for the ground truth only"
    return Problem("label-range", message, file, found=found, expected=expected)


def accepts(predictions: object) -> bool:
    """Whether these are label maps."""
    return isinstance(predictions, LabelMaps)


def split(predictions: LabelMaps, truth: GroundTruth) -> Iterator[Keyed[LabelMap | None]]:
    """The label map of every image of the ground truth.

    Raises DataError for an image that is missing or that the ground truth does not have, for another size than that of the
    ground truth, and for labels beyond its classes.
    """
    known = truth.lists.segmentation
    found = dict(zip(predictions.images, predictions.labels, strict=True))
    if unknown := [image for image in found if image not in set(known)]:
        raise DataError(f"the ground truth has no image {some_of(unknown)}; it has {some_of(known)}")
    if missing := [image for image in known if image not in found]:
        raise DataError(f"expected a label map for every image, found none for {some_of(missing)}")
    most = len(truth.lists.classes)
    for image, (width, height) in zip(known, truth.tables.masks.sizes.tolist(), strict=True):
        labels = found[image]
        if labels.shape != (height, width):
            raise DataError(
                f"expected labels of the image '{image}' with shape {(height, width)}, found {labels.shape}"
            )
        if labels.size and int(labels.max()) > most:
            raise DataError(f"expected labels up to {most} in the image '{image}', found {labels.max()}")
        yield Keyed(image, LabelMap(image, labels, grey=False, recoloured=False))
