"""Markdown of people: what it may show, and that hostile texts are shown as text or not at all."""

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.markdown import ATTRIBUTES, LONGEST, TAGS, markdown


class Elements(HTMLParser):
    """The elements of some HTML with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def harmful(html: str, challenge: str) -> list[str]:
    """What a browser would run, load from elsewhere, or follow without being told not to."""
    found = []
    for tag, attributes in Elements(html).found:
        allowed = ATTRIBUTES.get(tag, set()) | {"rel"}
        found += [f"<{tag}>"] if tag not in TAGS else []
        found += [f"{tag} {name}" for name in attributes if name not in allowed]
        href, source = attributes.get("href") or "", attributes.get("src")
        if re.match(r"(?i)\s*(?!https?:)[a-z][a-z0-9+.-]*:", href):
            found.append(href)
        if tag == "a" and attributes.get("rel") != "nofollow noopener noreferrer":
            found.append("a without rel")
        if source and not source.startswith((f"/pictures/{challenge}/", f"/challenges/{challenge}/")):
            found.append(source)
    return found


def test_a_text_becomes_headings_lists_tables_links_and_pictures_of_the_challenge() -> None:
    text = (
        "# The task\n\nFind **objects**.\n\n### Data\n\n- train\n- val\n\n| set | images |\n|---|--:|\n| val | 5 |\n\n"
        '[Paper](https://example.org/a) ![A scene](/pictures/oak/val/7/picture.jpg?v=1 "x")\n'
    )

    html = markdown(text, "oak")

    assert "<h2>The task</h2>" in html
    assert "<h3>Data</h3>" in html
    assert "<strong>objects</strong>" in html
    assert '<th scope="col">set</th>' in html
    assert 'tabindex="0"' in html
    assert '<a href="https://example.org/a" rel="nofollow noopener noreferrer">Paper</a>' in html
    assert '<img src="/pictures/oak/val/7/picture.jpg?v=1" alt="A scene" loading="lazy">' in html
    assert "style" not in html


def test_headings_skip_no_level_wherever_they_begin() -> None:
    html = markdown("#### Deep\n\n# Top\n\n###### Deepest", heading=3)

    assert re.findall(r"<h(\d)>", html) == ["3", "3", "4"]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<iframe src='https://evil.example'></iframe>",
        "<style>*{display:none}</style>",
        "<a href='javascript:alert(1)'>x</a>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#x6a;avascript:alert(1))",
        "[x](<java&Tab;script:alert(1)>)",
        "[x](vbscript:x)",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](file:///etc/passwd)",
        "<javascript:alert(1)>",
        "<ash@example.org>",
        "[x]: javascript:alert(1)\n\n[x]",
        '[x](https://example.org "\\" onmouseover=alert(1) x=\\"")',
        "![x](https://evil.example/pixel.png)",
        "![x](//evil.example/pixel.png)",
        "![x](/\\evil.example/pixel.png)",
        "![x](data:image/svg+xml;base64,PHN2Zz4=)",
        "![x](/pictures/elm/val/7/picture.jpg)",
        "![x](/challenges/oak/../../account)",
        "![x](/challenges/oak/%2e%2e/%2e%2e/account)",
        "![x](/challenges/oak/%252e%252e/x)",
        '![x" onerror="alert(1)](/pictures/oak/val/7/picture.jpg)',
        '![x](/pictures/oak/"onerror="alert(1))',
        "```<script>\nalert(1)\n```",
        "`<script>`",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "[![x](https://evil.example/a.png)](javascript:alert(1))",
    ],
)
def test_hostile_texts_do_nothing(text: str) -> None:
    assert harmful(markdown(text, "oak"), "oak") == []


def test_an_image_from_elsewhere_leaves_its_text() -> None:
    html = markdown("Before ![a <b> scene](https://evil.example/x.png) after", "oak")

    assert html == "<p>Before a &lt;b&gt; scene after</p>\n"
    assert "<img" not in markdown("![x](/pictures/oak/val/7/picture.jpg)")


def test_raw_html_is_shown_as_text() -> None:
    assert "&lt;b&gt;" in markdown("<b>bold</b>")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "part",
    [
        ">",
        "[",
        "![",
        "*a **b ",
        "- ",
        "`",
        "<",
        "&",
        "|a",
        "[a](",
        "(",
        "_",
        "~~",
        "\\",
        "a" * 80,
        "é\u202e",
        "\0",
    ],
)
def test_huge_nesting_and_long_lines_are_rendered_soon(part: str) -> None:
    started = time.process_time()

    html = markdown((part * LONGEST)[:LONGEST], "oak")

    assert time.process_time() - started < 10
    assert harmful(html, "oak") == []


@pytest.mark.sampled
def test_a_wide_table_and_deep_lists_stay_small() -> None:
    table = "|a" * 2500 + "|\n" + "|-" * 2500 + "|\n" + "|\n" * 5000
    nested = "\n".join("  " * depth + "- x" for depth in range(200))

    assert len(markdown(table)) < 5_000_000
    assert markdown(nested).count("<ul>") <= 20


@given(st.text(alphabet=st.sampled_from("[]()<>!\"'`*_#|-:/\\&;= \n\tabjavscript:xonerror"), max_size=200))
def test_no_text_at_all_is_harmful(text: str) -> None:
    assert harmful(markdown(text, "oak"), "oak") == []
