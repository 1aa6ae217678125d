"""How each year scored: a protocol is a row of functions.

A new protocol is a new row; nothing anywhere asks which year it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType
from typing import Any, Final

from scoring.averaging import Average, mean_of_classes
from scoring.boxes import Overlap, overlap_of_pixels
from scoring.matching import Judge, judge_pascal, judge_pascal_2006
from scoring.ranking import Measure, average_precision, average_precision_at_levels


@dataclass(frozen=True, slots=True)
class RankingMeasure:
    """What is drawn from a ranking, and what it is called."""

    name: str
    of: Measure


@dataclass(frozen=True, slots=True)
class DetectionRules:
    """How detections are scored; least: the smallest overlap of a right answer."""

    judge: Judge
    overlap: Overlap
    least: float
    measure: RankingMeasure
    average: Average


@dataclass(frozen=True, slots=True)
class Protocol:
    """The rules of one year, by task."""

    name: str
    title: str
    detection: DetectionRules


def spell(choice: Any) -> str:
    """Rules with every function by its name, on one line: what a receipt says of a protocol.

    >>> spell(ELEVEN_POINTS)
    "RankingMeasure(name='Average precision at eleven recalls', of=average_precision_at_levels)"
    """
    if is_dataclass(choice):
        said = (f"{field.name}={spell(getattr(choice, field.name))}" for field in fields(choice))
        return f"{type(choice).__name__}({', '.join(said)})"
    return choice.__name__ if callable(choice) else repr(choice)


ELEVEN_POINTS: Final = RankingMeasure("Average precision at eleven recalls", average_precision_at_levels)
EVERY_POINT: Final = RankingMeasure("Average precision over every recall", average_precision)

_OF_2006: Final = DetectionRules(judge_pascal_2006, overlap_of_pixels, 0.5, ELEVEN_POINTS, mean_of_classes)
_OF_2007: Final = DetectionRules(judge_pascal, overlap_of_pixels, 0.5, ELEVEN_POINTS, mean_of_classes)
_OF_2010: Final = DetectionRules(judge_pascal, overlap_of_pixels, 0.5, EVERY_POINT, mean_of_classes)

PROTOCOLS: Final[Mapping[str, Protocol]] = MappingProxyType(
    {
        row.name: row
        for row in (
            Protocol("voc2006", "PASCAL VOC 2006", _OF_2006),
            Protocol("voc2007", "PASCAL VOC 2007", _OF_2007),
            Protocol("voc2008", "PASCAL VOC 2008", _OF_2007),
            Protocol("voc2009", "PASCAL VOC 2009", _OF_2007),
            Protocol("voc2010", "PASCAL VOC 2010", _OF_2010),
            Protocol("voc2011", "PASCAL VOC 2011", _OF_2010),
            Protocol("voc2012", "PASCAL VOC 2012", _OF_2010),
        )
    }
)
"""The protocols by name. Source: the development kits of the years; which year did what is told in their diffs."""

LATEST: Final = "voc2012"


def default_protocol(dataset: str) -> str:
    """The protocol of a dataset's own year, for any other dataset that of the last year.

    >>> default_protocol("VOC2007"), default_protocol("sample")
    ('voc2007', 'voc2012')
    """
    return dataset.lower() if dataset.lower() in PROTOCOLS else LATEST
