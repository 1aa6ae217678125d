"""The Layout set as participants know it: persons and images by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from scoring.data.description import UNKNOWN_SIDE, Description, Image

WHOLE_IMAGE: Final = 0
"""The object number in a Layout set that lists images only, as that of 2007 does."""


@dataclass(frozen=True, slots=True, eq=False)
class LayoutSet:
    """The persons of a Layout set, looked up by name; built once for all files.

    where: the set, as a sentence says it; places: where in the description an image and object stand; images: those that
    may be named, with their sizes. boxed: the set lists images only, and a result says with a box whom it means.
    """

    where: str
    places: Mapping[tuple[str, int], int]
    images: Mapping[bytes, Image]
    boxed: bool

    @classmethod
    def of(cls, description: Description) -> Self:
        """The Layout set of a description.

        >>> LayoutSet.of(Description("VOC2012", "val", (), (), (), persons=(("2008_000008", 2),))).places
        {('2008_000008', 2): 0}
        """
        boxed = any(number == WHOLE_IMAGE for _, number in description.persons)
        sizes = {image.id: image for image in description.images + description.further}
        listed = (image for image, _ in description.persons)
        named = listed if boxed else (*sizes, *listed)
        return cls(
            where=f"the Layout set of {description.dataset} {description.image_set}",
            places={person: place for place, person in enumerate(description.persons)},
            images={
                name.encode(): sizes.get(name, Image(name, UNKNOWN_SIDE, UNKNOWN_SIDE)) for name in named
            },
            boxed=boxed,
        )
