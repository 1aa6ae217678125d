"""Which file belongs to which image, who sees a phase's pictures, and what is drawn over them."""

import json
import zlib
from dataclasses import replace

import pytest

from app.challenges.challenges import PhaseView
from app.core.access import Actor
from app.images.drawing import (
    ClassImages,
    DrawnObject,
    DrawnPrediction,
    ExampleView,
    Overlay,
    PersonPart,
    read_class_images,
    read_overlay,
)
from app.images.lists import OF_RUN, lists_of
from app.images.making import PictureFile, filled_batches
from app.images.matching import FileIndex, match, match_in_folders, size_problem
from app.images.overlays import DrawnRun, version_of
from app.images.pictures import (
    BATCH,
    PictureView,
    can_see_truth,
    candidates,
    draws_annotation,
    withheld,
)
from app.images.viewer import (
    MOST_METHODS,
    SHOWN,
    chosen_competition,
    chosen_runs,
    draw_predictions,
    lines_of_truth,
    marks_of_truth,
    shown,
)
from app.models import ImageMode, PictureSource, Role
from heldout_scoring import Description, Image
from tests.pages.views import PHASE, VAL


def choice(*, is_public: bool = False, draws_truth: bool = False) -> PictureSource:
    """What an organiser chose to show."""
    return PictureSource(is_public=is_public, draws_truth=draws_truth)


ORGANISER = Actor(user_id=1, role=Role.ADMIN, has_second_factor=True)
ANYBODY = Actor()
OVER = replace(PHASE, is_over=True, details_at_close=True)


@pytest.mark.parametrize(
    ("actor", "phase", "source", "sees"),
    [
        (ANYBODY, replace(VAL, draws_images=True), choice(), True),
        (ANYBODY, VAL, choice(is_public=True), False),
        (ORGANISER, VAL, choice(), True),
        (ANYBODY, PHASE, choice(), False),
        (ANYBODY, PHASE, choice(is_public=True, draws_truth=True), False),
        (ANYBODY, OVER, choice(draws_truth=True), False),
        (ORGANISER, PHASE, choice(), False),
        (ORGANISER, PHASE, choice(draws_truth=True), True),
    ],
)
def test_hidden_annotation_is_drawn_only_for_organisers_who_enabled_it(
    actor: Actor, phase: PhaseView, source: PictureSource, *, sees: bool
) -> None:
    assert can_see_truth(actor, phase, source) == sees
    assert draws_annotation(phase, source) >= sees
    assert "is held out" in withheld(PHASE)


def test_files_of_a_tree_are_matched_by_folder_and_two_in_one_are_not_chosen_from() -> None:
    listings = [
        ("JPEGImages", ["b.jpg", "a.png", "a.jpg", "c.gif"]),
        ("PNGImages", ["b.png", "c.png"]),
        ("", ["d.JPEG"]),
    ]

    found = match_in_folders({name: name for name in "abcde"}, listings, numbered=False)

    assert found.of == {"b": "JPEGImages/b.jpg", "c": "PNGImages/c.png", "d": "d.JPEG"}
    assert found.two_files == {"a": ("JPEGImages/a.jpg", "JPEGImages/a.png")}


@pytest.mark.parametrize(
    ("name", "files", "found"),
    [
        (r"images\cb-1.jpg", ["x/cb-1.jpg", "x/cb-2.jpg"], "x/cb-1.jpg"),
        ("https://h/data/upload/a%20b.jpg?w=1", ["a b.jpg"], "a b.jpg"),
        ("/data/local-files/?d=set%5Ca.jpg", ["set/a.jpg", "b/a.jpg"], "set/a.jpg"),
        ("./a.jpg", ["V/a.jpg"], "V/a.jpg"),
        ("V/cam2/1.jpg", ["cam1/1.jpg", "cam2/1.jpg"], "cam2/1.jpg"),
        ("cam2/1.jpg", ["V/cam1/1.jpg", "V/cam2/1.jpg"], "V/cam2/1.jpg"),
        ("A.JPG", ["a.png"], "a.png"),
        ("a.jpg", ["a.png", "a.jpg"], "a.jpg"),
        ("A.jpg", ["a.jpg", "A.jpg"], "A.jpg"),
        ("a.jpg", ["a.jpg", "b/a.jpg"], "a.jpg"),
        ("1.jpg", ["cam1/1.jpg", "cam2/1.jpg"], None),
        ("1", ["1.jpg", "1.png"], None),
        ("frame_1.jpg", ["image_1.jpg"], None),
    ],
    ids=[
        "windows", "address", "local files", "dot", "folder", "top folder", "case", "suffix", "exact case", "shallow",
        "two folders", "two suffixes", "number",
    ],
)  # fmt: skip
def test_a_picture_is_found_by_path_then_by_name_then_without_suffix(
    name: str, files: list[str], found: str | None
) -> None:
    assert match({"7": name}, FileIndex.of(files)).of == ({"7": found} if found else {})


def test_a_number_decides_only_where_no_file_is_named_and_no_other_has_it() -> None:
    files = FileIndex.of(["a_0001.jpg", "b_2.jpg", "c_02.jpg"])

    found = match({"1": "1", "2": "2"}, files, numbered=True)

    assert found.of == {"1": "a_0001.jpg"}
    assert found.two_files == {"2": ("b_2.jpg", "c_02.jpg")}


def test_a_picture_shows_one_image_that_whose_path_it_has() -> None:
    closer = match({"one": "cam1/1.jpg", "two": "cam2/1.jpg"}, FileIndex.of(["cam1/1.jpg"]))
    alike = match({"one": "cam1/1.jpg", "two": "cam2/1.jpg"}, FileIndex.of(["x/1.jpg"]))

    assert (closer.of, closer.two_images) == ({"one": "cam1/1.jpg"}, {})
    assert (alike.of, alike.two_images) == ({}, {"x/1.jpg": ("one", "two")})


