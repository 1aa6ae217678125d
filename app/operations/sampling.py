"""The sample challenge: drawn, imported, and filled with results of made-up teams, submitted through the API like any submission."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
from rich.console import Console
from rich.progress import Progress, track

import sample
from app.challenges import challenges
from app.core.access import TRIED, Actor
from app.home import trying
from app.images import pictures
from app.images.pictures import PictureRules
from app.intake.importing import NoImages, TreeImport, import_tree
from app.models import Challenge, ChallengeVisibility, Disclosure, Quota
from app.operations.sample_dates import submitted_days_ago, take_back_in_time
from app.operations.setup import SAMPLE_CHALLENGE
from app.organising import roles
from app.organising.roles import Grant
from app.people import accounts, sessions
from app.platform import PREPARING, Platform
from app.submissions.questions import PRESETS
from sample import MadeUpResult, Team, texts
from sample.whole import RESULTS, TRAINING

SETS: Final = {"pilot": Disclosure.CLASSES, "val": Disclosure.FULL, "test": Disclosure.CLASSES}
PROTOCOL: Final = "voc2012"
UNLIMITED: Final = (Quota(1000, 7),)  # until the results of five weeks are in
SHORTEST_DESCRIPTION: Final = 200

POLL_SECONDS: Final = 0.2
TIMEOUT: Final = 300  # seconds until everything is drawn, and until all results are scored


Tell = Callable[[str], None]  # how far it is, in words


class SampleError(Exception):
    """The sample was not drawn, or a result of it was refused or not scored; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A process that draws the sample into a folder; None if it is complete already."""

    folder: Path
    process: "subprocess.Popen[str] | None"

    def wait_for_tree(self) -> Path:
        """Return the tree once it is drawn; archives of results may still be missing. Raises SampleError."""
        assert self.process is not None
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            self.wait()
        return self.folder / sample.NAME

    def wait(self) -> None:
        """Return once everything is drawn. Raises SampleError."""
        assert self.process is not None
        if self.process.wait(TIMEOUT):
            raise SampleError(f"the sample challenge was not drawn: exit code {self.process.returncode}")


@contextmanager
def drawing(data: Path) -> Iterator[Drawing]:
    """Draw the sample challenge during the block, unless it is complete; other processors can use the time."""
    folder = data / "sample"
    if _mark(folder).exists():
        yield Drawing(folder, None)
        return
    folder.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "sample", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Drawing(folder, process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # also those that it has started
        process.communicate()


def _mark(folder: Path) -> Path:
    return folder / "complete"


def fill_sample(platform: Platform, console: Console, drawn: Drawing) -> None:
    """Create the sample challenge with complete boards; do nothing if it is already complete.

    Raises SampleError.
    """
    if drawn.process is None:
        return
    console.print("sample challenge: drawing images", highlight=False)
    with _telling(platform) as tell:
        _fill(platform, console, drawn, tell)
    _mark(drawn.folder).touch()


@contextmanager
def _telling(platform: Platform) -> Iterator[Tell]:
    """Have pages say how far the sample is, until the end of the block."""
    file = platform.settings.data / PREPARING

    def tell(words: str) -> None:
        draft = file.with_suffix(".new")
        draft.write_text(words, encoding="utf-8")
        draft.replace(file)

    try:
        yield tell
    finally:
        file.unlink(missing_ok=True)


def _fill(platform: Platform, console: Console, drawn: Drawing, tell: Tell) -> None:
    tell("images are being drawn")
    tree = drawn.wait_for_tree()
    tell("annotation is being loaded")
    for image_set, disclosure in SETS.items():
        import_tree(
            platform,
            TreeImport(
                tree,
                SAMPLE_CHALLENGE,
                image_set,
                title=texts.TITLE,
                protocol=PROTOCOL,
                disclosure=disclosure,
                quotas=() if disclosure is Disclosure.FULL else UNLIMITED,
            ),
        )
    copy_for_trying(platform, tree)
    with _clients(platform) as clients:
        organisers = clients[sample.TEAMS[0].key]
        facts = _describe(platform, organisers)
        missing = _missing(clients, drawn.folder / RESULTS)
        drawn.wait()
        for number, results in enumerate(
            track(missing, "sample challenge: submitting results", console=console)
        ):
            tell(f"{number} of {len(missing)} submissions are made")
            submit(clients[results[0].method.team.key], SAMPLE_CHALLENGE, results, facts)
        _send_training_set(organisers, drawn.folder / TRAINING)
        _publish(organisers, clients[texts.ASKED_BY])
        _wait_for_scores(clients, console, tell)
    take_back_in_time(platform)


def copy_for_trying(platform: Platform, tree: Path) -> None:
    """Create the copy that *Try it now* submits to: a draft, which nobody but admins sees."""
    with platform.transaction() as session:
        if challenges.challenge_of(session, TRIED) is None:
            title = f"{texts.TITLE}: what visitors try"
            draft = ChallengeVisibility.DRAFT
            session.add(Challenge(code=TRIED, title=title, dataset=sample.NAME, visibility=draft))
    import_tree(
        platform,
        TreeImport(
            tree, TRIED, trying.IMAGE_SET, protocol=PROTOCOL, disclosure=Disclosure.FULL, quotas=(),
            images=NoImages.NONE,
        ),
    )  # fmt: skip


@contextmanager
def _clients(platform: Platform) -> Iterator[Mapping[str, httpx2.Client]]:
    """Create an account for each team, the first of them organisers; yield a client for each."""
    with ExitStack() as stack:
        clients = {}
        for team in sample.TEAMS:
            address = _address(team)
            token = accounts.create_program_token(platform, address, team.name)
            if team is sample.TEAMS[0]:  # only organisers may submit baselines
                roles.grant(platform, address, Grant.ORGANISER, SAMPLE_CHALLENGE)
            headers = {"Authorization": f"Bearer {token}"}
            base = platform.settings.local_address
            clients[team.key] = stack.enter_context(
                httpx2.Client(base_url=base, headers=headers, timeout=120)
            )
        yield clients


def _address(team: Team) -> str:
    return f"{team.key}@localhost"


HERE: Final = f"/api/v1/organise/challenges/{SAMPLE_CHALLENGE}"


def _describe(platform: Platform, organisers: httpx2.Client) -> Mapping[str, str]:
    """Say what the challenge is about, show its images and ask for facts; return the questions, each with its id."""
    page = {
        "tagline": texts.TAGLINE,
        "overview": texts.OVERVIEW,
        "rules": texts.RULES,
        "organisers": texts.ORGANISERS,
    }
    version = _good(organisers.get(f"{HERE}/page"))["version"]
    _good(organisers.put(f"{HERE}/page", json={**page, "version": version}))
    _good(organisers.put(f"{HERE}/pictures-from", json={"pictures_from": "here"}))
    _good(organisers.put(f"{HERE}/questions/description", json={"shortest": SHORTEST_DESCRIPTION}))
    with platform.transaction() as session:
        challenge = challenges.find_challenge(session, SAMPLE_CHALLENGE)
        phases = [each.id for each in challenges.phases_of(session, SAMPLE_CHALLENGE) if each.is_held_out]
        user = sessions.user_of_email(session, _address(sample.TEAMS[0]))
        assert user is not None
    actor = Actor(user.id, organises=frozenset({challenge.id}))
    for phase in phases:
        pictures.change(platform, actor, phase, PictureRules(is_public=True, reason="for participants"))
    asked = {
        each["text"] for each in _good(organisers.get(f"/api/v1/challenges/{SAMPLE_CHALLENGE}/questions"))
    }
    for each in PRESETS:
        if each.text not in asked:
            new = each.model_copy(update={"is_column": False, "is_filter": False})
            _good(organisers.post(f"{HERE}/questions", json=new.model_dump(mode="json")))
    found = _good(organisers.get(f"/api/v1/challenges/{SAMPLE_CHALLENGE}/questions"))
    return {each["text"]: str(each["id"]) for each in found}


def submit(
    http: httpx2.Client,
    challenge: str,
    results: Sequence[MadeUpResult],
    questions: Mapping[str, str] | None = None,
) -> int:
    """Upload and confirm results of a made-up method in one archive; return the id of the submission.

    questions: the id of each by its text. Raises SampleError.
    """
    method, image_set = results[0].method, results[0].image_set
    upload = _good(
        http.put(
            f"/api/v1/challenges/{challenge}/{image_set}/uploads",
            params={"filename": f"{method.name}_{image_set}.tar.gz"},
            content=sample.joined(each.archive for each in results),
        )
    )
    if not upload["valid"]:
        raise SampleError(f"{method.name}: {upload['report']['problems'][0]['message']}")
    known = questions or {}
    request = {
        "upload": upload["id"],
        "competitions": [each.competition for each in results],
        "method": {
            "name": method.name,
            "title": method.title,
            "affiliation": method.team.name,
            "description": method.description,
            "is_baseline": method.is_baseline,
            "answers": {known[text]: answer for text, answer in method.facts.items() if text in known},
        },
        "training": _training([each.competition for each in results]),
        "make_public": True,
    }
    return int(_good(http.post("/api/v1/submissions", json=request))["id"])


def _training(competitions: Sequence[int]) -> dict[str, Any]:
    """What a team states about the training of a method for these competitions."""
    stated: dict[str, Any] = {}
    if any(number % 2 for number in competitions):
        stated["given_data_only"] = True
    if any(number % 2 == 0 for number in competitions):
        stated |= {"other_data": OTHER_DATA, "no_excluded_data": True}
    if SEGMENTATION in competitions:
        stated["annotation"] = "segmentations"
    return stated


OTHER_DATA: Final = "A large set of photographs, made up like everything here"
SEGMENTATION: Final = 5  # its competition with given data


def _good(response: httpx2.Response) -> Any:
    body = response.json() if response.content else None
    if response.is_error:
        raise SampleError(
            f"{response.request.method} {response.request.url.path}: {body and body.get('title')} {body and body.get('detail', '')}"
        )
    return body


def _missing(clients: Mapping[str, httpx2.Client], folder: Path) -> list[tuple[MadeUpResult, ...]]:
    """Return the results without a submission, those of a method in a phase together, in the order of their dates."""
    submitted = {(row["image_set"], row["competition"], row["method"]) for row in _results(clients)}
    dated = [
        (days, image_set, method)
        for image_set in SETS
        for method in sample.METHODS
        if (days := submitted_days_ago(method, image_set)) is not None
    ]
    dated.sort(key=lambda each: -each[0])
    missing = (
        tuple(
            each
            for each in sample.results_in(folder, image_set, (method,))
            if (image_set, each.competition, method.name) not in submitted
        )
        for _, image_set, method in dated
    )
    return [each for each in missing if each]


def _results(clients: Mapping[str, httpx2.Client]) -> list[dict[str, Any]]:
    """Return all results so far; those of a team fit on one page."""
    rows: list[dict[str, Any]] = []
    for http in clients.values():
        rows += _good(http.get("/api/v1/submissions"))
    return list({(row["submission"], row["competition"]): row for row in rows}.values())


def _send_training_set(organisers: httpx2.Client, archive: Path) -> None:
    """Offer the training set as a file."""
    if any(each["name"] == archive.name for each in _good(organisers.get(f"{HERE}/data"))["files"]):
        return
    facts = {
        "name": archive.name,
        "title": "Training set: images and annotation",
        "kind": "images, annotation",
    }
    created = organisers.post(f"{HERE}/data", json=facts)
    _good(created)
    with archive.open("rb") as content:
        _good(organisers.put(f"{created.headers['location']}/content", content=content))


def _publish(organisers: httpx2.Client, asker: httpx2.Client) -> None:
    """Publish the announcements, and ask and answer a question, unless that was done before."""
    if _good(organisers.get(f"/api/v1/challenges/{SAMPLE_CHALLENGE}/news"))["announcements"]:
        return
    for _, title, text in texts.NEWS:
        _good(organisers.post(f"{HERE}/news", json={"title": title, "text": text}))
    title, question, answer = texts.QUESTION
    asked = _good(
        asker.post(f"/api/v1/challenges/{SAMPLE_CHALLENGE}/threads", json={"title": title, "text": question})
    )
    thread = f"/api/v1/organise/threads/{asked['thread']['id']}"
    _good(organisers.post(f"{thread}/messages", json={"text": answer}))
    published = {"title": title, "question": question, "answer": answer}
    _good(organisers.put(f"{thread}/answer", json=published))


def _wait_for_scores(clients: Mapping[str, httpx2.Client], console: Console, tell: Tell) -> None:
    """Wait until all results are scored. Raises SampleError if one is not, with the reason."""
    end = time.monotonic() + TIMEOUT
    with Progress(console=console) as bar:
        rows = _results(clients)
        task = bar.add_task("sample challenge: scoring results", total=len(rows))
        while pending := sum(row["state"] == "pending" for row in rows):
            bar.update(task, completed=len(rows) - pending)
            tell(f"{len(rows) - pending} of {len(rows)} results are scored")
            if time.monotonic() > end:
                raise SampleError(
                    f"{pending} results were not scored within {TIMEOUT} seconds; see the worker's log"
                )
            time.sleep(POLL_SECONDS)
            rows = _results(clients)
        bar.update(task, completed=len(rows))
    for row in rows:
        if row["state"] != "scored":
            raise SampleError(
                f"{row['method']}: {row['failure_message'] or row['state']}; see the worker's log"
            )
