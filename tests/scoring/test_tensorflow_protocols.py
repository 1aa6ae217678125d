import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as generated
from hypothesis import strategies as st

from heldout_scoring import PROTOCOLS, ClassResult, Result, evaluate
from heldout_scoring.data.annotations import AnnotatedObject, Annotation, Box
from heldout_scoring.data.truth import GroundTruth, truth_of_boxes
from heldout_scoring.readers.voc_tree import read_tree
from heldout_scoring.tasks.layout import LAYOUT
from tests.scoring import tensorflow_oracles as oracles
from tests.scoring.builders import Kit, annotation, thing
from tests.scoring.oracles import Prediction, Thing
from tests.scoring.test_groups import things
from tests.scoring.test_matching import predictions

CLASSES = ("cat", "dog", "emu")
PASCAL = "pascal_voc_detection_metrics"
WEIGHTED = "weighted_pascal_voc_detection_metrics"
OPEN_IMAGES = "oid_V2_detection_metrics"
IMAGES = ("a_0", "a_1", "a_2", "a_3")

Classes = dict[str, tuple[list[Prediction], list[Thing]]]


def truth_of(classes: Classes) -> GroundTruth:
    objects: dict[str, list[AnnotatedObject]] = {image: [] for image in IMAGES}
    for name, (_, there) in classes.items():
        for each in there:
            objects[IMAGES[each.image]].append(
                AnnotatedObject(name, Box(*each.box), each.difficult, group_of=each.group_of)
            )
    pages = {image: Annotation(50, 40, tuple(found)) for image, found in objects.items()}
    return truth_of_boxes(pages, dataset="VOC2012", image_set="val", classes=CLASSES)


def results(folder: Path, classes: Classes) -> Path:
    main = folder / "results" / "VOC2012" / "Main"
    main.mkdir(parents=True, exist_ok=True)
    for name, (given, _) in classes.items():
        lines = (f"{IMAGES[a.image]} {a.confidence} {' '.join(map(str, a.box))}\n" for a in given)
        (main / f"comp3_det_val_{name}.txt").write_text("".join(lines))
    return folder


def scored(folder: Path, classes: Classes, protocol: str) -> Result:
    sent = results(folder, classes)
    return evaluate(sent, truth_of(classes), competition=3, protocol=protocol, accepted=True)


@pytest.mark.sampled
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@generated(st.fixed_dictionaries({name: st.tuples(predictions, things) for name in CLASSES}))
def test_headlines_equal_those_of_a_plain_loop(tmp_path: Path, classes: Classes) -> None:
    for protocol, expected in (
        (PASCAL, oracles.mean(classes)),
        (WEIGHTED, oracles.pooled(classes)),
        (OPEN_IMAGES, oracles.mean(classes, open_images=True)),
        (f"{PASCAL}-documented", oracles.mean(classes, documented=True)),
        (f"{WEIGHTED}-documented", oracles.pooled(classes, documented=True)),
        (f"{OPEN_IMAGES}-documented", oracles.mean(classes, open_images=True, documented=True)),
    ):
        report = scored(tmp_path, classes, protocol)

        if math.isnan(expected):
            assert report.headline is None
            assert report.headline_reason
        else:
            assert report.headline == pytest.approx(expected, abs=1e-12)


CAT = Thing(0, (0, 0, 10, 10))
FOUND = Prediction(0, 0.9, (0, 0, 10, 10))
MISSED = Prediction(1, 0.8, (0, 0, 10, 10))


def test_the_mean_is_over_classes_with_positives(tmp_path: Path) -> None:
    classes = {"cat": ([FOUND], [CAT]), "dog": ([FOUND], []), "emu": ([], [])}

    report = scored(tmp_path, classes, PASCAL)

    assert report.headline == 1
    assert report.classes[1] == ClassResult("dog", None, "there is no such object in the set", 0, 1)
    assert report.classes[2] == ClassResult("emu", None, "there is no such object in the set", 0, 0)


def test_classes_are_weighted_by_their_number_of_objects(tmp_path: Path) -> None:
    dogs = [Thing(image, (0, 0, 10, 10)) for image in range(3)]
    classes = {
        "cat": ([MISSED], [CAT]),
        "dog": ([Prediction(n, 0.5, (0, 0, 10, 10)) for n in range(3)], dogs),
    }

    report = scored(tmp_path, {**classes, "emu": ([], [])}, WEIGHTED)

    # 0.8 wrong, then three right ones of four
    assert report.headline == pytest.approx(3 / 4 * 3 / 4, abs=1e-15)
    assert [each.value for each in report.classes] == [0, 1, None]


