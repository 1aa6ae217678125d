"""Fixtures: a site, and a headless Chromium that visits it."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from app.web.dependencies import SESSION_COOKIE
from tests.browser.sites import Site, running_site
from tests.browser.watching import Watch
from tests.system.servers import OwnServers

Visit = Callable[..., Page]

PATIENCE = 60_000  # milliseconds; a page usually takes less than one thousand
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="package")  # Playwright keeps an event loop running, which would disturb other tests
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = launched(playwright)
        if browser is None:
            pytest.skip("there is no Chromium: apt-get install chromium")
        yield browser
        browser.close()


def launched(playwright: Playwright) -> Browser | None:
    """The browser of this machine, if it has one."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    return playwright.chromium.launch(executable_path=program, args=ARGUMENTS) if program else None


@pytest.fixture(scope="session")
def running(own_servers: OwnServers) -> Iterator[Site]:
    """One site for all tests; each uses its own person or its own method."""
    with running_site(own_servers) as site:
        yield site


@pytest.fixture
def site(chromium: Browser, running: Site) -> Site:
    """The site, if there is a browser to visit it with."""
    return running


@pytest.fixture
def watch(site: Site) -> Iterator[Watch]:
    """Watches every page of the test and fails the test if one does what no page may do."""
    watch = Watch(site.address)
    yield watch
    assert watch.complaints() == []


@pytest.fixture
def visit(chromium: Browser, site: Site, watch: Watch) -> Iterator[Visit]:
    """Opens a window; `who` is "participant", "organiser" or nobody."""
    windows: list[BrowserContext] = []

    def open_window(who: str | None = None, **options: Any) -> Page:
        context = chromium.new_context(base_url=site.address, **options)
        windows.append(context)
        context.set_default_timeout(PATIENCE)
        watch.over(context)
        if who is not None:
            cookie: Any = {"name": SESSION_COOKIE, "value": site.session(who), "url": site.address}
            context.add_cookies([cookie])
        return context.new_page()

    yield open_window
    for window in windows:
        window.close()
