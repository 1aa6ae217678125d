"""Inputs that people have tried: each gives the right value, or is refused in a sentence that says what was found and expected."""

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from heldout_scoring import (
    COCO,
    PROTOCOLS,
    AnnotatedObject,
    Annotation,
    Box,
    Confidences,
    DataError,
    Detections,
    GroundTruth,
    InstanceMasks,
    LabelMaps,
    Layouts,
    NotFoundError,
    PathError,
    Problem,
    Protocol,
    Result,
    ScoringError,
    SubmissionError,
    average_precision,
    bootstrap,
    coco,
    compare,
    count_objects,
    create_segmentations_from_detections,
    evaluate,
    evaluate_coco,
    expand_detections,
    intervals_of,
    protocol_of,
    truth_of_boxes,
    validate,
)
from heldout_scoring.analysis import detections_of, diagnose
from heldout_scoring.stored import Packed, pack, unpack

BOXES = np.array([[0.0, 0, 10, 10], [20, 20, 60, 60]])
MASKS = np.zeros((2, 40, 60), np.bool_)
MASKS[0, 5:25, 5:35] = MASKS[1, 10:40, 20:60] = True
RUNS = f"]6d0d0{'0' * 57}So0"
"""The first mask, as pycocotools encodes it."""
IN_IMAGES: list[dict[str, Any]] = [
    {"masks": MASKS[:1], "labels": [0], "scores": [0.9]},
    {"masks": [[[1, 1], [1, 1]]], "labels": [1], "scores": [0.8]},
]
"""Masks of images that differ in size."""
SQUARE = [[0, 0, 10, 0, 10, 10, 0, 10]]
IMAGE: dict[str, Any] = {"id": 1, "width": 60, "height": 40}
CAT: dict[str, Any] = {"id": 1, "name": "cat"}
OBJECT: dict[str, Any] = {
    "id": 1,
    "image_id": 1,
    "category_id": 1,
    "bbox": [0, 0, 10, 10],
    "area": 100,
    "iscrowd": 0,
    "segmentation": SQUARE,
}
LISTS: dict[str, Any] = {"images": [IMAGE], "categories": [CAT], "annotations": [OBJECT]}
FOUND: dict[str, Any] = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.9}


def objects(**changed: Any) -> GroundTruth:
    """A cat in the image a and a dog in b."""
    given: dict[str, Any] = {"image": ["a", "b"], "label": ["cat", "dog"], "boxes": BOXES}
    return GroundTruth.from_arrays(**(given | {"convention": "half-open"} | changed))


def detections(**changed: Any) -> Detections:
    """Both are found."""
    given: dict[str, Any] = {
        "image": ["a", "b"],
        "label": ["cat", "dog"],
        "score": [0.9, 0.8],
        "boxes": BOXES,
    }
    return Detections.from_arrays(**(given | changed))


def masks(**changed: Any) -> InstanceMasks:
    given: dict[str, Any] = {
        "image": ["a", "b"],
        "label": ["cat", "dog"],
        "score": [0.9, 0.8],
        "masks": MASKS,
    }
    return InstanceMasks.from_arrays(**(given | changed))


def scored(protocol: str | Protocol = "coco", truth: GroundTruth | None = None, **options: Any) -> Result:
    return evaluate(detections(), objects() if truth is None else truth, protocol=protocol, **options)


def of_json(
    *,
    image: dict[str, Any] | None = None,
    annotation: dict[str, Any] | None = None,
    found: dict[str, Any] | None = None,
    **options: Any,
) -> Result:
    truth = {
        "images": [IMAGE | (image or {})],
        "categories": [CAT],
        "annotations": [OBJECT | (annotation or {})],
    }
    return evaluate_coco([FOUND | {"segmentation": SQUARE} | (found or {})], truth, **options)


def maps(labels: Any, classes: Any = ("cat", "dog")) -> GroundTruth:
    return GroundTruth.from_label_maps(labels, classes=classes)


def of_maps() -> Result:
    return evaluate(LabelMaps.from_arrays([[[0, 1], [2, 2]]]), maps([[[0, 1], [2, 255]]]), protocol="voc2012")


def of_labels() -> Result:
    truth = GroundTruth.from_labels([[1, 0], [0, 1]])
    return evaluate(Confidences.from_matrix([[0.9, 0.1], [0.2, 0.8]]), truth, protocol="voc2007")


def of_actions() -> Result:
    truth = GroundTruth.from_actions([[1], [0]], image=["a", "a"], person=[1, 2])
    found = Confidences.from_matrix([[0.9], [0.1]], images=["a", "a"], person=[1, 2])
    return evaluate(found, truth, protocol="voc2012")


def of_layouts() -> Result:
    parts: dict[str, Any] = {"owner": [0], "kind": ["head"], "parts": [[1, 1, 9, 9]]}
    truth = GroundTruth.from_layouts(["a"], [1], **parts, convention="inclusive")
    return evaluate(Layouts.from_arrays(["a"], [1], [0.5], **parts), truth, protocol="voc2012")


