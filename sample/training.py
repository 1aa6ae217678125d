"""The training set as a file to download: unpacked in the folder of the development kit, its baseline can be trained on it."""

import tarfile
from pathlib import Path

from sample.kit import FOLDERS, NAME

IMAGE_SET = "train"


def pack_training_set(tree: Path, archive: Path) -> None:
    """Write the images of the training set and their annotation, with the names of the kit's folders."""
    images = (tree / "ImageSets" / "Main" / f"{IMAGE_SET}.txt").read_text(encoding="ascii").split()
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as tar:
        for image in images:
            _add(tar, tree / "JPEGImages" / f"{image}.jpg", f"images/{image}.jpg")
        for folder in FOLDERS:
            if folder != "JPEGImages":
                for file in sorted((tree / folder).iterdir()):
                    if file.stem in images or file.stem.removesuffix(IMAGE_SET) != file.stem:
                        _add(tar, file, f"{IMAGE_SET}/annotation/{NAME}/{folder}/{file.name}")
        _add(tar, tree / "ImageSets" / "Main" / f"{IMAGE_SET}.txt", f"{IMAGE_SET}/images.txt")


def _add(tar: tarfile.TarFile, file: Path, name: str) -> None:
    member = tarfile.TarInfo(name)
    member.size = file.stat().st_size
    with file.open("rb") as content:
        tar.addfile(member, content)
