"""The organisers' overview and table of everything that arrived, and what is done to many rows at once."""

import csv
import io
import re
import tarfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from app.models import (
    Announcement,
    AuditRecord,
    Challenge,
    ChallengeDraft,
    ChallengeInvitation,
    ChallengeOrganiser,
    ChallengeRole,
    ExtraSlot,
    Intake,
    Method,
    Phase,
    Quota,
    Result,
    ResultState,
    RunState,
    Submission,
    Team,
    Upload,
    UploadState,
    User,
)
from app.organising import roles, submissions
from app.organising.bulk import WITH_REASON, Bulk
from app.platform import Platform
from app.storage import digest_of
from app.submissions import quotas
from tests.pages.conftest import Browser
from tests.pages.statements import asked
from tests.pages.test_accounts import registered
from tests.pages.test_threads import fill_threads
from tests.pages.views import report
from tests.patience import take_time
from tests.second_factors import give_second_factor
from tests.system.rows import Rows, described, made

NAMES = iter(range(1000))


@dataclass(frozen=True, slots=True)
class Scene:
    """A challenge with rows of its own, its owner, and a viewer."""

    rows: Rows
    code: str
    owner: TestClient
    viewer: TestClient

    @property
    def here(self) -> str:
        return f"/organise/challenges/{self.code}"

    def table(self, **query: Any) -> Any:
        found = self.owner.get(f"/api/v1{self.here}/submissions", params=query)
        assert found.status_code == 200, found.text
        return found.json()

    def states(self, **query: Any) -> list[str]:
        return [row["state"] for row in self.table(**query)["rows"]]

    def key(self, result: int) -> str:
        return f"r{result}.{self.rows.run_of(result)}"

    def bulk(self, action: str, *keys: str, reason: str = "because") -> Any:
        sent = {"action": action, "rows": keys, "reason": reason}
        return self.owner.post(f"/api/v1{self.here}/submissions/bulk", json=sent).json()


@pytest.fixture
def scene(browser: Browser, platform: Platform, tmp_path: Path) -> Scene:
    rows = described(platform, tmp_path)
    with platform.transaction() as session:
        code = session.get_one(Challenge, session.get_one(Phase, rows.phase_id).challenge_id).code
    people: dict[str, Any] = {}
    for role in ("owner", "viewer"):
        email = f"{role}{next(NAMES)}@table.example.org"
        people[role] = registered(browser(), email)
        roles.grant(platform, email, roles.Grant.ORGANISER, code)
        people[f"{role} email"] = email
    owner = people["owner"]
    page = f"/api/v1/organise/challenges/{code}/organisers"
    [viewer] = [
        each for each in owner.get(page).json()["organisers"] if each["email"] == people["viewer email"]
    ]
    assert owner.put(f"{page}/{viewer['id']}", json={"role": "viewer"}).status_code == 204
    return Scene(rows, code, owner, people["viewer"])


def add_upload(of: Rows, name: str = "results.zip", **values: Any) -> uuid.UUID:
    """An upload that was not submitted."""
    with of.platform.transaction() as session:
        upload = Upload(
            phase_id=of.phase_id, team_id=of.team_id, user_id=of.user_id, filename=name, size=1, **values
        )
        session.add(upload)
        session.flush()
        return upload.id


def invalid_upload(of: Rows) -> uuid.UUID:
    return add_upload(of, state=UploadState.CHECKED, valid=False, report=report(valid=False))


def test_the_table_has_everything_that_arrived_in_every_state(scene: Scene) -> None:
    rows = scene.rows
    invalid_upload(rows)
    add_upload(rows, state=UploadState.CHECKED, valid=True, report=report(valid=True))
    add_upload(rows, state=UploadState.EXPIRED, removed_at=func.now())
    rows.result(mean=0.5)
    failed = rows.result()
    with rows.platform.transaction() as session:
        session.get_one(Result, failed).state = ResultState.FAILED
    rows.end(rows.run_of(failed), RunState.FAILED)
    rows.result()

    assert scene.states() == ["queued", "failed", "scored", "expired", "valid", "invalid"]
    assert scene.states(state="invalid") == ["invalid"]
    assert scene.states(state="queued") == ["queued"]
    assert scene.states(task="detection") == ["queued", "failed", "scored", "valid", "invalid"]
    assert scene.states(task="segmentation") == []
    assert scene.states(text="method 2") == ["failed"]
    assert scene.states(text=f"#{failed}") == ["failed"]  # the number alone may be in a name
    assert scene.states(text="nothing like it") == []
    assert scene.states(team=rows.team_id, since="2026-01-01") == scene.states()
    assert scene.states(team=rows.other_team()) == scene.states(until="2026-01-01") == []
    page = scene.owner.get(f"{scene.here}/submissions", params={"state": "invalid"}).text
    assert re.search(r"invalid: 22 problems|invalid: \d+ problems", page)
    assert 'href="/uploads/' in page


