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

import sample
import scoring
from app.accounts import service as accounts
from app.imports.schemas import TreeImport
from app.imports.service import import_tree
from app.models import Disclosure
from app.platform import Platform
from app.published import service as published
from app.roles import service as roles
from app.roles.schemas import Grant
from sample import Baseline

POLL_SECONDS = 0.2
TIMEOUT = 300  # seconds for all baselines together


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
    """A baseline was refused or not scored; says which and why."""


@dataclass(frozen=True, slots=True)
class Sender:
    """A program with a token, and the edition that it enters."""

    http: httpx2.Client
    edition: str

    def missing(self, tasks: Sequence[Task]) -> list[Task]:
        """Which of these tasks have no submission yet."""
        rows = self._get("/api/v1/submissions")
        existing = {
            (row["image_set"], row["competition"], row["method"])
            for row in rows
            if row["edition"] == self.edition
        }
        return [
            task
            for task in tasks
            if (task.image_set, task.baseline.competition, task.baseline.name) not in existing
        ]

    def send(self, task: Task) -> int:
        """Upload and confirm one baseline; returns the id of the submission."""
        baseline = task.baseline
        with baseline.archive.open("rb") as archive:
            upload = self._checked_json(
                self.http.put(
                    f"/api/v1/editions/{self.edition}/{task.image_set}/uploads",
                    params={"filename": baseline.archive.name},
                    content=iter(lambda: archive.read(1 << 20), b""),
                ),
                baseline,
            )
        if not upload["valid"]:
            raise BaselineError(f"{baseline.name}: {upload['report']['problems'][0]['message']}")
        request = {
            "upload": upload["id"],
            "competitions": [baseline.competition],
            "method": {
                "name": baseline.name,
                "title": baseline.title,
                "description": baseline.description,
                "is_baseline": True,
            },
            "make_public": True,
        }
        key = {"Idempotency-Key": f"{task.image_set}-{baseline.competition}-{baseline.name}"}
        return int(
            self._checked_json(self.http.post("/api/v1/submissions", json=request, headers=key), baseline)[
                "id"
            ]
        )

    def waiting(self, submission_ids: Sequence[int]) -> list[int]:
        """Which of these submissions are not final yet."""
        rows = self._get("/api/v1/submissions")
        pending = {row["submission"] for row in rows if row["state"] == "pending"}
        return [each for each in submission_ids if each in pending]

    def require_scores(self, submission_ids: Sequence[int]) -> None:
        """Raise BaselineError, saying why, if one of these submissions has ended without a score."""
        for row in self._get("/api/v1/submissions"):
            if row["submission"] in submission_ids and row["state"] != "scored":
                raise BaselineError(
                    f"{row['method']}: {row['failure_message'] or row['state']}; see the worker's log"
                )

    def _get(self, path: str) -> list[dict[str, Any]]:
        response = self.http.get(path)
        response.raise_for_status()
        rows: list[dict[str, Any]] = response.json()
        return rows

    def _checked_json(self, response: httpx2.Response, baseline: Baseline) -> dict[str, Any]:
        body: dict[str, Any] = response.json()
        if response.is_error:
            raise BaselineError(f"{baseline.name}: {body.get('title', response.status_code)}")
        return body


def send_all(sender: Sender, tasks: Sequence[Task], show: Callable[[Progress], None]) -> None:
    """Send every baseline, and wait until each has its score.

    Raises BaselineError.
    """
    submission_ids = []
    for task in tasks:
        submission_ids.append(sender.send(task))
        show(
            Progress(
                len(submission_ids), len(submission_ids) - len(sender.waiting(submission_ids)), len(tasks)
            )
        )
    for left in _until_final(sender, submission_ids):
        show(Progress(len(submission_ids), len(submission_ids) - left, len(tasks)))
    sender.require_scores(submission_ids)


def _until_final(sender: Sender, submission_ids: Sequence[int]) -> Iterator[int]:
    end = time.monotonic() + TIMEOUT
    while left := len(sender.waiting(submission_ids)):
        if time.monotonic() > end:
            raise BaselineError(
                f"{left} baselines have not been scored after {TIMEOUT} seconds; see the worker's log"
            )
        yield left
        time.sleep(POLL_SECONDS)
    yield 0


EDITION = sample.NAME
BASELINES = "baselines@localhost"  # the account of the program that sends them
SETS = {"val": Disclosure.FULL, "test": Disclosure.CLASSES}
PROTOCOL = "voc2012"
HISTORICAL = "voc2007"  # shown beside the sample; `import-published --remove` takes it away for good


def fill_sample(platform: Platform, console: Console) -> None:
    """Make the sample edition complete, boards and all; nothing to do when it is complete already.

    Raises BaselineError.
    """
    folder = platform.settings.data / "sample"
    complete = folder / "complete"
    if complete.exists():
        return
    console.print("sample edition: drawing its pictures", highlight=False)
    tree = sample.draw_edition(folder).tree
    for image_set, disclosure in SETS.items():
        request = TreeImport(
            tree, EDITION, image_set, title="Sample edition", protocol=PROTOCOL, disclosure=disclosure
        )
        import_tree(platform, request)
    published.add(platform, HISTORICAL)
    token = accounts.token_of_program(platform, BASELINES, "Baselines")
    roles.grant(platform, BASELINES, Grant.ORGANISER, EDITION)  # only they enter baselines
    address = platform.settings.local_address
    with httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=120) as http:
        _send_baselines(Sender(http, EDITION), tree, console)
    complete.touch()


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
