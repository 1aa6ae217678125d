from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL.Image import Palette

from heldout_scoring import Validation, validate
from heldout_scoring.archives.png import labels_to_png
from heldout_scoring.data.arrays import Bytes
from heldout_scoring.data.description import Description, Image
from heldout_scoring.data.label_maps import LABEL_COLOURS, LabelMap, label_colours
from heldout_scoring.errors import Problem, Problems
from heldout_scoring.readers.image_index import ImageIndex
from heldout_scoring.tasks.segmentation_files import read_label_image
from tests.scoring.pngs import Parts, picture, saved

FILE = "comp5_test_cls/a.png"
PHASE = Description(
    dataset="VOC2012",
    image_set="test",
    classes=("bird", "car"),
    actions=(),
    images=(Image("a", 4, 3),),
    segmentation=("a", "b", "c"),
    further=(Image("b", 2, 2),),
)
SIZES = {"a": (3, 4), "b": (2, 2), "c": (5, 5)}


def read(data: bytes) -> tuple[LabelMap | None, tuple[Problem, ...]]:
    problems = Problems()
    return read_label_image(data, ImageIndex.of(PHASE), file=FILE, problems=problems), problems.listed


def labels(*some: int) -> Bytes:
    image = np.zeros((3, 4), np.uint8)
    image.flat[: len(some)] = some
    return image


def results(folder: Path, **files: bytes) -> Path:
    """The folder of an archive with a valid mask for each image, or the given bytes in its place (b"" for no file)."""
    place = folder / "results" / "VOC2012" / "Segmentation" / "comp5_test_cls"
    place.mkdir(parents=True)
    for name, size in SIZES.items():
        content = files.get(name, labels_to_png(np.zeros(size, np.uint8)))
        if content:
            (place / f"{name}.png").write_bytes(content)
    return folder


def validated(folder: Path, **files: bytes) -> Validation:
    return validate(results(folder, **files), PHASE, competitions=(5,))


def test_labels_are_read_for_the_image_in_the_file_name() -> None:
    found, problems = read(labels_to_png(labels(2, 1)))

    assert problems == ()
    assert found
    assert (found.image, found.grey, found.recoloured) == ("a", False, False)
    assert np.array_equal(found.labels, labels(2, 1))


def test_only_the_colours_of_labels_that_occur_are_checked() -> None:
    permuted = bytes(3) + LABEL_COLOURS[6:9] + LABEL_COLOURS[3:6] + LABEL_COLOURS[9:]

    for some, recoloured in (((0,), False), ((1,), True), ((2,), True)):
        found, _ = read(saved(picture(labels(*some), permuted)))
        assert found
        assert found.recoloured is recoloured
    short, _ = read(Parts(palette=label_colours(3)).to_bytes())
    assert short
    assert not short.recoloured


def test_grey_values_are_read_as_labels() -> None:
    found, problems = read(Parts(kind=0, palette=b"").to_bytes())

    assert problems == ()
    assert found
    assert (found.grey, found.recoloured) == (True, False)


@pytest.mark.parametrize(
    ("some", "words"),
    [
        ((0, 0, 0, 0, 0, 3), "the label 3 at column 2, row 2 is out of range"),
        ((0, 9, 4), "the label 9 at column 2, row 1 is out of range, the first of 2 such pixels"),
    ],
)
def test_an_unknown_label_is_reported_with_value_and_place(some: tuple[int, ...], words: str) -> None:
    found, [problem] = read(labels_to_png(labels(*some)))

    assert found is None
    assert str(problem) == f"{FILE}: {words}; expected values from 0 to 2"


def test_void_is_refused_in_results() -> None:
    _, [problem] = read(labels_to_png(labels(255)))

    assert (problem.code, problem.found, problem.expected) == ("label-range", "255", "0 to 2")
    assert problem.message.endswith("255 (void) is for the ground truth only")


