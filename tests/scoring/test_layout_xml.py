import math

import numpy as np
import pytest
from hypothesis import given as generated
from hypothesis import strategies as st

from heldout_scoring.data.annotations import Box, Part
from heldout_scoring.data.layouts import UNLISTED, Layout, layouts_to_xml
from heldout_scoring.errors import Problem, Problems, Severity
from heldout_scoring.readers.image_index import ImageIndex
from heldout_scoring.tasks.detection_files import inverted, read_detections
from tests.scoring.layout_builders import HEAD, layout, phase, read, results

BOXED = phase(("a_1", 0))
PERSON = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>30</xmax><ymax>40</ymax></bndbox>"


def boxed(*inside: str, image: str = "a_1") -> str:
    return f"<layout><image>{image}</image><confidence>1</confidence>{''.join(inside or (PERSON, HEAD))}</layout>"


def problems(content: str | bytes, mistakes: Severity = Severity.NOTE) -> list[str]:
    return [str(problem) for problem in read(content, mistakes=mistakes)[1].listed]


def codes(content: str | bytes) -> list[tuple[str, int | None]]:
    return [(problem.code, problem.line) for problem in read(content)[1].listed]


def notes(content: str | bytes) -> list[Problem]:
    return list(read(content)[1].notes)


def test_layouts_are_read_as_arrays_in_the_order_of_the_file() -> None:
    foot = HEAD.replace("head", "foot").replace("<ymax>9</ymax>", "<ymax> 9.5\n</ymax>")
    found, said = read(results(layout(HEAD, foot, image="a_2", number="2", confidence="-1e1"), layout()))

    assert said.listed == said.notes == ()
    assert len(found) == 2
    assert found.person.tolist() == [1, 0]
    assert found.confidence.tolist() == [-10, 0.5]
    assert found.first.tolist() == [0, 2, 3]
    assert found.kind.tolist() == [0, 2, 0]
    assert found.parts.tolist() == [[1, 1, 9, 9], [1, 1, 9, 9.5], [1, 1, 9, 9]]
    assert np.isnan(found.boxes).all()


def test_in_a_set_of_images_a_layout_has_a_box_in_place_of_a_number() -> None:
    found, said = read(results(boxed()), BOXED)

    assert said.listed == said.notes == ()
    assert (found.person.tolist(), found.boxes.tolist()) == ([0], [[1, 2, 30, 40]])


def test_in_a_set_of_images_an_image_may_have_several_layouts() -> None:
    _, said = read(results(boxed(image="a_2"), boxed(), boxed(), boxed(PERSON)), BOXED)

    assert [(each.code, each.line) for each in said.listed] == [("unknown-image", 2)]
    assert [(each.code, each.line) for each in said.notes] == [("empty-layout", 5)]


def test_in_a_set_of_images_a_number_is_refused_and_a_box_required() -> None:
    _, said = read(results(layout()), BOXED)

    assert [(each.code, each.line) for each in said.listed] == [
        ("unexpected-element", 2),
        ("missing-element", 2),
    ]


