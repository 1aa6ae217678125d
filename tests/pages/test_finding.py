"""Error pages and search lead to what somebody may have looked for."""

import re

import pytest
from starlette.testclient import TestClient

from app.models import Challenge, Method, Team
from app.platform import Platform
from app.submissions.methods import name_key
from tests.pages.conftest import Browser


@pytest.fixture(scope="module")
def challenge(platform: Platform) -> str:
    """A challenge with a public and a private method."""
    with platform.transaction() as session:
        challenge = Challenge(code="VOC2012", title="PASCAL VOC 2012", dataset="VOC2012")
        session.add(challenge)
        session.flush()
        team = Team(challenge_id=challenge.id, name="Oak", name_key="oak")
        session.add(team)
        session.flush()
        for name, public_at in (("Net_101", challenge.created_at), ("Net_102", None)):
            method = {"name": name, "name_key": name_key(name), "public_at": public_at}
            session.add(Method(challenge_id=challenge.id, team_id=team.id, **method))
        return challenge.code


def page_of(browser: Browser, path: str) -> tuple[TestClient, str]:
    visitor = browser()
    return visitor, visitor.get(path).text


@pytest.mark.parametrize("path", ["/challenges/VOC2O12", "/leaderboards/VOC2O12/test/3", "/VOC2O12"])
def test_the_error_page_of_a_misspelt_address_leads_to_the_likely_challenge(
    browser: Browser, challenge: str, path: str
) -> None:
    visitor, page = page_of(browser, path)

    found = re.search('name="q"[^>]*value="([^"]+)"', page)
    assert found is not None
    assert f'href="/challenges/{challenge}"' in visitor.get("/find", params={"q": found[1]}).text


def test_an_error_page_links_to_the_page_above_it(browser: Browser, challenge: str) -> None:
    _, page = page_of(browser, f"/challenges/{challenge}/nowhere")

    assert f'href="/challenges/{challenge}"' in page
    assert 'href="/"' in page
    assert "give this reference" in page


def test_only_public_methods_are_found(browser: Browser, challenge: str) -> None:
    found = browser().get("/api/v1/find?q=net-1").json()

    assert [each["name"] for each in found["methods"]] == ["Net_101"]


@pytest.mark.parametrize("words", ["", "%", "_", "\\", "x" * 100])
def test_wildcards_in_a_search_match_nothing(browser: Browser, challenge: str, words: str) -> None:
    assert browser().get("/api/v1/find", params={"q": words}).json()["methods"] == []
