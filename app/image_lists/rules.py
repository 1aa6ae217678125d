"""Which lists of images a page has, and what they mean."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from app.overlays.schemas import ClassExamples, ClassHardImages, ExampleView, HardImage

_HARD_TITLES: Final = {
    "easiest": "Easiest images",
    "hardest": "Hardest images",
    "confusing": "Most confusing images",
}
_HARD_MEANINGS: Final = {
    "segmentation": (
        "Images with the class; the largest median IoU over methods first.",
        "Images with the class; the smallest median IoU first.",
        "Images without the class; the largest median share of pixels labelled as it first.",
    ),
    "": (
        "Images with the class; the best median rank over methods first.",
        "Images with the class; the worst median rank first.",
        "Images without the class; the best median rank first.",
    ),
}
KINDS: Final = {"rank": "median rank", "iou": "median IoU", "share": "median share of pixels"}

AWAITED: Final = "The lists of images are being computed. Reload this page in a moment."
NOT_COMPUTED: Final = "The lists of images could not be computed. Ask the organisers to try again."
NOT_COMPARED: Final = frozenset({"layout"})  # tasks that say of no image how hard it is
NOT_HARD: Final = (
    "Person layout has no lists of easy and hard images: a layout is right or wrong as a whole. "
    "The page of each result leads to its own true and false positives."
)

_LISTS: Final = {
    "detection": (
        ("True positives", "The most confident detections that match an object."),
        ("Near misses", "The most confident detections that overlap an object of the class, but not enough."),
        ("Other false positives", "Duplicates, other classes and background; the most confident first."),
        ("Missed objects", "Objects that no detection matches; the largest first."),
    ),
    "segmentation": (
        ("Best segmented", "Images with the class; the largest IoU first."),
        ("Near misses", ""),
        ("False positives", "Images without the class; the largest share of pixels labelled as it first."),
        ("Worst segmented", "Images with the class; the smallest IoU first."),
    ),
    "": (
        ("True positives", "The most confident predictions that are right."),
        ("Near misses", ""),
        ("False positives", "The most confident predictions that are wrong."),
        ("Missed", "Positives that are ranked last."),
    ),
}

_VALUES: Final = {"segmentation": ("IoU", None, "share of pixels", "IoU")}  # of examples that have no rank


def lists_of(found: ClassExamples, task: str) -> Iterator[tuple[str, str, tuple[ExampleView, ...]]]:
    """The lists of a class that have examples, with a title and what they mean in the task."""
    listed = (found.true_positives, found.near_misses, found.false_positives, found.missed)
    kinds = _VALUES.get(task, (None,) * len(listed))
    for (title, meaning), examples, kind in zip(_LISTS.get(task, _LISTS[""]), listed, kinds, strict=True):
        if meaning:
            yield title, meaning, tuple(replace(each, kind=kind) for each in examples) if kind else examples


def hard_lists_of(found: ClassHardImages, task: str) -> Iterator[tuple[str, str, tuple[HardImage, ...]]]:
    """The lists of a class over methods, each with a title and what it means in the task."""
    meanings = _HARD_MEANINGS.get(task, _HARD_MEANINGS[""])
    for (name, title), meaning in zip(_HARD_TITLES.items(), meanings, strict=True):
        yield title, meaning, getattr(found, name)


def missing_of_run(*, stands: bool, is_awaited: bool) -> str:
    """Why there are no lists of images of a run.

    >>> missing_of_run(stands=True, is_awaited=False) == NOT_COMPUTED
    True
    >>> missing_of_run(stands=False, is_awaited=True)
    'Images are listed for results that stand on a board, and this one does not.'
    """
    if not stands:
        return "Images are listed for results that stand on a board, and this one does not."
    return AWAITED if is_awaited else NOT_COMPUTED


def missing_of_board(task: str, *, has_results: bool, is_awaited: bool) -> str:
    """Why there are no lists of images of a board.

    >>> missing_of_board("detection", has_results=False, is_awaited=True)
    'There are no public results on this board yet.'
    >>> missing_of_board("layout", has_results=True, is_awaited=False) == NOT_HARD
    True
    """
    if task in NOT_COMPARED:
        return NOT_HARD
    if not has_results:
        return "There are no public results on this board yet."
    return AWAITED if is_awaited else NOT_COMPUTED
