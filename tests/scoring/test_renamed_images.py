"""Ground truth under other names of its images scores the same, and is what one would read if it had been written so."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import GroundTruth, evaluate, read_tree
from heldout_scoring.data.predictions import Detections
from tests.scoring.builders import Kit, annotation, part, thing
from tests.scoring.lvis_sets import draw_lvis_set

NAMES = {"a": "30", "b": "10", "c": "20"}


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    """Three images with everything that a kit annotates; `c` is listed for layout and actions alone."""
    person = thing("person", (5, 5, 30, 30), parts=part("head") + part("foot", (6, 6, 9, 9)))
    pages = {
        "a": annotation(thing("cat"), person),
        "b": annotation(person, thing("cat", (3, 3, 9, 9))),
        "c": annotation(thing("cat", (2, 2, 9, 9)), person, width=60),
    }
    kit = Kit(tmp_path / "VOC2012", "val").main({name: pages[name] for name in "ab"})
    return kit.write("Annotations/c.xml", pages["c"])


def listed(kit: Kit, order: str, names: dict[str, str]) -> GroundTruth:
    """The kit with its sets listed in an order, its files under these names."""
    numbers, folder = {"a": 2, "b": 1, "c": 2}, kit.root / "Annotations"
    for name in "abc":
        (folder / f"{name}.xml").rename(folder / f"{names[name]}.xml")
    main = [each for each in order if each != "c"]
    kit.write("ImageSets/Main/val.txt", "".join(f"{names[each]}\n" for each in main))
    kit.write("ImageSets/Layout/val.txt", "".join(f"{names[each]} {numbers[each]}\n" for each in order))
    lines = "".join(f"{names[each]} {numbers[each]} {1 if each == 'a' else -1}\n" for each in order)
    kit.write("ImageSets/Action/reading_val.txt", lines)
    kit.write("ImageSets/Segmentation/val.txt", "".join(f"{names[each]}\n" for each in main))
    for number, each in enumerate("ab", 1):
        kit.mask(names[each], np.full((40, 50), number, np.uint8))
    return read_tree(kit.root, "val")


def test_a_kit_is_the_same_as_one_written_under_the_new_names(kit: Kit, tmp_path: Path) -> None:
    truth = listed(kit, "abc", {name: name for name in "abc"})
    same = Kit(tmp_path / "other" / "VOC2012", "val")
    for name in "abc":
        same.write(f"Annotations/{name}.xml", (kit.root / "Annotations" / f"{name}.xml").read_text())

    assert truth.rename_images(NAMES).content == listed(same, "bac", NAMES).content


def test_results_for_the_new_numbers_have_the_scores_of_the_old_ones() -> None:
    random, numbers = np.random.default_rng(7), {1: 812, 2: 5, 3: 77}
    objects: list[dict[str, Any]] = [
        {
            "id": place + 1, "image_id": int(random.integers(1, 4)), "category_id": int(random.integers(1, 3)),
            "bbox": [float(each) for each in random.integers(1, 9, 4)], "area": 30, "iscrowd": 0,
            "segmentation": [[1, 1, 9, 1, 9, 9]],
        }
        for place in range(30)
    ]  # fmt: skip
    annotation_ = {
        "images": [{"id": each, "width": 20 + each, "height": 30} for each in numbers],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": objects,
    }
    found = [{**each, "score": float(random.uniform())} for each in objects[::2]]

    def scores(found: list[dict[str, Any]], truth: GroundTruth) -> list[tuple[str, float | None]]:
        result = evaluate(Detections.from_coco(json.dumps(found), truth), truth, protocol="coco")
        return [(each.name, each.value) for each in result.classes]

    truth = GroundTruth.from_coco(annotation_)
    renamed = truth.rename_images({str(old): str(new) for old, new in numbers.items()})

    assert renamed.lists.images == ("5", "77", "812")
    assert renamed.tables.sizes.tolist() == [[22, 30], [23, 30], [21, 30]]
    moved = [{**each, "image_id": numbers[each["image_id"]]} for each in found]
    assert scores(moved, renamed) == scores(found, truth)


@pytest.mark.parametrize("seed", range(3))
def test_what_lvis_says_of_images_follows_them(seed: int) -> None:
    annotation_, found = draw_lvis_set(seed)
    found = [{**each, "score": 1 / (2 + place)} for place, each in enumerate(found)]  # without ties
    old = [each["id"] for each in annotation_["images"]]
    numbers = dict(zip(old, reversed(old), strict=True))
    truth = GroundTruth.from_coco(annotation_)

    renamed = truth.rename_images({str(each): str(numbers[each]) for each in old})

    moved = [{**each, "image_id": numbers[each["image_id"]]} for each in found]
    results = [
        evaluate(Detections.from_coco(json.dumps(some), each), each, protocol="lvis")
        for some, each in ((found, truth), (moved, renamed))
    ]
    assert results[0].headline == pytest.approx(results[1].headline, abs=1e-12)
    assert results[0].headline is not None
