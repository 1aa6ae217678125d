"""labelme: a JSON file for each image, with the shapes that were drawn in it."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from app.images.decoding import MAX_PIXELS
from app.images.matching import SUFFIXES, path_of
from app.intake.formats.drawn_objects import FEWEST_POINTS, DrawnObject, DrawnSet
from app.intake.formats.reading import LABELME, AnnotatedSet, Reading, Size, is_class_name
from heldout_scoring import Entry, Problem, Rule

_LOOKED_AT: Final = 5  # files of a folder
_HEAD: Final = 1 << 16  # bytes
_KEYS: Final = (b'"shapes"', b'"imagePath"')


def evidence(reading: Reading) -> list[Path]:
    """JSON files of labelme, of the first few of each folder."""
    looked: Counter[Path] = Counter()
    found = []
    for path in reading.with_suffix(".json"):
        looked[path.parent] += 1
        if looked[path.parent] <= _LOOKED_AT and _is_of_labelme(path):
            found.append(path)
    return found


def _is_of_labelme(path: Path) -> bool:
    """Whether the beginning or, behind the picture that may stand in it, the end of a file has the fields of labelme."""
    with path.open("rb") as file:
        text = file.read(_HEAD)
        if (size := path.stat().st_size) > _HEAD:
            file.seek(max(_HEAD, size - _HEAD))
            text += file.read()
    return _KEYS[0] in text and (_KEYS[1] in text or b'"imageData"' in text) and b'"categories"' not in text


def read(reading: Reading) -> Iterator[AnnotatedSet]:
    """Read every file; the images of each folder that is called like a set are one, or else all. Pictures join the others."""
    for path in reading.with_suffix(*SUFFIXES):
        reading.use_as_picture(path)
    for name, paths in reading.by_set(filter(_is_of_labelme, reading.with_suffix(".json"))).items():
        found = DrawnSet(name, reading.root.name)
        for path in paths:
            reading.use(path)
            _read_file(reading, path, found)
        yield from found.read(reading, LABELME)


def _read_file(reading: Reading, path: Path, found: DrawnSet) -> None:
    name = reading.name(path)
    try:
        page = json.loads(reading.text(path), object_pairs_hook=_object_of)
    except _DoubledError as error:
        rule = Rule("an object has the field '{}' twice; leave one out", error)
        reading.problems.add(Problem("doubled-field", rule, name))
        return
    except (ValueError, RecursionError):
        page = None
    if not isinstance(page, dict) or not isinstance(page.get("shapes"), list):
        reading.problems.add(
            Problem("not-labelme", Rule("expected JSON of labelme with a list called 'shapes'"), name)
        )
        return
    stated = page.get("imagePath") or ""
    if not isinstance(stated, str):
        reading.problems.add(Problem("not-labelme", Rule("expected a text as 'imagePath'"), name))
        return
    picture = path_of(stated).name or path.with_suffix(".jpg").name
    image = (path.relative_to(reading.root).parent / picture).as_posix()
    if image in found.images:
        rule = Rule("another file annotates the same image, {}", picture)
        reading.problems.add(Problem("same-image", rule, name))
        return
    found.images[image] = _size(page)
    groups: dict[tuple[str, Any], list[list[float]]] = {}
    for number, shape in enumerate(page["shapes"]):
        if wrong := _take(found, image, shape, groups, number):
            reading.problems.add(Problem("bad-shape", wrong.at(Entry(f"shapes[{number}]")), name))
    found.objects += [DrawnObject.of_polygons(image, label, each) for (label, _), each in groups.items()]
    flags = page.get("flags")
    set_flags = (
        [flag.strip() for flag, is_set in flags.items() if is_set is True] if isinstance(flags, dict) else []
    )
    if not all(map(is_class_name, set_flags)):
        rule = Rule("expected the names of classes as 'flags' that are set")
        reading.problems.add(Problem("class-name", rule, name))
    found.tags += [(image, flag) for flag in set_flags]


class _DoubledError(ValueError):
    """A field stands twice in an object; the argument is its name."""


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _DoubledError(name)
        found[name] = value
    return found


def _size(page: dict[str, Any]) -> Size | None:
    width, height = page.get("imageWidth"), page.get("imageHeight")
    if (
        type(width) is int
        and type(height) is int
        and min(width, height) >= 1
        and width * height <= MAX_PIXELS
    ):
        return width, height
    return None


def _take(
    found: DrawnSet, image: str, shape: Any, groups: dict[tuple[str, Any], list[list[float]]], number: int
) -> Rule | None:
    """Take a shape; what is wrong with it if it cannot be read. groups: the polygons that are one object."""
    if not isinstance(shape, dict):
        return Rule("expected an object with 'label' and 'points'")
    label, kind = shape.get("label"), shape.get("shape_type") or "polygon"
    if not isinstance(label, str) or not is_class_name(label.strip()):
        return Rule("expected the name of a class as 'label'")
    if kind not in ("rectangle", "polygon", "mask"):
        found.left[kind if kind in ("circle", "line", "linestrip", "point", "points") else "others"] += 1
        return None
    points, fewest = shape.get("points"), FEWEST_POINTS if kind == "polygon" else 2
    if not isinstance(points, list) or len(points) < fewest or not all(map(_is_point, points)):
        return Rule(f"expected at least {fewest} points [x, y] as 'points' of a {kind}")
    numbers = [float(number) for point in points for number in point]
    if kind == "polygon":
        group = shape.get("group_id")
        key = f"alone {number}" if group is None else str(group)
        groups.setdefault((label.strip(), key), []).append(numbers)
    else:
        x, y = numbers[0::2], numbers[1::2]
        found.objects.append(DrawnObject.of_box(image, label.strip(), (min(x), min(y), max(x), max(y))))
        found.masked += kind == "mask"
    return None


def _is_point(point: Any) -> bool:
    return (
        isinstance(point, list)
        and len(point) == 2
        and all(type(each) in (int, float) and abs(each) < 1e9 for each in point)
    )
