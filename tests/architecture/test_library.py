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
from tests.scoring.archives import gz, tar, zip_of
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


WITH_NUMPY = """
import sys
from pathlib import Path
import numpy as np
import heldout_scoring as hs

box = np.array([[12, 20, 180, 140.5]])
truth = hs.GroundTruth.from_arrays(["a", "b"], ["car", "cat"], box.repeat(2, axis=0), convention="half-open")
for protocol in ("voc2012", "coco"):
    results = [
        hs.evaluate(hs.Detections.from_arrays(["a", "b"], ["car", "cat"], [0.9, 0.8], box + [[move], [60]]), truth, protocol=protocol)
        for move in (0, 50)
    ]
    print(*results, hs.intervals_of(results[0], truth, replicates=50).rows)
    print(hs.compare(*(hs.bootstrap(each, truth, replicates=50) for each in results)))
found = hs.Detections.from_dicts({"a": {"boxes": box, "scores": [0.9], "labels": ["car"]}, "b": {"boxes": box, "scores": [0.8], "labels": ["car"]}})
print(hs.evaluate(found, truth, protocol="coco").to_json())

common = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10.5]}
instances = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}]}
instances |= {"annotations": [common | {"id": each, "area": 105, "iscrowd": 0} for each in (1, 2)]}
detections = [common | {"score": score} for score in (0.5, 0.25, 1e-3)]
for one, other in ((instances, detections), map(Path, sys.argv[2:])):
    truth = hs.GroundTruth.from_coco(one)
    print(hs.evaluate(hs.Detections.from_coco(other, truth), truth, protocol="coco").to_json())
    print(hs.evaluate_coco(other, one, masks=False).to_json())

masks = np.zeros((2, 40, 60), bool)
masks[0, 5:25, 5:35] = masks[1, 10:40, 20:60] = True
truth = hs.GroundTruth.from_masks(["a", "b"], ["car", "cat"], masks)
print(hs.evaluate(hs.InstanceMasks.from_arrays(["a", "b"], ["car", "cat"], [0.9, 0.8], np.roll(masks, 2, axis=1)), truth, protocol="coco").to_json())
labels = np.arange(12, dtype=np.uint8).reshape(1, 3, 4) % 3
truth = hs.GroundTruth.from_label_maps(labels, classes=["car", "cat"])
print(hs.evaluate(hs.LabelMaps.from_arrays(labels), truth, protocol="voc2012").to_json())
"""
"""What works with NumPy alone; the arguments are the two JSON files."""
NEEDS_FILES = {
    "tree": "heldout_scoring.read_tree(Path(sys.argv[2]), 'test')",
    "folder": "heldout_scoring.validate(Path(sys.argv[3]), description)",
    "zip": "heldout_scoring.validate(Path(sys.argv[4]), description)",
    "gzip": "heldout_scoring.validate(Path(sys.argv[5]), description)",
    "label image": "heldout_scoring.archives.png.open_png(heldout_scoring.labels_to_png(np.zeros((2, 2), np.uint8)), None)",
    "frame": "heldout_scoring.evaluate(found, truth, protocol='coco').to_frame()",
}
DATA = """
import sys
from pathlib import Path
import numpy as np
import heldout_scoring.archives.png
box = np.array([[1, 1, 10, 10]])
truth = heldout_scoring.GroundTruth.from_arrays(["a_1"], ["cat"], box, convention="half-open")
found = heldout_scoring.Detections.from_arrays(["a_1"], ["cat"], [0.5], box)
description = heldout_scoring.Description("VOC2012", "test", ("cat",), (), (heldout_scoring.Image("a_1", 50, 40),))
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


def alone(program: str, *words: object, extras: Sequence[str] = ()) -> "subprocess.CompletedProcess[str]":
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


def test_every_library_module_can_be_imported_with_numpy_alone() -> None:
    imported = alone(IMPORT_ALL)

    assert imported.stderr == ""
    assert imported.stdout.split() == modules()


@pytest.mark.sampled
def test_arrays_mappings_and_coco_files_are_scored_alike_with_numpy_alone(tmp_path: Path) -> None:
    common = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10.5]}
    instances = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}]}
    annotations = [common | {"id": each, "area": 105, "iscrowd": 0} for each in (1, 2)]
    paths = tmp_path / "instances.json", tmp_path / "detections.json"
    paths[0].write_text(json.dumps(instances | {"annotations": annotations}))
    paths[1].write_text(json.dumps([common | {"score": score} for score in (0.5, 0.25, 1e-3)]))

    done, with_files = alone(WITH_NUMPY, *paths), alone(WITH_NUMPY, *paths, extras=["files"])

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == with_files.stdout
    assert len(done.stdout.splitlines()) > 20


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """A development kit, and the same results as a folder, a zip archive and a compressed tar archive."""
    folder = tmp_path_factory.mktemp("sent")
    content = {"results/VOC2012/Main/comp3_det_test_cat.txt": b"a_1 0.9 1 1 10 10\n"}
    plain = folder / "plain"
    for name, text in content.items():
        (plain / name).parent.mkdir(parents=True)
        (plain / name).write_bytes(text)
    (folder / "results.zip").write_bytes(zip_of(content))
    (folder / "results.tar.gz").write_bytes(gz(tar(content)))
    return kit(folder).root, plain, folder / "results.zip", folder / "results.tar.gz"


@pytest.mark.sampled
@pytest.mark.parametrize("call", NEEDS_FILES.values(), ids=NEEDS_FILES)
def test_what_reads_files_says_which_extra_to_install(call: str, sent: tuple[Path, ...]) -> None:
    done, with_files = alone(DATA + call, *sent), alone(DATA + call, *sent, extras=["files"])

    assert re.fullmatch(
        r"ImportError: this needs [\w.]+, which is not installed: install heldout-scoring\[files\]",
        done.stderr.splitlines()[-1],
    )
    assert (with_files.returncode, with_files.stderr) == (0, "")


def test_the_command_line_says_which_extra_to_install(sent: tuple[Path, ...]) -> None:
    tree, folder, *_ = sent
    asked = ("--competition", 3, "--truth", tree, "--image-set", "test", "--results", folder)

    done = alone(RUN, "evaluate", *asked)

    [problem] = json.loads(done.stdout)["problems"]
    assert (done.returncode, done.stderr, problem["code"]) == (2, "", "not-installed")
    assert problem["message"].endswith("install heldout-scoring[files]")


def test_server_packages_are_missing_when_hidden() -> None:
    assert alone("import fastapi").stderr.endswith("ModuleNotFoundError: No module named 'fastapi'\n")


@pytest.mark.slow
def test_the_commands_work_without_server_packages(tmp_path: Path) -> None:
    tree, sent = kit(tmp_path).root, tmp_path / "sent"
    sent.mkdir()
    (sent / "comp3_det_test_cat.txt").write_text("a_1 0.9 1 1 10 10\n")
    (sent / "comp3_det_test_dog.txt").write_text("a_1 0.9 20 5 40 30\na_2 0.8 5 5 30 30\n")
    asked = ("--competition", 3, "--truth", tree, "--image-set", "test", "--results", sent)

    helped = alone(RUN, "--help", extras=["files"])
    scored = alone(RUN, "evaluate", *asked, "--bootstrap", 40, extras=["files"])

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
