"""What participants have of an edition: `read_public` describes a tree whose annotation may be missing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scoring.competitions import classes_of
from scoring.data.description import UNKNOWN_SIDE, Description, Image
from scoring.readers.voc.annotations import size_in
from scoring.readers.voc.kit_files import KitFiles, TreeError

_PICTURES: Final = ("JPEGImages/{}.jpg", "PNGImages/{}.png")


def read_public(tree: Path | str, image_set: str) -> Description:
    r"""What may be known of an image set, from a development kit's tree; whether its annotation is there does not matter.

    Of label files only the names and the images listed are read. The classes are those that have a label file of this set,
    or else of another one, or else those of the edition. Sizes come from the pictures, or else from the annotation; an
    image that has neither is `UNKNOWN_SIDE` wide and high. Raises TreeError with every image set that is wrong.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ImageSets", "Main", "cat_val.txt")
    ...     file.parent.mkdir(parents=True)
    ...     _ = file.write_text("2008_000008 1\n2008_000015 -1\n")
    ...     found = read_public(Path(folder), "val")
    >>> found.classes, [image.id for image in found.images]
    (('cat',), ['2008_000008', '2008_000015'])
    """
    there = KitFiles(Path(tree), image_set)
    labels = there.label_files(there.main_folder)
    main = _main_set(there, labels)
    people = tuple(there.persons())
    acting = _acting(there)
    masks = tuple(row.image for row in there.listed(there.set_file("Segmentation"), (0,)))
    if not main and not masks:
        there.say_that_no_image_is_listed()
    if there.problems:
        raise TreeError(there.problems)
    images = tuple(dict.fromkeys([*main, *(image for image, _ in people), *acting]))
    sized = tuple(_sized(there, image) for image in dict.fromkeys((*images, *masks)))
    return Description(
        dataset=there.dataset,
        image_set=image_set,
        classes=tuple(labels) or _classes_of_other_sets(there) or classes_of(there.dataset),
        actions=tuple(there.action_files()),
        images=sized[: len(main)],
        segmentation=masks,
        persons=people,
        acting=tuple((image, number) for image in images for number in sorted(acting.get(image, ()))),
        further=sized[len(main) :],
    )


def _main_set(there: KitFiles, labels: Mapping[str, Path]) -> tuple[str, ...]:
    """The images of the Main set; trees that lack the plain list are about."""
    for file in (there.main_folder / f"{there.image_set}.txt", *labels.values()):
        images = tuple(dict.fromkeys(row.image for row in there.listed(file, (0, 1))))
        if images:
            return images
    return ()


def _acting(there: KitFiles) -> Mapping[str, set[int]]:
    """The persons of the Action set, by image in the order in which files list them."""
    acting: dict[str, set[int]] = {}
    for file in (*there.action_files().values(), there.set_file("Action")):
        for row in there.listed(file, (0, 1, 2)):
            acting.setdefault(row.image, set()).update(row.numbers[:1])
    return {image: numbers for image, numbers in acting.items() if numbers}


def _classes_of_other_sets(there: KitFiles) -> tuple[str, ...]:
    files = sorted(there.main_folder.glob("*.txt"))
    ends = [f"_{file.name}" for file in files]
    names = {file.name.removesuffix(end) for end in ends for file in files if file.name.endswith(end)}
    return tuple(sorted(names))


def _sized(there: KitFiles, image: str) -> Image:
    size = _size_of_picture(there, image) or _size_said(there, image)
    return Image(image, *(size or (UNKNOWN_SIDE, UNKNOWN_SIDE)))


def _size_of_picture(there: KitFiles, image: str) -> tuple[int, int] | None:
    from PIL import Image as Picture  # noqa: PLC0415 - only where an image is decoded

    for pattern in _PICTURES:
        try:
            with Picture.open(there.root / pattern.format(image), formats=("JPEG", "PNG")) as picture:
                return picture.size
        except OSError:  # not there, or no picture
            continue
    return None


def _size_said(there: KitFiles, image: str) -> tuple[int, int] | None:
    try:
        return size_in(there.annotation_file(image).read_bytes())
    except OSError:
        return None
