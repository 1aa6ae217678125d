"""Tables of boxes and labels with the columns, signs and encodings of many tools."""

import json
from pathlib import Path

import pytest

from app.core.errors import FieldsError
from app.intake.inspecting import Wanted, inspect
from app.intake.reports import FLAG, UNEXPLAINED, OddTable, TableChoice
from app.intake.table_choices import TableRequest
from app.intake.unpacking import SentFile
from heldout_scoring import BoxConvention
from tests.pages.data_sets import jpeg, zipped
from tests.rules.formats.builders import LIMITS, Read, read

OWN = "image,class,left,top,right,bottom\n"
REGION = '"{""name"":""rect"",""x"":10,""y"":5,""width"":20,""height"":25}"'
EDGES = [10, 5, 30, 30]
PICTURE = {"a.jpg": jpeg(50, 40)}

BOXES = {
    "own": f"{OWN}a.jpg,cat,11,6,30,30\nb.jpg\n",
    "comments": f"# made by hand\n{OWN}# first\na.jpg,cat,11,6,30,30\nb.jpg\n",
    "semicolons and decimal commas": f"{OWN}a.jpg,cat,11,6,30,30\nb.jpg,,,,,\n".replace(",", ";").replace("11;", "11,0;"),
    "tabs": f"{OWN}a.jpg,cat,11,6,30,30\nb.jpg\n".replace(",", "\t"),
    "raccoon": "filename,width,height,class,xmin,ymin,xmax,ymax\na.jpg,50,40,cat,11,6,30,30\nb.jpg,50,40,,,,,\n",
    "Open Images": (
        "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsGroupOf\n"
        "a,xclick,cat,1,0.2,0.6,0.125,0.75,0,1\nb,,,,,,,,,\n"
    ),
    "wheat": 'image_id,width,height,bbox,source\na,50,40,"[10.0, 5.0, 20.0, 25.0]",x\nb,50,40,,x\n',
    "VIA": (
        "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes\n"
        f'a.jpg,9,"{{}}",1,0,{REGION},"{{""class"":""cat""}}"\nb.jpg,9,"{{}}",0,0,"{{}}","{{}}"\n'
    ),
    "early VIA": (
        "#filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes\n"
        f'a.jpg,9,"{{}}",1,0,{REGION},"{{""kind"":""cat""}}"\nb.jpg,9,"{{}}",0,0,"{{}}","{{}}"\n'
    ),
}  # fmt: skip
LABELS = {
    "Kaggle": "id,label\na,cat\nb,dog\n",
    "own": "image,class\na.jpg,cat\nb.jpg,dog\n",
    "Roboflow": "filename, cat, dog\na.jpg,1,0\nb.jpg,0,1\n",
}


def table(
    folder: Path,
    content: str | bytes,
    name: str = "boxes.csv",
    role: str = "public",
    tables: TableChoice = UNEXPLAINED,
) -> Read:
    sent = content if isinstance(content, bytes) else content.encode()
    pictures = {**PICTURE, "b.jpg": jpeg(50, 40, shade=9)}
    return read(folder, {name: sent}, role=role, images=pictures, tables=tables)


@pytest.mark.parametrize("tool", BOXES)
def test_boxes_of_every_tool_are_the_same(tool: str, tmp_path: Path) -> None:
    found = table(tmp_path, BOXES[tool])

    assert found.problems == []
    truth = found.truth
    assert truth.lists.images == ("a", "b")
    assert truth.lists.classes == ("object" if tool == "wheat" else "cat",)
    edges = truth.tables.convention.convert(truth.tables.objects.boxes, BoxConvention.HALF_OPEN)
    assert edges.tolist() == [EDGES]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_byte_order_marks_tell_the_encoding(encoding: str, tmp_path: Path) -> None:
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""

    found = table(tmp_path, f"{mark}{OWN}a.jpg,Bär,1,1,9,9\n".encode(encoding))

    assert (found.problems, found.truth.lists.classes) == ([], ("Bär",))


