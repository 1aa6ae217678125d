"""What follows from submitting an upload, said before it cannot be undone."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from app.challenges.challenges import PhaseView
from app.models import Disclosure
from app.submissions.acceptance import is_replaceable
from app.submissions.quotas import QuotaLine

MOST_NAMED: Final = 10  # classes in one sentence

_SEEN: Final[Mapping[Disclosure, str]] = {
    Disclosure.FULL: "You see every digit of the score, with curves and details.",
    Disclosure.CLASSES: "You see each class and the mean in tenths of a percent.",
    Disclosure.MEAN: "You see the mean in tenths of a percent, and no class.",
    Disclosure.LADDER: "You see a new mean only if it is clearly better than the best one of your team.",
    Disclosure.AT_CLOSE: "You see no score until the phase is over.",
}


def consequences(
    phase: PhaseView, found: Sequence[Mapping[str, Any]], quota: Sequence[QuotaLine]
) -> tuple[str, ...]:
    """Return what follows if all competitions of an archive are submitted, as sentences, the most important first.

    found: the competitions of its validation report; quota: what is left for each of their tasks.
    """
    return (
        *_on_missing(found),
        "This phase takes one result per method: a newer one takes its place once it is scored."
        if is_replaceable(phase)
        else "This phase takes one result per method. It is final: no later upload replaces it.",
        *_on_quota(found, quota),
        _SEEN[phase.disclosure],
        "You can cancel it at no cost until a worker starts it.",
    )


def _on_missing(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for competition in found:
        missing = competition.get("missing", ())
        if missing:
            named = ", ".join(missing[:MOST_NAMED]) + (
                f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
            )
            where = f"Competition {competition['number']}: no" if len(found) > 1 else "No"
            yield f"{where} predictions for {named}: these classes stay blank, and the method gets no mean and no rank."


def _on_quota(found: Sequence[Mapping[str, Any]], quota: Sequence[QuotaLine]) -> Iterator[str]:
    wanted = Counter(competition["task"] for competition in found)
    for line in quota:
        use, number = line.tightest, wanted[line.task]
        extra = f", and {line.extra} extra" if line.extra else ""
        days = "this week" if use.quota.days == 7 else f"in {use.quota.days} days"
        yield f"Uses {number} of {use.quota.results} {line.task} results {days}; {use.left} left{extra}."
    if not quota:
        yield "It costs no quota: this phase has none."
