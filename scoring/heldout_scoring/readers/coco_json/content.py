"""What stands in annotation of COCO's JSON, right or wrong, without its masks: little memory for any number of objects."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

from .records import (
    ANNOTATIONS,
    Block,
    Form,
    JsonError,
    Reader,
    find_list,
    first_record,
    name_of_list,
    parse_json,
)

_FIELDS: Final = ("id", "image_id", "bbox", "iscrowd", "attributes", "rotation")
OBJECTS: Final = "objects"
"""The kind of entries that are read."""
_KINDS: Final = {"caption": "captions", "segments_info": "panoptic segmentation", "keypoints": "keypoints"}
_NO_MASK: Final = (b"[]", b"[[]]", b"{}", b"null", b'""')


class CocoEntry(NamedTuple):
    """An entry of `annotations` as it stands there; place: from 0; fields that it lacks are None."""

    place: int
    has_mask: bool
    id: Any
    image_id: Any
    bbox: Any
    iscrowd: Any
    attributes: Any
    rotation: Any


@dataclass(frozen=True, slots=True)
class CocoContent:
    """A file of COCO's JSON: what stands around the list `annotations`, and the entries of this list."""

    around: Mapping[str, Any]
    _data: bytes = field(repr=False)

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Read what stands around the annotations; of what is no such JSON there is nothing.

        >>> content = CocoContent.of(b'{"images": [{"id": 3}], "annotations": [{"id": 0, "segmentation": [[]]}, 7]}')
        >>> content.around["images"], [(each.place, each.id, each.has_mask) for each in content.entries()]
        ([{'id': 3}], [(0, 0, False)])
        """
        try:
            begin = find_list(data) if name_of_list(data) else None
            if begin is None:
                root = parse_json(data)
            else:
                reader = Reader(data, begin, ())
                for _ in reader.read():
                    pass
                root = reader.rest()
        except JsonError:
            root = None
        return cls(root if isinstance(root, dict) else {}, data)

    def entries(self) -> Iterator[CocoEntry]:
        """The entries that are objects, as they stand there."""
        listed = self.around.get(ANNOTATIONS)
        if listed:  # the file was parsed as a whole
            blocks: Iterator[Block] = iter([Block(0, listed)] if isinstance(listed, list) else [])
        elif isinstance(listed, list) and (begin := find_list(self._data)) is not None:
            blocks = Reader(self._data, begin, _form()).read()
        else:
            return
        for block in blocks:
            for place, value in enumerate(block.values, block.first):
                if block.text:
                    is_empty = value.segmentation is None or bytes(value.segmentation) in _NO_MASK
                    yield CocoEntry(place, not is_empty, *(getattr(value, name) for name in _FIELDS))
                elif isinstance(value, dict):
                    mask = value.get("segmentation")
                    yield CocoEntry(place, bool(mask) and mask != [[]], *map(value.get, _FIELDS))


def _form() -> Form:
    """The fields of an entry, the mask as it is written."""
    from msgspec import Raw  # noqa: PLC0415 - is there, or no list had been found

    return (*((name, Any, None) for name in _FIELDS), ("segmentation", Raw, None))


def kind_of_coco(data: bytes) -> str:
    """What the entries of a file of COCO's JSON are, by the first one: objects unless they are known for something else.

    >>> kind_of_coco(b'{"annotations": [{"caption": "a cat"}]}'), kind_of_coco(b'{"images": []}')
    ('captions', 'a list of images')
    """
    try:
        first = first_record(data)
    except JsonError:
        return (
            "a list of images"
            if name_of_list(data) and CocoContent.of(data).around.get("images") is not None
            else OBJECTS
        )
    fields = first if isinstance(first, dict) else {}
    return next((kind for name, kind in _KINDS.items() if fields.get(name)), OBJECTS)
