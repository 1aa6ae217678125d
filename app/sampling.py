"""The sample edition: drawn, imported, and its baselines sent in through the API as any participant's would be."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as ProgressBar
from rich.table import Table

import sample
import scoring
from app import formats
from app.accounts import service as accounts
from app.editions import service as editions
from app.editions.service import TreeImport
from app.models import Disclosure, Role
from app.platform import Platform
from sample import Baseline

LOOK_AGAIN = 0.2  # seconds between two looks at what is being scored
LONGEST = 300  # seconds for all baselines together


@dataclass(frozen=True, slots=True)
class Task:
    """A baseline to send in for an image set."""

    image_set: str
    baseline: Baseline


@dataclass(frozen=True, slots=True)
class Progress:
    """How many baselines have been sent and scored."""

    sent: int
    scored: int
    total: int


class BaselineError(Exception):
    """A baseline was not taken or not scored; the sentence says which and why."""


@dataclass(frozen=True, slots=True)
class Sender:
    """A program with a token, and the edition that it enters."""

    http: httpx2.Client
    edition: str

    def missing(self, tasks: Sequence[Task]) -> list[Task]:
        """What is not there yet; a later start finds the work of an earlier one."""
        rows = self._get("/api/submissions")
        there = {
            (row["image_set"], row["competition"], row["method"])
            for row in rows
            if row["edition"] == self.edition
        }
        return [
            task
            for task in tasks
            if (task.image_set, task.baseline.competition, task.baseline.name) not in there
        ]

    def send(self, task: Task) -> int:
        """Upload and confirm one baseline; returns the submission's number."""
        baseline = task.baseline
        with baseline.archive.open("rb") as archive:
            upload = self._answer(
                self.http.put(
                    f"/api/editions/{self.edition}/{task.image_set}/uploads",
                    params={"filename": baseline.archive.name},
                    content=iter(lambda: archive.read(1 << 20), b""),
                ),
                baseline,
            )
        if not upload["valid"]:
            raise BaselineError(f"{baseline.name}: {upload['report']['problems'][0]['message']}")
        wanted = {
            "upload": upload["id"],
            "competitions": [baseline.competition],
            "method": {
                "name": baseline.name,
                "title": baseline.title,
                "description": baseline.description,
                "is_baseline": True,
            },
        }
        key = {"Idempotency-Key": f"{task.image_set}-{baseline.competition}-{baseline.name}"}
        return int(self._answer(self.http.post("/api/submissions", json=wanted, headers=key), baseline)["id"])

    def waiting(self, numbers: Sequence[int]) -> list[int]:
        """Which of these submissions are not final yet."""
        rows = self._get("/api/submissions")
        pending = {row["submission"] for row in rows if row["state"] == "pending"}
        return [number for number in numbers if number in pending]

    def insist_on_scores(self, numbers: Sequence[int]) -> None:
        """Raise BaselineError, saying why, if one of these submissions has ended without a score."""
        for row in self._get("/api/submissions"):
            if row["submission"] in numbers and row["state"] != "scored":
                raise BaselineError(
                    f"{row['method']}: {row['sentence'] or row['state']}; see the worker's log"
                )

    def board(self, image_set: str, number: int) -> dict[str, Any]:
        """A leaderboard."""
        response = self.http.get(f"/api/leaderboards/{self.edition}/{image_set}/{number}")
        response.raise_for_status()
        board: dict[str, Any] = response.json()
        return board

    def _get(self, path: str) -> list[dict[str, Any]]:
        answer = self.http.get(path)
        answer.raise_for_status()
        rows: list[dict[str, Any]] = answer.json()
        return rows

    def _answer(self, response: httpx2.Response, baseline: Baseline) -> dict[str, Any]:
        body: dict[str, Any] = response.json()
        if response.is_error:
            raise BaselineError(f"{baseline.name}: {body.get('title', response.status_code)}")
        return body


def send_all(sender: Sender, tasks: Sequence[Task], show: Callable[[Progress], None]) -> None:
    """Send every baseline, and wait until each has its score.

    Raises BaselineError.
    """
    numbers = []
    for task in tasks:
        numbers.append(sender.send(task))
        show(Progress(len(numbers), len(numbers) - len(sender.waiting(numbers)), len(tasks)))
    for left in _until_final(sender, numbers):
        show(Progress(len(numbers), len(numbers) - left, len(tasks)))
    sender.insist_on_scores(numbers)


def _until_final(sender: Sender, numbers: Sequence[int]) -> Iterator[int]:
    end = time.monotonic() + LONGEST
    while left := len(sender.waiting(numbers)):
        if time.monotonic() > end:
            raise BaselineError(
                f"{left} baselines have not been scored after {LONGEST} seconds; see the worker's log"
            )
        yield left
        time.sleep(LOOK_AGAIN)
    yield 0


EDITION = sample.NAME
SETS = {"val": Disclosure.FULL, "test": Disclosure.ROUNDED}
SHOWN = ("test", 3)  # the board that is printed


def fill_sample(platform: Platform, console: Console) -> None:
    """Make the sample edition complete, and print a board of it; quick when it is complete already.

    Raises BaselineError.
    """
    folder = platform.settings.data / "sample"
    tree = folder / sample.NAME
    if not (folder / "complete").exists():
        console.print("sample edition: drawing its pictures", highlight=False)
        tree = sample.draw_edition(folder).tree
        for image_set, disclosure in SETS.items():
            wanted = TreeImport(tree, EDITION, image_set, title="Sample edition", disclosure=disclosure)
            editions.import_tree(platform, wanted)
    token = accounts.token_of_program(platform, "baselines@localhost", "Baselines", Role.ORGANISER)
    address = platform.settings.local_address
    with httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=120) as http:
        sender = Sender(http, EDITION)
        if not (folder / "complete").exists():
            _send_baselines(sender, tree, console)
            (folder / "complete").touch()
        _print_board(sender, console)


def _send_baselines(sender: Sender, tree: Path, console: Console) -> None:
    scored = {board.number for board in scoring.competitions(EDITION) if scoring.is_scorable(board)}
    drawn = [
        Task(image_set, baseline)
        for image_set in SETS
        for baseline in sample.draw_baselines(tree, tree.parent / "baselines", image_set=image_set)
        if baseline.competition in scored
    ]
    missing = sender.missing(drawn)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with ProgressBar(*columns, console=console) as bar:
        sent = bar.add_task("sample edition: baselines sent", total=len(missing))
        done = bar.add_task("sample edition: baselines scored", total=len(missing))

        def show(progress: Progress) -> None:
            bar.update(sent, completed=progress.sent)
            bar.update(done, completed=progress.scored)

        send_all(sender, missing, show)


def _print_board(sender: Sender, console: Console) -> None:
    image_set, number = SHOWN
    board = sender.board(image_set, number)
    title = f"{board['edition_title']}, {image_set}: {board['title']}, AP in percent"
    table = Table(title=title, box=None, padding=(0, 1, 0, 0))
    for name in ("#", "method", "mean", *map(formats.short, board["classes"])):
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for row in board["rows"]:
        values = [row["mean"], *(cell["value"] for cell in row["cells"])]
        table.add_row(str(row["rank"] or ""), row["method"], *map(formats.score, values))
    console.print(table)
