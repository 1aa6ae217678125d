"""People of a deadline night: what they send and read, and what they are answered."""

import asyncio
import html
import json
import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from tests.system.installations import DESCRIPTION, STATEMENT, good
from tests.system.kits import results

PHASE: Final = "night/test"
BOARDS: Final = ("/leaderboards/night/test/3", "/api/v1/leaderboards/night/test/3", "/challenges/night", "/")
READING_PAUSE: Final = 5.0  # seconds between two pages of somebody who has a score


@dataclass(slots=True)
class Night:
    """What happened: milliseconds by kind of request, statuses, submissions with their last state, megabytes over time."""

    waits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0  # connections
    submissions: dict[int, bool] = field(default_factory=dict)  # by number, whether it has its score
    memory: list[dict[str, float]] = field(default_factory=list)  # megabytes by process, every few seconds

    @property
    def errors(self) -> int:
        """Responses that say that the server failed, and connections that broke."""
        return self.broken + sum(count for status, count in self.statuses.items() if status >= 500)


@dataclass(slots=True)
class Person:
    """A participant with a browser; every request is counted for the address that their proxy tells."""

    number: int
    client: httpx2.AsyncClient
    token: str
    night: Night

    async def ask(self, kind: str, method: str, path: str, **content: Any) -> httpx2.Response:
        """Send a request, and again after the time that a refusal names."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "X-Forwarded-For": f"10.1.{self.number // 250}.{self.number % 250 + 1}",
            "Accept": "text/html",
            **content.pop("headers", {}),
        }
        while True:
            begun = time.perf_counter()
            try:
                response = await self.client.request(method, path, headers=headers, **content)
            except httpx2.HTTPError:
                self.night.broken += 1
                await asyncio.sleep(1)
                continue
            self.night.waits[kind].append(1000 * (time.perf_counter() - begun))
            self.night.statuses[response.status_code] += 1
            if response.status_code not in (429, 503):
                return response
            await asyncio.sleep(float(response.headers.get("Retry-After", 1)))

    async def take_part(self, delay: float, seconds: float, sends: int) -> None:
        """Send so many results, evenly over these seconds, watch each, and read until the next."""
        end, turn = time.monotonic() + seconds, self.number
        await asyncio.sleep(delay)
        for left in reversed(range(sends)):
            until = end - left * (seconds - delay) / sends
            submission = await self._submit(sends - left)
            await self._watch(submission, until)
            pages = (f"/submissions/{submission}", "/submissions", BOARDS[0])
            while time.monotonic() < until:
                await self.ask("page", "GET", pages[turn % len(pages)])
                turn += 1
                await asyncio.sleep(READING_PAUSE)

    async def _submit(self, turn: int) -> int:
        archive = results(cat=(self.number + turn) % 10 + 1, dog=(self.number + turn // 10) % 10 + 1)
        address = f"/api/v1/challenges/{PHASE}/uploads?filename=results.tar.gz"
        upload = (await self.ask("upload", "PUT", address, content=archive)).json()
        while upload["state"] == "received":  # it waits for a place among the checks
            upload = (await self.ask("check", "POST", f"/api/v1/uploads/{upload['id']}/check")).json()
        request = {
            "upload": upload["id"],
            "method": {"name": f"Method {self.number}.{turn}", "description": DESCRIPTION},
            "training": STATEMENT,
            "make_public": turn == 1,  # the board must not be what makes memory grow
        }
        key = {"Idempotency-Key": f"night {self.number}.{turn}"}
        confirmed = await self.ask("confirm", "POST", "/api/v1/submissions", json=request, headers=key)
        submission = int(good(confirmed)["id"])
        self.night.submissions[submission] = False
        return submission

    async def _watch(self, submission: int, until: float) -> None:
        """Follow the page as htmx does: what is replaced says when to ask again, and with which ETag."""
        page = (await self.ask("page", "GET", f"/submissions/{submission}")).text
        while (
            found := re.search(r'hx-get="([^"]+)" hx-trigger="every (\d+)s"', page)
        ) and time.monotonic() < until:
            named = re.search(r"hx-headers='([^']+)'", page)
            headers = json.loads(html.unescape(named[1])) if named else {}
            await asyncio.sleep(float(found[2]))
            answer = await self.ask("status", "GET", html.unescape(found[1]), headers=headers)
            page = answer.text if answer.status_code == 200 else page
        self.night.submissions[submission] = "hx-get" not in page
