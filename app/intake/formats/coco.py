"""COCO's JSON."""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from app.images.matching import SUFFIXES
from app.intake.formats.image_sets import set_of, set_of_file
from app.intake.formats.reading import (
    COCO,
    OUTSIDE,
    AnnotatedSet,
    ListedImages,
    Reading,
    Size,
    is_class_name,
)
from heldout_scoring import Entry, GroundTruth, Problem, Problems, Rule, SubmissionError
from heldout_scoring.evaluation import NO_NUMBER, content_of_coco, kind_of_coco, problems_of_coco

if TYPE_CHECKING:
    from heldout_scoring.evaluation import CocoEntry

OBJECTS: Final = "objects"
CAPTIONS: Final = "captions"
_READ_ALONE: Final = "a list of images"  # which has problems of its own
_NOT_SCORED: Final = "is not read; send the file with the objects, each with its class and box ('bbox'), such as instances_val2017.json"
_LISTS: Final = re.compile(rb'"(images|annotations)"')
_HEAD: Final = 1 << 20
_FURTHEST: Final = 1e9  # pixels
_SPLITS: Final = ("split", "subset", "set", "image_set", "partition")  # fields that name an image set


def evidence(reading: Reading) -> list[Path]:
    """The JSON files of a role that have images or annotations."""
    return [path for path in reading.with_suffix(".json") if _LISTS.search(_beginning_of(path))]


def _beginning_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD).replace(b"\0", b"")  # of UTF-16


def read(reading: Reading) -> Iterator[AnnotatedSet]:
    """Read every JSON file of a role, each an image set; pictures beside them join the others.

    Captions, keypoints and the like are left out where other files have objects, and else refused.
    """
    for path in reading.with_suffix(*SUFFIXES):
        reading.use_as_picture(path)
    files = evidence(reading)
    kinds = {path: _kind_of(path.read_bytes()) for path in files}
    for kind in sorted({*kinds.values()} - {OBJECTS}):
        others = [path for path in files if kinds[path] == kind]
        if OBJECTS in kinds.values():
            reading.leave_out(others, "other-annotation", f"{kind}, beside files with objects")
        elif kind != _READ_ALONE:
            reading.refuse(others, "other-annotation", f"COCO's JSON of {kind}, which {_NOT_SCORED}")
        files = [path for path in files if path not in reading.used]
    for path in files:
        yield from _read_coco(reading, path)


def captions(reading: Reading) -> list[Path]:
    """The JSON files of a role, if all of them are captions, which other annotation may have beside it."""
    files = evidence(reading)
    return [] if any(_kind_of(path.read_bytes()) != CAPTIONS for path in files) else files


def _kind_of(data: bytes) -> str:
    """What entries are about; labels of images where no entry says where something is."""
    has_labels = b'"category_id"' in data and b'"bbox"' not in data and b'"segmentation"' not in data
    kind = kind_of_coco(data)
    return "labels of images" if has_labels and kind == OBJECTS else kind


def _read_coco(reading: Reading, path: Path) -> Iterator[AnnotatedSet]:
    reading.use(path)
    name = reading.name(path)
    found = _look_into(reading, name, path.read_bytes(), set_of_file(path, reading.root, reading.set_name))
    try:  # by its path, so that its content is gone before the tables are made: half a gigabyte of COCO's training set
        truth = GroundTruth.from_coco(path, image_set=found.listed.name, masks=found.has_masks)
    except SubmissionError as error:
        data = path.read_bytes()
        _add_all_of_coco(reading, name, data, error, masks=found.has_masks)
        _look_for_boxes_outside(reading, name, data, found.listed)
        reading.invalid.append(found.listed)
        return
    if found.has_odd_class:
        reading.invalid.append(found.listed)
        return
    _tell_of_roots(reading, name, found.categories, truth)
    yield AnnotatedSet(found.listed.name, COCO, name, truth, found.listed.files, ids=found.ids)


def _add_all_of_coco(
    reading: Reading, name: str, data: bytes, error: SubmissionError, *, masks: bool
) -> None:
    """Add every problem of a file, also those of masks, which are so many at times that they would leave no room for others."""
    found = problems_of_coco(data, file=name, masks=masks)
    known = {str(each) for each in found.listed}
    others = (replace(each, file=name) for each in error.problems)
    reading.problems.extend(each for each in others if str(each) not in known)
    reading.problems.join(found)


@dataclass(frozen=True, slots=True)
class _Look:
    """The images of a file, and the ids of its annotations in order; has_masks: whether its masks are read, which takes that
    every object has one.

    has_odd_class: whether a class has a name that cannot be shown, which is a problem.
    """

    listed: ListedImages
    ids: Sequence[int]
    has_masks: bool
    has_odd_class: bool
    categories: Sequence[tuple[int, Mapping[str, Any]]]