def test_by_program_but_not_by_text_the_pool_omits_classes_without_positives(tmp_path: Path) -> None:
    classes = {"cat": ([FOUND], [CAT]), "dog": ([Prediction(0, 0.95, (0, 0, 1, 1))], []), "emu": ([], [])}

    assert scored(tmp_path, classes, WEIGHTED).headline == 1
    assert scored(tmp_path, classes, f"{WEIGHTED}-documented").headline == 0.5


def test_a_class_without_a_file_counts_as_having_no_detections(tmp_path: Path) -> None:
    classes = {"cat": ([FOUND], [CAT]), "dog": ([], [CAT]), "emu": ([], [])}
    folder = results(tmp_path, classes)
    for name in ("dog", "emu"):
        (folder / "results" / "VOC2012" / "Main" / f"comp3_det_val_{name}.txt").unlink()

    for protocol in (PASCAL, WEIGHTED, OPEN_IMAGES):
        report = evaluate(folder, truth_of(classes), competition=3, protocol=protocol)
        assert report.headline == 0.5
        assert [each.value for each in report.classes] == [1, 0, None]
    assert evaluate(folder, truth_of(classes), competition=3, protocol="voc2012").headline is None


def test_boxes_without_an_area_and_the_lowest_confidences_do_not_count(tmp_path: Path) -> None:
    empty, inverted = Prediction(0, 0.95, (2, 2, 2, 8)), Prediction(0, 0.95, (8, 8, 2, 2))
    lowest = Prediction(0, -10.0, (30, 30, 40, 40))
    classes = {"cat": ([empty, inverted, FOUND, lowest], [CAT]), "dog": ([], []), "emu": ([], [])}

    for protocol, expected in ((PASCAL, 1), (f"{PASCAL}-documented", 1 / 3)):
        report = scored(tmp_path, classes, protocol)
        assert report.headline == pytest.approx(expected, abs=1e-15)
        assert report.classes[0].predictions == 4


def test_without_objects_there_is_no_headline(tmp_path: Path) -> None:
    classes: Classes = {name: ([FOUND], []) for name in CLASSES}

    report = scored(tmp_path, classes, WEIGHTED)
    assert (report.headline, report.headline_reason) == (None, "there is no such object in the set")
    report = scored(tmp_path, classes, PASCAL)
    assert (report.headline, report.headline_reason) == (None, "a class has no value")


def test_groups_count_only_under_the_open_images_protocol(
    tmp_path: Path,
) -> None:
    herd = thing("cow", (1, 1, 45, 35), said="groupof")
    tree = Kit(tmp_path / "VOC2012", "val").main({"a_1": annotation(herd, thing("cow", (2, 2, 10, 10)))})
    main = tmp_path / "sent" / "results" / "VOC2012" / "Main"
    main.mkdir(parents=True)
    (main / "comp3_det_val_cow.txt").write_text("a_1 0.9 20 20 30 30\na_1 0.5 2 2 10 10\n")
    read_tree(tree.root, "val").save(tmp_path / "truth")
    truth = GroundTruth.open(tmp_path / "truth")

    reports = {
        name: evaluate(tmp_path / "sent", truth, competition=3, protocol=name)
        for name in (OPEN_IMAGES, PASCAL)
    }

    assert [(r.headline, r.classes[0].positives) for r in reports.values()] == [(1, 1), (0.25, 2)]


def test_tensorflow_protocols_use_the_rules_of_voc2012_for_other_tasks() -> None:
    for name in (PASCAL, WEIGHTED, OPEN_IMAGES):
        assert PROTOCOLS[name].rules_of(LAYOUT) == PROTOCOLS["voc2012"].rules_of(LAYOUT)
        assert "TensorFlow" in PROTOCOLS[name].title


def test_protocols_are_still_found_by_their_former_names() -> None:
    earlier = {
        "pascal_voc_metrics": PASCAL,
        "weighted_pascal_voc_metrics": WEIGHTED,
        "open_images_metrics": OPEN_IMAGES,
    }

    assert all(PROTOCOLS[alias] is PROTOCOLS[name] for alias, name in earlier.items())
