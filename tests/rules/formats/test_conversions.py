"""The same images in every format are the same annotation."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules.formats.builders import read
from tests.rules.formats.scenes import CLASSES, FORMATS, Box, Scene, expected, scenes, sets_of

IMAGES = scenes(20)
Objects = tuple[tuple[str, Box], ...]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("role", ["public", "hidden"])
def test_the_same_images_are_the_same_annotation_in_every_format(
    kind: str, role: str, tmp_path: Path
) -> None:
    found = read(tmp_path, FORMATS[kind](IMAGES), role=role)

    assert found.problems == []
    [classes] = {truth.lists.classes for truth in found.truths.values()}
    assert classes == CLASSES
    assert [*sets_of(found, tmp_path, IMAGES).values()] == [*expected(IMAGES, masks=kind == "masks").values()]


@st.composite
def an_image(draw: st.DrawFn) -> tuple[int, int, Objects]:
    width, height = draw(st.integers(2, 3000)), draw(st.integers(2, 90))
    edges = [
        st.lists(st.integers(0, side), min_size=2, max_size=2, unique=True).map(sorted)
        for side in (width, height)
    ]
    boxes = draw(st.lists(st.tuples(st.sampled_from(CLASSES), *edges), max_size=4))
    return (
        width,
        height,
        tuple((name, (across[0], down[0], across[1], down[1])) for name, across, down in boxes),
    )


@settings(max_examples=8, deadline=None)
@given(st.lists(an_image(), min_size=1, max_size=3))
def test_random_images_survive_every_format(drawn: list[tuple[int, int, Objects]]) -> None:
    every = Scene(
        "all", 20, 20, tuple((name, (0, 0, 20, 20)) for name in CLASSES)
    )  # so that every format knows all classes
    images = [every, *(Scene(f"i{number}", *each) for number, each in enumerate(drawn))]

    for kind, write in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder:
            found = read(Path(folder), write(images))
            assert (kind, found.problems) == (kind, [])
            assert sets_of(found, Path(folder), images) == expected(images, masks=kind == "masks"), kind
