"""Which competitions an annotation holds the ground truth of."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from scoring.competitions import competitions

if TYPE_CHECKING:
    from scoring.data.ground_truth import Lists, Tables


def missing_truth(lists: "Lists", tables: "Tables") -> Mapping[int, str]:
    """The competitions of the dataset that cannot be scored with this annotation, by number, and what it lacks.

    >>> from scoring import Annotation, truth_of_boxes
    >>> truth = truth_of_boxes({"a": Annotation(50, 40, ())}, dataset="VOC2006", image_set="val", classes=["cat"])
    >>> missing_truth(truth.lists, truth.tables)[3]
    'no object is annotated in the images of the Main set'
    """
    reasons = {info.number: _REASONS[info.task](lists, tables) for info in competitions(lists.dataset)}
    return {number: reason for number, reason in reasons.items() if reason is not None}


def _classification(lists: "Lists", tables: "Tables") -> str | None:
    if not lists.main:
        return "the Main set lists no image"
    return None if (tables.labels == 1).any() else "no object is annotated in the images of the Main set"


def _detection(lists: "Lists", tables: "Tables") -> str | None:
    if not lists.main:
        return "the Main set lists no image"
    has_object = (tables.objects.image < lists.main).any()
    return None if has_object else "no object is annotated in the images of the Main set"


def _segmentation(lists: "Lists", _tables: "Tables") -> str | None:
    return None if lists.segmentation else "there are no label images (SegmentationClass)"


def _layout(lists: "Lists", tables: "Tables") -> str | None:
    if not lists.persons:
        return "there is no Layout set"
    return None if len(tables.parts.owner) else "no head, hand or foot is annotated"


def _action(lists: "Lists", tables: "Tables") -> str | None:
    if not lists.acting:
        return "there is no Action set"
    return None if len(tables.acts.label) else "no person of the Action set is annotated with an action"


_REASONS: Final[Mapping[str, Callable[["Lists", "Tables"], str | None]]] = {
    "classification": _classification,
    "detection": _detection,
    "segmentation": _segmentation,
    "layout": _layout,
    "action": _action,
}
