"""Promises of CONTRIBUTING.md and the documentation about the code, checked in the code itself."""

import re
import tomllib
from pathlib import Path

from fastapi.routing import APIRoute

from app.core.settings import Settings
from app.main import API, PAGES
from app.web.dependencies import action_of

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path for room in ("app", "worker", "scoring", "sample") for path in (ROOT / room).rglob("*.py")
)
TESTS = sorted((ROOT / "tests").rglob("*.py"))
DOCUMENTS = sorted(ROOT.glob("*.md"))
SETUP = (ROOT / "pyproject.toml", ROOT / "Makefile", ROOT / "docker-compose.yml", ROOT / "Dockerfile")
DECISIONS = ROOT / "docs/decisions"
DECISION = re.compile(r"\bdecisions/([\w-]+\.md)")
LINK = re.compile(r"\]\(([^)#:]+\.md)")
MAX_PAGES = 30
CONFLICT = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)

ROUTES = [route for router in (*API, *PAGES) for route in router.routes if isinstance(route, APIRoute)]


def test_only_settings_and_process_startup_read_the_environment() -> None:
    allowed = {"settings.py", "processes.py", "sandbox.py", "counters.py"}

    guilty = [path for path in SOURCES if "os.environ" in path.read_text() and path.name not in allowed]

    assert guilty == []


def test_every_route_declares_its_permission() -> None:
    unguarded = [route.path for route in ROUTES if action_of([*route.dependencies]) is None]

    assert len(ROUTES) > 20
    assert unguarded == []


def test_no_route_serves_get_and_another_method() -> None:
    both = [route.path for route in ROUTES if {"GET"} < (route.methods or set())]

    assert both == []


def test_every_setting_is_described_and_documented() -> None:
    documented = (ROOT / "docs/administer/settings.md").read_text()

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


def test_every_decision_is_in_the_index_and_there_are_few() -> None:
    pages = {path.name for path in DECISIONS.glob("*.md")} - {"index.md"}
    links = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", (DECISIONS / "index.md").read_text(), re.MULTILINE)

    assert sorted(links) == sorted(pages)
    assert 0 < len(pages) <= MAX_PAGES


def test_every_decision_that_code_or_documents_name_exists() -> None:
    named = {
        (path.relative_to(ROOT), name)
        for path in (*DOCUMENTS, *SOURCES, *TESTS, *SETUP, *(ROOT / "docs").rglob("*.md"))
        for name in DECISION.findall(path.read_text())
    }
    linked = {
        (path.relative_to(ROOT), link)
        for path in DECISIONS.glob("*.md")
        for link in LINK.findall(path.read_text())
        if not (path.parent / link).is_file()
    }

    assert named
    assert [(path, name) for path, name in named if not (DECISIONS / name).is_file()] == []
    assert linked == set()


def test_no_merge_left_conflict_markers_or_duplicate_entries() -> None:
    entries = [
        line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith(("- ", "#"))
    ]

    assert [path.name for path in (*DOCUMENTS, *SOURCES, *TESTS) if CONFLICT.search(path.read_text())] == []
    assert [entry for entry in entries if entries.count(entry) > 1] == []


def test_contributing_lists_the_packages_in_the_order_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [layers] = [
        each["layers"] for each in contracts if each["name"] == "packages of app import downwards only"
    ]

    rows = re.findall(r"^\| ((?:`[a-z]+`(?: · )?)+) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)

    assert [row.replace("`", "").split(" · ") for row in rows] == [layer.split(" | ") for layer in layers]


def test_pages_and_api_modules_contain_no_database_queries() -> None:
    routes = [path for path in (ROOT / "app").rglob("*.py") if path.stem.endswith(("pages", "api"))]

    assert len(routes) > 40
    assert [path.name for path in routes if "sqlalchemy" in path.read_text()] == []
