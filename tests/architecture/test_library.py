"""The promises of the scoring library to those who use it without the server."""

import ast
import importlib
import importlib.metadata
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

import heldout_scoring
from tests.scoring.builders import kit

ROOT = Path(__file__).parents[2]
DISTRIBUTION = ROOT / "scoring"
LIBRARY = DISTRIBUTION / "heldout_scoring"

ALONE = """
import sys
missing = set(sys.argv[1].split(","))

class NothingElseIsInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NothingElseIsInstalled())
"""
"""What is named looks as if it were not there."""
IMPORT_ALL = """
import importlib, pkgutil, heldout_scoring
for module in pkgutil.walk_packages(heldout_scoring.__path__, "heldout_scoring."):
    importlib.import_module(module.name)
print(*sorted(name for name in sys.modules if name.startswith("heldout_scoring")))
"""
ARRAY = re.compile(r"\b(Floats|Integers|Flags|Bytes|Counts|Places|Outcomes|NDArray|ndarray)\b")
SHAPE = re.compile(r"\([^()]*,[^()]*\)|scalar")
"""Of an array, as in (n, 4)."""
OPEN = re.compile(r"heldout_scoring\.(metrics|statistics|analysis)\.")
RUN = """
import runpy
sys.argv[:2] = ["heldout_scoring"]
runpy.run_module("heldout_scoring", run_name="__main__", alter_sys=True)
"""


def plain(distribution: str) -> str:
    return re.split(r"[^\w.-]", distribution)[0].replace("_", "-").lower()


def dependencies(*extras: str) -> set[str]:
    """What the library asks for, by itself and with some extras."""
    project = tomllib.loads((DISTRIBUTION / "pyproject.toml").read_text())["project"]
    optional = [each for extra in extras for each in project["optional-dependencies"][extra]]
    return {plain(each) for each in (*project["dependencies"], *optional)}


def with_what_they_need(distributions: Iterable[str]) -> set[str]:
    found, asked = set[str](), list(distributions)
    while asked:
        name = asked.pop()
        if name not in found:
            found.add(name)
            needed = importlib.metadata.requires(name) or []
            asked += [plain(each) for each in needed if ";" not in each]  # no extras
    return found


def packages_of(distributions: set[str]) -> set[str]:
    """The names under which distributions are imported."""
    known = importlib.metadata.packages_distributions()
    return {package for package, names in known.items() if distributions & {plain(name) for name in names}}


def alone(
    program: str, *words: object, extras: Sequence[str] = ("files",)
) -> "subprocess.CompletedProcess[str]":
    """Run a program as if the library were installed with these extras, and nothing else."""
    there = packages_of(with_what_they_need(dependencies(*extras))) | {"heldout_scoring"}
    missing = {*importlib.metadata.packages_distributions(), "app", "sample", "worker"} - there
    command = [sys.executable, "-c", ALONE + program, ",".join(missing), *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def modules() -> list[str]:
    files = [path.relative_to(DISTRIBUTION).with_suffix("") for path in LIBRARY.rglob("*.py")]
    return sorted(".".join(file.parts).removesuffix(".__init__") for file in files)


def test_the_library_imports_exactly_its_dependencies_and_those_for_files() -> None:
    imported = set[str]()
    for path in LIBRARY.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(str(node.module).partition(".")[0])
    strangers = imported - sys.stdlib_module_names

    known = importlib.metadata.packages_distributions()

    assert {plain(name) for package in strangers for name in known[package]} == dependencies("files")


def test_every_library_module_can_be_imported_without_server_packages() -> None:
    imported = alone(IMPORT_ALL)

    assert imported.stderr == ""
    assert imported.stdout.split() == modules()


def test_server_packages_are_missing_when_hidden() -> None:
    assert alone("import fastapi").stderr.endswith("ModuleNotFoundError: No module named 'fastapi'\n")


@pytest.mark.slow
def test_the_commands_work_without_server_packages(tmp_path: Path) -> None:
    tree, sent = kit(tmp_path).root, tmp_path / "sent"
    sent.mkdir()
    (sent / "comp3_det_test_cat.txt").write_text("a_1 0.9 1 1 10 10\n")
    (sent / "comp3_det_test_dog.txt").write_text("a_1 0.9 20 5 40 30\na_2 0.8 5 5 30 30\n")
    asked = ("--competition", 3, "--truth", tree, "--image-set", "test", "--results", sent)

    helped = alone(RUN, "--help")
    scored = alone(RUN, "evaluate", *asked, "--bootstrap", 40)

    assert (helped.returncode, helped.stderr) == (0, "")
    assert "significance" in helped.stdout
    assert (scored.returncode, scored.stderr) == (0, "")
    assert json.loads(scored.stdout)["headline"] == 1


def public_functions() -> dict[str, Callable[..., object]]:
    """All functions that `heldout_scoring` exports, the constructors of its classes, and the functions of its public modules."""
    exported = {name: getattr(heldout_scoring, name) for name in heldout_scoring.__all__}
    found: dict[str, Callable[..., object]] = {}
    found |= {name: each for name, each in exported.items() if inspect.isfunction(each)}
    for owner in filter(inspect.isclass, exported.values()):
        constructors = inspect.getmembers(
            owner, inspect.ismethod
        )  # on a class, bound means bound to the class
        found |= {f"{owner.__name__}.{name}": each for name, each in constructors if not name.startswith("_")}
    for module in map(importlib.import_module, modules()):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            in_the_open = function.__module__ == module.__name__ and not name.startswith("_")
            if in_the_open and (OPEN.match(module.__name__) or name.startswith("read_")):
                found[f"{module.__name__}.{name}"] = function
    return found


def test_every_public_function_and_constructor_shows_an_example() -> None:
    functions = public_functions()

    silent = [name for name, function in functions.items() if ">>> " not in (inspect.getdoc(function) or "")]

    assert {"evaluate", "Result.from_json", "heldout_scoring.analysis.errors.break_down"} < set(functions)
    assert silent == []


def signature(function: Callable[..., object]) -> str:
    """The source of a function before its docstring, with annotations as written."""
    return inspect.getsource(function).partition('"""')[0]


def test_every_public_function_of_arrays_documents_their_shapes() -> None:
    functions = {name: each for name, each in public_functions().items() if ARRAY.search(signature(each))}

    silent = [
        name
        for name, each in functions.items()
        if not SHAPE.search((inspect.getdoc(each) or "").partition(">>>")[0])
    ]

    assert len(functions) > 30
    assert silent == []


def test_every_public_function_class_and_method_has_a_docstring() -> None:
    silent = []
    for module in map(importlib.import_module, modules()):
        for name, each in vars(module).items():
            if name.startswith("_") or getattr(each, "__module__", None) != module.__name__:
                continue
            members = vars(each) if inspect.isclass(each) else {}
            owned = {f"{name}.{key}": value for key, value in members.items() if not key.startswith("_")}
            for place, thing in {name: each, **owned}.items():
                if (inspect.isroutine(thing) or inspect.isclass(thing)) and not inspect.getdoc(thing):
                    silent.append(f"{module.__name__}.{place}")
    assert silent == []
