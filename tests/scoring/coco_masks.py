"""Segmentations in all of COCO's forms."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycocotools import mask as official

from tests.scoring.coco_sets import Plain

Bits = NDArray[np.bool_]


def compressed(bits: Bits) -> Plain:
    """Compressed run lengths, as in results."""
    found = official.encode(np.asfortranarray(bits.astype(np.uint8)))
    return {"size": found["size"], "counts": found["counts"].decode()}


def told(bits: Bits) -> Plain:
    """Uncompressed run lengths, as in crowds."""
    flat = np.concatenate([[0], bits.T.ravel().astype(np.int64), [2]])
    counts = np.diff(np.flatnonzero(np.diff(flat) != 0), prepend=0).tolist()
    return {"size": list(bits.shape), "counts": counts}


def draw_mask_set(seed: int) -> tuple[Plain, list[Plain]]:
    """Instances drawn as polygons, run lengths and compressed ones, and detections near them."""
    random = np.random.default_rng(seed)
    height, width = 90, 120
    annotations: list[Plain] = []
    detections: list[Plain] = []
    for image in range(1, int(random.integers(2, 8))):
        for _ in range(random.integers(0, 6)):
            segmentation, bits = _object(random, height, width)
            category = int(random.integers(1, 4))
            common = {"image_id": image, "category_id": category}
            area = float(random.choice([bits.sum(), 32.0**2, 96.0**2]))
            crowd = int(isinstance(segmentation, dict) and random.random() < 0.3)
            number = len(annotations) + 1
            box = official.toBbox(official.encode(np.asfortranarray(bits.astype(np.uint8)))).tolist()
            drawn = {"id": number, "segmentation": segmentation, "area": area, "iscrowd": crowd, "bbox": box}
            annotations.append(common | drawn)
            for _ in range(random.integers(0, 4)):
                shift = random.integers(-4, 5, 2) if random.random() < 0.8 else (0, 0)
                moved = np.roll(bits, shift, axis=(0, 1))
                score = round(float(random.random()), 1)
                detections.append(common | {"segmentation": compressed(moved), "score": score})
    instances = {
        "images": [{"id": n, "file_name": f"{n}.png", "width": width, "height": height} for n in range(1, 9)],
        "categories": [{"id": n, "name": f"class {n}"} for n in range(1, 5)],
        "annotations": annotations,
    }
    return instances, detections


def _object(random: np.random.Generator, height: int, width: int) -> tuple[Any, Bits]:
    corner, radius = random.random(2) * (width, height), random.choice([4, 20, 60])
    polygons = [
        np.round(corner + random.normal(0, radius, (random.integers(3, 9), 2)), 2).ravel().tolist()
        for _ in range(random.integers(1, 3))
    ]
    encoded = official.merge(official.frPyObjects(polygons, height, width))
    bits = np.zeros(height * width, np.bool_)
    counts = _counts_of(encoded)
    for begin, length in zip(np.cumsum(counts)[:-1:2], counts[1::2], strict=False):
        bits[begin : begin + length] = True
    drawn = bits.reshape(width, height).T
    return [polygons, told(drawn), compressed(drawn)][random.integers(0, 3)], drawn


def _counts_of(encoded: Plain) -> NDArray[np.int64]:
    """The run lengths in a compressed text, decoded character by character."""
    counts: list[int] = []
    value = shift = 0
    for letter in encoded["counts"]:
        code = letter - 48
        value |= (code & 31) << shift
        shift += 5
        if code & 32:
            continue
        if code & 16:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    return np.array(counts, np.int64)