def of_masks() -> Result:
    truth = GroundTruth.from_masks(["a", "b"], ["cat", "dog"], MASKS)
    return evaluate(masks(), truth, protocol="coco")


def seen(**changed: Any) -> SimpleNamespace:
    """An object as supervision has it, which is no crowd."""
    given = {"xyxy": BOXES[:1], "class_id": np.array([0]), "data": {"iscrowd": np.array([0]), "area": [4]}}
    return SimpleNamespace(**(given | changed))


def crowds(truth: GroundTruth) -> tuple[list[bool], list[float]]:
    """Which objects are crowds, and all areas."""
    assert truth.tables.coco is not None
    return truth.tables.coco.crowd.tolist(), truth.tables.coco.area.tolist()


def changed_truth(lost: str = "", facts: dict[str, Any] | None = None, **arrays: Any) -> bytes:
    """The content of a ground truth without an array, or with other facts or arrays."""
    packed = unpack("truth", objects(area=[1, 2]).content)
    kept = {name: array for name, array in packed.arrays.items() if name != lost}
    return pack("truth", Packed({**packed.facts, **(facts or {})}, kept | arrays))


def anything(value: object) -> Any:
    """A value that type checkers would reject."""
    return value


def places(truth: GroundTruth) -> list[int]:
    """The class of each object, counted from 0."""
    return [int(name) for name in truth.tables.objects.name]


def codes(result: Result) -> list[str]:
    return [note.code for note in result.notes]


