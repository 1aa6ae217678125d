"""Every export that docs/data-sets.md names is read as the same images, and every format that it says is refused is refused."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from app.intake.formats.refused import FORMATS
from heldout_scoring import competitions
from tests.documents import tables
from tests.rules.formats.builders import png, read
from tests.rules.formats.scenes import (
    CLASSES,
    Scene,
    as_coco,
    as_csv,
    as_masks,
    as_voc,
    as_yolo,
    expected,
    scenes,
    sets_of,
)
from tests.rules.formats.test_refused import REFUSED

DOCUMENT: Final = "docs/data-sets.md"
IMAGES: Final = scenes(5)
NAMES: Final = "".join(f"{name}\n" for name in CLASSES).encode()
COLOURS: Final = ((0, 0, 0), (128, 0, 0), (0, 128, 0), (128, 128, 0))
Files = Mapping[str, bytes]


def moved(files: Files, *places: str, **others: bytes) -> dict[str, bytes]:
    """The files in other folders. places: `beginning of a name -> what stands there instead`; what ends with `!` is left out."""
    found = {}
    for name, content in files.items():
        old, _, new = next(
            (each for each in (place.partition(" -> ") for place in places) if name.startswith(each[0])),
            (name, "", name),
        )
        if new != "!":
            found[new + name.removeprefix(old)] = content
    return {**found, **others}


def in_sets(write: Callable[[Sequence[Scene], str], Files]) -> dict[str, bytes]:
    """An export with the first three images in `train` and the others in `valid`."""
    return {**write(IMAGES[:3], "train"), **write(IMAGES[3:], "valid")}


def pictures(images: Sequence[Scene] = IMAGES, folder: str = "") -> dict[str, bytes]:
    return {f"{folder}{each.name}.jpg": each.picture for each in images}


def coco_of(images: Sequence[Scene], **more: Any) -> bytes:
    """COCO's JSON of some of the images, with the numbers that all have."""
    page = json.loads(as_coco(IMAGES)["annotations/instances_val.json"])
    listed = [each for each in page["images"] if IMAGES[each["id"] - 1] in images]
    numbers = {each["id"] for each in listed}
    return json.dumps(
        {
            **page,
            "images": listed,
            "annotations": [each for each in page["annotations"] if each["image_id"] in numbers],
            **more,
        }
    ).encode()


def lvis() -> dict[str, bytes]:
    page = json.loads(coco_of(IMAGES))
    for each in page["annotations"]:
        left, top, width, height = each["bbox"]
        each["segmentation"] = [
            [left, top, left + width, top, left + width, top + height, left, top + height]
        ]
        del each["iscrowd"]
    for category in page["categories"]:
        category["frequency"] = "f"
    for image in page["images"]:
        image |= {
            "neg_category_ids": [],
            "not_exhaustive_category_ids": [],
            "coco_url": f"http://images/val2017/{image.pop('file_name')}",
        }
    return {"lvis_v1_val.json": json.dumps(page).encode()}


def xml_of_cvat() -> dict[str, bytes]:
    images = [
        f'<image id="{number}" name="{each.name}.jpg" width="{each.width}" height="{each.height}">'
        + "".join(
            f'<box label="{name}" occluded="0" xtl="{box[0]}" ytl="{box[1]}" xbr="{box[2]}" ybr="{box[3]}" z_order="0"/>'
            for name, box in each.objects
        )
        + "</image>"
        for number, each in enumerate(IMAGES)
    ]
    return {
        "annotations.xml": f"<annotations><version>1.1</version>{''.join(images)}</annotations>".encode(),
        **pictures(folder="images/"),
    }


def labelme() -> dict[str, bytes]:
    files = pictures()
    for each in IMAGES:
        shapes: list[dict[str, Any]] = [
            {
                "label": name,
                "points": [box[:2], box[2:]],
                "shape_type": "rectangle",
                "group_id": None,
                "flags": {},
            }
            for name, box in each.objects
        ]
        page: dict[str, Any] = {
            "version": "5.0",
            "flags": {},
            "shapes": shapes,
            "imagePath": f"{each.name}.jpg",
            "imageData": None,
            "imageHeight": each.height,
            "imageWidth": each.width,
        }
        files[f"{each.name}.json"] = json.dumps(page).encode()
    return files


