"""Image sets by the names that people give to them: of archives, folders, files and lists.

The rule: a set is called by the whole words in the name of a file, or else of the nearest folder or archive above it. A folder that
may be one of a class, such as `test tube` with pictures in it, is a set only if it has no other word.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Final
from unicodedata import normalize

# One word for each set, because phases, protocols and lists are called so: `Training` is train, and `valid` val. Other words stay
# the organiser's own: `dev`, `minival` and `test-dev` stand beside train, val and test in challenges that have them.
_SETS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "train": "train", "training": "train",
        "val": "val", "valid": "val", "validation": "val",
        "test": "test", "testing": "test",
        "trainval": "trainval", "minitrain": "minitrain", "minival": "minival",
        "dev": "dev", "eval": "eval", "evaluation": "eval", "holdout": "holdout", "heldout": "heldout",
    }
)  # fmt: skip
USUAL_SETS: Final = (*_SETS, "test-dev")
NO_SUBSET: Final = "default"  # a list of CVAT with the images of no subset
_HELD_OUT: Final = ("test", "eval", "holdout", "heldout")
_TO_TRAIN: Final = ("train", "trainval", "minitrain")
_BESIDE: Final = (
    "set", "split", "data", "dataset", "std", "challenge", "images", "image", "imgs", "img", "pictures",
    "labels", "label", "masks", "mask", "annotations", "annotation", "annot",
)  # fmt: skip
_AFTER_TEST: Final = ("dev", "std", "challenge")  # that make another set of it, as COCO's
_JOINED: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")  # as in TestImages
_PARTED: Final = re.compile(r"(?<![a-z])(hold|held)[\W_]+(out)(?![a-z])")
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_KNOWN: Final = "|".join(sorted({*_SETS, *_BESIDE}, key=len, reverse=True))
_COMPOUND: Final = re.compile(rf"({_KNOWN})((?:{_KNOWN})*)")  # as testdata, and trainannot of SegNet
_ENDING: Final = re.compile(
    r"( \(\d+\))?(\.tar)?\.\w+$"
)  # of an archive, and what browsers add to the name of a second download
_LONGEST_NUMBER: Final = 2  # digits behind a word that belong to the name of a set; more are a year


@lru_cache(4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words and numbers in a name, with lower case; compounds of words that are about sets in their parts.

    >>> words_of("TestImages"), words_of("image_info_test-dev2017"), words_of("valtest hold-out contest")
    (('test', 'images'), ('image', 'info', 'test', 'dev', '2017'), ('val', 'test', 'holdout', 'contest'))
    """
    text = _PARTED.sub(r"\1\2", _JOINED.sub(" ", normalize("NFKC", name)).casefold())
    return tuple(part for word in _WORD.findall(text) for part in _parts_of(word))


def _parts_of(word: str) -> Iterator[str]:
    while found := _COMPOUND.fullmatch(word):
        yield found[1]
        word = found[2]
    if word:
        yield word


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
    """The image set that a folder is called by if it has no other word in its name; empty if it has, as that of a class may.

    >>> [set_of_folder(name) for name in ("Training", "val2017", "test_images", "valannot", "test1", "test tube", "contest")]
    ['train', 'val', 'test', 'val', 'test1', '', '']
    """
    words = words_of(name)
    is_set = all(word in _SETS or word in _BESIDE or word.isdigit() for word in words)
    return _set_in(words) if is_set else ""


def folder_of_archive(name: str) -> str:
    """The folder that an archive stands for if it is called like an image set, else none. What is in it may name others.

    >>> [folder_of_archive(name) for name in ("val (1).zip", "task_train-2026_01_02-coco 1.0.tar.gz", "val-test.zip", "cats.zip")]
    ['val', 'task_train-2026_01_02-coco 1.0', 'val-test', '']
    """
    stem = _ENDING.sub("", name.replace("\\", "/").rpartition("/")[2])
    return stem if set_of(stem, "") else ""


def is_one_set(name: str) -> bool:
    """Whether a folder is called like one image set and nothing else.

    >>> [name for name in ("test", "val2017", "train_val_test", "my test data") if is_one_set(name)]
    ['test', 'val2017']
    """
    found = set_of_folder(name)
    return found.rstrip("0123456789") in _SETS.values() or found.removeprefix("test-") in _AFTER_TEST


def set_folder_above(path: Path, root: Path) -> Path | None:
    """The nearest folder above a file or folder that is called like an image set; None if there is none."""
    above = path.relative_to(root).parents
    return next((root / each for each in above if set_of(each.name, "")), None)


def set_of_file(path: Path, root: Path, otherwise: str) -> str:
    """The image set of a file of annotation: in its own name, or else the nearest folder that is called like one.

    >>> [set_of_file(Path(name), Path(), "?") for name in ("train/_annotations.coco.json", "my test data/x.csv", "a/test.json", "b.csv")]
    ['train', 'test', 'test', '?']
    """
    folder = set_folder_above(path, root)
    return set_of(path.stem, set_of(folder.name, otherwise) if folder else otherwise)


def says_train(name: str) -> bool:
    """Whether the name of an image set says that methods are trained on it, so that nobody submits results for it.

    >>> [name for name in ("Training", "day_train", "train2", "trainval", "val", "trains", "train_test") if says_train(name)]
    ['Training', 'day_train', 'train2', 'trainval']
    """
    return any(_SETS.get(word) in _TO_TRAIN for word in words_of(name)) and not says_test(name)


def says_test(name: str) -> bool:
    """Whether the name of an image set says that its annotation is held out, or may be.

    >>> [name for name in ("train", "day_test", "test-dev", "Testing", "latest", "holdout2", "dev", "eval") if says_test(name)]
    ['day_test', 'test-dev', 'Testing', 'holdout2', 'eval']
    """
    return any(_SETS.get(word, "").startswith(_HELD_OUT) for word in words_of(name))