def test_a_choice_of_encoding_and_columns_can_be_changed(tmp_path: Path) -> None:
    content = "Bild;Art\na.jpg;Bär\nb.jpg;Maus\n".encode("cp1252")
    wrong = TableChoice(("class", "image"), encoding="gb18030")

    tables = table(tmp_path, content, tables=wrong).report.explained_tables
    encoding = TableRequest(encoding="windows-1252").after(tables, wrong)
    columns = TableRequest(columns=["image", "class"]).after(tables, encoding)
    (tmp_path / "work").rename(tmp_path / "first")
    found = table(tmp_path, content, tables=columns)

    assert [each.chosen for each in tables] == [wrong, wrong]
    assert (found.problems, found.truth.lists.classes) == ([], ("Bär", "Maus"))


@pytest.mark.parametrize("tool", LABELS)
def test_labels_of_every_tool_are_the_same(tool: str, tmp_path: Path) -> None:
    found = table(tmp_path, LABELS[tool], "_classes.csv")

    assert found.problems == []
    assert (found.truth.lists.images, found.truth.lists.classes) == (("a", "b"), ("cat", "dog"))
    assert found.truth.tables.labels.tolist() == [[1, -1], [-1, 1]]


def test_sets_are_called_by_their_folders_and_pictures_are_taken(tmp_path: Path) -> None:
    boxes = BOXES["raccoon"].encode()
    files = {f"{name}/_annotations.csv": boxes for name in ("train", "valid")}

    found = read(tmp_path, {**files, **{f"train/{name}": content for name, content in PICTURE.items()}})

    assert found.problems == []
    assert [each.name for each in found.report.sets] == ["train", "val"]
    assert found.report.images.count == 1


def test_images_of_one_name_in_two_folders_stay_two(tmp_path: Path) -> None:
    found = table(tmp_path, f"{OWN}cam1/0001.jpg,cat,1,1,9,9\ncam2/0001.jpg,dog,1,1,9,9\n")

    assert (found.problems, found.truth.lists.images) == ([], ("cam1_0001", "cam2_0001"))
    assert "named-by-path" in found.codes


def test_another_encoding_is_a_problem_that_names_the_line_and_those_that_fit(tmp_path: Path) -> None:
    [said] = table(tmp_path, f"{OWN}a.jpg,cat,1,1,9,9\na.jpg,Bär,1,1,9,9\n".encode("cp1252")).problems

    assert said.startswith("boxes.csv:3: this line is not UTF-8; save the table as CSV in UTF-8, or choose ")
    assert "windows-1252" in said


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    found = table(tmp_path, f"# by hand\n{OWN.strip()},pose\na.jpg,cat,1,1,9,9,left\n")

    assert "boxes.csv: the columns pose are not read" in found.warnings
    assert "boxes.csv: 1 line begins with # and is taken for comments" in found.warnings


def test_a_table_that_ends_within_a_line_is_told_and_a_last_line_that_is_whole_is_not(tmp_path: Path) -> None:
    cut = table(tmp_path, f"{OWN}a.jpg,cat,1,1,9,9\nb.jpg")
    (tmp_path / "whole").mkdir()
    whole = table(tmp_path / "whole", f"{OWN}a.jpg,cat,1,1,9,9\nb.jpg,cat,1,1,3,3")

    words = "the last line, 3, ends within its columns; send the table again if it was cut off there"
    assert f"boxes.csv: {words}" in cut.warnings
    assert "no-line-end" not in whole.codes