def table(
    head: str,
    row: Callable[[Scene, str, Sequence[float]], str],
    images: Sequence[Scene] = IMAGES,
    empty: str | None = None,
) -> bytes:
    """A table with a row for each object, and for each image without objects if it has some."""
    rows = [row(each, name, box) for each in images for name, box in each.objects]
    rows += [empty.format(each) for each in images if empty and not each.objects]
    return "".join(f"{line}\n" for line in (head, *rows)).encode()


def of_tensorflow(images: Sequence[Scene], empty: str | None = None) -> bytes:
    return table(
        "filename,width,height,class,xmin,ymin,xmax,ymax",
        lambda each, name, box: (
            f"{each.name}.jpg,{each.width},{each.height},{name},{box[0] + 1},{box[1] + 1},{box[2]},{box[3]}"
        ),
        images,
        empty,
    )


def of_open_images(each: Scene, name: str, box: Sequence[float]) -> str:
    across, down = (box[0] / each.width, box[2] / each.width), (box[1] / each.height, box[3] / each.height)
    return (
        f"{each.name},xclick,{name},1,{across[0]:.6f},{across[1]:.6f},{down[0]:.6f},{down[1]:.6f},0,0,0,0,0"
    )


def of_via(each: Scene, name: str, box: Sequence[float]) -> str:
    shape = {"name": "rect", "x": box[0], "y": box[1], "width": box[2] - box[0], "height": box[3] - box[1]}
    cells = ("{}", "1", "0", json.dumps(shape), json.dumps({"class": name}, ensure_ascii=False))
    return ",".join((f"{each.name}.jpg", "9", *('"' + cell.replace('"', '""') + '"' for cell in cells)))


def labelled() -> Mapping[str, str]:
    """A class for each image, for classification."""
    return {each.name: CLASSES[number % len(CLASSES)] for number, each in enumerate(IMAGES)}


def folders(images: Sequence[Scene] = IMAGES, above: str = "") -> dict[str, bytes]:
    return {f"{above}{labelled()[each.name]}/{each.name}.jpg": each.picture for each in images}


def coloured() -> dict[str, bytes]:
    return {f"{each.name}.png": png(np.array(COLOURS, np.uint8)[each.labels]) for each in IMAGES}


def in_folder(folder: str, files: Files) -> dict[str, bytes]:
    return {f"{folder}{name}": content for name, content in files.items()}


CODES = dict(zip(CLASSES, ("/m/01dws", "/m/01yrx", "/m/015qff"), strict=True))
DESCRIPTIONS = "".join(f"{code},{name}\n" for name, code in CODES.items()).encode()
CODED = table(
    "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside",
    lambda each, name, box: of_open_images(each, CODES[name], box),
)
VOC, COCO, YOLO, TABLE = as_voc(IMAGES), as_coco(IMAGES), as_yolo(IMAGES), as_csv(IMAGES)
LABELMAP = "".join(
    f"{name}:{','.join(map(str, colour))}::\n"
    for name, colour in zip(("background", *CLASSES), COLOURS, strict=True)
).encode()
LISTED = "".join(f"{each.name}\n" for each in IMAGES).encode()
YAML = "names:\n" + "".join(f"  {number}: {name}\n" for number, name in enumerate(CLASSES))
FULL = [each for each in IMAGES if each.objects]  # those that a table without rows for others knows
CVAT_OF_KITS = ("V/ImageSets/Main/val -> ImageSets/Main/default", "V/ -> ")
OF_XML = ("V/Annotations/ -> Annotations/", "V/JPEGImages/ -> images/", "V/ImageSets -> !")

