"""The documentation site: every page renders, every link and anchor works, and old addresses redirect."""

import re
from functools import cache
from html.parser import HTMLParser
from statistics import mean, median
from urllib.parse import urldefrag

import pytest
from fastapi import FastAPI
from starlette.routing import Match
from starlette.testclient import TestClient

from app.challenges.protocols import protocols
from app.operations.documentation_pages import MOVED
from app.operations.documentation_site import FILES, IMAGES, NAVIGATION, anchor_of, page_at, render
from app.web.formats import score
from heldout_scoring import Scoreboard, rank_methods
from heldout_scoring.published import classification_of_2007, detection_of_2007
from tests.documents import DOCUMENTS
from tests.pages.conftest import Browser
from tests.shared import ROOT

LISTED = [entry.address for chapter in NAVIGATION for entry in chapter.entries]
PAGES = [*LISTED, *(f"/docs/protocols/{each.name}" for each in protocols())]


class Read(HTMLParser):
    """The anchors of a page and the addresses of its links and pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: list[str] = []
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.append(str(value))
            if name in {"href", "src"}:
                self.links.add(str(value))


@cache  # most links are on every page
def has_page(app: FastAPI, path: str) -> bool:
    """Whether an address belongs to a route, a static file or the OpenAPI document."""
    if path.startswith("/static/"):
        return (ROOT / path[1:]).is_file()
    scope = {"type": "http", "method": "GET", "path": path}
    routes = (route for router in app.state.routers for route in router.routes)
    return path == app.openapi_url or any(route.matches(scope)[0] is Match.FULL for route in routes)


@cache
def anchors_at(app: FastAPI, path: str) -> list[str]:
    client = TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False)
    return Read(client.get(path).text).anchors


@pytest.mark.sampled
@pytest.mark.parametrize("address", PAGES)
def test_a_page_renders_and_its_links_and_anchors_work(app: FastAPI, browser: Browser, address: str) -> None:
    response = browser().get(address)
    page = Read(response.text)

    assert response.status_code == 200
    assert len(page.anchors) == len(set(page.anchors))
    for link in page.links:
        path, anchor = urldefrag(link)
        path = path.partition("?")[0]
        if path.startswith("https://"):
            continue
        assert not path or has_page(app, path), link
        if anchor:
            assert anchor in (anchors_at(app, path) if path else page.anchors), link


@pytest.mark.parametrize("address", FILES)
def test_a_page_needs_nothing_that_the_content_security_policy_forbids(
    browser: Browser, address: str
) -> None:
    text = browser().get(address).text

    assert not re.search(r"<style|\sstyle=|<script(?![^>]+src=\"/static/)|\son\w+=", text)
    assert not re.search(r'(?:src|<link[^>]+href)="(?!/)', text)


def test_the_navigation_marks_the_current_page(browser: Browser) -> None:
    page = browser().get("/docs/administer/backup").text

    assert '<a href="/docs/administer/backup" aria-current="page">Backup</a>' in page
    assert '<a href="#damaged-files">Damaged files</a>' in page
    assert '<a class="next" href="/docs/administer/monitoring" rel="next">' in page
    assert 'href="/docs/protocols" aria-current="true"' in browser().get("/docs/protocols/coco").text


def test_the_first_page_names_chapters_and_pages_as_the_side_bar_does() -> None:
    index = page_at("/docs")
    chapters = {chapter.title: chapter.entries for chapter in NAVIGATION[1:]}
    cards = {each.title: each.html for each in index.sections if each.title in chapters}

    assert list(cards) == list(chapters)
    for title, html in cards.items():
        links = re.findall(r'<li><a href="([^"]+)">(.+?)</a>', html)
        assert len(links) > 4
        assert set(links) == {(entry.address, entry.title) for entry in chapters[title]}


def test_anchors_of_a_page_that_was_split_lead_to_the_section_on_its_new_page(browser: Browser) -> None:
    page = browser().get("/docs/organise")
    former = ("send-a-data-set", "score-again", "disclosure", "announcements", "create-a-challenge")

    found = {
        anchor: re.search(rf'<li id="{anchor}">\s*<a href="([^"#]+)#([^"]+)"', page.text) for anchor in former
    }

    assert [anchor for anchor, link in found.items() if link is None or link[2] != anchor] == []
    assert {link[1] for link in found.values() if link} == {
        f"/docs/organise/{name}" for name in ("data", "scoring", "rules", "teams", "challenge")
    }


def test_a_search_leads_to_the_sections_that_have_all_its_words(app: FastAPI, browser: Browser) -> None:
    visitor = browser()
    found = re.findall(r'<li>\s*<a href="(/[^"]+)">([^<]+)</a>', visitor.get("/docs?q=damaged+FILES").text)
    texts = {address: visitor.get(address).text.casefold() for address, _ in found}

    assert found[0] == ("/docs/administer/backup#damaged-files", "Damaged files")  # has them in its title
    assert [address for address, text in texts.items() if "damaged" not in text or "files" not in text] == []
    assert all(urldefrag(each)[1] in ("", *anchors_at(app, urldefrag(each)[0])) for each in texts)
    nothing = visitor.get("/docs?q=<b>zebra").text
    assert "0 sections with “&lt;b&gt;zebra”" in nothing
    assert "Start a server" in visitor.get("/docs?q=+").text


def test_only_pictures_are_served_from_their_folder(browser: Browser) -> None:
    visitor = browser()

    assert visitor.get("/docs/images/leaderboard-light.png").headers["content-type"] == "image/png"
    assert visitor.get("/docs/images/voc2007-ranks.svg").headers["content-type"] == "image/svg+xml"
    for absent in ("nothing.png", "..%2findex.md", "%2e%2e/index.md"):
        assert visitor.get(f"/docs/images/{absent}").status_code == 404


def test_documents_outside_the_site_are_not_served(browser: Browser) -> None:
    for absent in ("decisions/docs-site", "index", "nothing", "administer"):
        assert browser().get(f"/docs/{absent}").status_code == 404


@pytest.mark.parametrize(
    ("section", "table"), [("Classification", classification_of_2007()), ("Detection", detection_of_2007())]
)
def test_the_tables_of_voc2007_are_those_of_the_library(section: str, table: Scoreboard) -> None:
    text = (ROOT / "docs" / "voc2007.md").read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    head, _, *rows = (line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|"))
    printed = {row[-23].replace("\\", ""): [cell.strip("*") for cell in row[-22:]] for row in rows}
    expected: dict[str, list[float | None]] = {}
    for name, values in zip(table.methods, table.values, strict=True):
        known = [value for value in values if value is not None]
        summary = [mean(known), median(known)] if None not in values else [None, None]
        expected[name] = [*summary, *values]

    assert tuple(head[-20:]) == table.classes
    assert printed == {
        name: ["–" if each is None else score(each) for each in row] for name, row in expected.items()
    }
    means = [value for name in printed if (value := expected[name][0]) is not None]
    assert means == sorted(means, reverse=True)


def test_the_rank_diagram_of_voc2007_is_that_of_the_table() -> None:
    table = classification_of_2007()
    ranks = rank_methods(table)

    diagram = (IMAGES / "voc2007-ranks.svg").read_text()

    assert f"CD = {ranks.critical_difference:.2f}" in diagram
    assert [name for name in table.methods if f">{name}" not in diagram] == []


def test_the_text_on_voc2007_counts_the_methods_like_the_first_as_its_diagram_does() -> None:
    ranks = rank_methods(classification_of_2007())
    assert ranks.critical_difference is not None
    found = sorted(each.mean_rank for each in ranks.methods)
    others = sum(rank - found[0] <= ranks.critical_difference for rank in found[1:])

    said = (ROOT / "docs" / "voc2007.md").read_text()

    assert (others, "Five others cannot be distinguished from the first." in said) == (5, True)


@pytest.mark.parametrize(
    ("old", "new"), [*MOVED.items(), ("/help/scoring/voc2012", "/docs/protocols/voc2012")]
)
def test_old_addresses_redirect_to_the_documentation(browser: Browser, old: str, new: str) -> None:
    visitor = browser()
    response = visitor.get(old)

    assert (response.status_code, response.headers["location"]) == (308, new)
    assert visitor.get(urldefrag(new)[0]).status_code == 200


def test_api_examples_contain_the_address_of_this_server(browser: Browser, app: FastAPI) -> None:
    page = browser().get("/docs/api").text
    address = app.state.platform.settings.address.rstrip("/")

    assert f"export HELDOUT_URL={address} PHASE=sample/val COMPETITION=3\n" in page


@pytest.mark.parametrize("file", DOCUMENTS)
def test_links_between_documents_lead_to_existing_files_and_headings(file: str) -> None:
    """Links as they work in the repository, not on a server."""
    text = (ROOT / file).read_text()
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        path, anchor = urldefrag(link)
        if path.startswith(("http://", "https://", "/")):
            continue
        target = (ROOT / file).parent / path if path else ROOT / file
        assert target.exists(), link
        if anchor:
            assert anchor in headings(target.read_text()), link


def headings(text: str) -> set[str]:
    return {anchor_of(title.strip()) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def test_numbers_in_tables_get_a_class_for_alignment() -> None:
    page = render("# T\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n", "docs/t.md")

    assert '<td class="number">2</td>' in page.html
    assert page.html.count("tabindex") == 1


def test_images_have_their_size_so_that_a_page_does_not_move() -> None:
    images = [
        tag
        for address in FILES
        for tag in re.findall(r"<img [^>]*>", page_at(address).html)
        if "/docs/images/" in tag
    ]

    assert images
    assert [tag for tag in images if not re.search(r'width="[1-9][0-9]+" height="[1-9][0-9]+"', tag)] == []
