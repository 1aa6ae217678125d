"""The tables of docs/speed.md, written from the sections of a run."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.contestants import ROOT, Outcome
from benchmarks.loads.detections import SIZES
from benchmarks.server.table import write_between_marks
from benchmarks.tables import Section

SPEED: Final = ROOT / "docs" / "speed.md"

_OURS: Final = "ours, tar.gz to AP"
_LOOP: Final = "plain loop of the kit's rules"
_FLOOR: Final = "floor: gunzip and parse"
_UNCHECKED: Final = "ours, without any check"
_PIXELS: Final = "Pillow and bincount, from files"
_HOTCOCO: Final = "hotcoco (other rules)"

_DETECTION: Final = {
    _OURS: "**Heldout**, from a tar.gz, every line checked against the grammar",
    "ours, from a folder": "Heldout, from a folder",
    "ours, lines shuffled": "Heldout, lines in random order",
    "ours, validation alone": "Heldout, validation alone",
    _FLOOR: "nothing but gunzip and parsing",
    _LOOP: "plain loop of the kit's rules – the same digits",
    _HOTCOCO: "hotcoco {hotcoco}, other rules",
    "faster_coco_eval (other rules)": "faster-coco-eval {faster-coco-eval}, other rules",
    "pycocotools (other rules)": "pycocotools {pycocotools}, other rules",
    "globox (other rules)": "globox {globox}, other rules",
    "mean-average-precision": "mean-average-precision {mean-average-precision}",
}
_COCO: Final = {
    "ours": "**Heldout**",
    "hotcoco": "hotcoco {hotcoco}",
    "ultrafast_pycocotools": "ultrafast-pycocotools {ultrafast-pycocotools}",
    "vernier": "vernier {vernier}",
    "faster_coco_eval": "faster-coco-eval {faster-coco-eval}",
    "pycocotools": "pycocotools {pycocotools}",
}
_TASKS: Final = {
    "Classification": "classification, 20 files of 10,991 lines",
    "Action classification": "action classification, 10 files of 2,000 lines",
    "Layout of persons": "person layout, 2,000 layouts in one file",
    "Segmentation, smooth": "segmentation, 1,456 masks of 500 × 375",
    "Segmentation, noisy": "the same with noise",
    "Bootstrap": "bootstrap, 1000 replicates of 20 classes",
}
_PACKAGES: Final = (
    "hotcoco",
    "faster-coco-eval",
    "pycocotools",
    "globox",
    "mean-average-precision",
    "scikit-learn",
    "ultrafast-pycocotools",
    "vernier",
)


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal, in the words of the project's goals for speed; `measured` is empty where a run left it out."""

    what: str
    goal: str
    measured: str


