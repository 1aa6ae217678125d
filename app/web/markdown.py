"""Markdown that people write, as HTML that is safe to show: no raw HTML, no foreign images, no scripts in links."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

LONGEST: Final = 20_000  # characters of a text; the worst of this length takes most of a second, so changes and previews are limited by person
LINKS: Final = frozenset({"http", "https"})
TAGS: Final = frozenset(
    {
        "a",
        "blockquote",
        "br",
        "code",
        "del",
        "div",
        "em",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "img",
        "li",
        "ol",
        "p",
    }
    | {"pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
)
ATTRIBUTES: Final = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "loading", "width", "height"},
    "ol": {"start"},
    "th": {"scope"},
    "div": {"class", "role", "tabindex", "aria-label"},
}
_SIZE: Final = re.compile(
    r"-([1-9]\d{0,3})x([1-9]\d{0,3})\.jpg$", re.ASCII
)  # of an image that was sent for texts
_IMAGES: Final = "images"  # the key of the environment that says where images may come from


def is_own_image(source: str, challenge: str | None) -> bool:
    """Whether the source of an image is a path to a challenge's own files or pictures on this server.

    >>> is_own_image("/pictures/VOC2007/val/000005/picture.jpg", "VOC2007")
    True
    >>> is_own_image("https://example.org/pictures/VOC2007/x.jpg", "VOC2007"), is_own_image("//example.org/x", "VOC2007")
    (False, False)
    >>> is_own_image("/challenges/VOC2007/../../account", "VOC2007"), is_own_image("/pictures/other/x.jpg", "VOC2007")
    (False, False)
    """
    if challenge is None:
        return False
    path = unquote(source).partition("?")[0]
    is_plain = "\\" not in path and path.isprintable() and not {"..", "."} & set(path.split("/"))
    return is_plain and path.startswith((f"/pictures/{challenge}/", f"/challenges/{challenge}/"))


@lru_cache(maxsize=128)
def markdown(text: str, challenge: str | None = None, heading: int = 2) -> Markup:
    """Render Markdown as HTML.

    challenge: images may come from this challenge alone, None for no images; heading: the level of its topmost headings,
    2 to 6. Levels are renumbered so that none is skipped.
    """
    tokens = _parser.parse(text[:LONGEST])
    _renumber(tokens, heading)
    html = _parser.renderer.render(tokens, _parser.options, {_IMAGES: challenge})
    return Markup(_sanitised(html, challenge))  # noqa: S704 - sanitised


def foreign_images(texts: Iterable[str], challenge: str | None = None) -> tuple[str, ...]:
    """Return the sources of the images in these texts that are not shown, because they are not the challenge's own.

    >>> foreign_images(["![Logo](https://example.org/logo.png) ![Own](/pictures/a/x.jpg)"], "a")
    ('https://example.org/logo.png',)
    """
    parsed = (token for text in texts for token in _parser.parse(text[:LONGEST]))
    tokens = (child for token in parsed for child in token.children or ())
    sources = (str(child.attrGet("src") or "") for child in tokens if child.type == "image")
    return tuple(dict.fromkeys(each for each in sources if not is_own_image(each, challenge)))


def _sanitised(html: str, challenge: str | None) -> str:
    """Remove everything that the renderer should not have written: the second of two independent checks."""

    def filtered(tag: str, name: str, value: str) -> str | None:
        return None if (tag, name) == ("img", "src") and not is_own_image(value, challenge) else value

    clean = nh3.clean(
        html,
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        attribute_filter=filtered,
        url_schemes=set(LINKS),
        link_rel="nofollow noopener noreferrer",
    )
    return clean.replace("'", "&#39;")  # as in the rest of a page; its attributes stand in double quotes


def _renumber(tokens: Sequence[Token], heading: int) -> None:
    """Give headings consecutive levels, beginning with `heading`."""
    used = sorted({token.tag for token in tokens if token.type == "heading_open"})
    last = heading - 1
    for token in tokens:
        if token.type == "heading_open":
            last = min(heading + used.index(token.tag), last + 1, 6)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{last}"


def _image(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Mapping[str, Any]
) -> str:
    """Show the text of an image that is not the challenge's own in its place."""
    token = tokens[index]
    text = renderer.renderInlineAsText(token.children or [], options, dict(env))
    if not is_own_image(str(token.attrGet("src") or ""), env[_IMAGES]):
        return str(escape(text))
    source = quote(str(token.attrGet("src")), safe="/?=&%")
    size = _SIZE.search(source)
    space = f' width="{size[1]}" height="{size[2]}"' if size else ""  # so that nothing moves when it arrives
    return f'<img src="{escape(source)}" alt="{escape(text)}"{space} loading="lazy">'


def _table_open(*_: Any) -> str:
    return '<div class="scroll" role="region" tabindex="0" aria-label="Table, scrolls sideways"><table>\n'


def _table_close(*_: Any) -> str:
    return "</table></div>\n"


def _th_open(*_: Any) -> str:
    return '<th scope="col">'


def _made() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    rules = {"image": _image, "table_open": _table_open, "table_close": _table_close, "th_open": _th_open}
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    return parser


_parser: Final = _made()
