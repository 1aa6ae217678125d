"""COCO's JSON is read alike by the fast parser and by Python's, and nothing is read that is not JSON."""

import json
import random
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring import Detections, GroundTruth, SubmissionError, evaluate_coco
from heldout_scoring.data.annotations import CocoTable
from heldout_scoring.errors import Problems
from heldout_scoring.metrics.coco import CocoInstances
from heldout_scoring.readers.coco_json import records
from heldout_scoring.readers.coco_json.detections import read_coco_detections
from heldout_scoring.readers.coco_json.instances import read_instances
from heldout_scoring.readers.coco_json.records import Form, JsonError, read_records
from tests.scoring.test_coco_json import CATEGORIES, FOUND, IMAGES, instances

GOOD = b'{"image_id": 126, "category_id": 18, "bbox": [1.5, 2, 30, 4], "score": 0.25}'
FORM: Form = (("image_id", float), ("category_id", float), ("bbox", tuple[float, ...]), ("score", float))
CHARACTERS = b'0123456789.+-eE[]{},:" _ab/\n'
CHANGES = [
    (b": 126", b":1 26"),
    (b"[1.5, 2,", b"[1.5,2 ,"),
    (b": [1.5", b": 1[.5"),
    (b": [1.5", b": 1.5["),
    (b'"image_id": 126', b'"imag_id": 1e2'),
    (b"score", b"scor"),
    (b"score", b"scoree"),
    (b"score", b"scor.e"),
    (b"0.25}", b"0.25}5"),
    (b'{"im', b'5{"im'),
    *(
        (b"0.25", number)
        for number in (
            b"05",
            b".5",
            b"+5",
            b"5.",
            b"-.5",
            b"00",
            b"-01",
            b"1-5",
            b"- 5",
            b"1.e5",
            b"1e",
            b"1/5",
        )
    ),
    *((b"0.25", number) for number in (b"1e5", b"1E+5", b"-0", b"-0.5", b"0e05", b"1e-05", b"10", b"0.0")),
]


def entries(text: bytes) -> list[object] | None:
    """The entries that the reader finds in a list; None if it is not JSON."""
    try:
        blocks = list(read_records(text, FORM))
    except JsonError:
        return None
    return [entry for block in blocks for entry in block.entries]


def entries_as_python_reads_them(text: bytes) -> list[object] | None:
    try:
        return list(json.loads(text))
    except ValueError:
        return None


def between_good_ones(record: bytes) -> bytes:
    return b"[" + b", ".join([GOOD, record, GOOD]) + b"]"


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_invalid_json_is_refused_by_the_fast_reader_too(before: bytes, after: bytes) -> None:
    text = between_good_ones(GOOD.replace(before, after, 1))

    assert entries(text) == entries_as_python_reads_them(text)


def test_randomly_changed_records_are_read_as_python_reads_them() -> None:
    dice = random.Random(2012)
    for _ in range(3_000):
        record = bytearray(GOOD)
        for _ in range(dice.choice((1, 1, 2))):
            place = dice.randrange(1, len(record) - 1)
            record[place : place + dice.randrange(2)] = bytes([dice.choice(CHARACTERS)])
        text = between_good_ones(bytes(record))

        assert entries(text) == entries_as_python_reads_them(text), text


SEGMENTATIONS: list[Any] = [
    [[1, 2, 6, 2, 6, 6, 1, 6]],
    [[0, 0, 5.5, 0, 5, 10], [1, 1, 3, 3, 3, 1]],
    {"size": [10, 20], "counts": [50, 50, 100]},
    {"size": [10, 20], "counts": "b1b1T3"},
]
OBJECTS: list[dict[str, Any]] = [
    {"id": n, "image_id": 12, "category_id": 7, "bbox": [1.5, 2, 5, 4], "area": 20.25, "iscrowd": 0, "segmentation": each}
    for n, each in enumerate(SEGMENTATIONS, 1)
]  # fmt: skip
DETECTIONS = [{"image_id": 12, "category_id": 7, "bbox": [1.5, 2, 5, 4], "score": 0.25, "segmentation": each} for each in SEGMENTATIONS]  # fmt: skip
KNOWN = read_instances(instances(annotations=OBJECTS), masks=True)
Read = Callable[[bytes], Any]
Column = np.ndarray[Any, Any]


def said(problems: Problems) -> list[tuple[str, ...]]:
    return [
        (each.code, str(each), str(each.found), str(each.expected))
        for each in (*problems.listed, *problems.notes)
    ]


