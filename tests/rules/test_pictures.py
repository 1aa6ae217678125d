"""Which file shows which image, who sees the pictures of a phase, and what is drawn over them."""

import json
import zlib
from dataclasses import dataclass, replace

import pytest

from app.access import Actor
from app.editions.schemas import PhaseView
from app.gallery.rules import candidates
from app.image_lists.rules import lists_of
from app.models import ImageMode, Role
from app.overlays.rules import (
    entry_of,
    examples_of,
    hard_images_of,
    predictions_of,
    shown,
    truth_of,
    version_of,
)
from app.overlays.schemas import ClassExamples, DrawnPrediction, DrawnRun, ExampleView, HardImage
from app.pictures.rules import (
    BATCH,
    files_by_image,
    filled_batches,
    image_of,
    sees_pictures,
    sees_truth,
    size_problem,
    truth_is_drawn,
    withheld,
)
from app.pictures.schemas import PictureFile, PictureView
from app.viewer.rules import (
    MOST_METHODS,
    chosen_competition,
    chosen_runs,
    drawn,
    lines_of_truth,
    marks_of_truth,
)
from scoring import Description, Image
from tests.pages.views import PHASE, VAL


@dataclass(frozen=True, slots=True)
class Choice:
    """What an organiser chose to show."""

    is_public: bool = False
    draws_truth: bool = False


ORGANISER = Actor(user_id=1, role=Role.ADMIN, has_second_factor=True)
ANYBODY = Actor()
OVER = replace(PHASE, is_over=True, details_at_close=True)


@pytest.mark.parametrize(
    ("actor", "phase", "choice", "sees"),
    [
        (ANYBODY, VAL, Choice(), (True, True)),
        (ANYBODY, PHASE, Choice(), (False, False)),
        (ANYBODY, PHASE, Choice(is_public=True), (True, False)),
        (ANYBODY, PHASE, Choice(is_public=True, draws_truth=True), (True, False)),
        (ANYBODY, OVER, Choice(draws_truth=True), (False, False)),
        (ORGANISER, PHASE, Choice(), (True, False)),
        (ORGANISER, PHASE, Choice(draws_truth=True), (True, True)),
    ],
)
def test_hidden_annotation_is_drawn_for_organisers_who_ask_for_it(
    actor: Actor, phase: PhaseView, choice: Choice, sees: tuple[bool, bool]
) -> None:
    assert (sees_pictures(actor, phase, choice), sees_truth(actor, phase, choice)) == sees
    assert truth_is_drawn(phase, choice) >= sees[1]
    assert "is held out" in withheld(PHASE)


def test_a_file_shows_the_image_of_its_name_or_of_its_number() -> None:
    listings = [
        ("JPEGImages", ["b.jpg", "a.png", "a.jpg", "c.gif"]),
        ("PNGImages", ["c.png"]),
        ("", ["d.JPEG"]),
    ]

    assert files_by_image(listings, numbered=False) == {
        "a": "JPEGImages/a.jpg", "b": "JPEGImages/b.jpg", "c": "PNGImages/c.png", "d": "d.JPEG",
    }  # fmt: skip
    assert image_of("000000000139.jpg", numbered=True) == "139"
    assert image_of("photo.jpg", numbered=True) == "photo"


def test_a_batch_is_made_again_when_a_file_or_the_way_it_is_kept_changes() -> None:
    files = [PictureFile(str(number), 4, 3, "f.jpg", number) for number in range(BATCH + 1)]
    changed = [*files[:-1], replace(files[-1], size=7)]

    first, last = filled_batches(files, ImageMode.LINK, "1")
    same, other = filled_batches(changed, ImageMode.LINK, "1")
    copied, _ = filled_batches(files, ImageMode.COPY, "1")

    assert [(len(each.files), each.first) for each in (first, last)] == [(BATCH, 0), (1, BATCH)]
    assert (first.fingerprint == same.fingerprint, last.fingerprint == other.fingerprint) == (True, False)
    assert copied.fingerprint != first.fingerprint


def test_a_picture_of_unknown_size_may_have_any() -> None:
    assert size_problem((None, None), (4, 3)) is None
    assert size_problem((4, 3), (4, 3)) is None
    assert PictureView(0, "a", None, None, None, None).shown_size == (200, 150)
    assert PictureView(0, "a", 3000, 10, None, None).shown_size == (450, 2)


OBJECT = {
    "number": 2, "name": "person", "box": [1, 2, 3, 4], "difficult": True,
    "parts": [["head", [1, 2, 2, 3]]], "actions": ["jumping"],
}  # fmt: skip
TRUTH = truth_of({"objects": [OBJECT], "labels": False})


