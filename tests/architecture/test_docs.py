"""The documentation built by `make docs` contains every module and protocol and has no dead links."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import heldout_scoring
from app.challenges.protocols import protocols
from docs.building import build, modules

pytestmark = pytest.mark.slow


@dataclass
class Page(HTMLParser):
    """The anchors of a page, the targets of its links, and its text."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.add(str(value))
            if name in {"href", "src"}:
                self.links.append(str(value))

    def handle_data(self, data: str) -> None:
        self.text += data


def dead_links(pages: Mapping[str, Page]) -> list[str]:
    """Links to missing pages or anchors, and all external links."""
    dead = []
    for name, page in pages.items():
        for link in page.links:
            address, anchor = urldefrag(link)
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), address)) if address else name
            if link.startswith("data:"):
                continue
            if target not in pages or (anchor and unquote(anchor) not in pages[target].anchors):
                dead.append(f"{name}: {link}")
    return dead


def read(page: Path) -> Page:
    parsed = Page()
    parsed.feed(page.read_text())
    return parsed


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    folder = tmp_path_factory.mktemp("docs")
    build(folder)
    return {page.relative_to(folder).as_posix(): read(page) for page in folder.rglob("*.html")}


def test_every_module_has_a_page_and_the_first_lists_every_export(pages: Mapping[str, Page]) -> None:
    assert {f"{name.replace('.', '/')}.html" for name in modules()} <= set(pages)
    assert set(heldout_scoring.__all__) <= pages["heldout_scoring.html"].anchors


def test_every_protocol_and_task_is_on_the_page_of_protocols(pages: Mapping[str, Page]) -> None:
    page = pages["protocols.html"]
    text = " ".join(page.text.split())

    for row in protocols():
        assert row.name in page.anchors
        for task in row.tasks:
            assert f"{row.name}-{task.task}" in page.anchors
            said = (task.counts, task.threshold, task.boxes, task.measure, task.mean, *task.sources)
            assert [each for each in said if each is not None and each not in text] == []


def test_no_link_is_dead_or_needs_the_network(pages: Mapping[str, Page]) -> None:
    assert sum(len(page.links) for page in pages.values()) > 1000
    assert dead_links(pages) == []


def test_links_to_missing_pages_and_anchors_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html#x">1</a><a href="#y">2</a><a href="#x">3</a>')
    (tmp_path / "b.html").write_text('<a href="a.html">4</a><a href="https://example.org/">5</a>')
    pages = {page.name: read(page) for page in sorted(tmp_path.iterdir())}

    assert dead_links(pages) == ["a.html: b.html#x", "a.html: #y", "b.html: https://example.org/"]
