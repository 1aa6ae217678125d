"""Every process of pytest-xdist finds the same tests under the same names, wherever and whenever it collects them."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ODD = """
import pytest

@pytest.mark.parametrize("place", [1, 2, 3], ids=["plain", __file__, "\\x1f"])
def test_a_place(place): ...
"""
SIMILAR = """
import pytest

@pytest.mark.sampled
@pytest.mark.parametrize("number", range(100))
def test_similar(number): ...

def test_alone(): ...

@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("number", range(100))
def test_slow_and_similar(number): ...
"""


def pytest_says(*arguments: str | Path, **variables: str) -> str:
    """The output of pytest in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | variables
    done = subprocess.run(
        [*map(str, command)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.slow
def test_names_and_order_of_tests_are_the_same_at_any_clock_and_hash_seed(tmp_path: Path) -> None:
    collect = ("--collect-only", "-m", "", "-p", "no:randomly")
    elsewhere = {"PYTHONHASHSEED": "2", "TZ": "Etc/GMT-14", "TMPDIR": str(tmp_path)}
    with ThreadPoolExecutor() as together:
        here = together.submit(pytest_says, *collect, PYTHONHASHSEED="1", TZ="Etc/GMT+12")
        there = together.submit(pytest_says, *collect, "-p", "tests.other_clock", **elsewhere)

    names = [line for line in here.result().splitlines() if "::" in line]
    assert len(names) > 1000, here.result()
    assert [line for line in there.result().splitlines() if "::" in line] == names


@pytest.mark.slow
def test_ids_of_parameters_that_differ_between_checkouts_or_cannot_be_typed_are_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_odd.py").write_text(ODD)

    said = pytest_says("-p", "tests.conftest", tmp_path / "test_odd.py", "--rootdir", tmp_path)

    assert "expected short words as the ids of parameters" in said


@pytest.mark.slow
def test_a_run_takes_a_part_of_similar_cases_another_with_each_seed_and_the_slow_run_the_others(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_similar.py").write_text(SIMILAR)
    chosen = ("-p", "tests.conftest", tmp_path / "test_similar.py", "--rootdir", tmp_path, "--collect-only")

    def taken(seed: int, marked: str, **variables: str) -> set[str]:
        said = pytest_says(*chosen, "--randomly-seed", str(seed), "-m", marked, **variables)
        return set(re.findall(r"::(\S+)", said))

    every = taken(1, "not slow", HELDOUT_SAMPLE="")
    first, second = (taken(seed, "not slow", HELDOUT_SAMPLE="1") for seed in (1, 2))
    assert len(every) == 101
    assert all(10 <= len(part) <= 40 and "test_alone" in part for part in (first, second))
    assert first != second
    slow = taken(1, "slow", HELDOUT_SAMPLE="1", HELDOUT_SHORT="")
    assert {each for each in slow if not each.startswith("test_slow")} == every - first
    assert len(slow - every) == 100
    short = taken(1, "slow", HELDOUT_SAMPLE="1", HELDOUT_SHORT="1")
    assert short & every == slow & every
    assert 10 <= len(short - every) <= 40


@pytest.mark.slow
def test_a_run_that_fails_says_how_to_repeat_its_order(tmp_path: Path) -> None:
    (tmp_path / "test_wrong.py").write_text("def test_wrong(): assert False")
    chosen = (
        "-p",
        "tests.conftest",
        "--rootdir",
        tmp_path,
        "--randomly-seed",
        "78",
        tmp_path / "test_wrong.py",
    )

    assert "again: make test SEED=78" in pytest_says(*chosen)
    assert "again: make test-slow SEED=78" in pytest_says(*chosen, "-m", "slow")


@pytest.mark.parametrize(
    "content", [b"\x1f\x8b", "a sentence that is too long for the name of a test", "two\nlines", "word"]
)
def test_contents_and_sentences_are_called_by_the_name_of_their_argument(
    request: pytest.FixtureRequest, content: bytes | str
) -> None:
    expected = "word" if content == "word" else r"content\d"

    assert re.search(rf"\[{expected}\]$", request.node.name)


@pytest.mark.parametrize("asked", [True, False])
def test_the_other_clock_is_shown_only_where_it_is_asked_for(*, asked: bool) -> None:
    program = (
        "import tests.other_clock as other, time, datetime as d\n"
        f"if {asked}: other.advance()\n"
        "print(time.time(), d.datetime.now(d.UTC).timestamp())"
    )

    said = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    soon = (datetime.now(UTC) + timedelta(days=365)).timestamp()
    assert {float(each) > soon for each in said.stdout.split()} == {asked}
