"""Person layout as a plain loop over layouts and parts: VOCevallayout_pr.m (2010 to 2012) in our own words.

`layout_loop.py PEOPLE FOLDER`; every person has one part of each kind.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np
from label_loop import average_precision
from serving import serve

_SIDES: Final = ("xmin", "ymin", "xmax", "ymax")
_IOU_THRESHOLD: Final = 0.5


def _text(element: ET.Element, name: str) -> str:
    return element.findtext(name, "").strip()


def _most_confident(path: Path) -> dict[str, tuple[float, ET.Element]]:
    """The layout that counts of each person, and its confidence; the layout that comes first in a tie."""
    best: dict[str, tuple[float, ET.Element]] = {}
    for layout in ET.parse(path).getroot():
        person = f"{_text(layout, 'image')} {_text(layout, 'object')}"
        confidence = float(_text(layout, "confidence"))
        if person not in best or confidence > best[person][0]:
            best[person] = confidence, layout
    return best


def _iou(box: list[float], other: list[float]) -> float:
    width = min(box[2], other[2]) - max(box[0], other[0]) + 1
    height = min(box[3], other[3]) - max(box[1], other[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(each[2] - each[0] + 1) * (each[3] - each[1] + 1) for each in (box, other)]
    return width * height / (areas[0] + areas[1] - width * height)


def _main(people: str, folder: str) -> None:
    with np.load(Path(people)) as arrays:
        names, kinds, parts = (arrays[name].tolist() for name in ("names", "kinds", "parts"))
    known = {name: dict(zip(kinds, boxes, strict=True)) for name, boxes in zip(names, parts, strict=True)}

    def run() -> Mapping[str, float]:
        [path] = Path(folder).rglob("*.xml")
        labels: dict[str, list[int]] = {kind: [] for kind in kinds}
        ranked = sorted(_most_confident(path).items(), key=lambda item: -item[1][0])
        for person, (_, layout) in ranked:
            found = set()
            for part in layout.iter("part"):
                kind, box = _text(part, "class"), part.find("bndbox")
                if box is None:
                    continue
                edges = [float(_text(box, side)) for side in _SIDES]
                is_hit = kind not in found and _iou(edges, known[person][kind]) >= _IOU_THRESHOLD
                labels[kind].append(1 if is_hit else -1)
                if is_hit:
                    found.add(kind)
        return {
            kind: average_precision(each, range(len(each), 0, -1), len(known))
            for kind, each in labels.items()
        }

    serve(run)


if __name__ == "__main__":
    _main(*sys.argv[1:])
