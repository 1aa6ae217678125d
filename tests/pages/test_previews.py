"""New scores under a corrected ground truth: only organisers see them until one of them publishes or discards them."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from sqlalchemy import Text, cast, delete, func, select, text, update
from sqlalchemy.exc import IntegrityError
from starlette.testclient import TestClient

import heldout_scoring
from app.core.access import Actor
from app.core.errors import ConflictError
from app.evaluation import publishing, rescoring
from app.evaluation.publishing import Publishing
from app.evaluation.rescoring import RescoreChoice
from app.jobs import queue
from app.models import (
    Announcement,
    AuditRecord,
    ClassScore,
    DamagedContent,
    Event,
    EventKind,
    GroundTruth,
    Heartbeat,
    Job,
    Phase,
    Queue,
    Rescore,
    Result,
    Run,
    RunState,
)
from app.organising import closing, previews
from app.organising.closing import EarlyClose
from app.platform import Platform
from app.results import withdrawing
from tests.kills import assert_all_or_nothing
from tests.pages.test_accounts import registered
from tests.pages.test_intake_reading import ORGANISE
from tests.pages.test_versions import IMAGES, Scene, coco, detections, people
from tests.system.installations import DESCRIPTION, STATEMENT
from tests.system.rows import Rows, made
from tests.working import do_all

__all__ = ["people"]

SHIFT = 4.0  # pixels, so that boxes of ten pixels no longer match
CANARY = 0.7318529
NAMES = count(1)


def shifted(images: tuple[int, ...] = IMAGES) -> bytes:
    """Results that find every object where the corrected annotation has it, and nothing where it was before."""
    return re.sub(
        rb'"bbox": \[(\d+)', lambda found: b'"bbox": [' + str(int(found[1]) + 4).encode(), detections(images)
    )


@dataclass
class Preview:
    """A re-scoring of two methods under annotation that swaps their ranks."""

    scene: Scene
    rescore: int
    submissions: dict[str, int]

    @property
    def address(self) -> str:
        return f"{ORGANISE}/rescores/{self.rescore}"

    def look(self, **query: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.scene.organiser.get(self.address, params=query).json()
        return found

    def publish(self, seen: str) -> Any:
        return self.scene.organiser.post(f"{self.address}/publish", json={"seen": seen})

    @property
    def competition(self) -> int:
        found: int = self.look()["competition"] or 1
        return found


def scene_of(platform: Platform, people: tuple[TestClient, TestClient]) -> Scene:
    """A challenge with a quota for all tests together: those with the same annotation share theirs."""
    scene = Scene(platform, *people)
    scene.code = scene.challenge()
    assert scene.applied(coco(), quotas="90/7")["version"] == 1
    return scene


def submitted(scene: Scene, content: bytes) -> int:
    """The number of a submission of a public method that is scored."""
    method = {"name": f"Method {next(NAMES)}", "description": DESCRIPTION}
    body = {
        "upload": scene.upload(content)["id"], "method": method, "training": STATEMENT, "make_public": True,
    }  # fmt: skip
    sent = scene.ash.post("/api/v1/submissions", json=body)
    assert sent.status_code == 201, sent.text
    scene.work()
    return int(sent.json()["id"])


def started(scene: Scene) -> Preview:
    """Two methods, annotation that swaps them, and a re-scoring under it that is complete."""
    submissions = {"old": submitted(scene, detections()), "new": submitted(scene, shifted())}
    scene.applied(coco(shift=SHIFT))
    asked = scene.organiser.post(f"{ORGANISE}/{scene.code}/test/rescore")
    assert asked.status_code == 202, asked.text
    scene.work()
    publishing.complete_previews(scene.platform)
    return Preview(scene, asked.json()["rescore"], submissions)


@pytest.fixture
def preview(platform: Platform, people: tuple[TestClient, TestClient]) -> Preview:
    return started(scene_of(platform, people))


@pytest.mark.sampled
def test_who_looked_before_the_scores_were_there_looks_again(
    platform: Platform, people: tuple[TestClient, TestClient]
) -> None:
    scene = scene_of(platform, people)
    submitted(scene, detections())
    scene.applied(coco(shift=SHIFT))
    asked = scene.organiser.post(f"{ORGANISE}/{scene.code}/test/rescore")
    preview = Preview(scene, asked.json()["rescore"], {})
    before = preview.look()
    scene.work()

    refused = preview.publish(before["seen"])

    assert "1 result is not scored yet" in before["refusal"]
    assert refused.status_code == 409
    assert "something has changed since you looked at the preview" in refused.text
    assert preview.publish(preview.look()["seen"]).status_code == 204
    assert scene.shown()[:2] == ({2}, 2)


def told(platform: Platform, phase_id: int, kind: EventKind) -> list[dict[str, Any]]:
    statement = select(Event.details).where(Event.phase_id == phase_id, Event.kind == kind).order_by(Event.id)
    with platform.transaction() as session:
        return list(session.scalars(statement))


def test_boards_of_a_new_ground_truth_switch_only_when_an_organiser_has_published_them(
    preview: Preview,
) -> None:
    scene, phase_id = preview.scene, preview.scene.phase.id
    rescoring.activate_complete(scene.platform)
    publishing.complete_previews(scene.platform)

    assert scene.shown()[:2] == ({1}, 2)
    found = preview.look()
    assert (found["state"], found["version"], found["shown"], found["refusal"]) == ("open", 2, 1, None)
    assert [(row["submission"], row["old"], row["new"], row["old_rank"], row["new_rank"]) for row in found["rows"]] == [
        (preview.submissions["new"], 0.0, 1.0, 2, 1), (preview.submissions["old"], 1.0, 0.0, 1, 2),
    ]  # fmt: skip
    [board] = found["boards"]
    assert (board["methods"], board["changed"], board["moved"], board["failed"], board["waiting"]) == (
        2,
        2,
        2,
        0,
        0,
    )
    assert told(scene.platform, phase_id, EventKind.PREVIEW) == [
        {"rescore": preview.rescore, "version": 2, "state": "ready"}
    ]
    assert "The scores of test under version 2 are ready" in scene.page(f"/organise/challenges/{scene.code}")
    page = scene.page(f"/organise/rescores/{preview.rescore}")
    assert "Publish the new scores" in page
    assert "+100.0" in page

    refused = preview.publish("something else")
    assert (refused.status_code, "something has changed since you looked" in refused.text) == (409, True)
    assert scene.shown()[0] == {1}
    published = preview.publish(found["seen"])
    assert published.status_code == 204, published.text

    assert scene.shown()[:2] == ({2}, 2)
    [event] = told(scene.platform, phase_id, EventKind.RESCORED)
    assert event == {
        "rescore": preview.rescore,
        "results": 2,
        "ranks": 2,
    }
    with scene.platform.transaction() as session:
        code = select(Phase.challenge_id).where(Phase.id == phase_id).scalar_subquery()
        titles = session.scalars(select(Announcement.title).where(Announcement.challenge_id == code)).all()
    assert "test: ground truth corrected" in titles
    audit = scene.page(f"/organise/challenges/{scene.code}/audit")
    assert f"published the scores of re-scoring {preview.rescore} of test" in audit
    again = preview.publish(found["seen"])
    assert (again.status_code, "its boards have switched already" in again.text) == (409, True)
    assert "The boards switched" in scene.page(f"/organise/rescores/{preview.rescore}")


@pytest.mark.sampled
def test_what_scoring_again_would_do_is_told_before_it_starts(platform: Platform, people: Any) -> None:
    scene = scene_of(platform, people)
    address = f"{ORGANISE}/{scene.code}/test/rescore"
    scene.applied(coco(shift=SHIFT))
    empty = scene.organiser.get(address).json()
    submitted(scene, detections())

    planned = scene.organiser.get(address).json()

    assert (empty["runs"], empty["version"], empty["shown"], empty["confirmed"]) == (0, 2, 1, True)
    assert (planned["runs"], planned["confirmed"]) == (1, False)
    listed = scene.page(f"/organise/challenges/{scene.code}/ground-truth")
    assert "Makes 1 run, one for each result on the boards" in listed
    assert "and publish the new scores or discard them" in listed
    with platform.transaction() as session:
        assert not rescoring.has_open_rescore(session, scene.phase.id)


@pytest.mark.sampled
def test_nobody_but_organisers_meets_a_preview_by_any_address(
    preview: Preview, app: FastAPI, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, platform = preview.scene, preview.scene.platform
    with platform.transaction() as session:
        runs = session.scalars(select(Run.id).where(Run.rescore_id == preview.rescore)).all()
        canary = update(ClassScore).where(ClassScore.run_id.in_(runs))
        session.execute(canary.values(value=CANARY, held_out_value=CANARY))
        result = session.scalars(select(Run.result_id).where(Run.id == runs[0])).one()
        session.execute(
            text("UPDATE run SET receipt = 'canary ' || id WHERE id = ANY(:ids)"), {"ids": [*runs]}
        )
    viewer = registered(
        TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False),
        f"viewer.{scene.code}@example.org",
    )
    new = {"email": f"viewer.{scene.code}@example.org", "role": "viewer"}
    scene.organiser.post(f"{ORGANISE}/challenges/{scene.code}/organisers", json=new).raise_for_status()
    visitor = TestClient(app, headers={"Accept": "application/json"})
    withdrawn = scene.organiser.post(f"/api/v1/results/{result}/withdraw", json={"reason": "a test"})
    assert withdrawn.is_success, withdrawn.text
    do_all(platform)  # mail, notifications and webhooks

    addresses = sorted({*_addresses(app, scene, preview, runs)})
    capsys.readouterr()
    found = [
        (reader, address)
        for reader, client in (("member", scene.ash), ("viewer", viewer), ("visitor", visitor))
        for address in addresses
        if _leaks(f"{(answer := client.get(address)).text} {answer.headers}")
    ]
    logged = "".join(capsys.readouterr())

    receipts = [scene.ash.get(f"/api/v1/receipts/canary {run}").status_code for run in runs]
    assert (len(addresses) > 100, receipts) == (True, [404] * len(runs))
    assert found == []
    assert not _leaks(logged)
    assert any(_leaks(scene.organiser.get(address).text) for address in addresses)  # the canary sings
    with platform.transaction() as session:
        rest = (
            session.scalars(select(cast(Event.details, Text))).all(),
            session.scalars(select(cast(Job.payload, Text))).all(),
        )
    assert not _leaks(str(rest))


def _addresses(app: FastAPI, scene: Scene, preview: Preview, runs: Any) -> Iterator[str]:
    """Every address to read of the challenge, its boards, submissions and runs, those of the re-scoring included."""
    mine = scene.ash.get("/api/v1/submissions").json()
    known: dict[str, list[Any]] = {
        "challenge": [scene.code], "image_set": ["test"], "competition": [preview.competition], "phase_id": [scene.phase.id],
        "run_id": [*runs], "submission_id": [*preview.submissions.values()], "rescore_id": [preview.rescore],
        "method_id": sorted({each["method_id"] for each in mine if "method_id" in each}), "version": [1, 2],
        "before": [1], "name": ["mean"],
        "team_id": sorted({each["team_id"] for each in mine if "team_id" in each}),
    }  # fmt: skip
    for route in app.routes:
        if (
            not isinstance(route, APIRoute)
            or "GET" not in (route.methods or ())
            or route.path.startswith("/docs")
        ):
            continue
        wanted = re.findall(r"{(\w+)(?::\w+)?}", route.path)
        if not all(name in known for name in wanted):
            continue
        most = max((len(known[name]) for name in wanted), default=1)
        for place in range(most):
            address = route.path
            for name in wanted:
                value = known[name][place % len(known[name])] if known[name] else 0
                address = re.sub(rf"{{{name}(:\w+)?}}", str(value), address)
            yield address


def _leaks(content: str) -> bool:
    return any(part in content for part in ("73.2", "0.732", "7318529", "canary"))


@pytest.mark.sampled
def test_a_result_that_arrives_meanwhile_is_shown_under_the_old_version_and_switches_with_the_rest(
    preview: Preview,
) -> None:
    scene = preview.scene
    late = submitted(scene, detections(IMAGES[:3]))

    [result] = scene.ash.get(f"/api/v1/submissions/{late}").json()["results"]
    assert (result["state"], result["shown"]["ground_truth"], result["runs"]) == ("scored", 1, 1)
    counts = [preview.look()]  # before a sweep has queued its run, and after it
    publishing.complete_previews(scene.platform)
    found = preview.look()
    for each in (*counts, found):
        assert (each["late"], each["refusal"], each["boards"][0]["waiting"]) == (1, None, 1)
    assert preview.publish(found["seen"]).status_code == 204
    page = f"/organise/rescores/{found['id']}"
    polled = scene.organiser.get(page, headers={"HX-Request": "true"})
    assert (polled.status_code, f'hx-get="{page}"' in polled.text, "HX-Refresh" in polled.headers) == (
        200,
        True,
        False,
    )
    assert scene.shown()[0] == {1}  # the late result is not scored under the new version yet
    again = preview.publish(found["seen"])
    assert (again.status_code, "has published the new scores" in again.text) == (409, True)
    scene.work()

    assert scene.shown()[0] == {2}
    polled = scene.organiser.get(page, headers={"HX-Request": "true"})
    assert ("The boards switched" in polled.text, polled.headers.get("HX-Refresh")) == (True, "true")
    for number in (*preview.submissions.values(), late):
        [result] = scene.ash.get(f"/api/v1/submissions/{number}").json()["results"]
        assert (result["shown"]["ground_truth"], result["runs"]) == (2, 2)


@pytest.mark.sampled
def test_teams_whose_checked_archives_no_longer_fit_are_told_when_the_new_version_is_published(
    platform: Platform, people: Any
) -> None:
    scene = scene_of(platform, people)
    submitted(scene, detections(IMAGES[:-1]))
    assert scene.upload(detections(), "waiting.json")["valid"]
    scene.applied(coco(IMAGES[:-1]), accept_changes=True)
    rescore = scene.organiser.post(f"{ORGANISE}/{scene.code}/test/rescore").json()["rescore"]
    scene.work()
    preview = Preview(scene, rescore, {})
    assert told(platform, scene.phase.id, EventKind.UPLOAD_OUTDATED) == []

    assert preview.publish(preview.look()["seen"]).status_code == 204

    assert told(platform, scene.phase.id, EventKind.UPLOAD_OUTDATED) == [{"uploads": 1, "version": 2}]
    do_all(platform)
    lines = [each["sentence"] for each in scene.ash.get("/api/v1/notifications").json()["notifications"]]
    assert any(
        "a valid archive that is not submitted was checked by an earlier one" in line for line in lines
    )


@pytest.mark.sampled
def test_newer_annotation_beside_a_preview_is_not_published_over(preview: Preview) -> None:
    seen = preview.look()["seen"]
    preview.scene.applied(coco(shift=SHIFT + 1))

    refused = preview.publish(seen)

    assert (refused.status_code, "version 3 of the ground truth was applied meanwhile" in refused.text) == (
        409,
        True,
    )
    assert preview.scene.shown()[:2] == ({1}, 3)
    assert "Version 3 of the ground truth was applied meanwhile" in preview.scene.page(
        f"/organise/rescores/{preview.rescore}"
    )
    assert preview.scene.organiser.post(f"{preview.address}/abandon").status_code == 204
    assert preview.scene.organiser.post(f"{ORGANISE}/{preview.scene.code}/test/rescore").status_code == 202


# rows written straight into the database


@dataclass(frozen=True, slots=True)
class Shadow:
    """A phase with scored results, and a re-scoring of them under another ground truth that is complete."""

    rows: Rows
    rescore: int
    results: tuple[int, ...]

    @property
    def platform(self) -> Platform:
        return self.rows.platform

    @property
    def actor(self) -> Actor:
        with self.platform.transaction() as session:
            challenge = session.get_one(Phase, self.rows.phase_id).challenge_id
        return Actor(user_id=self.rows.user_id, organises=frozenset({challenge}))

    @property
    def seen(self) -> Publishing:
        with self.platform.transaction() as session:
            return Publishing(seen=publishing.readiness(session, session.get_one(Rescore, self.rescore)).seen)

    def publish(self, seen: Publishing | None = None) -> None:
        publishing.publish(self.platform, self.actor, self.rescore, seen or self.seen)

    def runs(self) -> list[int]:
        statement = select(Run.id).where(Run.rescore_id == self.rescore).order_by(Run.id)
        with self.platform.transaction() as session:
            return list(session.scalars(statement))


def shadow(platform: Platform, *means: float, is_complete: bool = True) -> Shadow:
    """A phase with a result of each of these means, which all become the rest to one under the new ground truth."""
    rows = made(platform)
    results = tuple(rows.result(mean=mean) for mean in means or (0.25, 0.5))
    rescore = rescoring.rescore_phase(platform, None, rows.phase_id)
    if is_complete:
        for result, mean in zip(results, means or (0.25, 0.5), strict=True):
            rows.end(rows.run_of(result), RunState.SCORED, 1 - mean)
    return Shadow(rows, rescore, results)


def means(scene: Shadow) -> list[float]:
    """The means on the board, the lowest first."""
    return sorted(mean for mean in scene.rows.standing().values() if mean is not None)


def after(shadow: Shadow) -> dict[str, Any]:
    """Everything that publishing, discarding or pausing changes, without ids and times."""
    challenge = select(Phase.challenge_id).where(Phase.id == shadow.rows.phase_id).scalar_subquery()
    with shadow.platform.transaction() as session:
        rescore = session.get_one(Rescore, shadow.rescore)
        scores = select(ClassScore.value).join(Run, Run.id == ClassScore.run_id)
        return {
            "standing": sorted(str(mean) for mean in shadow.rows.standing().values()),
            "published": [len(shadow.rows.published(result)) for result in shadow.results],
            "states": [
                (
                    each.confirmed_at is None,
                    each.activated_at is None,
                    each.abandoned_at is None,
                    each.paused_at is None,
                )
                for each in (rescore,)
            ],
            "runs": sorted(session.scalars(select(Run.state).where(Run.rescore_id == shadow.rescore))),
            "scores": sorted(session.scalars(scores.where(Run.rescore_id == shadow.rescore))),
            "events": sorted(
                session.scalars(select(Event.kind).where(Event.phase_id == shadow.rows.phase_id))
            ),
            "news": session.scalar(
                select(func.count()).select_from(Announcement).where(Announcement.challenge_id == challenge)
            ),
            "audit": sorted(
                session.scalars(select(AuditRecord.action).where(AuditRecord.challenge_id == challenge))
            ),
        }


@pytest.mark.sampled
@pytest.mark.parametrize(
    "operate",
    [
        lambda scene: scene.publish(),
        lambda scene: rescoring.abandon(scene.platform, scene.actor, scene.rescore),
        lambda scene: publishing.pause(scene.platform, scene.actor, scene.rescore),
    ],
    ids=["publish", "discard", "pause"],
)
def test_a_killed_process_leaves_a_preview_as_it_was_or_does_all(
    platform: Platform, operate: Callable[[Shadow], None]
) -> None:
    assert_all_or_nothing(platform, lambda: shadow(platform), operate, after)


def test_of_two_organisers_at_once_one_wins_and_the_other_is_told(platform: Platform) -> None:
    scene = shadow(platform)
    seen, actor = scene.seen, scene.actor
    acts: list[Callable[[], object]] = [
        lambda: scene.publish(seen),
        lambda: rescoring.abandon(platform, actor, scene.rescore),
        lambda: scene.publish(seen),
    ]

    with ThreadPoolExecutor(len(acts)) as together:
        done = [together.submit(act) for act in acts]
    refused = [str(each.exception()) for each in done if each.exception() is not None]

    assert len(refused) == 2
    assert all(f"re-scoring {scene.rescore} is over: " in sentence for sentence in refused)
    assert means(scene) in ([0.25, 0.5], [0.5, 0.75])


def test_who_publishes_beside_an_early_close_is_told_to_look_again(platform: Platform) -> None:
    scene = shadow(platform)
    seen = scene.seen
    with platform.transaction() as session:
        closes = func.now() + timedelta(days=1)
        session.execute(
            update(Phase)
            .where(Phase.id == scene.rows.phase_id)
            .values(closes_at=closes, opens_at=func.now() - timedelta(days=2))
        )
    with pytest.raises(ConflictError, match="such as the dates of the phase"):
        scene.publish(seen)
    seen = scene.seen
    closing.close_early(
        platform,
        scene.actor,
        scene.rows.phase_id,
        EarlyClose(closes_at=None, reason="An error in the images"),
    )

    with pytest.raises(ConflictError, match="something has changed since you looked at the preview"):
        scene.publish(seen)

    assert means(scene) == [0.25, 0.5]
    scene.publish()
    assert means(scene) == [0.5, 0.75]


def test_teams_are_told_if_only_the_rank_of_a_method_changes(platform: Platform) -> None:
    scene = shadow(platform, 0.5, 0.75)  # become 0.5 and 0.25

    scene.publish()

    assert told(platform, scene.rows.phase_id, EventKind.RESCORED) == [
        {"rescore": scene.rescore, "results": 1, "ranks": 2}
    ]


def test_a_damaged_archive_blocks_publishing_until_an_organiser_has_decided(platform: Platform) -> None:
    scene = shadow(platform, is_complete=False)
    damaged, other = scene.runs()
    scene.rows.end(other, RunState.SCORED, 0.9)
    with platform.transaction() as session:
        content = DamagedContent(store="archives", key=f"key {damaged}", what="stored archive")
        session.add(content)
        session.flush()
        session.execute(update(Job).where(Job.run_id == damaged).values(damaged_content_id=content.id))
    with pytest.raises(ConflictError, match="1 result could not be scored; decide about each of them first"):
        scene.publish()
    with platform.transaction() as session:
        [view] = rescoring.open_rescores(session, [scene.rows.phase_id]).values()
    assert [(each.run, each.damaged) for each in view.undecided] == [(damaged, "stored archive")]
    with pytest.raises(ConflictError, match="once the damaged data is repaired"):
        rescoring.decide(platform, scene.actor, damaged, RescoreChoice.RETRY)

    rescoring.decide(platform, scene.actor, damaged, RescoreChoice.KEEP, "publish without it")

    scene.publish()
    assert scene.rows.standing() == dict(zip(scene.results, (0.25, 0.9), strict=True))
    assert rescoring.queue_outdated(platform) == 0
    with platform.transaction() as session:
        assert not session.scalars(select(Job.id).where(Job.run_id == damaged)).all()


def test_a_preview_is_complete_without_results_that_were_withdrawn_meanwhile(platform: Platform) -> None:
    scene = shadow(platform, is_complete=False)
    _, other = scene.runs()
    withdrawing.withdraw(platform, scene.actor, scene.results[0], "a test")
    scene.rows.end(other, RunState.SCORED, 0.9)

    view = previews.preview(platform, scene.actor, scene.rescore)

    assert view.rescore is not None
    assert (view.rescore.has_preview, view.refusal, [row.new for row in view.rows]) == (True, None, [0.9])
    scene.publish()
    assert scene.rows.standing() == {scene.results[1]: 0.9}


def test_runs_of_a_paused_rescoring_are_held_and_keep_their_places(platform: Platform) -> None:
    scene = shadow(platform, is_complete=False)
    with pytest.raises(ConflictError, match="2 results are not scored yet"):
        scene.publish()

    publishing.pause(platform, scene.actor, scene.rescore)
    publishing.pause(platform, scene.actor, scene.rescore)  # is paused already

    assert claimable(scene) == []
    ordinary = scene.rows.result()
    assert claimable(scene) == [scene.rows.run_of(ordinary)]
    publishing.resume(platform, scene.actor, scene.rescore)
    assert claimable(scene) == [scene.rows.run_of(ordinary), *scene.runs()]
    with platform.transaction() as session:
        acts = session.scalars(
            select(AuditRecord.action)
            .where(AuditRecord.subject == f"re-scoring {scene.rescore}")
            .order_by(AuditRecord.id)
        )
        assert list(acts) == ["rescore.request", "rescore.pause", "rescore.resume"]


def claimable(scene: Shadow) -> list[int]:
    """The runs of the phase that a worker could claim, in that order."""
    due = queue.first_due(Queue.RUNS, heldout_scoring.SCORER).with_only_columns(Job.run_id).limit(None)
    with scene.platform.transaction() as session:
        found = session.scalars(due).all()
        of_phase = (
            select(Run.id)
            .join(Result, Run.result_id == Result.id)
            .where(Result.phase_id == scene.rows.phase_id)
        )
        ours = set(session.scalars(of_phase))
        return [run for run in found if run in ours]


def test_scores_that_nobody_publishes_are_discarded_after_thirty_days_with_those_of_withdrawn_results(
    platform: Platform,
) -> None:
    scene = shadow(platform)
    withdrawing.withdraw(platform, scene.actor, scene.results[0], "a test")

    def after_days(days: int) -> list[str]:
        moved = update(Rescore).where(Rescore.id == scene.rescore)
        with platform.transaction() as session:
            session.execute(moved.values(created_at=func.now() - timedelta(days=days)))
            session.execute(delete(Heartbeat))  # so that it is due again
        publishing.expire_previews(platform)
        return [each["state"] for each in told(platform, scene.rows.phase_id, EventKind.PREVIEW)]

    assert after_days(13) == []
    assert (after_days(15), after_days(16)) == (["waiting"], ["waiting"])
    assert after_days(31) == ["waiting", "discarded"]

    with platform.transaction() as session:
        states = session.scalars(select(Run.state).where(Run.rescore_id == scene.rescore)).all()
        scores = session.scalars(
            select(ClassScore.id)
            .join(Run, Run.id == ClassScore.run_id)
            .where(Run.rescore_id == scene.rescore)
        )
        audit = session.scalars(
            select(AuditRecord.user_id).where(
                AuditRecord.action == "rescore.abandon", AuditRecord.subject == f"re-scoring {scene.rescore}"
            )
        ).all()
        assert (set(states), list(scores), audit) == ({RunState.ABANDONED}, [], [None])
    assert scene.rows.standing() == {scene.results[1]: 0.5}
    with pytest.raises(ConflictError, match="its new scores were discarded"):
        scene.publish(Publishing(seen="x"))


def test_no_process_switches_boards_that_nobody_has_confirmed(platform: Platform) -> None:
    scene = shadow(platform)

    with pytest.raises(IntegrityError, match="activated_is_confirmed"), platform.transaction() as session:
        session.get_one(Rescore, scene.rescore).activated_at = func.now()


def test_a_new_scorer_and_a_single_result_switch_by_themselves(platform: Platform) -> None:
    rows = made(platform)
    result = rows.result(mean=0.5)
    with platform.transaction() as session:
        newer = session.get_one(GroundTruth, rows.truths[1])
        session.delete(newer)

    rescoring.rescore_phase(platform, None, rows.phase_id)
    rows.end(rows.run_of(result), RunState.SCORED, 0.6)
    assert rescoring.activate_complete(platform) == 1
    rescoring.rescore_one_result(platform, None, result)
    rows.end(rows.run_of(result), RunState.SCORED, 0.7)
    assert rescoring.activate_complete(platform) == 1

    assert rows.standing() == {result: 0.7}


def test_a_preview_of_many_methods_comes_in_pages(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = shadow(platform, 0.1, 0.2, 0.3, 0.5)
    monkeypatch.setattr(previews, "PAGE", 3)
    first = previews.preview(platform, scene.actor, scene.rescore)
    second = previews.preview(platform, scene.actor, scene.rescore, page=2)
    moved = previews.preview(platform, scene.actor, scene.rescore, only_moved=True)

    assert [(row.new_rank, row.old_rank) for row in (*first.rows, *second.rows)] == [
        (1, 4),
        (2, 3),
        (3, 2),
        (4, 1),
    ]
    assert (first.pages, second.page, len(moved.rows)) == (2, 2, 3)
