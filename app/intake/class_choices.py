"""What organisers make of the classes of a data set: other names, another order, ignored classes.

Organisers choose before a challenge opens; workers do it whenever they read the data set, so that counts, findings, pictures, trial
results and the checks of archives all know the classes as they were chosen.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

import heldout_scoring
from app.intake.findings import labelled
from app.intake.formats.reading import CLASS_FOLDERS, COCO, AnnotatedSet
from app.intake.reports import ClassChoice, ClassCount, FoundSet, Report
from heldout_scoring import PERSON, GroundTruth, Problem, Problems
from heldout_scoring.evaluation import missing_truth

LONGEST: Final = 100  # characters of a new name
LONGEST_IN_FILES: Final = 200  # bytes of a name in the names of files, which have 255 on most systems
MOST_CHOSEN: Final = 2000  # classes
# tasks; results of these two name persons by their number among the objects of an image
LAYOUT: Final = "layout"
ACTION: Final = "action"
SEGMENTATION: Final = "segmentation"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The classes of a data set as they were chosen, and its image sets with these classes, by role."""

    classes: tuple[ClassChoice, ...]
    sets: dict[str, list[AnnotatedSet]]


def choose(
    choices: Sequence[ClassChoice], sets: Mapping[str, Sequence[AnnotatedSet]], problems: Problems
) -> Chosen:
    """Give image sets the chosen classes. If choices made for earlier annotation do not fit this one, warn and change nothing."""
    found = dict.fromkeys(
        name for some in sets.values() for each in some for name in each.truth.lists.classes
    )
    unchanged = Chosen(unchanged_classes(found), {role: list(some) for role, some in sets.items()})
    if not choices:
        return unchanged
    classes = completed(choices, found)
    names = {each.found: each.name for each in classes if not each.is_ignored}
    twice = [name for name, count in Counter(names.values()).items() if count > 1]
    if twice:
        problems.warn(_misfit(f"two classes would be called {', '.join(twice)}"))
        return unchanged
    chosen = {role: [_with_classes(each, names) for each in some] for role, some in sets.items()}
    pairs = [pair for role, some in sets.items() for pair in zip(some, chosen[role], strict=True)]
    bare = [new.name for old, new in pairs if has_truth(old.truth) and not has_truth(new.truth)]
    if bare:
        problems.warn(_misfit(f"{', '.join(bare)} would have no ground truth left"))
        return unchanged
    return Chosen(classes, chosen)


def _misfit(reason: str) -> Problem:
    message = f"the names and the order that you gave classes before do not fit, and are not used: {reason}"
    return Problem("class-choice", message)


def has_truth(truth: GroundTruth) -> bool:
    """Whether annotation can score any competition."""
    missing = missing_truth(truth)
    return any(each.number not in missing for each in heldout_scoring.competitions(truth.lists.dataset))


def unchanged_classes(names: Collection[str]) -> tuple[ClassChoice, ...]:
    """These classes as they are."""
    return tuple(ClassChoice(name, name) for name in names)


def completed(choices: Sequence[ClassChoice], found: Collection[str]) -> tuple[ClassChoice, ...]:
    """The choices for classes that were found, and behind them the other classes as they are.

    >>> [each.name for each in completed([ClassChoice("dog", "hound"), ClassChoice("cow", "cow")], ["cat", "dog"])]
    ['hound', 'cat']
    """
    known = {each.found for each in choices}
    fitting = tuple(each for each in choices if each.found in found)
    return fitting + unchanged_classes([name for name in found if name not in known])


def _with_classes(found: AnnotatedSet, names: Mapping[str, str]) -> AnnotatedSet:
    """An image set with some of its classes; of folders of classes, pictures that show none of these are left out."""
    ignored = tuple(each for each in counts_of(found.truth) if each.name not in names)
    truth = found.truth.choose_classes(names)
    if ignored and found.layout == CLASS_FOLDERS:
        truth = _without_unlabelled_images(truth)
    return replace(found, truth=truth, ignored=ignored)


def _without_unlabelled_images(truth: GroundTruth) -> GroundTruth:
    lists, tables = truth.lists, truth.tables
    shown = (tables.labels == 1).any(axis=0)
    images = tuple(image for image, is_shown in zip(lists.images, shown, strict=True) if is_shown)
    return GroundTruth.of(
        replace(lists, images=images, main=len(images)),
        replace(tables, sizes=tables.sizes[shown], labels=tables.labels[:, shown]),
    )


def counts_of(truth: GroundTruth) -> tuple[ClassCount, ...]:
    """The images and objects of each class; without objects, the images whose labels or pixels show it."""
    if len(truth.tables.objects.image):
        rows = heldout_scoring.count_objects(truth).rows
        return tuple(ClassCount(row.name, row.images, row.objects, row.difficult) for row in rows)
    images = np.bincount(labelled(truth).label, minlength=len(truth.lists.classes)).tolist()
    return tuple(
        ClassCount(name, count, 0, 0) for name, count in zip(truth.lists.classes, images, strict=True)
    )


