"""No dead end: an error page leads to what somebody may have looked for."""

import re

import pytest
from starlette.testclient import TestClient

from app.models import Edition, Method, Team
from app.platform import Platform
from app.submissions.methods import name_key
from tests.pages.conftest import Browser


@pytest.fixture(scope="module")
def edition(platform: Platform) -> str:
    """An edition with a public and a private method."""
    with platform.transaction() as session:
        edition = Edition(code="VOC2012", title="PASCAL VOC 2012", dataset="VOC2012")
        session.add(edition)
        session.flush()
        team = Team(edition_id=edition.id, name="Oak", name_key="oak")
        session.add(team)
        session.flush()
        for name, public_at in (("Net_101", edition.created_at), ("Net_102", None)):
            method = {"name": name, "name_key": name_key(name), "public_at": public_at}
            session.add(Method(edition_id=edition.id, team_id=team.id, **method))
        return edition.code


def page_of(browser: Browser, path: str) -> tuple[TestClient, str]:
    visitor = browser()
    return visitor, visitor.get(path).text


@pytest.mark.parametrize("path", ["/editions/VOC2O12", "/leaderboards/VOC2O12/test/3", "/VOC2O12"])
def test_an_address_that_leads_nowhere_leads_to_the_likely_edition(
    browser: Browser, edition: str, path: str
) -> None:
    visitor, page = page_of(browser, path)

    found = re.search('name="q"[^>]*value="([^"]+)"', page)
    assert found is not None
    assert f'href="/editions/{edition}"' in visitor.get("/find", params={"q": found[1]}).text


def test_an_error_below_a_page_leads_back_to_it(browser: Browser, edition: str) -> None:
    _, page = page_of(browser, f"/editions/{edition}/nowhere")

    assert f'href="/editions/{edition}"' in page
    assert 'href="/"' in page
    assert "give this reference" in page


def test_only_public_methods_are_found(browser: Browser, edition: str) -> None:
    found = browser().get("/api/v1/find?q=net-1").json()

    assert [each["name"] for each in found["methods"]] == ["Net_101"]


@pytest.mark.parametrize("words", ["", "%", "_", "\\", "x" * 100])
def test_signs_of_patterns_find_nothing_of_themselves(browser: Browser, edition: str, words: str) -> None:
    assert browser().get("/api/v1/find", params={"q": words}).json()["methods"] == []
