"""Which pictures stand for the tasks of a phase."""

from collections.abc import Iterable, Mapping
from typing import Final

from scoring import Description

TRIED: Final = 20  # images of a task, of which the first that can be shown is taken


def candidates(description: Description, tasks: Iterable[str]) -> Mapping[str, list[str]]:
    """The images that each task may be shown by: those it asks about; tasks with the same images begin at different ones.

    >>> from scoring import Image
    >>> images = tuple(Image(name, 9, 9) for name in "abcd")
    >>> phase = Description("VOC2012", "val", ("cat",), (), images, segmentation=("a", "c"))
    >>> candidates(phase, ["classification", "detection", "segmentation"])
    {'classification': ['a', 'b', 'c', 'd'], 'detection': ['b', 'c', 'd', 'a'], 'segmentation': ['a', 'c']}
    """
    main = [image.id for image in description.images]
    asked = {
        "segmentation": list(description.segmentation),
        "layout": list(dict.fromkeys(image for image, _ in description.persons)),
        "action": list(dict.fromkeys(image for image, _ in description.acting)),
    }
    return {task: _from(asked.get(task) or main, place) for place, task in enumerate(tasks)}


def _from(names: list[str], place: int) -> list[str]:
    """The names, beginning at another one for each place, so that tasks with the same images show different ones."""
    start = place % len(names) if names else 0
    return [*names[start:], *names[:start]][:TRIED]
