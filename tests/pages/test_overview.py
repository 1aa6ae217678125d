"""The overview of a challenge: its texts, leaders and numbers for everybody, the next step and the quota for each reader."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.home.overview import PersonProgress, steps_of
from app.intake.importing import TreeImport, import_tree
from app.models import Challenge, Disclosure, GroundTruth, Phase, Quota, User
from app.people import teams
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.pages.test_challenge_texts import TEXTS, organiser
from tests.system.kits import results, small_kit
from tests.system.rows import Rows, add_method, add_result, made

OAK = "/challenges/oak"


@pytest.fixture(scope="module", autouse=True)
def _challenges(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> None:
    tree = small_kit(tmp_path_factory.mktemp("overview"))
    import_tree(platform, TreeImport(tree, "oak", "test", title="Oak"))
    import_tree(platform, TreeImport(tree, "elm", "test", disclosure=Disclosure.FULL, allow_public_copy=True))


@pytest.fixture(scope="module")
def rows(platform: Platform) -> Rows:
    return made(platform)


def next_step(client: TestClient) -> str:
    [found] = re.findall(r'aria-current="step">\s*<div>\s*<b>([^<]+)</b>', client.get(OAK).text)
    return str(found)


def test_the_texts_are_shown_and_the_address_of_the_organisers_only_to_those_logged_in(
    browser: Browser, platform: Platform
) -> None:
    organiser(browser, platform, "olga@example.org").put(f"/api/v1/organise{OAK}/page", json=TEXTS)

    visitor, own = browser().get(OAK).text, registered(browser(), "ash@example.org").get(OAK).text
    twin = browser().get(f"/api/v1{OAK}").text

    for page in (visitor, own):
        assert "Find cats &lt;b&gt;fast&lt;/b&gt;" in page
        assert "<h3>The task</h3>" in page
        assert "<em>cats</em>" in page
        assert 'href="https://oak.example" rel="nofollow noopener noreferrer"' in page
        assert "<script>alert" not in page
    assert "hello@oak.example" not in visitor + twin
    assert 'action="/challenges/oak/contact"' in visitor
    assert "hello@oak.example" in own
    assert browser().get(f"{OAK}?format=bib").text == TEXTS["citation"]


def test_each_reader_is_shown_the_step_that_is_next_for_them(browser: Browser, platform: Platform) -> None:
    olga = organiser(browser, platform, "ola@example.org")
    ash = registered(browser(), "ash.grove@example.org")
    assert next_step(browser()) == "Register"
    assert next_step(ash) == "Read the rules"
    olga.post(f"/organise{OAK}/terms", data={"text": "Cite the paper of the challenge."})
    assert next_step(ash) == "Accept the terms"

    ash.post(f"{OAK}/terms", data={"version": "1"})
    assert next_step(ash) == "Download the data"
    ash.put(f"/api/v1{OAK}/test/uploads?filename=results.tar.gz", content=results(cat=5, dog=5))
    assert next_step(ash) == "Upload and submit"
    assert next_step(browser()) == "Register"


def test_the_quota_is_that_of_the_readers_team(browser: Browser) -> None:
    ash = registered(browser(), "fern@example.org")

    assert "2 left of 2 per 7 days" in ash.get(OAK).text
    assert "per 7 days" not in browser().get(OAK).text


def test_numbers_of_the_data_come_from_public_facts_alone(browser: Browser, platform: Platform) -> None:
    hidden = browser().get(f"/api/v1{OAK}").json()["overview"]["numbers"]
    public = browser().get("/api/v1/challenges/elm").json()["overview"]["numbers"]

    assert [(each["image_set"], each["objects"]) for each in hidden] == [("test", None)]
    assert hidden[0]["images"] == public[0]["images"] > 0
    assert public[0]["objects"] > 0


@pytest.mark.sampled
def test_leaders_are_shown_as_far_as_the_disclosure_allows(
    browser: Browser, platform: Platform, rows: Rows
) -> None:
    rows.result(mean=0.777)
    platform.cache.expire_versions()
    with platform.transaction() as session:
        phase = session.query(Phase).filter_by(id=rows.phase_id).one()
        code = session.query(Challenge.code).filter_by(id=phase.challenge_id).scalar()
        phase.quotas = (Quota(2, 7),)
        phase.disclosure, phase.closes_at = Disclosure.MEAN, phase.opens_at.replace(year=2040)
    address = f"/api/v1/challenges/{code}?image_set={phase.image_set}"

    shown = browser().get(address).json()["overview"]["leaders"]
    with platform.transaction() as session:
        session.query(Phase).filter_by(id=rows.phase_id).one().disclosure = Disclosure.AT_CLOSE
    hidden = browser().get(address).json()["overview"]["leaders"]
    with platform.transaction() as session:
        session.query(Phase).filter_by(id=rows.phase_id).one().embargo = True
        session.query(Phase).filter_by(id=rows.phase_id).one().disclosure = Disclosure.MEAN
    under_embargo = browser().get(address).json()["overview"]["leaders"]

    assert [each["mean"] for task in shown for each in task["leaders"]] == [0.777]
    assert hidden == []
    assert under_embargo == []


def test_the_first_step_asks_to_confirm_an_address_that_is_not_confirmed() -> None:
    done = PersonProgress(registered=True, accepted_terms=True)
    steps = steps_of("oak", done, has_terms=True, submit_to="test")

    assert [(step.title, step.is_done, step.is_next) for step in steps] == [
        ("Confirm your e-mail address", False, True),
        ("Accept the terms", True, False),
        ("Download the data", False, False),
        ("Upload and submit", False, False),
    ]


def test_those_who_organise_a_challenge_get_a_tab_to_its_organisers_pages(
    browser: Browser, platform: Platform
) -> None:
    olga = organiser(browser, platform, "olive@example.org")
    ash = registered(browser(), "ash.tab@example.org")
    tab = f'<a href="/organise{OAK}">Organise</a>'

    for page in ("", "/data", "/rules", "/news", "/leaderboards", "/figures"):
        readers = (olga, ash, browser())
        shown = [client.get(f"{OAK}{page}", follow_redirects=True).text for client in readers]
        assert [tab in each for each in shown] == [True, False, False], page


def test_registering_from_a_challenge_leads_back_to_it(browser: Browser) -> None:
    visitor = browser()
    page = visitor.get(f"{OAK}/rules").text

    assert f'href="/register?next={OAK}/rules"' in page
    assert f'href="/register?next={OAK}"' in visitor.get(OAK).text
    assert f'name="next" value="{OAK}"' in visitor.get(f"/register?next={OAK}").text


@pytest.mark.sampled
def test_image_sets_have_one_order_everywhere(browser: Browser, platform: Platform, tmp_path: Path) -> None:
    order = {"val": (Disclosure.FULL, 9), "pilot": (Disclosure.MEAN, 1), "final": (Disclosure.MEAN, 5)}
    for image_set, (disclosure, day) in sorted(order.items()):
        tree = small_kit(tmp_path / image_set)
        for path in list(tree.rglob("*test.txt")):
            path.rename(path.with_name(path.name.replace("test", image_set)))
        opens_at = datetime(2026, 3, day, tzinfo=UTC)
        import_tree(platform, TreeImport(tree, "yew", image_set, disclosure=disclosure, opens_at=opens_at))

    method = method_in_all_phases(platform, "yew")

    http = browser()
    here = "/api/v1/challenges/yew"
    listed = [
        [card["phase"]["image_set"] for card in http.get(here).json()["phases"]],
        [each["image_set"] for each in http.get(f"{here}/data").json()["phases"]],
        [each["phase"]["image_set"] for each in http.get(f"{here}/rules").json()["phases"]],
        [each["phase"]["image_set"] for each in http.get(f"/api/v1/methods/{method}").json()["results"]],
        *(
            list(
                dict.fromkeys(
                    re.findall(r"[/=](val|pilot|final)[/#\"]", http.get(page).text.partition(mark)[2])
                )
            )
            for page, mark in (
                ("/leaderboards", "Image sets of"),
                ("/leaderboards/yew/final/3", 'aria-label="Phase"'),
            )
        ),
    ]

    assert listed == [list(order)] * 6


def method_in_all_phases(platform: Platform, challenge: str) -> int:
    """A public method with a score of detection in each phase of a challenge."""
    with platform.transaction() as session:
        phases = session.scalars(select(Phase).join(Phase.challenge).where(Challenge.code == challenge)).all()
        user = User(email=f"{challenge}@example.org", name=challenge)
        session.add(user)
        session.flush()
        team = teams.own_or_new_team(session, user.id, phases[0].challenge_id)
        truths = {
            each.id: session.scalars(select(GroundTruth.id).where(GroundTruth.phase_id == each.id)).one()
            for each in phases
        }
        rows = [Rows(platform, phase, team, user.id, (truth, truth)) for phase, truth in truths.items()]
        method = add_method(session, rows[0], "Everywhere", is_public=True)
        results = [add_result(session, each, method, team_id=None) for each in rows]
    for each, result in zip(rows, results, strict=True):
        each.score(result, 0.5)
    return method


def test_a_page_shows_the_boards_of_one_image_set_and_leads_to_the_others(
    browser: Browser, platform: Platform, tmp_path: Path
) -> None:
    for image_set, disclosure in (("val", Disclosure.FULL), ("test", Disclosure.MEAN)):
        tree = small_kit(tmp_path / image_set)
        for path in list(tree.rglob("*test.txt")):
            path.rename(path.with_name(path.name.replace("test", image_set)))
        import_tree(platform, TreeImport(tree, "fir", image_set, disclosure=disclosure))

    def shown(path: str) -> set[str]:
        text = browser().get(path).text.partition("Image sets of fir")[2].partition("</table>")[0]
        assert "image_set=val#" in text
        assert "image_set=test#" in text
        return set(re.findall(r"/leaderboards/fir/(val|test)/", text))

    for page in ("/leaderboards", "/challenges/fir"):
        assert shown(page) == {"test"}
        assert shown(f"{page}?image_set=val") == {"val"}
        assert browser().get(f"{page}?image_set=nothing").status_code == 404
