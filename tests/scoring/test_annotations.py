import pytest

from heldout_scoring.data.annotations import Box, Part
from heldout_scoring.readers.voc_annotations import (
    AnnotationError,
    ListedImage,
    read_image_set,
    read_size,
    read_text_of_2006,
    read_xml,
)
from tests.scoring.builders import annotation, part, thing

OF_2006 = """# PASCAL Annotation Version 1.00

Image filename : "VOC2006/PNGImages/000003.png"
Image size (X x Y x C) : 640 x 480 x 3
Database : "The VOC2006 Database"
Objects with ground truth : 2 { "PAScarRearTruncDifficult" "PAScow" }

# Details for object 1 ("PAScarRearTruncDifficult")
Original label for object 1 "PAScarRearTruncDifficult" : "PAScarRearTruncDifficult"
Bounding box for object 1 "PAScarRearTruncDifficult" (Xmin, Ymin) - (Xmax, Ymax) : (153, 394) - (528, 170)

# Details for object 2 ("PAScow")
Original label for object 2 "PAScow" : "PAScow"
Bounding box for object 2 "PAScow" (Xmin, Ymin) - (Xmax, Ymax) : (217, 210) - (457, 406)
"""


def test_an_annotation_is_read_with_its_size_and_its_objects_in_order() -> None:
    found = read_xml(annotation(thing("dog"), thing("cat"), width=353, height=500).encode())

    assert (found.width, found.height) == (353, 500)
    assert [each.name for each in found.objects] == ["dog", "cat"]


def test_the_sides_of_a_box_are_read_by_name_and_may_be_fractions() -> None:
    [found] = read_xml(annotation(thing("person", (1, 281.70000076293945, 218, 500))).encode()).objects

    assert found.box == Box(1, 281.70000076293945, 218, 500)


def test_a_flag_is_true_only_if_its_text_is_1() -> None:
    text = annotation(thing("dog", said="difficult truncated occluded groupof"), thing("cat"))
    text = text.replace("<name>cat</name>", "<name>cat</name><difficult>yes</difficult>")

    dog, cat = read_xml(text.encode()).objects

    assert (dog.difficult, dog.truncated, dog.occluded, dog.group_of) == (True, True, True, True)
    assert (cat.difficult, cat.truncated, cat.occluded, cat.group_of) == (False, False, False, False)


def test_parts_belong_to_their_person() -> None:
    [person] = read_xml(
        annotation(thing("person", parts=part("head") + part("foot", (3, 3, 4, 4)))).encode()
    ).objects

    assert person.parts == (Part("head", Box(2, 2, 5, 5)), Part("foot", Box(3, 3, 4, 4)))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("<width>50</width>", "", "the image's size has no <width>"),
        ("<width>50</width>", "<width>0</width>", "expected the image's width in pixels, found '0'"),
        (
            "<width>50</width>",
            "<width>1000000000</width>",
            "expected the image's width in pixels, found '1000000000'",
        ),
        ("<height>40</height>", "<height>-4</height>", "expected the image's height in pixels, found '-4'"),
        ("<name>dog</name>", "<name> </name>", "object 1 has no <name>"),
        ("<xmin>1</xmin>", "", "object 1 has no <xmin>"),
        ("<xmin>1</xmin>", "<xmin>1_0</xmin>", "expected a number in <xmin> of object 1, found '1_0'"),
        ("<xmin>1</xmin>", "<xmin>1e999</xmin>", "expected a number in <xmin> of object 1, found '1e999'"),
        ("<xmin>1</xmin>", "<xmin>11</xmin>", "the box of object 1 ends before it begins: 11 1 10 10"),
        ("<ymin>2</ymin>", "<ymin>6</ymin>", "the box of part 1 of object 1 ends before it begins: 2 6 5 5"),
        ("<name>dog</name>", "<name>dog</name><name>cat</name>", "object 1 has <name> twice"),
        ("</bndbox>", "</bndbox><bndbox/>", "object 1 has <bndbox> twice"),
        ("<xmin>1</xmin>", "<xmin>1</xmin><xmin>2</xmin>", "the box of object 1 has <xmin> twice"),
        (
            "</object>",
            "<difficult>1</difficult><difficult>0</difficult></object>",
            "object 1 has <difficult> twice",
        ),
        ("<name>head</name>", "<name>head</name><name>hand</name>", "part 1 of object 1 has <name> twice"),
        ("</size>", "</size><size/>", "the annotation has <size> twice"),
        ("<width>50</width>", "<width>50</width><width>60</width>", "the image's size has <width> twice"),
        ("</annotation>", "", "this is not plain XML: no element found"),
        (
            "<annotation>",
            '<?xml version="1.0" encoding="tengwar"?><annotation>',
            "this is not plain XML: its encoding is not known",
        ),
        (
            "<annotation>",
            '<!DOCTYPE a [<!ENTITY b "b">]><annotation>',
            "this is not plain XML: it has a document type or entities",
        ),
    ],
)
def test_an_invalid_annotation_is_reported_with_the_reason(old: str, new: str, sentence: str) -> None:
    text = annotation(thing("dog", parts=part("head")))

    with pytest.raises(AnnotationError) as wrong:
        read_xml(text.replace(old, new, 1).encode())

    assert old in text
    assert str(wrong.value).startswith(sentence)