def test_pages_follow_each_other_and_the_csv_has_all_rows(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [scene.rows.result(mean=number / 10) for number in range(5)]
    other = made(scene.rows.platform)
    theirs = other.result(mean=0.9)
    monkeypatch.setattr(submissions, "PAGE", 2)
    monkeypatch.setattr(submissions, "BATCH", 2)

    seen: list[int] = []
    after: str | None = ""
    for _ in range(3):
        page = scene.table(after=after)
        seen += [row["result"] for row in page["rows"]]
        after = page["next"]
    answer = scene.viewer.get(f"{scene.here}/submissions.csv")
    lines = list(csv.DictReader(io.StringIO(answer.text)))

    assert (seen, after) == (results[::-1], None)
    assert [int(line["result"]) for line in lines] == results[::-1]
    assert theirs not in seen
    assert {line["mean"] for line in lines} == {"0.0", "0.1", "0.2", "0.3", "0.4"}
    for wrong in (
        {"after": "x"},
        {"after": "20260101T000000.000000Z_1_2"},
        {"state": "none"},
        {"since": "soon"},
    ):
        assert scene.owner.get(f"{scene.here}/submissions", params=wrong).status_code == 422


def test_results_of_one_task_say_on_which_data_their_method_was_trained(scene: Scene) -> None:
    given, other = scene.rows.result(), scene.rows.result()
    with scene.rows.platform.transaction() as session:
        session.get_one(Result, given).competition = 3
        session.get_one(Result, other).competition = 4

    named = {row["result"]: row["task"] for row in scene.table()["rows"]}
    page = scene.owner.get(f"{scene.here}/submissions").text

    assert named == {given: "Detection, given data", other: "Detection, any data"}
    assert all(name in page for name in named.values())


def test_archives_come_as_one_tar_with_a_list_and_equal_bytes(scene: Scene) -> None:
    rows = scene.rows
    content = b"predictions" * 1000
    with rows.platform.transaction() as session:
        upload = Upload(
            id=uuid.uuid4(), phase_id=rows.phase_id, team_id=rows.team_id, user_id=rows.user_id,
            filename="../evil name.zip", size=len(content), received=len(content), state=UploadState.CHECKED, valid=True,
            report=report(valid=True),
        )  # fmt: skip
        upload.sha256 = digest_of(rows.platform.archives.put(content, upload.id))
        session.add(upload)
    invalid_upload(rows)

    first, second = (scene.owner.get(f"{scene.here}/archives.tar") for _ in range(2))
    chosen = scene.owner.get(f"{scene.here}/archives.tar", params={"rows": [f"u{upload.id}"]})

    assert first.content == second.content
    with tarfile.open(fileobj=io.BytesIO(chosen.content)) as archive:
        [name, listed] = archive.getnames()
        stored = archive.extractfile(name)
        table = archive.extractfile(listed)
        assert stored is not None
        assert table is not None
        assert (name, stored.read()) == (f"test/upload-{upload.id}/_evil_name.zip", content)
        assert [line["stored"] for line in csv.DictReader(io.StringIO(table.read().decode()))] == ["yes"]
    assert scene.viewer.get(f"{scene.here}/archives.tar").status_code == 403


def state_of(rows: Rows, result: int) -> tuple[str, bool, bool]:
    """The state of a result, whether its quota was given back, and whether its method is public."""
    with rows.platform.transaction() as session:
        row = session.get_one(Result, result)
        is_public = session.get_one(Method, row.method_id).public_at is not None
        return row.state.value, row.refunded_at is not None, is_public


def test_what_is_done_to_many_is_shown_first_and_done_once(scene: Scene) -> None:
    rows = scene.rows
    scored, waiting, private = rows.result(mean=0.5), rows.result(), rows.result(mean=0.4, is_public=False)
    upload = invalid_upload(rows)
    keys = [scene.key(each) for each in (scored, waiting, private)] + [f"u{upload}"]

    shown = scene.owner.post(f"{scene.here}/submissions/preview", data={"action": "withdraw", "rows": keys})
    assert "<h1>3 results to be withdrawn</h1>" in shown.text
    assert "It was not submitted" in shown.text
    assert state_of(rows, scored) == ("scored", False, True)
    for action in WITH_REASON:
        asked_for = scene.owner.post(
            f"{scene.here}/submissions/preview", data={"action": action, "rows": keys}
        )
        missing = scene.owner.post(f"{scene.here}/submissions/bulk", data={"action": action, "rows": keys})
        asks = action is not Bulk.REFUND  # no result counts in this phase, so there is nothing to refund
        assert ('name="reason"' in asked_for.text, missing.status_code) == (asks, 422)
        assert "the teams read it" in missing.text

    assert scene.bulk("cancel", *keys)["done"] == 1
    assert state_of(rows, waiting) == ("withdrawn", False, True)
    with rows.platform.transaction() as session:
        submission = session.get_one(Result, waiting).submission_id
        sent = session.get_one(Upload, session.get_one(Submission, submission).upload_id)
        sent.received_at = sent.checked_at = func.now()
    told = " ".join(scene.owner.get(f"/submissions/{submission}").text.split())
    assert re.search(
        r"The organisers cancelled it .*, before it was started: because\. It cost nothing", told
    )
    assert scene.bulk("hide", *keys) == {
        "done": 2, "skipped": {"it was not submitted": 1, "its method is not public": 1},
    }  # fmt: skip
    assert state_of(rows, scored) == ("scored", False, False)
    assert scene.bulk("hide", *keys)["done"] == 0
    assert scene.bulk("show", *keys)["done"] == 2
    assert state_of(rows, scored) == ("scored", False, True)
    assert scene.bulk("withdraw", *keys, reason="a wrong team")["done"] == 2
    assert scene.bulk("withdraw", *keys, reason="a wrong team") == {
        "done": 0, "skipped": {"This result has already been withdrawn": 3, "it was not submitted": 1},
    }  # fmt: skip
    with rows.platform.transaction() as session:
        subjects = [f"result {each}" for each in (scored, waiting, private)]
        done = select(AuditRecord.action).where(AuditRecord.subject.in_(subjects)).order_by(AuditRecord.id)
        assert list(session.scalars(done)) == ["result.cancel", "result.withdraw", "result.withdraw"]


def test_failed_runs_are_run_again_once(scene: Scene) -> None:
    rows = scene.rows
    failed = [rows.result() for _ in range(2)]
    for each in failed:
        rows.end(rows.run_of(each), RunState.FAILED)
        with rows.platform.transaction() as session:
            session.get_one(Result, each).state = ResultState.FAILED
    keys = [scene.key(each) for each in failed]

    assert scene.bulk("run again", *keys)["done"] == 2
    assert scene.bulk("run again", *keys) == {"done": 0, "skipped": {"it was scored again meanwhile": 2}}
    assert [state_of(rows, each)[0] for each in failed] == ["pending", "pending"]
    assert all(len(rows.unfinished(each)) == 1 for each in failed)


@pytest.mark.sampled
@pytest.mark.parametrize("action", ["run again", "cancel", "withdraw", "refund", "hide", "show"])
def test_rows_of_another_challenge_are_left_alone(scene: Scene, action: str) -> None:
    other = made(scene.rows.platform)
    theirs = [other.result(mean=0.5), other.result(), other.result(mean=0.1, is_public=False)]
    before = [state_of(other, each) for each in theirs]
    keys = [f"r{each}" for each in theirs] + [f"u{invalid_upload(other)}"]

    assert scene.bulk(action, *keys) == {"done": 0, "skipped": {}}
    shown = scene.owner.post(f"{scene.here}/submissions/preview", data={"action": action, "rows": keys})
    assert "None of the selected rows is in this challenge" in shown.text
    assert [state_of(other, each) for each in theirs] == before
    assert [len(other.unfinished(each)) for each in theirs] == [0, 1, 0]
    archive = scene.owner.get(f"{scene.here}/archives.tar", params={"rows": keys})
    with tarfile.open(fileobj=io.BytesIO(archive.content)) as opened:
        assert opened.getnames() == ["archives.csv"]


def test_a_hidden_method_stays_private_until_an_organiser_shows_it(scene: Scene) -> None:
    rows = scene.rows
    result = rows.result(mean=0.5)
    scene.bulk("hide", f"r{result}", reason="Two methods in one")
    with rows.platform.transaction() as session:
        method_id = session.get_one(Result, result).method_id
        method = session.get_one(Method, method_id)
        assert (method.public_at, method.hide_reason) == (None, "Two methods in one")
    assert scene.owner.get(f"/methods/{method_id}").status_code == 200
    assert scene.owner.get(f"/leaderboards/{scene.code}/test/3").text.count("Two methods in one") == 0


def test_a_viewer_reads_the_table_without_its_actions(scene: Scene) -> None:
    scene.rows.result(mean=0.5)
    invalid = invalid_upload(scene.rows)

    page = scene.viewer.get(f"{scene.here}/submissions").text
    sent = {"action": "hide", "rows": ["r1"], "reason": "because"}

    assert 'name="rows"' not in page
    assert "archives.tar" not in page
    assert scene.viewer.get(f"/uploads/{invalid}").status_code == 200
    assert scene.viewer.get(f"/api/v1/uploads/{invalid}/archive").status_code == 404
    assert scene.viewer.post(f"/api/v1{scene.here}/submissions/bulk", json=sent).status_code == 403
    assert scene.viewer.get(f"{scene.here}/ground-truth").status_code == 403


def test_the_overview_says_what_needs_somebody_and_what_goes_wrong(scene: Scene) -> None:
    rows = scene.rows
    invalid_upload(rows)
    rows.result(mean=0.5)
    rows.result()
    other = made(rows.platform)
    invalid_upload(other)

    view = scene.owner.get(f"/api/v1{scene.here}").json()

    assert view["funnel"] == {"uploads": 3, "valid": 0, "submitted": 2, "scored": 1, "public": 1}
    assert [row["state"] for row in view["latest"]] == ["queued", "scored", "invalid"]
    codes = {each["code"]: (each["uploads"], each["teams"]) for each in view["problems"]}
    assert codes == {"field-count": (1, 1), "no-results": (1, 1), "unknown-image": (1, 1)}
    [example] = [each["example"] for each in view["problems"] if each["code"] == "field-count"]
    assert re.match(r"comp3_det_test_car\.txt:\d+: expected 6 fields", example)
    assert "Most frequent problems" in scene.owner.get(scene.here).text
    assert [each["code"] for each in scene.viewer.get(f"/api/v1{scene.here}").json()["problems"]]


def test_extra_slots_are_granted_from_the_page_of_a_team_and_expire(scene: Scene) -> None:
    rows = scene.rows
    page = f"/organise/teams/{rows.team_id}"
    with rows.platform.transaction() as session:
        session.get_one(Phase, rows.phase_id).quotas = (Quota(1, 7),)
        name = session.get_one(Team, rows.team_id).name
    grant = {
        "team": name,
        "task": "detection",
        "number": "2",
        "slot_reason": "A broken worker",
        "back_to_team": str(rows.team_id),
    }

    def free() -> int:
        with rows.platform.transaction() as session:
            return len(quotas.free_slots(session, rows.phase_id, rows.team_id).get("detection", ()))

    def granted(day: str) -> Any:
        return scene.owner.post(f"/organise/phases/{rows.phase_id}/slots", data={**grant, "expires_at": day})

    assert granted("2099-12-31").headers["location"] == page
    assert free() == 2
    assert "2 extra slots" in scene.owner.get(page).text
    assert "@" not in scene.viewer.get(page).text.partition("<main")[2]
    with rows.platform.transaction() as session:
        session.execute(
            update(ExtraSlot).where(ExtraSlot.team_id == rows.team_id).values(expires_at=func.now())
        )
    assert free() == 0
    assert "expired" in scene.owner.get(page).text
    assert scene.owner.get(f"/organise/teams/{made(rows.platform).team_id}").status_code == 404


FILL = """
WITH t AS (
    INSERT INTO team (challenge_id, name, name_key, affiliation, approval, approval_reason, suspension_reason, hides_results)
    SELECT p.challenge_id, 'Team ' || n, gen_random_uuid(), '', 'waiting', '', '', false
    FROM phase p, generate_series(1, :number) n WHERE p.id = :phase RETURNING id, challenge_id),
m AS (
    INSERT INTO method (challenge_id, team_id, name, name_key, title, contributors, affiliation, description, paper_url, code_url,
        is_baseline, public_at, revision)
    SELECT challenge_id, id, 'M' || id, 'filled ' || id, '', '', '', '', '', '', false, now(), 0 FROM t RETURNING id, team_id),
u AS (
    INSERT INTO upload (id, phase_id, team_id, user_id, filename, size, received, state, valid, report)
    SELECT gen_random_uuid(), :phase, team_id, :person, 'm' || id, 1, 1, 'checked', false, '{"problems": [{"code": "a", "message": "b"}]}'
    FROM m RETURNING id, team_id),
s AS (
    INSERT INTO submission (upload_id, phase_id, method_id, user_id, request_digest, training)
    SELECT u.id, :phase, m.id, :person, '', '{}' FROM u JOIN m ON m.team_id = u.team_id RETURNING id, method_id),
r AS (
    INSERT INTO result (submission_id, method_id, phase_id, competition, is_complete, fingerprint, constant_lists, partial_lists,
        is_replaceable, state)
    SELECT id, method_id, :phase, 3, true, '', '[]', '[]', false, 'failed' FROM s RETURNING id),
a AS (
    INSERT INTO audit (user_id, action, subject, reason, challenge_id, details)
    SELECT :person, 'team.approve', 'team ' || t.id, '', challenge_id, '{}' FROM t),
e AS (
    INSERT INTO extra_slot (phase_id, team_id, task, reason) SELECT :phase, id, 'detection', '' FROM t)
SELECT count(*) FROM r
"""
PAGES = ("", "/submissions", "/submissions?columns=person&text=m", "/teams", "/phases", "/ground-truth", "/organisers", "/news",
         "/questions", "/data", "/audit", "/data-sets", "/threads", "/visibility")  # fmt: skip
OF_ADMINS = ("/admin", "/admin/people", "/admin/creators", "/audit", "/organise", "/organise/new")


def fill(rows: Rows, number: int) -> None:
    """Add teams with an upload, a method, a submission and a failed result each, and as many rows of everything else."""
    values = {"number": number, "phase": rows.phase_id, "person": rows.user_id}
    with rows.platform.transaction() as session:
        take_time(session)
        session.execute(text(FILL), values)
        challenge = session.get_one(Phase, rows.phase_id).challenge_id
        code = session.get_one(Challenge, challenge).code
        owner = session.scalars(
            select(ChallengeOrganiser.user_id).where(
                ChallengeOrganiser.challenge_id == challenge, ChallengeOrganiser.role == ChallengeRole.OWNER
            )
        ).first()
        if number:
            fill_more(session, challenge, owner, number)
    if number:
        fill_threads(rows.platform, code, rows.user_id, number)


def fill_more(session: Session, challenge: int, owner: int | None, number: int) -> None:
    """Add people who help to organise, invitations, data sets, news, and drafts of an owner."""
    new = [uuid.uuid4().hex for _ in range(number)]
    people = [{"email": f"{each}@filled.example.org", "name": each} for each in new]
    drafts = [{"code": each, "title": each, "dataset": each, "visibility": "draft"} for each in new]
    added = {
        model: session.scalars(insert(model).returning(model.id), several).all()
        for model, several in ((User, people), (Challenge, drafts))
    }
    helping = [
        {"challenge_id": challenge, "user_id": each, "role": ChallengeRole.ORGANISER} for each in added[User]
    ]
    owning = [
        {"challenge_id": each, "user_id": owner, "role": ChallengeRole.OWNER} for each in added[Challenge]
    ]
    session.execute(insert(ChallengeOrganiser), [*helping, *owning])
    session.execute(insert(ChallengeDraft), [{"challenge_id": each} for each in added[Challenge]])
    of_challenge = {"challenge_id": challenge}
    session.execute(insert(Announcement), [{**of_challenge, "title": each, "text": each} for each in new])
    session.execute(insert(Intake), [{**of_challenge, "user_id": owner}] * number)
    session.execute(
        insert(ChallengeInvitation), [{**of_challenge, "address": f"{each}@x.example"} for each in new]
    )


def queries_of(platform: Platform, person: TestClient, address: str) -> list[str]:
    """The queries that a page needs, without that for the visibility of a challenge, which a process remembers for a moment."""
    with asked(platform) as statements:
        answer = person.get(address)
    assert answer.status_code == 200, (address, answer.text[:300])
    return [each for each in statements if not each.startswith("SELECT challenge.visibility")]


@pytest.mark.sampled
def test_no_page_of_organisers_needs_more_queries_for_more_rows(scene: Scene, browser: Browser) -> None:
    platform = scene.rows.platform
    admin = registered(browser(), "admin@table.example.org")
    admin.post(f"/role-links/{roles.create_admin_link(platform)}")
    give_second_factor(platform, "admin@table.example.org")
    found: dict[int, dict[str, list[str]]] = {}
    addresses = [
        *((scene.owner, each) for each in ("/organise", *(scene.here + page for page in PAGES))),
        *((admin, each) for each in OF_ADMINS),
    ]
    for number in (0, 3, 3000):
        fill(scene.rows, number)
        found[number] = {}
        for person, address in addresses:
            name = f"{'admin' if person is admin else 'owner'} {address}"
            found[number][name] = min((queries_of(platform, person, address) for _ in range(2)), key=len)

    few, many = found[3], found[3000]
    more = {
        each: [statement for statement in many[each] if statement not in few[each]]
        for each in few
        if len(many[each]) > len(few[each])
    }
    assert more == {}
    assert max(map(len, many.values())) <= 30