def test_a_flag_says_that_an_object_is_difficult(tmp_path: Path) -> None:
    found = table(tmp_path, f"{OWN.strip()},difficult\na.jpg,cat,1,1,9,9,1\na.jpg,cat,2,2,9,9,0\n")

    assert found.truth.tables.objects.difficult.tolist() == [True, False]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a.jpg,cat,1,1,9,9\n", "1: expected the columns image, class, left"),
        ("image,x,y\na,1,2\n", "1: expected the columns image, class, left"),
        (f"{OWN.replace('class', 'class,label')}", "1: two columns seem to hold the class: class, label; leave one out, or choose"),
        (f"{OWN}a,cat,1,1,9,9\na,x/y,1,1,9,9", "3: expected the name of a class, without slashes"),
        (f"{OWN}a,cat,1,1,9,9\n,cat,1,1,9,9", "3: expected the name of an image"),
        (f"{OWN}a,/m/01g317,1,1,9,9", "2: expected the name of a class, without slashes or signs that cannot be seen, as names of files of results have it; found /m/01g317; for codes of Open Images write the names in class-descriptions"),
        ("image,width,height,class,xmin,ymin,xmax,ymax\na,50,40,cat,1,1,9,9\na,60,40,cat,1,1,9,9",
         "3: the image is 60 x 40, but 50 x 40 in an earlier line"),
        ("ImageID,LabelName,XMin,XMax,YMin,YMax\na,cat,1,20,1,9", "2: expected shares of the image's width and height"),
        ("ImageID,LabelName,XMin,XMax,YMin,YMax\nc,cat,0.1,0.2,0.1,0.9", " 1 of 1 images have no file, such as c"),
        ('image_id,bbox\na,"[1, 2, 3]"', "2: expected [left, top, width, height] as bbox"),
        ('filename,region_shape_attributes,region_attributes\na,"{""name"":""circle""}","{""c"":""cat""}"',
         "2: expected a region that is a rectangle or a polygon, found circle"),
        ('filename,region_shape_attributes,region_attributes\na,"{""name"":""rect""}","{""c"":""cat"",""d"":""x""}"',
         "2: expected one attribute of the region that names its class"),
        (f"{OWN}a,cat,1,1,9,9,,\na,cat,1,5,1,10,10", "3: expected 6 fields, found 7; write points for decimals where commas stand between fields"),
        (f"{OWN}a,cat,1,1,9,9\na,cat,1,1,9,9,x".replace(",", ";"), "3: expected 6 fields, found 7"),
        (f"{OWN}a,cat,1;5,1,10,10\na,cat,1,1,1.200,10".replace(",", "|").replace(";", ",").replace("|", ";"), "3: some numbers have a comma and others a point"),
        ("image,label\na,cat\nimage,label\nb,dog\n", "3: this is the first line again"),
        ("image,label\na,cat\0\n", "2: this line has signs that no text has, as UTF-16 without its mark"),
        ("filename,cat,dog\na,1,0\nb,1,2\n", "3: expected 0 or 1 for each class, found 2"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(content: str, told: str, tmp_path: Path) -> None:
    found = table(tmp_path, content)

    assert found.problems[0].startswith(f"boxes.csv:{told}")


@pytest.mark.parametrize(
    "content", ["SECRET.jpg,SECRET,1,1,9,9\n", f"{OWN}a,SECRET/,1,1,9,9", "image,SECRET\na,SECRET"]
)
def test_of_hidden_tables_nothing_is_quoted(content: str, tmp_path: Path) -> None:
    found = table(tmp_path, content, role="hidden")

    assert found.problems
    assert "SECRET" not in json.dumps(found.problems + found.warnings)


def test_polygons_of_via_are_read_as_the_boxes_around_them(tmp_path: Path) -> None:
    shape = '"{""name"":""polygon"",""all_points_x"":[10,30,20],""all_points_y"":[5,5,30]}"'
    found = table(
        tmp_path, f'filename,region_shape_attributes,region_attributes\na,{shape},"{{""c"":""cat""}}"\n'
    )

    assert found.truth.tables.objects.boxes.tolist() == [EDGES]
    assert "polygons" in found.codes


UNKNOWN = "picture,kind,x,y,w,h,note\na.jpg,cat,10,5,20,25,z\nb.jpg\n"
COLUMNS_OF_IT = ("image", "class", "left", "top", "width", "height", "")


@pytest.mark.parametrize("role", ["public", "hidden"])
def test_unknown_columns_are_asked_for_and_of_hidden_tables_only_numbered(role: str, tmp_path: Path) -> None:
    [odd] = table(tmp_path, UNKNOWN, role=role).report.tables

    names = ("picture", "kind", "x", "y", "w", "h", "note")
    numbers = tuple(f"column {number}" for number in range(1, 8))
    assert odd == OddTable(role, "boxes.csv", numbers if role == "hidden" else names)


def test_columns_are_read_as_they_were_chosen(tmp_path: Path) -> None:
    odd = OddTable("public", "x", ("",) * 7)
    choice = TableRequest(columns=list(COLUMNS_OF_IT)).after([odd], TableChoice())

    found = table(tmp_path, UNKNOWN, tables=choice)

    assert (found.problems, [each.chosen for each in found.report.tables]) == ([], [choice])
    assert (found.truth.lists.images, found.truth.lists.classes) == (("a", "b"), ("cat",))
    assert found.truth.tables.objects.boxes.tolist() == [EDGES]


def test_the_first_line_is_read_if_it_names_no_columns(tmp_path: Path) -> None:
    choice = TableChoice(("image", "left", "top", "right", "bottom", "class"), has_names=False)

    found = table(tmp_path, "a.jpg,11,6,30,30,cat\nb.jpg,1,1,2,2,dog\n", tables=choice)

    assert (found.problems, found.truth.lists.classes) == ([], ("cat", "dog"))
    assert found.truth.tables.objects.boxes.tolist() == [[11, 6, 30, 30], [1, 1, 2, 2]]


def test_a_chosen_encoding_is_used(tmp_path: Path) -> None:
    content = f"{OWN}a.jpg,Bär,1,1,9,9\n".encode("cp1252")
    [odd] = table(tmp_path, content).report.tables
    (tmp_path / "work").rename(tmp_path / "first")

    found = table(tmp_path, content, tables=TableChoice(encoding="windows-1252"))

    assert "windows-1252" in odd.encodings
    assert (found.problems, found.truth.lists.classes) == ([], ("Bär",))


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["image"], "say for each of 3 columns"),
        (["image", "class", "x"], "say for each of 3 columns"),
        (["image", "class", "class"], "two columns cannot both hold the class"),
        (["image", "left", "class"], "one column has to hold the image"),
        (["image", FLAG, "class"], "columns of 0 or 1 say which classes an image shows; beside them"),
    ],
)
def test_columns_that_say_too_little_are_refused(columns: list[str], told: str) -> None:
    with pytest.raises(FieldsError) as error:
        TableRequest(columns=columns).after([OddTable("public", "a.csv", ("a", "b", "c"))], UNEXPLAINED)

    assert error.value.by_field["columns"].startswith(told)


