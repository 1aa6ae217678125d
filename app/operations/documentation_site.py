"""The documentation site: the Markdown files of docs/ rendered as pages with a common navigation."""

import posixpath
import re
import shlex
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from app.boards.rows import BoardKey
from app.web.dependencies import ROOT

IMAGES: Final = ROOT / "docs" / "images"
IMAGE_SUFFIXES: Final = (".png", ".svg")
EXAMPLE: Final = ("http://127.0.0.1:8000", "sample/val", "COMPETITION=3")
"""The server, phase and competition of the examples, which a page replaces by those of its own server."""
MOST_FOUND: Final = 30  # sections


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in the navigation. file: its Markdown file, relative to the repository; None if it is a template."""

    address: str
    title: str
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Chapter:
    """A group of pages in the navigation, with a heading."""

    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page with a second-level heading that links can point to. html: with its heading."""

    anchor: str
    title: str
    html: Markup

    @property
    def body(self) -> Markup:
        """What stands below the heading."""
        return Markup(self.html.partition("</h2>")[2])  # noqa: S704 - our own files

    @property
    def rows(self) -> int:
        """The rows of its tables, without their headings."""
        return self.html.count("<tr") - self.html.count("<thead")


@dataclass(frozen=True, slots=True)
class PageBelow:
    """A page whose address is below that of another, with its sections."""

    address: str
    title: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A Markdown file, rendered as HTML. opening: its title, and what stands before the first section.

    is_folded: whether its sections are tables to look something up in, of which a link opens one.
    """

    title: str
    opening: Markup
    sections: tuple[Section, ...]
    is_folded: bool = False

    @property
    def html(self) -> Markup:
        """The whole page."""
        return Markup().join((self.opening, *(section.html for section in self.sections)))


CODES: Final = "docs/report-codes.md"
"""The page whose tables have a row with an anchor for each code that a report on an archive or a data set can have."""

NAVIGATION: Final = (
    Chapter("Documentation", (Entry("/docs", "Overview", "docs/index.md"),)),
    Chapter(
        "Take part",
        (
            Entry("/docs/take-part", "A first submission", "docs/take-part.md"),
            Entry("/docs/formats", "Formats"),
            Entry("/docs/report-codes", "Codes in reports", CODES),
            Entry("/docs/protocols", "Protocols"),
            Entry("/docs/statistics", "Statistics", "docs/statistics.md"),
            Entry("/docs/notifications", "Notifications", "docs/notifications.md"),
            Entry("/docs/voc2007", "VOC2007 as published", "docs/voc2007.md"),
        ),
    ),
    Chapter(
        "Organise a challenge",
        (
            Entry("/docs/organise", "Organise", "docs/organise.md"),
            Entry("/docs/organise/challenge", "A challenge", "docs/organise/challenge.md"),
            Entry("/docs/organise/data", "Images and annotation", "docs/organise/data.md"),
            Entry("/docs/data-sets", "Bring your data set", "docs/data-sets.md"),
            Entry("/docs/organise/rules", "Rules and disclosure", "docs/organise/rules.md"),
            Entry("/docs/organise/teams", "Teams and methods", "docs/organise/teams.md"),
            Entry("/docs/organise/scoring", "Scoring", "docs/organise/scoring.md"),
            Entry("/docs/webhooks", "Webhooks", "docs/webhooks.md"),
        ),
    ),
    Chapter(
        "Run a server",
        (
            Entry("/docs/administer/install", "Install", "docs/administer/install.md"),
            Entry("/docs/administer/settings", "Settings", "docs/administer/settings.md"),
            Entry("/docs/administer/mail", "Mail", "docs/administer/mail.md"),
            Entry("/docs/administer/login", "Login providers", "docs/administer/login.md"),
            Entry("/docs/administer/backup", "Backup", "docs/administer/backup.md"),
            Entry("/docs/administer/monitoring", "Monitoring", "docs/administer/monitoring.md"),
            Entry("/docs/administer/update", "Update", "docs/administer/update.md"),
            Entry("/docs/administer/scale", "Scale", "docs/administer/scale.md"),
            Entry("/docs/administer/costs", "Costs of a request", "docs/administer/costs.md"),
            Entry("/docs/security", "Security", "SECURITY.md"),
        ),
    ),
    Chapter(
        "Write a program",
        (
            Entry("/docs/library", "Library", "docs/library.md"),
            Entry("/docs/recipes", "Recipes", "docs/recipes.md"),
            Entry("/docs/migrating", "From other libraries", "docs/migrating.md"),
            Entry("/docs/speed", "Speed of the library", "docs/speed.md"),
            Entry("/docs/api", "API by example", "docs/api.md"),
            Entry("/api/docs", "API reference"),
            Entry("/problems", "Problem codes"),
            Entry("/docs/components", "Components of pages"),
        ),
    ),
)
FILES: Final[Mapping[str, str]] = {
    entry.address: entry.file for chapter in NAVIGATION for entry in chapter.entries if entry.file
}
SPLIT: Final = frozenset({"/docs/organise"})
"""Pages that are continued on those below them, and whose anchors of that time still work."""
ADDRESSES: Final[Mapping[str, str]] = {file: address for address, file in FILES.items()}


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A row of the table that shows what tables look like."""

    method: str
    team: str
    mean: float
    low: float
    high: float


