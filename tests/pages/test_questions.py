"""Organisers ask about methods and teams answer; answers become columns, filters and part of exports."""

import csv
import io
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.models import Answer, AuditRecord, Disclosure, Member, Method, Phase, User
from app.platform import Platform
from app.results.personal_data import erase_team
from tests.pages.boards import board_of
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.pages.test_terms import organiser
from tests.system.rows import Rows

RUNTIME = {"text": "Runtime", "kind": "number", "unit": "ms", "is_column": "true", "is_filter": "true"}
BACKBONE = {"text": "Backbone", "kind": "text", "is_filter": "true"}
EXTRA = {"text": "Extra data", "kind": "choice", "choices": "COCO\nnone\n", "is_column": "true"}
LONG = "How it works. " * 40


class Site:
    """A challenge with four methods on a board, an organiser, and a member of the team."""

    def __init__(self, browser: Browser, platform: Platform, folder: Path, code: str) -> None:
        self.platform, self.code = platform, code
        self.rows: Rows = board_of(platform, folder, code, Disclosure.FULL)
        self.board = f"/leaderboards/{code}/test/4"
        self.page = f"/organise/challenges/{code}/questions"
        self.organiser: TestClient = organiser(browser, platform, f"olga-{code}@example.org", code)
        self.member: TestClient = registered(browser(), f"ash-{code}@example.org")
        self.visitor: TestClient = browser()
        with platform.transaction() as session:
            user = session.scalars(select(User.id).where(User.email == f"ash-{code}@example.org")).one()
            challenge = session.get_one(Phase, self.rows.phase_id).challenge_id
            session.add(Member(team_id=self.rows.team_id, user_id=user, challenge_id=challenge))
            methods = session.scalars(select(Method).where(Method.team_id == self.rows.team_id)).all()
            self.methods = {method.name: method.id for method in methods}
            for method in methods:
                method.description = LONG

    def ask(self, question: dict[str, str]) -> int:
        """Ask a question through the form; return its id."""
        response = self.organiser.post(self.page, data=question)
        assert response.status_code == 303, response.text
        asked = self.visitor.get(f"/api/v1/challenges/{self.code}/questions").json()
        return next(int(each["id"]) for each in asked if each["text"] == question["text"])

    def answer(self, method: str, answers: dict[int, str]) -> Any:
        """Answer through the API."""
        body = {"answers": {str(number): text for number, text in answers.items()}}
        return self.member.patch(f"/api/v1/methods/{self.methods[method]}", json=body)

    def listed(self, query: str = "") -> list[str]:
        """The methods on the board."""
        self.platform.cache.expire_versions()
        response = self.visitor.get(f"/api/v1{self.board}{query}")
        assert response.status_code == 200, response.text
        return [row["method"] for row in response.json()["rows"]]


