"""The wheel contains only the scoring library and works without the server's packages."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from email.parser import Parser
from pathlib import Path

import pytest

import heldout_scoring
from tests.architecture.test_guides import PROGRAMS, promised
from tests.architecture.test_library import DISTRIBUTION, LIBRARY, dependencies, plain, with_what_they_need
from tests.architecture.test_library_page import (
    OF_LIBRARY_README,
    WITH_ARRAYS,
    WITH_ERRORS,
    WITH_MASKS,
    WITH_OWN_RULES,
)
from tests.scoring.builders import kit
from tests.shared import ROOT

pytestmark = pytest.mark.slow

OLDEST = "numpy==2.2.*"
EXAMPLES = {
    "readme": OF_LIBRARY_README,
    "masks and own rules": WITH_ARRAYS + WITH_MASKS + WITH_OWN_RULES,
    "errors": WITH_ARRAYS + WITH_ERRORS,
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built without a network from a copy, so that nothing is left in the checkout."""
    source, target = tmp_path_factory.mktemp("source") / "scoring", tmp_path_factory.mktemp("wheel")
    shutil.copytree(DISTRIBUTION, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    pip("wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", target, source)
    [built] = target.glob("*.whl")
    return built


def pip(*words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def environment(folder: Path, wheel: Path, interpreter: Path = Path(sys.executable)) -> Path:
    """The interpreter of a new environment with the wheel alone."""
    subprocess.run([interpreter, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip("--python", python, "install", "--no-index", "--no-deps", wheel)
    return python


def link_into(python: Path, distributions: Iterable[str]) -> None:
    """Add installed distributions to an environment of the same Python."""
    [packages] = python.parents[1].glob("lib/python*/site-packages")
    for distribution in with_what_they_need(distributions):
        files = importlib.metadata.files(distribution) or []
        for name in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            source = Path(str(files[0].locate())).parents[len(files[0].parts) - 1] / name
            if not (packages / name).exists():
                (packages / name).symlink_to(source)


def run(python: Path, *words: str | Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run Python in an environment, without what the environment of the tests adds to it."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [python, *words], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def with_files(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with `heldout-scoring[files]`."""
    python = environment(tmp_path_factory.mktemp("files"), wheel)
    link_into(python, dependencies("files"))
    return python


def test_the_wheel_contains_only_the_library_and_its_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = {name.partition("/")[0] for name in names} - {"heldout_scoring"}
        command = archive.read(f"{metadata}/entry_points.txt").decode()

    assert metadata == f"heldout_scoring-{heldout_scoring.__version__}.dist-info"
    assert "heldout_scoring/py.typed" in names
    assert f"{metadata}/licenses/LICENSE" in names
    assert command.split("\n", 1)[1].strip() == "heldout-scoring = heldout_scoring.__main__:run"
    assert [name for name in names if "test" in name] == []


def test_the_wheel_asks_for_what_the_project_states(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode())
    asked = metadata.get_all("Requires-Dist", [])

    assert {plain(each) for each in asked if "extra ==" not in each} == dependencies() == {"numpy"}
    assert {plain(each) for each in asked if 'extra == "files"' in each} == dependencies("files") - {"numpy"}
    assert metadata["Requires-Python"] == ">=3.11"
    assert f"Programming Language :: Python :: 3.{sys.version_info.minor}" in metadata.get_all(
        "Classifier", []
    )
    assert metadata.get_payload().startswith("# heldout-scoring\n")  # type: ignore[union-attr]  # one part


def test_the_installed_command_scores_an_archive_without_the_server(with_files: Path, tmp_path: Path) -> None:
    tree, sent = kit(tmp_path).root, tmp_path / "sent"
    sent.mkdir()
    (sent / "comp3_det_test_cat.txt").write_text("a_1 0.9 1 1 10 10\n")
    (sent / "comp3_det_test_dog.txt").write_text("a_1 0.9 20 5 40 30\na_2 0.8 5 5 30 30\n")
    asked = ("--competition", "3", "--truth", str(tree), "--image-set", "test", "--results", str(sent))
    program = with_files.with_name("heldout-scoring")

    scored = run(program, "evaluate", *asked, folder=tmp_path)
    alike = run(with_files, "-m", "heldout_scoring", "evaluate", *asked, folder=tmp_path)
    server = run(with_files, "-c", "import app", folder=tmp_path)

    assert (scored.returncode, scored.stderr) == (0, "")
    assert json.loads(scored.stdout)["headline"] == 1
    assert alike.stdout == scored.stdout
    assert "No module named 'app'" in server.stderr
    assert not with_files.with_name("heldout-server").exists()


def test_both_ways_to_start_the_command_print_the_same_usage(with_files: Path, tmp_path: Path) -> None:
    program = run(with_files.with_name("heldout-scoring"), "--help", folder=tmp_path)
    module = run(with_files, "-m", "heldout_scoring", "--help", folder=tmp_path)

    assert program.stdout.startswith("usage: heldout-scoring ")
    assert module.stdout == program.stdout


def test_the_installed_library_has_its_published_tables(with_files: Path, tmp_path: Path) -> None:
    program = "from heldout_scoring.published import __file__ as f; from pathlib import Path; print(len(list(Path(f).parent.glob('*.csv'))))"

    found = run(with_files, "-c", program, folder=tmp_path)

    assert int(found.stdout) == len(list((LIBRARY / "published").glob("*.csv"))) > 0


def newest_numpy() -> str:
    """The NumPy of the lock for Python 3.12 and later."""
    *_, newest = re.findall(r"^numpy==[\d.]+", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    return str(newest)


def interpreter_of(version: str) -> Path:
    """A Python of this version on the machine; the test is skipped where there is none."""
    for each in (Path(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")):
        with suppress(OSError):
            if subprocess.run([each, "-c", ""], capture_output=True, check=False).returncode == 0:
                return each
    pytest.skip(f"Python {version} is not on this machine")


@pytest.fixture(scope="module", params=["locked", "oldest NumPy", "3.12", "3.13", "3.14"])
def numpy_alone(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The interpreter of an environment with the wheel and NumPy: the locked one, an old one, and of other Pythons."""
    here = request.param in {"locked", "oldest NumPy"}
    python = environment(
        tmp_path_factory.mktemp("alone"),
        wheel,
        Path(sys.executable) if here else interpreter_of(request.param),
    )
    if request.param == "locked":
        link_into(python, ["numpy"])
        return python
    numpy = OLDEST if here else newest_numpy()
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--only-binary",
        ":all:",
        numpy,
    ]
    installed = subprocess.run(command, capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"{numpy} cannot be installed here: {installed.stderr.strip().splitlines()[-1]}")
    return python


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_documented_examples_with_arrays_run_with_numpy_alone(
    numpy_alone: Path, example: str, tmp_path: Path
) -> None:
    done = run(numpy_alone, "-W", "error", "-c", EXAMPLES[example], folder=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_recipes_and_the_ways_from_other_libraries_run_with_numpy_alone(
    numpy_alone: Path, name: str, tmp_path: Path
) -> None:
    done = run(numpy_alone, "-W", "error", "-c", PROGRAMS[name], folder=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == promised(PROGRAMS[name])
