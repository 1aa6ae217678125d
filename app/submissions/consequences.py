"""What follows from submitting an upload, said before it cannot be undone."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from app.challenges.challenges import PhaseView
from app.challenges.disclosure import DISCLOSURE_LEVELS
from app.submissions.acceptance import is_replaceable
from app.submissions.quotas import QuotaLine
from app.web.formats import plural

MOST_NAMED: Final = 10  # classes in one sentence


@dataclass(frozen=True, slots=True)
class Consequence:
    """A sentence; `at` is a time that it ends with."""

    text: str
    at: datetime | None = None


def consequences(
    phase: PhaseView,
    found: Sequence[Mapping[str, Any]],
    quota: Sequence[QuotaLine],
    now: datetime,
    *,
    is_public: bool,
) -> tuple[Consequence, ...]:
    """Return what follows if these competitions are submitted, the most important first.

    found: the chosen ones of the competitions in the validation report; quota: what is left for each of their tasks;
    is_public: whether the method is public, or becomes so.
    """
    return (
        *map(Consequence, _on_missing(found)),
        Consequence(
            "This phase takes one result per method: a newer one takes its place once it is scored."
            if is_replaceable(phase)
            else "One final result per method: you cannot replace it later."
        ),
        *_on_quota(found, quota, now),
        Consequence(DISCLOSURE_LEVELS[phase.disclosure].notice),
        Consequence(_on_visibility(phase, is_public=is_public)),
        *(() if _is_over_quota(found, quota) else (CANCELLABLE,)),
    )


CANCELLABLE: Final = Consequence("You can cancel it at no cost until a worker starts it.")


def _is_over_quota(found: Sequence[Mapping[str, Any]], quota: Sequence[QuotaLine]) -> bool:
    """Whether so many results are not left, so that nothing can be submitted."""
    wanted = Counter(competition["task"] for competition in found)
    return any(line.tightest.left + line.extra < wanted[line.task] for line in quota)


def _on_missing(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for competition in found:
        missing = competition.get("missing", ())
        if missing:
            named = ", ".join(missing[:MOST_NAMED]) + (
                f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
            )
            where = f"Competition {competition['number']}: no" if len(found) > 1 else "No"
            yield f"{where} predictions for {named}: these classes stay blank, and the method gets no mean and no rank."


def _on_quota(
    found: Sequence[Mapping[str, Any]], quota: Sequence[QuotaLine], now: datetime
) -> Iterator[Consequence]:
    wanted = Counter(competition["task"] for competition in found)
    for line in quota:
        use, number = line.tightest, wanted[line.task]
        days = "this week" if use.quota.days == 7 else use.quota.span
        extra = f", and {line.extra} extra" if line.extra else ""
        uses = f"Uses {number} of {use.quota.results} {line.task} results {days}"
        left = use.left + line.extra - number
        frees_at = use.frees_at or (now + use.quota.window if use.quota.window else None)
        if left < 0:
            rest = plural(left + number, f"{line.task} result")
            some = f"{f'Only {rest}' if left + number else f'No {line.task} result'} left {days}"
            yield (
                Consequence(f"{some}; the next one is free", frees_at)
                if frees_at
                else Consequence(f"{some}.")
            )
        elif left > 0:
            yield Consequence(f"{uses}{extra}; {left} left after it.")
        else:
            last = f"{uses}{extra}; none is left after it"
            yield (
                Consequence(f"{last}, and the next one is free", frees_at)
                if frees_at
                else Consequence(f"{last}.")
            )
    if not quota:
        yield Consequence("It costs no quota: this phase has none.")


def _on_visibility(phase: PhaseView, *, is_public: bool) -> str:
    if not is_public:
        return "Only your team and the organisers see the result until you make the method public."
    if (phase.embargo and not phase.is_over) or phase.is_frozen:
        return "Others see the method and its results once the phase is over. This cannot be undone."
    return "Everybody sees the method and its results. This cannot be undone."
