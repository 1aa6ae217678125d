"""Label maps from arrays, image by image."""

from collections.abc import Iterator

from scoring.data.checking import DataError, some_of
from scoring.data.ground_truth import GroundTruth
from scoring.data.label_maps import LabelMap, LabelMaps
from scoring.tasks.task import Keyed


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
