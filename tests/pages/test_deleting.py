"""Owners delete a challenge that was open, while nobody but its organisers has submitted."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from app.core.access import Actor
from app.intake import testing
from app.models import (
    AuditRecord,
    Base,
    ChallengeOrganiser,
    ChallengeRole,
    LoginSession,
    Method,
    MethodChange,
    Phase,
    Publication,
    Result,
    RetiredAddress,
    User,
)
from app.organising import deleting
from app.organising.deleting import Confirmation
from app.submissions import retention, submitting
from tests.kills import LONG_AGO, assert_all_or_nothing
from tests.pages.test_accounts import registered
from tests.pages.test_draft_kills import actor
from tests.pages.test_drafts import NEW, WHAT, Place, place, words
from tests.pages.test_test_runs import Draft
from tests.patience import LIMIT
from tests.system.installations import STATEMENT
from tests.system.servers import eventually

__all__ = ["place"]


MANY = {"per_week": "50", "total": "500"}  # these challenges have the same annotation, and share quotas


@pytest.fixture
def draft(place: Place) -> Draft:
    return Draft(place, place.finished(**MANY))


@pytest.fixture
def opened(draft: Draft) -> Draft:
    """A challenge that is open, with a published result of its organiser."""
    assert draft.organiser.post(f"{NEW}/{draft.code}/open").status_code == 303
    draft.test("Rowan")
    draft.work()
    return draft


def person(app: FastAPI, name: str) -> TestClient:
    return registered(TestClient(app, follow_redirects=False), f"{name}@deleting.example")


def api(challenge: Draft) -> str:
    return f"/api/v1/organise/challenges/{challenge.code}/deletion"


def delete(challenge: Draft, code: str = "") -> Any:
    return challenge.organiser.post(api(challenge), json={"code": code or challenge.code})


def rows_of(challenge: Draft, challenge_id: int, phases: list[int]) -> dict[str, int]:
    """How many rows of each table name the challenge or its phases; the audit does for ever."""
    found = {}
    with challenge.platform.reading() as session:
        for table in Base.metadata.sorted_tables:
            for column, values in (("challenge_id", [challenge_id]), ("phase_id", phases)):
                if column in table.columns and table.name != "audit":
                    count = select(func.count()).where(table.columns[column].in_(values))
                    found[table.name] = session.scalar(count) or 0
        drawn = select(func.count()).where(testing.is_artefact_of(challenge_id))
        found["artefact"] = session.scalar(drawn) or 0
    return {name: count for name, count in found.items() if count}


def phases_of(challenge: Draft) -> list[int]:
    with challenge.platform.reading() as session:
        return list(session.scalars(select(Phase.id).where(Phase.challenge_id == challenge.id)))


def actor_id(challenge: Draft) -> int:
    found = actor(challenge.platform, challenge.code).user_id
    assert found is not None
    return found


def change_method(challenge: Draft) -> None:
    """Record a change of the details of its only method."""
    with challenge.platform.transaction() as session:
        method = session.scalars(select(Method.id).where(Method.challenge_id == challenge.id)).one()
        session.add(MethodChange(method_id=method, user_id=actor_id(challenge), before={"title": "Old"}))


def submits(challenge: Draft, client: TestClient, method: str) -> Callable[[], Any]:
    """Upload an archive as a participant; return what submits it."""
    client.post(f"/challenges/{challenge.code}/terms", data={"version": "1"})
    upload = challenge.send(client)
    assert upload.status_code == 201, upload.text
    body = {"upload": upload.json()["id"], "method": {"name": method}, "training": STATEMENT}
    return lambda: client.post("/api/v1/submissions", json=body)


@pytest.mark.sampled
def test_the_page_says_what_goes_and_nothing_of_it_remains(opened: Draft, app: FastAPI) -> None:
    ash, code, here = person(app, "ash"), opened.code, opened.id
    phases, page = phases_of(opened), f"/organise/challenges/{code}/delete"
    submits(opened, ash, "Elm")  # which is not done
    ash.post(f"/challenges/{code}/ask", data={"title": "Which classes?", "text": "All?"})
    change_method(opened)

    shown = opened.place.page(page)
    plan = opened.organiser.get(api(opened)).json()
    mistyped = opened.organiser.post(page, data={"code": "another"})

    assert plan["refusals"] == []
    counts = {part["what"]: part["count"] for part in plan["parts"]}
    kinds = ("phase", "team", "upload", "submission", "method", "change of a method", "question of a team")
    assert {name: counts[name] for name in kinds} == {
        "phase": 2, "team": 2, "upload": 2, "submission": 1, "method": 1, "change of a method": 1, "question of a team": 1,
    }  # fmt: skip
    assert plan["bytes"] == sum(part["bytes"] or 0 for part in plan["parts"]) > 0
    assert [each for each in plan["parts"] if f"{each['what']} {each['count']}" not in shown] == []
    assert (mistyped.status_code, f"Type {code}, the code" in words(mistyped.text)) == (422, True)
    assert rows_of(opened, here, phases)
    assert f"Delete {plan['title']}…" in opened.place.page(f"/organise/challenges/{code}/settings")

    sent = opened.organiser.post(page, data={"code": code})

    assert (sent.status_code, sent.headers["location"]) == (303, "/organise")
    assert rows_of(opened, here, phases) == {}
    for address in (f"/challenges/{code}", f"/api/v1/challenges/{code}", f"/leaderboards/{code}/test/4"):
        gone, never = ash.get(address), ash.get(address.replace(code, "never"))
        assert (gone.status_code, never.status_code) == (404, 404), address
    with opened.platform.reading() as session:
        is_it = AuditRecord.action == "challenge.delete_opened", AuditRecord.challenge_id == here
        [record] = session.scalars(select(AuditRecord).where(*is_it))
        assert (record.before, record.details["deleted"]) == ({"code": code, "title": plan["title"]}, counts)
        left = [each.key for each in opened.platform.archives.contents()]
        assert retention.removable(session, retention.ARCHIVES, left)  # by the daily sweep
    again = opened.organiser.post(NEW, data={**WHAT, "code": code})
    assert (again.status_code, f"{code} is taken" in words(again.text)) == (422, True)


@pytest.mark.sampled
def test_what_others_submitted_stays_and_only_owners_who_logged_in_recently_delete(
    opened: Draft, app: FastAPI
) -> None:
    ash = person(app, "beech")
    assert submits(opened, ash, "Elm")().status_code == 201
    opened.work()
    before = rows_of(opened, opened.id, phases_of(opened))

    with opened.platform.transaction() as session:
        session.execute(update(LoginSession).values(authenticated_at=LONG_AGO))
    late = delete(opened)
    with opened.platform.transaction() as session:
        session.execute(update(LoginSession).values(authenticated_at=func.now()))
    refused = delete(opened)

    assert (late.status_code, late.json()["code"]) == (403, "recent-login-required")
    reason = "1 submission of people who do not organise it, or of teams with such members"
    assert (refused.status_code, reason in refused.text) == (409, True)
    page = opened.place.page(f"/organise/challenges/{opened.code}/delete")
    assert f"It cannot be deleted {reason[0]}" in page
    assert "for good Back" not in page
    settings = opened.place.page(f"/organise/challenges/{opened.code}/settings")
    assert (f"It cannot be deleted, because it has {reason}." in settings, "for good" in settings) == (
        True,
        False,
    )
    assert rows_of(opened, opened.id, phases_of(opened)) == before
    with opened.platform.reading() as session:
        marks = session.execute(
            select(Publication.by_organisers, Method.name)
            .join_from(Publication, Result, Result.id == Publication.result_id)
            .join(Method, Method.id == Result.method_id)
            .where(Method.challenge_id == opened.id)
        )
        assert sorted(map(tuple, marks)) == [(False, "Elm"), (True, "Rowan")]
    # whoever is made an organiser afterwards changes nothing of that, also with SQL as the application
    with opened.platform.transaction() as session:
        ash_id = session.scalars(select(User.id).where(User.email == "beech@deleting.example")).one()
        session.add(ChallengeOrganiser(challenge_id=opened.id, user_id=ash_id, role=ChallengeRole.ORGANISER))
    assert (
        "2 changes of leaderboards" in delete(opened).text
        or "1 change of leaderboards" in delete(opened).text
    )
    call = select(func.delete_challenge_publications(opened.id))
    with (
        pytest.raises(DBAPIError, match="has publications of others"),
        opened.platform.transaction() as session,
    ):
        session.execute(call)


@pytest.mark.sampled
def test_a_draft_is_deleted_where_it_is_made_also_with_changes_of_its_methods(draft: Draft) -> None:
    assert delete(draft).status_code == 409
    draft.test("Rowan")
    draft.work()
    change_method(draft)
    phases, here = phases_of(draft), draft.id

    assert draft.organiser.post(f"{NEW}/{draft.code}/delete").status_code == 303

    assert rows_of(draft, here, phases) == {}
    again = draft.organiser.post(NEW, data={**WHAT, "code": draft.code})
    assert again.status_code == 303  # nobody else has seen its address


@pytest.mark.sampled
@pytest.mark.parametrize("first", ["submission", "deletion"])
def test_a_submission_that_comes_at_that_moment_wins_or_loses(
    first: str, opened: Draft, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = submits(opened, person(app, f"ivy.{first}"), "Elm")
    waits = text("SELECT count(*) FROM pg_locks WHERE NOT granted")

    def when_the_other_waits(function: Callable[..., Any]) -> Callable[..., Any]:
        def later(session: Session, *arguments: Any, **named: Any) -> Any:
            others = other.submit(submit if first == "deletion" else lambda: delete(opened))
            answers.append(others)
            assert eventually(lambda: bool(session.scalar(waits)))
            return function(session, *arguments, **named)

        return later

    answers: list[Future[Any]] = []
    with ThreadPoolExecutor(1) as other:
        if first == "deletion":
            monkeypatch.setattr(deleting, "_plan", when_the_other_waits(deleting._plan))
            deleted, submitted = delete(opened), answers[0].result(LIMIT)
        else:
            monkeypatch.setattr(submitting, "_enter", when_the_other_waits(submitting._enter))
            submitted, deleted = submit(), answers[0].result(LIMIT)

    found = (submitted.status_code, deleted.status_code)
    assert found == ((404, 200) if first == "deletion" else (201, 409)), (submitted.text, deleted.text)


@pytest.mark.sampled
def test_a_kill_at_any_statement_of_deleting_leaves_the_whole_challenge_or_nothing(
    opened: Draft, place: Place
) -> None:
    scenes = [opened]

    def scene() -> tuple[Draft, Actor, int, list[int]]:
        one = scenes.pop() if scenes else Draft(place, place.finished(**MANY))
        if one is not opened:
            assert one.organiser.post(f"{NEW}/{one.code}/open").status_code == 303
            one.test("Rowan")
            one.work()
        change_method(one)
        return one, actor(place.platform, one.code), one.id, phases_of(one)

    def operate(scene: tuple[Draft, Actor, int, list[int]]) -> None:
        one, owner, _, _ = scene
        deleting.delete_challenge(place.platform, owner, one.code, Confirmation(code=one.code))

    def state(scene: tuple[Draft, Actor, int, list[int]]) -> Any:
        one, _, here, phases = scene
        with place.platform.reading() as session:
            retired = session.get(RetiredAddress, one.code) is not None
            acts = select(func.count()).where(
                AuditRecord.challenge_id == here, AuditRecord.action == "challenge.delete_opened"
            )
            return rows_of(one, here, phases), retired, session.scalar(acts)

    assert assert_all_or_nothing(place.platform, scene, operate, state, every=9) > 40
