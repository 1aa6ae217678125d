"""Test runs: organisers submit to a draft by the real path, and nothing of it remains once the draft opens."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import Text, and_, cast, func, or_, select, text, update
from sqlalchemy.exc import DBAPIError
from starlette.testclient import TestClient

from app.challenges import challenges, visibility
from app.core.access import Actor
from app.core.errors import ConflictError
from app.images.overlays import OF_RUNS
from app.intake import testing
from app.models import (
    Artefact,
    AuditRecord,
    Challenge,
    ChallengeDraft,
    ChallengeVisibility,
    Event,
    Job,
    Method,
    Phase,
    Publication,
    Queue,
    Result,
    Run,
    Submission,
    Team,
    Upload,
)
from app.organising import drafts
from app.platform import Platform
from app.storage import content_key
from app.submissions import retention
from tests.pages.test_accounts import registered
from tests.pages.test_drafts import NEW, Place, place, words
from tests.patience import LIMIT
from tests.system.installations import STATEMENT
from tests.system.kits import packed
from tests.system.servers import eventually
from tests.working import do_all

__all__ = ["place"]

FOUND = {"cat": "a 0.9 1 1 10 10\n", "dog": "a 0.8 20 5 40 30\nb 0.7 1 1 10 10\n"}


@dataclass(frozen=True)
class Draft:
    """A draft with its phases, and what its organiser does with it."""

    place: Place
    code: str

    @property
    def platform(self) -> Platform:
        return self.place.platform

    @property
    def organiser(self) -> TestClient:
        return self.place.organiser

    @property
    def id(self) -> int:
        with self.platform.transaction() as session:
            return session.scalars(select(Challenge.id).where(Challenge.code == self.code)).one()

    def send(self, client: TestClient) -> Any:
        with self.platform.transaction() as session:
            dataset = session.scalars(select(Challenge.dataset).where(Challenge.code == self.code)).one()
        files = {
            f"results/{dataset}/Main/comp4_det_test_{name}.txt": each.encode() for name, each in FOUND.items()
        }
        path = f"/api/v1/challenges/{self.code}/test/uploads?filename=results.tar.gz"
        return client.put(path, content=packed(files))

    def submit(self, upload: str, method: str) -> Any:
        about = {"name": method, "description": "A dull method that says so at length. " * 20}
        body = {"upload": upload, "method": about, "training": STATEMENT, "make_public": True}
        return self.organiser.post("/api/v1/submissions", json=body)

    def test(self, method: str) -> int:
        """Upload and submit an archive, and return the number of the submission."""
        upload = self.send(self.organiser)
        assert upload.status_code == 201, upload.text
        sent = self.submit(upload.json()["id"], method)
        assert sent.status_code == 201, sent.text
        return int(sent.json()["id"])

    def work(self) -> None:
        do_all(self.platform, Queue.RUNS)
        do_all(self.platform)
        self.platform.cache.expire_versions()

    def remains(self) -> dict[str, int]:
        """The number of rows that would be of a test run, of each table that has some."""
        phases = select(Phase.id).where(Phase.challenge_id == self.id)
        results = select(Result.id).where(Result.phase_id.in_(phases))
        conditions = {
            Upload: Upload.phase_id.in_(phases),
            Submission: Submission.phase_id.in_(phases),
            Result: Result.phase_id.in_(phases),
            Publication: Publication.phase_id.in_(phases),
            Run: Run.result_id.in_(results),
            Method: Method.challenge_id == self.id,
            Team: Team.challenge_id == self.id,
            Event: and_(Event.challenge_id == self.id, Event.team_id.is_not(None)),
            Job: Job.run_id.in_(select(Run.id).where(Run.result_id.in_(results))),
            Artefact: or_(
                func.split_part(Artefact.subject, "/", 1).in_(
                    select(cast(Phase.id, Text)).where(Phase.id.in_(phases))
                ),
                Artefact.kind.in_(OF_RUNS),
            ),
        }
        with self.platform.transaction() as session:
            counts = {
                table.__tablename__: session.scalar(select(func.count()).select_from(table).where(condition))
                or 0
                for table, condition in conditions.items()
            }
        return {name: count for name, count in counts.items() if count}


@pytest.fixture
def draft(place: Place) -> Draft:
    return Draft(place, place.finished())


@pytest.mark.sampled
def test_a_test_run_takes_the_real_path_and_leaves_nothing(draft: Draft, app: FastAPI) -> None:
    visitor = TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False)
    participant = registered(TestClient(app, follow_redirects=False), "ash.test@example.org")
    before = draft.place.page(f"/organise/challenges/{draft.code}")
    submissions = [draft.test(name) for name in ("Whitebeam", "Alder", "Hazel")]  # the quota is 2 in 7 days
    draft.work()
    board, own = f"/leaderboards/{draft.code}/test/4", f"/submissions/{submissions[0]}"

    assert "A test run advisable" in before
    assert "A test run done" in draft.place.page(f"/organise/challenges/{draft.code}")
    assert "this is a test run" in draft.place.page(f"/challenges/{draft.code}/test/submit")
    assert "Submit a test run" in draft.place.page(f"/organise/phases/{phase_of(draft)}")
    assert "Whitebeam" in draft.place.page(board)
    assert "100" in draft.place.page(own)
    pages = [board, own, f"/challenges/{draft.code}", f"/challenges/{draft.code}/test/submit"]
    for somebody in (visitor, participant):
        assert {somebody.get(each).status_code for each in pages} <= {303, 404}
        assert all("Whitebeam" not in somebody.get(each).text for each in ("/", "/status", "/news.atom"))
    assert draft.send(participant).status_code == 404

    draft.organiser.post(f"/organise/challenges/{draft.code}/view-as", data={"is_visitor": "true"})
    seen = draft.organiser.get(board)
    draft.organiser.post("/organise/view-as/end")
    assert (seen.status_code, "Whitebeam" in seen.text) == (200, True)

    with draft.platform.transaction() as session:
        uploads = session.scalars(select(Upload).where(Upload.phase_id == phase_of(draft))).all()
        archives = {content_key(str(each.sha256), each.id) for each in uploads}
        statistics = {
            str(key)
            for key in session.scalars(select(Run.statistics_key).where(Run.team_id == uploads[0].team_id))
        }
    opened = draft.organiser.post(f"{NEW}/{draft.code}/open")
    draft.work()

    assert opened.status_code == 303, words(opened.text)
    assert (len(archives), len(statistics)) == (3, 3)
    assert draft.remains() == {}
    assert draft.organiser.get(own).status_code == 404
    shown = visitor.get(board)
    assert (shown.status_code, "Whitebeam" in shown.text) == (200, False)
    assert "Test run" not in draft.place.page(f"/organise/challenges/{draft.code}")
    assert not archives & {each.key for each in draft.platform.archives.contents()}
    with draft.platform.transaction() as session:
        assert retention.removable(session, "truth", statistics) == statistics  # which the daily sweep does
        cleared = session.scalars(
            select(AuditRecord.details)
            .join(Challenge, AuditRecord.challenge_id == Challenge.id)
            .where(AuditRecord.action == "challenge.clear_tests", Challenge.code == draft.code)
        ).all()
    assert cleared == [{"uploads": 3, "publications": 3}]
    assert draft.test("Whitebeam")  # as one of the first submissions of the open challenge


def phase_of(draft: Draft) -> int:
    with draft.platform.transaction() as session:
        statement = select(Phase.id).where(Phase.challenge_id == draft.id, Phase.image_set == "test")
        return session.scalars(statement).one()


def test_a_draft_that_opens_by_itself_deletes_test_runs_that_wait(draft: Draft) -> None:
    draft.test("Rowan")
    draft.send(draft.organiser)
    with draft.platform.transaction() as session:
        with pytest.raises(ConflictError, match="test runs"):
            visibility.open_challenge(
                session, Actor(), session.get_one(Challenge, draft.id), datetime.now(UTC)
            )
        past = func.now() - timedelta(minutes=1)
        session.execute(
            update(ChallengeDraft).where(ChallengeDraft.challenge_id == draft.id).values(opens_at=past)
        )

    drafts.open_due(draft.platform)
    draft.work()

    with draft.platform.transaction() as session:
        assert session.get_one(Challenge, draft.id).visibility is ChallengeVisibility.LISTED
    assert draft.remains() == {}


def test_whoever_submits_while_the_draft_opens_finds_the_upload_deleted(draft: Draft) -> None:
    upload = draft.send(draft.organiser).json()["id"]
    waits = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with ThreadPoolExecutor(1) as late:
        with draft.platform.transaction() as session:
            challenge = challenges.challenge_of(session, draft.code, lock=True)
            assert challenge is not None
            answer = late.submit(draft.submit, upload, "Rowan")
            assert eventually(lambda: bool(session.scalar(waits)))
            testing.delete_all(session, None, challenge)
        refused = answer.result(LIMIT)

    assert refused.status_code == 404
    assert draft.remains() == {}


@pytest.mark.sampled
def test_only_what_was_published_in_a_draft_can_be_deleted_from_publications(draft: Draft) -> None:
    opened = draft.organiser.post(f"{NEW}/{draft.code}/open")
    draft.test("Rowan")
    draft.work()
    call = select(func.delete_test_publications(draft.id))

    assert opened.status_code == 303
    with pytest.raises(DBAPIError, match="is not a draft"), draft.platform.transaction() as session:
        session.execute(call)
    with draft.platform.transaction() as session:  # as somebody who runs SQL in the web process
        values = {"visibility": ChallengeVisibility.DRAFT, "opened_at": None}
        session.execute(update(Challenge).where(Challenge.id == draft.id).values(values))
        assert session.scalar(call) == 0
        session.rollback()
    assert draft.remains()["publication"] == 1


@pytest.mark.sampled
def test_making_the_phases_again_and_deleting_a_draft_delete_its_test_runs(draft: Draft) -> None:
    draft.test("Rowan")
    draft.work()
    draft.place.save(draft.code, "scoring", protocol="voc2007", own="mean", others="live")

    made = draft.organiser.post(f"{NEW}/{draft.code}/phases")
    do_all(draft.platform)

    assert made.status_code == 303
    assert draft.remains() == {}
    assert "A test run advisable" in draft.place.page(f"/organise/challenges/{draft.code}")
    draft.test("Alder")
    assert draft.organiser.post(f"{NEW}/{draft.code}/delete").status_code == 303


@pytest.mark.sampled
def test_a_draft_whose_phase_was_scored_again_and_asked_about_is_made_again_and_deleted(draft: Draft) -> None:
    code = draft.code
    rescored = draft.organiser.post(f"/organise/phases/{phase_of(draft)}/rescore")
    asked = draft.organiser.post(
        f"/challenges/{code}/ask", data={"title": "Which classes?", "text": "All?", "image_set": "test"}
    )
    draft.work()
    draft.place.save(code, "scoring", protocol="voc2007", own="mean", others="live")
    made = draft.organiser.post(f"{NEW}/{code}/phases")
    do_all(draft.platform)

    assert (rescored.status_code, asked.status_code, made.status_code) == (303, 303, 303)
    assert "Make the phases" not in draft.place.page(f"/organise/challenges/{code}")
    assert draft.organiser.post(f"{NEW}/{code}/delete").status_code == 303
    assert draft.organiser.get(f"/organise/challenges/{code}").status_code == 404


def test_a_viewer_of_a_draft_makes_no_test_run(draft: Draft, app: FastAPI) -> None:
    viewer = registered(TestClient(app, follow_redirects=False), "viewer.test@example.org")
    new = {"email": "viewer.test@example.org", "role": "viewer"}
    draft.organiser.post(f"/api/v1/organise/challenges/{draft.code}/organisers", json=new).raise_for_status()

    refused = draft.send(viewer)

    assert (refused.status_code, "Only its organisers submit" in refused.text) == (403, True)
