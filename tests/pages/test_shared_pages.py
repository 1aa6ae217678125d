"""Home and the pages of challenges are drawn once for all readers, and nobody's name gets into another's."""

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from app.core import caching
from app.models import Challenge
from app.platform import Platform
from app.web.dependencies import ACCOUNT
from tests.pages.statements import asked
from tests.pages.test_accounts import registered
from tests.system.rows import Rows, made


@pytest.fixture(scope="module")
def rows(platform: Platform) -> Rows:
    return made(platform)


@pytest.fixture
def pages(platform: Platform, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The addresses of both, in a cache that forgets nothing while a slow machine looks."""
    monkeypatch.setattr(caching, "FRESH", 60.0)
    platform.cache.expire_versions()
    with platform.transaction() as session:
        code = session.query(Challenge.code).order_by(Challenge.id.desc()).limit(1).scalar()
    return "/", f"/challenges/{code}"


def test_a_second_reader_asks_the_database_nothing(
    platform: Platform, pages: tuple[str, str], browser: Callable[[], TestClient]
) -> None:
    first = [browser().get(page) for page in pages]

    with asked(platform) as found:
        second = [browser().get(page) for page in pages]
        known = [
            browser().get(page, headers={"If-None-Match": each.headers["ETag"]})
            for page, each in zip(pages, first, strict=True)
        ]

    assert found == []
    assert [each.text for each in second] == [each.text for each in first]
    assert all(ACCOUNT not in each.text and "Log in" in each.text for each in second)
    assert [each.status_code for each in known] == [304, 304]


def test_each_reader_finds_their_own_name_and_no_other(
    pages: tuple[str, str], browser: Callable[[], TestClient]
) -> None:
    ash = registered(browser(), "shared@example.org")

    for page in pages:
        stranger, own, later = browser().get(page).text, ash.get(page).text, browser().get(page).text
        assert "Ash Grove" in own
        assert "Log in" not in own
        assert "Ash Grove" not in stranger + later
        assert ACCOUNT not in own + later


def test_a_page_that_was_just_given_to_somebody_is_refused_under_another_name_of_the_server_as_ever(
    pages: tuple[str, str], browser: Callable[[], TestClient]
) -> None:
    given = browser().get(pages[1])

    again = browser().get(pages[1])
    refused = browser().get(pages[1], headers={"Host": "elsewhere.example"})

    assert (given.status_code, again.status_code, refused.status_code) == (200, 200, 400)
    assert again.headers["Content-Security-Policy"] == given.headers["Content-Security-Policy"]
    assert again.headers["X-Request-Id"] != given.headers["X-Request-Id"]


def test_a_change_made_here_is_seen_at_once(
    platform: Platform, rows: Rows, pages: tuple[str, str], browser: Callable[[], TestClient]
) -> None:
    before = browser().get("/").text
    rows.result(mean=0.777)
    platform.cache.expire_versions()

    after = browser().get("/").text

    assert "77.7" not in before
    assert "77.7" in after


def test_a_shared_page_is_dark_for_those_alone_who_chose_it(
    pages: tuple[str, str], browser: Callable[[], TestClient]
) -> None:
    reader = browser()
    chosen = reader.post(
        "/theme",
        data={"theme": "dark"},
        headers={"Referer": "http://testserver" + pages[1]},
        follow_redirects=False,
    )

    dark, plain = [reader.get(page) for page in pages], [browser().get(page) for page in pages]
    reader.post("/theme", data={"theme": "system"})
    again = [reader.get(page) for page in pages]

    assert (chosen.status_code, chosen.headers["Location"]) == (303, pages[1])
    assert all('<html lang="en" data-theme="dark">' in each.text for each in dark)
    assert all("data-theme" not in each.text.partition(">")[0] for each in plain)
    assert [each.text for each in again] == [each.text for each in plain]
    assert all(one.headers["ETag"] != other.headers["ETag"] for one, other in zip(dark, plain, strict=True))


def test_a_theme_is_kept_after_login_and_an_unknown_one_is_refused(browser: Callable[[], TestClient]) -> None:
    ash = registered(browser(), "dark@example.org")
    ash.post("/theme", data={"theme": "light"})

    pages = [ash.get(path).text for path in ("/", "/account")]
    refused = ash.post("/theme", data={"theme": "pink"}, headers={"Accept": "text/html"})

    assert all('<html lang="en" data-theme="light">' in each for each in pages)
    assert refused.status_code == 422
