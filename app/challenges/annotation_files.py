"""The public annotation of a phase as files, in the format of its tasks: a tree like those of VOC, or COCO's JSON.

Child processes of workers write them, so that this does not import the storage.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

import numpy as np

from app.challenges.packing import pack_files
from heldout_scoring import PARTS, BoxConvention, Description, GroundTruth, labels_to_png

Files = Iterator[tuple[str, bytes]]  # the path and content of each file
FREQUENCIES: Final = ("r", "c", "f")  # of classes, as LVIS names them
SIDES: Final = ("xmin", "ymin", "xmax", "ymax")


@dataclass(frozen=True, slots=True)
class Licensed:
    """What stands beside the annotation. licence: as organisers name it; files: names of the images' files, by image."""

    licence: str
    files: Mapping[str, str]


def write(truth_file: Path, beside: Licensed, archive: Path) -> bytes:
    """Write the annotation as an archive; a child process returns no more than that it is done."""
    with archive.open("wb") as stream:
        pack_files(stream, annotation_files(GroundTruth.open(truth_file), beside))
    return b""


def annotation_files(truth: GroundTruth, beside: Licensed) -> Files:
    """Yield the files of an annotation, of which its readers make the same ground truth again."""
    yield "LICENCE.txt", f"{beside.licence or 'The organisers name no licence of the annotation.'}\n".encode()
    if truth.tables.coco is not None and truth.lists.class_numbers:
        plain = json.dumps(_coco(truth, beside), ensure_ascii=False, separators=(",", ":"))
        yield f"annotations/instances_{truth.lists.image_set}.json", plain.encode()
    else:
        for path, content in _tree(truth, beside.files):
            yield f"{truth.lists.dataset}/{path}", content


def _tree(truth: GroundTruth, files: Mapping[str, str]) -> Files:
    """Yield the files of a tree. Classes are in the order of classes.txt, which is that of labels in label images."""
    lists, tables = truth.lists, truth.tables
    yield "classes.txt", _lines(lists.classes)
    sets = f"/{lists.image_set}.txt"
    main = lists.images[: lists.main]
    yield f"ImageSets/Main{sets}", _lines(main)
    for name, labels in zip(lists.classes, tables.labels.tolist(), strict=True):
        rows = zip(main, labels, strict=True)
        yield (
            f"ImageSets/Main/{_file(name)}_{lists.image_set}.txt",
            _lines(f"{image} {label:2d}" for image, label in rows),
        )
    if tables.verified is not None:
        pairs = ((lists.images[image], lists.classes[label]) for image, label in tables.verified.tolist())
        yield f"ImageSets/Main/verified_{lists.image_set}.csv", _lines(map(",".join, pairs))
    if lists.segmentation:
        yield f"ImageSets/Segmentation{sets}", _lines(lists.segmentation)
    for place, image in enumerate(lists.segmentation):
        yield f"SegmentationClass/{image}.png", labels_to_png(tables.masks[place])
    if lists.persons:
        yield (
            f"ImageSets/Layout{sets}",
            _lines(f"{image} {number}" if number else image for image, number in lists.persons),
        )
    yield from _actions(truth)
    yield from _pages(truth, files)


def _actions(truth: GroundTruth) -> Files:
    lists, acts = truth.lists, truth.tables.acts
    if not lists.actions:
        return
    numbered = _numbers(truth)
    yield (
        f"ImageSets/Action/{lists.image_set}.txt",
        _lines(dict.fromkeys(image for image, _ in lists.acting)),
    )
    for place, action in enumerate(lists.actions):
        rows = np.flatnonzero(acts.action == place).tolist()
        lines = (
            f"{numbered[acts.owner[row]][0]} {numbered[acts.owner[row]][1]} {acts.label[row]:2d}"
            for row in rows
        )
        yield f"ImageSets/Action/{_file(action)}_{lists.image_set}.txt", _lines(lines)


def _numbers(truth: GroundTruth) -> list[tuple[str, int]]:
    """Return the image and the number in it of every object."""
    counts: defaultdict[int, int] = defaultdict(int)
    found = []
    for image in truth.tables.objects.image.tolist():
        counts[image] += 1
        found.append((truth.lists.images[image], counts[image]))
    return found


def _pages(truth: GroundTruth, files: Mapping[str, str]) -> Files:
    """Yield the page of every image, with its objects in their order."""
    lists, tables = truth.lists, truth.tables
    segmented = set(lists.segmentation)
    things = _by_image(truth)
    for place, (image, size) in enumerate(zip(lists.images, tables.sizes.tolist(), strict=True)):
        width, height = size
        known = f"<size><width>{width}</width><height>{height}</height><depth>3</depth></size>"
        lines = [
            "<annotation>",
            f"\t<filename>{escape(files.get(image, f'{image}.jpg'))}</filename>",
            *([f"\t{known}"] if tables.has_size[place] else []),
            f"\t<segmented>{int(image in segmented)}</segmented>",
            *things[place],
            "</annotation>",
        ]
        yield f"Annotations/{image}.xml", _lines(lines)