def test_an_entry_is_read_as_what_is_drawn() -> None:
    part = zlib.compress(json.dumps({"image": "a", "labels": True}).encode())
    assert entry_of(part, "a") == {"image": "a", "labels": True}
    assert entry_of(part, "b") is None
    assert version_of(["a"]) != version_of(["a", "b"])
    entry = {
        "labels": False,
        "boxes": [["cat", 0.9, [1, 2, 3, 4], 1], ["cat", 0.8, [1, 2, 3, 4], 0]],
        "classes": [["dog", 0.7, -1]],
        "actions": [[2, "jumping", 0.6], [9, "running", 0.5]],
        "layouts": [[2, 0.4, [["head", [1, 2, 2, 3]]]]],
    }

    found = predictions_of(entry, TRUTH).predictions
    marks, lines = drawn(found, 2)

    assert [each.confidence for each in found] == [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    assert [each.box is None for each in found] == [False, False, True, False, True, False]
    assert [(mark.kind, mark.is_shown) for mark in marks] == [
        ("hit", True), ("false", True), ("other part", False), ("other", True),
    ]  # fmt: skip
    assert [line.name for line in lines[2:]] == [
        "dog",
        "jumping, object 2",
        "running, object 9",
        "person, object 2",
    ]
    assert predictions_of(entry, None).predictions[3].box is None


@pytest.mark.parametrize(
    ("task", "kinds", "name", "remark"),
    [
        ("detection", ["truth hard"], "person", "difficult"),
        ("layout", ["truth hard", "truth part"], "person", "difficult; head"),
        ("action", ["truth hard"], "jumping", "difficult"),
    ],
)
def test_annotation_is_drawn_as_its_task_asks(task: str, kinds: list[str], name: str, remark: str) -> None:
    assert [mark.kind for mark in marks_of_truth(TRUTH, task)] == kinds
    assert [(line.name, line.outcome) for line in lines_of_truth(TRUTH, task)] == [(name, remark)]


def test_a_threshold_shows_what_is_at_least_so_confident() -> None:
    both = [DrawnPrediction("cat", 0.9, None, 1), DrawnPrediction("dog", 0.2, None, 0)]

    assert [len(shown(both, threshold, 1)) for threshold in (None, 0.0, 0.9, 0.95)] == [1, 2, 1, 0]


def test_what_is_drawn_first_can_be_chosen() -> None:
    runs = [DrawnRun(number, 3, "m", 1, 1, None) for number in range(9)]

    assert [run.run_id for run in chosen_runs([], runs)] == [0]
    assert [run.run_id for run in chosen_runs([4, 99], runs)] == [4]
    assert len(chosen_runs(range(9), runs)) == MOST_METHODS
    assert chosen_competition(2, [(1, "classification"), (5, "segmentation")]) == 5
    assert chosen_competition(None, [(1, "classification")]) == 1
    assert chosen_competition(None, []) is None


def test_lists_of_images_are_read_as_they_were_written() -> None:
    plain = {"image": "a", "rank": 1, "value": 0.5, "box": [1, 2, 3, 4], "iou": 0.7, "kind": None}
    written = {
        "class_name": "cat",
        "true_positives": [plain],
        "near_misses": [],
        "false_positives": [],
        "missed": [{**plain, "box": None}],
    }
    hard = {
        "class_name": "cat",
        "easiest": [{"image": "a", "rank": 1.5}],
        "hardest": [],
        "confusing": [{"image": "b", "share": 0.2}],
    }

    [found] = examples_of(json.dumps([written]).encode())

    assert found.true_positives == (ExampleView("a", 1, 0.5, (1, 2, 3, 4), 0.7, None),)
    assert found.missed[0].box is None
    [compared] = hard_images_of(json.dumps([hard]).encode())
    assert compared.easiest == (HardImage("a", "rank", 1.5),)
    assert compared.confusing == (HardImage("b", "share", 0.2),)
    assert len(list(lists_of(found, "detection"))) == 4
    segmented = replace(found, missed=(ExampleView("a", None, 0.8, None, None, None),))
    assert [examples[0].kind for _, _, examples in lists_of(segmented, "segmentation") if examples] == [
        "IoU",
        "IoU",
    ]
    nothing = ClassExamples("cat", (), (), (), ())
    assert [title for title, _, _ in lists_of(nothing, "action")] == [
        "True positives",
        "False positives",
        "Missed",
    ]


def test_a_phase_without_images_has_none_to_stand_for_it() -> None:
    phase = Description("VOC2012", "val", (), (), (), acting=(("b", 1),), further=(Image("b", 9, 9),))

    assert candidates(phase, ["detection", "action"]) == {"detection": [], "action": ["b"]}
