"""The wheel contains only the scoring library and works without the server's packages."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.test_library import core_dependencies, with_what_they_need
from tests.scoring.builders import kit

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built without a network from a copy, so that nothing is left in the checkout."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in ("scoring", "app", "worker", "sample"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", target, source)
    [built] = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and its dependencies."""
    environment = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    [packages] = environment.glob("lib/python*/site-packages")
    for distribution in with_what_they_need(core_dependencies()):
        link_into(packages, distribution)
    pip("--python", python, "install", "--no-deps", wheel)
    return python


def pip(*words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(
        command, env={**os.environ, "PIP_NO_INDEX": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def link_into(packages: Path, distribution: str) -> None:
    files = importlib.metadata.files(distribution) or []
    for name in {file.parts[0] for file in files} - {"..", "__pycache__"}:
        source = Path(str(files[0].locate())).parents[len(files[0].parts) - 1] / name
        if not (packages / name).exists():
            (packages / name).symlink_to(source)


def test_the_wheel_contains_only_the_library(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        top = {name.partition("/")[0] for name in archive.namelist()}
        [metadata] = [name for name in top if name.endswith(".dist-info")]
        entry_points = f"{metadata}/entry_points.txt" in archive.namelist()
        typed = "scoring/heldout_scoring/py.typed" in archive.namelist()

    assert top == {"scoring", metadata}
    assert typed
    assert not entry_points


def test_the_installed_library_scores_an_archive_without_the_server(bare: Path, tmp_path: Path) -> None:
    tree, sent = kit(tmp_path).root, tmp_path / "sent"
    sent.mkdir()
    (sent / "comp3_det_test_cat.txt").write_text("a_1 0.9 1 1 10 10\n")
    (sent / "comp3_det_test_dog.txt").write_text("a_1 0.9 20 5 40 30\na_2 0.8 5 5 30 30\n")
    asked = ("--competition", "3", "--truth", tree, "--image-set", "test", "--results", sent)

    scored = subprocess.run(
        [bare, "-m", "scoring", "evaluate", *asked], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    server = subprocess.run(
        [bare, "-c", "import app"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert scored.returncode == 0, scored.stderr
    assert json.loads(scored.stdout)["headline"] == 1
    assert "No module named 'app'" in server.stderr
    assert not bare.with_name("heldout-server").exists()


def test_the_installed_library_has_its_published_tables(bare: Path, tmp_path: Path) -> None:
    program = "from heldout_scoring.published import __file__ as f; from pathlib import Path; print(len(list(Path(f).parent.glob('*.csv'))))"

    found = subprocess.run([bare, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert int(found.stdout) == len(list((ROOT / "scoring" / "published").glob("*.csv"))) > 0
