"""What CONTRIBUTING.md and the documentation promise about the code, checked in the code itself."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from app.main import API, PAGES
from app.settings import Settings
from app.web import action_of

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path for room in ("app", "worker", "scoring", "sample") for path in (ROOT / room).rglob("*.py")
)
ROOM_FILES = {"__init__.py", "pages.py", "api.py", "service.py", "queries.py", "rules.py", "schemas.py"}
NO_ROOMS = {"models", "embedded", "figures", "storage", "serving"}
SQL = re.compile(r"(?<![.\w])(select|insert|update|delete|text)\(|\.execute\(|\.scalars?\(")
TESTS = sorted((ROOT / "tests").rglob("*.py"))
LONGER = {  # files that hold one idea, and no more
    ROOT / "app/deployment/rules.py",
    ROOT / "app/evaluation/service.py",
    ROOT / "app/rescoring/queries.py",
    ROOT / "app/submissions/schemas.py",
    ROOT / "tests/system/test_faults.py",
    ROOT / "tests/system/test_storage.py",
}
DOCUMENTS = sorted(ROOT.glob("*.md"))
CONFLICT = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)

ROUTES = [route for router in (*API, *PAGES) for route in router.routes if isinstance(route, APIRoute)]


def test_sql_stands_only_in_queries() -> None:
    services = [
        path
        for path in SOURCES
        if path.parts[-3] == "app" and path.name in ("service.py", "pages.py", "api.py")
    ]

    guilty = [path for path in services if SQL.search(path.read_text())]

    assert services
    assert guilty == []


def test_only_settings_and_the_start_of_processes_read_the_environment() -> None:
    allowed = {"settings.py", "processes.py", "children.py"}

    guilty = [path for path in SOURCES if "os.environ" in path.read_text() and path.name not in allowed]

    assert guilty == []


def test_rooms_have_only_the_files_that_rooms_have() -> None:
    rooms = [
        path
        for path in (ROOT / "app").iterdir()
        if (path / "__init__.py").exists() and path.name not in NO_ROOMS
    ]

    strangers = [file for room in rooms for file in room.glob("*.py") if file.name not in ROOM_FILES]

    assert len(rooms) > 5
    assert strangers == []


def test_every_route_names_its_permission() -> None:
    unguarded = [route.path for route in ROUTES if action_of([*route.dependencies]) is None]

    assert len(ROUTES) > 20
    assert unguarded == []


def test_nothing_is_changed_by_a_get() -> None:
    both = [route.path for route in ROUTES if {"GET"} < (route.methods or set())]

    assert both == []


def test_every_setting_is_described_and_stands_in_the_documentation() -> None:
    documented = (ROOT / "docs/operating.md").read_text()

    silent = [
        name for name, field in Settings.model_fields.items() if name != "data" and not field.description
    ]
    missing = [name for name in Settings.model_fields if f"HELDOUT_{name.upper()}" not in documented]

    assert silent == []
    assert missing == []


def test_every_make_target_that_contributing_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()

    named = set(re.findall(r"`make ([a-z-]+)", (ROOT / "CONTRIBUTING.md").read_text()))

    assert named
    assert [target for target in named if f"\n{target}:" not in makefile] == []


def test_decisions_are_numbered_in_order() -> None:
    numbers = [
        int(each) for each in re.findall(r"^## (\d+) ", (ROOT / "DECISIONS.md").read_text(), re.MULTILINE)
    ]

    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


def test_no_merge_left_a_conflict_or_an_entry_twice() -> None:
    entries = [
        line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith(("- ", "#"))
    ]

    assert [path.name for path in (*DOCUMENTS, *SOURCES, *TESTS) if CONFLICT.search(path.read_text())] == []
    assert [entry for entry in entries if entries.count(entry) > 1] == []


def test_contributing_orders_the_rooms_as_the_contract_does() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [layers] = [each["layers"] for each in contracts if each["name"] == "rooms import downwards only"]
    contract = [{room.removeprefix("app.") for room in layer.split(" | ")} for layer in layers]
    text = (ROOT / "CONTRIBUTING.md").read_text().split("among rooms:")[1].split("in a room:")[0]

    told = [{room.strip() for room in layer.split(",")} for layer in text.split("─▶")]

    assert told == contract[contract.index(told[0]) : contract.index({"web"})]


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_of_tests_holds_more_than_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400 or path in LONGER


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_holds_more_than_300_lines_and_no_function_more_than_40(path: Path) -> None:
    text = path.read_text()

    long = [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and length(node) > 40
    ]

    assert len(text.splitlines()) <= 300 or path in LONGER
    assert long == []


def length(function: ast.FunctionDef) -> int:
    """Lines of the body, without a docstring."""
    first = function.body[1] if ast.get_docstring(function) and len(function.body) > 1 else function.body[0]
    return (function.end_lineno or 0) - first.lineno + 1
