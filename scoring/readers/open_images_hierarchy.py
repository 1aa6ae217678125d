"""The hierarchy of Open Images' classes, and what follows from it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from scoring.readers.voc.annotations import AnnotationError


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The classes above and below each class, by label, without the root that only collects them."""

    ancestors: Mapping[str, tuple[str, ...]]
    descendants: Mapping[str, tuple[str, ...]]

    def expand_box(self, label: str) -> tuple[str, ...]:
        """The labels of a box: a football helmet is a helmet as well. Raises KeyError for an unknown label.

        >>> read_hierarchy(b'{"LabelName": "all", "Subcategory": [{"LabelName": "helmet"}]}').expand_box("helmet")
        ('helmet',)
        """
        return (label, *self.ancestors[label])

    def expand_image_label(self, label: str, *, present: bool) -> tuple[str, ...]:
        """What a label of an image says: a class that is present has its ancestors with it, one that is absent its descendants.

        Raises KeyError for an unknown label.

        >>> tree = b'{"LabelName": "all", "Subcategory": [{"LabelName": "helmet", "Subcategory": [{"LabelName": "hat"}]}]}'
        >>> hierarchy = read_hierarchy(tree)
        >>> hierarchy.expand_image_label("helmet", present=True), hierarchy.expand_image_label("helmet", present=False)
        (('helmet',), ('helmet', 'hat'))
        """
        return (label, *(self.ancestors if present else self.descendants)[label])


def read_hierarchy(data: bytes) -> Hierarchy:
    """The hierarchy in a JSON file of Open Images, a tree of nodes with `LabelName` and perhaps `Subcategory`.

    A label may stand in several places of the tree. Its parts (`Part`) are no subclasses. Raises AnnotationError for what
    is not such a tree. Source: tf-models-research-object-detection 2.8.0, oid_hierarchical_labels_expansion.py.

    >>> tree = b'{"LabelName": "all", "Subcategory": [{"LabelName": "helmet", "Subcategory": [{"LabelName": "hat"}]}]}'
    >>> dict(read_hierarchy(tree).ancestors)
    {'helmet': (), 'hat': ('helmet',)}
    """
    try:
        root = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise AnnotationError(f"this is not JSON: {error}") from error
    _label_of(root)
    ancestors: dict[str, set[str]] = {}
    for path in _paths(root):
        ancestors.setdefault(path[-1], set()).update(path[:-1])
    descendants: dict[str, set[str]] = {label: set() for label in ancestors}
    for label, above in ancestors.items():
        for each in above:
            descendants[each].add(label)
    return Hierarchy(_sorted(ancestors), _sorted(descendants))


def _paths(root: Any) -> Iterator[tuple[str, ...]]:
    """The labels from below the root to each node."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), child) for child in _children(root)]
    while waiting:
        above, node = waiting.pop()
        path = (*above, _label_of(node))
        yield path
        waiting.extend((path, child) for child in _children(node))


def _label_of(node: Any) -> str:
    label = node.get("LabelName") if isinstance(node, dict) else None
    if not isinstance(label, str):
        raise AnnotationError("expected a tree of nodes with a 'LabelName'")
    return label


def _children(node: Any) -> Iterable[Any]:
    children = node.get("Subcategory", [])
    if not isinstance(children, list):
        raise AnnotationError(f"expected a list as 'Subcategory' of '{_label_of(node)}'")
    return children


def _sorted(related: Mapping[str, set[str]]) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({label: tuple(sorted(others - {label})) for label, others in related.items()})
