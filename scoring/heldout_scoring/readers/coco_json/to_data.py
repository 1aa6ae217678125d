"""Annotation and detections in COCO's JSON as ground truth and detections of any protocol."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...data.annotations import BoxConvention
from ...data.arrays import DataError, Named, as_array
from ...data.description import UNKNOWN_SIDE, Description
from ...data.tables import CocoTable, Lists, Tables
from ...data.truth_from_arrays import ObjectRows, tables_of_objects
from ...errors import Problems, SubmissionError, read_file
from .detections import CocoResults, read_coco_detections
from .fields import CocoNumbers
from .flaws import DIGITS
from .instances import CocoInstances, read_instances

_EXPECTED: Final = "expected a path, JSON, or lists and mappings of numbers and texts"

Source = Path | str | bytes | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A JSON file by its path, its content, or what a JSON parser makes of it."""


def read_source(source: Source, name: str) -> tuple[str, bytes]:
    """The name and the content of a JSON file, given in any of these ways; a text that begins with a bracket is content.

    name: what a file is called that has none. Raises PathError for a file that cannot be read, DataError for what has no form in JSON.

    >>> read_source("[]", "detections.json"), read_source([{"id": 1}], "detections.json")
    (('detections.json', b'[]'), ('detections.json', b'[{"id": 1}]'))
    """
    if isinstance(source, bytes):
        return name, source
    if isinstance(source, str) and source.lstrip()[:1] in ("[", "{"):
        return name, source.encode("utf-8", "surrogatepass")
    if isinstance(source, Path | str):
        return Path(source).name, read_file(source)
    try:
        return name, json.dumps(source, default=_plain).encode()
    except DataError:
        raise
    except RecursionError as error:
        raise DataError(f"{_EXPECTED}, found lists and mappings that are nested too deeply") from error
    except ValueError as error:
        found = f"a list or mapping that holds itself, or a number of more than {DIGITS:,} digits"
        raise DataError(f"{_EXPECTED}, found {found}") from error
    except TypeError as error:  # of keys only
        raise DataError(f"{_EXPECTED}, found {_odd_key(source)} as a key") from error


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy and of others as JSON has them."""
    if hasattr(value, "__array__"):
        return as_array(value).tolist()
    raise DataError(f"{_EXPECTED}, found {type(value).__name__}")


def _odd_key(value: Any) -> str:
    """The type of the first key of a mapping that JSON does not have."""
    if isinstance(value, Mapping):
        odd = next((key for key in value if not isinstance(key, str | int | float | None)), None)
        return (
            type(odd).__name__ if odd is not None else next(filter(None, map(_odd_key, value.values())), "")
        )
    return next(filter(None, map(_odd_key, value)), "") if isinstance(value, list | tuple) else ""


def tables_of_coco(
    data: bytes, dataset: str | None, image_set: str, *, file: str = "instances.json", masks: bool = True
) -> tuple[Lists, Tables]:
    """The lists and tables of `images`, `categories` and `annotations`; masks: with those of annotations that have a segmentation.

    Raises SubmissionError with every problem.

    >>> text = b'''{"images": [{"id": 42}], "categories": [{"id": 17, "name": "cat"}],
    ...   "annotations": [{"id": 1, "image_id": 42, "category_id": 17, "bbox": [15, 9, 20, 10], "area": 150.5}]}'''
    >>> lists, tables = tables_of_coco(text, "COCO", "val")
    >>> lists.images, lists.classes, tables.objects.boxes.tolist(), tables.coco.area.tolist()
    (('42',), ('cat',), [[15.0, 9.0, 35.0, 19.0]], [150.5])
    """
    instances = read_instances(data, file=file)
    if masks and instances.has_masks:
        instances = replace(instances, masks=read_instances(data, file=file, masks=True).masks)
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


def columns_of_coco(data: bytes, description: Description, *, file: str = "detections.json") -> CocoResults:
    """Detections with boxes, images and classes as places in the description of the ground truth. Raises SubmissionError.

    >>> from heldout_scoring.data.description import Image
    >>> phase = Description("COCO", "val", ("cat",), (), (Image("42", 640, 480),), class_numbers=(17,))
    >>> found = b'[{"image_id": 42, "category_id": 17, "bbox": [15, 9, 20, 10], "score": 0.5}]'
    >>> columns_of_coco(found, phase).boxes.tolist()
    [[15.0, 9.0, 20.0, 10.0]]
    """
    problems = Problems()
    numbers = CocoNumbers.of(description)
    found = read_coco_detections(data, numbers, file=file, problems=problems)
    if problems.listed:
        raise SubmissionError(*problems.listed)
    return found


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
