"""Forwarded headers count only from trusted proxies."""

from dataclasses import replace

import pytest
from fastapi import Request
from starlette.testclient import TestClient

from app.main import create_app
from app.platform import Platform

FORWARDED = {
    "X-Forwarded-For": "203.0.113.7",
    "X-Forwarded-Proto": "https",
    "Host": "voc.example",
    "Accept": "text/html",
}
PERSON = {"name": "Yew", "password": "a long enough password"}


def client(platform: Platform, proxies: str, peer: str) -> TestClient:
    settings = platform.settings.model_copy(
        update={"trusted_proxies": proxies, "public_url": "https://voc.example"}
    )
    app = create_app(replace(platform, settings=settings))

    @app.get("/seen")
    def seen(request: Request) -> dict[str, str]:
        return {"url": str(request.url), "client": request.client.host if request.client else ""}

    return TestClient(app, headers=FORWARDED, follow_redirects=False, client=(peer, 4711))


@pytest.mark.parametrize(
    ("proxies", "peer"), [("", "127.0.0.1"), ("10.0.0.2", "127.0.0.1"), ("10.0.0.2", "10.0.0.3")]
)
def test_forwarded_headers_from_untrusted_peers_are_ignored(
    platform: Platform, proxies: str, peer: str
) -> None:
    visitor = client(platform, proxies, peer)

    assert visitor.get("/seen").json() == {"url": "http://voc.example/seen", "client": peer}
    response = visitor.post("/register", data={**PERSON, "email": f"yew{peer}{proxies}@example.org"})
    assert response.status_code == 303
    assert "Secure" not in response.headers["set-cookie"]


@pytest.mark.parametrize(
    ("proxies", "peer"), [("10.0.0.2", "10.0.0.2"), ("192.168.0.0/16, 10.0.0.2", "192.168.7.7")]
)
def test_behind_a_trusted_proxy_the_visitors_address_and_scheme_are_used(
    platform: Platform, proxies: str, peer: str
) -> None:
    visitor = client(platform, proxies, peer)

    assert visitor.get("/seen").json() == {"url": "https://voc.example/seen", "client": "203.0.113.7"}
    response = visitor.post(
        "/register",
        data={**PERSON, "email": f"box{peer}@example.org"},
        headers={"Origin": "https://voc.example"},
    )
    assert response.status_code == 303
    assert "Secure" in response.headers["set-cookie"]


def test_a_client_cannot_fake_its_address_through_a_trusted_proxy(platform: Platform) -> None:
    visitor = client(platform, "10.0.0.2", "10.0.0.2")

    seen = visitor.get("/seen", headers={"X-Forwarded-For": "127.0.0.1, 203.0.113.7, 10.0.0.2"})

    assert seen.json()["client"] == "203.0.113.7"
