"""What participants may know about a phase: the names and sizes of its images, and its classes."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Image:
    """One image of the set; width and height in pixels."""

    id: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Description:
    """The public part of an edition's image set, all that a validator needs.

    dataset is the folder's name in the kit ("VOC2007"), image_set the list's ("test"). images are those of the
    Main set. segmentation names images of the Segmentation set; persons (Layout set) and acting (Action set) pair
    an image with an object, counted from 1.
    """

    dataset: str
    image_set: str
    classes: tuple[str, ...]
    actions: tuple[str, ...]
    images: tuple[Image, ...]
    segmentation: tuple[str, ...] = ()
    persons: tuple[tuple[str, int], ...] = ()
    acting: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> str:
        """Write it as one line of JSON, the same for the same description."""
        plain = asdict(self)
        plain["images"] = [[image.id, image.width, image.height] for image in self.images]
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Description":
        """Read what to_json wrote; raises KeyError, TypeError or ValueError for anything else."""
        plain = json.loads(text)
        return cls(
            dataset=plain["dataset"],
            image_set=plain["image_set"],
            classes=tuple(plain["classes"]),
            actions=tuple(plain["actions"]),
            images=tuple(Image(name, width, height) for name, width, height in plain["images"]),
            segmentation=tuple(plain["segmentation"]),
            persons=tuple((image, number) for image, number in plain["persons"]),
            acting=tuple((image, number) for image, number in plain["acting"]),
        )