RIGHT: dict[str, tuple[Callable[[], object], object]] = {
    "mapping of classes": (lambda: objects(label=[7, 90], classes={7: "cat", 90: "dog"}).lists.classes, ("cat", "dog")),
    "float classes": (lambda: places(objects(label=np.array([1, 0], np.float32), classes=["dog", "cat"])), [1, 0]),
    "float classes of a mapping": (lambda: objects(label=[7.0, 90.0], classes={7: "cat", 90: "dog"}).lists.classes, ("cat", "dog")),
    "float classes as names": (lambda: objects(label=[7.0, 90.0]).lists.classes, ("7", "90")),
    "numbers as objects": (lambda: places(objects(label=np.array([1, 0], object), classes=["dog", "cat"])), [1, 0]),
    "ids of 64 bits": (lambda: objects(image=np.array([2**63 + 5, 2], np.uint64)).lists.images, ("2", "9223372036854775813")),
    "ids of 64 bits in a list": (lambda: objects(image=[2**63 + 5, 2]).lists.images, ("2", "9223372036854775813")),
    "ids of 70 bits": (lambda: objects(image=[2**70, 2]).lists.images, ("2", str(2**70))),
    "negative ids": (lambda: objects(image=[-1, 2]).lists.images, ("-1", "2")),
    "text ids": (lambda: objects(image=["x/y.jpg", "7"]).lists.images, ("x/y.jpg", "7")),
    "numbers as keys of images": (lambda: Detections.from_dicts({7: {"boxes": BOXES, "scores": [0.5, 0.5], "labels": [1, 1]}}).images, ("7",)),
    "float masks of 0 and 1": (lambda: masks(masks=MASKS.astype(np.float32)).masks[0].sum().item(), 600),
    "NumPy's True for masks": (lambda: of_json(masks=anything(np.True_)).headline, pytest.approx(1)),
    "NumPy in COCO's mappings": (lambda: of_json(annotation={"bbox": np.array([0, 0, 10, 10])}, found={"score": np.float32(0.5)}).headline, pytest.approx(1)),
    "huge box": (lambda: [evaluate(detections(boxes=[[0, 0, 1e200, 1e200]] * 2), objects(), protocol=name).headline for name in ("coco", "voc2012", "pascal_voc_metrics")], [0.0] * 3),
    "zero box": (lambda: evaluate(detections(boxes=np.zeros((2, 4))), objects(), protocol="coco").headline, 0.0),
    "float16 scores": (lambda: evaluate(detections(score=np.array([0.9, 0.8], np.float16)), objects(), protocol="coco").headline, pytest.approx(1)),
    "difficult under COCO": (lambda: codes(scored(truth=objects(difficult=[0, 1]))), ["difficult-counted"]),
    "crowd under VOC": (lambda: codes(scored("voc2012", objects(crowd=[0, 1]))), ["crowd-difficult"]),
    "class without objects under VOC": (lambda: [each.counted_as for each in scored("voc2012", objects(classes=["cat", "dog", "owl"])).classes], [None, None, 0.0]),
    "background among classes under VOC": (lambda: codes(evaluate(detections(), objects(label=[1, 2], classes=["background", "cat", "dog"]), protocol="voc2012")), ["background-counted"]),
    "background among classes under COCO": (lambda: evaluate(detections(), objects(label=[1, 2], classes=["background", "cat", "dog"]), protocol="coco").headline, pytest.approx(1)),
    "unused names among the classes of detections": (lambda: evaluate(detections(label=[1, 2], classes=["background", "cat", "dog"]), objects(), protocol="coco").headline, pytest.approx(1)),
    "one of several classes": (lambda: crowds(objects(area=[7, 8]).choose_classes({"dog": "dog"})), ([False], [8.0])),
    "images of a ground truth": (lambda: len(objects(images=["a", "b", "c"])), 3),
    "ground truth of one object": (lambda: repr(objects(image=["a"], label=["cat"], boxes=BOXES[:1])), "GroundTruth(1 image, 1 object, classes: cat)"),
    "crowds and areas of supervision": (lambda: crowds(GroundTruth.from_supervision({"a": seen(), "b": seen(xyxy=BOXES, class_id=np.array([0, 1]), data={"iscrowd": [0, 1], "area": [9, 8]})}, convention="half-open")), ([False, False, True], [4.0, 9.0, 8.0])),
    "crowds in place of supervision's": (lambda: crowds(GroundTruth.from_supervision([seen()], convention="half-open", crowd=[1])), ([True], [4.0])),
    "empty beside crowds of supervision": (lambda: crowds(GroundTruth.from_supervision([seen(), seen(xyxy=BOXES[:0])], convention="half-open")), ([False], [4.0])),
    "compressed run lengths as masks": (lambda: np.array_equal(masks(masks=[{"size": [40, 60], "counts": RUNS}, MASKS[1]]).masks, MASKS), True),
    "run lengths in bytes as masks": (lambda: np.array_equal(masks(masks=[{"size": (40, 60), "counts": RUNS.encode()}, MASKS[1]]).masks, MASKS), True),
    "run lengths as masks": (lambda: [*map(list, masks(masks=[{"size": np.array([2, 3]), "counts": np.array([1, 2, 3])}] * 2).masks[0])], [[False, True, False], [True, False, False]]),
    "run lengths of the truth": (lambda: list(GroundTruth.from_masks(["a"], ["cat"], [{"size": [40, 60], "counts": RUNS}]).tables.objects.boxes[0]), [5, 5, 35, 25]),
    "masks in dicts": (lambda: evaluate(InstanceMasks.from_dicts(IN_IMAGES), GroundTruth.from_dicts(IN_IMAGES, masks=True), protocol="coco").headline, pytest.approx(1)),
    "crowds of masks in dicts": (lambda: crowds(GroundTruth.from_dicts([each | {"iscrowd": [0]} for each in IN_IMAGES], masks=True, crowd=[0, 1])), ([False, True], [600.0, 4.0])),
    "no detections": (lambda: evaluate(Detections.from_arrays([], [], [], []), objects(), protocol="coco").headline, 0.0),
    "no detections in dicts": (lambda: evaluate(Detections.from_dicts({"a": {"boxes": [], "scores": [], "labels": []}}), objects(), protocol="voc2012").headline, 0.0),
    "figures of a class": (lambda: scored().classes[0].figures["AP50"], pytest.approx(1)),
    "figures of a class by VOC": (lambda: scored("voc2012").classes[0].figures, {}),
    "detections in another order": (lambda: coco(max_detections=[100, 10, 1]).rules_of("coco-detection").max_detections, (1, 10, 100)),
    "NumPy's numbers of detections": (lambda: coco(max_detections=anything(np.array([5, 300]))).rules_of("coco-segmentation").max_detections, (5, 300)),
    "thresholds in another order": (lambda: list(scored(coco(iou=[0.75, 0.5])).figures)[:3], ["AP", "AP50", "AP75"]),
    "an IoU of 1": (lambda: scored(coco(iou=[1])).headline, pytest.approx(1)),
    "areas of one letter": (lambda: [name for name in scored(coco(areas=[("all", 0, 1e10), ("tiny1", 0, 200), ("tiny2", 200, 1e10)])).figures if "tiny" in name], ["APtiny1", "APtiny2", "ARtiny1", "ARtiny2"]),
    "no option": (lambda: coco() is COCO, True),
    "run lengths in bytes": (lambda: of_json(annotation={"segmentation": {"size": [40, 60], "counts": RUNS}}, found={"segmentation": {"size": [40, 60], "counts": RUNS.encode()}}, masks=True).headline, pytest.approx(1)),
    "ids as floats in JSON": (lambda: of_json(found={"image_id": 1.0}).headline, pytest.approx(1)),
    "COCO's list in a tuple": (lambda: evaluate_coco((FOUND,), LISTS).headline, pytest.approx(1)),
    "JSON in two bytes a letter": (lambda: evaluate_coco("[]".encode("utf-16"), LISTS).headline, 0.0),
    "no detections in JSON": (lambda: evaluate_coco([], LISTS).headline, 0.0),
    "area of a range's limit": (lambda: of_json(annotation={"bbox": [0, 0, 32, 32], "area": 1024}, found={"bbox": [0, 0, 32, 32]}).figures["APs"], pytest.approx(1)),
}  # fmt: skip

REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "set of images": (lambda: detections(images=anything({"a", "b"})), DataError, "expected a list in 'images', found set, which has no order"),
    "set of classes to score": (lambda: scored(classes=anything({"cat"})), DataError, "expected a list in 'classes', found set"),
    "mapping of classes to score": (lambda: scored(classes=anything({0: "cat"})), DataError, "expected a list in 'classes', found dict"),
    "text as classes": (lambda: scored(classes="cat"), DataError, "expected a list in 'classes', found 'cat'"),
    "number as a class to score": (lambda: scored(classes=anything([0])), NotFoundError, "has no 0; it has cat, dog"),
    "empty name of an image": (lambda: objects(image=["", "b"]), DataError, "a name must not be empty, and one of 'image' is"),
    "empty name of a class": (lambda: objects(classes=["cat", "dog", ""]), DataError, "a name must not be empty, and one of 'classes' is"),
    "class twice": (lambda: objects(classes=["cat", "cat", "dog"]), DataError, "'cat' stands twice among the names of 'classes'"),
    "image twice": (lambda: objects(images=["a", "b", "a"]), DataError, "'a' stands twice among the names of 'images'"),
    "more classes than are counted": (lambda: objects(label=[0, 1], classes=list(map(str, range(2**15)))), DataError, "expected at most 32,767 classes, found 32,768"),
    "mapping turned round": (lambda: objects(label=[7, 90], classes=anything({"cat": 7, "dog": 90})), DataError, "expected whole numbers with a name each in 'classes', or a list of names, found 'cat' with 7: turn it round"),
    "mapping with numbers as texts": (lambda: objects(label=[7, 90], classes=anything({"7": "cat", "90": "dog"})), DataError, "expected whole numbers with a name each in 'classes', or a list of names, found the key '7'"),
    "class beyond a mapping": (lambda: objects(label=[7, 8], classes={7: "cat", 90: "dog"}), DataError, "unknown 'label': 8; 'classes' has 7, 90"),
    "class beyond a list": (lambda: objects(label=[1, 2], classes=["cat", "dog"]), DataError, "expected numbers from 0 to 1 in 'label', found 2"),
    "class of 64 bits beyond a list": (lambda: objects(label=np.array([0, 2**64 - 1], np.uint64), classes=["cat", "dog"]), DataError, "expected numbers from 0 to 1 in 'label', found 18446744073709551615"),
    "half a class": (lambda: objects(label=[0.5, 1.0]), DataError, "expected texts or whole numbers in 'label', found 0.5"),
    "NaN as a class": (lambda: objects(label=[np.nan, 1.0]), DataError, "expected texts or whole numbers in 'label', found nan"),
    "float beyond what floats count": (lambda: objects(image=[2.0**63, 1.0]), DataError, "expected texts or whole numbers in 'image', found 9.223372036854776e+18"),
    "truth values as classes": (lambda: objects(label=[True, False]), DataError, "expected texts or whole numbers in 'label', found True"),
    "texts and numbers": (lambda: objects(label=[1, "dog"]), DataError, "expected texts or whole numbers in 'label', found 1 beside 'dog'"),
    "texts and numbers as objects": (lambda: objects(label=np.array(["dog", 1], object)), DataError, "expected texts or whole numbers in 'label', found 1 beside 'dog'"),
    "numbers for images that the truth names": (lambda: evaluate(detections(image=[0, 1]), objects(), protocol="coco"), DataError, "the ground truth has no image '0', '1'; it has a, b; numbers are names, unless `images=` lists what they count"),
    "numbers for classes that the truth names": (lambda: evaluate(detections(label=[0, 1]), objects(), protocol="voc2012"), DataError, "numbers are names, unless `classes=` lists what they count"),
    "class without an object": (lambda: evaluate(detections(label=["cat", "wolf"]), objects(), protocol="coco"), DataError, "the ground truth has no class 'wolf'; it has cat, dog; `classes=` of the ground truth lists those without an object, too"),
    "image without an object": (lambda: evaluate(detections(image=["a", "c"]), objects(), protocol="coco"), DataError, "the ground truth has no image 'c'; it has a, b; `images=` of the ground truth lists those without an object, too"),
    "accent of its own": (lambda: evaluate(detections(image=["e\u0301", "b"]), objects(image=["\xe9", "b"]), protocol="coco"), DataError, r"they differ in Unicode: 'e\u0301' is not '\xe9'"),
    "generator as a column": (lambda: detections(score=(each for each in [0.9, 0.8])), DataError, "expected an array or a list, found a generator: make a list of it"),
    "None as a score": (lambda: detections(score=[0.9, None]), DataError, "expected a number in every row of 'score', found None in row 1"),
    "text as a score": (lambda: detections(score=["0.9", "0.8"]), DataError, "expected numbers in 'score', found texts"),
    "one box without a list": (lambda: detections(boxes=[0, 0, 10, 10]), DataError, "expected 'boxes' as four numbers each, shape (n, 4), found shape (4,)"),
    "boxes with angles": (lambda: detections(boxes=np.ones((2, 5))), DataError, "expected 'boxes' as four numbers each, shape (n, 4), found shape (2, 5)"),
    "unknown convention": (lambda: objects(convention="coco"), DataError, "as 'convention', found 'coco'"),
    "sizes in halves": (lambda: objects(sizes=[[10.5, 10], [10, 10]]), DataError, "expected width and height in whole pixels for each of 2 images in 'sizes', found 10.5"),
    "other keys in dicts": (lambda: Detections.from_dicts([{"bboxes": BOXES, "scores": [0.5, 0.5], "labels": [0, 1]}]), DataError, "no image has 'boxes'; they have bboxes, scores, labels"),
    "a single dict": (lambda: Detections.from_dicts({"boxes": BOXES, "scores": [0.5, 0.5], "labels": [0, 1]}), DataError, "expected a list with a mapping for each image, found the mapping of a single image"),
    "list of COCO as predictions": (lambda: evaluate(anything([FOUND]), objects(), protocol="coco"), DataError, "expected Detections, InstanceMasks, Confidences, LabelMaps, Layouts or the path of an archive, found list"),
    "mapping of COCO as truth": (lambda: evaluate(detections(), anything({"images": []}), protocol="coco"), DataError, "expected GroundTruth to score against, found dict"),
    "no convention": (lambda: GroundTruth.from_dicts([{"boxes": BOXES, "labels": [0, 1]}]), DataError, "expected 'half-open' (right - left is the width, as in COCO and torchvision) or 'inclusive' (right and bottom are the last pixels of the box, as in VOC) as 'convention', found none"),
    "fewer labels": (lambda: objects(label=["cat"]), DataError, "expected columns of one length, found 2 of 'image' and 1 of 'label'"),
    "fewer crowds": (lambda: objects(crowd=[1]), DataError, "expected columns of one length, found 2 of 'image' and 1 of 'crowd'"),
    "more areas": (lambda: objects(area=[1, 2, 3]), DataError, "expected columns of one length, found 2 of 'image' and 3 of 'area'"),
    "fewer masks": (lambda: GroundTruth.from_masks(["a", "b"], ["cat", "dog"], MASKS[:1]), DataError, "expected columns of one length, found 2 of 'image' and 1 of 'masks'"),
    "fewer dicts than images": (lambda: Detections.from_dicts([{"boxes": BOXES, "scores": [0.5, 0.5], "labels": [0, 1]}], images=["a", "b"]), DataError, "expected columns of one length, found 2 of 'images' and 1 of 'entries'"),
    "crowds of some of supervision's images": (lambda: GroundTruth.from_supervision([seen(), seen(data={})], convention="half-open"), DataError, "the image '1' has no 'iscrowd'"),
    "dicts without masks": (lambda: GroundTruth.from_dicts([{"boxes": BOXES, "labels": [0, 1]}], masks=True), DataError, "no image has 'masks'; they have boxes, labels"),
    "run lengths of less": (lambda: masks(masks=[{"size": [40, 60], "counts": "PPYo0"}] * 2), DataError, "'counts' are no run lengths that cover the image exactly, of 40 x 60 pixels"),
    "run lengths without counts": (lambda: masks(masks=[{"size": [40, 60]}] * 2), DataError, "expected masks of shape (height, width), or run lengths {'size': [height, width], 'counts': …}, found that 'counts' is missing"),
    "run lengths of no size": (lambda: masks(masks=[{"size": 40, "counts": [1]}] * 2), DataError, "found that 'size' is 40 instead of [height, width]"),
    "truth without a table": (lambda: GroundTruth.of_bytes(changed_truth("objects.boxes")), DataError, "the file of the kind 'truth' is damaged: Objects.__init__() missing 1 required positional argument: 'boxes'"),
    "truth without a column of COCO's": (lambda: GroundTruth.of_bytes(changed_truth("coco.image")), DataError, "the file of the kind 'truth' is damaged: CocoTable.__init__() missing 1 required positional argument: 'image'"),
    "truth with other facts": (lambda: GroundTruth.of_bytes(changed_truth(facts={"classes": 7})), DataError, "the file of the kind 'truth' is damaged"),
    "truth of fewer sizes": (lambda: GroundTruth.of_bytes(changed_truth(sizes=np.ones((1, 2), np.int32))), DataError, "the file of the kind 'truth' is damaged"),
    "polygons as a mask": (lambda: masks(masks=[SQUARE] * 2), DataError, "expected masks of 0 and 1, found one with values from 0 to 10"),
    "masks of probabilities": (lambda: masks(masks=MASKS * 0.7), DataError, "expected masks of 0 and 1, found one with values from 0.0 to 0.7; of probabilities take `masks > 0.5`"),
    "masks of 0 and 255": (lambda: masks(masks=MASKS * np.uint8(255)), DataError, "expected masks of 0 and 1, found one with values from 0 to 255; take `masks > 0`"),
    "masks with an axis of one": (lambda: masks(masks=MASKS[:, None]), DataError, "expected masks of shape (height, width), found one of shape (1, 40, 60), of which masks[:, 0] takes the axis away"),
    "bbox for masks": (lambda: of_json(masks="bbox"), DataError, "expected True for masks or False for boxes as 'masks', found 'bbox'"),
    "keypoints for masks": (lambda: of_json(masks="keypoints"), DataError, "expected True for masks or False for boxes as 'masks', found 'keypoints'"),
    "background among the classes of maps": (lambda: maps([[[0, 1]]], ["background", "cat"]), DataError, "in 'classes', 'background' is no class: 0 is the background, k the k-th class, 255 void; leave it out"),
    "label beyond the classes": (lambda: maps([[[0, 7]]]), DataError, "in the image '0', expected labels from 0 to 2, and 255, found 7"),
    "predicted label beyond the classes": (lambda: evaluate(LabelMaps.from_arrays([[[0, 7]]]), maps([[[0, 1]]]), protocol="voc2012"), DataError, "expected labels up to 2 in the image '0', found 7"),
    "label maps of floats": (lambda: maps(np.zeros((1, 4, 4))), DataError, "expected whole numbers as the labels of the image '0', found float64"),
    "label maps of colours": (lambda: maps(np.zeros((1, 4, 4, 3), np.uint8)), DataError, "with shape (height, width), found (4, 4, 3)"),
    "name of a protocol in capitals": (lambda: scored("VOC2012"), NotFoundError, "no protocol is called 'VOC2012'; did you mean 'voc2012'?"),
    "no protocol": (lambda: scored(anything(None)), NotFoundError, "no protocol is called None; there are voc2006"),
    "truth and predictions swapped": (lambda: evaluate(anything(objects()), anything(detections()), protocol="coco"), DataError, "the two seem to be swapped"),
    "COCO's truth and predictions swapped": (lambda: evaluate_coco(LISTS, [FOUND]), SubmissionError, "the two files seem to be swapped"),
    "intervals of swapped arguments": (lambda: intervals_of(anything(objects()), anything(scored())), DataError, "expected Result as 'result', found GroundTruth; the order is result, truth"),
    "description before the archive": (lambda: validate(anything(objects().description), anything("x.zip")), DataError, "expected Description as 'description', found str; the order is archive, description"),
    "diagnosis of swapped arguments": (lambda: diagnose(scored("voc2012"), anything(detections()), anything(objects())), DataError, "expected GroundTruth as 'truth', found Detections; the order is result, truth, predictions"),
    "boxes of swapped arguments": (lambda: list(detections_of(anything(objects()), anything(scored()), detections())), DataError, "expected Result as 'result', found GroundTruth; the order is result, truth, found"),
    "segmentations of swapped arguments": (lambda: create_segmentations_from_detections(anything(objects().description), anything("x.zip"), "out"), DataError, "expected Description as 'description', found str; the order is archive, description, folder"),
    "counts of detections": (lambda: count_objects(anything(detections())), DataError, "expected GroundTruth as 'truth', found Detections"),
    "hierarchy in place of detections": (lambda: expand_detections(anything(objects()), anything(detections())), DataError, "expected Detections as 'detections', found GroundTruth; the order is detections, hierarchy"),
    "comparison of results": (lambda: compare(anything(scored()), anything(scored())), DataError, "expected Replicates as `bootstrap(result, truth)` gives them, found Result"),
    "class that a result does not have": (lambda: scored()["owl"], NotFoundError, "the result has no class 'owl'; it has cat, dog"),
    "labels of a precision that are none": (lambda: average_precision([0, 2], [0.5, 0.4]), DataError, "expected 'y_true' as 1 for a positive and 0 or -1 for a negative, shape (n,), found 2"),
    "a number of detections": (lambda: coco(max_detections=anything(100)), DataError, "expected a list in 'max_detections', found 100"),
    "no detection": (lambda: coco(max_detections=[0]), DataError, "expected a whole number from 1 in 'max_detections', found 0"),
    "negative detections": (lambda: coco(max_detections=[10, -1]), DataError, "expected a whole number from 1 in 'max_detections', found -1"),
    "half a detection": (lambda: coco(max_detections=anything([1.5])), DataError, "expected a whole number from 1 in 'max_detections', found 1.5"),
    "a number of detections twice": (lambda: coco(max_detections=[10, 10]), DataError, "10 stands twice in 'max_detections'"),
    "a threshold without a list": (lambda: coco(iou=anything(0.5)), DataError, "expected a list in 'iou', found 0.5"),
    "thresholds in percent": (lambda: coco(iou=[50, 75]), DataError, "expected a number above 0 and up to 1 as 'iou', found 50"),
    "a threshold of 0": (lambda: coco(iou=[0, 0.5]), DataError, "expected a number above 0 and up to 1 as 'iou', found 0"),
    "NaN as a threshold": (lambda: coco(iou=[float("nan")]), DataError, "expected a number above 0 and up to 1 as 'iou', found nan"),
    "no thresholds": (lambda: coco(iou=[]), DataError, "expected at least one value in 'iou', found none"),
    "mapping of areas": (lambda: coco(areas=anything({"all": (0, 1e10)})), DataError, "expected a list in 'areas', found dict"),
    "areas without all of them": (lambda: coco(areas=[("small", 0, 10), ("all", 0, 1e10)]), DataError, "expected a first range in 'areas' that holds all others, such as ('all', 0, 1e10), found 'small' from 0 to 10, which does not hold 'all'"),
    "areas of one name": (lambda: coco(areas=[("all", 0, 1e10), ("tiny", 0, 5), ("tiny", 5, 9)]), DataError, "'tiny' stands twice in 'areas'"),
    "areas turned round": (lambda: coco(areas=[("all", 1e10, 0)]), DataError, "expected areas from 0, the smallest first, in 'areas', found ('all', 10000000000.0, 0)"),
    "COCO's JSON by VOC": (lambda: of_json(protocol="voc2012"), NotFoundError, "COCO's JSON is scored by coco or lvis, not by 'voc2012'"),
    "path of nothing": (lambda: GroundTruth.from_coco("nothing.json"), PathError, "there is no file 'nothing.json'"),
    "name of a file as an id": (lambda: of_json(image={"file_name": "1.jpg"}, found={"image_id": "1.jpg"}), SubmissionError, "expected 1, the 'id' of the image with this 'file_name', as 'image_id', found \"1.jpg\""),
    "mask as rows in JSON": (lambda: of_json(found={"segmentation": MASKS[0].astype(int).tolist()}, masks=True), SubmissionError, "found 40 rows of 60 values, a mask as an array, which has to be encoded as run lengths"),
    "box with an angle in JSON": (lambda: of_json(found={"bbox": [0, 0, 10, 10, 45]}), SubmissionError, "expected four numbers, left, top, width and height, neither of the last two below 0, as 'bbox', found 5 values, [0, 0, 10, 10, 45]"),
    "box of corners in JSON": (lambda: of_json(annotation={"bbox": [0, 0, 9, 0, 9, 9, 0, 9]}), SubmissionError, "as 'bbox', found 8 values, [0, 0, 9, 0, 9, 9, 0, 9]"),
    "id of 64 bits in JSON": (lambda: of_json(image={"id": 2**63 + 5}), SubmissionError, "expected a whole number from -9223372036854775808 to 9223372036854775807 as 'id', found 9223372036854775813"),
    "text as an id in JSON": (lambda: of_json(image={"id": "x"}), SubmissionError, "expected a whole number (texts are no ids here) as 'id', found \"x\""),
    "number in quotes in JSON": (lambda: of_json(found={"image_id": "1"}), SubmissionError, "expected a whole number, without quotes, as 'image_id', found \"1\""),
    "NaN in JSON": (lambda: of_json(found={"score": float("nan")}), SubmissionError, "NaN is no number"),
    "comma before a comma": (lambda: evaluate_coco('[\n{"image_id": 1,\n"score": 0.9,,\n"category_id": 1}]', LISTS), SubmissionError, "detections.json:3: this is not JSON: column 14 of this line (entry 0): expected a name in double quotes, found ','"),
    "file that ends too early": (lambda: evaluate_coco('[\n{"image_id": 1},\n{"image_id"', LISTS), SubmissionError, "detections.json:3: this is not JSON"),
    "something after the list": (lambda: evaluate_coco("[]\nxyz", LISTS), SubmissionError, "detections.json:2: this is not JSON: column 1 of this line: expected the end of the file, found 'xyz'"),
    "flat polygon": (lambda: of_json(found={"segmentation": [0, 0, 10, 0, 10, 10]}, masks=True), SubmissionError, "found a list of 6 numbers, which belong into a list of their own"),
    "polygon of points": (lambda: of_json(found={"segmentation": [[[0, 0], [10, 0], [10, 10]]]}, masks=True), SubmissionError, "found that polygon 1 of 1 is a list of points [x, y] instead of one list x, y, x, y, …"),
    "polygon of two points": (lambda: of_json(found={"segmentation": [*SQUARE, [0, 0, 1, 1]]}, masks=True), SubmissionError, "found that polygon 2 of 2 has 4 numbers; at least 6 are needed"),
    "run lengths of another size": (lambda: of_json(found={"segmentation": {"size": [60, 40], "counts": [0, 2400]}}, masks=True), SubmissionError, "'size' is [60, 40], but the image's height and width are 40, 60"),
    "two categories of one name": (lambda: evaluate_coco([], {"images": [IMAGE], "categories": [CAT, CAT | {"id": 2}], "annotations": [OBJECT]}), SubmissionError, "'name' is 'cat' like one before; classes are told apart by their names here, so each needs its own"),
    "JSON without a list": (lambda: evaluate_coco('{"x": 1}', LISTS), SubmissionError, "expected a list of detections, or an object with such a list as 'annotations'"),
    "tuple as a key": (lambda: GroundTruth.from_coco({"images": [{(1, 2): 3}]}), DataError, "found tuple as a key"),
    "annotated box turned round, with a mask": (lambda: of_json(annotation={"bbox": [0, 0, -5, 10]}, masks=True), SubmissionError, "neither of the last two below 0, as 'bbox', found 4 values, [0, 0, -5, 10]"),
    "score beyond all floats": (lambda: Detections.from_coco([FOUND | {"score": 10**400}], GroundTruth.from_coco(LISTS)), SubmissionError, "expected a number as 'score', found 1000"),
    "polygon of a number": (lambda: of_json(found={"segmentation": [*SQUARE, 5]}, masks=True), SubmissionError, "found that polygon 2 of 2 is 5"),
    "no area": (lambda: evaluate_coco([], {"images": [IMAGE], "categories": [CAT], "annotations": [{name: OBJECT[name] for name in OBJECT if name != "area"}]}), SubmissionError, "'area' is missing"),
    "another class than those that are named": (lambda: truth_of_boxes({"a": Annotation(9, 9, (AnnotatedObject("cat", Box(1, 1, 9, 9)),))}, dataset="own", image_set="val", classes=["dog"]), DataError, "'cat' is none of the classes dog"),
    "object of pycocotools": (lambda: GroundTruth.from_coco(anything(SimpleNamespace(dataset={}))), DataError, "found SimpleNamespace; its `dataset` can be read"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "expected"), RIGHT.values(), ids=RIGHT)
