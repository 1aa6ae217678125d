"""Headers of every response, and handling of malformed requests."""

import json
import runpy
from pathlib import Path

import pytest

from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered

SHARED = Path(__file__).parents[3] / "shared"


@pytest.mark.parametrize(
    "path",
    [
        "/static/style.css",
        "/static/nothing",
        "/health",
        "/problems/quota",
        "/",
        "/login",
        "/nothing/here",
        "/api/v1/challenges",
        "/api/v1/nothing",
        "/leaderboards/a/b/3",
    ],
)
def test_every_response_has_security_headers_and_a_reference(browser: Browser, path: str) -> None:
    response = browser().get(path)

    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "unsafe" not in response.headers["content-security-policy"]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert len(response.headers["x-request-id"]) == 12


def test_an_error_page_shows_the_reference_and_an_api_error_is_json(browser: Browser) -> None:
    page, program = browser().get("/nothing"), browser().get("/api/v1/nothing")

    assert page.status_code == program.status_code == 404
    assert page.headers["x-request-id"] in page.text
    assert program.json()["reference"] == program.headers["x-request-id"]
    assert program.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("address", "location"),
    [
        ("/login/", "/login"),
        ("/login/?next=/account", "/login?next=/account"),
        ("/api/v1/challenges/", "/api/v1/challenges"),
        ("/submissions/7/", "/submissions/7"),
        ("/challenges/%0d%0aX:y/", "/challenges/X%3Ay"),
        ("//login/", None),
        ("//evil.example/", None),
        ("/nothing/", None),
    ],
)
def test_a_trailing_slash_redirects_without_it_and_never_to_a_forged_host(
    browser: Browser, address: str, location: str | None
) -> None:
    visitor = browser()
    visitor.headers["Host"] = "evil.example"

    response = visitor.get(f"http://testserver{address}")

    assert response.headers.get("location") == location
    assert response.status_code == (307 if location else 404)
    assert "evil.example" not in str(response.headers)


def test_a_form_sent_to_an_address_with_a_slash_is_redirected_unchanged(browser: Browser) -> None:
    response = browser().post("/login/", data={"email": "nobody@example.org"})

    assert (response.status_code, response.headers["location"]) == (307, "/login")


def test_a_malformed_origin_counts_as_another_site(browser: Browser) -> None:
    response = browser().post("/login", headers={"Origin": "http://["})

    assert response.status_code == 403


def test_a_form_with_a_malformed_referer_leads_to_the_login(browser: Browser) -> None:
    response = browser().post("/account/tokens", data={"name": "laptop"}, headers={"Referer": "http://["})

    assert response.status_code == 401
    assert 'name="next" value="/account/tokens"' in response.text


def test_a_large_body_is_refused_unless_it_is_an_archive(browser: Browser) -> None:
    response = browser().post("/login", data={"email": "a@b.cd", "password": "x" * (2 << 20)})

    assert response.status_code == 413
    assert "1 MiB" in response.text


def test_large_bodies_without_a_login_are_refused_everywhere(browser: Browser) -> None:
    much = b"x" * ((1 << 20) + 1)

    archive = browser().put("/api/v1/challenges/a/b/uploads?filename=x.zip", content=much)
    other = browser().post("/api/v1/submissions", content=much)

    assert archive.status_code == 401
    assert "Log in before you send an archive" in archive.json()["detail"]
    assert other.status_code == 413


@pytest.mark.parametrize("length", ["-1", "1e9", "", "٣"])
def test_a_content_length_that_is_not_a_number_is_refused(browser: Browser, length: str) -> None:
    response = browser().request("POST", "/login", headers={b"Content-Length": length.encode()})

    assert response.status_code in (400, 422)


def test_deeply_nested_json_is_a_client_error(browser: Browser) -> None:
    oak = registered(browser(), "oak@example.org")

    response = oak.post(
        "/api/v1/submissions", content="[" * 100_000, headers={"Content-Type": "application/json"}
    )

    assert 400 <= response.status_code < 500


@pytest.mark.sampled
@pytest.mark.shared
@pytest.mark.skipif(not (SHARED / "attacks").exists(), reason="../shared/attacks is not there")
def test_no_hostile_string_in_any_field_causes_a_server_error(browser: Browser) -> None:
    hostile = runpy.run_path(str(SHARED / "attacks" / "make_attacks.py"))["strings"]()
    pine = registered(browser(), "pine@example.org")

    assert len(hostile) > 50
    for one in hostile:
        value = one["value"] if isinstance(one["value"], str) else json.dumps(one["value"])
        text = value.encode("utf-8", "replace").decode()
        responses = [
            pine.post("/register", data={"email": text, "name": text, "password": text}),
            pine.post("/account/tokens", data={"name": text}),
            pine.get("/api/v1/submissions/" + json.dumps(text)[1:-1].replace("/", "")),
            pine.post(
                "/api/v1/submissions",
                content=json.dumps({"upload": text, "method": {"name": one["value"]}}),
                headers={"Content-Type": "application/json"},
            ),
            pine.get("/leaderboards/sample/test/3", params={"sort": text, "order": text}),
            pine.post("/login", data={"email": text, "password": text, "next": text}),
        ]
        assert all(response.status_code < 500 for response in responses), one
        location = responses[-1].headers.get("location", "/")
        assert location.startswith("/")
        assert not location.startswith("//")
