"""`import heldout_scoring` is fast and does not import libraries that only files need."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import heldout_scoring

MOST_FOR_ARRAYS = 34
"""Modules of the library that a first call with arrays may import, packages included; each takes time."""
LATER = (
    "numpy",
    "heldout_scoring.evaluation",
    "msgspec",
    "polars",
    "PIL",
    "matplotlib",
    "pandas",
    "pyarrow",
    "urllib.request",
)
PROGRAM = f"""
import json, sys, heldout_scoring
print(json.dumps([name for name in {LATER} if name in sys.modules]))
"""
READS = """
import sys, heldout_scoring
from pathlib import Path
truth = heldout_scoring.read_tree(Path(sys.argv[1]), "test")
before = "polars" in sys.modules
report = heldout_scoring.evaluate(Path(sys.argv[2]), truth, competition=3, protocol="voc2012")
print(before, "polars" in sys.modules, report.headline is not None)
"""

FILES_ONLY = (
    "heldout_scoring.archives",
    "heldout_scoring.readers",
    "xml",
    "zipfile",
    "tarfile",
    "polars",
    "PIL",
    "msgspec",
    "concurrent",
    "numpy.ma",
)
SCORES_ARRAYS = f"""
import json, sys
import numpy
before = set(sys.modules)
from heldout_scoring import Detections, GroundTruth, evaluate
boxes = [[10 + row, 20, 60 + row, 80] for row in range(10)]
images, classes = [str(row % 3) for row in range(10)], ["cat", "dog"] * 5
truth = GroundTruth.from_arrays(images, classes, boxes, convention="inclusive")
found = Detections.from_arrays(images, classes, [row / 10 for row in range(10)], boxes)
for protocol in ("voc2012", "coco"):
    assert evaluate(found, truth, protocol=protocol).headline == 1
new = set(sys.modules) - before
of_files = [name for name in new if any(f"{{name}}.".startswith(f"{{each}}.") for each in {FILES_ONLY})]
print(json.dumps([sorted(of_files), sum(name.startswith("heldout_scoring") for name in new)]))
"""


def run(program: str, *arguments: object) -> str:
    """The output of a program, without measuring coverage, which would import further modules."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stdout


def test_importing_scoring_does_not_import_libraries_for_files_or_plots() -> None:
    assert json.loads(run(PROGRAM)) == []


def test_every_public_name_comes_from_the_module_that_type_checkers_see() -> None:
    tree = ast.parse(Path(heldout_scoring.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    told = {alias.name: f"heldout_scoring.{node.module}" for node in imports for alias in node.names}

    for name in heldout_scoring.__all__:
        assert getattr(heldout_scoring, name) is getattr(sys.modules[told[name]], name), name


def test_an_unknown_attribute_raises_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'assess'"):
        _ = heldout_scoring.assess  # type: ignore[attr-defined]

    assert "evaluate" in dir(heldout_scoring)


def test_reading_a_text_file_imports_polars() -> None:
    golden = Path(__file__).parents[1] / "golden"

    assert run(READS, golden / "sample", golden / "results").split() == ["False", "True", "True"]


def test_scoring_arrays_imports_nothing_that_only_files_need() -> None:
    of_files, modules = json.loads(run(SCORES_ARRAYS))

    assert of_files == []
    assert modules <= MOST_FOR_ARRAYS


def test_the_library_is_marked_as_typed() -> None:
    assert (Path(heldout_scoring.__file__).parent / "py.typed").is_file()


@pytest.mark.sampled
def test_no_program_imports_the_folder_of_the_library_as_a_package() -> None:
    program = "import sys, app.main, app.jobs.sandbox, worker.handlers, sample; print('scoring' in sys.modules, sys.modules['heldout_scoring'].__file__)"

    imported, file = run(program).split(maxsplit=1)

    assert imported == "False"
    assert Path(file.strip()) == Path(__file__).parents[2] / "scoring" / "heldout_scoring" / "__init__.py"
