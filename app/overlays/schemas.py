"""What is drawn over a picture. Boxes are left, top, right, bottom in pixels from the upper left corner of the picture."""

from dataclasses import dataclass

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a person."""

    kind: str
    box: Box


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """An annotated object; number: in the order of its annotation, from 1."""

    number: int
    name: str
    box: Box
    is_difficult: bool
    parts: tuple[Part, ...]
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DrawnPrediction:
    """A prediction; outcome: 1 for a true positive, 0 for a false one, -1 for one that is ignored, None where that is of no box.

    number: of the person that it is of, for actions and layouts; a prediction for the whole image has no box.
    """

    name: str
    confidence: float
    box: Box | None
    outcome: int | None
    number: int | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Truth:
    """The annotation of an image."""

    objects: tuple[DrawnObject, ...]
    has_labels: bool


@dataclass(frozen=True, slots=True)
class Predictions:
    """The predictions of a run in an image, best first."""

    predictions: tuple[DrawnPrediction, ...]
    has_labels: bool


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """A run whose predictions can be drawn, as a page names it; mean: its headline in [0, 1]."""

    run_id: int
    competition: int
    method: str
    submission_id: int
    ground_truth_id: int
    mean: float | None


@dataclass(frozen=True, slots=True)
class ExampleView:
    """A prediction to look at, or an object that was missed; see `scoring.analysis.examples.Example`."""

    image: str
    rank: int | None
    value: float | None
    box: Box | None
    iou: float | None
    kind: str | None


@dataclass(frozen=True, slots=True)
class ClassExamples:
    """The examples of a class of a run."""

    class_name: str
    true_positives: tuple[ExampleView, ...]
    near_misses: tuple[ExampleView, ...]
    false_positives: tuple[ExampleView, ...]
    missed: tuple[ExampleView, ...]


@dataclass(frozen=True, slots=True)
class HardImage:
    """An image, and the median over methods of what it was chosen by.

    kind: "rank", 1 the most confident; "iou" of the class, or the "share" of pixels that it was given, in [0, 1].
    """

    image: str
    kind: str
    value: float


@dataclass(frozen=True, slots=True)
class ClassHardImages:
    """The images of a class that methods find easy, hard, or that they confuse."""

    class_name: str
    easiest: tuple[HardImage, ...]
    hardest: tuple[HardImage, ...]
    confusing: tuple[HardImage, ...]