EXPORTS: Mapping[tuple[str, str], Files] = {
    ("PASCAL VOC", "the kit of 2006 to 2012 as it is"): {
        **VOC, "V/ImageSets/Segmentation/val.txt": LISTED, **moved(as_masks(IMAGES), "masks/ -> V/SegmentationClass/", "images/ -> !", "classes.txt -> !")
    },
    ("COCO", "`instances_….json`, without or beside captions and keypoints"): {
        **moved(COCO, "annotations/instances_val -> annotations/instances_val2017", "images/ -> val2017/"),
        "annotations/captions_val2017.json": json.dumps({"images": [{"id": 1}], "annotations": [{"id": 1, "image_id": 1, "caption": "a"}]}).encode(),
    },
    ("LVIS", "`lvis_v1_….json`"): lvis(),
    ("Open Images", "the table of boxes, and the images"): {
        "validation-annotations-bbox.csv": table(
            "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside", of_open_images, empty="{0.name},,,,,,,,,,,,"
        ),
        **pictures(folder="validation/"),
    },
    ("Open Images", "the same with codes for classes, beside `class-descriptions….csv`"): {
        "oidv6-train-annotations-bbox.csv": CODED, "oidv7-class-descriptions-boxable.csv": b"LabelName,DisplayName\n" + DESCRIPTIONS, **pictures(folder="train/"),
    },
    ("CVAT", "CVAT for images 1.1"): xml_of_cvat(),
    ("CVAT", "PASCAL VOC 1.1"): {**moved(VOC, *CVAT_OF_KITS), "labelmap.txt": b"# label:color_rgb:parts:actions\n" + LABELMAP},
    ("CVAT", "COCO 1.0"): moved(COCO, "annotations/instances_val -> annotations/instances_default"),
    ("CVAT", "YOLO 1.1"): {
        **moved(YOLO, "classes.txt -> obj.names", "images/ -> obj_train_data/", "labels/ -> obj_train_data/"),
        "obj.data": b"classes = 3\ntrain = data/train.txt\nnames = data/obj.names\nbackup = backup/\n",
        "train.txt": "".join(f"data/obj_train_data/{each.name}.jpg\n" for each in IMAGES).encode(),
    },
    ("CVAT", "Segmentation mask 1.1"): {
        "labelmap.txt": b"# label:color_rgb:parts:actions\n" + LABELMAP, "ImageSets/Segmentation/default.txt": LISTED,
        **in_folder("SegmentationClass/", coloured()), **in_folder("SegmentationObject/", coloured()), **pictures(folder="JPEGImages/"),
    },
    ("CVAT", "Open Images V6"): {
        "annotations/default-annotations-bbox.csv": CODED, "annotations/class-descriptions.csv": DESCRIPTIONS, "annotations/images.meta": b"x",
        "annotations/bbox_labels_600_hierarchy.json": b'{"LabelName": "/m/0bl9f", "Subcategory": []}', "annotations/image_ids_and_rotation.csv": b"ImageID,Subset,Rotation\n",
        **pictures(folder="images/default/"),
    },
    ("CVAT", "ImageNet 1.0"): {**folders(), "synsets.txt": NAMES},
    ("Roboflow", "COCO"): in_sets(lambda images, name: {f"{name}/_annotations.coco.json": coco_of(images), **pictures(images, f"{name}/")}),
    ("Roboflow", "Pascal VOC"): in_sets(
        lambda images, name: moved(as_voc(images), f"V/Annotations/ -> {name}/", f"V/JPEGImages/ -> {name}/", "V/ImageSets -> !")
    ),
    ("Roboflow", "YOLO, of any version without rotated boxes"): {
        **in_sets(lambda images, name: moved(as_yolo(images), f"images/ -> {name}/images/", f"labels/ -> {name}/labels/", "classes.txt -> !")),
        "data.yaml": f"train: ../train/images\nval: ../valid/images\n\nnc: 3\nnames: {[*CLASSES]}\n".encode(), "README.dataset.txt": b"x",
    },
    ("Roboflow", "YOLO Darknet"): in_sets(
        lambda images, name: {**moved(as_yolo(images), f"images/ -> {name}/", f"labels/ -> {name}/", "classes.txt -> !"), f"{name}/_darknet.labels": NAMES}
    ),
    ("Roboflow", "TensorFlow Object Detection, as CSV"): in_sets(
        lambda images, name: {f"{name}/_annotations.csv": of_tensorflow([each for each in images if each in FULL]), **pictures(images, f"{name}/")}
    ),
    ("Roboflow", "Multi-Label Classification, as CSV"): in_sets(
        lambda images, name: {
            f"{name}/_classes.csv": ("filename, " + ", ".join(CLASSES) + "\n" + "".join(
                f"{each.name}.jpg, {', '.join(str(int(labelled()[each.name] == one)) for one in CLASSES)}\n" for each in images
            )).encode(),
            **pictures(images, f"{name}/"),
        }
    ),
    ("Roboflow", "Folder Structure"): in_sets(lambda images, name: folders(images, f"{name}/")),
    ("Label Studio", "COCO"): {"result.json": coco_of(IMAGES).replace(b'"Img', rb'"images\\Img'), **pictures(folder="images/")},
    ("Label Studio", "YOLO, with the images"): {**YOLO, "notes.json": b'{"categories": [], "info": {}}'},
    ("Label Studio", "Pascal VOC XML"): moved(VOC, *OF_XML),
    ("LabelImg", "PascalVOC, beside the images"): moved(VOC, "V/Annotations/ -> x/", "V/JPEGImages/ -> x/", "V/ImageSets -> !"),
    ("LabelImg", "YOLO, with `classes.txt`"): moved(YOLO, "images/ -> ", "labels/ -> "),
    ("labelme", "its JSON, beside the images"): labelme(),
    ("labelme", "`labelme2voc.py`, for segmentation"): {
        "class_names.txt": b"__ignore__\n_background_\n" + NAMES, **pictures(folder="JPEGImages/"), **in_folder("SegmentationClassVisualization/", pictures()),
        **moved(as_masks(IMAGES), "masks/ -> SegmentationClass/", "images/ -> !", "classes.txt -> !"),
    },
    ("labelme", "`labelme2coco.py`"): {"annotations.json": coco_of(IMAGES).replace(b'"Img', b'"JPEGImages/Img'), **pictures(folder="JPEGImages/")},
    ("FiftyOne", "`COCODetectionDataset`"): {"labels.json": coco_of(IMAGES), **pictures(folder="data/")},
    ("FiftyOne", "`VOCDetectionDataset`"): moved(VOC, "V/Annotations/ -> labels/", "V/JPEGImages/ -> data/", "V/ImageSets -> !"),
    ("FiftyOne", "`YOLOv5Dataset`"): {**moved(YOLO, "images/ -> images/val/", "labels/ -> labels/val/", "classes.txt -> !"), "dataset.yaml": YAML.encode()},
    ("FiftyOne", "`ImageClassificationDirectoryTree`"): folders(),
    ("Ultralytics", "the folder with `data.yaml`"): {
        **in_sets(lambda images, name: moved(as_yolo(images), f"images/ -> images/{name}/", f"labels/ -> labels/{name}/", "classes.txt -> !")),
        "data.yaml": f"path: ../set\ntrain: images/train\nval: images/valid\n{YAML}".encode(),
    },
    ("Keras, torchvision", "a folder for each class, as of `image_dataset_from_directory` and `ImageFolder`"): in_sets(
        lambda images, name: folders(images, f"flowers/{name}/")
    ),
    ("VGG Image Annotator (VIA)", "annotations as CSV"): {
        "via_export_csv.csv": table(
            "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes", of_via, empty='{0.name}.jpg,9,"{{}}",0,0,"{{}}","{{}}"'
        ),
        **pictures(),
    },
    ("VoTT", "Pascal VOC"): {**moved(VOC, "V/ImageSets -> !", "V/ -> x-PascalVOC-export/"), "x-PascalVOC-export/pascal_label_map.pbtxt": b"item {}"},
    ("VoTT", "CSV"): {
        "vott-csv-export/x-export.csv": table('"image","xmin","ymin","xmax","ymax","label"', lambda each, name, box: f'"{each.name}.jpg",{box[0] + 1},{box[1] + 1},{box[2]},{box[3]},"{name}"'),
        **pictures(folder="vott-csv-export/"),
    },
    ("Supervisely", "COCO"): moved(COCO, "annotations/instances_val -> dataset/annotations/instances", "images/ -> dataset/images/"),
    ("Kaggle", "VOC's XML in folders `annotations` and `images`"): moved(VOC, "V/Annotations/ -> annotations/", "V/JPEGImages/ -> images/", "V/ImageSets -> !"),
    ("Kaggle", "a table with `bbox`"): {
        "train.csv": table(
            "image_id,width,height,bbox,class", lambda each, name, box: f'{each.name},{each.width},{each.height},"[{box[0]}, {box[1]}, {box[2] - box[0]}, {box[3] - box[1]}]",{name}'
        ),
        **pictures(folder="train/"),
    },
    ("Kaggle", "a table of names and labels"): {"labels.csv": ("id,label\n" + "".join(f"{each},{name}\n" for each, name in labelled().items())).encode(), **pictures(folder="images/")},
    ("spreadsheet", "CSV in UTF-8"): TABLE,
    ("spreadsheet", "CSV with semicolons and decimal commas"): {**TABLE, "boxes.csv": re.sub(rb";(\d+)(?=[;\n])", rb";\1,0", TABLE["boxes.csv"].replace(b",", b";")).replace(b"\n", b"\r\n")},
    ("spreadsheet", "Unicode text: tabs, UTF-16"): {**TABLE, "boxes.csv": TABLE["boxes.csv"].decode().replace(",", "\t").encode("utf-16")},
    ("label images", "PNG by index or in grey, and `classes.txt`"): as_masks(IMAGES),
    ("label images", "PNG in colours, and a table of them as of CamVid or `class_dict.csv`"): {
        "class_dict.csv": ("name,r,g,b\n" + "".join(f"{name},{','.join(map(str, colour))}\n" for name, colour in zip(("background", *CLASSES), COLOURS, strict=True))).encode(),
        **in_folder("labels/", coloured()), **pictures(folder="images/"),
    },
}  # fmt: skip

