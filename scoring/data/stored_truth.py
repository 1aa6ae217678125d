"""Ground truth in a file, identified by the hash of its content."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from scoring.array_files import read_from
from scoring.data.checking import some_of
from scoring.data.description import Description
from scoring.data.tables import Lists, Tables
from scoring.data.truth_content import describe, read_content
from scoring.files import read_file, write_file


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredTruth:
    """A version of the annotation with the content and the hash of its file."""

    lists: Lists
    tables: Tables
    description: Description
    content: bytes
    fingerprint: str

    def __repr__(self) -> str:
        """How many images and objects there are, and which classes."""
        lists, objects = self.lists, len(self.tables.objects.image)
        return f"{type(self).__name__}({len(lists.images)} images, {objects} objects, classes: {some_of(lists.classes)})"

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """The ground truth that `save` wrote. Raises PathError where there is no file, ForeignFileError for another file.

        >>> from tempfile import TemporaryDirectory
        >>> from scoring import GroundTruth
        >>> truth = GroundTruth.from_labels([[1], [0]], classes=["cat"])
        >>> with TemporaryDirectory() as folder:
        ...     truth.save(Path(folder, "truth"))
        ...     GroundTruth.open(Path(folder, "truth")).fingerprint == truth.fingerprint
        True
        """
        with read_from(path):
            return cls.of_bytes(read_file(path))

    def save(self, path: Path | str) -> None:
        """Write the whole of it to one file; the same annotation gives the same bytes. Raises PathError."""
        write_file(path, self.content)

    @classmethod
    def of_bytes(cls, content: bytes) -> Self:
        """The ground truth in the content of a file. Raises ForeignFileError for anything else.

        >>> from scoring import GroundTruth
        >>> GroundTruth.of_bytes(GroundTruth.from_labels([[1], [0]], classes=["cat"]).content).lists.classes
        ('cat',)
        """
        lists, tables = read_content(content)
        return cls(lists, tables, describe(lists, tables), content, hashlib.sha256(content).hexdigest())
