"""Formats that are recognised and not read are called by their names, with what to send instead."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.pages.data_sets import coco_file, jpeg
from tests.rules.formats.builders import png, read
from tests.rules.formats.scenes import Scene, as_csv, as_masks, as_voc, as_yolo, scenes

BOX = {"x": 1, "y": 2, "width": 3, "height": 4}


def of_json(name: str, content: Any) -> dict[str, bytes]:
    return {name: json.dumps(content).encode()}


REFUSED: Mapping[str, tuple[Mapping[str, bytes], str]] = {
    "Label Studio": (of_json("a.json", [{"id": 1, "annotations": [{"result": [{"from_name": "l", "to_name": "i"}]}], "data": {"image": "a.jpg"}}]), "Label Studio's own JSON"),
    "Label Studio, short": (of_json("a.json", [{"image": "a.jpg", "label": [{**BOX, "original_width": 9}], "annotator": 1, "lead_time": 2}]), "Label Studio's own JSON"),
    "Label Studio, table": ({"a.csv": b'annotation_id,annotator,created_at,id,image,label,lead_time,updated_at\n1,1,x,1,/data/upload/1/a.jpg,"[{""x"": 1}]",3,x\n'}, "Label Studio's own CSV"),
    "Label Studio, tabs": ({"a.tsv": b"annotation_id\tannotator\tid\timage\tlead_time\n1\t1\t1\t/data/upload/1/a.jpg\t3\n"}, "Label Studio's own CSV"),
    "Label Studio, storage": (of_json("export/12", {"id": 12, "result": [{"from_name": "l", "to_name": "i", "value": {}}]}), "Label Studio's own JSON"),
    "Darwin": (of_json("a.json", {"version": "2.0", "schema_ref": "x", "item": {"name": "a.jpg", "slots": []}, "annotations": []}), "JSON of Darwin (V7)"),
    "Roboflow, masks": ({"train/_classes.csv": b"Pixel Value, Class\n0, background\n1, SECRET\n"}, "Roboflow's masks for semantic segmentation"),
    "Roboflow, Keras": ({"train/_annotations.txt": b"a.jpg 1,2,30,40,0\n"}, "Roboflow's text for YOLO in Keras"),
    "SageMaker": ({"output.manifest": b'{"source-ref": "s3://b/a.jpg"}\n'}, "a manifest of SageMaker"),
    "Hugging Face": ({"train/metadata.jsonl": b'{"file_name": "a.jpg", "objects": {"bbox": []}}\n'}, "metadata.jsonl of Hugging Face"),
    "NDJSON": ({"set.ndjson": b'{"type": "dataset", "task": "detect"}\n'}, "JSON lines of Ultralytics, Labelbox or Roboflow"),
    "Roboflow, JSON lines": ({"train/_annotations.jsonl": b'{"image": "a.jpg", "prefix": "detect SECRET"}\n', "train/a.jpg": jpeg()}, "JSON lines of Ultralytics, Labelbox or Roboflow"),
    "Kaggle": ({"train_ships.csv": b"ImageId,EncodedPixels\na.jpg,1 5\n"}, "run lengths of Kaggle"),
    "VIA": (of_json("a.json", {"_via_settings": {}, "_via_img_metadata": {}}), "a project of VGG Image Annotator (VIA)"),
    "VIA, annotation": (of_json("a.json", {"a.jpg12": {"filename": "a.jpg", "size": 12, "regions": []}}), "a project of VGG Image Annotator (VIA)"),
    "VIA 3": (of_json("a.json", {"project": {"vid_list": ["1"]}, "file": {"1": {"fname": "a.jpg"}}, "metadata": {"1_x": {"vid": "1", "xy": [2, 1, 2, 3, 4], "av": {"1": "SECRET"}}}}), "a project of VGG Image Annotator (VIA)"),
    "VoTT 1": ({**of_json("a.json", {"frames": {"a.jpg": [{"x1": 1, "tags": ["SECRET"]}]}, "inputTags": "SECRET", "visitedFrames": ["a.jpg"]}), "a.jpg": jpeg()}, "a project of VoTT"),
    "VoTT": ({"a.vott": b"{}"}, "a project of VoTT"),
    "VoTT, picture": (of_json("a-asset.json", {"asset": {"name": "a.jpg"}, "regions": []}), "a project of VoTT"),
    "Supervisely": ({**of_json("ds/ann/a.jpg.json", {"tags": [], "size": {"height": 4, "width": 4}, "objects": []}), "ds/img/a.jpg": jpeg()}, "JSON of Supervisely"),
    "Supervisely, without objects": ({**of_json("p/meta.json", {"classes": [], "tags": [], "projectType": "images"}), "p/train/img/a.jpg": jpeg()}, "JSON of Supervisely"),
    "Datumaro": (of_json("a.json", {"info": {}, "categories": {}, "items": [{"id": "a", "annotations": []}]}), "JSON of Datumaro"),
    "BDD100K": (of_json("a.json", [{"name": "a.jpg", "labels": [{"category": "car", "box2d": {"x1": 1}}]}]), "JSON of BDD100K"),
    "CreateML": (of_json("_annotations.createml.json", [{"image": "a.jpg", "annotations": [{"label": "cat", "coordinates": BOX}]}]), "JSON of CreateML"),
    "CreateML, other keys": ({**of_json("set/labels.json", [{"imagefilename": "a.jpg", "annotation": [{"coordinates": BOX, "label": "SECRET"}]}]), "set/a.jpg": jpeg()}, "JSON of CreateML"),
    "Cityscapes": (of_json("gtFine/train/ulm/ulm_0_0_gtFine_polygons.json", {"imgHeight": 4, "imgWidth": 4, "objects": []}), "annotation of Cityscapes"),
    "Cityscapes, pictures": ({f"leftImg8bit/train/{city}/{city}_0_0_leftImg8bit.png": jpeg() for city in ("ulm", "bonn")}, "annotation of Cityscapes"),
    "ADE20K": (of_json("a.json", {"annotation": {"filename": "a.jpg", "imsize": [4, 4, 3], "object": []}}), "annotation of ADE20K"),
    "ADE20K, text": ({"a_atr.txt": b'001 # 0 # 0 # sky # sky # ""\n'}, "annotation of ADE20K"),
    "ADE20K, pictures": ({"bath/ADE_train_00000001.jpg": jpeg(), "kiosk/ADE_train_00000001_seg.png": jpeg()}, "annotation of ADE20K"),
    "ADE20K, challenge": ({"A/images/training/ADE_train_00000001.jpg": jpeg(), "A/annotations/training/ADE_train_00000001.png": png([[1, 2]]), "A/objectInfo150.txt": b"Idx\tRatio\tName\n1\t0.1\tSECRET\n", "A/sceneCategories.txt": b"ADE_train_00000001 SECRET\n"}, "annotation of ADE20K"),
    "results": (of_json("a.json", [{"image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2], "score": 0.5}]), "COCO's JSON of results"),
    "panoptic": ({"a.json": coco_file(annotations=[{"image_id": 1, "file_name": "a.png", "segments_info": [{"id": 1, "bbox": [1, 1, 2, 2]}]}])}, "COCO's JSON of panoptic segmentation"),
    "keypoints": ({"a.json": coco_file(annotations=[{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2], "keypoints": [1, 2, 2]}])}, "COCO's JSON of keypoints"),
    "captions": ({"a.json": coco_file(annotations=[{"id": 1, "image_id": 1, "caption": "SECRET"}])}, "COCO's JSON of captions"),
    "labels of images": ({"a.json": coco_file(annotations=[{"id": 1, "image_id": 1, "category_id": 1}])}, "COCO's JSON of labels of images"),
    "FiftyOne": (of_json("samples.json", {"samples": [{"filepath": "data/a.jpg"}]}), "FiftyOne's own JSON"),
    "FiftyOne, labels": (of_json("labels.json", {"classes": ["cat"], "labels": {"a": 0}}), "FiftyOne's own JSON"),
    "KITTI": ({"label_2/000001.txt": b"Car 0.00 0 -1.58 587.01 173.33 614.12 200.12 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59\n"}, "text of KITTI"),
    "KITTI, names of two words": ({"default/label_2/a.txt": b"traffic light_2 0 0 0 1 2 3 4 0 0 0 0 0 0 0\n", "default/image_2/a.jpg": jpeg(), "label_colors.txt": b"0 0 0 background\n"}, "text of KITTI"),
    "DOTA": ({"labelTxt/P0001.txt": b"imagesource:GoogleEarth\ngsd:0.1\n1 1 9 1 9 9 1 9 plane 0\n"}, "text of DOTA, with rotated boxes"),
    "DOTA, without head": ({"labelTxt/P0001.txt": b"1.0 1.0 9.0 1.0 9.0 9.0 1.0 9.0 small-vehicle 1\n"}, "text of DOTA, with rotated boxes"),
    "VisDrone": ({"annotations/a.txt": b"684,8,273,116,0,0,0,0\n"}, "text of VisDrone"),
    "MOT": ({"MOT17-02/gt/gt.txt": b"1,1,912,484,97,109,0,7,1\n", "MOT17-02/img1/000001.jpg": jpeg()}, "text of MOT"),
    "MOTS": ({"instances_txt/0002.txt": b"52 1005 1 1080 1920 WSV:2d;1O1\n"}, "text of MOTS"),
    "WIDER FACE": ({"wider_face_train_bbx_gt.txt": b"0--Parade/a b.jpg\n1\n449 330 122 149 0 0 0 0 0 0 \n0--Parade/c.jpg\n"}, "text of WIDER FACE"),
    "CUB": ({"CUB/images.txt": b"1 001.A/a.jpg\n", "CUB/image_class_labels.txt": b"1 1\n", "CUB/bounding_boxes.txt": b"1 3.0 4.0 20.0 15.0\n", "CUB/classes.txt": b"1 001.A\n", "CUB/parts/parts.txt": b"1 SECRET\n", "CUB/images/001.A/a.jpg": jpeg(), "CUB/images/002.B/b.jpg": jpeg()}, "annotation of CUB-200-2011"),
    "Tiny ImageNet": ({"t/wnids.txt": b"n1\n", "t/words.txt": b"n1\tSECRET\n", "t/val/val_annotations.txt": b"val_0.JPEG\tn1\t0\t32\t44\t62\n", "t/val/images/val_0.JPEG": jpeg()}, "the layout of Tiny ImageNet"),
    "CrowdHuman": ({"annotation_val.odgt": b"{}\n"}, "a file of CrowdHuman"),
    "CrowdHuman, lines": ({"annotation_val.json": b'{"ID": "a", "gtboxes": [{"tag": "person", "fbox": [1, 2, 3, 4]}]}\n{"ID": "b", "gtboxes": []}\n'}, "a file of CrowdHuman"),
    "TensorFlow of Kaggle": ({"train/train00-2071.tfrec": b"\0"}, "a file of TensorFlow records"),
    "TensorFlow datasets": ({"birds-train-00000-of-00002": b"\0"}, "a file of TensorFlow records"),
    "TensorFlow": ({"val.tfrecord-00000-of-00002": b"\0"}, "a file of TensorFlow records"),
    "Market-1501": ({"bounding_box_train/0002_c1s1_000451_03.jpg": jpeg(), "query/-1_c1s1_000451_03.jpg": jpeg()}, "images of Market-1501"),
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("role", ["public", "hidden"])
@pytest.mark.parametrize("tool", REFUSED)
def test_a_format_that_is_not_read_is_called_by_its_name_with_a_way_out(
    tmp_path: Path, tool: str, role: str
) -> None:
    files, name = REFUSED[tool]

    [said] = read(tmp_path, files, role=role).report.problems

    assert re.match(
        rf"(this file is|\d files like this one are) {re.escape(name)}, which is not read; [ -~]+",
        said.message,
    )
    assert said.file
    assert "SECRET" not in str(said)


def test_files_of_a_folder_are_told_together(tmp_path: Path) -> None:
    files = {f"ann/{number}.json": REFUSED["BDD100K"][0]["a.json"] for number in range(30)}

    [said] = read(tmp_path, files).problems

    assert said.startswith("ann/0.json: 30 files like this one are JSON of BDD100K, which is not read; ")


def test_annotation_that_is_read_is_read_beside_a_format_that_is_refused(tmp_path: Path) -> None:
    found = read(tmp_path, {"b.json": coco_file(), **REFUSED["VIA"][0]})

    assert len(found.report.sets) == len(found.problems) == 1


CAPTIONS: Mapping[str, Any] = {
    "images": [{"id": 1}],
    "annotations": [{"id": 1, "image_id": 1, "caption": "SECRET"}],
}


@pytest.mark.parametrize("write", [as_csv, as_voc, as_yolo, as_masks], ids=lambda each: each.__name__)
def test_captions_beside_annotation_of_any_format_are_left_out_with_a_warning(
    tmp_path: Path, write: Callable[[Sequence[Scene]], Mapping[str, bytes]]
) -> None:
    files = write(scenes(3))

    found = read(tmp_path, {**files, **of_json("text/captions_val2017.json", CAPTIONS)})

    assert (found.problems, len(found.report.sets)) == ([], 1)
    [said] = [each for each in found.warnings if "captions" in each]
    assert said == "1 file is left out, such as text/captions_val2017.json: captions, beside other annotation"


def test_folders_of_images_with_captions_are_not_taken_for_classes(tmp_path: Path) -> None:
    files = {"left/a.jpg": jpeg(), "right/b.jpg": jpeg(), **of_json("captions.json", CAPTIONS)}

    found = read(tmp_path, files)

    assert found.report.sets == ()
    assert "COCO's JSON of captions, which is not read" in found.problems[0]


def test_pictures_with_annotation_are_called_as_they_like(tmp_path: Path) -> None:
    picture = {"id": 1, "file_name": "ulm_0_0_leftImg8bit.png", "width": 50, "height": 40}

    found = read(
        tmp_path,
        {
            "a.json": coco_file(
                images=[picture],
                annotations=[
                    {
                        "id": 1,
                        "image_id": 1,
                        "category_id": 1,
                        "bbox": [1, 1, 10, 10],
                        "area": 100,
                        "iscrowd": 0,
                    }
                ],
            ),
            "img/ulm_0_0_leftImg8bit.png": jpeg(),
        },
    )

    assert found.problems == []
