"""Example archives of a phase, built from its public description."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

import heldout_scoring
from app.challenges import challenges
from app.challenges.packing import pack_files
from app.core.errors import NotFoundError
from app.platform import Platform
from heldout_scoring import Box, CompetitionInfo, Description, Layout, Part
from heldout_scoring.competitions import expected_files

CONFIDENCE = 0.5
WHOLE_IMAGE = 0  # object number of a person in a challenge whose layout set lists only images
Files = Iterator[tuple[str, bytes]]  # the name and content of each file


def example_files(description: Description, competition: heldout_scoring.CompetitionInfo) -> Files:
    r"""Yield the path below `results` and the content of every file of an example for one competition.

    >>> phase = Description("VOC2012", "val", ("car",), (), (heldout_scoring.Image("2008_000001", 500, 375),))
    >>> list(example_files(phase, heldout_scoring.competition_of("VOC2012", 1)))
    [('results/VOC2012/Main/comp1_cls_val_car.txt', b'2008_000001 0.5\n')]
    """
    folder = "/".join(filter(None, ("results", description.dataset, competition.folder)))
    content = CONTENTS[competition.task](description)
    for name, about in expected_files(competition, description):
        yield f"{folder}/{name}", content(about)


def first_file(
    description: Description, competition: heldout_scoring.CompetitionInfo
) -> tuple[str, bytes] | None:
    r"""Return the first file of an example for the first two images; None if the phase has nothing to predict.

    >>> phase = Description("VOC2012", "val", ("car",), (), tuple(heldout_scoring.Image(name, 500, 375) for name in "abc"))
    >>> first_file(phase, heldout_scoring.competition_of("VOC2012", 1))
    ('results/VOC2012/Main/comp1_cls_val_car.txt', b'a 0.5\nb 0.5\n')
    """
    small = replace(
        description,
        images=description.images[:2],
        persons=description.persons[:2],
        acting=description.acting[:2],
    )
    return next(iter(example_files(small, competition)), None)


def line_grammar(task: str) -> str:
    """Return the format of a task's prediction files, as the submission page shows it."""
    return GRAMMARS[task]


def _classification(description: Description) -> Callable[[str], bytes]:
    lines = _lines(f"{image.id} {CONFIDENCE}" for image in description.images)
    return lambda _: lines


def _detection(description: Description) -> Callable[[str], bytes]:
    lines = _lines(
        f"{image.id} {CONFIDENCE} 1 1 {image.width} {image.height}" for image in description.images
    )
    return lambda _: lines


def _action(description: Description) -> Callable[[str], bytes]:
    lines = _lines(f"{image} {number} {CONFIDENCE}" for image, number in description.acting)
    return lambda _: lines


def _segmentation(description: Description) -> Callable[[str], bytes]:
    sizes = _sizes(description)

    def all_background(image: str) -> bytes:
        width, height = sizes[image]
        return heldout_scoring.labels_to_png(np.zeros((height, width), np.uint8))

    return all_background


def _layout(description: Description) -> Callable[[str], bytes]:
    sizes = _sizes(description)

    def person(image: str, number: int) -> Layout:
        width, height = sizes[image]
        head = Part("head", Box(1, 1, max(1, width // 2), max(1, height // 4)))
        if number == WHOLE_IMAGE:
            return Layout(image, CONFIDENCE, (head,), box=Box(1, 1, width, height))
        return Layout(image, CONFIDENCE, (head,), object=number)

    content = heldout_scoring.layouts_to_xml([person(image, number) for image, number in description.persons])
    return lambda _: content


def has_sizes(description: Description) -> bool:
    """Whether the sizes of all images are known, as boxes and masks require."""
    return all(image.has_size for image in (*description.images, *description.further))


def _sizes(description: Description) -> dict[str, tuple[int, int]]:
    """Return the width and height of every image in pixels."""
    return {image.id: (image.width, image.height) for image in (*description.images, *description.further)}


def _lines(lines: Iterator[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _coco_boxes(description: Description) -> Callable[[str], bytes]:
    return _coco(description, lambda image: {"bbox": [0, 0, image.width, image.height], "score": CONFIDENCE})


def _coco_masks(description: Description) -> Callable[[str], bytes]:
    return _coco(
        description,
        lambda image: {
            "segmentation": {"size": [image.height, image.width], "counts": [0, image.width * image.height]},
            "score": CONFIDENCE,
        },
    )


def _coco(
    description: Description, predict: Callable[[heldout_scoring.Image], Mapping[str, Any]]
) -> Callable[[str], bytes]:
    """Write one detection of the first class per image; one of every class could make the file too large."""
    category = next(iter(description.class_numbers), 0)
    found = [
        {"image_id": int(image.id), "category_id": category, **predict(image)} for image in description.images
    ]
    content = json.dumps(found).encode()
    return lambda _: content


CONTENTS: Mapping[str, Callable[[Description], Callable[[str], bytes]]] = {
    "classification": _classification,
    "detection": _detection,
    "segmentation": _segmentation,
    "layout": _layout,
    "action": _action,
    "coco-detection": _coco_boxes,
    "coco-segmentation": _coco_masks,
    "lvis-detection": _coco_boxes,
    "lvis-segmentation": _coco_masks,
}

BOXES = '[{"image_id": …, "category_id": …, "bbox": [left, top, width, height], "score": …}, …]'
MASKS = '[{"image_id": …, "category_id": …, "segmentation": {"size": [height, width], "counts": …}, "score": …}, …]'

GRAMMARS: Mapping[str, str] = {
    "classification": "<image> <confidence>",
    "detection": "<image> <confidence> <left> <top> <right> <bottom>",
    "segmentation": "an indexed PNG of the image's size for each image; 0 is the background",
    "layout": "<results> with a <layout> for each person: <image>, <object>, <confidence>, a <part> for each part",
    "action": "<image> <object> <confidence>",
    **dict.fromkeys(("coco-detection", "lvis-detection"), BOXES),
    **dict.fromkeys(("coco-segmentation", "lvis-segmentation"), MASKS),
}


def example_name(challenge: str, image_set: str, competition: int) -> str:
    """Return the name under which an example archive is saved, which no other has."""
    return f"{challenge}-{image_set}-comp{competition}-example.tar.gz"


def example(platform: Platform, challenge: str, image_set: str, competition: int) -> bytes:
    """Return a tar.gz with a valid result of one competition whose score is as low as possible.

    Raises NotFoundError if the phase does not have the competition.
    """
    description = challenges.phase_description(platform, challenge, image_set)
    known = {each.number: each for each in heldout_scoring.competitions(description.dataset)}
    if competition not in known or not has_sizes(description):
        raise NotFoundError(f"There is no example for competition {competition} of {challenge} {image_set}")
    return packed_example(description, known[competition])


def image_list(platform: Platform, challenge: str, image_set: str) -> str:
    """Return the names of a phase's images, one per line.

    Raises NotFoundError.
    """
    description = challenges.phase_description(platform, challenge, image_set)
    return "".join(f"{image.id}\n" for image in description.images)


@lru_cache(maxsize=16)
def packed_example(description: Description, competition: CompetitionInfo) -> bytes:
    """Return an archive; the same description always gives the same bytes."""
    packed = io.BytesIO()
    pack_files(packed, example_files(description, competition))
    return packed.getvalue()
