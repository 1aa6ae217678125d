"""What is drawn over a picture, and what stands beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from app.overlays.schemas import (
    Box,
    DrawnObject,
    DrawnPrediction,
    DrawnRun,
    Truth,
)
from scoring.readers.voc.label_images import label_colours

SHOWN: Final = 10  # predictions of a method, until somebody sets a threshold
MOST_METHODS: Final = 5
PREFERRED: Final = ("detection", "segmentation")  # the task that is shown first

BEING_DRAWN: Final = "Being drawn. Reload this page in a moment."
NOT_DRAWN: Final = "This could not be drawn."
KINDS: Final = {1: "hit", 0: "false", -1: "other", None: "other"}
OUTCOMES: Final = {1: "true positive", 0: "false positive", -1: "ignored", None: ""}


@dataclass(frozen=True, slots=True)
class Mark:
    """A box over a picture: its corner and sides in pixels, and how it looks; score: below which threshold it is hidden."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    label: str
    score: float | None = None
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class Line:
    """What the table beside a picture says of a mark, or of the picture as a whole."""

    name: str
    score: float | None
    outcome: str
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class Label:
    """A colour of a label image."""

    name: str
    colour: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A picture with what one source says of it; labels: the address of a label image; note: what is not there, and why."""

    title: str
    submission_id: int | None
    marks: tuple[Mark, ...]
    lines: tuple[Line, ...]
    labels: str | None
    note: str | None


def chosen_competition(asked: int | None, offered: Sequence[tuple[int, str]]) -> int | None:
    """The competition that is shown: the one asked for if it has runs, otherwise one of a preferred task, or the first.

    offered: number and task.

    >>> chosen_competition(None, [(1, "classification"), (3, "detection")]), chosen_competition(1, [(1, "classification")])
    (3, 1)
    """
    numbers = [number for number, _ in offered]
    if asked in numbers:
        return asked
    preferred = [number for task in PREFERRED for number, its in offered if its == task]
    return next(iter((*preferred, *numbers)), None)


def chosen_runs(asked: Sequence[int], offered: Sequence[DrawnRun]) -> tuple[DrawnRun, ...]:
    """The runs that are shown: those asked for, a few at most, otherwise the best."""
    chosen = [run for run in offered if run.run_id in asked]
    return tuple(chosen[:MOST_METHODS] or offered[:1])


def marks_of_truth(truth: Truth, task: str) -> tuple[Mark, ...]:
    """The annotated boxes, with what the task asks of them."""
    marks = [
        _mark("truth hard" if each.is_difficult else "truth", each.box, _title(each, task))
        for each in truth.objects
    ]
    if task == "layout":
        marks += [_mark("truth part", part.box, part.kind) for each in truth.objects for part in each.parts]
    return tuple(marks)


def _title(each: DrawnObject, task: str) -> str:
    return ", ".join(each.actions) or each.name if task == "action" else each.name


def lines_of_truth(truth: Truth, task: str) -> tuple[Line, ...]:
    """The annotated objects in words."""
    return tuple(Line(_title(each, task), None, _remark(each, task)) for each in truth.objects)


def _remark(each: DrawnObject, task: str) -> str:
    words = ["difficult"] if each.is_difficult else []
    if task == "layout" and each.parts:
        words.append(", ".join(part.kind for part in each.parts))
    return "; ".join(words)


def drawn(predictions: Sequence[DrawnPrediction], shown: int) -> tuple[tuple[Mark, ...], tuple[Line, ...]]:
    """The boxes and the lines of predictions, of which the first `shown` are not below the threshold."""
    marks: list[Mark] = []
    lines: list[Line] = []
    for place, each in enumerate(predictions):
        is_shown, kind = place < shown, KINDS[each.outcome]
        marks.extend(
            _mark(f"{kind} part", part.box, part.kind, each.confidence, is_shown=is_shown)
            for part in each.parts
        )
        if each.box is not None and each.number is None:
            label = f"{each.name} {each.confidence:.2f}"
            marks.append(_mark(kind, each.box, label, each.confidence, is_shown=is_shown))
        lines.append(Line(_name(each), each.confidence, OUTCOMES[each.outcome], is_shown))
    return (*marks, *_best_of_persons(predictions)), tuple(lines)


def _name(each: DrawnPrediction) -> str:
    return each.name if each.number is None else f"{each.name}, object {each.number}"


def _best_of_persons(predictions: Iterable[DrawnPrediction]) -> list[Mark]:
    """Each person with the action that a method is most confident of, or with the confidence in the layout."""
    best: dict[int, DrawnPrediction] = {}
    for each in predictions:
        if each.number is not None and each.box is not None:
            best.setdefault(each.number, each)
    return [
        _mark("other", each.box, f"{each.name} {each.confidence:.2f}") for each in best.values() if each.box
    ]


def legend(names: Sequence[str]) -> tuple[Label, ...]:
    """The colours of a label image, as the development kits have them; names: the classes from label 1 on.

    >>> legend(["aeroplane"])[0]
    Label(name='aeroplane', colour='#800000')
    """
    colours = label_colours(len(names) + 1)
    return tuple(
        Label(name, f"#{colours[3 * place : 3 * place + 3].hex()}") for place, name in enumerate(names, 1)
    )


def _mark(kind: str, box: Box, label: str, score: float | None = None, *, is_shown: bool = True) -> Mark:
    left, top, right, bottom = box
    width, height = max(right - left, 0.5), max(bottom - top, 0.5)
    return Mark(kind, left, top, round(width, 1), round(height, 1), label, score, is_shown)
