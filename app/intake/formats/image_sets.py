"""Image sets by the names that people give to them: of folders, of files and of lists."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Final
from unicodedata import normalize

# One word for each set, because phases, protocols and lists are called so: `Training` is train, and `valid` val. Other words stay
# the organiser's own: `dev`, `minival` and `test-dev` stand beside train, val and test in challenges that have them.
_SETS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "train": "train", "training": "train", "trainset": "train",
        "val": "val", "valid": "val", "validation": "val", "valset": "val",
        "test": "test", "testing": "test", "testset": "test", "testdev": "test-dev",
        "trainval": "trainval", "minitrain": "minitrain", "minival": "minival",
        "dev": "dev", "eval": "eval", "evaluation": "eval", "holdout": "holdout", "heldout": "heldout",
    }
)  # fmt: skip
USUAL_SETS: Final = (*_SETS, "test-dev")
NO_SUBSET: Final = "default"  # a list of CVAT with the images of no subset
_HELD_OUT: Final = ("test", "holdout", "heldout")
_TO_TRAIN: Final = ("train", "trainval", "minitrain")
_BESIDE: Final = (
    "set", "split", "data", "dataset", "std", "challenge", "images", "image", "imgs", "img", "pictures",
    "labels", "label", "masks", "mask", "annotations", "annotation", "annot",
)  # fmt: skip
_AFTER_TEST: Final = ("dev", "std", "challenge")  # that make another set of it, as COCO's
_JOINED: Final = re.compile(r"(?<=[a-z])(?=[A-Z]|annot\b)")  # as in TestImages, and trainannot of SegNet
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_LONGEST_NUMBER: Final = 2  # digits behind a word that belong to the name of a set; more are a year


def words_of(name: str) -> list[str]:
    """The words and numbers in a name, with lower case.

    >>> words_of("TestImages"), words_of("image_info_test-dev2017")
    (['test', 'images'], ['image', 'info', 'test', 'dev', '2017'])
    """
    return _WORD.findall(_JOINED.sub(" ", normalize("NFKC", name)).casefold())


def _set_in(words: Sequence[str]) -> str:
    """The set that these words name; of several that contradict each other all are named, none is empty."""
    found: list[str] = []
    for before, word in pairwise(["", *words]):
        if before == "test" and word in _AFTER_TEST:
            found[-1] = f"test-{word}"
        elif before in _SETS and word.isdigit() and len(word) <= _LONGEST_NUMBER:
            found[-1] += word
        elif word in _SETS and _SETS[word] not in found:
            found.append(_SETS[word])
    return "trainval" if found == ["train", "val"] else "-".join(found)


def set_of(stem: str, otherwise: str) -> str:
    """The image set in the name of a file, by whole words.

    >>> set_of("instances_val2017", "test"), set_of("latest", "test"), set_of("image_info_test-dev2017", "x")
    ('val', 'test', 'test-dev')
    """
    return _set_in(words_of(stem)) or otherwise


def set_of_folder(name: str) -> str:
    """The image set that a folder is called by; empty if it has another name, such as that of a class.

    >>> [set_of_folder(name) for name in ("Training", "val2017", "test_images", "valannot", "test1", "test tube", "contest")]
    ['train', 'val', 'test', 'val', 'test1', '', '']
    """
    words = words_of(name)
    is_set = all(word in _SETS or word in _BESIDE or word.isdigit() for word in words)
    return _set_in(words) if is_set else ""


def set_of_archive(name: str) -> str:
    """The image set that an archive is called by, by whole words; empty if its name has none, or several.

    >>> [set_of_archive(name) for name in ("val.zip", "task_train-2026_01_02-coco 1.0.tar.gz", "birds test 2.zip", "train+val+test.zip", "cats.zip")]
    ['val', 'train', 'test2', '', '']
    >>> set_of_archive("test_challenge.zip")
    'test-challenge'
    """
    found = _set_in(words_of(name))
    is_one = found.rstrip("0123456789") in _SETS.values() or found.removeprefix("test-") in _AFTER_TEST
    return found if is_one else ""


def set_folder_above(path: Path, root: Path) -> Path | None:
    """The nearest folder above a file or folder that is called like an image set; None if there is none."""
    above = path.relative_to(root).parents
    return next((root / each for each in above if set_of_folder(each.name)), None)


def set_of_file(path: Path, root: Path, otherwise: str) -> str:
    """The image set of a file of annotation: in its own name, or else the nearest folder that is called like one.

    >>> [set_of_file(Path(name), Path(), "?") for name in ("train/_annotations.coco.json", "valid/x.csv", "a/test.json", "b.csv")]
    ['train', 'val', 'test', '?']
    """
    folder = set_folder_above(path, root)
    return set_of(path.stem, set_of_folder(folder.name) if folder else otherwise)


def says_train(name: str) -> bool:
    """Whether the name of an image set says that methods are trained on it, so that nobody submits results for it.

    >>> [name for name in ("Training", "day_train", "train2", "trainval", "val", "trains", "train_test") if says_train(name)]
    ['Training', 'day_train', 'train2', 'trainval']
    """
    return any(_SETS.get(word) in _TO_TRAIN for word in words_of(name)) and not says_test(name)


def says_test(name: str) -> bool:
    """Whether the name of an image set says that its annotation is held out.

    >>> [name for name in ("train", "day_test", "test-dev", "Testing", "latest", "holdout2") if says_test(name)]
    ['day_test', 'test-dev', 'Testing', 'holdout2']
    """
    return any(_SETS.get(word, "").startswith(_HELD_OUT) for word in words_of(name))