class Run:
    """The sections of a run by title, and the outcomes in them by the name of the program."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = {section.title: section for section in sections}

    def outcome(self, title: str, name: str) -> Outcome | None:
        """What came of a program in a race; None where either was left out, or the program failed."""
        section = self.sections.get(title)
        found = [each for each in section.outcomes if each.name == name] if section else []
        return found[0] if found and found[0].median else None

    def ours(self, title: str) -> Outcome | None:
        """What came of our own program, which is the first one of each race."""
        section = self.sections.get(title)
        return self.outcome(title, section.outcomes[0].name) if section and section.outcomes else None

    def times_faster(self, title: str, other: str) -> str:
        """How many times as long another program took as ours."""
        return _ratio(self.outcome(title, other), self.ours(title))


def write_speed(path: Path, sections: Sequence[Section], machine: str, peers: str | None) -> None:
    """Replace what stands between the two markers of a page. Raises ValueError if it does not have both.

    machine: what the sections were measured on; peers: the Python that the other programs ran under, None for none.
    """
    write_between_marks(path, _tables(Run(sections), machine, _versions(peers)), "benchmarks")


def _tables(run: Run, machine: str, versions: Mapping[str, str]) -> str:
    sizes = [size for size in SIZES if f"Detection, {size}" in run.sections]
    lines = [
        *_rows_by_size(run, sizes, _DETECTION, "Detection, {}", versions),
        "",
        *_goals_table(run),
        "",
        *_coco_table(run, sizes, versions),
        *_task_rows(run),
        "",
        f"Medians of warm processes that took turns (¹ one cold run, ² a part of the work, multiplied); {machine}.",
    ]
    return "\n".join(lines)


def _rows_by_size(
    run: Run, sizes: Sequence[str], names: Mapping[str, str], title: str, versions: Mapping[str, str]
) -> Iterator[str]:
    yield from _head("", *(_lines_of(size) for size in sizes))
    for name, label in names.items():
        outcomes = [run.outcome(title.format(size), name) for size in sizes]
        if any(outcomes):
            yield _row(label.format_map(versions), *map(_cell, outcomes))


def _coco_table(run: Run, sizes: Sequence[str], versions: Mapping[str, str]) -> Iterator[str]:
    if not any(title.startswith("COCO") for title in run.sections):
        return
    yield "COCO's protocol, seconds from its JSON to twelve figures, and in brackets without reading it:"
    yield ""
    yield from _head("", *(_lines_of(size) for size in sizes))
    for name, label in _COCO.items():
        cells = []
        for size in sizes:
            whole = run.outcome(f"COCO, {size}, from JSON", name)
            alone = run.outcome(f"COCO, {size}, matching and accumulating alone", name)
            cells.append(_seconds(whole) + (f" ({_seconds(alone)})" if alone else ""))
        if any(cells):
            yield _row(label.format_map(versions), *cells)
    yield ""
    if differences := _largest_differences(run):
        figures = ", ".join(f"{name.replace('_', '-')} {value:.0e}" for name, value in differences.items())
        yield f"Largest difference of a figure from Heldout's: {figures}."
        yield ""


def _largest_differences(run: Run) -> Mapping[str, float]:
    largest: dict[str, float] = {}
    for title, section in run.sections.items():
        if title.startswith("COCO"):
            for name, value in section.disagreements.items():
                largest[name] = max(value, largest.get(name, 0.0))
    return largest


def _task_rows(run: Run) -> Iterator[str]:
    yield from _head("from a tar.gz", "Heldout", "plain loop", "scikit-learn")
    for title, label in _TASKS.items():
        section = run.sections.get(title)
        if section is None:
            continue
        others = {each.name: each for each in section.outcomes[1:] if each.median}
        loop = next((each for name, each in others.items() if _is_loop(name)), None)
        sklearn = next((each for name, each in others.items() if "scikit-learn" in name), None)
        mark = "²" if sklearn and "times" in sklearn.name else ""
        loop_mark = "²" if loop and "times" in loop.name else ""
        yield _row(label, _seconds(run.ours(title)), _seconds(loop) + loop_mark, _seconds(sklearn) + mark)


def _is_loop(name: str) -> bool:
    return name in (_LOOP, _PIXELS) or name.startswith("replicate by replicate")


def _goals_table(run: Run) -> Iterator[str]:
    yield from _head("goal", "at least", "measured")
    for goal in (*_goals_of_detection(run), *_goals_of_other_races(run)):
        if goal.measured:
            yield _row(goal.what, goal.goal, goal.measured)


def _goals_of_detection(run: Run) -> Iterator[Goal]:
    loop = run.times_faster("Detection, medium", _LOOP)
    yield Goal("detection, 1 M lines, against a plain loop of the kit's rules", "26×", loop)
    for size, lines, times, megabytes in (
        ("medium", "1 M", "2.2×", "300 MB"),
        ("large", "10 M", "3×", "650 MB"),
    ):
        title = f"Detection, {size}"
        ours, floor, unchecked = run.ours(title), run.outcome(title, _FLOOR), run.outcome(title, _UNCHECKED)
        hotcoco = run.times_faster(title, _HOTCOCO)
        yield Goal(f"{lines} lines, against hotcoco's total (parse, build, evaluate)", times, hotcoco)
        what = f"{lines} lines, tar.gz → AP, against gunzip and parsing alone"
        yield Goal(what, "within 1.3×", _ratio(ours, floor, digits=2))
        what = f"{lines} lines, with strict grammar and all checks, extra over scoring alone"
        yield Goal(what, "≤ 30 %", _extra(ours, unchecked))
        peak = f"{ours.peak / 1e6:.0f} MB" if ours else ""
        yield Goal(f"{lines} lines, peak memory", f"< {megabytes}", peak)
    growth = run.sections.get("Detection, growth")
    yield Goal("growth of time", "≤ 0.9, then ≤ 1.0", growth.about.rstrip(".") if growth else "")


def _goals_of_other_races(run: Run) -> Iterator[Goal]:
    alone, whole = "COCO, medium, matching and accumulating alone", "COCO, medium, from JSON"
    what = "COCO, 1 M detections, matching and accumulating, against hotcoco"
    yield Goal(what, "2×", run.times_faster(alone, "hotcoco"))
    for peer in ("hotcoco", "ultrafast_pycocotools"):
        what = f"the whole with JSON, against {peer.replace('_', '-')}"
        yield Goal(what, "no slower", run.times_faster(whole, peer))
    bootstrap = run.ours("Bootstrap")
    seconds = f"{_seconds(bootstrap)} s" if bootstrap else ""
    yield Goal("bootstrap, 1000 replicates of 20 classes with drawing", "≤ 0.5 s", seconds)
    for title, what, goal, other in (
        ("Segmentation, smooth", "segmentation end to end, against Pillow and `bincount`", "5×", _PIXELS),
        ("Classification", "classification, 20 files, against a plain loop", "3×", _LOOP),
        ("Action classification", "action classification, against a plain loop", "ahead", _LOOP),
        ("Layout of persons", "person layout, against a plain loop", "ahead", _LOOP),
    ):
        yield Goal(what, goal, run.times_faster(title, other))


def _ratio(one: Outcome | None, other: Outcome | None, digits: int = 1) -> str:
    if not one or not other or not one.median or not other.median:
        return ""
    return f"{one.median / other.median:.{digits}f}×"


def _extra(one: Outcome | None, other: Outcome | None) -> str:
    if not one or not other or not one.median or not other.median:
        return ""
    return f"{one.median / other.median - 1:.0%}".replace("%", " %")


def _lines_of(size: str) -> str:
    return f"{SIZES[size] / 1e6:g} M lines"


def _cell(outcome: Outcome | None) -> str:
    """Seconds, in brackets the peak memory in MB."""
    if outcome is None:
        return ""
    mark = "¹" if len(outcome.seconds) == 1 else ""
    return f"{_seconds(outcome)} ({outcome.peak / 1e6:,.0f}){mark}"


def _seconds(outcome: Outcome | None) -> str:
    """Two digits, and all before the point."""
    if outcome is None or outcome.median is None:
        return ""
    value = outcome.median
    return (
        f"{value:.0f}"
        if value >= 10
        else f"{value:.1f}"
        if value >= 1
        else f"{value:.3f}"
        if value < 0.1
        else f"{value:.2f}"
    )


def _head(*cells: str) -> Iterator[str]:
    yield _row(*cells)
    yield "|---|" + "---:|" * (len(cells) - 1)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _versions(peers: str | None) -> Mapping[str, str]:
    """The installed versions of the peers, major and minor number; empty without an environment of theirs."""
    if peers is None:
        return dict.fromkeys(_PACKAGES, "")
    program = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    done = subprocess.run([peers, "-c", program, *_PACKAGES], check=True, capture_output=True, text=True)
    return dict(zip(_PACKAGES, done.stdout.split(), strict=True))