def results(*, masks: bool) -> Read:
    def read(data: bytes) -> Any:
        problems = Problems()
        found = read_coco_detections(data, KNOWN, file="f", problems=problems, masks=masks)
        columns: list[Column] = [found.detections.image, found.detections.label, found.detections.confidence]
        runs = [] if found.masks is None else [found.masks.start, found.masks.end, found.masks.first]
        return [column.tolist() for column in (*columns, found.boxes, found.detections.area, *runs)], said(
            problems
        )

    return read


def annotation(*, masks: bool) -> Read:
    def read(data: bytes) -> Any:
        problems = Problems()
        try:
            found = read_instances(data, masks=masks, problems=problems)
        except SubmissionError:
            return said(problems)
        return values_of(found), said(problems)

    return read


def values_of(found: CocoInstances) -> list[Any]:
    objects = found.objects
    columns: list[Column] = [
        found.images,
        found.sizes,
        found.categories,
        objects.image,
        objects.label,
        objects.area,
    ]
    columns += [objects.crowd, objects.unnumbered, found.boxes]
    columns += [] if found.masks is None else [found.masks.start, found.masks.end, found.masks.first]
    difficult = None if found.difficult is None else found.difficult.tolist()
    return [*(column.tolist() for column in columns), difficult]


TEXTS: list[tuple[Read, bytes]] = [
    (read(masks=masks), json.dumps(value, indent=indent, separators=separators).encode())
    for masks in (False, True)
    for indent, separators in ((None, (", ", ": ")), (None, (",", ":")), (1, (",", ": ")))
    for read, value in (
        (results, DETECTIONS if masks else [{**each, "segmentation": []} for each in DETECTIONS]),
        (results, {"info": {}, "annotations": DETECTIONS}),
        (annotation, {"images": IMAGES, "categories": CATEGORIES, "annotations": OBJECTS}),
    )
]
PIECES = [
    *(bytes([byte]) for byte in CHARACTERS + b"\\\xff"),
    *(b"null", b"true", b"false", b"NaN", b"1e400", b"1e5", b"1.0", b"-", b".5", b"9007199254740993", b"1" * 400),
    *(b"1" * 4301, b'"x"', b"[]", b"{}", b"\\u0069", b"\\ud800", b'"annotations": [', b'"id":1,'),
]  # fmt: skip


def without_the_fast_parser(monkeypatch: pytest.MonkeyPatch, read: Read, text: bytes) -> Any:
    fast = records._decoded
    with monkeypatch.context() as patch:
        patch.setattr(records, "_decoded", lambda text, form: None if form else fast(text, form))
        return read(text)


@pytest.mark.sampled
def test_whatever_is_changed_both_parsers_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(2014)
    for _ in range(1_000):
        read, text = dice.choice(TEXTS)
        changed = bytearray(text)
        for _ in range(dice.choice((0, 1, 1, 2, 3))):
            place = dice.randrange(len(changed))
            changed[place : place + dice.choice((0, 1, 1, 5))] = dice.choice(PIECES)

        assert read(bytes(changed)) == without_the_fast_parser(monkeypatch, read, bytes(changed)), changed