READ, REFUSED_ROWS = (
    each
    for each in tables(DOCUMENT)
    if each[0] in (["tool or data set", "export", "read for"], ["format", "what to do instead"])
)


def test_every_row_has_an_export_and_every_export_a_row() -> None:
    assert [(tool, export) for tool, export, _ in READ[1:]] == [*EXPORTS]


@pytest.mark.parametrize(
    "row", READ[1:], ids=lambda row: re.sub(r"\W+", " ", " ".join(row[:2]), flags=re.ASCII)[:40]
)
def test_an_export_is_read_as_the_same_images(row: list[str], tmp_path: Path) -> None:
    tool, export, tasks = row
    found = read(tmp_path, EXPORTS[tool, export])

    assert found.problems == []
    numbers = {(each.dataset, number) for each in found.report.sets for number in each.competitions}
    named = {
        info.task.rpartition("-")[2]
        for dataset, number in numbers
        for info in competitions(dataset)
        if info.number == number
    }
    assert sorted(named) == tasks.split(", ")
    shown = {
        image: each for images in sets_of(found, tmp_path, IMAGES).values() for image, each in images.items()
    }
    if tasks == "classification":
        labels = [
            (image, name)
            for truth in found.truths.values()
            for name, row in zip(truth.lists.classes, truth.tables.labels, strict=True)
            for image, label in zip(truth.lists.images, row, strict=True)
            if label == 1
        ]
        assert dict(labels) == labelled()
    else:
        [whole] = expected(IMAGES, masks="segmentation" in tasks and tool != "LVIS").values()
        assert {image: each.objects for image, each in shown.items()} == {
            image: each.objects for image, each in whole.items() if image in shown
        }
        assert {each.name for each in FULL} <= shown.keys()
    sent = any(name.endswith(".jpg") for name in EXPORTS[tool, export])
    assert sum(each.without_picture for each in found.report.sets) == (0 if sent else len(IMAGES))


def test_the_formats_that_are_refused_are_those_of_the_document() -> None:
    assert REFUSED_ROWS[1:] == [[each.name, each.instead] for each in FORMATS]
    assert {each.name for each in FORMATS} <= {name for _, name in REFUSED.values()}
