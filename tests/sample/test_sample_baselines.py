"""The baselines: the contents of their archives and the differences between their scores."""

import io
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from defusedxml.ElementTree import fromstring
from PIL import Image

from sample import ACTIONS, CLASSES, Baseline, draw_baselines, draw_challenge
from sample.annotations import Box, presence
from sample.truth import Truth, read_truth

Prediction = tuple[float, bool | None]  # confidence, and true positive, false positive or ignored


class Drawn(NamedTuple):
    truth: Truth
    baselines: tuple[Baseline, ...]

    def of(self, competition: int) -> list[Baseline]:
        return [one for one in self.baselines if one.competition == competition]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    folder = tmp_path_factory.mktemp("challenge")
    tree = draw_challenge(folder, images=120).tree
    return Drawn(read_truth(tree, "test"), draw_baselines(tree, folder / "baselines", image_set="test"))


def members(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {one.name: file.read() for one in tar if (file := tar.extractfile(one)) is not None}


def average_precision(predictions: Sequence[Prediction], positives: int) -> float:
    """The mean over positives of the precision down to each, accurate enough to distinguish the baselines."""
    matched = total = 0
    precisions = 0.0
    for _, is_match in sorted(predictions, key=lambda prediction: -prediction[0]):
        if is_match is not None:
            total, matched = total + 1, matched + is_match
            precisions += is_match * matched / total
    return precisions / positives


def overlap(one: Sequence[float], box: Box) -> float:
    across = min(one[2], box.right) - max(one[0], box.left) + 1
    down = min(one[3], box.bottom) - max(one[1], box.top) + 1
    if across <= 0 or down <= 0:
        return 0.0
    whole = (one[2] - one[0] + 1) * (one[3] - one[1] + 1)
    return across * down / (whole + (box.right - box.left + 1) * (box.bottom - box.top + 1) - across * down)


def lines_of(archive: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """The class or action of each file of an archive, and its lines split into words."""
    for name, content in members(archive).items():
        yield (
            name.rsplit("_", 1)[1].removesuffix(".txt"),
            [line.split() for line in content.decode().splitlines()],
        )


def mean_detection(truth: Truth, archive: Path) -> float:
    images = {one.image: one for one in truth.annotations}
    scores = []
    for class_name, lines in lines_of(archive):
        objects = {
            image: [thing for thing in one.objects if thing.class_name == class_name]
            for image, one in images.items()
        }
        taken: set[tuple[str, int]] = set()
        predictions: list[Prediction] = []
        for image, sure, *edges in sorted(lines, key=lambda words: -float(words[1])):
            overlaps = [overlap([float(edge) for edge in edges], thing.box) for thing in objects[image]]
            best = int(np.argmax(overlaps)) if overlaps else -1
            hit = bool(overlaps) and overlaps[best] >= 0.5
            if hit and objects[image][best].difficult:
                continue
            predictions.append((float(sure), hit and (image, best) not in taken))
            taken |= {(image, best)} if hit else set()
        positives = sum(not thing.difficult for things in objects.values() for thing in things)
        scores.append(average_precision(predictions, positives))
    return float(np.mean(scores))


def mean_classification(truth: Truth, archive: Path) -> float:
    scores = []
    for class_name, lines in lines_of(archive):
        labels = {one.image: presence(one, class_name) for one in truth.annotations}
        predictions: list[Prediction] = [
            (float(sure), None if labels[image] == 0 else labels[image] > 0) for image, sure in lines
        ]
        scores.append(average_precision(predictions, sum(label > 0 for label in labels.values())))
    return float(np.mean(scores))


def mean_action(truth: Truth, archive: Path) -> float:
    images = {one.image: one for one in truth.annotations}
    scores = []
    for action, lines in lines_of(archive):
        predictions: list[Prediction] = [
            (float(sure), action in (images[image].objects[int(number) - 1].actions or ()))
            for image, number, sure in lines
        ]
        scores.append(average_precision(predictions, sum(bool(is_match) for _, is_match in predictions)))
    return float(np.mean(scores))


def mean_segmentation(truth: Truth, archive: Path) -> float:
    labels = len(CLASSES) + 1
    counts = np.zeros((labels, labels))
    for name, content in members(archive).items():
        image = name.rsplit("/", 1)[1]
        with (
            Image.open(truth.tree / "SegmentationClass" / image) as mask,
            Image.open(io.BytesIO(content)) as result,
        ):
            labels_true, prediction = np.asarray(mask), np.asarray(result)
        pairs = labels_true[labels_true != 255].astype(np.int64) * labels + prediction[labels_true != 255]
        counts += np.bincount(pairs, minlength=labels * labels).reshape(labels, labels)
    both = np.diagonal(counts)
    return float(np.mean(both / (counts.sum(axis=0) + counts.sum(axis=1) - both)))


def mean_layout(truth: Truth, archive: Path) -> float:
    persons = {(one.image, number): one.objects[number - 1] for one, number in truth.layouts}
    predictions: dict[str, list[Prediction]] = defaultdict(list)
    [content] = members(archive).values()
    for layout in fromstring(content).findall("layout"):
        person = persons[layout.findtext("image") or "", int(layout.findtext("object") or 0)]
        free = list(person.parts or ())
        for part in layout.findall("part"):
            edges = [float(part.findtext(f"bndbox/{edge}") or 0) for edge in ("xmin", "ymin", "xmax", "ymax")]
            name = part.findtext("class") or ""
            hits = [true for true in free if true.name == name and overlap(edges, true.box) >= 0.5]
            predictions[name].append((float(layout.findtext("confidence") or 0), bool(hits)))
            free = [true for true in free if not hits or true is not hits[0]]
    names = [part.name for person in persons.values() for part in person.parts or ()]
    return float(
        np.mean(
            [average_precision(predictions[name], names.count(name)) for name in ("head", "hand", "foot")]
        )
    )


MEASURES = {
    1: mean_classification,
    3: mean_detection,
    5: mean_segmentation,
    7: mean_layout,
    9: mean_action,
}

EXPECTED_FILES = {
    1: [f"Main/comp1_cls_test_{name}.txt" for name in CLASSES],
    2: [f"Main/comp2_cls_test_{name}.txt" for name in CLASSES],
    3: [f"Main/comp3_det_test_{name}.txt" for name in CLASSES],
    4: [f"Main/comp4_det_test_{name}.txt" for name in CLASSES],
    7: ["Layout/comp7_layout_test.xml"],
    8: ["Layout/comp8_layout_test.xml"],
    9: [f"Action/comp9_action_test_{name}.txt" for name in ACTIONS],
    10: [f"Action/comp10_action_test_{name}.txt" for name in ACTIONS],
}


def test_each_competition_has_three_described_baselines(drawn: Drawn) -> None:
    for competition in range(1, 11):
        found = drawn.of(competition)
        assert [one.name[-2:] for one in found] == ["-S", "-M", "-L"]
        assert len({one.archive for one in found}) == 3
    for one in drawn.baselines:
        assert "not a method" in one.description
        assert 50 <= len(one.description) <= 2000


def test_the_two_competitions_of_a_task_have_the_same_methods(drawn: Drawn) -> None:
    for given in MEASURES:
        assert [one.name for one in drawn.of(given)] == [one.name for one in drawn.of(given + 1)]


@pytest.mark.parametrize("competition", sorted(EXPECTED_FILES))
def test_archives_contain_the_files_of_their_competition(drawn: Drawn, competition: int) -> None:
    for one in drawn.of(competition):
        assert list(members(one.archive)) == [
            f"results/sample/{name}" for name in EXPECTED_FILES[competition]
        ]


def test_segmentation_archives_have_one_indexed_image_per_segmented_image(drawn: Drawn) -> None:
    sizes = {one.image: (one.width, one.height) for one in drawn.truth.segmented}
    for competition in (5, 6):
        for one in drawn.of(competition):
            folder = f"results/sample/Segmentation/comp{competition}_test_cls"
            found = members(one.archive)
            assert sorted(found) == [f"{folder}/{image}.png" for image in sorted(sizes)]
            for name, content in found.items():
                with Image.open(io.BytesIO(content)) as result:
                    assert result.mode == "P"
                    assert result.size == sizes[Path(name).stem]
                    assert np.asarray(result).max() <= len(CLASSES)


def test_every_image_is_classified_once_and_every_person_for_actions(drawn: Drawn) -> None:
    images = [one.image for one in drawn.truth.annotations]
    persons = [[one.image, str(number)] for one, number in drawn.truth.acting]
    for _, lines in lines_of(drawn.of(1)[0].archive):
        assert [line[0] for line in lines] == images
    for _, lines in lines_of(drawn.of(9)[0].archive):
        assert [line[:2] for line in lines] == persons


def test_detected_boxes_have_six_fields_and_lie_within_their_images(drawn: Drawn) -> None:
    sizes = {one.image: (one.width, one.height) for one in drawn.truth.annotations}
    for baseline in drawn.of(3):
        for _, lines in lines_of(baseline.archive):
            assert lines
            for image, sure, *edges in lines:
                left, top, right, bottom = (float(edge) for edge in edges)
                assert 0 < float(sure) < 1
                assert 1 <= left < right <= sizes[image][0]
                assert 1 <= top < bottom <= sizes[image][1]


@pytest.mark.parametrize("given", sorted(MEASURES))
def test_less_noise_scores_higher(drawn: Drawn, given: int) -> None:
    little, middling, large = (MEASURES[given](drawn.truth, one.archive) for one in drawn.of(given))

    assert 1 > little > middling + 0.04
    assert middling > large + 0.08 > 0.1


@pytest.mark.parametrize("given", sorted(MEASURES))
def test_the_two_competitions_of_a_task_score_slightly_differently(drawn: Drawn, given: int) -> None:
    for with_given, with_other in zip(drawn.of(given), drawn.of(given + 1), strict=True):
        gain = MEASURES[given](drawn.truth, with_other.archive) - MEASURES[given](
            drawn.truth, with_given.archive
        )
        assert -0.05 < gain < 0.2
        assert gain != 0


def test_the_same_seed_gives_the_same_archives_also_for_val(tmp_path: Path) -> None:
    tree = draw_challenge(tmp_path, images=16).tree

    first, second = (draw_baselines(tree, tmp_path / name, image_set="val") for name in ("one", "two"))

    assert [one.archive.read_bytes() for one in first] == [one.archive.read_bytes() for one in second]
    [detection, *_] = [one for one in first if one.competition == 3]
    assert "results/sample/Main/comp3_det_val_person.txt" in members(detection.archive)
