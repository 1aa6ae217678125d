"""Text in an encoding that it does not declare: a problem that offers those that fit, and read as organisers choose, in every format."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from app.intake.reports import TableChoice
from tests.pages.data_sets import jpeg
from tests.rules.formats.builders import png, read
from tests.rules.formats.scenes import as_csv, as_voc, as_yolo, scenes

NAMES = "bär\ncat\n".encode("cp1252")
CVAT = """<annotations><image id="0" name="a.jpg" width="64" height="48"><box label="bär" xtl="1" ytl="1" xbr="9" ybr="9"/></image>
<image id="1" name="b.jpg" width="64" height="48"><box label="cat" xtl="1" ytl="1" xbr="9" ybr="9"/></image></annotations>"""
LABELME = """{"shapes": [{"label": "bär", "points": [[1, 1], [9, 9]], "shape_type": "rectangle"}],
"imagePath": "a.jpg", "imageHeight": 40, "imageWidth": 50}"""


def in_cp1252(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files with their texts in another encoding than they declare, if they do."""
    return {
        name: content if name.endswith((".jpg", ".png")) else content.decode().encode("cp1252")
        for name, content in files.items()
    }


FILES: Mapping[str, Mapping[str, bytes]] = {
    "voc": in_cp1252(as_voc(scenes(6))),
    "yolo": in_cp1252(as_yolo(scenes(6))),
    "csv": in_cp1252(as_csv(scenes(6))),
    "cvat": in_cp1252({"annotations.xml": CVAT.encode()}),
    "labelme": in_cp1252({"a.json": LABELME.encode(), "a.jpg": jpeg()}),
    "masks": {"masks/a.png": png(np.eye(9)), "masks/b.png": png(2 * np.eye(9)), "classes.txt": NAMES},
    "folders": {
        "cat/a.jpg": jpeg(),
        "dog/b.jpg": jpeg(shade=3),
        "classes.txt": "dog\ncat\n# bär\n".encode("cp1252"),
    },
}


@pytest.mark.parametrize("role", ["public", "hidden"])
@pytest.mark.parametrize("form", FILES)
def test_the_encodings_that_fit_are_offered_once_and_the_chosen_one_is_read(
    tmp_path: Path, form: str, role: str
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()

    before = read(tmp_path / "first", FILES[form], role=role)
    after = read(tmp_path / "second", FILES[form], role=role, tables=TableChoice(encoding="windows-1252"))

    [odd] = before.report.tables
    assert "windows-1252" in odd.encodings
    assert len(odd.encodings) <= 3
    assert any("or choose the encoding that it has: windows-1252" in each for each in before.problems)
    assert [each for each in after.problems if "this line is not" in each] == []
    if form != "folders":  # whose list names something else than folders
        assert "bär" in {each.name for found in after.report.sets for each in found.classes}
    [answered] = after.report.tables
    assert answered.chosen == TableChoice(encoding="windows-1252")
