"""The images of a phase, indexed by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scoring.data.description import UNKNOWN_SIDE, Description, Image
from scoring.data.layouts import LayoutSet
from scoring.readers.coco_json.fields import CocoNumbers
from scoring.readers.lines.subjects import Subjects, Words, as_written, check_names, images_of, persons_of


@dataclass(frozen=True, eq=False)
class ImageIndex:
    """The images of a description, indexed once for all result files, and how long these may be.

    Each task uses its own part, which is computed when it is first used.
    """

    description: Description
    max_lines: int | None = None

    @classmethod
    def of(cls, description: Description, *, max_lines: int | None = None) -> Self:
        """The index of a description's images; max_lines: of one result file, None for any number."""
        return cls(description, max_lines)

    @property
    def title(self) -> str:
        """The dataset and image set, for messages."""
        return f"{self.description.dataset} {self.description.image_set}"

    @property
    def images(self) -> tuple[Image, ...]:
        """The images of the Main set."""
        return self.description.images

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.description.classes)

    @cached_property
    def places(self) -> Mapping[bytes, int]:
        """The place of each image in the Main set. Raises ValueError for one that no line of a result file can name."""
        names = [image.id for image in self.images]
        check_names(names)
        return dict(zip(as_written(names), range(len(names)), strict=True))

    def require_names(self) -> None:
        """Raise ValueError for an image of the Main set that no line of a result file can name; checked once."""
        _ = self.places

    @cached_property
    def known(self) -> frozenset[bytes]:
        """The names of the images of the Main set."""
        return frozenset(self.places)

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """Width and height in pixels of the images of the Main set, float64 (images, 2)."""
        columns = [image.width for image in self.images], [image.height for image in self.images]
        return np.array(columns, np.float64).T

    @cached_property
    def names(self) -> Words:
        """The images of the Main set as a column type for the CSV parser."""
        return Words.of(image.id for image in self.images)

    @cached_property
    def main(self) -> Subjects:
        """The images that classification ranks."""
        return images_of(self.description)

    @cached_property
    def acting(self) -> Subjects:
        """The persons that action classification ranks."""
        return persons_of(self.description)

    @cached_property
    def persons(self) -> LayoutSet:
        """The persons of the Layout set."""
        return LayoutSet.of(self.description)

    @cached_property
    def numbers(self) -> CocoNumbers:
        """What COCO's files call images and classes."""
        return CocoNumbers.of(self.description)

    @cached_property
    def anywhere(self) -> Mapping[str, Image]:
        """The images of every set by name, except those of unknown size."""
        everyone = self.images + self.description.further
        return {image.id: image for image in everyone if image.width != UNKNOWN_SIDE}
