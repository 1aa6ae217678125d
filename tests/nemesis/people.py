"""Participants and an organiser who retry every request and record every response."""

import hashlib
import io
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

import httpx2

from app.web.error_responses import TUS_VERSION
from tests.nemesis.history import Look, Promise, Response
from tests.system.installations import Client
from tests.system.kits import IMAGES, results

PHASE = "nemesis/test"
COMPETITION = 3
PADDING = 150_000  # bytes appended to an archive, so that it arrives in pieces
AGAIN = 0.3  # seconds before a request is retried
GIVE_UP = 200.0  # seconds without a useful response: longer than any allowed outage

Answer = TypeVar("Answer")


class GivenUpError(Exception):
    """A client retried for minutes without success."""


@dataclass
class Notebook:
    """The records of all people; `begun` is the zero of its clock."""

    begun: float = field(default_factory=time.monotonic)
    responses: list[Response] = field(default_factory=list)
    promises: list[tuple[Promise, tuple[int, int]]] = field(
        default_factory=list
    )  # with the numbers of cats and dogs found
    refused: list[str] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)

    def now(self) -> float:
        return round(time.monotonic() - self.begun, 3)


@dataclass
class Person:
    """A participant's program that retries patiently."""

    name: str
    client: Client
    notebook: Notebook
    chance: Random
    over: threading.Event  # nothing new is started any more
    number: int = 0

    def ask(self, asked: str, send: Callable[[], httpx2.Response]) -> httpx2.Response | None:
        """Send one request and record the outcome; None without a response."""
        begun, response = self.notebook.now(), None
        try:
            response = send()
        except httpx2.HTTPError as error:
            code, sentence = type(error).__name__, ""
        else:
            code, sentence = _problem_of(response)
        status = response.status_code if response is not None else None
        self.notebook.responses.append(
            Response(self.name, asked, begun, self.notebook.now(), status, code, sentence)
        )
        return response

    def insist(self, attempt: Callable[[], Answer | None], what: str) -> Answer:
        """Retry until there is a result."""
        give_up = time.monotonic() + GIVE_UP
        while (found := attempt()) is None:
            if time.monotonic() > give_up:
                raise GivenUpError(f"{self.name} gave up: {what}")
            time.sleep(AGAIN)
        return found

    def good(self, method: str, address: str, **request: Any) -> httpx2.Response | None:
        """The response if it is a success."""
        path = address.removeprefix(str(self.client.http.base_url).rstrip("/"))
        response = self.ask(f"{method} {path}", lambda: self.client.http.request(method, address, **request))
        return response if response is not None and response.is_success else None

    def take_part(self, pause: float) -> None:
        """Submit one result after another and read the board in between."""
        while not self.over.is_set():
            self.send_one()
            self.look()
            self.over.wait(pause * self.chance.uniform(0.5, 1.5))

    def send_one(self) -> None:
        """Upload an archive in some way and mostly submit it, otherwise delete or abandon it."""
        self.number += 1
        found = self.chance.randint(0, len(IMAGES)), self.chance.randint(0, len(IMAGES))
        archive = results(cat=found[0], dog=found[1]) + bytes(PADDING)
        upload = self.insist(lambda: self.uploaded(archive), "an upload")
        fate = self.chance.random()
        if fate < 0.1:
            self.insist(lambda: self.deleted(upload), "deleting")
        elif fate < 0.2:
            self.begin(archive)
        else:
            method = f"{self.name} {self.number}"
            for _ in range(1 if fate < 0.8 else 2):  # some repeat a request that was answered
                number = self.insist(lambda: self.confirmed(upload, method), "a confirmation")
                digest = hashlib.sha256(archive).hexdigest()
                self.notebook.promises.append((Promise(method, number, digest, {}), found))

    def uploaded(self, archive: bytes) -> str | None:
        """The id of a new, checked upload; None if it has to be started again."""
        if self.chance.random() < 0.4:
            address = f"/api/v1/challenges/{PHASE}/uploads"
            response = self.good("PUT", address, params={"filename": "results.tar.gz"}, content=archive)
            where = response.headers["Location"] if response else None
        else:
            where = self.in_pieces(archive)
        return self.checked(where) if where else None

    def begin(self, archive: bytes) -> None:
        """An upload of which only one piece is sent."""
        if where := self.created(archive):
            self.append(where, archive[: len(archive) // 3], 0)

    def created(self, archive: bytes) -> str | None:
        headers = {
            "Tus-Resumable": TUS_VERSION,
            "Upload-Length": str(len(archive)),
            "Upload-Metadata": "filename cmVzdWx0cy50YXIuZ3o=",
        }
        response = self.good("POST", f"/api/v1/challenges/{PHASE}/uploads", headers=headers)
        return str(response.headers["Location"]) if response else None

    def append(self, where: str, piece: bytes, offset: int) -> httpx2.Response | None:
        headers = {
            "Tus-Resumable": TUS_VERSION,
            "Upload-Offset": str(offset),
            "Content-Type": "application/offset+octet-stream",
        }
        return self.good("PATCH", where, content=io.BytesIO(piece), headers=headers)

    def in_pieces(self, archive: bytes) -> str | None:
        """Three pieces by tus, each continued at the server's offset."""
        where = self.created(archive)
        if where is None:
            return None
        size, offset = len(archive) // 3 + 1, 0
        while offset < len(archive):
            if self.append(where, archive[offset : offset + size], offset):
                offset = min(offset + size, len(archive))
            else:
                time.sleep(AGAIN)
                offset = self.insist(lambda: self.offset(where), "an offset")
        return where

    def offset(self, where: str) -> int | None:
        response = self.good("HEAD", where, headers={"Tus-Resumable": TUS_VERSION})
        return int(response.headers["Upload-Offset"]) if response else None

    def checked(self, where: str) -> str | None:
        """The id of a complete upload once there is a report; None if the report has problems."""
        state = self.insist(lambda: self.report(where), "a report")
        if not state["valid"]:
            self.notebook.refused.append(f"a good archive of {self.name} was refused: {state['report']}")
            return None
        return str(state["id"])

    def report(self, where: str) -> dict[str, Any] | None:
        response = self.good("GET", where)
        if response and response.json()["state"] != "checked":
            response = self.good("POST", f"{where}/check")
        return response.json() if response and response.json()["state"] == "checked" else None

    def confirmed(self, upload: str, method: str) -> int | None:
        response = self.ask("POST submission", lambda: self.client.confirm(upload, method, key=method))
        return int(response.json()["id"]) if response is not None and response.is_success else None

    def deleted(self, upload: str) -> bool | None:
        """Whether the upload is gone, even if a request whose response was lost deleted it."""
        address = f"/api/v1/uploads/{upload}"
        response = self.ask(f"DELETE {address}", lambda: self.client.http.delete(address))
        return True if response is not None and response.status_code in {204, 404} else None

    def look(self) -> None:
        begun = self.notebook.now()
        response = self.good("GET", f"/api/v1/leaderboards/{PHASE}/{COMPETITION}")
        if response:
            self.notebook.looks.append(look_of(response.json(), begun, self.notebook.now()))


def look_of(board: dict[str, Any], begun: float, ended: float) -> Look:
    means = {row["method"]: row["mean"] for row in board["rows"]}
    return Look(begun, ended, board["ground_truth"], means)


def _problem_of(response: httpx2.Response) -> tuple[str, str]:
    """The code and the message of a refusal."""
    if response.is_success or response.request.method == "HEAD":
        return "", response.reason_phrase
    try:
        problem = response.json()
        return str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return "", ""
