"""A challenge from COCO's JSON: imported, submitted to with one JSON file, shown on its board."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import heldout_scoring
from app.models import Disclosure
from tests.system.conftest import SharedSite
from tests.system.installations import good
from tests.system.kits import packed

pytestmark = pytest.mark.system

BOX = [10.5, 20.25, 60, 40]
IMAGES = (9, 139, 285)


def instances(*, masks: bool) -> Any:
    left, top, width, height = BOX
    right, bottom = left + width, top + height
    drawn = {"segmentation": [[left, top, right, top, right, bottom, left, bottom]]} if masks else {}
    objects = [
        {"image_id": image, "category_id": category, "bbox": BOX, "area": 2400, "iscrowd": 0, **drawn}
        for image in IMAGES
        for category in (1, 18)
    ]
    return {
        "images": [{"id": image, "width": 200, "height": 100} for image in IMAGES],
        "categories": [{"id": 18, "name": "dog"}, {"id": 1, "name": "person"}],
        "annotations": [{"id": number, **each} for number, each in enumerate(objects, 1)],
    }


def detections() -> list[Any]:
    """Detections of every person and no dog."""
    return [{"image_id": image, "category_id": 1, "bbox": BOX, "score": 0.9} for image in IMAGES]


def written(folder: Path, content: Any) -> Path:
    file = folder / "instances.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_one_json_file_is_scored_and_shown(site: SharedSite, tmp_path: Path) -> None:
    file = written(tmp_path, instances(masks=False))
    printed = site.installation.command(
        "import", str(file), "--challenge", "coco", "--phase", "test", "--disclosure", "full"
    )
    assert printed.returncode == 0, printed.stderr
    assert "comp2 is not offered: no object has a segmentation" in printed.stdout
    participant = site.participant("ash")

    upload = good(participant.send("coco/test", json.dumps(detections()).encode(), "detections.json"))
    assert upload["valid"], upload["report"]
    submission = good(participant.confirm(upload["id"], "Boxes"))["id"]
    participant.final(submission)

    board = participant.board("coco/test", 1)
    assert (board["protocol"], board["classes"]) == ("coco", ["person", "dog"])
    [row] = board["rows"]
    assert [cell["value"] for cell in row["cells"]] == pytest.approx([1, 0])
    assert row["mean"] == pytest.approx(0.5)
    assert (board["headline"], board["further"]) == ("AP", ["AP50", "AP75", "APS", "APM", "APL", "AR100"])
    assert [cell["value"] for cell in row["further"]] == pytest.approx([0.5, 0.5, None, 0.5, None, 0.5])
    assert good(participant.http.get("/api/v1/leaderboards/coco/test/1?sort=AP50"))["sort"] == "AP50"
    page = participant.http.get(f"/submissions/{submission}").text
    assert "Average precision of boxes, IoU 0.50:0.95" in page
    assert "All figures" in page


def test_a_file_with_problems_is_explained_at_once(site: SharedSite, tmp_path: Path) -> None:
    site.installation.load(
        written(tmp_path, instances(masks=False)), "coco-wrong", disclosure=Disclosure.FULL
    )
    wrong = [*detections(), {"image_id": 5, "category_id": 2, "bbox": [1, 2, 3], "score": 1}]

    upload = good(
        site.participant("elm").send("coco-wrong/test", json.dumps(wrong).encode(), "detections.json")
    )

    problems = {(each["code"], each["message"].partition(":")[0]) for each in upload["report"]["problems"]}
    assert not upload["valid"]
    assert problems == {(code, "[3] (image 5)") for code in ("unknown-image", "unknown-category", "bad-bbox")}


def test_masks_in_an_archive_have_their_own_board(site: SharedSite, tmp_path: Path) -> None:
    site.installation.load(written(tmp_path, instances(masks=True)), "coco-masks", disclosure=Disclosure.FULL)
    drawn = instances(masks=True)["annotations"]
    found = [
        {name: each[name] for name in ("image_id", "category_id", "segmentation")} | {"score": 0.5}
        for each in drawn
    ]
    archive = packed({"results/COCO/segmentations.json": json.dumps(found).encode()})
    participant = site.participant("oak")

    participant.final(participant.submit("coco-masks/test", archive, "Masks"))

    assert participant.means("coco-masks/test", 2) == {"Masks": pytest.approx(1)}
    assert participant.means("coco-masks/test", 1) == {}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("good.json", json.dumps(detections()).encode()),
        ("good (1).json.gz", gzip.compress(json.dumps(detections()).encode())),
        ("all.tar.gz", packed({"sub/my_results.json": json.dumps(detections()).encode()})),
    ],
)
def test_results_of_any_name_are_checked_and_scored(
    site: SharedSite, tmp_path: Path, name: str, content: bytes
) -> None:
    challenge = f"coco-named-{len(name)}"
    site.installation.load(written(tmp_path, instances(masks=False)), challenge, disclosure=Disclosure.FULL)
    participant = site.participant("yew")

    upload = good(participant.send(f"{challenge}/test", content, name))
    assert upload["valid"], upload["report"]
    participant.final(good(participant.confirm(upload["id"], "Any"))["id"])

    assert participant.means(f"{challenge}/test", 1) == {"Any": pytest.approx(0.5)}


def test_problems_of_loading_are_reported(site: SharedSite, tmp_path: Path) -> None:
    file = written(tmp_path, instances(masks=False))
    with pytest.raises(ValueError, match="protocol 'voc2012' has no rules for coco-detection"):
        site.installation.load(file, "coco-no", protocol="voc2012")
    with pytest.raises(heldout_scoring.TreeError, match="not JSON, or cut off"):
        site.installation.load(written(tmp_path, "{"), "coco-no")
    with pytest.raises(ValueError, match="comp1: no object is annotated"):
        site.installation.load(written(tmp_path, instances(masks=False) | {"annotations": []}), "coco-no")
