"""Organisers write about their challenge; visitors read it, without the address of the organisers."""

import re
from html import unescape

import limits
import pytest
from sqlalchemy import delete, func, select
from starlette.testclient import TestClient

from app.core.rate_limits import Limited
from app.intake.importing import TreeImport, import_tree
from app.models import AuditRecord, ChallengePage
from app.organising import roles
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.system.kits import small_kit

EDIT = "/organise/challenges/oak/page"
TEXTS = {
    "tagline": "Find cats <b>fast</b>",
    "overview": "# The task\n\nFind *cats*. <script>alert(1)</script>",
    "rules": "Be **fair**.",
    "organisers": "[Oak Lab](https://oak.example)",
    "contact": "hello@oak.example",
    "citation": "@misc{oak, title = {Oak}}",
}


@pytest.fixture(scope="module", autouse=True)
def _challenge(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> None:
    for code in ("oak", "elm", "yew"):
        import_tree(platform, TreeImport(small_kit(tmp_path_factory.mktemp("texts")), code, "test"))


def organiser(browser: Browser, platform: Platform, email: str, challenge: str = "oak") -> TestClient:
    client = registered(browser(), email)
    client.post(f"/role-links/{roles.create_organiser_link(platform, challenge)}")
    return client


def version(client: TestClient) -> str:
    [found] = re.findall('name="version" value="([0-9]+)"', client.get(EDIT).text)
    return str(found)


def test_saving_a_text_with_images_of_other_sites_says_that_they_are_not_shown(
    browser: Browser, platform: Platform
) -> None:
    olga = organiser(browser, platform, "olga.images@example.org", "yew")
    edit = EDIT.replace("oak", "yew")
    [number] = re.findall('name="version" value="([0-9]+)"', olga.get(edit).text)
    picture = "https://pictures.example.org/cat.png"

    saved = olga.post(edit, data=TEXTS | {"overview": f"![a cat]({picture})", "version": number})

    assert (saved.status_code, saved.headers["location"]) == (303, edit)
    page = olga.get(edit).text
    assert "Images of other sites are not shown" in page
    assert f"<code>{picture}</code>" in page


@pytest.mark.parametrize("path", ["page", "news"])
def test_previews_are_limited_like_changes(
    browser: Browser, platform: Platform, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    olga = organiser(browser, platform, f"{path}.limited@example.org")
    form = TEXTS | {
        "title": "News",
        "text": "*News*",
        "audience": "everybody",
        "version": version(olga),
        "preview": "1",
    }
    rates = platform.limiter.rates | {Limited.CHANGE: limits.parse_many("2/hour")}
    monkeypatch.setattr(platform.limiter, "rates", rates)

    answers = [olga.post(f"/organise/challenges/oak/{path}", data=form).status_code for _ in range(3)]

    assert answers == [200, 200, 429]


def test_what_an_organiser_writes_is_previewed_saved_and_recorded(
    browser: Browser, platform: Platform
) -> None:
    olga = organiser(browser, platform, "olga@example.org")
    with platform.transaction() as session:
        session.execute(delete(ChallengePage))
        latest = session.scalar(select(func.max(AuditRecord.id)))
    form = TEXTS | {"version": version(olga)}

    preview = olga.post(EDIT, data=form | {"preview": "1"})
    before = olga.get(EDIT).text
    saved = olga.post(EDIT, data=form)
    again = olga.post(EDIT, data=form)  # nothing changed, so that an old version does not matter
    after = olga.get(EDIT).text

    assert "<h4>The task</h4>" in preview.text
    assert "<em>cats</em>" in preview.text
    assert "&lt;script&gt;" in preview.text
    assert "<script>alert" not in preview.text
    assert "# The task" in preview.text
    assert "# The task" not in before
    assert (saved.status_code, saved.headers["location"]) == (303, "/challenges/oak")
    assert again.status_code == 303
    assert "# The task" in after
    assert "Version 1, by Ash Grove" in re.sub(r"\s+", " ", after)
    with platform.transaction() as session:
        records = session.execute(
            select(AuditRecord.after, AuditRecord.details).where(
                AuditRecord.action == "page.change", AuditRecord.id > latest
            )
        ).all()
    assert [tuple(record) for record in records] == [({"version": 1}, {"changed": list(TEXTS)})]


def test_a_newer_edit_of_another_organiser_is_not_overwritten_and_nothing_typed_is_lost(
    browser: Browser, platform: Platform
) -> None:
    olga = organiser(browser, platform, "ola@example.org")
    omar = organiser(browser, platform, "omar@example.org")
    old = version(olga)
    omar.post(EDIT, data=TEXTS | {"overview": "Omar's words", "version": old})

    refused = olga.post(EDIT, data=TEXTS | {"overview": "Olga's words", "version": old})
    stored = olga.get(EDIT).text
    [newest] = re.findall('name="version" value="([0-9]+)"', refused.text)
    replaced = olga.post(EDIT, data=TEXTS | {"overview": "Olga's words", "version": newest})

    text = unescape(refused.text)
    assert refused.status_code == 409
    assert "after you had opened them. Nothing of yours was saved" in text
    assert "Olga's words</textarea>" in text
    assert "Omar's words</pre>" in text
    assert "Tagline, as saved" not in text
    assert "Omar's words" in unescape(stored)
    assert replaced.status_code == 303
    assert "Olga's words" in unescape(olga.get(EDIT).text)


def test_all_problems_of_the_texts_are_named_at_once(browser: Browser, platform: Platform) -> None:
    olga = organiser(browser, platform, "olive@example.org")
    wrong = {"tagline": "x" * 161, "contact": "nobody", "citation": "Oak et al.", "overview": "kept\0"}

    page = olga.post(EDIT, data=wrong | {"version": "x"})

    assert page.status_code == 422
    assert "Fix 5 problems" in page.text
    assert "is not an e-mail address" in page.text
    assert "is not a BibTeX entry" in page.text


def test_only_organisers_of_the_challenge_edit_its_texts(browser: Browser, platform: Platform) -> None:
    ash = registered(browser(), "ash@example.org")
    erik = organiser(browser, platform, "erik@example.org", "elm")

    for client in (ash, erik):
        assert client.get(EDIT).status_code == 403
        assert client.post(EDIT, data=TEXTS | {"version": "0"}).status_code == 403
    assert browser().get(EDIT).status_code == 303  # to log in
    assert erik.get("/organise/challenges/none/page").status_code == 404


def test_a_program_edits_the_version_that_it_read(browser: Browser, platform: Platform) -> None:
    olga = organiser(browser, platform, "opal@example.org", "elm")
    address = "/api/v1/organise/challenges/elm/page"

    first = olga.put(address, json=TEXTS)
    late = olga.put(address, json=TEXTS | {"tagline": "Later"})
    read = olga.get(address).json()
    second = olga.put(address, json=TEXTS | {"tagline": "Later", "version": read["version"]})

    assert (first.status_code, first.json()["version"]) == (200, 1)
    assert (late.status_code, late.json()["code"]) == (409, "conflict")
    assert (read["overview"], read["contact"]) == (TEXTS["overview"], TEXTS["contact"])
    assert (second.json()["version"], second.json()["tagline"]) == (2, "Later")


def test_the_address_of_the_organisers_is_shown_to_those_who_ask(
    browser: Browser, platform: Platform
) -> None:
    olga = organiser(browser, platform, "olaf@example.org")
    olga.post(EDIT, data=TEXTS | {"version": version(olga)})

    asked = browser().post("/challenges/oak/contact")

    assert "hello@oak.example" in asked.text
    assert asked.headers["Cache-Control"] == "no-store"
    assert "hello@" not in browser().get("/challenges/oak/contact", follow_redirects=True).text
    assert browser().post("/challenges/none/contact").status_code == 404
