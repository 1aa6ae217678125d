"""The command's import reads what data sets are read from, under the name of the phase."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from app.challenges import challenges, phase_files
from app.challenges.challenges import description_of
from app.images import archives
from app.intake.importing import TreeImport, import_tree
from app.models import AuditRecord, Disclosure, Phase
from app.platform import Platform
from heldout_scoring import TreeError
from tests.pages.data_sets import CLASS_FOLDERS, TABLE, Files, coco, coco_file, jpeg, kit, zipped

WITHOUT_LISTS = {name: content for name, content in kit(folder="").items() if "ImageSets" not in name}


def written(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("files", "sent", "images"),
    [
        (WITHOUT_LISTS, "", 3),
        (CLASS_FOLDERS, "", 4),
        ({"val.csv": TABLE}, "val.csv", 3),
        ({"all.zip": zipped(WITHOUT_LISTS)}, "all.zip", 3),
    ],
    ids=["kit", "folders", "table", "zip"],
)
def test_what_the_browser_takes_is_imported(
    platform: Platform, tmp_path: Path, request: pytest.FixtureRequest, files: Files, sent: str, images: int
) -> None:
    tree = written(tmp_path / "birds", files)
    code = f"like-browser-{request.node.callspec.id}"

    imported = import_tree(platform, TreeImport(tree / sent, code, "test", protocol="voc2012"))

    with platform.transaction() as session:
        phase = challenges.find_phase(session, code, "test")
    assert len(description_of(platform.descriptions, phase.description_key).images) == images
    assert imported.is_new
    assert all((tree / name).read_bytes() == content for name, content in files.items())


def test_what_may_not_be_meant_is_told_of_trees_and_of_json_as_of_data_sets(
    platform: Platform, tmp_path: Path
) -> None:
    shares = [{**each, "bbox": [0.1, 0.1, 0.4, 0.4], "area": 0.16} for each in coco()["annotations"]]
    tree = written(tmp_path / "birds", kit(folder=""))
    page = written(tmp_path, {"test.json": coco_file(annotations=shares)}) / "test.json"

    of_tree = import_tree(platform, TreeImport(tree, "told-tree", "test", protocol="voc2012")).warnings
    of_json = import_tree(platform, TreeImport(page, "told-json", "test")).warnings

    assert any("95 % interval" in each for each in of_tree)
    assert any("between 0 and 1" in each for each in of_json)


def test_a_class_that_no_file_of_results_can_be_called_by_is_not_imported(
    platform: Platform, tmp_path: Path
) -> None:
    table = b"image,class,left,top,right,bottom\na.jpg," + "鳥".encode() * 67 + b",1,1,9,9\n"
    tree = written(tmp_path, {"test.csv": table}) / "test.csv"

    with pytest.raises(TreeError, match="cannot stand in the name of a file of results: it has 201 bytes"):
        import_tree(platform, TreeImport(tree, "told-class", "test", protocol="voc2012"))


@pytest.mark.parametrize(
    ("disclosure", "files"),
    [(Disclosure.FULL, {"1": "x/one.jpg", "2": "y/two.jpg"}), (None, {"1": "one.jpg", "2": "two.jpg"})],
    ids=["public", "hidden"],
)
def test_images_of_cocos_json_have_files_whose_folders_are_hidden_with_the_annotation(
    platform: Platform, tmp_path: Path, disclosure: Disclosure | None, files: dict[str, str]
) -> None:
    code, sent = f"named-{disclosure}".lower(), coco()["images"]
    images = [
        each | {"file_name": f"{folder}/{each['file_name']}"} for each, folder in zip(sent, "xy", strict=True)
    ]
    tree = written(tmp_path, {"test.json": coco_file(images=images)})

    import_tree(
        platform, TreeImport(tree / "test.json", code, "test", disclosure=disclosure, allow_public_copy=True)
    )

    with platform.transaction() as session:
        phase = challenges.find_phase(session, code, "test")
    assert description_of(platform.descriptions, phase.description_key).files == files


def test_files_whose_names_are_alike_on_some_systems_are_called_by_number(
    platform: Platform, tmp_path: Path
) -> None:
    images = [
        each | {"file_name": name} for each, name in zip(coco()["images"], ("A.jpg", "a.jpg"), strict=True)
    ]
    annotation = {"test.json": coco_file(images=images)}
    tree = written(tmp_path, {**annotation, "A.jpg": jpeg(), "a.jpg": jpeg(shade=1)})

    imported = import_tree(platform, TreeImport(tree / "test.json", "alike", "test"))

    names = [name for name, _ in archives.contents_of(platform, imported.phase_id)]
    info = json.loads(phase_files.image_info(platform, "alike", "test"))
    assert names == [each["file_name"] for each in info["images"]] == ["1.jpg", "2.jpg"]


def test_the_audit_of_a_challenge_has_what_the_command_line_imported(
    platform: Platform, tmp_path: Path
) -> None:
    imported = import_tree(
        platform, TreeImport(written(tmp_path / "birds", kit(folder="")), "kept", "test", protocol="voc2012")
    )

    with platform.transaction() as session:
        challenge = session.get_one(Phase, imported.phase_id).challenge_id
        records = select(AuditRecord.action).where(AuditRecord.challenge_id == challenge)
        assert session.scalars(records).all() == ["phase.create"]


def test_a_set_of_another_name_is_not_taken_for_the_phase(platform: Platform, tmp_path: Path) -> None:
    tree = written(tmp_path / "VOC2012", kit("test", folder=""))

    with pytest.raises(TreeError) as raised:
        import_tree(platform, TreeImport(tree, "misspelt", "tset"))

    assert [str(each) for each in raised.value.problems] == ["expected one image set called tset, found test"]


def test_a_tree_with_problems_is_refused_with_those_that_the_browser_shows(
    platform: Platform, tmp_path: Path
) -> None:
    tree = written(tmp_path / "birds", {**WITHOUT_LISTS, "Annotations/a.xml": b"<annotation>", "x.txt": b"x"})

    with pytest.raises(TreeError) as raised:
        import_tree(platform, TreeImport(tree, "broken", "test"))

    assert [each.file for each in raised.value.problems][:1] == ["Annotations/a.xml"]


def test_no_class_stands_in_the_name_of_a_hidden_image_of_a_folder(
    platform: Platform, tmp_path: Path
) -> None:
    files = {f"{name}/{number}.jpg": jpeg(shade=number) for name in ("cat", "dog") for number in (1, 2)}
    tree = written(tmp_path / "birds", files)
    hidden = TreeImport(tree, "by-folder", "test", protocol="voc2012")

    with pytest.raises(TreeError, match="would be called by their folders, which are their classes"):
        import_tree(platform, hidden)
    imported = import_tree(platform, replace(hidden, disclosure=Disclosure.FULL))

    assert imported.is_new
