"""A small GitHub on this machine: it knows one person, asks nothing, and can be told to err."""

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.openid_provider import challenge_of
from tests.patience import HANGS

CLIENT, SECRET = "Iv1.heldout", "a secret of GitHub"


@dataclass
class GitHub:
    """The accounts of one person, what was asked, and how it errs."""

    address: str = ""
    person: dict[str, Any] = field(
        default_factory=lambda: {"id": 583231, "login": "ash", "name": "Ash Grove"}
    )
    addresses: list[dict[str, Any]] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    failure: str = ""  # "hangs", "500" or "garbage": of the token address

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser goes on to."""
        self.asked.append(asked)
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'state': asked['state'], 'code': code})}"

    def token(self, form: dict[str, str]) -> dict[str, Any]:
        """As GitHub does, errors have the status 200, too."""
        asked = self.codes.pop(form.get("code", ""), None)
        is_right = (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        if asked is None or not is_right or asked["code_challenge"] != challenge_of(form["code_verifier"]):
            return {
                "error": "bad_verification_code",
                "error_description": "The code is incorrect or expired.",
            }
        return {"access_token": "gho_token", "token_type": "bearer", "scope": "read:user,user:email"}


class _Requests(BaseHTTPRequestHandler):
    server: "_Server"

    def do_GET(self) -> None:
        parts, github = urlsplit(self.path), self.server.github
        if parts.path == "/login/oauth/authorize":
            self.send_response(302)
            self.send_header("Location", github.authorize(_flat(parts.query)))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        answers = {"/api/v3/user": github.person, "/api/v3/user/emails": github.addresses}
        is_known = self.headers.get("Authorization") == "Bearer gho_token"
        self.answer(
            answers.get(parts.path) if is_known else {"message": "Bad credentials"}, 200 if is_known else 401
        )

    def do_POST(self) -> None:
        form = _flat(self.rfile.read(int(self.headers["Content-Length"])).decode())
        match self.server.github.failure:
            case "hangs":
                time.sleep(HANGS)
            case "500":
                self.answer({"message": "Server Error"}, 500)
            case "garbage":
                self.answer("garbage", 200)
            case _:
                self.answer(self.server.github.token(form))

    def answer(self, value: object, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    github: GitHub


def _flat(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}


@contextmanager
def github_server() -> Iterator[GitHub]:
    """A GitHub that answers until the end of the block."""
    with _Server(("127.0.0.1", 0), _Requests) as server:
        server.github = GitHub(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server.github
        server.shutdown()