def _by_image(truth: GroundTruth) -> Mapping[int, list[str]]:
    """Return the lines of the objects of each image."""
    objects, parts, convert = truth.tables.objects, truth.tables.parts, truth.tables.convention.convert
    boxes = convert(objects.boxes, BoxConvention.INCLUSIVE).tolist()
    boxes_of_parts = convert(parts.boxes, BoxConvention.INCLUSIVE).tolist()
    inner: defaultdict[int, list[str]] = defaultdict(list)
    for owner, kind, box in zip(parts.owner.tolist(), parts.kind.tolist(), boxes_of_parts, strict=True):
        inner[owner].append(f"\t\t<part><name>{PARTS[kind]}</name>{_box(box)}</part>")
    flags = ("truncated", "occluded", "difficult")
    found: defaultdict[int, list[str]] = defaultdict(list)
    for row, (image, name, box) in enumerate(
        zip(objects.image.tolist(), objects.name.tolist(), boxes, strict=True)
    ):
        found[image] += [
            "\t<object>",
            f"\t\t<name>{escape(truth.lists.classes[name])}</name>",
            *(f"\t\t<{flag}>{int(getattr(objects, flag)[row])}</{flag}>" for flag in flags),
            *(["\t\t<groupof>1</groupof>"] if objects.group_of[row] else []),
            f"\t\t{_box(box)}",
            *inner[row],
            "\t</object>",
        ]
    return found


def _box(box: Iterable[float]) -> str:
    edges = (f"<{side}>{_number(value)}</{side}>" for side, value in zip(SIDES, box, strict=True))
    return f"<bndbox>{''.join(edges)}</bndbox>"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _file(name: str) -> str:
    """Return the name of a class or an action in names of files."""
    return name.replace("/", "_")


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _coco(truth: GroundTruth, beside: Licensed) -> dict[str, Any]:
    found = info_of(truth.description, beside.files)
    if beside.licence:
        found["licenses"] = [{"id": 1, "name": beside.licence}]
    if truth.tables.coco is not None:
        _add_lists_of_lvis(found, truth)
    return found | {"annotations": list(_coco_objects(truth))}


def info_of(description: Description, files: Mapping[str, str]) -> dict[str, Any]:
    """Return the object of an image_info file; files: the names of the images' files, as far as they are known.

    >>> from heldout_scoring import Image
    >>> phase = Description("COCO", "test", ("cat",), (), (Image("7", 40, 30),), class_numbers=(17,))
    >>> info_of(phase, {"7": "000000000007.jpg"})["images"]
    [{'id': 7, 'width': 40, 'height': 30, 'file_name': '000000000007.jpg'}]
    """
    return {
        "info": {"description": f"{description.dataset} {description.image_set}"},
        "licenses": [],
        "images": [
            {"id": int(each.id), "width": each.width, "height": each.height}
            | ({"file_name": files[each.id]} if each.id in files else {})
            for each in description.images
        ],
        "categories": [
            {"id": number, "name": name}
            for number, name in zip(description.class_numbers, description.classes, strict=True)
        ],
    }


def _add_lists_of_lvis(found: dict[str, Any], truth: GroundTruth) -> None:
    """Add what is known of classes in images, where not every class is annotated."""
    assert truth.tables.coco is not None
    federation = truth.tables.coco.federation
    if federation is None:
        return
    numbers = truth.lists.class_numbers
    for name, pairs in (
        ("neg_category_ids", federation.negative),
        ("not_exhaustive_category_ids", federation.inexhaustive),
    ):
        for image in found["images"]:
            image[name] = []
        for place, label in pairs.tolist():
            found["images"][place][name].append(numbers[label])
    for category, frequency in zip(found["categories"], federation.frequency.tolist(), strict=True):
        category["frequency"] = FREQUENCIES[frequency]


def _coco_objects(truth: GroundTruth) -> Iterator[dict[str, Any]]:
    table, lists, sizes = truth.tables.coco, truth.lists, truth.tables.sizes.tolist()
    assert table is not None
    for row, (image, label) in enumerate(zip(table.image.tolist(), table.label.tolist(), strict=True)):
        width, height = sizes[image]
        thing: dict[str, Any] = {
            "id": 0 if table.unnumbered[row] else row + 1,
            "image_id": int(lists.images[image]),
            "category_id": lists.class_numbers[label],
            "bbox": [_plain(value) for value in table.boxes[row].tolist()],
            "area": _plain(float(table.area[row])),
            "iscrowd": int(table.crowd[row]),
        }
        if table.run_start is not None and table.run_end is not None and table.run_first is not None:
            runs = slice(table.run_first[row], table.run_first[row + 1])
            ends = np.stack([table.run_start[runs], table.run_end[runs]], axis=1).ravel()
            counts = np.diff(ends, prepend=0, append=width * height).tolist()
            thing["segmentation"] = {"size": [height, width], "counts": counts}
        yield thing


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else value
