"""Screenshots for the documentation: `make illustrations` takes them from the sample that `make run` serves, into `docs/images`.

`look.txt` beside them has a fingerprint of the header and the colours; a test fails when these change and the screenshots do not.
"""

import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

import httpx2
from playwright.sync_api import FloatRect, ViewportSize, sync_playwright

from tests.browser.conftest import launched
from tests.shared import ROOT

FOLDER: Final = ROOT / "docs" / "images"
LOOK: Final = FOLDER / "look.txt"  # for each picture, the fingerprint of the look that it shows
ADDRESS: Final = "http://127.0.0.1:8000"
BOARD: Final = "sample/val/3"
# each with its address and height in pixels
PAGES: Final = {
    "leaderboard": (f"/leaderboards/{BOARD}", 745),
    "figures": (f"/leaderboards/{BOARD}/figures", 1000),
    "comparison": (f"/compare/{BOARD}?{{methods}}", 1000),
}
SCHEMES: Final = ("light", "dark")
SIZE: Final = ViewportSize(width=1320, height=900)


def look() -> str:
    """The fingerprint of the header's markup and of the colours, whatever their white space."""
    header = _between(ROOT / "templates" / "base.html", '<header class="top">', "</header>")
    colours = _between(ROOT / "static" / "style.css", ":root {", "}")
    return sha256(" ".join((header + colours).split()).encode()).hexdigest()[:16]


def names() -> list[str]:
    """The file names of all pictures."""
    return [f"{page}-{scheme}.png" for page in PAGES for scheme in SCHEMES]


def shown_looks() -> dict[str, str]:
    """The fingerprint of the look that each picture shows."""
    return dict(line.split() for line in LOOK.read_text(encoding="utf-8").splitlines())


def main() -> None:
    rows = httpx2.get(f"{ADDRESS}/api/v1/leaderboards/{BOARD}").raise_for_status().json()["rows"]
    methods = "&".join(f"methods={row['method_id']}" for row in rows[:2])
    with sync_playwright() as playwright:
        browser = launched(playwright)
        if browser is None:
            sys.exit("pictures are taken with Chromium: apt-get install chromium")
        page = browser.new_page(base_url=ADDRESS, viewport=SIZE)
        for name, (path, height) in PAGES.items():
            page.goto(path.format(methods=methods), wait_until="networkidle")
            clip = FloatRect(x=0, y=0, width=SIZE["width"], height=height)
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                page.screenshot(path=FOLDER / f"{name}-{scheme}.png", full_page=True, clip=clip)
    LOOK.write_text("".join(f"{name} {look()}\n" for name in names()), encoding="utf-8")


def _between(file: Path, start: str, end: str) -> str:
    """The text of a file from the first `start` to the next `end`."""
    text = file.read_text(encoding="utf-8")
    begin = text.index(start)
    return text[begin : text.index(end, begin)]


if __name__ == "__main__":
    main()
