"""Reading of the public description of a development kit's tree, whose annotation may be missing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scoring.competitions import classes_of
from scoring.data.description import UNKNOWN_SIDE, Description, Image
from scoring.files import as_path
from scoring.readers.voc.annotations import read_size
from scoring.readers.voc.kit_files import KitFiles, TreeError

_PICTURES: Final = ("JPEGImages/{}.jpg", "PNGImages/{}.png")


def read_public(tree: Path | str, image_set: str) -> Description:
    r"""The public description of an image set, from a development kit's tree with or without annotation.

    Of label files only the names and the images listed are read. The classes are those that have a label file of this set,
    or else of another one, or else those of the challenge. Sizes are those of the pictures, or else of the annotation; an
    image without either is `UNKNOWN_SIDE` wide and high. Raises TreeError with a problem for every invalid image set.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ImageSets", "Main", "cat_val.txt")
    ...     file.parent.mkdir(parents=True)
    ...     _ = file.write_text("2008_000008 1\n2008_000015 -1\n")
    ...     found = read_public(Path(folder), "val")
    >>> found.classes, [image.id for image in found.images]
    (('cat',), ['2008_000008', '2008_000015'])
    """
    kit = KitFiles(as_path(tree), image_set)
    labels = kit.label_files(kit.main_folder)
    main = _main_set(kit, labels)
    people = tuple(kit.persons())
    acting = _acting(kit)
    masks = tuple(row.image for row in kit.listed(kit.set_file("Segmentation"), (0,)))
    classes = tuple(labels) or _classes_of_other_sets(kit) or classes_of(kit.dataset)
    if not main and not masks:
        kit.add_missing_image_set()
    kit.check_labels(classes, masks)
    if kit.problems:
        raise TreeError(kit.problems)
    images = tuple(dict.fromkeys([*main, *(image for image, _ in people), *acting]))
    sized = tuple(_sized(kit, image) for image in dict.fromkeys((*images, *masks)))
    return Description(
        dataset=kit.dataset,
        image_set=image_set,
        classes=classes,
        actions=tuple(kit.action_files()),
        images=sized[: len(main)],
        segmentation=masks,
        persons=people,
        acting=tuple((image, number) for image in images for number in sorted(acting.get(image, ()))),
        further=sized[len(main) :],
    )


def _main_set(kit: KitFiles, labels: Mapping[str, Path]) -> tuple[str, ...]:
    """The images of the Main set; some trees lack the plain list."""
    for file in (kit.main_folder / f"{kit.image_set}.txt", *labels.values()):
        images = tuple(dict.fromkeys(row.image for row in kit.listed(file, (0, 1))))
        if images:
            return images
    return ()


def _acting(kit: KitFiles) -> Mapping[str, set[int]]:
    """The persons of the Action set, by image in the order in which files list them."""
    acting: dict[str, set[int]] = {}
    for file in (*kit.action_files().values(), kit.set_file("Action")):
        for row in kit.listed(file, (0, 1, 2)):
            acting.setdefault(row.image, set()).update(row.numbers[:1])
    return {image: numbers for image, numbers in acting.items() if numbers}


def _classes_of_other_sets(kit: KitFiles) -> tuple[str, ...]:
    files = sorted(kit.main_folder.glob("*.txt"))
    ends = [f"_{file.name}" for file in files]
    names = {file.name.removesuffix(end) for end in ends for file in files if file.name.endswith(end)}
    return tuple(sorted(names))


def _sized(kit: KitFiles, image: str) -> Image:
    size = _size_of_picture(kit, image) or _size_of_annotation(kit, image)
    return Image(image, *(size or (UNKNOWN_SIDE, UNKNOWN_SIDE)))


def _size_of_picture(kit: KitFiles, image: str) -> tuple[int, int] | None:
    from PIL import Image as Picture  # noqa: PLC0415 - only where an image is decoded

    for pattern in _PICTURES:
        try:
            with Picture.open(kit.root / pattern.format(image), formats=("JPEG", "PNG")) as picture:
                return picture.size
        except OSError:  # missing, or not a picture
            continue
    return None


def _size_of_annotation(kit: KitFiles, image: str) -> tuple[int, int] | None:
    try:
        return read_size(kit.annotation_file(image).read_bytes())
    except OSError:
        return None