def test_odd_input_gives_the_right_value(call: Callable[[], object], expected: object) -> None:
    with warnings.catch_warnings(action="error"):
        assert call() == expected


@pytest.mark.parametrize(("call", "kind", "words"), REFUSED.values(), ids=REFUSED)
def test_odd_input_is_refused_with_what_was_found_and_expected(
    call: Callable[[], object], kind: type[Exception], words: str
) -> None:
    with warnings.catch_warnings(action="error"), pytest.raises(kind) as refused:
        call()

    assert words in str(refused.value)
    assert isinstance(refused.value, ScoringError)


@dataclass(frozen=True)
class Sent:
    """Something that people send to another process."""

    make: Callable[[], Any]
    seen: Callable[[Any], object]


def _result(result: Result) -> object:
    return result, result.figures, result.notes


SENT = {
    "boxes by COCO": Sent(scored, lambda result: (_result(result), result.explain())),
    "masks by COCO": Sent(of_masks, lambda result: (_result(result), result.explain())),
    "COCO's JSON": Sent(of_json, lambda result: (_result(result), result.explain())),
    "boxes by VOC": Sent(lambda: scored("voc2012"), _result),
    "label maps": Sent(of_maps, _result),
    "labels": Sent(of_labels, _result),
    "actions": Sent(of_actions, _result),
    "layouts": Sent(of_layouts, _result),
    "intervals": Sent(lambda: intervals_of(scored("voc2012"), objects(), replicates=9), lambda table: table),
    "replicates": Sent(lambda: bootstrap(scored(), objects(), replicates=9), lambda drawn: drawn.values.tobytes()),
    "ground truth": Sent(objects, lambda truth: truth.fingerprint),
    "detections": Sent(detections, lambda found: (found.images, found.boxes.tolist())),
    "error of data": Sent(lambda: DataError("no"), str),
    "error of a name": Sent(lambda: NotFoundError("there is no 'owl'"), str),
    "error of a submission": Sent(lambda: SubmissionError(Problem("code", "no")), str),
    "error of a path": Sent(lambda: PathError(2, "no", "x"), lambda error: (str(error), error.filename)),
}  # fmt: skip


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, copy.copy, lambda value: pickle.loads(pickle.dumps(value))],
    ids=["deep", "flat", "pickle"],
)
@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_a_copy_says_the_same(sent: Sent, copied: Callable[[Any], Any]) -> None:
    value = sent.make()

    assert sent.seen(copied(value)) == sent.seen(value)


