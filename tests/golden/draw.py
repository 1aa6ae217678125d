"""Draws the small golden set anew: `python -m tests.golden.draw FOLDER`.

The tree is the sample challenge's, the results are of its methods, roughened so that ties, repeated and missing lines, boxes
outside the image and layouts of no listed person occur. What it writes has to be scored by the kits again (README.md).
"""

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from sample import draw_challenge, draw_results
from tests.shared import unpack

SEED, IMAGES = 8, 48  # every second image is one of the test set
UNUSED = ("JPEGImages", "SegmentationObject")
METHODS = {1: "OwlNet", 3: "LanternNet", 5: "HarbourSeg", 7: "StrideNet", 9: "StrideNet"}
UNLISTED = "\t<layout><image>{}</image><object>77</object><confidence>0.9</confidence>{}</layout>"
PART = re.compile(r"<part>.*</part>")


def draw(folder: Path) -> None:
    """Write the tree to `folder/sample` and the results to `folder/results`."""
    challenge = draw_challenge(folder, seed=SEED, images=IMAGES)
    _drop_other_images(challenge.tree, challenge.images["val"])
    with TemporaryDirectory() as place:
        for result in draw_results(challenge.tree, Path(place), image_set="test", seed=SEED):
            if METHODS.get(result.competition) == result.method.name:
                unpack(result.archive, Path(place))
        shutil.move(Path(place, "results", "sample"), folder / "results")
    for name in UNUSED:
        shutil.rmtree(challenge.tree / name)
    for file in (folder / "results").rglob("*.txt"):
        file.write_text("".join(f"{line}\n" for line in _roughened(file)))
    for file in (folder / "results").rglob("*.xml"):
        file.write_text(_roughened_layouts(file.read_text()))


def _drop_other_images(tree: Path, images: Iterable[str]) -> None:
    for image in images:
        (tree / "Annotations" / f"{image}.xml").unlink()
        (tree / "SegmentationClass" / f"{image}.png").unlink(missing_ok=True)
    for file in (tree / "ImageSets").rglob("*val.txt"):
        file.unlink()


def _roughened(file: Path) -> Iterator[str]:
    """Detections: confidences of two digits, every 11th line twice, every 7th box moved across the left edge of its image.
    Other lines: confidences of one digit, every 9th line left out."""
    detections = "_det_" in file.name
    for number, line in enumerate(file.read_text().splitlines(), 1):
        words = line.split()
        place = 1 if detections else -1
        words[place] = f"{float(words[place]):.{2 if detections else 1}f}"
        if detections and number % 7 == 0:
            words[2] = f"{float(words[2]) - float(words[4]) / 2:.2f}"
        if detections or number % 9:
            yield " ".join(words)
        if detections and number % 11 == 0:
            yield " ".join(words)


def _roughened_layouts(text: str) -> str:
    """Confidences of one digit, the first three layouts a second time, and one of a person that is not listed."""
    text = re.sub(r"(?<=<confidence>)[^<]+", lambda found: f"{float(found[0]):.1f}", text)
    layouts = re.findall(r"\t<layout>.*?</layout>\n", text, re.DOTALL)
    image, part = re.findall(r"<image>(.*)</image>", text)[0], PART.findall(text)[0]
    return text.replace("</results>", "".join(layouts[:3]) + UNLISTED.format(image, part) + "\n</results>")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
