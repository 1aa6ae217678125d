"""Results as they were published, for examples and to hold our statistics against."""

from dataclasses import replace
from importlib.resources import files
from typing import Final

from ..statistics.ranks import Scoreboard, read_scoreboard

_SOURCE: Final = files(__name__)


def classification_of_2007() -> Scoreboard:
    """Average precision in [0, 1] of 17 methods in 20 classes.

    Source: Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge", 2010, Table 5.

    >>> len(classification_of_2007().methods)
    17
    """
    return _read("voc2007_classification_table5.csv")


def detection_of_2007() -> Scoreboard:
    """Average precision in [0, 1] of nine methods in 20 classes, of which three methods entered only some.

    Source: Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge", 2010, Table 6.

    >>> detection_of_2007().incomplete()
    ('Darmstadt', 'IRISA', 'Oxford')
    """
    return _read("voc2007_detection_table6.csv")


def _read(name: str) -> Scoreboard:
    """The table, which is printed in percent."""
    printed = read_scoreboard(_SOURCE.joinpath(name).read_text("utf-8"), name)
    values = tuple(tuple(None if value is None else value / 100 for value in row) for row in printed.values)
    return replace(printed, values=values)