def test_everything_that_is_wrong_in_a_file_is_told_with_its_line() -> None:
    text = annotation(
        "\n" + thing("", (9, 1, 1, 9)), "\n" + thing("cat").replace("<xmin>1", "\n<xmin>one"), width=0
    )

    with pytest.raises(AnnotationError) as wrong:
        read_xml(text.encode())

    assert [(each.line, each.code) for each in wrong.value.mistakes] == [
        (1, "image-size"),
        (2, "missing-field"),
        (2, "inverted-box"),
        (4, "bad-number"),
    ]
    many = annotation(*["<object/>"] * 30).encode()
    with pytest.raises(AnnotationError) as wrong:
        read_xml(many)
    assert (len(wrong.value.mistakes), wrong.value.mistakes[-1].message) == (
        101,
        "50 more mistakes in this file",
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_corners_in_annotations_of_2006_are_put_in_order(end: str) -> None:
    found = read_text_of_2006(OF_2006.replace("\n", end).encode())

    car, cow = found.objects
    assert (found.width, found.height) == (640, 480)
    assert (car.name, car.truncated, car.difficult, car.box) == ("car", True, True, Box(153, 170, 528, 394))
    assert (cow.name, cow.truncated, cow.difficult, cow.box) == ("cow", False, False, Box(217, 210, 457, 406))


@pytest.mark.parametrize(
    ("label", "name", "truncated", "difficult"),
    [
        ("PAScar", "car", False, False),
        ("PAScarFrontal", "car", False, False),
        ("PAScarTrunc", "car", True, False),
        ("PAScarDifficult", "car", False, True),
        ("PASpersonLeftTruncDifficult", "person", True, True),
    ],
)
def test_a_label_of_2006_is_split_into_class_and_flags(
    label: str, name: str, *, truncated: bool, difficult: bool
) -> None:
    found = read_text_of_2006(OF_2006.replace('"PAScow"', f'"{label}"').encode()).objects[1]

    assert (found.name, found.truncated, found.difficult) == (name, truncated, difficult)


def test_an_image_that_2006_marks_as_empty_has_no_objects() -> None:
    assert len(read_text_of_2006(OF_2006.replace("PAScow", "PASnull_annotated").encode()).objects) == 1


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Image size", "Size", "expected the lines 'Image size' and 'Objects with ground truth'"),
        ("640 x 480", "640 x 0", "expected the lines 'Image size' and 'Objects with ground truth'"),
        ("640 x", "6400000000 x", "expected the lines 'Image size' and 'Objects with ground truth'"),
        ("Objects with", "Things with", "expected the lines 'Image size' and 'Objects with ground truth'"),
        ("truth : 2", "truth : 99999999999", "expected the lines 'Image size'"),
        ("truth : 2", "truth : 3", "expected labels and boxes of 3 objects, found 2 and 2"),
        ("(153, 394)", "(153, )", "expected labels and boxes of 2 objects, found 2 and 1"),
        ('"PAScow"', '"cow"', "expected a label such as 'PAScarRearTruncDifficult', found 'cow'"),
    ],
)
def test_an_invalid_annotation_of_2006_is_reported_with_the_reason(old: str, new: str, sentence: str) -> None:
    with pytest.raises(AnnotationError) as wrong:
        read_text_of_2006(OF_2006.replace(old, new).encode())

    assert old in OF_2006
    assert str(wrong.value).startswith(sentence)


def test_an_image_set_may_have_numbers_and_empty_lines() -> None:
    assert read_image_set(b"000001\r\n\n2008_000002  1 -1\n") == (
        ListedImage("000001", ()),
        ListedImage("2008_000002", (1, -1)),
    )


@pytest.mark.parametrize("line", ["a/../b", "..", "a 1 2 3", "a x", "a 1.5", "\u00e9", f"a {10**9}"])
def test_an_invalid_line_of_an_image_set_is_reported_with_its_number(line: str) -> None:
    with pytest.raises(AnnotationError, match="expected an image and at most two whole numbers") as wrong:
        read_image_set(f"000001\n{line}\n".encode())

    assert wrong.value.line == 2


def test_a_byte_order_mark_before_an_image_set_is_skipped() -> None:
    assert read_image_set("\ufeff000001\n".encode()) == (ListedImage("000001", ()),)


def test_an_image_listed_twice_is_reported() -> None:
    with pytest.raises(AnnotationError, match="'000001' is repeated") as wrong:
        read_image_set(b"000001\n000002\n000001\n")

    assert wrong.value.line == 3


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (OF_2006, (640, 480)),
        ("<annotation><size><height>4</height><width> 5 </width></size>", (5, 4)),
        ("<annotation><size><width>5</width></size></annotation>", None),
        ("<annotation><size><width>0</width><height>4</height></size></annotation>", None),
        ("", None),
    ],
    ids=["text of 2006", "the beginning of an XML file", "one side only", "no width", "nothing"],
)
def test_the_size_of_an_image_is_read_from_its_header_alone(text: str, size: tuple[int, int] | None) -> None:
    assert read_size(text.encode()) == size
