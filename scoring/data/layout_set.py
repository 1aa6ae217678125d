"""The Layout set as participants know it: persons and images by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

from scoring.data.description import UNKNOWN_SIDE, Description, Image

WHOLE_IMAGE: Final = 0
"""The object number in a Layout set that lists images only, as that of 2007 does."""

PERSON: Final = "person"
"""The class of those who are laid out."""


@dataclass(frozen=True, eq=False)
class LayoutSet:
    """The persons of a Layout set, looked up by name; built once for all files.

    where: the set, for messages; places: where in the description an image and object stand; boxed: the set lists images
    only, and a result says with a box whom it means.
    """

    description: Description
    where: str
    places: Mapping[tuple[str, int], int]
    boxed: bool

    @classmethod
    def of(cls, description: Description) -> Self:
        """The Layout set of a description.

        >>> LayoutSet.of(Description("VOC2012", "val", (), (), (), persons=(("2008_000008", 2),))).places
        {('2008_000008', 2): 0}
        """
        return cls(
            description=description,
            where=f"the Layout set of {description.dataset} {description.image_set}",
            places=dict(zip(description.persons, range(len(description.persons)), strict=True)),
            boxed=any(number == WHOLE_IMAGE for _, number in description.persons),
        )

    @cached_property
    def images(self) -> Mapping[bytes, Image]:
        """The images that a result may name, with their sizes."""
        sizes = {image.id: image for image in self.description.images + self.description.further}
        listed = (image for image, _ in self.description.persons)
        named = listed if self.boxed else (*sizes, *listed)
        return {name.encode(): sizes.get(name, Image(name, UNKNOWN_SIDE, UNKNOWN_SIDE)) for name in named}