ODD: dict[str, tuple[bytes, str | None]] = {
    "the last of two names": (b'"score": 7, "score": 0.25', None),
    "a name in escapes": (b'"sc\\u006fre": 0.25', None),
    "an id with a point": (b'"score": 0.25, "image_id": 12.0', None),
    "half a character": (b'"score": 0.25, "x": "\\ud800"', None),
    "any bytes": (b'"score": 0.25, "x": "\xff"', None),
    "a large number elsewhere": (b'"score": 0.25, "x": 1e999', None),
    "beyond 64 bits": (b'"score": 0.25, "image_id": 18446744073709551616', "a whole number from -9223372036854775808"),
    "beyond 53 bits": (b'"score": 0.25, "image_id": 9007199254740993', "'image_id' is 9007199254740993, which"),
    "a text": (b'"score": "0.25"', "expected a number as 'score', found \"0.25\""),
    "infinity": (b'"score": 1e999', "expected a number as 'score', found Infinity"),
    "no number": (b'"score": 0.25, "x": NaN', "NaN is no number"),
    "digits": (b'"score": 0.25, "x": ' + b"1" * 4301, "a number has more than 4,300 digits"),
    "depth": (b'"score": 0.25, "x": ' + b"[" * 99_999 + b"]" * 99_999, "nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_parsers_read_in_different_ways_is_read_in_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields, sentence = ODD[name]
    record = b'{"image_id": 12, "category_id": 7, "bbox": [1, 2, 3, 4], %b}' % fields
    text = b"\xef\xbb\xbf[" + record + b"]"

    columns, problems = results(masks=False)(text)

    assert columns[2] == ([0.25] if sentence is None else [])
    assert [sentence in each[1] for each in problems] == ([] if sentence is None else [True])
    assert without_the_fast_parser(monkeypatch, results(masks=False), text) == (columns, problems)


@pytest.mark.sampled
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("more", [{}, {"id": 7, "name": 'a "}{" b', "more": {"a": {"b": []}}}], ids=["plain", "more"])  # fmt: skip
def test_common_records_are_read_by_the_fast_parser(indent: int | None, more: dict[str, Any]) -> None:
    found = [json.loads(GOOD) | more] * 5_000

    for value in (found, {"info": {"a": [7]}, "annotations": found, "images": found}):
        blocks = list(read_records(json.dumps(value, indent=indent).encode(), FORM))

        assert all(block.text for block in blocks)
        assert [block.first for block in blocks[:2]] == [0, len(blocks[0])]
        assert sum(map(len, blocks)) == len(found)


TWICE = {
    f"{name} {value} {place}": (name, lists[:-1] + b", " + more + b"}" if place == "after" else b"{" + more + b", " + lists[1:])
    for lists in [instances(annotations=OBJECTS)]
    for name, written in (("images", "images"), ("categories", "categories"), ("annotations", r"\u0061nnotations"))
    for value in ("[7]", "[]", "null")
    for place in ("after", "before")
    for more in [f'"{written}": {value}'.encode()]
}  # fmt: skip
"""Ground truth with a further list of a name, which is written in letters or in another way."""


@pytest.mark.parametrize("case", TWICE)
def test_a_list_that_stands_twice_is_refused(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, text = TWICE[case]

    for each in (text, text.decode().encode("utf-16")):
        with pytest.raises(SubmissionError, match=f"'{name}' stands twice"):
            read_instances(each)
    monkeypatch.setitem(sys.modules, "msgspec", None)
    with pytest.raises(SubmissionError, match=f"'{name}' stands twice"):
        read_instances(text)


def test_names_that_stand_twice_below_the_top_or_are_not_read_are_no_matter() -> None:
    more = b', "info": {"images": 1, "images": 2}, "info": 7}'

    assert len(read_instances(instances(annotations=OBJECTS)[:-1] + more).boxes) == len(OBJECTS)


@pytest.mark.parametrize("count", [0, 1])
def test_results_that_stand_twice_are_refused(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = json.dumps(DETECTIONS), json.dumps(DETECTIONS[:count])
    text = f'{{"annotations": {one}, "annotations": {other}}}'.encode()

    _, found = results(masks=False)(text)

    assert [each[1] for each in found] == ["f: 'annotations' stands twice; put all entries into one list"]
    assert without_the_fast_parser(monkeypatch, results(masks=False), text)[1] == found


DOUBLED = {
    "bbox": (b'"bbox": [', b'"bbox": [1, 2, 3, 4], "bbox": ['),
    "image_id": (b'"image_id"', b'"im\\u0061ge_id": 3, "image_id"'),
    "iscrowd": (b'"iscrowd": 0, ', b'"iscrowd": 1, "iscrowd": 0, '),
    "counts": (b'"counts"', b'"id": 9, "counts"'),
}
"""A field that stands twice in an entry, in letters or in another way; the last is of another object in the entry."""


@pytest.mark.parametrize("name", DOUBLED)
@pytest.mark.parametrize("masks", [False, True])
def test_fields_that_stand_twice_in_an_annotation_are_told_with_its_place(
    name: str, *, masks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = instances(annotations=OBJECTS).rsplit(DOUBLED[name][0], 1)
    text = DOUBLED[name][1].join((before, after))
    place = "annotations[3] (id 4, image 12)"

    found = annotation(masks=masks)(text)

    if name == "counts":
        assert isinstance(found, tuple)
    else:
        assert [each[1] for each in found] == [
            f"instances.json: {place}: '{name}' stands twice; leave one out"
        ]
    assert found == without_the_fast_parser(monkeypatch, annotation(masks=masks), text)


def test_a_field_that_stands_twice_where_another_entry_lacks_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = instances(annotations=OBJECTS)
    text = text.replace(b'"iscrowd": 0, ', b'"iscrowd": 1, "iscrowd": 0, ', 1)
    before, after = text.rsplit(b'"iscrowd": 0, ', 1)

    found = annotation(masks=False)(before + after)

    assert ["'iscrowd' stands twice" in each[1] for each in found] == [True]
    assert found == without_the_fast_parser(monkeypatch, annotation(masks=False), before + after)


@pytest.mark.parametrize(("name", "place"), [("file_name", "images[0]"), ("name", "categories[0]")])
def test_fields_that_stand_twice_in_images_and_categories_are_told(name: str, place: str) -> None:
    images = [{**each, "file_name": f"{each['id']}.jpg"} for each in IMAGES]
    text = instances(annotations=OBJECTS, images=images).replace(
        f'"{name}"'.encode(), f'"{name}": "x", "{name}"'.encode(), 1
    )

    with pytest.raises(SubmissionError) as refused:
        read_instances(text)

    [said] = [each.message for each in refused.value.problems]
    assert said.startswith(place)
    assert said.endswith(f"'{name}' stands twice; leave one out")


def test_an_id_that_stands_twice_is_found_in_a_large_file() -> None:
    objects = [{**OBJECTS[0], "id": number} for number in range(3_000)]
    objects[-2] = {**objects[5], "image_id": 3}

    with pytest.raises(SubmissionError) as refused:
        read_instances(instances(annotations=objects))

    [problem] = refused.value.problems
    assert problem.code == "duplicate-id"
    assert problem.message == "annotations[2998] (id 5, image 3): 'id' is 5 like one before"


VALUES: list[Any] = [
    *(12, 12.0, -0.0, 3.5, 99, 2**53 + 1, 2**64, 10**400, 1e300, 1e301, float("nan"), float("inf")),
    *(
        True,
        None,
        "12",
        [],
        [1],
        [1, 2, 3, 4],
        (1, 2, 3, 4),
        [1, 2, -3, 4],
        [1, 2, 3, "4"],
        [1, True, 3, 1e10],
        {},
    ),
    *(np.float64(0.25), np.int64(12), np.array([1.5, 2, 3, 4])),
]
TRUTH = GroundTruth.from_coco(instances(annotations=OBJECTS))


def outcome(source: Any) -> Any:
    try:
        found = Detections.from_coco(source, TRUTH)
    except SubmissionError as error:
        return [str(each) for each in error.problems]
    assert found.sizes is not None
    return [each.tolist() for each in (found.image, found.label, found.score, found.boxes, found.sizes)]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([*FOUND, "id"]), st.sampled_from(VALUES)), max_size=3
    )
)
def test_mappings_are_read_as_the_json_that_they_make(changes: list[tuple[int, str, Any]]) -> None:
    mappings = [dict(FOUND) for _ in range(3)]
    for row, name, value in changes:
        mappings[row][name] = value

    assert outcome(mappings) == outcome(json.dumps(mappings, default=lambda each: each.tolist()))


@pytest.mark.sampled
def test_polygons_are_not_all_in_memory_at_once() -> None:
    corners = np.random.default_rng(7).uniform(1, 9, (40, 2)).round(2).ravel().tolist()
    data = instances(
        annotations=[{**OBJECTS[0], "id": number, "segmentation": [corners]} for number in range(4_000)]
    )
    tracemalloc.start()
    try:
        read_instances(data, masks=True)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 4 * len(data)


def test_ground_truth_with_masks_is_not_copied_for_its_fingerprint() -> None:
    corners = [9.0, 1.0, 5.5, 9.0, 1.0, 1.0]
    objects = [{**OBJECTS[0], "id": number, "segmentation": [corners]} for number in range(10_000)]
    data = instances(annotations=objects)
    tracemalloc.start()
    try:
        truth = GroundTruth.from_coco(data)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    again = GroundTruth.of_bytes(truth.content)
    drawn, read = (cast(CocoTable, each.tables.coco).run_start for each in (truth, again))

    assert most < 3 * len(data)
    assert truth.fingerprint == again.fingerprint
    assert drawn is not None
    assert read is not None
    assert (drawn.dtype.name, read.dtype.name) == ("int32", "int64")
    assert drawn.tolist() == read.tolist()
    assert not drawn.flags.writeable


def test_ground_truth_with_masks_names_what_is_wrong_with_boxes_and_masks_at_once() -> None:
    wrong = [OBJECTS[0] | {"bbox": [1]}, OBJECTS[0] | {"id": 1000, "segmentation": []}]

    with pytest.raises(SubmissionError) as caught:
        GroundTruth.from_coco(instances(annotations=wrong))

    assert [each.code for each in caught.value.problems] == ["bad-segmentation", "bad-bbox"]


def test_nothing_but_time_is_lost_without_the_fast_parser(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    truth = {"images": IMAGES, "categories": CATEGORIES, "annotations": OBJECTS}
    path = tmp_path / "found.json"
    path.write_text(json.dumps(DETECTIONS))
    fast = evaluate_coco(path, truth, masks=True)

    monkeypatch.setitem(sys.modules, "msgspec", None)

    assert evaluate_coco(path, truth, masks=True).figures == fast.figures
    assert GroundTruth.from_coco(truth).lists.classes == ("cat", "car")