EXAMPLE_ROWS: Final = (
    ExampleRow("Jitter-S", "Baselines", 0.836, 0.79, 0.88),
    ExampleRow("Jitter-M", "Baselines", 0.673, 0.62, 0.72),
)


@cache
def page_at(address: str) -> Page:
    """Return the page of a Markdown file. address: a key of `FILES`."""
    file = FILES[address]
    return render(ROOT.joinpath(file).read_text(encoding="utf-8"), file)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The pages before and after one in the order of the navigation."""

    before: Entry | None = None
    after: Entry | None = None


def neighbours(address: str) -> Neighbours:
    """Return the pages beside one; none for what is not in the navigation, and for its first page, which leads to all."""
    entries = [entry for chapter in NAVIGATION[1:] for entry in chapter.entries]
    place = next((place for place, entry in enumerate(entries) if entry.address == address), None)
    if place is None:
        return Neighbours()
    return Neighbours(
        entries[place - 1] if place else None, entries[place + 1] if place + 1 < len(entries) else None
    )


@cache
def pages_below(address: str) -> tuple[PageBelow, ...]:
    """Return the pages below an address. The page there lists their sections under the anchors that they had on it."""
    if address not in SPLIT:
        return ()
    entries = (entry for chapter in NAVIGATION for entry in chapter.entries)
    below = (entry for entry in entries if entry.address.startswith(f"{address}/"))
    return tuple(PageBelow(entry.address, entry.title, page_at(entry.address).sections) for entry in below)


@cache
def image_names() -> frozenset[str]:
    """Return the file names of the images in the documentation."""
    return frozenset(file.name for file in IMAGES.iterdir() if file.suffix in IMAGE_SUFFIXES)


def with_examples_of(page: Page, server: str, board: BoardKey | None) -> Page:
    """Adapt the examples of a page to this server and board; without a board, they use the sample challenge."""
    board = board or BoardKey("sample", "val", 3)
    phase = f"{quote(board.challenge)}/{quote(board.image_set)}"
    ours = (shlex.quote(server.rstrip("/")), phase, f"COMPETITION={board.competition}")
    return replace(
        page, sections=tuple(replace(each, html=_adapted(each.html, ours)) for each in page.sections)
    )


def _adapted(html: Markup, ours: Sequence[str]) -> Markup:
    for example, own in zip(EXAMPLE, ours, strict=True):
        html = html.replace(example, own)
    return html


@dataclass(frozen=True, slots=True)
class Passage:
    """A section that has the words of a search. address: with its anchor; text: what stands around them."""

    address: str
    page: str
    title: str
    text: str


def find(words: str) -> tuple[Passage, ...]:
    """Return the sections that have all of the words, first those that have them in their titles."""
    sought = words.casefold().split()
    if not sought:
        return ()
    found = [
        (not all(word in f"{each.page} {each.title}".casefold() for word in sought), each)
        for each in _passages()
        if all(word in f"{each.page} {each.title} {each.text}".casefold() for word in sought)
    ]
    found.sort(key=lambda pair: pair[0])
    return tuple(replace(each, text=_around(each.text, sought[0])) for _, each in found[:MOST_FOUND])


@cache
def _passages() -> tuple[Passage, ...]:
    """Every section of the documentation as plain text; of pages that are no Markdown, their titles."""
    found: list[Passage] = []
    for entry in (entry for chapter in NAVIGATION for entry in chapter.entries):
        page = page_at(entry.address) if entry.file else Page(entry.title, Markup(), ())
        found.append(Passage(entry.address, "", page.title, _plain(page.opening)))
        found += [
            Passage(f"{entry.address}#{each.anchor}", page.title, each.title, _plain(each.html))
            for each in page.sections
        ]
    return tuple(found)


def _plain(html: Markup) -> str:
    """The text after the heading."""
    return html.partition("</h")[2].partition(">")[2].striptags()


def _around(text: str, word: str) -> str:
    """Cut whole words around the first place of a word."""
    place = max(text.casefold().find(word), 0)
    start = text.rfind(" ", 0, max(place - 60, 0)) + 1
    end = text.find(" ", place + 140)
    return ("… " if start else "") + text[start : end if end > 0 else None] + ("" if end < 0 else " …")


def render(text: str, file: str) -> Page:
    """Render a Markdown text as a page.

    file: the path of the text in the repository, from which relative links are resolved to addresses of the site.
    """
    tokens = _PARSER.parse(text)
    anchors = dict(_add_anchors(tokens))
    _translate_links(tokens, file)
    if file == CODES:
        _add_anchors_of_codes(tokens)
    title = next(text for level, text in _headings(tokens) if level == "h1")
    framed = [*_with_framed_tables(tokens)]
    starts = [
        place for place, token in enumerate(framed) if token.type == "heading_open" and token.tag == "h2"
    ]
    opening, *parts = (
        Markup(_PARSER.renderer.render(framed[start:end], _PARSER.options, {}))  # noqa: S704 - our own files
        for start, end in pairwise((0, *starts, len(framed)))
    )
    sections = (
        Section(anchor, title, html) for (anchor, title), html in zip(anchors.items(), parts, strict=True)
    )
    return Page(title, opening, tuple(sections), is_folded=file == CODES)


def address_of_link(link: str, file: str) -> str:
    """Convert a link in a Markdown file to an address of the site; links to other files stay unchanged.

    >>> address_of_link("../organise/rules.md#terms", "docs/administer/install.md")
    '/docs/organise/rules#terms'
    >>> address_of_link("images/leaderboard-light.png", "docs/index.md"), address_of_link("/docs/formats", "docs/index.md")
    ('/docs/images/leaderboard-light.png', '/docs/formats')
    """
    path, hash_sign, anchor = link.partition("#")
    if not path or path.startswith("/") or "://" in path:
        return link
    target = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
    return (
        ADDRESSES.get(target, f"/{target}" if target.endswith(IMAGE_SUFFIXES) else link) + hash_sign + anchor
    )


def anchor_of(title: str) -> str:
    """Return the anchor of a heading, formed as on code hosting sites, so that links work on both.

    >>> anchor_of("Log in with `GitHub`, or not")
    'log-in-with-github-or-not'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _headings(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yield the tag and the text of each heading."""
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open":
            yield opening.tag, "".join(child.content for child in content.children or ())


def _add_anchors(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Add an anchor to each heading except the title; yield those of the second level with their titles."""
    headings = (token for token in tokens if token.type == "heading_open")
    for opening, (level, title) in zip(headings, _headings(tokens), strict=True):
        if level != "h1":
            opening.attrSet("id", anchor_of(title))
        if level == "h2":
            yield anchor_of(title), title


def _add_anchors_of_codes(tokens: Sequence[Token]) -> None:
    """Add an anchor to each row of a table that begins with a code."""
    for row, cell in zip(tokens, tokens[2:], strict=False):
        if row.type == "tr_open" and cell.children and cell.children[0].type == "code_inline":
            row.attrSet("id", cell.children[0].content)


def _translate_links(tokens: Sequence[Token], file: str) -> None:
    for token in tokens:
        for child in token.children or ():
            for name in ("href", "src"):
                link = child.attrGet(name)
                if isinstance(link, str):
                    address = address_of_link(link, file)
                    child.attrSet(name, address)
                    if name == "src" and posixpath.basename(address) in image_names():
                        _reserve_space(child, IMAGES / posixpath.basename(address))
                    if "://" in link:
                        child.attrSet("rel", "nofollow noopener noreferrer")


def _reserve_space(image: Token, file: Path) -> None:
    """Give an image its width and height, so that the page does not move when it arrives."""
    if file.suffix == ".svg":
        sizes = re.findall(r'(?:width|height)="([\d.]+)"', file.read_text(encoding="utf-8"))
        width, height = (round(float(size)) for size in sizes[:2])
    else:
        with file.open("rb") as png:
            # every PNG begins with a header that has its size
            width, height = struct.unpack(">II", png.read(24)[16:])
    image.attrSet("width", str(width))
    image.attrSet("height", str(height))


def _with_framed_tables(tokens: Sequence[Token]) -> Iterator[Token]:
    """Make wide tables scrollable, name tables after their section, and align numbers with a CSS class.

    The content security policy forbids style attributes. Empty header cells become data cells, for screen readers.
    """
    section, seen = "", Counter[str]()
    for place, token in enumerate(tokens):
        if token.type == "inline" and tokens[place - 1].type == "heading_open":
            section = token.content.replace("`", "")
        if token.type in {"th_open", "td_open"} and "right" in str(token.attrs.pop("style", "")):
            token.attrSet("class", "number")
        if token.type == "th_open":
            token.attrSet("scope", "col")
        if token.tag == "th" and not tokens[place + token.nesting].content:
            token.tag = "td"
            token.attrs.pop("scope", None)
        if token.type == "table_open":
            seen[section] += 1
            name = escape(section if seen[section] == 1 else f"{section}, {seen[section]}")
            yield _html(f'<div class="scroll" role="region" aria-label="{name}" tabindex="0">')
            yield token
            yield _html(f'<caption class="hidden">{name}</caption>')
        elif token.type == "table_close":
            yield token
            yield _html("</div>")
        else:
            yield token


def _html(text: str) -> Token:
    return Token("html_block", "", 0, content=text)


def _render_code(
    _renderer: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, _environment: Any
) -> str:
    """Render a block of code; page.js adds a copy button."""
    return f'<pre data-copy><code tabindex="0">{escape(tokens[place].content)}</code></pre>\n'


_PARSER: Final = MarkdownIt("commonmark").enable("table")
_PARSER.add_render_rule("fence", _render_code)
