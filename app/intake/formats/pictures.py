"""Pictures and annotation together: which picture shows which image, and what does not fit."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from app.images.matching import (
    OTHER_SUFFIXES,
    SUFFIXES,
    FileIndex,
    Matches,
    match,
    path_of,
    size_problem,
    stem_of,
)
from app.intake.formats import label_images
from app.intake.formats.image_sets import says_test, set_folder_above, set_of, set_of_folder
from app.intake.formats.reading import (
    CLASS_FOLDERS,
    LONGEST_NAME,
    MOST_NAMED,
    AnnotatedSet,
    ListedImages,
    Size,
    known_size,
)
from app.intake.reports import HIDDEN, IMAGES
from app.intake.unpacking import SentPicture, Unpacked
from heldout_scoring import Problem, Problems, Rule


def pictures_of(unpacked: Unpacked, found: AnnotatedSet) -> Mapping[str, SentPicture]:
    """The picture of each image: that of the file that the annotation names, or else the one called like the image."""
    matches = _matched(unpacked, found.role, _listed(found))
    return {image: unpacked.pictures[key] for image, key in matches.of.items()}


def file_names(found: AnnotatedSet, pictures: Mapping[str, SentPicture]) -> Mapping[str, str]:
    """What annotation calls the file of each image where images are numbers, with the suffix of the picture if it was sent."""
    if not found.truth.lists.class_numbers:
        return {}
    return {
        image: _with_suffix(name, pictures[image].suffix) if image in pictures else name
        for image, name in found.files.items()
        if name.strip()
    }


def _with_suffix(name: str, suffix: str) -> str:
    """The name of a file as one of this kind: JPEG, or PNG.

    >>> _with_suffix("a.JPEG", ".jpg"), _with_suffix("x/a.png", ".jpg"), _with_suffix("v1.5", ".png")
    ('a.JPEG', 'x/a.jpg', 'v1.5.png')
    """
    path = path_of(name)
    if path.suffix.lower() in SUFFIXES and (path.suffix.lower() == ".png") == (suffix == ".png"):
        return name
    return str(path.with_name(f"{stem_of(path)}{suffix}"))


def sizes_of_pictures(unpacked: Unpacked, role: str, files: Mapping[str, str]) -> Mapping[str, Size]:
    """Width and height of the images whose pictures are there. files: what the annotation of a role calls them, by image."""
    matches = _matched(unpacked, role, ListedImages("", dict.fromkeys(files), files))
    sizes = {image: unpacked.pictures[key].size for image, key in matches.of.items()}
    return {image: size for image, size in sizes.items() if size is not None}


def size_of_picture(
    unpacked: Unpacked, role: str, file: str, image_set: str, index: FileIndex
) -> Size | None:
    """Width and height of one image whose picture is there. file: what the annotation of a role calls it; index: of all pictures."""
    matches = _matched(unpacked, role, ListedImages(image_set, {file: None}), index)
    return unpacked.pictures[matches.of[file]].size if file in matches.of else None


def _listed(found: AnnotatedSet) -> ListedImages:
    description = found.truth.description
    sizes = {image.id: known_size(image) for image in (*description.images, *description.further)}
    return ListedImages(found.name, sizes, found.files, numbered=bool(description.class_numbers))


def _matched(unpacked: Unpacked, role: str, listed: ListedImages, index: FileIndex | None = None) -> Matches:
    pictures = unpacked.pictures
    return match(
        {image: listed.files.get(image, image) for image in listed.sizes},
        index or FileIndex.of(pictures),
        numbered=listed.numbered and not listed.files,
        own=f"{role}/",
        is_near=lambda key: _set_of(key) == listed.name,
        is_same=lambda one, other: pictures[one].digest == pictures[other].digest,
    )


def _set_of(key: str) -> str:
    """The image set that the folder of a picture is called by; empty if it is called by none."""
    folder = set_folder_above(Path(key), Path())
    return set_of(folder.name, "") if folder else ""


def check_pictures(
    unpacked: Unpacked,
    sets: Mapping[str, Sequence[AnnotatedSet]],
    invalid: Mapping[str, Sequence[ListedImages]],
) -> None:
    """Add what does not fit between pictures and annotation: missing ones, and other sizes. invalid: the sets with problems."""
    _tell_of_others(unpacked)
    _tell_of_rotated(unpacked)
    read = [(role, _listed(each), each) for role, found in sets.items() for each in found]
    listed = [*read, *((role, each, None) for role, found in invalid.items() for each in found)]
    if not listed:
        return
    used: set[tuple[bytes, str]] = (
        set()
    )  # by content and name, since a picture may have been sent with two roles
    for role, each, annotated in listed:
        matches = _matched(unpacked, role, each)
        pictures = {image: unpacked.pictures[key] for image, key in matches.of.items()}
        used.update((picture.digest, picture.path.name) for picture in pictures.values())
        doubtful = [key for some in matches.two_files.values() for key in some] + list(matches.two_images)
        used.update(
            (picture.digest, picture.path.name) for picture in map(unpacked.pictures.__getitem__, doubtful)
        )
        _check_set(unpacked.problems[role], each, pictures, matches)
        if annotated is None or annotated.layout != CLASS_FOLDERS:
            _refuse_label_images(unpacked, role, each, matches)
        _tell_of_doubtful(unpacked, role, each, matches)
        _tell_of_sets(unpacked, role, each, matches)
        if annotated is not None:
            _tell_of_folders(unpacked, role, annotated, matches)
    names = [(picture.digest, picture.path.name) for picture in unpacked.pictures.values()]
    unused = sorted(name for digest, name in names if (digest, name) not in used)
    if unused:
        count = "1 image has" if len(unused) == 1 else f"{len(unused):,} images have"
        words = f"{count} no annotation, such as {', '.join(unused[:MOST_NAMED])}"
        unpacked.problems[IMAGES].warn(Problem("picture-without-annotation", Rule(words)))


def _tell_of_others(unpacked: Unpacked) -> None:
    """Warn of what was sent as pictures and is left out, with its count and an example."""
    of_other_kinds = [name for name in unpacked.others if name.lower().endswith(OTHER_SUFFIXES)]
    no_pictures = [name for name in unpacked.others if not name.lower().endswith(OTHER_SUFFIXES)]
    for code, names, reason in (
        (
            "picture-kind",
            of_other_kinds,
            "images have to be JPEG or PNG; convert them without changing their names or sizes",
        ),
        ("not-a-picture", no_pictures, "neither JPEG nor PNG by its name; send annotation as such"),
    ):
        if names:
            count = f", as {len(names):,} files are" if len(names) > 1 else ""
            unpacked.problems[IMAGES].warn(Problem(code, Rule(f"left out{count}: {reason}"), names[0]))


def _tell_of_rotated(unpacked: Unpacked) -> None:
    """Warn of pictures that programs turn, with their count in each role."""
    for role, problems in unpacked.problems.items():
        rotated = [each for each in unpacked.pictures.values() if each.is_rotated and each.role == role]
        if rotated:
            count = f", as {len(rotated):,} images are" if len(rotated) > 1 else ""
            message = f"rotated by its EXIF data{count}, which is ignored: annotation has to be of the pixels as they are stored"
            problems.warn(Problem("exif-rotation", Rule(message), rotated[0].name))


def _check_set(
    problems: Problems, listed: ListedImages, pictures: Mapping[str, SentPicture], matches: Matches
) -> None:
    doubtful = {*matches.two_files, *(image for images in matches.two_images.values() for image in images)}
    for image, size in listed.sizes.items():
        picture = pictures.get(image)
        if picture is None or picture.size is None or size is None:
            continue
        if rule := size_problem(size, picture.size):
            problems.add(Problem("picture-size", rule, picture.path.name))
    missing = [
        path_of(listed.files.get(each, each)).name[:LONGEST_NAME]
        for each in listed.sizes
        if each not in pictures and each not in doubtful
    ]
    if missing:
        message = (
            f"{len(missing):,} of {len(listed.sizes):,} images of {listed.name} have no file, "
            f"such as {', '.join(missing[:MOST_NAMED])}"
        )
        problems.warn(Problem("annotation-without-picture", Rule(message)))


def _refuse_label_images(unpacked: Unpacked, role: str, listed: ListedImages, matches: Matches) -> None:
    """Add a problem for pictures in folders of label images, which participants would get as images."""
    masks = [key for key in matches.of.values() if label_images.has_label_images(PurePosixPath(key).parent)]
    if masks:
        count = "this file is" if len(masks) == 1 else f"{len(masks):,} files like this one are"
        words = f"{count} in a folder of label images, and would be the images of {listed.name}; send images in a folder such as images"
        unpacked.problems[role].add(Problem("not-read", Rule(words), unpacked.pictures[masks[0]].path.name))


def _tell_of_doubtful(unpacked: Unpacked, role: str, listed: ListedImages, matches: Matches) -> None:
    """Add a problem for images that two pictures fit, and for pictures that fit two images, with their count and an example."""
    problems = unpacked.problems[role]

    def shown(key: str) -> str:
        picture = unpacked.pictures[key]
        return picture.path.name if picture.role == HIDDEN else picture.name  # whose folder may be a class

    way_out = "name each file with its folder in the annotation, or give it a name of its own"
    for image, (one, other) in list(matches.two_files.items())[:1]:
        count = f" and so for {len(matches.two_files):,} images" if len(matches.two_files) > 1 else ""
        words = f"this file and {shown(other)} both fit the image {{}} of {listed.name}{count}; {way_out}"
        problems.add(Problem("two-pictures", Rule(words, listed.files.get(image, image)), shown(one)))
    for key, images in list(matches.two_images.items())[:1]:
        count = f" and so for {len(matches.two_images):,} images" if len(matches.two_images) > 1 else ""
        words = f"this file fits the images {{}} and {{}} of {listed.name}{count}; {way_out}"
        rule = Rule(words, *(listed.files.get(each, each) for each in images))
        problems.add(Problem("two-images", rule, shown(key)))


def _tell_of_sets(unpacked: Unpacked, role: str, listed: ListedImages, matches: Matches) -> None:
    """Warn of files in folders that are called like several image sets, or like one to test on, where annotation has one set of another name."""
    files = (matches.of.get(image) or str(path_of(listed.files.get(image, ""))) for image in listed.sizes)
    counts = Counter(filter(None, map(_set_of, files)))
    others = [name for name in counts if name != listed.name]
    if len(counts) > 1 or any(says_test(name) and not says_test(listed.name) for name in others):
        folders = " and ".join(f"{counts[name]:,} in {name}" for name in sorted(counts))
        words = f"files of the one image set {listed.name} lie in folders of other image sets: {folders}; if these are sets, send the annotation of each apart"
        unpacked.problems[role].warn(Problem("folders-of-sets", Rule(words)))


def _tell_of_folders(unpacked: Unpacked, role: str, found: AnnotatedSet, matches: Matches) -> None:
    """Warn of files in folders that are named after a class which the annotation of their images does not have.

    The file is a quote, since it says what its image does not show.
    """
    lists, labels = found.truth.lists, found.truth.tables.labels
    places: dict[str, list[int]] = {}
    for place, name in enumerate(lists.classes):
        places.setdefault(name.casefold(), []).append(place)

    def is_other(number: int, image: str) -> bool:
        folder = Path(matches.of.get(image, "")).parent.name
        found = [] if set_of_folder(folder) else places.get(folder.casefold(), [])
        return bool(found) and all(labels[place, number] < 0 for place in found)

    others = [
        image for number, image in enumerate(lists.images[: labels.shape[1]]) if is_other(number, image)
    ]
    if others:
        lie = "1 file lies" if len(others) == 1 else f"{len(others):,} files lie"
        words = f"{lie} in a folder that is named after another class than those of its image in {found.name}, such as {{}}; names of folders are not read"
        file = unpacked.pictures[matches.of[others[0]]].name
        unpacked.problems[role].warn(Problem("other-folder", Rule(words, file)))
