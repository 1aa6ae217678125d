"""Figures as Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.contestants import Outcome, difference


@dataclass(frozen=True, slots=True)
class Section:
    """A race and what it was about; the first outcome is ours, which the others are compared with.

    oracles: which of the programs must come to our numbers.
    """

    title: str
    about: str
    outcomes: tuple[Outcome, ...]
    oracles: tuple[str, ...] = ()

    @property
    def disagreements(self) -> Mapping[str, float]:
        """The largest difference between our numbers and those of each oracle that ran."""
        return {
            each.name: difference(self.outcomes[0], each)
            for each in self.outcomes
            if each.name in self.oracles and each.values
        }


def as_markdown(sections: Sequence[Section]) -> str:
    """A table for each section."""
    return "\n".join(line for section in sections for line in _lines(section))


def _lines(section: Section) -> Iterator[str]:
    yield from (f"### {section.title}", "", section.about, "")
    for oracle, disagreement in section.disagreements.items():
        yield from (f"Largest difference to the {oracle}: {disagreement:.0e}.", "")
    if not section.outcomes:
        return
    yield "| | median s | least s | of ours | processor s | peak MB |"
    yield "|---|---:|---:|---:|---:|---:|"
    ours = section.outcomes[0].median
    for each in section.outcomes:
        yield f"| {each.name} | {_figures(each, ours)} |"
    yield ""


def _figures(outcome: Outcome, ours: float | None) -> str:
    if outcome.median is None:
        return f"{outcome.failure or 'not run'} | | | | "
    times = f"{outcome.median / ours:.2f}" if ours else ""
    processor = sorted(outcome.processor)[len(outcome.processor) // 2]
    return (
        f"{_seconds(outcome.median)} | {_seconds(min(outcome.seconds))} | {times} | {_seconds(processor)}"
        f" | {outcome.peak / 1e6:.0f}"
    )


def _seconds(seconds: float) -> str:
    """Three digits are all that can be trusted."""
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}"
