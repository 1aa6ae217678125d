"""The fast reader with regular expressions agrees with the exact one, to which it leaves unusual files."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given as generated
from hypothesis import strategies as st

from heldout_scoring.data.layouts import LayoutSet
from heldout_scoring.tasks.layout_files import read_usual_form
from tests.scoring.layout_builders import HEAD, layout, phase, read, results

NUMBERS = st.sampled_from(["0", "1", "-2.5", ".5", "7.", "1e2", "+3E-1", "12.25", "999999"])
LISTED = LayoutSet.of(phase())


def part(kind: str, left: str, top: str) -> str:
    box = f"<xmin>{left}</xmin><ymin>{top}</ymin><xmax>1e6</xmax><ymax>1000000</ymax>"
    return f"<part>\n<class> {kind}</class><bndbox>{box}</bndbox></part>"


def is_read(content: str | bytes) -> bool:
    return read_usual_form(content.encode() if isinstance(content, str) else content, LISTED) is not None


PARTS = st.builds(part, st.sampled_from(["head", "hand", "foot"]), NUMBERS, NUMBERS)


@generated(st.lists(st.tuples(st.lists(PARTS, min_size=1, max_size=3), NUMBERS), min_size=1, max_size=2))
def test_the_fast_and_the_exact_reader_agree(people: list[tuple[list[str], str]]) -> None:
    content = results(
        *(
            layout(*parts, image=f"a_{place}", number=f"0{place}", confidence=confidence)
            for place, (parts, confidence) in enumerate(people, 1)
        )
    )

    slow, problems = read(content.replace("<results>", "<results><!-- one by one -->"))
    fast = read_usual_form(content.encode(), LISTED)

    assert problems.listed == problems.notes == ()
    assert fast is not None
    for field in fields(slow):
        ours, theirs = getattr(fast, field.name), getattr(slow, field.name)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"), field.name


@pytest.mark.parametrize(
    "content",
    [
        results(layout()),
        '<?xml version="1.0"?>\n' + results(layout()) + "\n\n",
        '<?xml version="1.0" encoding="utf-8"?>' + results(layout(), layout(image="a_2", number="2")),
        results(layout().replace("<part>", "<part>\n\t\n ")),
    ],
)
def test_files_as_programs_write_them_are_read_by_the_fast_reader(content: str) -> None:
    assert is_read(content)


@pytest.mark.parametrize(
    "content",
    [
        "",
        results(),
        results(layout("")),
        results(layout(image="a_9")),
        results(layout(number="0")),
        results(layout(number="2")),
        results(layout(confidence="nan")),
        results(layout(confidence="1e999")),
        results(layout(), layout()),
        results(layout()).replace("a_1", "a&#95;1"),
        results(layout()).replace("a_1", "ä"),
        results(layout()).replace("\n", "\r\n"),
        results(layout()).replace("<part>", '<part id="1">'),
        results(layout()).replace("<part>", "<part>left"),
        results(layout()).replace("<results>", "<!DOCTYPE results><results>"),
        results(layout()).replace("<results>", "<results><?php?>"),
        results(layout()) + "<results/>",
        results(layout()).replace("head", "tail"),
        results(layout(HEAD.replace("<xmax>9", "<xmax>-9"))),
        results(layout(HEAD.replace("<ymax>9", "<ymax>1000001"))),
        results(layout(HEAD.replace("<xmin>1</xmin><ymin>1</ymin>", "<ymin>1</ymin><xmin>1</xmin>"))),
        results(layout(confidence="0." + "5" * 1000)),
        results(layout(*[HEAD] * 1429)),
    ],
)
def test_unusual_or_invalid_files_are_left_to_the_exact_reader(content: str) -> None:
    assert not is_read(content)


def test_sets_of_images_are_left_to_the_exact_reader() -> None:
    assert read_usual_form(results(layout()).encode(), LayoutSet.of(phase(("a_1", 0)))) is None
