import pytest

from heldout_scoring.data.annotations import AnnotatedObject, Box
from heldout_scoring.data.description import Image
from heldout_scoring.readers.open_images import read_open_images
from heldout_scoring.readers.voc_annotations import AnnotationError

HEADER = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"
CAT = "a,xclick,/m/01yrx,1,0.5,1,0,0.25,0,0,0,0,0"
IMAGES = (Image("b", 10, 10), Image("a", 100, 80))


def csv(*lines: str, header: str = HEADER, end: str = "\n") -> bytes:
    return "".join(f"{line}{end}" for line in (header, *lines)).encode()


def test_boxes_are_read_as_objects_of_their_images_in_file_order() -> None:
    found = read_open_images(
        csv(CAT, "b,v,/m/x,1,0.1,.2,0.3,4e-1,1,-1,1,0,0", CAT.replace("0.5", "0")), IMAGES
    )

    assert list(found) == ["b", "a"]
    assert (found["a"].width, found["a"].height) == (100, 80)
    assert found["b"].objects == (
        AnnotatedObject("/m/x", Box(1, 3, 2, 4), truncated=False, occluded=True, group_of=True),
    )
    assert [each.box.left for each in found["a"].objects] == [50, 0]


def test_labels_get_their_names_and_other_classes_are_skipped() -> None:
    content = csv(CAT, CAT.replace("/m/01yrx", "/m/other"), CAT.replace("a,", "elsewhere,"))

    found = read_open_images(content, IMAGES, {"/m/01yrx": "cat"})

    assert [each.name for each in found["a"].objects] == ["cat"]
    assert found["b"].objects == ()


def test_columns_may_be_in_any_order_and_flags_may_be_missing() -> None:
    content = csv("1,0,0.5,0.25,dog,a", header="YMax,YMin,XMax,XMin,LabelName,ImageID")

    assert read_open_images(content, IMAGES)["a"].objects == (AnnotatedObject("dog", Box(25, 0, 50, 80)),)


@pytest.mark.parametrize(
    "content", [csv(CAT, end="\r\n"), b"\xef\xbb\xbf" + csv(CAT, ""), csv(f'"a"{CAT[1:]}')]
)
def test_unusual_line_ends_byte_order_marks_empty_lines_and_quotes_are_read(content: bytes) -> None:
    assert len(read_open_images(content, IMAGES)["a"].objects) == 1


@pytest.mark.parametrize(
    ("content", "line", "sentence"),
    [
        (b"", 1, "expected a header with the columns ImageID, LabelName, XMin, XMax, YMin, YMax"),
        (csv(CAT, header=HEADER.replace("YMax", "Y")), 1, "expected a header with the columns YMax"),
        (csv(CAT, CAT + ",1"), 3, "expected 13 fields, found 14"),
        (csv(CAT.replace("0.5", "nan")), 2, "expected a number from 0 to 1 as XMin, found 'nan'"),
        (csv(CAT.replace("0.5", "-0.1")), 2, "as XMin, found '-0.1'"),
        (csv(CAT.replace("0.25", "1.5")), 2, "as YMax, found '1.5'"),
        (csv(CAT, CAT.replace("0.5,1,", "0.5,0.4,")), 3, "the box ends before it begins: 0.5 0.4 0 0.25"),
        (csv(CAT.replace("0,0.25", "0.5,0.25")), 2, "the box ends before it begins"),
        (csv(CAT, "\xff").replace("ÿ".encode(), b"\xff"), 3, "this is not UTF-8 text"),
        (csv(CAT, '"a'), 3, "this is not CSV"),
    ],
)
def test_problems_are_reported_with_their_line(content: bytes, line: int, sentence: str) -> None:
    with pytest.raises(AnnotationError) as wrong:
        read_open_images(content, IMAGES)

    assert sentence in str(wrong.value)
    assert wrong.value.line == line
