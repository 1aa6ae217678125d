"""A file of a data set that is gone, damaged, renamed or moved never changes what is read without a word."""

import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

import pytest

from tests.rules.formats.builders import read
from tests.rules.formats.scenes import FORMATS, Sets, scenes, sets_of

IMAGES: Final = scenes(20)
Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of one file. of: whether it can be made of a file of this name; make: the files in its place."""

    make: Callable[[str, bytes], Files]
    of: Callable[[str], bool] = lambda name: True


def is_text(name: str) -> bool:
    return not name.endswith((".jpg", ".png"))


def named(name: str, **changes: str) -> str:
    """The name of a file with another folder, stem or suffix."""
    path = PurePosixPath(name)
    folder = changes.get("folder", str(path.parent))
    return str(PurePosixPath(folder, changes.get("stem", path.stem) + changes.get("suffix", path.suffix)))


def in_encoding(encoding: str) -> Callable[[str, bytes], Files]:
    return lambda name, content: {name: content.decode().encode(encoding)}


def half(content: bytes) -> bytes:
    """The first half, which does not end with a line: nothing shows that there were others."""
    return content[: len(content) // 2].rstrip(b"\n")


MUTATIONS: Final = {
    "dropped": Mutation(lambda name, content: {}),
    "empty": Mutation(lambda name, content: {name: b""}),
    "cut in half": Mutation(lambda name, content: {name: half(content)}),
    "cut in a line": Mutation(lambda name, content: {name: content[:-2]}, is_text),
    "twice in the file": Mutation(lambda name, content: {name: content * 2}, is_text),
    "twice in the folder": Mutation(lambda name, content: {name: content, named(name, stem="copy"): content}),
    "twice in folders": Mutation(lambda name, content: {name: content, named(name, folder=f"{PurePosixPath(name).parent}/copy"): content}),
    "twice at the root": Mutation(lambda name, content: {name: content, f"copy/{PurePosixPath(name).name}": content}),
    "renamed": Mutation(lambda name, content: {named(name, stem="other"): content}),
    "in upper case": Mutation(lambda name, content: {named(name, stem=PurePosixPath(name).stem.upper()): content}),
    "suffix in upper case": Mutation(lambda name, content: {named(name, suffix=PurePosixPath(name).suffix.upper()): content}),
    "with another suffix": Mutation(lambda name, content: {named(name, suffix=".png" if name.endswith(".jpg") else ".jpg"): content}, lambda name: not is_text(name)),
    "with a suffix that is not read": Mutation(lambda name, content: {named(name, suffix=".webp"): content}, lambda name: not is_text(name)),
    "folder in upper case": Mutation(lambda name, content: {named(name, folder=str(PurePosixPath(name).parent).upper()): content}),
    "moved": Mutation(lambda name, content: {named(name, folder="elsewhere"): content}),
    "moved below": Mutation(lambda name, content: {named(name, folder=f"{PurePosixPath(name).parent}/part"): content}),
    "moved up": Mutation(lambda name, content: {PurePosixPath(name).name: content}),
    "moved to another set": Mutation(lambda name, content: {f"test/{name}": content}),
    "in cp1252": Mutation(in_encoding("cp1252"), is_text),
    "in UTF-16": Mutation(in_encoding("utf-16"), is_text),
    "with a mark of UTF-8": Mutation(in_encoding("utf-8-sig"), is_text),
    "with ends of lines of Windows": Mutation(lambda name, content: {name: content.replace(b"\n", b"\r\n")}, is_text),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was read, and what was said of it."""

    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    sets: Sets


def outcome(files: Files) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        found = read(Path(folder), files)
        return Outcome((*found.problems,), (*found.warnings,), sets_of(found, Path(folder), IMAGES))


@cache
def whole(kind: str) -> Outcome:
    """What is read without a mutation."""
    return outcome(FORMATS[kind](IMAGES))


def silent_difference(kind: str, name: str, mutation: str) -> str:
    """What a mutation of a file changes without a word; empty if there is nothing."""
    files = FORMATS[kind](IMAGES)
    made = MUTATIONS[mutation].make(name, files.pop(name))
    found, before = outcome({**files, **made}), whole(kind).sets
    if not found.problems and found.sets in (before, *implied(name, [*made], before)):
        return ""
    said = {*found.problems, *found.warnings} - {*whole(kind).warnings}
    wrong = differences(found.sets, before)
    paths = [PurePosixPath(each) for each in (name, *made)]
    images = {path.stem for path in paths}
    others = {each for each in wrong if not any(image in each for image in images)}
    is_of_image = any(each.name in images for each in IMAGES)
    is_told = any(names_or_counts(words, images, others) for words in said)
    if found.problems:
        is_told |= mutation == "dropped"  # of which no name is left
    elif name == "classes.txt" and mutation.startswith("cut"):
        is_told = True  # what is left are names, which the report shows
    elif is_of_image and others:
        is_told = False
    return "" if is_told else f"{kind}: {name} {mutation}: {wrong}; said: {sorted(said)}"


def implied(name: str, made: list[str], before: Sets) -> Iterator[Sets]:
    """What else may be read, because the names of files are those of image sets and images, which everybody sees."""
    stem, others = PurePosixPath(name).stem, {PurePosixPath(each).stem for each in made}
    [(image_set, images)] = before.items()
    if "ImageSets" in name:
        yield dict.fromkeys(others, images)
    for other in others:
        if stem in images and other.casefold() == stem.casefold():
            yield {image_set: {other if each == stem else each: shown for each, shown in images.items()}}


def differences(sets: Sets, before: Sets) -> set[str]:
    """The images that are not the same."""
    found: set[str] = set()
    for image_set in {*sets, *before}:
        one, other = sets.get(image_set, {}), before.get(image_set, {})
        found |= {each for each in {*one, *other} if one.get(each) != other.get(each)}
    return found


def names_or_counts(words: str, images: set[str], others: set[str]) -> bool:
    """Whether a sentence names a file that was changed, or says how many files or images it is about: as many as differ besides."""
    number = re.match(r"(?:\S+: )?(\d+)(?: of \d+)? \w+", words)
    return any(each in words for each in images) or (number is not None and int(number[1]) >= len(others))


def cases(kind: str) -> Iterator[tuple[str, str, str]]:
    for name in FORMATS[kind](IMAGES):
        for mutation, each in MUTATIONS.items():
            if each.of(name):
                yield kind, name, mutation


@pytest.mark.sampled
@pytest.mark.parametrize("kind", FORMATS)
def test_no_mutation_of_a_file_is_silent(kind: str) -> None:
    of_folders: dict[tuple[PurePosixPath, str], list[tuple[str, str, str]]] = {}
    for case in cases(kind):
        of_folders.setdefault((PurePosixPath(case[1]).parent, case[2]), []).append(case)

    assert [words for some in of_folders.values() if (words := silent_difference(*random.choice(some)))] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_no_mutation_of_any_file_is_silent(kind: str) -> None:
    assert [words for case in cases(kind) if (words := silent_difference(*case))] == []
