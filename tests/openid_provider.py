"""A small OpenID Connect provider on this machine: it knows one person, asks nothing, and can be told to err."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey

from tests.patience import HANGS

CLIENT, SECRET = "heldout", "client secret of sufficient length"


def challenge_of(verifier: str) -> str:
    """What PKCE shows of a verifier beforehand (RFC 7636)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass
class Person:
    """Whom the provider knows."""

    subject: str = "person-1"
    email: str = "ash@example.org"
    email_verified: object = True
    name: str = "Ash Grove"
    logged_in_at: float = 0  # how long ago, in seconds


@dataclass
class ProviderServer:
    """The provider, what it was asked, and how it errs."""

    address: str
    person: Person = field(default_factory=Person)
    key: ECKey = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "a"}))
    asked: list[dict[str, str]] = field(default_factory=list)  # parameters of authorization requests
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    more_metadata: dict[str, Any] = field(default_factory=dict)
    drips: bool = False  # its answers come byte by byte and never end
    claims: dict[str, Any] = field(default_factory=dict)  # that replace those of ID tokens
    signed_by: Any = None  # another key, or an algorithm
    denies: bool = False

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.address,
            "authorization_endpoint": f"{self.address}/authorize?tenant=voc",
            "token_endpoint": f"{self.address}/token",
            "jwks_uri": f"{self.address}/keys",
            **self.more_metadata,
        }

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser goes on to."""
        self.asked.append(asked)
        answer = {"state": asked["state"], "iss": self.address}
        if self.denies:
            return f"{asked['redirect_uri']}?{urlencode({**answer, 'error': 'access_denied'})}"
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({**answer, 'code': code})}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """The tokens for a code, once, for the client that shows what the code was asked for with."""
        asked = self.codes.pop(form["code"], None)
        known = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if (
            asked is None
            or asked["code_challenge"] != challenge_of(form["code_verifier"])
            or asked["redirect_uri"] != form["redirect_uri"]
            or authorization != f"Basic {known}"
        ):
            return None
        return {"access_token": "unused", "token_type": "Bearer", "id_token": self.id_token(asked["nonce"])}

    def id_token(self, nonce: str) -> str:
        now = int(time.time())
        claims = {
            "iss": self.address,
            "sub": self.person.subject,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            "auth_time": round(now - self.person.logged_in_at),
            "email": self.person.email,
            "email_verified": self.person.email_verified,
            "name": self.person.name,
            **self.claims,
        }
        if self.signed_by == "nobody":
            parts = ({"alg": "none"}, claims)
            return ".".join(_encoded(part) for part in parts) + "."
        if self.signed_by == "the secret":
            return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(SECRET))
        return jwt.encode({"alg": "ES256", "kid": "a"}, claims, self.signed_by or self.key)


def _encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


class _Server(ThreadingHTTPServer):
    @cached_property
    def provider(self) -> ProviderServer:
        return ProviderServer(f"http://127.0.0.1:{self.server_address[1]}")


class _Requests(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        if self.server.provider.drips:
            self.drip()
            return
        parts = urlsplit(self.path)
        match parts.path:
            case "/.well-known/openid-configuration":
                self.answer(self.server.provider.metadata())
            case "/keys":
                self.answer(KeySet([self.server.provider.key]).as_dict(private=False))
            case "/authorize":
                self.send_response(302)
                self.send_header("Location", self.server.provider.authorize(_flat(parts.query)))
                self.send_header("Content-Length", "0")
                self.end_headers()

    def drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):  # the client has had enough
            for _ in range(10 * HANGS):
                self.wfile.write(b" ")
                time.sleep(0.1)

    def do_POST(self) -> None:
        form = _flat(self.rfile.read(int(self.headers["Content-Length"])).decode())
        tokens = self.server.provider.token(form, self.headers.get("Authorization", ""))
        self.answer(tokens or {"error": "invalid_grant"}, 200 if tokens else 400)

    def answer(self, value: object, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _flat(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}


@contextmanager
def openid_provider() -> Iterator[ProviderServer]:
    """A provider that answers until the end of the block."""
    with _Server(("127.0.0.1", 0), _Requests) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server.provider
        server.shutdown()
