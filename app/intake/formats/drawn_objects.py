"""Objects that were drawn in annotation tools, as ground truth: with masks where every object has one, else with boxes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from app.intake.formats.image_names import image_names
from app.intake.formats.reading import AnnotatedSet, ListedImages, Reading, Size
from heldout_scoring import GroundTruth, Problem, Rule, SubmissionError

FEWEST_POINTS: Final = 3  # of a polygon
Box = tuple[float, float, float, float]  # left, top, right, bottom; edges, the image begins at 0
Polygon = Sequence[float]  # x, y, x, y, …


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """An object of an image, which is called by the path of its file. mask: polygons or run lengths as in COCO's JSON; None without one."""

    image: str
    label: str
    box: Box
    area: float
    mask: Sequence[Polygon] | dict[str, Any] | None = None

    @classmethod
    def of_polygons(cls, image: str, label: str, polygons: Sequence[Polygon]) -> "DrawnObject":
        """An object of one or more polygons, with the box around them."""
        x, y = (np.concatenate([each[axis::2] for each in polygons]) for axis in (0, 1))
        box = float(x.min()), float(y.min()), float(x.max()), float(y.max())
        return cls(image, label, box, sum(map(_area, polygons)), polygons)

    @classmethod
    def of_box(cls, image: str, label: str, corners: Sequence[float]) -> "DrawnObject":
        """An object with a box alone, between two corners in any order."""
        left, right = sorted(corners[0::2])
        top, bottom = sorted(corners[1::2])
        return cls(image, label, (left, top, right, bottom), (right - left) * (bottom - top))


def _area(polygon: Polygon) -> float:
    x, y = np.asarray(polygon[0::2]), np.asarray(polygon[1::2])
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2


@dataclass(slots=True)
class DrawnSet:
    """An image set as a tool annotated it. images: their sizes by the paths of their files; tags: classes of whole images; left: other shapes;
    rotated: boxes with an angle; masked: boxes around masks that are not read.
    """

    name: str
    source: str
    images: dict[str, Size | None] = field(default_factory=dict)
    objects: list[DrawnObject] = field(default_factory=list)
    tags: list[tuple[str, str]] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    rotated: int = 0
    masked: int = 0

    def read(self, reading: Reading, layout: str) -> Iterator[AnnotatedSet]:
        """The annotation of the set, and warnings of what of it is not read."""
        names = image_names(self.images)
        names.tell(reading.problems, self.source)
        if unseen := sum(not name.isprintable() for name in names.of.values()):
            words = f"the names of {unseen:,} images have signs that cannot be seen, such as line breaks; rename these files"
            reading.problems.add(Problem("image-name", Rule(words), self.source))
        self._tell(reading)
        files = {names.of[path]: path for path in self.images}
        if reading.problems.listed:
            sizes = {names.of[path]: size for path, size in self.images.items()}
            reading.invalid.append(ListedImages(self.name, sizes, files))
        elif self.objects and all(each.mask is not None for each in self.objects):
            yield from self._with_masks(reading, layout)
        elif self.objects or not self.tags:
            yield AnnotatedSet(self.name, layout, self.source, self._boxes(reading, names.of), files)
        else:
            yield AnnotatedSet(self.name, layout, self.source, self._classes(reading, names.of), files)

    def _tell(self, reading: Reading) -> None:
        if kinds := ", ".join(sorted(+self.left)):
            count = "1 shape is" if self.left.total() == 1 else f"{self.left.total():,} shapes are"
            words = f"{count} left out, because only boxes and polygons are read: {kinds}"
            reading.problems.warn(Problem("other-shape", Rule(words), self.source))
        if self.rotated:
            count = "1 box is" if self.rotated == 1 else f"{self.rotated:,} boxes are"
            words = f"{count} rotated; what is read is the upright box before the rotation"
            reading.problems.warn(Problem("rotated-box", Rule(words), self.source))
        if self.tags and self.objects:
            count = (
                "1 class of a whole image is"
                if len(self.tags) == 1
                else f"{len(self.tags):,} classes of whole images are"
            )
            words = f"{count} left out, because there are objects"
            reading.problems.warn(Problem("image-tags", Rule(words), self.source))
        if self.masked:
            count = "1 mask of pixels is" if self.masked == 1 else f"{self.masked:,} masks of pixels are"
            words = (
                f"{count} read as the box around it; draw polygons for masks"
                if self.masked == 1
                else f"{count} read as the boxes around them; draw polygons for masks"
            )
            reading.problems.warn(Problem("without-mask", Rule(words), self.source))
        without = sum(each.mask is None for each in self.objects)
        if 0 < without < len(self.objects):
            words = f"{without:,} of {len(self.objects):,} objects are boxes without a mask, so that masks are not read; boxes of all objects are"
            reading.problems.warn(Problem("without-mask", Rule(words), self.source))

    def _boxes(self, reading: Reading, names: Mapping[str, str]) -> GroundTruth:
        sizes = list(self.images.values())
        truth = GroundTruth.from_arrays(
            [names[each.image] for each in self.objects],
            [each.label for each in self.objects],
            np.array([each.box for each in self.objects], np.float64).reshape(-1, 4),
            convention="half-open",
            images=[names[path] for path in self.images],
            classes=sorted({each.label for each in self.objects}) or None,
            sizes=None if None in sizes else np.array(sizes),
        )
        return reading.own(truth, self.name)

    def _with_masks(self, reading: Reading, layout: str) -> Iterator[AnnotatedSet]:
        """As COCO's JSON has masks: images and classes are numbered from 1."""
        image_ids = {path: number for number, path in enumerate(self.images, 1)}
        class_ids = {
            name: number for number, name in enumerate(sorted({each.label for each in self.objects}), 1)
        }
        images: list[dict[str, Any]] = []
        for path, number in image_ids.items():
            size = dict(zip(("width", "height"), self.images[path] or (), strict=False))
            images.append({"id": number, "file_name": path, **size})
        annotations = [
            {
                "id": number, "image_id": image_ids[each.image], "category_id": class_ids[each.label], "iscrowd": 0,
                "bbox": [*each.box[:2], each.box[2] - each.box[0], each.box[3] - each.box[1]],
                "area": each.area, "segmentation": each.mask,
            }
            for number, each in enumerate(self.objects, 1)
        ]  # fmt: skip
        categories = [{"id": number, "name": name} for name, number in class_ids.items()]
        coco = {"images": images, "annotations": annotations, "categories": categories}
        files = {str(number): path for path, number in image_ids.items()}
        try:
            truth = GroundTruth.from_coco(coco, image_set=self.name)
        except SubmissionError as error:
            for problem in error.problems:
                reading.problems.add(Problem(problem.code, problem.message, self.source))
            reading.invalid.append(
                ListedImages(
                    self.name, {str(image_ids[path]): size for path, size in self.images.items()}, files
                )
            )
            return
        yield AnnotatedSet(self.name, layout, self.source, truth, files)

    def _classes(self, reading: Reading, names: Mapping[str, str]) -> GroundTruth:
        classes = sorted({label for _, label in self.tags})
        row = {path: number for number, path in enumerate(self.images)}
        y_true = np.zeros((len(row), len(classes)), np.int8)
        for path, label in self.tags:
            y_true[row[path], classes.index(label)] = 1
        truth = GroundTruth.from_labels(y_true, images=[names[path] for path in row], classes=classes)
        return reading.own(truth, self.name)