@pytest.mark.parametrize("column", ["split", "Subset", "set"])
def test_a_column_of_image_sets_tells_rows_apart(column: str, tmp_path: Path) -> None:
    rows = "a.jpg,cat,1,1,9,9,train\nb.jpg,dog,2,2,9,9,Testing\nc.jpg,,,,,,train\n"

    found = read(tmp_path, {"all.csv": f"image,class,left,top,right,bottom,{column}\n{rows}".encode()})

    assert found.problems == []
    assert {each.name: (each.role, each.images, each.objects) for each in found.report.sets} == {
        "train": ("public", 2, 1),
        "test": ("hidden", 1, 1),
    }


def test_a_row_of_no_image_set_is_a_problem_where_a_column_names_them(tmp_path: Path) -> None:
    found = read(tmp_path, {"all.csv": b"image,label,split\na.jpg,cat,train\nb.jpg,dog,\nc.jpg,dog,fold 3\n"})

    assert [each.line for each in found.report.problems if each.code == "no-set"] == [3, 4]


def test_a_class_called_set_is_a_column_of_0_and_1(tmp_path: Path) -> None:
    found = read(tmp_path, {"val.csv": b"image,cat,set\na.jpg,1,0\nb.jpg,0,1\n"})

    assert (found.problems, found.truth.lists.classes) == ([], ("cat", "set"))


def test_folders_that_contradict_the_classes_of_a_table_are_told(tmp_path: Path) -> None:
    images = {
        f"{folder}/{name}.jpg": jpeg(50, 40, shade=ord(name))
        for folder, name in (each.split() for each in ("cat a", "cat b", "dog c", "train d"))
    }
    content = b"image,class\na.jpg,dog\nb.jpg,cat\nc.jpg,dog\nd.jpg,train\n"

    for role, image_set, file in (("public", "val", "cat/a.jpg"), ("hidden", "test", "…")):
        (tmp_path / role).mkdir()
        found = read(tmp_path / role, {"labels.csv": content}, role=role, images=images)

        assert found.problems == []
        assert [each for each in found.warnings if "folder" in each] == [
            (
                f"1 file lies in a folder that is named after another class than those of its image in {image_set}, "
                f"such as {file}; names of folders are not read"
            )
        ]


def test_a_column_of_sets_is_chosen_as_others_are(tmp_path: Path) -> None:
    content = "Bild;Art;Teil\na.jpg;cat;Training\nb.jpg;dog;Test\n"
    choice = TableRequest(columns=["image", "class", "set"]).after(
        [OddTable("public", "x", ("",) * 3)], UNEXPLAINED
    )

    found = table(tmp_path, content, tables=choice)

    assert found.problems == []
    assert {each.name: each.images for each in found.report.sets} == {"test": 1, "train": 1}


