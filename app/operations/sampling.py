"""The sample challenge: generated, imported, and filled with baselines, submitted through the API like any submission."""

import time
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console
from rich.progress import Progress, track

import sample
from app.intake.importing import TreeImport, import_tree
from app.models import Disclosure
from app.operations.setup import SAMPLE_CHALLENGE
from app.organising import roles
from app.organising.roles import Grant
from app.people import accounts
from app.platform import Platform
from sample import Baseline

BASELINES = "baselines@localhost"  # account of the program that submits them
SETS = {"val": Disclosure.FULL, "test": Disclosure.CLASSES}
PROTOCOL = "voc2012"

POLL_SECONDS = 0.2
TIMEOUT = 300  # seconds until all baselines are scored


class BaselineError(Exception):
    """A baseline was refused or not scored; the message says which and why."""


def fill_sample(platform: Platform, console: Console) -> None:
    """Create the sample challenge with complete boards; do nothing if it is already complete.

    Raises BaselineError.
    """
    folder = platform.settings.data / "sample"
    complete = folder / "complete"
    if complete.exists():
        return
    console.print("sample challenge: drawing images", highlight=False)
    tree = sample.draw_challenge(folder).tree
    for image_set, disclosure in SETS.items():
        request = TreeImport(
            tree,
            SAMPLE_CHALLENGE,
            image_set,
            title="Sample challenge",
            protocol=PROTOCOL,
            disclosure=disclosure,
        )
        import_tree(platform, request)
    token = accounts.create_program_token(platform, BASELINES, "Baselines")
    roles.grant(
        platform, BASELINES, Grant.ORGANISER, SAMPLE_CHALLENGE
    )  # only organisers may submit baselines
    address = platform.settings.local_address
    with httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=120) as http:
        missing = _missing(http, tree)
        shown = track(missing, "sample challenge: submitting baselines", console=console)
        submissions = {submit(http, SAMPLE_CHALLENGE, image_set, baseline) for image_set, baseline in shown}
        _wait_for_scores(http, submissions, console)
    complete.touch()


def submit(http: httpx2.Client, challenge: str, image_set: str, baseline: Baseline) -> int:
    """Upload and confirm a baseline; return the id of the submission. Raises BaselineError."""
    with baseline.archive.open("rb") as archive:
        response = http.put(
            f"/api/v1/challenges/{challenge}/{image_set}/uploads",
            params={"filename": baseline.archive.name},
            content=archive,
        )
    upload = _accepted(response, baseline)
    if not upload["valid"]:
        raise BaselineError(f"{baseline.name}: {upload['report']['problems'][0]['message']}")
    method = {
        "name": baseline.name,
        "title": baseline.title,
        "description": baseline.description,
        "is_baseline": True,
    }
    request = {
        "upload": upload["id"],
        "competitions": [baseline.competition],
        "method": method,
        "make_public": True,
    }
    return int(_accepted(http.post("/api/v1/submissions", json=request), baseline)["id"])


def _accepted(response: httpx2.Response, baseline: Baseline) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    if response.is_error:
        raise BaselineError(f"{baseline.name}: {body.get('title', response.status_code)}")
    return body


def _missing(http: httpx2.Client, tree: Path) -> list[tuple[str, Baseline]]:
    """Return the baselines without a submission, each with its image set."""
    submitted = {(row["image_set"], row["competition"], row["method"]) for row in _results(http)}
    return [
        (image_set, baseline)
        for image_set in SETS
        for baseline in sample.draw_baselines(tree, tree.parent / "baselines", image_set=image_set)
        if (image_set, baseline.competition, baseline.name) not in submitted
    ]


def _results(http: httpx2.Client) -> list[dict[str, Any]]:
    """Return all results so far; they fit on one page."""
    rows: list[dict[str, Any]] = http.get("/api/v1/submissions").raise_for_status().json()
    return rows


def _wait_for_scores(http: httpx2.Client, submissions: set[int], console: Console) -> None:
    """Wait until these submissions are scored. Raises BaselineError if one is not, with the reason."""
    end = time.monotonic() + TIMEOUT
    with Progress(console=console) as bar:
        task = bar.add_task("sample challenge: scoring baselines", total=len(submissions))
        while True:
            rows = [row for row in _results(http) if row["submission"] in submissions]
            pending = sum(row["state"] == "pending" for row in rows)
            bar.update(task, completed=len(submissions) - pending)
            if not pending:
                break
            if time.monotonic() > end:
                raise BaselineError(
                    f"{pending} baselines were not scored within {TIMEOUT} seconds; see the worker's log"
                )
            time.sleep(POLL_SECONDS)
    for row in rows:
        if row["state"] != "scored":
            raise BaselineError(
                f"{row['method']}: {row['failure_message'] or row['state']}; see the worker's log"
            )
