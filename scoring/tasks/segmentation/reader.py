"""Reading of label images: a class for each pixel."""

import numpy as np

from scoring.data.arrays import Bytes
from scoring.data.label_maps import VOID, LabelMap
from scoring.errors import Problem, Problems
from scoring.intake.pixels import labels_of
from scoring.intake.png import GREY, PngError, open_png
from scoring.readers.image_index import ImageIndex
from scoring.readers.voc.colours import LABEL_COLOURS


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
    return LabelMap(name, labels, grey, not grey and png.palette[:used] != LABEL_COLOURS[:used])


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
