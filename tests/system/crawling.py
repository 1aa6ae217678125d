"""Read everything that a server shows to a person: all links, all GET forms, and all addresses of routes."""

import gzip
import io
import re
import tarfile
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import islice, product
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx2
from fastapi.routing import APIRoute

from app.main import API, PAGES

ROUTES = [
    route
    for router in (*API, *PAGES)
    for route in router.routes
    if isinstance(route, APIRoute) and "GET" in (route.methods or ())
]
MOST = 6  # addresses of one route that one person opens

Values = Mapping[str, tuple[str, ...]]
"""What can stand in a parameter of an address, by its name."""


class _Page(HTMLParser):
    """The addresses that a page leads to: links, images, scripts and GET forms."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.action: str | None = None
        self.name = ""
        self.fields: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.addresses += [said[name] for name in ("href", "src", "data-src", "hx-get") if name in said]
        if tag == "form":
            self.action = said.get("action", "") if said.get("method", "get").lower() == "get" else None
            self.fields = {}
        elif self.action is not None and tag in ("input", "select") and said.get("name"):
            self.name = said["name"]
            self.fields.setdefault(self.name, []).extend([said["value"]] if "value" in said else [])
        elif self.action is not None and tag == "option":
            self.fields.setdefault(self.name, []).append(said.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        """Submit a form once as it is and once with each other choice of a field."""
        if tag != "form" or self.action is None:
            return
        usual = {name: values[0] for name, values in self.fields.items() if values}
        choices = [usual, *({**usual, name: v} for name, values in self.fields.items() for v in values[1:])]
        self.addresses += [f"{self.action}?{urlencode(choice)}" for choice in choices]
        self.action = None


@dataclass
class Crawl:
    """Everything that one person has read: the content of each address."""

    http: httpx2.Client
    values: Values
    read: dict[str, httpx2.Response] = field(default_factory=dict)
    opened: Counter[str] = field(default_factory=Counter)

    def run(self, start: Iterable[str]) -> "Crawl":
        """Open these addresses, the links on their pages, and every route with known values."""
        waiting = deque([*start, *(address for route in ROUTES for address in addresses(route, self.values))])
        seen: set[str] = set()
        while waiting:
            address = waiting.popleft()
            if address in seen or self._is_enough(address):
                continue
            seen.add(address)
            response = self.http.get(
                address, headers={"Accept": self._wanted(address)}, follow_redirects=False
            )
            self.read[address] = response
            waiting.extend(self._links(address, response))
        return self

    def _wanted(self, address: str) -> str:
        return "*/*" if address.startswith("/api/") else "text/html"

    def _links(self, address: str, response: httpx2.Response) -> Iterator[str]:
        found = [response.headers["location"]] if "location" in response.headers else []
        if response.headers.get("content-type", "").startswith(("text/html", "image/svg")):
            page = _Page()
            page.feed(response.text)
            found += page.addresses
        for each in found:
            parts = urlsplit(urljoin(str(self.http.base_url.join(address)), each))
            if parts.netloc == self.http.base_url.netloc.decode() and not parts.path.startswith("/static/"):
                query = urlencode(sorted(set(parse_qsl(parts.query))))
                yield parts.path + (f"?{query}" if query else "")

    def _is_enough(self, address: str) -> bool:
        """Count addresses by route, so that not all of many similar pages are read."""
        path = urlsplit(address).path
        route = next((one.path for one in ROUTES if one.path_regex.match(path)), path)
        self.opened[route] += 1
        return self.opened[route] > MOST

    def texts(self) -> Iterator[tuple[str, str]]:
        """Each address with its headers and content; archives are unpacked."""
        for address, response in self.read.items():
            headers = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
            yield address, f"{headers}\n{unpacked(response.content)}"


def addresses(route: APIRoute, values: Values) -> Iterator[str]:
    """The addresses of a route filled with known values, values that belong together first."""
    names = re.findall(r"{(\w+)", route.path)
    for chosen in islice(product(*(values.get(name, ("1",)) for name in names)), MOST // 3):
        path = route.path.replace(":path", "")
        yield path.format(**dict(zip(names, chosen, strict=True)))


def unpacked(content: bytes) -> str:
    """A response body as text; a compressed archive is unpacked."""
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
        try:
            with tarfile.open(fileobj=io.BytesIO(content)) as tar:
                files = (tar.extractfile(each) for each in tar)
                content = b"\n".join(file.read() for file in files if file)
        except tarfile.ReadError:
            pass  # not an archive
    return content.decode("utf-8", "replace")