def test_all_invalid_files_of_an_archive_are_reported_at_once(tmp_path: Path) -> None:
    validation = validated(
        tmp_path, a=labels_to_png(labels(7)), b=labels_to_png(labels()), c=labels_to_png(labels())[:-30]
    )

    assert not validation.valid
    assert [(problem.file, problem.code) for problem in validation.problems] == [
        ("comp5_test_cls/a.png", "label-range"),
        ("comp5_test_cls/b.png", "wrong-size"),
        ("comp5_test_cls/c.png", "truncated-png"),
    ]


def test_known_sizes_are_checked_outside_the_main_set_too(tmp_path: Path) -> None:
    known = validated(tmp_path / "b", b=labels_to_png(np.zeros((2, 3), np.uint8)))
    unknown = validated(tmp_path / "c", c=labels_to_png(np.zeros((9, 9), np.uint8)))

    assert str(known.problems[0]).endswith("3 x 2 pixels (width x height); expected 2 x 2")
    assert unknown.valid


def test_every_image_needs_a_mask(tmp_path: Path) -> None:
    validation = validated(tmp_path, a=b"", c=b"")

    [problem] = validation.problems
    assert str(problem) == "comp5: 2 of 3 images are missing; every image needs its mask: a, c"
    assert validation.competitions[0].present == ("b",)
    assert validation.competitions[0].lines == 1


def test_grey_images_and_other_palettes_are_noted_once_for_all_files(tmp_path: Path) -> None:
    validation = validated(
        tmp_path, a=Parts(kind=0, palette=b"").to_bytes(), b=saved(picture(labels()[:2, :2], b"\1" * 768))
    )

    assert validation.valid
    assert [note.code for note in validation.notes] == ["grey-image", "other-palette"]
    assert all("comp5: 1 of 3 images" in note.message for note in validation.notes)


def adaptive(some: Bytes) -> bytes:
    return saved(picture(some).convert("RGB").convert("P", palette=Palette.ADAPTIVE))


def quantised(some: Bytes) -> bytes:
    return saved(picture(some).convert("RGB").quantize())


def reordered(some: Bytes) -> bytes:
    """As programs write it that number colours as they meet them, here with the last class first."""
    order = [2, 0, 1]
    colours = b"".join(LABEL_COLOURS[3 * label : 3 * label + 3] for label in order)
    return labels_to_png(np.argsort(order).astype(np.uint8)[some], colours)


@pytest.mark.parametrize("written", [adaptive, quantised, reordered])
def test_colours_of_the_kit_at_other_indices_are_a_warning(
    tmp_path: Path, written: Callable[[Bytes], bytes]
) -> None:
    drawn = labels(2, 2, 2, 2, 1, 1)  # as many pixels of each colour do not decide which index it gets

    found = validated(tmp_path, a=written(drawn), b=written(drawn[:2, :2]))

    [warning] = found.warnings
    assert (found.valid, found.notes, warning.code) == (True, (), "moved-colours")
    assert warning.message.startswith(
        "comp5: in 2 of 3 images the colours of the development kit stand at other indices, such as that of "
    )
    assert warning.file in {"comp5_test_cls/a.png", "comp5_test_cls/b.png"}


@pytest.mark.parametrize(
    "palette",
    [bytes(each for level in range(256) for each in (level,) * 3), b"\1\2\3" * 256, bytes(range(256)) * 3],
)
def test_other_colours_than_those_of_the_kit_stay_a_note(tmp_path: Path, palette: bytes) -> None:
    found = validated(tmp_path, a=saved(picture(labels(2, 1), palette)))

    assert ([note.code for note in found.notes], found.warnings) == (["other-palette"], ())


def test_descriptions_without_sizes_of_further_images_are_still_read() -> None:
    text = PHASE.to_json()
    older = text.replace(',"further":[["b",2,2]]', "")

    assert Description.from_json(text) == PHASE
    assert older != text
    assert Description.from_json(older).further == ()
