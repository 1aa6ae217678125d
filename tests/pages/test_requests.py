"""What every answer has, and what no request gets."""

import json
import runpy
from pathlib import Path

import pytest

from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered

SHARED = Path(__file__).parents[3] / "shared"


@pytest.mark.parametrize(
    "path", ["/", "/login", "/nothing/here", "/api/editions", "/api/nothing", "/leaderboards/a/b/3"]
)
def test_every_answer_is_strict_and_carries_a_reference(browser: Browser, path: str) -> None:
    answer = browser().get(path)

    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert len(answer.headers["x-request-id"]) == 12


def test_an_error_page_shows_the_reference_and_an_api_error_is_json(browser: Browser) -> None:
    page, program = browser().get("/nothing"), browser().get("/api/nothing")

    assert page.status_code == program.status_code == 404
    assert page.headers["x-request-id"] in page.text
    assert program.json()["reference"] == program.headers["x-request-id"]
    assert program.headers["content-type"] == "application/problem+json"


def test_a_large_body_is_refused_with_the_limit_where_no_archive_is_expected(browser: Browser) -> None:
    answer = browser().post("/login", data={"email": "a@b.cd", "password": "x" * (2 << 20)})

    assert answer.status_code == 413
    assert "1 MiB" in answer.text


def test_who_is_not_logged_in_may_not_send_much_anywhere(browser: Browser) -> None:
    answer = browser().put("/api/editions/a/b/uploads?filename=x.zip", content=b"x" * ((1 << 20) + 1))

    assert answer.status_code == 413


@pytest.mark.parametrize("length", ["-1", "1e9", "", "٣"])
def test_a_content_length_that_is_no_number_is_refused(browser: Browser, length: str) -> None:
    answer = browser().request("POST", "/login", headers={b"Content-Length": length.encode()})

    assert answer.status_code in (400, 422)


def test_deeply_nested_json_is_the_senders_mistake(browser: Browser) -> None:
    oak = registered(browser(), "oak@example.org")

    answer = oak.post("/api/submissions", content="[" * 100_000, headers={"Content-Type": "application/json"})

    assert 400 <= answer.status_code < 500


@pytest.mark.shared
@pytest.mark.skipif(not (SHARED / "attacks").exists(), reason="../shared/attacks is not there")
def test_no_hostile_string_in_any_field_is_our_mistake(browser: Browser) -> None:
    hostile = runpy.run_path(str(SHARED / "attacks" / "make_attacks.py"))["strings"]()
    pine = registered(browser(), "pine@example.org")

    assert len(hostile) > 50
    for one in hostile:
        value = one["value"] if isinstance(one["value"], str) else json.dumps(one["value"])
        text = value.encode("utf-8", "replace").decode()
        answers = [
            pine.post("/register", data={"email": text, "name": text, "password": text}),
            pine.post("/account/tokens", data={"name": text}),
            pine.get("/api/submissions/" + json.dumps(text)[1:-1].replace("/", "")),
            pine.post(
                "/api/submissions",
                content=json.dumps({"upload": text, "method": {"name": one["value"]}}),
                headers={"Content-Type": "application/json"},
            ),
            pine.get("/leaderboards/sample/test/3", params={"sort": text, "order": text}),
            pine.post("/login", data={"email": text, "password": text, "next": text}),
        ]
        assert all(answer.status_code < 500 for answer in answers), one
        location = answers[-1].headers.get("location", "/")
        assert location.startswith("/")
        assert not location.startswith("//")