FALSE_POSITIVE = {
    "unknown image 'b_1'": layout(image="b_1"),
    "did you mean 'a_1'?": layout(image="a_1.jpg"),
    "expected an object's number, counted from 1, as object, found '0'": layout(number="0"),
    "as object, found '1.0'": layout(number="1.0"),
    "as object, found '１'": layout(number="１"),
    "expected a finite number as confidence, found 'NaN'": layout(confidence="NaN"),
    "expected a finite number as confidence, found '1e999'": layout(confidence="1e999"),
    "expected a decimal number as confidence, found '1_0'": layout(confidence="1_0"),
    "expected a decimal number as confidence, found ''": layout(confidence=" "),
    "expected a decimal number as ymax, found '９'": layout(HEAD.replace("9</ymax>", "９</ymax>")),
    "a coordinate of 2e+06 as xmax; expected values within ±1000000 pixels": layout(
        HEAD.replace("9</xmax>", "2e6</xmax>")
    ),
    "unknown part class 'tentacle'; expected one of head, hand, foot": layout(
        HEAD.replace("head", "tentacle")
    ),
    "<layout> has no <image>; expected one": layout().replace("<image>a_1</image>", ""),
    "<layout> has no <object>; expected one": layout().replace("<object>1</object>", ""),
    "<layout> has no <confidence>; expected one": layout().replace("<confidence>0.5</confidence>", ""),
    "<part> has no <class>; expected one": layout(HEAD.replace("<class>head</class>", "")),
    "<part> has no <bndbox>; expected one": layout("<part><class>head</class></part>"),
    "<bndbox> has no <ymin>; expected one": layout(HEAD.replace("<ymin>1</ymin>", "")),
    "<layout> has a second <image>; expected one": layout("<image>a_1</image>", HEAD),
    "<bndbox> has a second <xmin>; expected one": layout(HEAD.replace("<ymin>", "<xmin>1</xmin><ymin>")),
    "unexpected element <pose> in <layout>; expected <image> or <object> or": layout(
        "<pose>Left</pose>", HEAD
    ),
    "unexpected element <b> in <image>; expected only text": layout(image="a_1<b/>"),
    "unexpected attribute 'id' of <layout>; expected none": layout().replace("<layout", "<layout id='1'"),
    "unexpected attribute 'x' and 1 more of <part>": layout(HEAD.replace("<part", "<part x='1' y='2'")),
    "unexpected text 'here' in <part>": layout(HEAD.replace("<part>", "<part> here ")),
    "the text of <confidence> is too long; at most 1000 characters": layout(confidence="1" * 1001),
    "a document type (DOCTYPE) is not allowed": "<!DOCTYPE results>",
}


@pytest.mark.parametrize("sentence", FALSE_POSITIVE)
def test_problems_are_reported_with_their_line(sentence: str) -> None:
    if FALSE_POSITIVE[sentence].startswith("<!"):
        assert sentence in problems(FALSE_POSITIVE[sentence] + results(layout()))[0]
        return
    good = layout(image="a_2", number="2")
    [found] = problems(results(good, FALSE_POSITIVE[sentence]))

    assert found.startswith("comp7_layout_val.xml:3: ")
    assert sentence in found
    assert found.isprintable()


def test_an_invalid_layout_is_left_out() -> None:
    wrong = (layout(confidence="x"), layout(HEAD, HEAD.replace("head", "ear")), layout(number="-1"))
    found, _ = read(results(*wrong, layout(image="a_2", number="2")))

    assert found.person.tolist() == [1]


def test_all_problems_are_reported_at_once_each_with_its_line() -> None:
    content = layout(
        "\n" + HEAD.replace("head", "ear"), "\n" + HEAD.replace("<xmin>1", "<xmin>one"), confidence="?"
    )

    assert codes(results(content, layout(image="b_1"))) == [
        ("not-a-number", 2),
        ("unknown-part", 3),
        ("not-a-number", 4),
        ("unknown-image", 5),
    ]


def test_persons_outside_the_set_and_second_layouts_are_noted_as_in_the_kits() -> None:
    found, said = read(results(layout(), layout(number="7"), layout(confidence="0.9")))

    assert said.listed == ()
    assert found.person.tolist() == [0, UNLISTED, 0]
    assert [(note.code, note.line) for note in said.notes] == [("unlisted-person", 3), ("second-layout", 4)]
    assert "person 7 of 'a_1' is not in the Layout set of VOC2012 val" in said.notes[0].message
    assert "the first is on line 2" in said.notes[1].message


