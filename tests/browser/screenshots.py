"""Pictures of every page: `python -m tests.browser.screenshots FOLDER`, outside the checkout, because there are more than a thousand.

Each page of `test_every_page` is taken light and dark, wide and narrow, of sites with 0, 3 and 300 rows on their boards and in their
lists, and its layout shift is reported. `--rows 3 --only /organise` takes some of them.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

import sample
from app.operations.embedded import embedded_servers
from app.operations.supervisor import interrupted_by_signals
from app.platform import platform_of
from app.web.dependencies import SESSION_COOKIE
from benchmarks.server.rows import add_scored, place_of
from tests.browser.conftest import launched
from tests.browser.looks import shifts, too_wide_by
from tests.browser.sites import Site, running_site
from tests.browser.test_every_page import ORGANISERS, PARTICIPANTS, PUBLIC
from tests.system.servers import OwnServers

WIDTHS: Final = {"wide": ViewportSize(width=1280, height=900), "narrow": ViewportSize(width=390, height=844)}
SCHEMES: Final = ("light", "dark")
READERS: Final = {"visitor": PUBLIC, "participant": PARTICIPANTS, "organiser": ORGANISERS}
ROWS: Final = (0, 3, 300)
# a picture of the whole page shows what people scroll to as well
EAGER: Final = "for (const image of document.querySelectorAll('img[loading]')) image.loading = 'eager'"
LONGEST: Final = 120_000  # milliseconds for one picture, on a machine that does other work, too


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = _options().parse_args(arguments)
    folder = Path(chosen.folder).resolve()
    with _servers() as servers, sync_playwright() as playwright:
        browser = launched(playwright)
        if browser is None:
            sys.exit("pictures are taken with Chromium: apt-get install chromium")
        for rows in chosen.rows:
            with running_site(servers, is_empty=rows == 0) as site:
                if rows > max(ROWS[:2]):
                    _add_rows(site, rows)
                for who, paths in READERS.items():
                    listed = [path for path in dict.fromkeys(paths) if chosen.only in path]
                    take(browser, site, who, listed, folder / f"{rows} rows")


def take(browser: Browser, site: Site, who: str, paths: Sequence[str], folder: Path) -> None:
    """Take the pages that this reader meets on a site, and report those whose layout moves or is too wide."""
    with _windows(browser, site, who) as windows:
        for path in paths:
            try:
                address = site.address_of(path)
            except KeyError:
                continue  # a page of a result, and there are none
            for width, page in windows.items():
                response = page.goto(address)
                found = [*shifts(page), *([f"too wide by {pixels}"] if (pixels := too_wide_by(page)) else [])]
                if (
                    response is None
                    or response.status >= 500
                    or (response.status == 404) != (path == "/nowhere")
                ):
                    found.append("not found")
                page.evaluate(EAGER)
                page.wait_for_load_state("networkidle")
                for complaint in found:
                    print(folder.name, who, width, path, complaint, flush=True)
                for scheme in SCHEMES:
                    page.emulate_media(color_scheme=scheme)
                    name = f"{who} {re.sub('[^a-z0-9]+', '-', path.lower()).strip('-') or 'home'} {width} {scheme}.png"
                    page.screenshot(path=folder / name, full_page=True, timeout=LONGEST)


def _add_rows(site: Site, count: int) -> None:
    """Let methods of other teams be on the boards of detection."""
    running = site.installation
    owner = running.settings.model_copy(update={"database_url": running.settings.migration_database_url})
    platform = platform_of(owner)
    with platform.transaction() as session:
        for image_set in ("test", "val"):
            board = site.participant.http.get(f"/api/v1/leaderboards/{sample.NAME}/{image_set}/3").json()
            place = place_of(session, sample.NAME, image_set)
            add_scored(session, place, count, classes=board["classes"], competition=3)
    platform.engine.dispose()
    running.platform.cache.expire_versions()


@contextmanager
def _windows(browser: Browser, site: Site, who: str) -> Iterator[dict[str, Page]]:
    contexts = {
        name: browser.new_context(base_url=site.address, viewport=size) for name, size in WIDTHS.items()
    }
    if who != "visitor":
        cookie: Any = {"name": SESSION_COOKIE, "value": site.session(who), "url": site.address}
        for context in contexts.values():
            context.add_cookies([cookie])
    yield {name: context.new_page() for name, context in contexts.items()}
    for context in contexts.values():
        context.close()


@contextmanager
def _servers() -> Iterator[OwnServers]:
    with interrupted_by_signals(), tempfile.TemporaryDirectory(prefix="heldout pictures ") as folder:
        data = Path(folder, "data")
        with embedded_servers(data, report=print) as urls:
            servers = OwnServers(data, urls)
            servers.spare_the_disk()
            yield servers


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", help="where the pictures are written")
    options.add_argument("--rows", type=int, nargs="+", choices=ROWS, default=ROWS)
    options.add_argument("--only", default="", help="pages whose path contains this")
    return options


if __name__ == "__main__":
    main()
