"""Label images: read, checked, and painted from boxes."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from ..archives.png import GREY, PngError, labels_of, labels_to_png, open_png
from ..archives.results import ResultFile, competition_files, no_results
from ..competitions import CompetitionInfo, competition_of, competitions, expected_files
from ..data.arrays import Bytes, Floats, Integers, assert_kinds
from ..data.description import Description, Image
from ..data.label_maps import LABEL_COLOURS, VOID, LabelMap, moved_colour
from ..errors import NotFoundError, Problem, Problems, SubmissionError, as_path, named
from ..readers.image_index import ImageIndex
from .detection_files import read_detections
from .files import Checked, Inspection, TaskFiles, digest_of


def read_label_image(data: bytes, images: ImageIndex, *, file: str, problems: Problems) -> LabelMap | None:
    """Read a label image, named after its image; None if it is invalid, which becomes a problem.

    A damaged or truncated file, trailing data, another size than the image's, a type other than indexed or 8-bit grey, and
    labels beyond the classes are problems. Indices count, not colours.

    >>> from heldout_scoring import Description, Image, labels_to_png
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
    moved = moved_colour(labels, png.palette, images.classes) if recoloured else None
    return LabelMap(name, labels, grey, recoloured, moved)


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


def check_label_images(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check one label image."""
    found = read_label_image(file.read(), inspection.images, file=file.name, problems=inspection.problems)
    checked.lines += 1
    if found is not None:
        checked.grey += found.grey
        checked.recoloured += found.recoloured
        if found.moved is not None:
            checked.moved[file.name] = found.moved
        labels = found.labels.tobytes()
        checked.painted.update(label for label in range(1, inspection.images.classes + 1) if label in labels)
        checked.digests[file.key] = digest_of(found.labels)


def remark_on_label_images(checked: Checked, inspection: Inspection) -> None:
    """Add one note each for all grey images and all images with another palette."""
    name, total, problems = checked.info.name, len(checked.files), inspection.problems
    if total > 1:
        classes = inspection.images.description.classes
        checked.partial |= {classes[label - 1] for label, images in checked.painted.items() if images == 1}
    if checked.grey:
        message = f"{name}: {checked.grey} of {total} images are grey, not indexed; their values are taken as labels"
        problems.note(Problem("grey-image", message, found=str(checked.grey)))
    if checked.moved:
        problems.warn(_moved_colours(checked, inspection))
    elif checked.recoloured:
        message = (
            f"{name}: {checked.recoloured} of {total} images have a palette that shows labels in other colours than the"
            " development kit; the indices count, not the colours"
        )
        problems.note(Problem("other-palette", message, found=str(checked.recoloured)))


def _moved_colours(checked: Checked, inspection: Inspection) -> Problem:
    """The warning that masks have the development kits' colours at other indices, as programs make them that choose a palette."""
    names = {0: "the background", VOID: "void"}
    names |= {label: f"'{name}'" for label, name in enumerate(inspection.images.description.classes, 1)}
    file, (label, other) = next(iter(checked.moved.items()))
    message = (
        f"{checked.info.name}: in {len(checked.moved):,} of {len(checked.files):,} images the colours of the development kit stand at "
        f"other indices, such as that of {names[other]} ({other}) at {label}, which is {names[label]}. The indices count, not the "
        "colours. Did a program choose the palette?"
    )
    return Problem(
        "moved-colours", message, file, found=f"{other} at {label}", expected="each colour at its label"
    )


def any_number(_: Description) -> int:
    """No line is expected."""
    return 0


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    """Detections of all classes: image int32 (n,), confidence (n,), boxes (n, 4) and label uint8 (n,)."""

    image: Integers
    confidence: Floats
    boxes: Floats
    label: Bytes


def create_segmentations_from_detections(
    archive: Path | str,
    description: Description,
    folder: Path | str,
    *,
    competition: int = 3,
    min_confidence: float = -math.inf,
) -> Path:
    r"""Write a label image for each image of the Segmentation set, made of an archive's (or folder's) detections.

    In each image the boxes are painted in rising order of confidence, and of equal confidences in the order of the classes, so
    that the most confident covers all others. Boxes are rounded and clipped to the image; those below min_confidence are
    left out. The files lie below `folder/results`, where an archive of the segmentation competition with the same rule for training data has them;
    that folder is returned.

    Raises SubmissionError with every problem of the detections, and NotFoundError where the competition is not one of
    detection, there is none of segmentation, or the size of an image is not known; PathError for what cannot be read or written. Source: VOC2012 development kit,
    create_segmentations_from_detections.m.

    >>> from tempfile import TemporaryDirectory
    >>> phase = Description("VOC2012", "val", ("cat",), (), (Image("a", 50, 40),), segmentation=("a",))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("a 0.9 1 1 10 10\n")
    ...     place = create_segmentations_from_detections(Path(folder), phase, Path(folder))
    ...     [file.relative_to(folder).as_posix() for file in place.rglob("*.png")]
    ['results/VOC2012/Segmentation/comp5_val_cls/a.png']
    """
    assert_kinds(archive=(archive, object), description=(description, Description), folder=(folder, object))
    detection = competition_of(description.dataset, competition)
    target = _counterpart(detection, competitions(description.dataset))
    index = ImageIndex.of(description)
    found = _sorted_boxes(archive, description, index, competition)
    kept = np.flatnonzero(found.confidence >= min_confidence)
    bounds = np.searchsorted(found.image[kept], np.arange(len(index.images) + 1))
    place = as_path(folder) / "results" / description.dataset / target.folder
    for name, image in expected_files(target, description):
        number = index.places.get(image.encode())
        rows = kept[:0] if number is None else kept[bounds[number] : bounds[number + 1]]
        file = place / name
        painted = labels_to_png(paint(index.anywhere[image], found.boxes[rows], found.label[rows]))
        with named(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(painted)
    return place


def paint(image: Image, boxes: Floats, labels: Iterable[int]) -> Bytes:
    """A label image, uint8 (height, width), of boxes float64 (n, 4) that are painted one over the other.

    Edges are rounded, halves up, and pixels count from 1, all belonging to the box.

    >>> paint(Image("000001", 4, 2), np.array([[1.5, -3.0, 9.0, 1.2]]), [7])
    array([[0, 7, 7, 7],
           [0, 0, 0, 0]], dtype=uint8)
    """
    canvas = np.zeros((image.height, image.width), np.uint8)
    edges = np.floor(boxes + 0.5)
    starts = np.maximum(edges[:, :2], 1).astype(np.intp) - 1
    ends = np.maximum(edges[:, 2:], 0).astype(np.intp)  # slices end where the image does
    for (left, top), (right, bottom), label in zip(starts.tolist(), ends.tolist(), labels, strict=True):
        canvas[top:bottom, left:right] = label
    return canvas


def _counterpart(detection: CompetitionInfo, infos: Iterable[CompetitionInfo]) -> CompetitionInfo:
    """The competition of segmentation with the same rule for training data, or the only one there is."""
    found = [info for info in infos if info.task == "segmentation"]
    if detection.task != "detection" or not found:
        raise NotFoundError(f"{detection.name} ({detection.task}) has no counterpart in segmentation")
    return next((info for info in found if info.own_data == detection.own_data), found[0])


def _sorted_boxes(
    archive: Path | str, description: Description, index: ImageIndex, competition: int
) -> _Boxes:
    """Every class's detections by image and then by rising confidence."""
    problems, parts = Problems(), {}
    for file in competition_files(archive, description, competition, problems=problems):
        parts[file.key] = read_detections(file.read(), index, file=file.name, problems=problems)
    if not parts:
        problems.add(no_results([competition_of(description.dataset, competition)], description))
    if problems.listed:
        raise SubmissionError(*problems.listed)
    named = [(label, parts[name]) for label, name in enumerate(description.classes, 1) if name in parts]
    image = np.concatenate([part.image for _, part in named])
    confidence = np.concatenate([part.confidence for _, part in named])
    order = np.lexsort((confidence, image))
    return _Boxes(
        image[order],
        confidence[order],
        np.concatenate([part.boxes for _, part in named])[order],
        np.repeat([label for label, _ in named], [len(part) for _, part in named]).astype(np.uint8)[order],
    )


FILES: Final = TaskFiles(
    read_label_image, check_label_images, check_all=remark_on_label_images, fewest_lines=any_number
)
