"""The benchmarks run and agree with the implementations they are compared to."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.contestants import Outcome
from benchmarks.races import RACES
from benchmarks.server.table import MARK
from benchmarks.speed_page import SPEED, write_speed
from benchmarks.tables import Section

pytestmark = pytest.mark.slow

BEGIN, END = (MARK.format("benchmarks", end) for end in ("begin", "end"))


def test_every_benchmark_runs_and_agrees_with_its_oracle(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--folder", str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
    )

    titles = re.findall(r"^### (\w+)", done.stdout, re.MULTILINE)
    assert {title.lower() for title in titles} == set(RACES)
    differences = [
        float(each) for each in re.findall(r"^Largest difference .*: (\S+)\.$", done.stdout, re.MULTILINE)
    ]
    assert len(differences) == 6
    assert max(differences) < 1e-12
    assert "not run" not in done.stdout


def test_every_import_of_a_peers_program_is_listed_among_the_peers() -> None:
    root = Path(__file__).parents[2] / "benchmarks"
    named = re.findall(r"^[\w-]+", (root / "requirements.txt").read_text(), re.MULTILINE)

    assert "pillow" in named  # pixel_loop.py, which the peers' Python runs for scikit-learn
    assert "from PIL import Image" in (root / "programs" / "pixel_loop.py").read_text()


def section(title: str, *outcomes: tuple[str, float, int]) -> Section:
    return Section(title, "", tuple(Outcome(name, (s,) * 3, (s,) * 3, peak) for name, s, peak in outcomes))


def test_a_run_replaces_the_text_between_the_markers_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    page.write_text(f"before\n{BEGIN}\nfigures of an earlier run\n{END}\nafter\n")
    sections = [
        section(
            "Detection, medium",
            ("ours, tar.gz to AP", 0.2, 150_000_000),
            ("ours, without any check", 0.16, 0),
            ("floor: gunzip and parse", 0.16, 0),
            ("plain loop of the kit's rules", 6.0, 73_000_000),
        ),
        section("Classification", ("ours, tar.gz to AP", 0.05, 0), ("plain loop of the kit's rules", 0.2, 0)),
        section(
            "Bootstrap", ("ours, drawing included", 0.3, 0), ("replicate by replicate (10, times 100)", 12, 0)
        ),
    ]

    write_speed(page, sections, "two cores", None)

    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n| ")
    assert text.endswith(f"{END}\nafter\n")
    assert "earlier" not in text
    for line in (
        "| plain loop of the kit's rules – the same digits | 6.0 (73) |",
        "| detection, 1 M lines, against a plain loop of the kit's rules | 26× | 30.0× |",
        "| 1 M lines, tar.gz → AP, against gunzip and parsing alone | within 1.3× | 1.25× |",
        "| 1 M lines, with strict grammar and all checks, extra over scoring alone | ≤ 30 % | 25 % |",
        "| classification, 20 files of 10,991 lines | 0.050 | 0.20 |  |",
        "| bootstrap, 1000 replicates of 20 classes | 0.30 | 12² |  |",
    ):
        assert line in text.splitlines()
    assert "hotcoco" not in text


def test_the_page_says_how_far_the_figures_of_others_are_from_ours(tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    outcomes = (
        Outcome("ours", (0.1,), values={"AP": 0.5}),
        Outcome("vernier", (0.2,), values={"AP": 0.5 + 2**-30}),
        Outcome("hotcoco", failure="killed"),
    )
    whole = Section("COCO, small, from JSON", "", outcomes, ("hotcoco", "vernier"))

    write_speed(page, [section("Detection, small", ("ours", 0.1, 0)), whole], "two cores", None)

    assert "| vernier  | 0.20 |" in page.read_text()
    assert "Largest difference of a figure from Heldout's: vernier 9e-10." in page.read_text()


def test_a_page_without_markers_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "speed.md").write_text("nothing")

    with pytest.raises(ValueError, match="does not have the lines"):
        write_speed(tmp_path / "speed.md", [], "two cores", None)


def test_the_speed_page_has_the_markers() -> None:
    text = SPEED.read_text()

    assert text.count(BEGIN) == text.count(END) == 1
    assert text.index(BEGIN) < text.index(END)
