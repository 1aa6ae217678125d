"""What a team's page shows of its methods and results."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.boards.team_views import TeamPage
from app.models import Disclosure, Member, Method, Phase, User
from app.models.challenges import Quota
from app.people import teams
from app.platform import Platform
from app.results import standings, submissions
from tests.pages.boards import DIGITS, board_of
from tests.pages.conftest import Browser
from tests.pages.statements import asked
from tests.pages.test_accounts import registered
from tests.system.rows import Rows


@pytest.fixture(scope="module")
def rows(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> dict[Disclosure, Rows]:
    found = {
        each: board_of(platform, tmp_path_factory.mktemp(each.name), f"team-{each.name.lower()}", shown)
        for each, shown in (
            (Disclosure.FULL, Disclosure.FULL),
            (Disclosure.CLASSES, Disclosure.CLASSES),
            (Disclosure.AT_CLOSE, Disclosure.CLASSES),
        )
    }
    until = {"disclosure": Disclosure.AT_CLOSE, "closes_at": datetime.now(UTC) + timedelta(days=1)}
    with platform.transaction() as session:
        session.execute(update(Phase).where(Phase.id == found[Disclosure.AT_CLOSE].phase_id).values(until))
    return found


def matrices(client: TestClient, team: int) -> Any:
    response = client.get(f"/api/v1/teams/{team}")
    TypeAdapter(TeamPage).validate_json(response.text)
    return response.json()["standings"]


def means(matrix: Any) -> dict[str, float | None]:
    return {row["method"]["name"]: row["cells"][0]["mean"] for row in matrix["rows"]}


def test_a_teams_methods_are_listed_best_first_with_links(
    browser: Browser, rows: dict[Disclosure, Rows]
) -> None:
    team = rows[Disclosure.FULL].team_id

    [matrix] = matrices(browser(), team)
    page = browser().get(f"/teams/{team}").text

    shown = {"=cmd": 0.6 + DIGITS, "Beech_50%": 0.6 + DIGITS, "Chance": 0.4 + DIGITS, "Half": None}
    assert means(matrix) == pytest.approx(shown)
    assert [row["cells"][0]["best"] for row in matrix["rows"]] == [True, True, False, False]
    assert f'href="/submissions/{matrix["rows"][0]["cells"][0]["submission"]}?competition=4"' in page
    assert 'href="/leaderboards/team-full/test/4"' in page
    assert f'<link rel="alternate" type="application/json" href="/api/v1/teams/{team}">' in page


def test_the_best_result_of_each_task_comes_first(browser: Browser, rows: dict[Disclosure, Rows]) -> None:
    pages = (
        browser().get(f"/teams/{rows[each].team_id}").text
        for each in (Disclosure.CLASSES, Disclosure.AT_CLOSE)
    )
    shown, hidden = (page.partition('id="best"')[2].partition("</section>")[0] for page in pages)

    assert [shown.count(each) for each in ("=cmd", "Beech_50%", ">60.0<", ">40.0<")] == [1, 0, 1, 0]
    assert ">Half<" in hidden  # the newest one
    assert ">entered<" in hidden
    assert '#1 <span class="quiet">of 3' in shown  # the last of the four has no mean
    assert "#" not in re.sub(r"&#\d+;", "", hidden)


def test_a_methods_row_on_a_teams_page_has_all_its_results(
    browser: Browser, rows: dict[Disclosure, Rows]
) -> None:
    shown, hidden = (
        browser().get(f"/teams/{rows[each].team_id}").text.partition("</h1>")[2]
        for each in (Disclosure.CLASSES, Disclosure.AT_CLOSE)
    )
    [matrix] = matrices(browser(), rows[Disclosure.CLASSES].team_id)
    methods = shown.partition('id="methods"')[2]

    assert [methods.count(f">{each}<") for each in ("60.0", "40.0")] == [
        2,
        1,
    ]  # two methods have the same mean
    assert [*re.findall(r"<b>([\d.]+)</b>\s*<span>(#\d of \d)<", methods)] == [
        ("60.0", "#1 of 3"),
        ("60.0", "#1 of 3"),
        ("40.0", "#3 of 3"),
    ]
    assert [methods.count(f'href="/methods/{row["method"]["id"]}"') for row in matrix["rows"]] == [1] * 4
    assert "<dt>Methods</dt>\n            <dd>4</dd>" in shown
    assert not re.search(r"#\d+ of", hidden.partition('id="methods"')[2])


def test_a_teams_page_shows_no_more_than_the_disclosure_allows(
    browser: Browser, rows: dict[Disclosure, Rows]
) -> None:
    [some] = matrices(browser(), rows[Disclosure.CLASSES].team_id)
    [nothing] = matrices(browser(), rows[Disclosure.AT_CLOSE].team_id)
    page = browser().get(f"/teams/{rows[Disclosure.AT_CLOSE].team_id}").text

    assert means(some) == {"=cmd": 0.6, "Beech_50%": 0.6, "Chance": 0.4, "Half": None}
    assert [*means(nothing)] == ["Half", "Chance", "Beech_50%", "=cmd"]
    assert set(means(nothing).values()) == {None}
    assert not any(row["cells"][0]["best"] for row in nothing["rows"])
    assert nothing["withheld"] in page


def test_only_the_newest_methods_are_listed_and_strangers_see_no_private_ones(
    browser: Browser, platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = board_of(platform, tmp_path, "team-private", Disclosure.FULL).team_id
    with platform.transaction() as session:
        hidden = session.scalars(select(Method.id).where(Method.team_id == team, Method.name == "Half")).one()
        session.execute(update(Method).where(Method.id == hidden).values(public_at=None))
    monkeypatch.setattr(standings, "PAGE", 2)

    stranger = registered(browser(), "curious@example.org")
    [matrix] = matrices(stranger, team)
    listed = stranger.get(f"/api/v1/teams/{team}").json()["results"]

    assert [*means(matrix)] == ["Beech_50%", "Chance"]
    assert matrix["has_more"]
    assert [row["method"] for row in listed] == ["Chance", "Beech_50%", "=cmd"]
    assert "newest methods" in browser().get(f"/teams/{team}").text


def test_members_are_paged_without_gaps(
    browser: Browser, platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_of, client = board_of(platform, tmp_path, "team-members", Disclosure.FULL), browser()
    with platform.transaction() as session:
        challenge_id = session.get_one(Phase, rows_of.phase_id).challenge_id
        people = [User(email=f"{place}.member@example.org", name=f"Member {place}") for place in range(7)]
        session.add_all(people)
        session.flush()
        session.add_all(
            Member(
                team_id=rows_of.team_id, challenge_id=challenge_id, user_id=each.id, is_named=place % 2 == 0
            )
            for place, each in enumerate(people)
        )
    monkeypatch.setattr(teams, "PAGE", 3)
    address = f"/teams/{rows_of.team_id}"

    first = client.get(f"/api/v1{address}").json()
    following = client.get(f"{address}?after={first['more_members']}").text
    method = client.get(f"/methods/{first['standings'][0]['rows'][0]['method']['id']}").text

    assert [each["name"] for each in first["members"]] == ["Member 0", "Member 2", "Member 4"]
    assert f'href="?after={first["more_members"]}"' in client.get(address).text
    assert "Member 6" in following
    assert "Member 4" not in following
    assert "Further members" not in following
    assert f'and <a href="{address}">others</a>' in method
    hidden = people[1].id  # membership of somebody who is not named cannot be probed
    assert client.get(f"/api/v1{address}?after={hidden}").json()["members"] == first["members"]


def test_the_remaining_quota_is_shown_for_every_open_phase_somebody_entered(
    browser: Browser, platform: Platform, rows: dict[Disclosure, Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, entered = (
        registered(browser(), "two@example.org"),
        (rows[Disclosure.FULL], rows[Disclosure.CLASSES]),
    )
    with platform.transaction() as session:
        person = session.scalars(select(User.id).where(User.email == "two@example.org")).one()
        for each in entered:
            phase = session.get_one(Phase, each.phase_id)
            phase.quotas = (Quota(2, 7),)
            session.add(Member(team_id=each.team_id, challenge_id=phase.challenge_id, user_id=person))
    monkeypatch.setattr(submissions, "PAGE", 1)  # so that the page has no result of another phase

    with asked(platform) as statements:
        page = client.get("/submissions").text
    [older] = re.findall(r'<a href="(/submissions\?before=\d+)">Older results</a>', page)
    assert "Newest results" not in page
    assert '<a href="/submissions">Newest results</a>' in client.get(older).text
    assert "There are no older results." in client.get("/submissions?before=1").text

    assert len(statements) <= 6 + 4 * len(entered), statements
    assert [f"/challenges/team-{name}/test/submit" in page for name in ("full", "classes", "at_close")] == [
        True,
        True,
        False,
    ]


def test_an_owner_is_not_asked_for_a_name_that_public_results_are_cited_under(
    browser: Browser, platform: Platform, tmp_path: Path
) -> None:
    board, client = board_of(platform, tmp_path, "team-cited", Disclosure.FULL), browser()
    registered(client, "cited@example.org")
    with platform.transaction() as session:
        person = session.scalars(select(User.id).where(User.email == "cited@example.org")).one()
        challenge = session.get_one(Phase, board.phase_id).challenge_id
        session.add(Member(team_id=board.team_id, challenge_id=challenge, user_id=person, is_owner=True))
    address = f"/teams/{board.team_id}"
    name = client.get(f"/api/v1{address}").json()["name"]

    page = client.get(address).text
    saved = client.post(f"{address}/edit", data={"name": name, "affiliation": "Forest"})

    assert 'id="field-name"' not in page
    assert f'name="name" value="{name}"' in page
    assert saved.status_code == 303
    with platform.transaction() as session:
        session.execute(update(Method).where(Method.team_id == board.team_id).values(public_at=None))
    assert 'id="field-name"' in client.get(address).text


@pytest.mark.sampled
def test_a_teams_results_are_paged_without_gaps(
    browser: Browser, rows: dict[Disclosure, Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submissions, "PAGE", 2)
    client, here = browser(), f"/teams/{rows[Disclosure.FULL].team_id}"
    listed: list[str] = []
    more, pages = None, 0

    while pages == 0 or more:
        query = f"?before={more}" if more else ""
        found = client.get(f"/api/v1{here}{query}").json()
        listed += [row["method"] for row in found["results"]]
        more, pages = found["more_results"], pages + 1

    assert pages > 1
    monkeypatch.undo()
    assert listed == [row["method"] for row in client.get(f"/api/v1{here}").json()["results"]]
