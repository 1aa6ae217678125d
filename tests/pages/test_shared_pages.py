"""Home and the pages of challenges are rendered once for all readers, without leaking anybody's name."""

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
    """The addresses of both, with a cache that does not expire during the test."""
    monkeypatch.setattr(caching, "FRESH", 60.0)
    platform.cache.expire_versions()
    with platform.transaction() as session:
        code = session.query(Challenge.code).order_by(Challenge.id.desc()).limit(1).scalar()
    return "/", f"/challenges/{code}"


def test_a_second_reader_causes_no_queries(
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


def test_each_reader_sees_only_their_own_name(
    pages: tuple[str, str], browser: Callable[[], TestClient]
) -> None:
    ash = registered(browser(), "shared@example.org")

    for page in pages:
        stranger, own, later = browser().get(page).text, ash.get(page).text, browser().get(page).text
        assert "Ash Grove" in own
        assert "Log in" not in own
        assert "Ash Grove" not in stranger + later
        assert ACCOUNT not in own + later


def test_a_cached_page_is_still_refused_under_an_unknown_host(
    pages: tuple[str, str], browser: Callable[[], TestClient]
) -> None:
    given = browser().get(pages[1])

    again = browser().get(pages[1])
    refused = browser().get(pages[1], headers={"Host": "elsewhere.example"})

    assert (given.status_code, again.status_code, refused.status_code) == (200, 200, 400)
    assert again.headers["Content-Security-Policy"] == given.headers["Content-Security-Policy"]
    assert again.headers["X-Request-Id"] != given.headers["X-Request-Id"]


def test_a_change_is_visible_as_soon_as_versions_expire(
    platform: Platform, rows: Rows, pages: tuple[str, str], browser: Callable[[], TestClient]
) -> None:
    before = browser().get("/").text
    rows.result(mean=0.777)
    platform.cache.expire_versions()

    after = browser().get("/").text

    assert "77.7" not in before
    assert "77.7" in after


def test_a_shared_page_is_dark_only_for_readers_who_chose_it(
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


def test_the_page_after_an_act_says_once_that_it_was_done(
    pages: tuple[str, str], browser: Callable[[], TestClient]
) -> None:
    ash = registered(browser(), "done@example.org")
    code = pages[1].rpartition("/")[2]

    refused = ash.post("/teams", data={"challenge": code, "name": ""})
    created = ash.post("/teams", data={"challenge": code, "name": "Oak"}, follow_redirects=False)
    ash.post(f"{created.headers['location']}/edit", data={"name": "Elm"}, follow_redirects=False)
    shared, later = (ash.get(pages[1]) for _ in range(2))
    ash.cookies.set("heldout_done", "<b>forged")
    forged = ash.get(pages[1]).text

    assert "heldout_done" not in refused.headers.get("set-cookie", "")
    assert "Name and affiliation are saved." in shared.text
    assert shared.headers["Cache-Control"] == "no-store"
    assert 'class="flash"' not in later.text + forged
    assert "forged" not in forged