@pytest.fixture
def site(browser: Browser, platform: Platform, tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    return Site(browser, platform, tmp_path, f"asks{len(request.node.name)}")


def test_an_answered_question_is_a_column_a_filter_and_part_of_exports(site: Site) -> None:
    runtime, backbone = site.ask(RUNTIME), site.ask(BACKBONE)
    for method, time, net in (
        ("=cmd", "120", "ResNet-50"),
        ("Beech_50%", "9.5", "Swin"),
        ("Half", "", "resnet"),
    ):
        assert site.answer(method, {runtime: time, backbone: net}).status_code == 200

    page = unescape(site.visitor.get(site.board).text)
    assert 'title="Sort by Runtime (ms)"' in page
    assert "Sort by Backbone" not in page
    assert '<td class="answer number">120</td>' in page
    assert site.listed(f"?sort=answer-{runtime}&order=asc") == ["Beech_50%", "=cmd", "Chance", "Half"]
    assert site.listed(f"?answer-{runtime}-to=100") == ["Beech_50%"]
    assert site.listed(f"?answer-{runtime}-from=9.5&answer-{backbone}=resnet") == ["=cmd"]
    filtered = unescape(site.visitor.get(f"{site.board}?answer-{runtime}-to=100").text)
    assert "Runtime: at most 100 ms" in filtered
    assert re.search(rf'name="answer-{runtime}-to"[^>]*value="100"', filtered)
    table = list(csv.DictReader(io.StringIO(site.visitor.get(f"{site.board}?format=csv").text)))
    assert [row["Runtime (ms)"] for row in table] == ["120", "9.5", "", ""]
    assert [row["Backbone"] for row in table] == ["ResNet-50", "Swin", "", "resnet"]
    shown = site.visitor.get(f"/api/v1{site.board}").json()
    assert [each["text"] for each in shown["questions"]] == ["Runtime", "Backbone"]
    assert shown["rows"][0]["answers"] == ["120", "ResNet-50"]


def test_an_unknown_or_invalid_filter_is_refused_with_the_reason(site: Site) -> None:
    runtime, extra = site.ask(RUNTIME), site.ask(EXTRA)
    for query, reason in (
        ("answer-999=yes", "no filter 'answer-999'"),
        (f"answer-{extra}=COCO", "no filter"),
        (f"answer-{runtime}-from=fast", "expected a number"),
        (f"sort=answer-{runtime + 900}", "cannot sort by"),
    ):
        response = site.visitor.get(f"/api/v1{site.board}?{query}")
        assert (response.status_code, reason in unescape(response.text)) == (422, True), response.text


def test_a_team_answers_in_its_methods_form_which_stays_filled_after_errors(site: Site) -> None:
    runtime, extra = site.ask(RUNTIME), site.ask(EXTRA)
    method = site.methods["Half"]
    form = site.member.get(f"/methods/{method}/edit").text
    assert "Runtime (ms)" in form
    assert '<option value="COCO"' in form
    sent = {"name": "Half", "description": LONG}

    wrong = {f"answer-{runtime}": "fast", f"answer-{extra}": "ImageNet"}
    refused = site.member.post(f"/methods/{method}/edit", data=sent | wrong)
    assert refused.status_code == 409
    text = unescape(refused.text)
    assert "'Runtime': expected a number, in ms, found 'fast'; 'Extra data': expected one of" in text
    assert 'value="fast"' in text
    right = {f"answer-{runtime}": "7", f"answer-{extra}": "none"}
    assert site.member.post(f"/methods/{method}/edit", data=sent | right).status_code == 303

    page = site.visitor.get(f"/methods/{method}").text
    assert re.search(r"<dt>Runtime</dt>\s*<dd>7 ms</dd>", page)
    assert re.search(r"<dt>Extra data</dt>\s*<dd>none</dd>", page)
    again = site.member.post(f"/methods/{method}/edit", data=sent | {f"answer-{runtime}": "8"})
    assert again.status_code == 303
    history = site.visitor.get(f"/api/v1/methods/{method}").json()["changes"]
    assert history[0]["before"] == {"answer: Runtime (ms)": "7"}


def test_publishing_needs_required_answers_and_the_chosen_length_of_description(site: Site) -> None:
    site.organiser.post(f"{site.page}/description", data={"shortest": "20"})
    runtime = site.ask({**RUNTIME, "is_required": "true"})
    half = site.methods["Half"]
    with site.platform.transaction() as session:
        method = session.get_one(Method, half)
        method.public_at, method.description = None, "Twenty characters it has."

    refused = site.member.post(f"/api/v1/methods/{half}/public")
    assert (refused.status_code, refused.json()["code"]) == (409, "answer-missing")
    assert "answers these questions, too: Runtime" in site.member.get(f"/methods/{half}").text
    site.answer("Half", {runtime: "3"})
    assert site.member.post(f"/api/v1/methods/{half}/public").status_code == 204
    assert site.answer("Half", {runtime: ""}).json()["code"] == "answer-missing"
    too_short = site.member.patch(f"/api/v1/methods/{half}", json={"description": "short"})
    assert "at least 20 characters" in too_short.json()["detail"]


def test_the_page_warns_of_what_a_change_or_deletion_does_to_answers(site: Site) -> None:
    runtime, extra = site.ask(RUNTIME), site.ask(EXTRA)
    site.answer("=cmd", {runtime: "5", extra: "COCO"})
    page = site.organiser.get(site.page).text
    assert page.count("1 method answered it. Their answers are deleted with it") == 2
    assert "the kind, the unit and the choices that were made cannot change" in page

    refused = site.organiser.post(f"{site.page}/{runtime}", data={"text": "Runtime", "kind": "text"})
    assert refused.status_code == 409
    assert "so its kind and its unit cannot change" in refused.text
    lost = site.organiser.post(f"{site.page}/{extra}", data=EXTRA | {"choices": "none\nother"})
    assert "Methods have chosen 'COCO'" in unescape(lost.text)
    renamed = site.organiser.post(f"{site.page}/{runtime}", data=RUNTIME | {"text": "Time"})
    assert renamed.status_code == 303
    assert "Time (ms)" in site.visitor.get(site.board).text

    assert site.organiser.post(f"{site.page}/{runtime}/delete").status_code == 303
    assert "Time (ms)" not in site.visitor.get(site.board).text
    with site.platform.transaction() as session:
        assert session.scalars(select(Answer.text).where(Answer.question_id == runtime)).all() == []
        deleted = select(AuditRecord.before).where(AuditRecord.subject == f"question {runtime}")
        before = session.scalars(deleted.order_by(AuditRecord.id.desc())).first()
    assert before is not None
    assert (before["text"], before["answers"]) == ("Time", 1)


def test_common_questions_take_one_click_and_invalid_ones_are_explained(site: Site) -> None:
    assert "Ask for Runtime (ms per image)" in site.organiser.get(site.page).text
    site.ask({"text": "Runtime", "kind": "number", "unit": "ms per image", "is_column": "true"})
    assert "Ask for Runtime" not in site.organiser.get(site.page).text

    wrong = site.organiser.post(site.page, data={"text": "Data", "kind": "choice", "choices": "one"})
    assert wrong.status_code == 422
    assert "a choice needs at least two different answers" in wrong.text
    again = site.organiser.post(site.page, data={"text": "Runtime", "kind": "text"})
    assert (again.status_code, "is asked already" in again.text) == (409, True)
    memory = site.ask({"text": "Memory", "kind": "number"})
    renamed = site.organiser.post(f"{site.page}/{memory}", data={"text": "Runtime", "kind": "number"})
    assert (renamed.status_code, "is asked already" in renamed.text) == (409, True)
    short = site.organiser.post(site.page, data={"text": "x", "kind": "number"})
    assert "must have at least 2 characters" in short.text
    long = site.organiser.post(f"{site.page}/description", data={"shortest": "9999"})
    assert (long.status_code, "at most 4000" in long.text) == (422, True)


@pytest.mark.sampled
def test_free_text_is_erased_along_with_its_teams_names(site: Site) -> None:
    runtime, backbone = site.ask(RUNTIME), site.ask(BACKBONE)
    site.answer("Half", {runtime: "5", backbone: "Ash's own net"})

    with site.platform.transaction() as session:
        erase_team(session, site.rows.team_id, "Team erased")

    with site.platform.transaction() as session:
        left = session.scalars(select(Answer.text).where(Answer.method_id == site.methods["Half"])).all()
    assert left == ["5"]