# choosing


def in_order(choices: Sequence[ClassChoice], positions: Sequence[int]) -> tuple[ClassChoice, ...]:
    """The choices by their positions, from 1; one that moves takes its new place among those that stay.

    >>> abcd = unchanged_classes("abcd")
    >>> "".join(each.name for each in in_order(abcd, [3, 2, 3, 4])), "".join(each.name for each in in_order(abcd, [1, 2, 3, 2]))
    ('bcad', 'adbc')
    """
    places = range(1, len(choices) + 1)
    moves = [(to > place) - (to < place) for to, place in zip(positions, places, strict=True)]
    rows = sorted(zip(positions, moves, places, strict=True))
    return tuple(choices[place - 1] for _, _, place in rows)


def has_files(found: FoundSet) -> bool:
    """Whether results for an image set have a file for each class, called by it."""
    return found.layout != COCO and found.tasks != (SEGMENTATION,)


def problem_in_files(name: str) -> str | None:
    """Return why a class of this name cannot have files of results, which are called by it.

    >>> [problem_in_files(name) is None for name in ("traffic light", "car/truck", "\N{CJK UNIFIED IDEOGRAPH-9CE5}" * 67)]
    [True, False, False]
    """
    if "/" in name or "\\" in name:
        return "cannot stand in the name of a file of results; leave out slashes"
    if (length := len(name.encode())) > LONGEST_IN_FILES:
        return f"cannot stand in the name of a file of results: it has {length} bytes, and may have {LONGEST_IN_FILES}"
    return None


def problems_in_files(report: Report) -> Mapping[str, str]:
    """Return which classes of a report cannot have files of results, by row; none if results are JSON."""
    if not any(map(has_files, report.sets)):
        return {}
    named = enumerate(report.classes, 1)
    found = {f"class-{row}": problem_in_files(each.name) for row, each in named if not each.is_ignored}
    return {row: f"{message}; call it otherwise" for row, message in found.items() if message}


def problems_of_choices(
    choices: Sequence[ClassChoice], report: Report, tasks: Collection[str]
) -> Mapping[str, str]:
    """Return everything that is wrong with the choices for classes of a report, which stand in its order, by row and field.

    tasks: those that the challenge offers.
    """
    are_files = any(map(has_files, report.sets))
    uses = Counter(each.name for each in choices if not each.is_ignored)
    problems: dict[str, str] = {}
    for number, each in enumerate(choices, 1):
        if each.is_ignored:
            continue
        message = _problem_of_name(each, are_files=are_files)
        if message is None and uses[each.name] > 1:
            message = f"two classes cannot both be called {each.name}"
        if message is not None:
            problems[f"class-{number}"] = message
    if message := _problem_of_all(choices, report, tasks):
        problems["classes"] = message
    return problems


def _problem_of_name(choice: ClassChoice, *, are_files: bool) -> str | None:
    name = choice.name
    if not name:
        return "needs a name, or has to be ignored"
    if name == choice.found:
        return problem_in_files(name) if are_files else None
    if len(name) > LONGEST:
        return f"a name may have at most {LONGEST} characters, not {len(name)}"
    if are_files and (not name.isprintable() or any(letter.isspace() or letter in "/\\" for letter in name)):
        return "cannot stand in the name of a file of results; leave out blanks and slashes"
    if are_files and (message := problem_in_files(name)):
        return message
    return None if name.isprintable() else "leave out characters that cannot be seen"


def _problem_of_all(choices: Sequence[ClassChoice], report: Report, tasks: Collection[str]) -> str:
    ignored = {each.found for each in choices if each.is_ignored}
    if len(ignored) == len(choices):
        return "every class is ignored, but at least one has to count"
    found = {each.name: each.found for each in report.classes if not each.is_ignored}
    parts = [
        f"{each.name} would have no class left"
        for each in report.sets
        if {*(found.get(row.name, row.name) for row in each.classes), *(row.name for row in each.ignored)}
        <= ignored
    ]
    if ignored and (named := [each for each in (LAYOUT, ACTION) if each in tasks]):
        parts.append(
            f"no class can be ignored while the challenge has {' and '.join(named)}, whose results name persons by their number "
            "among all objects of an image; choose other tasks in step 1, or ignore none"
        )
    if LAYOUT in tasks and any(each.found == PERSON and each.is_renamed for each in choices):
        parts.append(f"the class {PERSON} keeps its name while the challenge has {LAYOUT}")
    return "; ".join(parts)
