"""A program for each format of prediction files, which people copy and fill with their method.

Each reads the public description of a phase and writes a valid result of one competition; tests run them all.
"""

from collections.abc import Mapping
from string import Template
from typing import Final

from heldout_scoring import CompetitionInfo, Description

START: Final = """\
import json
from pathlib import Path

phase = json.loads(Path("description.json").read_text())  # $address
folder = Path($folder)
folder.mkdir(parents=True, exist_ok=True)
"""

CLASSIFICATION: Final = """
for name in phase["classes"]:
    with open(folder / f"$file", "w") as file:
        for image, width, height in phase["images"]:
            confidence = 0.5  # of your method that the class is in the image
            file.write(f"{image} {confidence}\\n")
"""

DETECTION: Final = """
for name in phase["classes"]:
    with open(folder / f"$file", "w") as file:
        for image, width, height in phase["images"]:
            boxes = [(0.5, 1, 1, width, height)]  # of your method: confidence, left, top, right, bottom, from pixel 1
            for confidence, left, top, right, bottom in boxes:
                file.write(f"{image} {confidence} {left} {top} {right} {bottom}\\n")
"""

ACTION: Final = """
for name in phase["actions"]:
    with open(folder / f"$file", "w") as file:
        for image, person in phase["acting"]:
            confidence = 0.5  # of your method that this person does it
            file.write(f"{image} {person} {confidence}\\n")
"""

SEGMENTATION: Final = """
from PIL import Image  # pip install pillow

sizes = {image: (width, height) for image, width, height in phase["images"] + phase["further"]}
for name in phase["segmentation"]:
    labels = Image.new("P", sizes[name], 0)  # of your method: 0 is the background, 1 the first class
    labels.putpalette([value for each in range(256) for value in (each, each, each)])
    labels.save(folder / f"$file")
"""

LAYOUT: Final = """
from xml.sax.saxutils import escape

sizes = {image: (width, height) for image, width, height in phase["images"] + phase["further"]}


def box(left, top, right, bottom):
    return f"<bndbox><xmin>{left}</xmin><ymin>{top}</ymin><xmax>{right}</xmax><ymax>{bottom}</ymax></bndbox>"


with open(folder / f"$file", "w") as file:
    file.write("<results>\\n")
    for image, person in phase["persons"]:
        width, height = sizes[image]
        head = box(1, 1, max(1, width // 2), max(1, height // 4))  # of your method
        # a person without a number is found by your method, too
        who = f"<object>{person}</object>" if person else box(1, 1, width, height)
        file.write(f"<layout><image>{escape(image)}</image>{who if person else ''}<confidence>0.5</confidence>")
        file.write(f"{'' if person else who}<part><class>head</class>{head}</part></layout>\\n")
    file.write("</results>\\n")
"""

COCO_BOXES: Final = """
detections = []
for image, width, height in phase["images"]:
    for category in phase["class_numbers"][:1]:  # those that your method finds
        box = [0, 0, width, height]  # left, top, width, height
        detections.append({"image_id": int(image), "category_id": category, "bbox": box, "score": 0.5})
(folder / f"$file").write_text(json.dumps(detections))
"""

COCO_MASKS: Final = """
detections = []
for image, width, height in phase["images"]:
    for category in phase["class_numbers"][:1]:  # those that your method finds
        mask = {"size": [height, width], "counts": [0, width * height]}  # runs of 0 and of 1, column by column
        detections.append({"image_id": int(image), "category_id": category, "segmentation": mask, "score": 0.5})
(folder / f"$file").write_text(json.dumps(detections))
"""

SNIPPETS: Final[Mapping[str, str]] = {
    "classification": CLASSIFICATION,
    "detection": DETECTION,
    "segmentation": SEGMENTATION,
    "layout": LAYOUT,
    "action": ACTION,
    "coco-detection": COCO_BOXES,
    "coco-segmentation": COCO_MASKS,
    "lvis-detection": COCO_BOXES,
    "lvis-segmentation": COCO_MASKS,
}


def snippet(description: Description, competition: CompetitionInfo, address: str) -> str:
    """Return a program that writes a valid result of a competition into the folder `results`.

    address: of the description, which the program expects beside itself as description.json.
    """
    name = competition.file_name.replace("{set}", description.image_set)
    for blank in ("{class}", "{action}", "{image}"):
        name = name.replace(blank, "{name}")
    *folders, file = name.split("/")
    folder = "/".join(filter(None, ("results", description.dataset, competition.folder, *folders)))
    # an image set may have quotes in its name
    quoted = {
        "folder": repr(folder),
        "file": file.replace("\\", "\\\\").replace('"', '\\"'),
        "address": address,
    }
    return Template(START + SNIPPETS[competition.task]).substitute(quoted)