def _look_into(reading: Reading, name: str, data: bytes, image_set: str) -> _Look:
    """Warn of what is valid and perhaps not meant; return the listed images."""
    content = content_of_coco(data)
    warn = partial(_warn, reading.problems, name)
    images = _records(content.around.get("images"))
    _tell_of_splits(reading, name, image_set, [content.around.get("info"), *(each for _, each in images)])
    files = {
        str(each.get("id")): file.replace("\\", "/")
        for _, each in images
        if isinstance(file := each.get("file_name", each.get("coco_url")), str)
    }
    categories = _records(content.around.get("categories"))
    odd = [
        (index, each)
        for index, each in categories
        if isinstance(each.get("name"), str)
        and each["name"].strip()
        and not is_class_name(each["name"].strip())
    ]
    for index, each in odd:
        rule = Rule(
            "expected a 'name' of letters that can be seen, at most 200",
            place=Entry(f"categories[{index}]", each.get("id")),
        )
        reading.problems.add(Problem("class-name", rule, name))
    numbers = sorted(each["id"] for _, each in categories if type(each.get("id")) is int)
    if numbers and numbers[-1] - numbers[0] + 1 != len(numbers):
        words = "categories: ids from {} to {} have gaps; predictions have to use them as they are"
        warn("category-gaps", Rule(words, numbers[0], numbers[-1]))
    ids = array("q")
    has_masks = _look_at_annotations(content.entries(), warn, ids)
    sizes = {str(each["id"]): _size_of(each) for _, each in images if type(each.get("id")) is int}
    listed = ListedImages(image_set, sizes, files, numbered=True)
    return _Look(listed, ids, has_masks, bool(odd), categories)


def _tell_of_splits(reading: Reading, name: str, image_set: str, records: Sequence[Any]) -> None:
    """Add a problem for records that say that they are of another image set than their file."""
    said = [
        (field, set_of(each[field], ""))
        for each in records
        if isinstance(each, dict)
        for field in _SPLITS
        if isinstance(each.get(field), str)
    ]
    others = Counter((field, found) for field, found in said if found not in ("", image_set))
    if others:
        listed = " and ".join(f"{count:,} of {found}" for (_, found), count in sorted(others.items()))
        field = min(others)[0]
        words = f"images are of other image sets than {image_set}, as '{field}' says: {listed}; send the annotation of each set in a file of its own, called like the set"
        reading.problems.add(Problem("other-set", Rule(words), name))


def _tell_of_roots(
    reading: Reading, name: str, categories: Sequence[tuple[int, Mapping[str, Any]]], truth: GroundTruth
) -> None:
    """Warn of categories without objects that only stand above others."""
    above = {
        each["supercategory"]
        for _, each in categories
        if isinstance(each.get("supercategory"), str) and each["supercategory"] != each.get("name")
    }
    assert truth.tables.coco is not None
    used = {truth.lists.class_numbers[label] for label in np.unique(truth.tables.coco.label).tolist()}
    for index, each in categories:
        if each["name"] in above and each["id"] not in used:
            rule = Rule(
                "{} is no class of its own, it seems: it has no objects, and others have it as 'supercategory', as Roboflow writes it; "
                "ignore it among the classes",
                each["name"],
                place=Entry(f"categories[{index}]", each["id"]),
            )
            _warn(reading.problems, name, "root-category", rule)


def _look_at_annotations(
    annotations: "Iterable[CocoEntry]", warn: Callable[[str, Rule], None], ids: "array[int]"
) -> bool:
    """Warn of annotations that may not be meant; return whether all of them have masks.

    Their ids are appended to `ids`, 0 for what is no number.
    """
    total, rotated, without = 0, 0, 0
    first: dict[str, CocoEntry] = {}
    for each in annotations:
        total += 1
        ids.append(each.id if isinstance(each.id, int) and abs(each.id) < 2**63 else 0)
        if each.iscrowd is None:
            warn("missing-iscrowd", Rule("'iscrowd' is missing; taken for 0", place=_place(each)))
        if each.id == 0:
            warn(
                "id-0",
                Rule(
                    f"the annotation is {NO_NUMBER}; number annotations from 1 if it is meant to count",
                    place=_place(each),
                ),
            )
        if each.rotation or (isinstance(each.attributes, dict) and each.attributes.get("rotation")):
            rotated += 1
            first.setdefault("rotated", each)
        if not each.has_mask:
            without += 1
            first.setdefault("without", each)
    if rotated:
        words = (
            f"{rotated:,} of {total:,} boxes have an angle ('rotation'), which is left out: they are upright"
        )
        warn("rotated-box", Rule(words, place=_place(first["rotated"])))
    if 0 < without < total:
        words = (
            f"{without:,} of {total:,} objects have no mask ('segmentation'), so no masks are read: "
            "there is detection by the boxes of all, and no segmentation until every object has a mask"
        )
        warn("without-mask", Rule(words, place=_place(first["without"])))
    return without == 0


def _look_for_boxes_outside(reading: Reading, name: str, data: bytes, listed: ListedImages) -> None:
    """Warn of boxes beyond their image in a file that has problems; of others, findings count them."""
    if not listed.sizes:
        return
    for each in content_of_coco(data).entries():
        box, size = each.bbox, listed.sizes.get(str(each.image_id))
        if (
            size is None
            or not isinstance(box, list)
            or [type(side) in (int, float) for side in box] != [True] * 4
        ):
            continue
        left, top, width, height = box
        is_far = max(map(abs, box)) > _FURTHEST
        if min(left, top) < -1 or is_far or left + width > size[0] + 1 or top + height > size[1] + 1:
            rule = Rule(f"the box {OUTSIDE}", place=_place(each))
            reading.problems.warn(Problem("box-outside", rule, name))


def _place(entry: "CocoEntry") -> Entry:
    return Entry(f"annotations[{entry.place}]", entry.id)


def _size_of(image: Mapping[str, Any]) -> Size | None:
    width, height = image.get("width"), image.get("height")
    return (width, height) if type(width) is int and type(height) is int else None


def _records(found: Any) -> list[tuple[int, dict[str, Any]]]:
    """The objects in a list, with their places."""
    listed = found if isinstance(found, list) else []
    return [(index, each) for index, each in enumerate(listed) if isinstance(each, dict)]


def _warn(problems: Problems, name: str, code: str, rule: Rule) -> None:
    problems.warn(Problem(code, rule, name))
