"""Ground truth of boxes alone, from annotation that came in another form than a development kit's tree."""

from collections.abc import Mapping, Sequence

import numpy as np

from scoring.data.annotations import Annotation
from scoring.data.arrays import Integers
from scoring.data.boxes import BoxConvention
from scoring.data.ground_truth import GroundTruth
from scoring.data.label_maps import LabelRuns
from scoring.data.tables import Lists, Tables
from scoring.readers.tables import action_labels_of, labels_of, objects_of, parts_of, sizes_of


def truth_of_boxes(
    annotations: Mapping[str, Annotation],
    *,
    dataset: str,
    image_set: str,
    classes: Sequence[str] | None = None,
) -> GroundTruth:
    """Ground truth for detection and classification from the annotation of each image, in this order.

    classes: None stands for the objects' own, in alphabetical order. Boxes are stored in the convention of the annotations.
    Image-level labels of other classes are left out. Raises ValueError for an object of another class, for annotations of
    different conventions, and where only some have image-level labels.

    >>> truth = truth_of_boxes({"a": Annotation(50, 40, ())}, dataset="own", image_set="val", classes=["cat"])
    >>> truth.description.images, truth.description.classes
    ((Image(id='a', width=50, height=40),), ('cat',))
    """
    pages = list(annotations.values())
    found = sorted({thing.name for page in pages for thing in page.objects})
    known = tuple(found if classes is None else classes)
    if others := [name for name in found if name not in known]:
        raise ValueError(f"'{others[0]}' is none of the classes {', '.join(known)}")
    conventions = sorted({page.convention for page in pages}) or [BoxConvention.INCLUSIVE]
    if len(conventions) > 1:
        raise ValueError(f"expected boxes of one convention, found {' and '.join(conventions)}")
    objects = objects_of(pages, known)
    lists = Lists(
        dataset=dataset,
        image_set=image_set,
        classes=known,
        actions=(),
        images=tuple(annotations),
        main=len(pages),
        segmentation=(),
        persons=(),
        acting=(),
    )
    tables = Tables(
        sizes=sizes_of(pages),
        labels=labels_of(objects, len(known), len(pages)),
        objects=objects,
        parts=parts_of(pages),
        acts=action_labels_of([], (), annotations),
        masks=LabelRuns.of([]),
        convention=conventions[0],
        verified=_verified(pages, known),
    )
    return GroundTruth.of(lists, tables)


def _verified(pages: Sequence[Annotation], classes: Sequence[str]) -> Integers | None:
    """The table of image-level labels, int32 (k, 2)."""
    labelled = [page.verified for page in pages if page.verified is not None]
    if not labelled:
        return None
    if len(labelled) < len(pages):
        raise ValueError("expected image-level labels for all images or for none")
    number = {name: place for place, name in enumerate(classes)}
    rows = [
        (image, number[name])
        for image, names in enumerate(labelled)
        for name in sorted(names)
        if name in number
    ]
    return np.array(rows, np.int32).reshape(-1, 2)