def test_empty_layouts_and_inverted_boxes_are_kept_and_count_as_errors() -> None:
    inverted = HEAD.replace("<xmin>1<", "<xmin>20<")
    content = results(layout(), layout(inverted, image="a_2", number="2"), layout("\n"))

    found, said = read(content)
    assert len(found) == 3
    assert said.listed == ()
    assert [(note.code, note.line) for note in said.notes] == [
        ("inverted-box", 3),
        ("second-layout", 4),
        ("empty-layout", 4),
    ]
    [box, empty] = problems(content, Severity.PROBLEM)
    assert "the box is inverted: right (xmax) is 9, left (xmin) is 20" in box
    assert "has no <part>; expected at least one; and it is a duplicate: line 2 has a layout" in empty


@pytest.mark.parametrize(("low", "high"), [(51, 50), (50, 49), (900, 60), (1, 0), (1, -5), (0, -1)])
def test_a_box_clipped_at_the_image_border_is_not_inverted(low: int, high: int) -> None:
    sides = HEAD.replace("<xmin>1<", f"<xmin>{low}<").replace("<xmax>9<", f"<xmax>{high}<")

    assert problems(results(layout(sides)), Severity.PROBLEM) == []


@pytest.mark.parametrize(("low", "high"), [(900, 38), (60, 10), (2, 0), (9, -5), (20, 19)])
def test_any_other_box_without_pixels_is_inverted(low: int, high: int) -> None:
    sides = HEAD.replace("<ymin>1<", f"<ymin>{low}<").replace("<ymax>9<", f"<ymax>{high}<")

    [found] = problems(results(layout(sides)), Severity.PROBLEM)
    assert f"the box is inverted: bottom (ymax) is {high}, top (ymin) is {low}" in found


@generated(st.tuples(*[st.integers(-3, 60)] * 4))
def test_layouts_and_detections_agree_on_which_boxes_are_inverted(edges: tuple[int, ...]) -> None:
    sides = ("xmin", "ymin", "xmax", "ymax")
    box = "".join(f"<{side}>{edge}</{side}>" for side, edge in zip(sides, edges, strict=True))
    part = f"<part><class>head</class><bndbox>{box}</bndbox></part>"
    index = ImageIndex.of(phase())
    line = f"a_1 0.5 {' '.join(map(str, edges))}\n".encode()

    detected = inverted(
        read_detections(line, index, file="", problems=Problems(mistakes=Severity.NOTE)), index
    )

    assert (problems(results(layout(part)), Severity.PROBLEM) != []) == detected.any()


def test_a_file_without_a_layout_or_without_a_part_is_a_problem() -> None:
    assert problems("<results/>") == ["comp7_layout_val.xml: no <layout> is in the file: it is empty"]
    assert problems(results(layout(" "))) == ["comp7_layout_val.xml: no layout has a <part>"]


def test_a_declaration_comments_and_other_line_ends_are_read() -> None:
    content = '<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n<!-- ours -->\n' + results(layout())

    found, said = read(content.replace("\n", "\r\n"))

    assert len(found) == 1
    assert (said.listed, [note.code for note in said.notes]) == ((), ["line-ends"])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_skipped_with_a_note(encoding: str) -> None:
    found, said = read(results(layout()).encode(encoding))

    assert len(found) == 1
    assert (said.listed, [note.code for note in said.notes]) == ((), ["byte-order-mark"])


def test_only_predefined_xml_entities_are_read() -> None:
    assert "unknown image 'a&1'" in problems(results(layout(image="a&amp;1")))[0]
    assert "undefined entity" in problems(results(layout(image="&x;")))[0]


