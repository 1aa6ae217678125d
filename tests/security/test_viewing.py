"""An organiser views a challenge as somebody else: never more than they see, never anywhere else, never to change anything."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.models import (
    AuditRecord,
    Challenge,
    ChallengeOrganiser,
    ChallengeRole,
    ChallengeVisibility,
    Member,
    Phase,
    Submission,
    Upload,
    User,
    Viewing,
)
from app.organising import roles
from app.people.teams import add_team
from app.platform import Platform
from tests.pages.conftest import Browser, app, browser, platform
from tests.pages.test_accounts import registered
from tests.second_factors import token_of_admin
from tests.system.rows import Rows, described, made

__all__ = ["app", "browser", "platform"]

NAMES = iter(range(1000))


@dataclass(frozen=True, slots=True)
class Scene:
    """A challenge with a private result of a team, its organiser, and another challenge in which both take part."""

    rows: Rows
    code: str
    organiser: TestClient
    organiser_id: int
    submission: int  # private, of the viewed team
    other: Rows
    theirs: int  # a private submission of the same person in the other challenge

    def view(self, **wanted: Any) -> Any:
        return self.organiser.post(f"/organise/challenges/{self.code}/view-as", data=wanted)

    def status(self, address: str) -> int:
        return self.organiser.get(address).status_code


def code_of(rows: Rows) -> str:
    with rows.platform.transaction() as session:
        return session.get_one(Challenge, session.get_one(Phase, rows.phase_id).challenge_id).code


def submission_of(rows: Rows, result: int) -> int:
    with rows.platform.transaction() as session:
        return (
            session.scalars(select(func.max(Submission.id)).where(Submission.phase_id == rows.phase_id)).one()
            or result
        )


@pytest.fixture
def scene(browser: Browser, platform: Platform, tmp_path: Path) -> Scene:
    rows, other = described(platform, tmp_path), made(platform)
    code, email = code_of(rows), f"organiser{next(NAMES)}@view.example.org"
    organiser = registered(browser(), email)
    roles.grant(platform, email, roles.Grant.ORGANISER, code)
    with platform.transaction() as session:
        organiser_id = session.scalars(select(User.id).where(User.email == email)).one()
        elsewhere = session.get_one(Phase, other.phase_id).challenge_id
        other_team = add_team(session, elsewhere, f"same people {next(NAMES)}")
        assert other_team is not None
        session.add(Member(team_id=other_team, user_id=rows.user_id, challenge_id=elsewhere))
    submission = submission_of(rows, rows.result(mean=0.5, is_public=False))
    theirs = submission_of(other, other.result(mean=0.5, is_public=False, team_id=other_team))
    with platform.transaction() as session:
        session.execute(update(Upload).values(received_at=func.now(), checked_at=func.now()))
    return Scene(rows, code, organiser, organiser_id, submission, other, theirs)


def test_a_view_shows_what_those_eyes_see_and_says_so(scene: Scene) -> None:
    page, private = f"/challenges/{scene.code}", f"/submissions/{scene.submission}"

    assert scene.view(is_visitor="true").headers["location"] == page
    shown = scene.organiser.get(page)
    assert "as <strong>a visitor</strong>" in shown.text
    assert 'href="/login' in shown.text
    assert shown.headers["cache-control"] == "no-store"
    assert scene.status(private) == 404

    scene.organiser.post("/organise/view-as/end")
    scene.view()
    assert "as <strong>a new participant</strong>" in scene.organiser.get(page).text
    assert scene.status(private) == 404

    assert "as <strong>a new participant" in scene.organiser.get(f"/leaderboards/{scene.code}/test/3").text
    assert scene.status(f"/teams/{scene.rows.team_id}") == 404
    assert scene.status("/submissions") == 200

    assert (
        scene.organiser.post("/organise/view-as/end").headers["location"]
        == f"/organise/challenges/{scene.code}"
    )
    assert "You see" not in scene.organiser.get(page).text
    assert "For organisers" in scene.organiser.get(private).text


def test_a_challenge_that_only_invited_people_see_is_hidden_from_others_eyes(scene: Scene) -> None:
    page = f"/challenges/{scene.code}"
    with scene.rows.platform.transaction() as session:
        challenge = session.scalars(select(Challenge).where(Challenge.code == scene.code)).one()
        challenge.visibility = ChallengeVisibility.INVITED

    for eyes in ({}, {"is_visitor": "true"}):
        scene.view(**eyes)
        assert scene.status(page) == 404
        scene.organiser.post("/organise/view-as/end")


def test_others_never_get_the_page_of_a_view(scene: Scene, browser: Browser) -> None:
    page = f"/challenges/{scene.code}"
    before = scene.organiser.get(page).headers.get("etag", "")
    scene.view(is_visitor="true")
    seen = scene.organiser.get(page, headers={"If-None-Match": before})

    assert seen.status_code == 200
    assert "You see" in seen.text
    for address in (page, f"/leaderboards/{scene.code}/test/3"):
        scene.organiser.get(address)
        assert "You see" not in browser().get(address).text


@pytest.mark.parametrize("eyes", [{"is_visitor": "true"}, {}])
def test_nothing_can_be_changed_and_no_other_page_read_during_a_view(
    scene: Scene, eyes: dict[str, str]
) -> None:
    rows, other = scene.rows, scene.other
    scene.view(**eyes)
    here = f"/organise/challenges/{scene.code}"
    with rows.platform.transaction() as session:
        upload = session.get_one(Submission, scene.submission).upload_id

    forbidden = (
        "/", "/organise", here, f"{here}/submissions", "/account", "/account/tokens", "/account/profile", "/audit", "/admin",
        f"/challenges/{code_of(other)}", f"/leaderboards/{code_of(other)}/test/3", f"/submissions/{scene.theirs}",
        f"/teams/{other.team_id}", "/api/v1/submissions", f"/api/v1/challenges/{scene.code}/data",
        f"/api/v1/submissions/{scene.submission}", f"/uploads/{upload}/archive", f"/api/v1/uploads/{upload}/archive",
        f"/challenges/{scene.code}/data/1", f"/challenges/{scene.code}%2f..%2f{code_of(other)}",
        f"/challenges/{scene.code}/../{code_of(other)}", "/submissions/999999999999", "/uploads/x", "/login",
    )  # fmt: skip
    pages = ("", "/rules", "/data", "/leaderboards", "/figures", "/news", "/terms", "/calendar.ics")
    assert {scene.status(f"/challenges/{scene.code}{page}") for page in pages} <= {200, 303, 404}
    assert {each: status for each in forbidden if (status := scene.status(each)) not in (403, 404)} == {}
    changes = (
        ("POST", f"/teams/{rows.team_id}/leave"), ("POST", f"{here}/approvals"), ("POST", f"{here}/view-as"),
        ("PUT", f"/api/v1/challenges/{scene.code}/test/uploads"), ("DELETE", f"/api/v1/uploads/{upload}"),
        ("POST", "/theme"), ("POST", "/account/tokens"), ("PATCH", "/api/v1/methods/1"), ("POST", f"/challenges/{scene.code}/contact"),
        ("POST", "/login"), ("POST", "/submissions"),
    )  # fmt: skip
    assert {scene.organiser.request(method, address).status_code for method, address in changes} == {403}
    answer = scene.organiser.post(f"{here}/approvals", headers={"Accept": "text/html"})
    assert "nothing can be changed until you end the view" in answer.text
    assert "End the view" in answer.text


def test_a_view_ends_by_itself_at_logout_and_with_the_role(scene: Scene) -> None:
    platform, page = scene.rows.platform, f"/challenges/{scene.code}"

    def sees() -> bool:
        return "You see" in scene.organiser.get(page).text

    scene.view(is_visitor="true")
    with platform.transaction() as session:
        now, until = session.execute(select(func.now(), func.max(Viewing.until))).one()
        session.execute(update(Viewing).values(until=func.now() - timedelta(seconds=1)))
    assert timedelta(minutes=29) < until - now <= timedelta(minutes=30)
    assert not sees()

    scene.view()
    assert sees()
    of_organiser = update(ChallengeOrganiser).where(ChallengeOrganiser.user_id == scene.organiser_id)
    with platform.transaction() as session:
        session.execute(of_organiser.values(role=ChallengeRole.VIEWER))
    assert not sees()
    assert scene.view().status_code == 403
    with platform.transaction() as session:
        session.execute(of_organiser.values(role=ChallengeRole.ORGANISER))

    assert sees()
    scene.organiser.post("/logout")
    assert not sees()
    assert scene.status("/organise") in (303, 401)


def test_a_challenge_of_others_cannot_be_viewed(scene: Scene) -> None:
    assert scene.organiser.post(f"/organise/challenges/{code_of(scene.other)}/view-as").status_code == 403
    assert "You see" not in scene.organiser.get(f"/challenges/{scene.code}").text


def test_a_view_as_a_team_that_the_release_before_began_is_one_of_a_new_participant(scene: Scene) -> None:
    scene.view()
    with scene.rows.platform.transaction() as session:
        session.execute(update(Viewing).values(team_id=scene.rows.team_id))

    assert "as <strong>a new participant" in scene.organiser.get(f"/challenges/{scene.code}").text
    assert scene.status(f"/submissions/{scene.submission}") == 404

    scene.organiser.post("/organise/view-as/end")
    scene.view(team=str(scene.rows.team_id))
    assert "You see" not in scene.organiser.get(f"/challenges/{scene.code}").text


def test_tokens_have_no_views_and_views_are_recorded(scene: Scene, browser: Browser) -> None:
    platform = scene.rows.platform
    program = browser()
    program.headers["Authorization"] = f"Bearer {token_of_admin(platform, 'watch@localhost', 'Watch')}"

    assert program.post(f"/organise/challenges/{scene.code}/view-as").status_code == 403
    scene.view()
    scene.organiser.post("/organise/view-as/end")
    with platform.transaction() as session:
        actions = select(AuditRecord.action, AuditRecord.details).where(
            AuditRecord.user_id == scene.organiser_id
        )
        found = session.execute(
            actions.where(AuditRecord.action.startswith("view.")).order_by(AuditRecord.id)
        ).all()
    assert [tuple(each) for each in found] == [
        ("view.start", {"eyes": "a new participant"}),
        ("view.end", {"eyes": "a new participant"}),
    ]
