"""What organisers say of files that do not say it themselves: what the columns of tables hold, and encodings."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel

from app.core.errors import FieldsError
from app.intake.reports import COLUMNS, FLAG, OddTable, TableChoice


class TableRequest(BaseModel):
    """What each column of a table holds, in their order and empty for one that is not read, or an encoding.

    is_archive: whether the encoding is that of names in archives, and not of tables and other texts.
    """

    columns: list[str] = []
    has_names: bool = True
    encoding: str = ""
    is_archive: bool = False

    def after(self, odd_tables: Sequence[OddTable], before: TableChoice) -> TableChoice:
        """The choice for the table whose columns or encoding it is about, beside what was chosen before. Raises FieldsError."""
        asked = (bool(self.columns), self.is_archive)
        odd = next(
            (each for each in odd_tables if (bool(each.columns), each.is_archive) == asked), odd_tables[0]
        )
        if odd.encodings:
            if self.encoding not in odd.encodings:
                raise FieldsError({"encoding": f"choose one of {', '.join(odd.encodings)}"})
            if odd.is_archive:
                return replace(before, names=self.encoding)
            return replace(before, encoding=self.encoding)
        if flaw := _flaw_of(self.columns, len(odd.columns), has_names=self.has_names):
            raise FieldsError({"columns": flaw})
        return replace(before, columns=tuple(self.columns), has_names=self.has_names)


def _flaw_of(columns: list[str], count: int, *, has_names: bool) -> str:
    """What is wrong with the choice of columns; empty if nothing is.

    >>> _flaw_of(["image", "class", ""], 3, has_names=True), _flaw_of(["image", "class", "class"], 3, has_names=True)
    ('', 'two columns cannot both hold the class')
    """
    found = Counter(filter(None, columns))
    flags = found.pop(FLAG, 0)
    twice = [each for each, number in found.items() if number > 1]
    has_box = {"left", "top"} <= found.keys() and (
        {"right", "bottom"} <= found.keys() or {"width", "height"} <= found.keys()
    )
    has_side = not found.keys().isdisjoint(("left", "top", "right", "bottom"))
    if len(columns) != count or not found.keys() <= {*COLUMNS}:
        return f"say for each of {count} columns whether it holds {', '.join(COLUMNS)} or is not read"
    if twice:
        return f"two columns cannot both hold the {twice[0]}"
    if flags and not has_names:
        return f"columns of {FLAG} are called by their classes, so the first line has to have the names of columns"
    if flags and not found.keys() <= {"image", "set"}:
        return f"columns of {FLAG} say which classes an image shows; beside them there are only the image and its set"
    if "image" not in found or not (flags or has_box or ("class" in found and not has_side)):
        return (
            "one column has to hold the image, and others its class, 0 or 1 for each class, or the left, top, right and bottom (or width and "
            "height) of a box"
        )
    return ""
