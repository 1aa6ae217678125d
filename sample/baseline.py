"""Classification by the nearest centroid of colour histograms, which needs no more than NumPy and Pillow.

In the folder of a development kit: python3 baseline.py IMAGES TRAIN PREDICT COMPETITION
IMAGES: the folder with the images, also in folders of it; TRAIN: an image set with annotation in the kit; PREDICT: the
one whose images are classified. It writes results.tar.gz.
"""

import io
import json
import sys
import tarfile
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

BINS = 4  # of each colour


@cache
def histogram(file: Path) -> npt.NDArray[np.float64]:
    """Return how often each colour is in the upper and the lower half of an image, as square roots of shares."""
    with Image.open(file) as image:
        pixels = np.asarray(image.convert("RGB").resize((64, 64)), int) * BINS // 256
    codes = (pixels[..., 0] * BINS + pixels[..., 1]) * BINS + pixels[..., 2]
    counts = [np.bincount(half.ravel(), minlength=BINS**3) for half in (codes[:32], codes[32:])]
    shares: npt.NDArray[np.float64] = np.concatenate(counts) / codes.size
    return np.sqrt(shares)


def main(images: str, train: str, predict: str, competition: str) -> None:
    """Write an archive of results."""
    files = {file.stem: file for file in sorted(Path(images).rglob("*")) if file.is_file()}
    names = Path(predict, "images.txt").read_text().splitlines()
    if missing := [name for name in names if name not in files]:
        sys.exit(f"{len(missing)} images of {predict} are not in {images}, such as {missing[0]}")
    found = np.stack([histogram(files[name]) for name in names])
    [folder] = Path(train, "annotation").glob("*/ImageSets/Main")
    dataset = json.loads(Path(predict, "description.json").read_text())["dataset"]
    with tarfile.open("results.tar.gz", "w:gz") as archive:
        for name in Path(predict, "classes.txt").read_text().splitlines():
            labels = folder / f"{name.replace('/', '_')}_{train}.txt"
            rows = [line.rsplit(None, 1) for line in labels.read_text().splitlines()]
            distances = []
            for sign in ("1", "-1"):
                known = [histogram(files[image]) for image, label in rows if label == sign and image in files]
                centroid = np.mean(known, axis=0) if known else np.zeros_like(found[0])
                distances.append(np.linalg.norm(found - centroid, axis=1))
            scores = dict(zip(names, distances[1] - distances[0], strict=True))
            lines = "".join(f"{image} {score:.6f}\n" for image, score in scores.items()).encode()
            file = tarfile.TarInfo(f"results/{dataset}/Main/comp{competition}_cls_{predict}_{name}.txt")
            file.size = len(lines)
            archive.addfile(file, io.BytesIO(lines))


if __name__ == "__main__":
    if len(sys.argv) != len(("program", "IMAGES", "TRAIN", "PREDICT", "COMPETITION")):
        sys.exit(__doc__)
    main(*sys.argv[1:])