def test_a_batch_is_rebuilt_if_a_file_or_the_storage_mode_changes() -> None:
    files = [PictureFile(str(number), 4, 3, "f.jpg", number) for number in range(BATCH + 1)]
    changed = [*files[:-1], replace(files[-1], size=7)]

    first, last = filled_batches(files, ImageMode.LINK, "1")
    same, other = filled_batches(changed, ImageMode.LINK, "1")
    copied, _ = filled_batches(files, ImageMode.COPY, "1")

    assert [(len(each.files), each.number) for each in (first, last)] == [(BATCH, 0), (1, 1)]
    assert (first.fingerprint == same.fingerprint, last.fingerprint == other.fingerprint) == (True, False)
    assert copied.fingerprint != first.fingerprint


def test_a_picture_of_unknown_size_may_have_any_size() -> None:
    assert size_problem((None, None), (4, 3)) is None
    assert size_problem((4, 3), (4, 3)) is None
    assert PictureView(0, "a", None, None, None, None).shown_size == (200, 150)
    assert PictureView(0, "a", 3000, 10, None, None).shown_size == (450, 2)


HEAD = PersonPart("head", (1, 2, 2, 3))
PERSON = DrawnObject(2, "person", (1, 2, 3, 4), True, (HEAD,), ("jumping",))
TRUTH = Overlay("a", False, objects=(PERSON,))


def test_an_overlay_is_used_only_for_its_own_image() -> None:
    part = zlib.compress(json.dumps({"image": "a", "has_labels": True}).encode())

    assert read_overlay(part, "a") == Overlay("a", True)
    assert read_overlay(part, "b") is None
    assert version_of(["a"]) != version_of(["a", "b"])


def test_predictions_are_drawn_by_outcome_and_chosen_person() -> None:
    box = PERSON.box
    found = (
        DrawnPrediction("cat", 0.9, box, 1),
        DrawnPrediction("cat", 0.8, box, 0),
        DrawnPrediction("dog", 0.7, None, -1),
        DrawnPrediction("jumping", 0.6, box, None, 2),
        DrawnPrediction("running", 0.5, None, None, 9),
        DrawnPrediction("person", 0.4, box, None, 2, (HEAD,)),
    )

    marks, lines = draw_predictions(found, 2)

    assert [(mark.kind, mark.is_shown) for mark in marks] == [
        ("hit", True), ("false", True), ("other part", False), ("other", True),
    ]  # fmt: skip
    assert [(mark.label, mark.confidence) for mark in marks] == [
        ("cat", 0.9), ("cat", 0.8), ("head", None), ("jumping", 0.6),
    ]  # fmt: skip
    assert [line.name for line in lines[2:]] == [
        "dog",
        "jumping, object 2",
        "running, object 9",
        "person, object 2",
    ]


@pytest.mark.parametrize(
    ("task", "kinds", "name", "remark"),
    [
        ("detection", ["truth hard"], "person", "difficult"),
        ("layout", ["truth hard", "truth part"], "person", "difficult; head"),
        ("action", ["truth hard"], "jumping", "difficult"),
    ],
)
def test_annotation_is_drawn_as_its_task_requires(
    task: str, kinds: list[str], name: str, remark: str
) -> None:
    assert [mark.kind for mark in marks_of_truth(TRUTH, task)] == kinds
    assert [(line.name, line.outcome) for line in lines_of_truth(TRUTH, task)] == [(name, remark)]


def test_a_threshold_hides_less_confident_predictions() -> None:
    both = [DrawnPrediction("cat", 0.9, None, 1), DrawnPrediction("dog", 0.2, None, 0)]

    assert [shown(both, threshold) for threshold in (None, 0.0, 0.9, 0.95)] == [SHOWN, 2, 1, 0]


def test_the_methods_and_competition_drawn_can_be_chosen() -> None:
    runs = [DrawnRun(number, 3, "m", 1, 1, None) for number in range(9)]

    assert [run.run_id for run in chosen_runs([], runs)] == [0]
    assert [run.run_id for run in chosen_runs([4, 99], runs)] == [4]
    assert len(chosen_runs(range(9), runs)) == MOST_METHODS
    assert chosen_competition(2, [(1, "classification"), (5, "segmentation")]) == 5
    assert chosen_competition(None, [(1, "classification")]) == 1
    assert chosen_competition(None, []) is None


def test_stored_lists_of_images_are_read_back() -> None:
    plain = {"image": "a", "rank": 1, "value": 0.5, "box": [1, 2, 3, 4], "iou": 0.7, "kind": None}
    written = {"class_name": "cat", "lists": [[plain], [], [], [{**plain, "box": None}]]}

    [found] = read_class_images(json.dumps([written]).encode())

    assert found.lists[0] == (ExampleView("a", 1, 0.5, (1, 2, 3, 4), 0.7, None),)
    assert found.lists[3][0].box is None
    assert len(list(lists_of(found, OF_RUN, "detection"))) == 4
    nothing = ClassImages("cat", ((), (), (), ()))
    assert [title for title, _, _ in lists_of(nothing, OF_RUN, "action")] == [
        "True positives",
        "False positives",
        "Missed",
    ]


def test_a_phase_without_images_for_a_task_has_no_candidates() -> None:
    phase = Description("VOC2012", "val", (), (), (), acting=(("b", 1),), further=(Image("b", 9, 9),))

    assert candidates(phase, ["detection", "action"]) == {"detection": [], "action": ["b"]}