UNREADABLE = {
    "not well-formed XML: syntax error at line 1, column 1": "a_1 0.5 1 2 3 4\n",
    "not well-formed XML: no element found at line 1, column 1": "",
    "not well-formed XML: unclosed token at line 3": results(layout())[:-5],
    "not well-formed XML: no element found at line 2": results(layout())[:-11],
    "junk after document element": results(layout()) * 2,
    "not well-formed (invalid token)": "<results>\0</results>",
    "unexpected element <html> as the outermost; expected <results>": "<html/>",
    "the encoding 'UTF-7' is not supported; expected UTF-8": '<?xml version="1.0" encoding="UTF-7"?><results/>',
    "the encoding 'zlib_codec' is not supported": '<?xml version="1.0" encoding="zlib_codec"?><results/>',
    "(DOCTYPE) is not allowed, nor are entities": '<!DOCTYPE r [<!ENTITY a "b">]><results>&a;</results>',
    "a processing instruction is not allowed, found <?xml-stylesheet": "<?xml-stylesheet a?><results/>",
    "nested too deep; at most 32 levels": "<results>" + "<a>" * 40 + "</a>" * 40 + "</results>",
    "too many elements; at most 10000 in one <layout>": results(layout(HEAD * 1700)),
}


@pytest.mark.parametrize("sentence", UNREADABLE)
def test_unreadable_files_are_explained_in_plain_words(sentence: str) -> None:
    found = problems(UNREADABLE[sentence])

    assert any(sentence in each for each in found), found
    assert not any("is empty" in each for each in found)


def test_invalid_bytes_are_reported_as_not_well_formed() -> None:
    assert (
        "not well-formed XML" in problems(b"<results><layout><image>\xff\xfe</image></layout></results>")[0]
    )


def test_long_files_are_read_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heldout_scoring.archives.xml_records.MOST_ELEMENTS", 30)
    assert "too many elements; at most 30 are read" in problems(results(*[layout()] * 9))[-1]
    monkeypatch.setattr("heldout_scoring.archives.xml_records.MAX_FILE_PROBLEMS", 3)
    assert (
        "stopped after 3 problems in this file; what follows line 4 was not read"
        in problems(results(*["<a/>"] * 9))[-1]
    )
    monkeypatch.setattr("heldout_scoring.archives.xml_records.MOST_BYTES", 100)
    assert "the file has 4 bytes" not in problems("<a/>")[0]
    assert problems(" " * 101) == [
        "comp7_layout_val.xml: the file has 101 bytes, too large; at most 100 are read as XML"
    ]


number = st.floats(-1e6, 1e6, allow_nan=False)
box = st.builds(Box, number, number, number, number)
part = st.builds(Part, st.sampled_from(["head", "hand", "foot"]), box)
layouts = st.builds(
    Layout,
    st.sampled_from(["a_1", "a_2"]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(part, min_size=1, max_size=3).map(tuple),
    st.integers(1, 3),
)


@generated(st.lists(layouts, min_size=1, max_size=5))
def test_written_layouts_are_read_back_to_the_last_bit(written: list[Layout]) -> None:
    found, said = read(layouts_to_xml(written), phase(("a_1", 1), ("a_2", 3), ("a_2", 2)))

    assert said.listed == ()
    assert found.confidence.tolist() == [each.confidence for each in written]
    kinds = [part.name for each in written for part in each.parts]
    assert [("head", "hand", "foot")[kind] for kind in found.kind] == kinds
    assert found.parts.tolist() == [
        [part.box.left, part.box.top, part.box.right, part.box.bottom]
        for each in written
        for part in each.parts
    ]


def test_the_box_of_a_written_person_is_read_back() -> None:
    head = Part("head", Box(1, 1, 9, 9))
    found, said = read(layouts_to_xml([Layout("a_1", 0.5, (head,), box=Box(0.1, 2, 30, 1 / 3))]), BOXED)

    assert said.listed == ()
    assert found.boxes.tolist() == [[0.1, 2, 30, 1 / 3]]
    assert not math.isnan(found.boxes.sum())


@generated(st.binary(max_size=60), st.integers(0, 300), st.integers(0, 20))
def test_arbitrary_bytes_only_cause_problems(junk: bytes, place: int, cut: int) -> None:
    good = results(layout(), layout(image="a_2", number="2")).encode()
    found, said = read(good[:place] + junk + good[place + cut :])

    assert len(found) <= 3
    for each in said.listed + said.notes:
        assert str(each).isprintable()
        assert len(str(each)) < 1000