FLAGS = [
    ("filename,cat,dog,split\na.jpg,1,0,train\nb.jpg,0,1,test\n", ()),
    ("split,filename,cat,dog\ntrain,a.jpg,1,0\ntest,b.jpg,0,1\n", ()),
    ("Nr;Bild;Teil;cat;dog\n1;a.jpg;train;1;0\n2;b.jpg;test;0;1\n", ("", "image", "set", FLAG, FLAG)),
]


@pytest.mark.parametrize(("content", "columns"), FLAGS)
def test_columns_of_0_and_1_stand_beside_one_of_sets(
    content: str, columns: tuple[str, ...], tmp_path: Path
) -> None:
    found = table(tmp_path, content, tables=TableChoice(columns))

    assert found.problems == []
    labels = {each.name: found.truths[each.key].tables.labels.T.tolist() for each in found.report.sets}
    assert labels == {"train": [[1, -1]], "test": [[-1, 1]]}


def test_a_class_may_be_called_set(tmp_path: Path) -> None:
    found = table(tmp_path, "filename,set,ball\na.jpg,1,0\nb.jpg,0,1\n")

    assert (found.problems, found.truth.lists.classes) == ([], ("ball", "set"))


def test_one_choice_of_columns_is_never_for_tables_with_others(tmp_path: Path) -> None:
    files = {"train.csv": b"Bild;Art;Nr\na.jpg;cat;1\n", "val.csv": b"Art;Bild;Nr\ncat;b.jpg;2\n"}

    found = read(tmp_path, files, tables=TableChoice(("image", "class", "")))

    [said] = found.problems
    assert said.startswith("val.csv:1: this first line and that of train.csv differ")


def test_of_two_columns_of_one_kind_one_is_chosen(tmp_path: Path) -> None:
    found = table(
        tmp_path, "image,class,label\na.jpg,animal,cat\n", tables=TableChoice(("image", "", "class"))
    )

    assert (found.problems, found.truth.lists.classes) == ([], ("cat",))


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\n'])
def test_a_line_for_excel_stands_before_the_columns(line: str, tmp_path: Path) -> None:
    found = table(tmp_path, f"{line}{OWN.replace(',', ';')}a.jpg;cat;1;1;9;9\n")

    assert (found.problems, found.truth.lists.images) == ([], ("a",))


def test_a_table_may_end_in_tsv(tmp_path: Path) -> None:
    found = table(tmp_path, OWN.replace(",", "\t") + "a.jpg\tcat\t1\t1\t9\t9\n", "boxes.tsv")

    assert (found.problems, found.truth.lists.images) == ([], ("a",))


def test_labels_may_be_true_and_false(tmp_path: Path) -> None:
    found = table(tmp_path, "filename,cat,dog\na.jpg,True,False\nb.jpg,FALSE,TRUE\n")

    assert found.problems == []
    assert found.truth.tables.labels.tolist() == [[1, -1], [-1, 1]]


def test_several_labels_in_one_cell_are_told(tmp_path: Path) -> None:
    found = table(tmp_path, "image,label\na.jpg,cat|dog\nb.jpg,cat\nc.jpg,dog\nd.jpg,black & white\n")

    [said] = [each for each in found.warnings if "list of classes" in each]
    assert said.startswith("the name of 1 class seems to be a list of classes, such as cat|dog;")


@pytest.mark.parametrize("name", ["boxes.xlsx", "boxes.ods"])
@pytest.mark.parametrize("packed", [True, False])
def test_a_spreadsheet_is_refused_by_name(name: str, tmp_path: Path, *, packed: bool) -> None:
    book = zipped({"xl/worksheets/sheet1.xml": b"<worksheet/>"})
    path = tmp_path / (f"{name}.zip" if packed else name)
    path.write_bytes(zipped({name: book}) if packed else book)
    (tmp_path / "work").mkdir()

    content = inspect(tmp_path / "work", (SentFile("hidden", path.name, path),), "birds", LIMITS, Wanted())

    [said] = json.loads(content)["problems"]
    assert (said["file"], said["message"]) == (
        name,
        "a spreadsheet, which is not read; save it as CSV in UTF-8, and send that",
    )
