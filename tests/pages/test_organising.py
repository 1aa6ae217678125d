"""Organisers see and change their own challenges and no others."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from sqlalchemy import delete, select
from starlette.testclient import TestClient

from app.challenges.disclosure import DISCLOSURE_LEVELS
from app.evaluation import rescoring
from app.jobs import heartbeats
from app.models import AuditRecord, Challenge, Disclosure, Heartbeat, Phase, RunState, Service
from app.organising import roles
from app.organising.roles import Grant
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.second_factors import token_of_admin
from tests.system.rows import made


@dataclass(frozen=True, slots=True)
class Scene:
    """Two challenges with a phase each, and the organiser of one of them."""

    organiser: TestClient
    own: int
    other: int


@pytest.fixture
def scene(browser: Browser, platform: Platform, request: pytest.FixtureRequest) -> Scene:
    name = request.node.name[5:25]
    phases = [add_phase(platform, f"{name} {number}") for number in (1, 2)]
    organiser = registered(browser(), f"{name}@example.org")
    roles.grant(platform, f"{name}@example.org", Grant.ORGANISER, f"{name} 1")
    return Scene(organiser, *phases)


def add_phase(platform: Platform, code: str) -> int:
    """Add a challenge with a phase; return the phase's id."""
    with platform.transaction() as session:
        challenge = Challenge(code=code, title=f"The {code}", dataset="VOC2007")
        session.add(challenge)
        session.flush()
        phase = Phase(
            challenge_id=challenge.id,
            image_set="val",
            disclosure=Disclosure.FULL,
            protocol="voc2007",
            description_key="none",
            opens_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        session.add(phase)
        session.flush()
        return phase.id


def test_an_organiser_sees_the_phases_of_their_challenges(scene: Scene) -> None:
    shown = scene.organiser.get("/api/v1/organise").json()

    assert [each["phase"]["id"] for each in shown] == [scene.own]


def test_an_organiser_cannot_act_in_other_challenges(scene: Scene) -> None:
    ours, theirs, nowhere = (
        scene.organiser.post(f"/organise/phases/{number}/rescore", headers={"Accept": "application/json"})
        for number in (scene.own, scene.other, 999_999)
    )

    assert (ours.json()["detail"], ours.status_code) == (
        "this phase has no ground truth; import it first",
        404,
    )
    assert (theirs.status_code, nowhere.status_code) == (403, 404)
    assert theirs.json()["detail"] == "Only organisers of this challenge may do this"
    assert nowhere.json()["detail"] == "there is no phase 999999"


def test_undecided_runs_are_paged(
    browser: Browser, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = made(platform)
    results = [rows.result(mean=0.5) for _ in range(3)]
    with platform.transaction() as session:
        code = session.get_one(Challenge, session.get_one(Phase, rows.phase_id).challenge_id).code
    organiser = registered(browser(), f"{code}.organiser@example.org")
    roles.grant(platform, f"{code}.organiser@example.org", Grant.ORGANISER, code)
    rescore = organiser.post(f"/api/v1/organise/{code}/test/rescore").json()["rescore"]
    for result in results:
        rows.end(rows.run_of(result), RunState.FAILED)
    monkeypatch.setattr(rescoring, "MOST_UNDECIDED", 2)

    [first] = organiser.get("/api/v1/organise").json()
    last = first["rescore"]["undecided"][1]["run"]
    [following] = organiser.get(f"/api/v1/organise?rescore={rescore}&after={last}").json()
    here = f"/organise/challenges/{code}/ground-truth"
    pages = [organiser.get(f"{here}{query}").text for query in ("", f"?rescore={rescore}&after={last}")]

    assert (first["failed"], first["rescore"]["failed"]) == (0, 3)
    assert [each["result"] for each in first["rescore"]["undecided"]] == results[:2]
    assert [each["result"] for each in following["rescore"]["undecided"]] == results[2:]
    assert f'href="?rescore={rescore}&amp;after={last}#' in pages[0]
    assert "First undecided results" in pages[1]

    shown = {"phase": str(rows.phase_id), "rescore": str(rescore), "after": str(last)}
    assert all(f'name="{name}" value="{value}"' in pages[1] for name, value in shown.items())
    decision = f"/organise/runs/{following['rescore']['undecided'][0]['run']}/decision"
    decided = organiser.post(decision, data={"choice": "keep", **shown}, follow_redirects=False)
    back = organiser.get(decided.headers["Location"], follow_redirects=False)
    assert back.headers["Location"] == f"{here}?rescore={rescore}&after={last}#phase-{rows.phase_id}"


def test_an_organiser_has_no_access_to_admin_pages(scene: Scene) -> None:
    pages = ("/admin", "/admin/storage", "/api/v1/admin/storage", "/api/v1/admin/messages")

    assert {scene.organiser.get(page).status_code for page in pages} == {403}
    assert "Only admins may do this" in scene.organiser.get("/admin").text
    assert 'href="/admin"' not in scene.organiser.get("/organise").text


def test_admins_are_told_if_no_worker_is_alive(browser: Browser, platform: Platform) -> None:
    token = token_of_admin(platform, "watching@localhost", "Watching")
    admin = browser()
    admin.headers["Authorization"] = f"Bearer {token}"
    with platform.transaction() as session:
        session.execute(delete(Heartbeat))
    alone = admin.get("/admin").text
    with platform.transaction() as session:
        heartbeats.write_heartbeat(session, "here:1", Service.WORKER, scorer="1", slots=1)

    assert "No worker was alive in the last minute" in alone
    assert "No worker" not in admin.get("/admin").text


def test_admins_find_what_waits_for_them_first_with_the_page_where_it_is_dealt_with(
    browser: Browser, platform: Platform
) -> None:
    admin = browser()
    admin.headers["Authorization"] = f"Bearer {token_of_admin(platform, 'doing@localhost', 'Doing')}"

    page = admin.get("/admin").text
    needs = page.partition('id="needs"')[2].partition("</section>")[0]

    places = [page.index(f'id="{part}"') for part in ("needs", "health", "queue", "storage", "latest")]
    assert places == sorted(places)
    for address in ("/docs/administer/backup", "/admin/settings#mail"):
        assert f'class="btn to" href="{address}"' in needs


def test_organisers_are_told_if_runs_wait_and_no_worker_is_alive(
    browser: Browser, platform: Platform
) -> None:
    rows = made(platform)
    with platform.transaction() as session:
        code = session.get_one(Challenge, session.get_one(Phase, rows.phase_id).challenge_id).code
        session.execute(delete(Heartbeat))
    organiser = registered(browser(), f"{code}.waiting@example.org")
    roles.grant(platform, f"{code}.waiting@example.org", Grant.ORGANISER, code)

    idle = organiser.get("/organise").text
    rows.result()
    waiting = organiser.get("/organise").text
    with platform.transaction() as session:
        heartbeats.write_heartbeat(session, "here:1", Service.WORKER, scorer="1", slots=1)
    served = organiser.get("/organise").text

    assert ["No worker was alive in the last minute" in each for each in (idle, waiting, served)] == [
        False,
        True,
        False,
    ]


def test_an_organiser_chooses_what_a_phase_discloses(scene: Scene, platform: Platform) -> None:
    address = f"/organise/phases/{scene.own}/disclosure"
    page = scene.organiser.get(address, headers={"Accept": "text/html"}).text
    assert page.count('type="radio"') == len(Disclosure)
    assert f"up to {DISCLOSURE_LEVELS[Disclosure.CLASSES].recovered}%" in page

    chosen = {"disclosure": "mean", "only_complete": "true", "reason": "the labels have to last"}
    assert scene.organiser.post(address, data=chosen, follow_redirects=False).status_code == 303

    told = scene.organiser.get(f"/api/v1{address}").json()
    assert told["terms"] == {"disclosure": "mean", "details_at_close": False, "only_complete": True}
    assert "closing date" in told["refusals"]["at close"]
    assert told["phase"]["quotas"]
    with platform.transaction() as session:
        record = session.scalars(
            select(AuditRecord).where(AuditRecord.action == "phase.disclose").order_by(AuditRecord.id.desc())
        ).first()
        assert record is not None
        assert record.before
        assert record.after
        assert (record.before["disclosure"], record.after["disclosure"]) == ("full", "mean")


def test_a_refused_disclosure_is_explained_and_the_form_stays_filled(
    scene: Scene,
) -> None:
    def sent(**form: str) -> tuple[int, str]:
        page = scene.organiser.post(
            f"/organise/phases/{scene.own}/disclosure", data=form, headers={"Accept": "text/html"}
        )
        assert 'value="mine"' in page.text or not form.get("reason")
        return page.status_code, page.text

    assert "must not be empty" in sent(disclosure="mean")[1]
    assert sent(disclosure="everything", reason="mine")[0] == 422
    assert "confirm that it is public" in sent(disclosure="full", reason="mine")[1]
    status, page = sent(disclosure="at close", shows_exposure="true", reason="mine")
    assert (status, page.count("checked>")) == (409, 2)
    assert "needs a closing date" in page


def test_a_disclosure_accepts_only_safe_changes_by_the_challenges_organisers(scene: Scene) -> None:
    def change(phase: int, **changes: object) -> int:
        body = {"disclosure": "full", "annotation_is_public": True, "reason": "released"} | changes
        return scene.organiser.put(f"/api/v1/organise/phases/{phase}/disclosure", json=body).status_code

    assert change(scene.own) == 200
    assert change(scene.own, annotation_is_public=False) == 422
    assert change(scene.own, disclosure="at close") == 409
    assert change(scene.own, disclosure="ladder") == 200
    assert change(scene.other) == 403
    assert scene.organiser.get(f"/organise/phases/{scene.other}/disclosure").status_code == 403


def test_an_organiser_sees_what_teams_can_have_learnt(scene: Scene) -> None:
    address = f"/organise/phases/{scene.own}/exposure"

    assert "Nothing has been scored yet" in scene.organiser.get(address, headers={"Accept": "text/html"}).text
    assert scene.organiser.get(f"/api/v1{address}").json() == []
    assert scene.organiser.get(f"/organise/phases/{scene.other}/exposure").status_code == 403