@pytest.mark.parametrize("name", ["voc2006", "voc2012", "open_images_metrics", "coco", "lvis"])
def test_protocols_can_be_sent_to_another_process(name: str) -> None:
    protocol = PROTOCOLS[name]

    sent = pickle.loads(pickle.dumps(protocol))

    assert protocol_of(sent) is sent  # its rules are those of its name
    assert (sent.name, sent.title) == (protocol.name, protocol.title)


@pytest.mark.sampled
def test_everything_public_works_without_docstrings_and_assertions() -> None:
    program = """
import heldout_scoring
for name in heldout_scoring.__all__:
    getattr(heldout_scoring, name)
truth = heldout_scoring.GroundTruth.from_arrays(["a"], ["cat"], [[0, 0, 9, 9]], convention="half-open")
found = heldout_scoring.Detections.from_arrays(["a"], ["cat"], [0.5], [[0, 0, 9, 9]])
result = heldout_scoring.evaluate(found, truth, protocol="voc2012")
print(result.headline, heldout_scoring.intervals_of(result, truth, replicates=9).rows[-1].value)
"""

    done = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("1.0 1.0\n", "")


@pytest.mark.sampled
def test_protocols_are_described_without_docstrings() -> None:
    said = [
        subprocess.run([sys.executable, *options, "-m", "heldout_scoring", "protocols"], capture_output=True, text=True, check=True).stdout
        for options in ((), ("-OO",))
    ]  # fmt: skip

    assert said[0] == said[1]
    assert "voc2012" in said[0]
