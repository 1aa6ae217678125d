"""The files of a development-kit tree: annotation, image sets, label files."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from sample.annotations import Annotation, Box, Object, acting_persons, persons_with_parts, presence
from sample.shapes import ACTIONS, CLASSES, OTHER

NAME = "sample"
FOLDERS = (
    "Annotations",
    "ImageSets/Action",
    "ImageSets/Layout",
    "ImageSets/Main",
    "ImageSets/Segmentation",
    "JPEGImages",
    "SegmentationClass",
    "SegmentationObject",
)


def write_annotation(tree: Path, annotation: Annotation) -> None:
    """Write one image's XML, laid out as in the kit of 2012."""
    size = [_leaf("width", annotation.width), _leaf("height", annotation.height), _leaf("depth", 3)]
    source = [
        _leaf("database", "The sample challenge"),
        _leaf("annotation", "drawn"),
        _leaf("image", "drawn"),
    ]
    lines = _branch(
        "annotation",
        [
            _leaf("folder", NAME),
            _leaf("filename", f"{annotation.image}.jpg"),
            _branch("source", source),
            _branch("size", size),
            _leaf("segmented", int(annotation.segmented)),
            *(_object(thing) for thing in annotation.objects),
        ],
    )
    (tree / "Annotations" / f"{annotation.image}.xml").write_text("\n".join(lines) + "\n", encoding="ascii")


def _object(thing: Object) -> list[str]:
    children = [
        _leaf("name", thing.class_name),
        _leaf("pose", thing.view),
        _leaf("truncated", int(thing.truncated)),
        _leaf("occluded", int(thing.occluded)),
        _box(thing.box),
        _leaf("difficult", int(thing.difficult)),
    ]
    children += [_branch("part", [_leaf("name", part.name), _box(part.box)]) for part in thing.parts or ()]
    if thing.actions is not None:
        flags = [_leaf(action, int(action in thing.actions)) for action in ACTIONS]
        children.append(_branch("actions", [*flags, _leaf(OTHER, int(not thing.actions))]))
        middle = (thing.box.left + thing.box.right) // 2, (thing.box.top + thing.box.bottom) // 2
        children.append(_branch("point", [_leaf("x", middle[0]), _leaf("y", middle[1])]))
    return _branch("object", children)


def _box(box: Box) -> list[str]:
    edges = (("xmin", box.left), ("ymin", box.top), ("xmax", box.right), ("ymax", box.bottom))
    return _branch("bndbox", [_leaf(name, value) for name, value in edges])


def _leaf(name: str, value: str | int) -> list[str]:
    return [f"<{name}>{value}</{name}>"]


def _branch(name: str, children: Iterable[Sequence[str]]) -> list[str]:
    return [f"<{name}>", *("\t" + line for child in children for line in child), f"</{name}>"]


def write_sets(tree: Path, image_set: str, annotations: Sequence[Annotation]) -> None:
    """Write the lists of one image set for all tasks, and its label files."""
    sets = tree / "ImageSets"
    _write(sets / "Main" / f"{image_set}.txt", (one.image for one in annotations))
    for name in CLASSES:
        labels = (f"{one.image} {presence(one, name):2d}" for one in annotations)
        _write(sets / "Main" / f"{name}_{image_set}.txt", labels)
    _write(sets / "Segmentation" / f"{image_set}.txt", (one.image for one in annotations if one.segmented))
    layouts = (f"{one.image}  {number}" for one in annotations for number in persons_with_parts(one))
    _write(sets / "Layout" / f"{image_set}.txt", layouts)
    _write(sets / "Action" / f"{image_set}.txt", (one.image for one in annotations if acting_persons(one)))
    for action in ACTIONS:
        _write(sets / "Action" / f"{action}_{image_set}.txt", _action_labels(annotations, action))


def _action_labels(annotations: Sequence[Annotation], action: str) -> Iterable[str]:
    for one in annotations:
        for number, thing in enumerate(one.objects, 1):
            if thing.actions is not None:
                yield f"{one.image}  {number} {1 if action in thing.actions else -1:2d}"


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
