"""Ground truth in COCO's JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import numpy as np

from ...data.annotations import BoxConvention, CocoTable, Federation, Lists, Tables
from ...data.arrays import Flags, Floats, Integers, Named
from ...data.description import UNKNOWN_SIDE
from ...data.label_maps import MaskCollector
from ...data.truth_from_arrays import ObjectRows, tables_of_objects
from ...errors import Problem, Problems, Rule, SubmissionError
from ...metrics.coco import CocoInstances, CocoObjects
from .fields import (
    Entries,
    Identifiers,
    Lookup,
    are_numbers,
    are_sound,
    as_wholes,
    written,
)
from .masks import SEGMENTATION, draw_masks, read_masks
from .records import (
    ANNOTATIONS,
    BOX,
    Block,
    Form,
    JsonError,
    Reader,
    Source,
    columns_of,
    find_list,
    name_of_list,
    parse_json,
    read_source,
)

_SEGMENTATION: Final = "segmentation"
_FLAGS: Final = ("iscrowd", "ignore", "difficult")
_OBJECTS: Final[Form] = (
    ("id", float),
    ("image_id", float),
    ("category_id", float),
    ("area", float),
    *((name, float | bool, 0.0) for name in _FLAGS),
)
_BOXES: Final[Form] = (*_OBJECTS, ("bbox", BOX))
_MASKS: Final[Form] = (*_OBJECTS, ("bbox", BOX, ()), (_SEGMENTATION, SEGMENTATION))
_NEGATIVE: Final = "neg_category_ids"
_INEXHAUSTIVE: Final = "not_exhaustive_category_ids"
_READ: Final = (
    *(name for name, *_ in _MASKS), "file_name", "width", "height", "name", "supercategory", "frequency", _NEGATIVE, _INEXHAUSTIVE,
)  # fmt: skip
"""Fields of which two in one entry contradict each other."""
_FREQUENCIES: Final[Mapping[Any, int]] = {"r": 0, "c": 1, "f": 2}


def read_instances(
    data: bytes, *, file: str = "instances.json", masks: bool | None = False, problems: Problems | None = None
) -> CocoInstances:
    """Read `images`, `categories` and `annotations`; with `masks` also their segmentations.

    masks: None stands for True where any object has a segmentation. problems: where they are collected, too, with the number
    of those that are not listed.

    `area` is the one annotated, and so is the box, which objects with masks need not have: then it is the one around the mask. `iscrowd` is 0 if it is left out. Raises SubmissionError with every problem: what is not
    JSON, missing fields, numbers that are none, identifiers that are not unique or that nothing has.

    >>> text = b'''{"images": [{"id": 1}], "categories": [{"id": 7, "name": "car"}],
    ...   "annotations": [{"id": 1, "image_id": 1, "category_id": 7, "bbox": [15, 9, 20, 10], "area": 150.5}]}'''
    >>> found = read_instances(text)
    >>> found.classes, found.boxes.tolist(), found.objects.area.tolist()
    (('car',), [[15.0, 9.0, 20.0, 10.0]], [150.5])
    """
    problems = Problems() if problems is None else problems
    try:
        read = _File.of(data, masks=masks)
        blocks, masks = read.blocks, read.masks
        images = _entries(read.root, "images", file, problems)
        categories = _entries(read.root, "categories", file, problems)
        for each in (images, categories):
            each.refuse_doubled(_READ)
        image_ids, sizes = _images(images, masks=masks)
        category_ids, names = categories.wholes("id"), categories.texts("name")
        categories.unique("id", category_ids.tolist())
        categories.unique(
            "name", names, "; classes are told apart by their names here, so each needs its own"
        )
        by_category = np.argsort(category_ids, kind="stable")
        federation = read_federation(images, image_ids, categories, category_ids[by_category])
        for each in (images, categories):
            each.say_what_all_lack()
        categories_at = Lookup.of(category_ids[by_category])
        known = _Known(Lookup.of(image_ids), sizes, categories_at, images.names(), images.numbers_by_name())
        del read, images
        if blocks is None:
            problems.add(_missing_list(ANNOTATIONS, file))
        wide = bool((sizes.astype(np.float64).prod(axis=1) > np.iinfo(np.int32).max).any())
        objects = _Objects(known, file, problems, MaskCollector(wide=wide) if masks else None)
        objects.read(blocks or ())
    except JsonError as error:
        raise SubmissionError(Problem("bad-json", error.rule, file, error.line)) from error
    found = objects.joined()
    if problems.listed:
        raise SubmissionError(*problems.listed)
    return CocoInstances(
        images=image_ids,
        sizes=sizes,
        categories=known.categories.ids,
        classes=tuple(names[index] for index in by_category.tolist()),
        objects=CocoObjects(found.image, found.label, found.area, found.crowd, unnumbered=found.id == 0),
        boxes=found.boxes,
        masks=None if objects.masks is None else objects.masks.masks,
        federation=federation,
        difficult=found.difficult if found.difficult.any() else None,
        named=known.named,
    )


@dataclass(frozen=True, slots=True)
class _File:
    """A file without its annotations, and these, None where there is no such list; masks: whether they are read with theirs."""

    root: dict[str, Any]
    blocks: Iterable[Block] | None
    masks: bool

    @classmethod
    def of(cls, data: bytes, *, masks: bool | None) -> "_File":
        """Raises JsonError."""
        begin = find_list(data) if name_of_list(data) else None
        if begin is not None:
            skipping = Reader(data, begin, ())  # images and categories are needed first and may come last
            for block in skipping.read():
                if masks is None and block.any_has(_SEGMENTATION):
                    masks = True
            form = _MASKS if masks else _BOXES
            return cls(skipping.rest(), Reader(data, begin, form).read(), bool(masks))
        root = parse_json(data)
        if not isinstance(root, dict):
            raise JsonError(Rule("expected an object with 'images', 'categories' and 'annotations'"))
        found = root.pop(ANNOTATIONS, None)
        blocks = [Block(0, found)] if isinstance(found, list) else None
        if masks is None:
            masks = any(block.any_has(_SEGMENTATION) for block in blocks or ())
        return cls(root, blocks, masks)


def _entries(root: dict[str, Any], name: str, file: str, problems: Problems) -> Entries:
    found = root.get(name)
    if not isinstance(found, list):
        problems.add(_missing_list(name, file))
        found = []
    return Entries(found, name, file, problems)


def _missing_list(name: str, file: str) -> Problem:
    return Problem("missing-list", Rule(f"expected a list called '{name}'"), file)


def _images(images: Entries, *, masks: bool) -> tuple[Identifiers, Identifiers]:
    ids = images.wholes("id")
    images.unique("id", ids.tolist())
    default = None if masks else 0
    sizes = np.stack([images.wholes(side, default) for side in ("width", "height")], axis=1)
    if masks:
        for index in np.flatnonzero(((sizes < 1) | (sizes > 1 << 16)).any(axis=1) & images.fit).tolist():
            found = sizes[index].tolist()
            rule = Rule(f"expected width and height from 1 to {1 << 16}, found {{}}", found)
            images.say(index, "bad-size", rule, str(found))
    order = np.argsort(ids, kind="stable")
    return ids[order], sizes[order]


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What annotations refer to; names: what the files of images are called; the others as in `CocoInstances`."""

    images: Lookup
    sizes: Identifiers
    categories: Lookup
    names: Mapping[Any, Any]
    named: Mapping[str, int]

    def sizes_of(self, image: Integers) -> Identifiers:
        """The size of each object's image; of none where there are no images, which has been said."""
        return self.sizes[image] if len(self.sizes) else np.ones((len(image), 2), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some objects, as `CocoInstances` has them; fit: bool (n,), those of which nothing is wrong but perhaps that their id is there twice."""

    id: Identifiers
    image: Integers
    label: Integers
    area: Floats
    crowd: Flags
    difficult: Flags
    boxes: Floats
    fit: Flags


@dataclass(slots=True)
class _Objects:
    """Reads objects, block by block."""

    known: _Known
    file: str
    problems: Problems
    masks: MaskCollector | None
    parts: list[_Part] = field(default_factory=list)

    @property
    def form(self) -> Form:
        """The fields that are read of each."""
        return _BOXES if self.masks is None else _MASKS

    def read(self, blocks: Iterable[Block]) -> None:
        """Read all of them, or up to the first ones of which none has a field that each needs."""
        for block in blocks:
            is_typed = bool(block.text) and not block.may_double(self.form)
            part = self._typed(block) if is_typed else None
            if part is None:
                entries = self._entries(block.entries, block.first)
                part = self._checked(entries)
                if entries.say_what_all_lack():
                    return
            self.parts.append(part)

    def _entries(self, values: list[Any], first: int) -> Entries:
        known = self.known
        return Entries(values, ANNOTATIONS, self.file, self.problems, first, known.named, known.names)

    def _typed(self, block: Block) -> _Part | None:
        """The objects of a block that has the form; None where one is not right."""
        columns = columns_of(block.values, self.form)
        ids, images, categories = (as_wholes(columns[name]) for name in ("id", "image_id", "category_id"))
        area, flags = columns["area"], np.stack([columns[name] for name in _FLAGS])
        if ids is None or images is None or categories is None or not np.isin(flags, (0, 1)).all():
            return None
        image, label = self.known.images.places(images), self.known.categories.places(categories)
        if min(image.min(), label.min(), area.min()) < 0 or not are_numbers(area):
            return None
        if self.masks is None:
            boxes = columns["bbox"]
            if not are_sound(boxes):
                return None
        else:
            drawn = draw_masks([record.segmentation for record in block.values], self.known.sizes_of(image))
            if drawn is None:
                return None
            given = zip((record.bbox for record in block.values), drawn.boxes.tolist(), strict=True)
            boxes = np.array([box or around for box, around in given])
            if not are_sound(boxes):
                return None
            self.masks.add(drawn)
        fit = np.ones(len(ids), np.bool_)
        return _Part(ids, image, label, area, flags[0] == 1, (flags[1] + flags[2]) > 0, boxes, fit)

    def _checked(self, entries: Entries) -> _Part:
        """The objects of any entries, and a problem for everything that is wrong with them."""
        known = self.known
        entries.refuse_doubled(_READ)
        image = entries.known("image_id", entries.wholes("image_id"), known.images, "images")
        label = entries.known("category_id", entries.wholes("category_id"), known.categories, "categories")
        ids, area = entries.wholes("id"), entries.numbers("area", least=0)
        crowd = entries.flags("iscrowd")
        if self.masks is None:
            boxes = entries.boxes()
        else:
            drawn = read_masks(entries, known.sizes_of(image))
            self.masks.add(drawn)
            boxes = entries.boxes(drawn.boxes)
        difficult = entries.flags("ignore") | entries.flags("difficult")
        return _Part(ids, image, label, area, crowd, difficult, boxes, entries.fit)

    def joined(self) -> _Part:
        """All of them, and a problem for each that has the id of one before."""
        parts = [self._checked(self._entries([], 0)), *self.parts]
        columns = ([getattr(part, each.name) for part in parts] for each in fields(_Part))
        found = _Part(*map(np.concatenate, columns))
        fit = np.flatnonzero(found.fit)
        order = fit[np.argsort(found.id[fit], kind="stable")]
        for index in np.sort(order[1:][found.id[order[1:]] == found.id[order[:-1]]]).tolist():
            number = int(found.id[index])
            entry = {"id": number, "image_id": int(self.known.images.ids[found.image[index]])}
            self._entries([entry], index).say(0, "duplicate-id", Rule("'id' is {} like one before", number))
        return found


def read_federation(
    images: Entries, image_ids: Identifiers, categories: Entries, category_ids: Identifiers
) -> Federation | None:
    """The fields `neg_category_ids` and `not_exhaustive_category_ids` of every image and `frequency` of every category.

    image_ids, category_ids: in rising order. None where no image says which categories are not in it, not even that it is none of
    them; a problem for each field that is wrong or missing, since lvis reads both lists of every image.

    >>> from heldout_scoring.errors import Problems
    >>> image = {"id": 3, "neg_category_ids": [7], "not_exhaustive_category_ids": []}
    >>> images = Entries([image], "images", "instances.json", Problems())
    >>> categories = Entries([{"id": 7, "frequency": "c"}], "categories", "instances.json", Problems())
    >>> read_federation(images, np.array([3]), categories, np.array([7])).negative.tolist()
    [[0, 0]]
    """
    if not any(_NEGATIVE in image for image in images.values):
        return None
    frequency = np.array([_frequency(value) for value in categories.column("frequency")], np.int8)
    for index in np.flatnonzero((frequency < 0) & categories.objects).tolist():
        value = categories.values[index].get("frequency")
        message = Rule("expected 'r', 'c' or 'f' as 'frequency', found {}", written(value))
        categories.say(index, "bad-frequency", message, written(value), "'r', 'c' or 'f'")
    order = np.argsort(categories.wholes("id"), kind="stable")
    place = Lookup.of(image_ids).places(images.wholes("id"))
    negative, inexhaustive = (
        _pairs(images, name, place, category_ids) for name in (_NEGATIVE, _INEXHAUSTIVE)
    )
    return Federation(negative, inexhaustive, frequency[order])


def _frequency(value: Any) -> int:
    return _FREQUENCIES.get(value, -1) if isinstance(value, str) else -1


def _pairs(images: Entries, name: str, place: Integers, category_ids: Identifiers) -> Integers:
    """Pairs of an image and each category in its list: int32 (k, 2)."""
    known = {number: label for label, number in enumerate(category_ids.tolist())}
    pairs: list[tuple[int, int]] = []
    for index, listed in enumerate(images.column(name)):
        if name not in images.values[index]:
            images.say(index, "missing-field", Rule(f"'{name}' is missing"), expected="a list of categories")
            continue
        if not isinstance(listed, list) or not all(type(each) is int for each in listed):
            message = Rule(f"expected a list of category ids as '{name}', found {{}}", written(listed))
            images.say(index, "bad-list", message, written(listed), "a list of categories")
            continue
        unknown = [number for number in listed if number not in known]
        if unknown:
            message = Rule(f"'{name}' has {{}}, which is none of the {len(known)} categories", unknown[0])
            images.say(
                index, "unknown-category", message, str(unknown[0]), f"one of the {len(known)} categories"
            )
        pairs += [(int(place[index]), known[number]) for number in listed if number in known]
    return np.array(pairs, np.int32).reshape(-1, 2)


def tables_of_coco(
    source: Source, dataset: str | None, image_set: str, *, masks: bool = True
) -> tuple[Lists, Tables]:
    """The lists and tables of `images`, `categories` and `annotations`; masks: with their segmentations, if any has one.

    Raises SubmissionError with every problem.

    >>> text = b'''{"images": [{"id": 42}], "categories": [{"id": 17, "name": "cat"}],
    ...   "annotations": [{"id": 1, "image_id": 42, "category_id": 17, "bbox": [15, 9, 20, 10], "area": 150.5}]}'''
    >>> lists, tables = tables_of_coco(text, "COCO", "val")
    >>> lists.images, lists.classes, tables.objects.boxes.tolist(), tables.coco.area.tolist()
    (('42',), ('cat',), [[15.0, 9.0, 35.0, 19.0]], [150.5])
    """
    file, data = read_source(source, "instances.json")
    instances = read_instances(data, file=file, masks=None if masks else False)
    del data  # before the tables are made
    return tables_of_instances(instances, dataset, image_set)


def tables_of_instances(
    instances: CocoInstances, dataset: str | None = None, image_set: str = "all"
) -> tuple[Lists, Tables]:
    """The lists and tables of annotation that was read, with its masks where these were asked for.

    dataset: None stands for "LVIS" where images have lists of negative categories, and else for "COCO".

    Images are called by their numbers, classes by their names, both in rising order of their numbers. For protocols that know
    no crowds a crowd is a difficult object and a group, and `ignore` or `difficult` make an object difficult.
    """
    lists, tables = tables_of_objects(_rows(instances), BoxConvention.HALF_OPEN, _sizes(instances))
    numbers = tuple(instances.categories.tolist())
    own = "COCO" if instances.federation is None else "LVIS"
    lists = replace(lists, dataset=dataset or own, image_set=image_set, class_numbers=numbers)
    return lists, replace(tables, coco=_table(instances))


def _rows(instances: CocoInstances) -> ObjectRows:
    objects, boxes = instances.objects, instances.boxes
    return ObjectRows(
        Named(tuple(map(str, instances.images.tolist())), objects.image),
        Named(instances.classes, objects.label),
        np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1),
        np.zeros(len(boxes), np.bool_) if instances.difficult is None else instances.difficult,
        objects.crowd,
    )


def _sizes(instances: CocoInstances) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    known = (instances.sizes >= 1).all(axis=1, keepdims=True) & (instances.sizes <= UNKNOWN_SIDE)
    return np.where(known, instances.sizes, UNKNOWN_SIDE)


def _table(instances: CocoInstances) -> CocoTable:
    objects = instances.objects
    table = CocoTable(
        objects.image, objects.label, instances.boxes, objects.area, objects.crowd, objects.unnumbered
    )
    if (federation := instances.federation) is not None:
        table = replace(
            table,
            negative=federation.negative,
            inexhaustive=federation.inexhaustive,
            frequency=federation.frequency,
        )
    return table if instances.masks is None else table.with_masks(instances.masks)
