"""When results are compared, and when they count as alike."""

from collections.abc import Mapping, Sequence
from typing import Final

from app.similarity.schemas import Subject
from scoring.analysis.near_duplicates import Likeness

COMPARED: Final = 5  # results that a new one is compared with in full, at most
ALIKE_SKETCHES: Final = 0.7  # a similarity from which two are compared in full
RANKS: Final = 0.95  # rank correlation from which two results are alike
BOXES: Final = 0.5  # fraction of equal boxes
PIXELS: Final = 0.9  # fraction of equal pixels


def chosen(subject: Subject, others: Sequence[Subject], similarities: Mapping[int, float]) -> tuple[int, ...]:
    """The entries to compare a new one with in full: those that say the same first, then the most alike sketches.

    At most `COMPARED`, however many results a board has; similarities: of sketches, by entry.
    """
    same = {each.entry_id for each in others if says_the_same(subject, each)}
    alike = [each.entry_id for each in others if similarities.get(each.entry_id, 0) >= ALIKE_SKETCHES]
    order = sorted({*same, *alike}, key=lambda entry: (entry not in same, -similarities.get(entry, 0), entry))
    return tuple(order[:COMPARED])


def says_the_same(one: Subject, other: Subject) -> bool:
    """Whether two results hold the same predictions, however they are packed."""
    return one.fingerprint == other.fingerprint != ""


def are_alike(likeness: Likeness) -> bool:
    """Whether figures are such as two methods seldom reach that were made apart.

    >>> are_alike(Likeness(0.97, 0.1, None)), are_alike(Likeness(0.7, None, None))
    (True, False)
    """
    limits = (
        (likeness.rank_correlation, RANKS),
        (likeness.common_boxes, BOXES),
        (likeness.common_pixels, PIXELS),
    )
    return any(figure is not None and figure >= limit for figure, limit in limits)
