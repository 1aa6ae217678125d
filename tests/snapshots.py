"""Saves every page and JSON answer that each role meets on a running sample installation, to compare two versions.

    HELDOUT_LIMIT_VIEW=100000/minute make run > run.log
    python -m tests.snapshots run.log before/
    diff -r before/ after/

What differs each time (times, tokens, references, receipts) is replaced by a word.
"""

import argparse
import re
import time
from collections import Counter, deque
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx2
import pyotp

ROLES = ("visitor", "participant", "organiser", "admin")
SEEDS = (
    "/",
    "/find?q=a",
    "/account",
    "/teams",
    "/submissions",
    "/uploads",
    "/organise",
    "/admin",
    "/api/docs",
    "/docs",
    "/problems",
)
PASSWORD = "correct horse battery staple"
VARIANTS = 2  # pages that are saved of each kind: the same path but for numbers and names
LINK = re.compile(r'(?:href|src)="([^"#]+)')
SKIPPED = ("/static/", "/account/data.json", "/logout", "/role-links/", "/metrics")
CHANGING = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "HEX"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00| UTC)?"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d|\b[A-Z][a-z]{2} \d{1,2} [A-Z][a-z]{2} \d{4}( \d\d:\d\d)?"), "DAY"),
    (re.compile(r"\d{8}T\d{6}Z"), "TIME"),
    (re.compile(r'( x[12]?=)"[\d.]+%"'), r'\1"X"'),  # of marks on an axis of time
    (re.compile(r"\b\d+ (seconds?|minutes?|hours?|B|KiB|MiB|GiB|ms)\b"), r"SOME \1"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"[\w-]+-\d{9,}@example\.org"), "EMAIL"),
    (re.compile(r"hld_\w+|[A-Za-z0-9_-]{32,}"), "TOKEN"),
)


def main() -> None:
    """Walk as every role and save what is met."""
    parser = argparse.ArgumentParser(prog="tests.snapshots", description=__doc__)
    parser.add_argument("log", type=Path, help="what `make run` printed")
    parser.add_argument("folder", type=Path, help="where the answers are saved")
    options = parser.parse_args()
    printed = options.log.read_text()
    address = re.search(r"pages\s+(http://\S+?)/\s", printed)
    links = dict(re.findall(r"(organiser|set up)\s+http://[^/]+(/(?:role-links/|setup\?)\S+)", printed))
    if address is None or len(links) < 2:
        parser.error("the log has no address, or the links in it are missing")
    for role in ROLES:
        with httpx2.Client(base_url=address[1], timeout=60, headers={"Accept": "text/html,*/*"}) as client:
            if role != "visitor":
                _register(client, role, links.get("set up" if role == "admin" else role))
            count = _walk(client, options.folder / role)
        print(f"{role}: {count} answers")  # noqa: T201


def _register(client: httpx2.Client, role: str, link: str | None) -> None:
    email = f"{role}-{time.time_ns()}@example.org"
    _good(client.post("/register", data={"email": email, "name": role.title(), "password": PASSWORD}))
    if link and role == "organiser":
        _good(client.post(link))
    if link and role == "admin":
        _good(client.get(link))
        _good(client.post("/setup/promote"))
        page = _good(client.post("/account/second-factor/start", follow_redirects=True)).text
        secret = re.search(r"<code>([A-Z2-7 ]{16,})</code>", page)
        if secret is None:
            raise ValueError("the page of the second factor shows no secret")
        code = pyotp.TOTP(secret[1].replace(" ", "")).now()
        _good(client.post("/account/second-factor/confirm", data={"code": code}))


def _good(response: httpx2.Response) -> httpx2.Response:
    if response.status_code >= 400:
        raise ValueError(f"{response.request.url} answered {response.status_code}: {response.text[:500]}")
    return response


def _walk(client: httpx2.Client, folder: Path) -> int:
    waiting, known, kinds = deque(SEEDS), set(SEEDS), Counter[str]()
    saved = 0
    while waiting:
        path = waiting.popleft()
        kind = re.sub(r"/[^/]*\d[^/]*", "/N", urlsplit(path).path) + "?" * ("?" in path)
        kinds[kind] += 1
        if kinds[kind] > VARIANTS:
            continue
        response = client.get(path)
        _save(folder, path, response)
        saved += 1
        if "html" in response.headers.get("content-type", ""):
            for link in LINK.findall(response.text):
                found = urlsplit(urljoin(str(response.request.url), link.replace("&amp;", "&")))
                target = found.path + ("?" + found.query if found.query else "")
                if found.netloc == urlsplit(str(client.base_url)).netloc and target not in known:
                    known.add(target)
                    if not target.startswith(SKIPPED):
                        waiting.append(target)
    return saved


def _save(folder: Path, path: str, response: httpx2.Response) -> None:
    kind = response.headers.get("content-type", "none")
    text = (
        response.text
        if kind.startswith(("text/", "application/json", "application/problem", "image/svg"))
        else ""
    )
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
        path = pattern.sub(word, path)
    file = folder / (re.sub(r"[^\w.-]+", "_", path).strip("_")[:150] or "home")
    file.parent.mkdir(parents=True, exist_ok=True)
    location = response.headers.get("location", "")
    file.write_text(f"{response.status_code} {kind} {urlsplit(location).path}\n{text}".replace("><", ">\n<"))


if __name__ == "__main__":
    main()
