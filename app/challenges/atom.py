"""Feeds in the Atom format (RFC 4287)."""

import re
from datetime import UTC, datetime
from typing import Final
from xml.etree.ElementTree import Element, SubElement, register_namespace, tostring

from app.challenges.news import Feed, FeedEntry
from app.web.markdown import markdown

MEDIA_TYPE: Final = "application/atom+xml; charset=utf-8"
ATOM: Final = "http://www.w3.org/2005/Atom"
BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"
NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
register_namespace("", ATOM)


def atom(feed: Feed, site: str, address: str, own_path: str) -> bytes:
    """Write a feed. site: the name of the site; address: its public URL; own_path: the path of the feed itself."""
    root = Element(f"{{{ATOM}}}feed", {BASE: f"{address}/"})
    _text(root, "id", f"{address}{own_path}")
    _text(root, "title", f"{feed.title}: news" if feed.title else f"{site}: news")
    _text(root, "updated", _moment(feed.updated_at))
    _link(root, "self", f"{address}{own_path}", MEDIA_TYPE.partition(";")[0])
    _link(root, "alternate", f"{address}{feed.path}", "text/html")
    author = SubElement(root, f"{{{ATOM}}}author")
    _text(author, "name", feed.title or site)
    for each in feed.entries:
        _entry(root, each, address, is_named=not feed.title)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _entry(root: Element, each: FeedEntry, address: str, *, is_named: bool) -> None:
    entry = SubElement(root, f"{{{ATOM}}}entry")
    _text(entry, "id", each.public_id.urn)
    _text(entry, "title", f"{each.challenge_title}: {each.title}" if is_named else each.title)
    _text(entry, "published", _moment(each.created_at))
    _text(entry, "updated", _moment(each.updated_at))
    _link(entry, "alternate", f"{address}/challenges/{each.challenge}/news#{each.anchor}", "text/html")
    content = "<hr>\n".join(markdown(text, each.challenge, 3) for text in each.texts)
    _text(entry, "content", content, type="html")


def _text(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, f"{{{ATOM}}}{name}", attributes).text = NOT_XML.sub("", text)


def _link(parent: Element, rel: str, address: str, media_type: str) -> None:
    SubElement(parent, f"{{{ATOM}}}link", rel=rel, href=address, type=media_type)


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
