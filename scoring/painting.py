"""Segmentations made of detections: every box painted in the label of its class."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scoring.archives.file_names import no_results
from scoring.archives.png import labels_to_png
from scoring.archives.result_files import competition_files
from scoring.competitions import CompetitionInfo, competition_of, competitions, expected_files
from scoring.data.arrays import Bytes, Floats, Integers
from scoring.data.description import Description, Image
from scoring.errors import Problems, SubmissionError
from scoring.files import as_path, named
from scoring.readers.image_index import ImageIndex
from scoring.tasks.detection.reader import read_detections


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

    Raises SubmissionError with every problem of the detections, and LookupError where the competition is not one of
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
        raise LookupError(f"{detection.name} ({detection.task}) has no counterpart in segmentation")
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
