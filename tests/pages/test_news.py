"""News of challenges: written by organisers, or by changes that announce themselves; on pages and in feeds."""

import re
from html import unescape
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.challenges import news
from app.core.access import Actor
from app.evaluation import rescoring
from app.intake.importing import TreeImport, import_tree
from app.models import (
    Announcement,
    AuditRecord,
    Board,
    Challenge,
    Disclosure,
    GroundTruth,
    Phase,
    Quota,
    Rescore,
    User,
)
from app.organising import phases
from app.organising.phases import NewRules
from app.platform import Platform
from app.web.zones import date_in_words
from tests.confirming import confirm_rescores
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.pages.test_challenge_texts import organiser
from tests.pages.views import ORGANISER
from tests.system.kits import small_kit

ATOM = "{http://www.w3.org/2005/Atom}"
CORRECTED = (
    "The leaderboards of `test` now use version 2 of the ground truth. The results on them were scored again; the page of a"
    " submission lists its earlier scores."
)
FOREIGN = "https://pictures.example.org/cat.png"
WRITE = "/organise/challenges/oak/news"
EVERYBODY = {"audience": "everybody"}


@pytest.fixture(scope="module", autouse=True)
def _challenges(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> None:
    for code in ("oak", "elm"):
        import_tree(platform, TreeImport(small_kit(tmp_path_factory.mktemp("news")), code, "test"))


@pytest.fixture(autouse=True)
def _no_news(platform: Platform) -> None:
    with platform.transaction() as session:
        session.query(Announcement).delete()


def entries(client: TestClient, path: str = "/challenges/oak/news.atom") -> list[ET.Element]:
    return ET.fromstring(client.get(path).content).findall(f"{ATOM}entry")


def told(platform: Platform) -> list[tuple[str, str]]:
    with platform.transaction() as session:
        rows = session.execute(select(Announcement.title, Announcement.text).order_by(Announcement.id))
        return [(title, text) for title, text in rows]


def news_actions(platform: Platform) -> list[str]:
    with platform.transaction() as session:
        of_news = AuditRecord.action.startswith("news")
        return [*session.scalars(select(AuditRecord.action).where(of_news).order_by(AuditRecord.id))]


def phase_of(platform: Platform, challenge: str = "oak") -> Phase:
    with platform.transaction() as session:
        return session.scalars(select(Phase).join(Challenge).where(Challenge.code == challenge)).one()


def test_an_announcement_is_previewed_published_edited_and_deleted(
    browser: Browser, platform: Platform
) -> None:
    olga, visitor, before = (
        organiser(browser, platform, "olga@example.org"),
        browser(),
        news_actions(platform),
    )
    form = {"title": "Workshop & more", "text": "Come to **Oak**. <script>x</script>"}

    preview = olga.post(WRITE, data=EVERYBODY | form | {"preview": "1"})
    nothing = visitor.get("/challenges/oak/news").text
    published = olga.post(WRITE, data=EVERYBODY | form)

    assert "<strong>Oak</strong>" in preview.text
    assert "Announcements of the organisers" in nothing
    assert (published.status_code, published.headers["location"]) == (303, "/challenges/oak/news")
    page, home = visitor.get("/challenges/oak/news").text, visitor.get("/").text
    assert "Workshop &amp; more" in page
    assert "<strong>Oak</strong>" in page
    assert "<script>x" not in page
    assert "Workshop &amp; more" in home
    [edit] = re.findall(rf'href="({WRITE}/\d+)"', olga.get(WRITE).text)
    [version] = re.findall('name="version" value="([0-9]+)"', olga.get(edit).text)

    changed = olga.post(edit, data=form | {"title": "Workshop moved", "version": version})
    late = olga.post(edit, data=form | {"title": "Too late", "version": version})

    assert changed.status_code == 303
    assert late.status_code == 409
    assert 'value="Too late"' in late.text
    assert "Workshop moved</pre>" in late.text
    page = visitor.get("/challenges/oak/news").text
    assert "Workshop moved" in page
    assert "edited <time" in page
    assert olga.post(f"{edit}/delete").status_code == 303
    assert "Workshop" not in visitor.get("/challenges/oak/news").text + visitor.get("/").text
    assert olga.get(edit).status_code == 404
    assert news_actions(platform)[len(before) :] == ["news.publish", "news.edit", "news.delete"]


def test_images_of_other_sites_in_an_announcement_are_said_to_be_not_shown(
    browser: Browser, platform: Platform
) -> None:
    olga = organiser(browser, platform, "olga.pictures@example.org")
    form = {"title": "Pictures", "text": f"![a cat]({FOREIGN}) ![ours](/pictures/oak/test/x/picture.jpg)"}

    preview = olga.post(WRITE, data=EVERYBODY | form | {"preview": "1"})
    published = olga.post(WRITE, data=EVERYBODY | form)
    edit = published.headers["location"]
    page = olga.get(edit)
    [version] = re.findall('name="version" value="([0-9]+)"', page.text)
    edited = olga.post(edit, data=form | {"title": "Some pictures", "version": version})
    without = olga.post(edit, data=form | {"text": "No pictures", "version": int(version) + 1})

    assert published.status_code == edited.status_code == without.status_code == 303
    assert re.fullmatch(rf"{WRITE}/\d+", edit)
    for each in (preview, page):
        assert each.text.count("Images of other sites are not shown") == 1
        assert re.findall("<li><code>(.+)</code></li>", each.text) == [FOREIGN]
    assert edited.headers["location"] == edit
    assert without.headers["location"].startswith("/challenges/oak/news#news-")
    assert "are not shown" not in olga.get(edit).text
    olga.post(f"{edit}/delete")


def test_problems_of_an_announcement_are_named_together(browser: Browser, platform: Platform) -> None:
    olga = organiser(browser, platform, "ola@example.org")

    page = olga.post(WRITE, data={"title": "\u202e", "text": " ", "audience": ""})

    assert page.status_code == 422
    assert "Fix 3 problems" in page.text


def test_older_news_and_older_answers_are_pages_of_their_own(
    browser: Browser, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "PAGE", 1)
    with platform.transaction() as session:
        oak = session.scalars(select(Challenge.id).where(Challenge.code == "oak")).one()
        session.add_all(
            Announcement(challenge_id=oak, title=f"Number {number}", text="Some") for number in range(2)
        )
    visitor = browser()

    first = visitor.get("/challenges/oak/news").text
    [older] = re.findall(r'href="(/challenges/oak/news\?before=\d+)"', first)
    second = visitor.get(older)

    assert ("Number 1" in first, "Number 0" in first) == (True, False)
    assert (second.status_code, "Number 0" in second.text) == (200, True)
    assert visitor.get("/challenges/oak/news?answers_before=7").status_code == 200


def test_organisers_write_the_news_of_their_own_challenges_alone(
    browser: Browser, platform: Platform
) -> None:
    olga = organiser(browser, platform, "olive@example.org")
    erik = organiser(browser, platform, "erik@example.org", "elm")
    olga.post(WRITE, data=EVERYBODY | {"title": "Oak news", "text": "Some"})
    with platform.transaction() as session:
        number = session.scalars(select(Announcement.id)).one()

    answers = [
        erik.post(WRITE, data=EVERYBODY | {"title": "Elm news", "text": "Some"}),
        erik.post(f"{WRITE}/{number}", data={"title": "Mine", "text": "Some", "version": "1"}),
        erik.post(f"{WRITE}/{number}/delete"),
        erik.post(f"/organise/challenges/elm/news/{number}/delete"),  # of another challenge than it says
        registered(browser(), "ash@example.org").post(
            WRITE, data=EVERYBODY | {"title": "My news", "text": "Some"}
        ),
    ]

    assert [each.status_code for each in answers] == [403, 403, 403, 404, 403]
    assert told(platform) == [("Oak news", "Some")]


def test_a_program_publishes_edits_and_deletes(browser: Browser, platform: Platform) -> None:
    olga = organiser(browser, platform, "opal@example.org")
    address = f"/api/v1{WRITE}"

    made = olga.post(address, json={"title": "By program", "text": "Some"})
    one = f"{address}/{made.json()['id']}"
    edited = olga.put(one, json={"title": "By program", "text": "More", "version": made.json()["version"]})
    late = olga.put(one, json={"title": "By program", "text": "Late", "version": made.json()["version"]})
    listed = browser().get("/api/v1/challenges/oak/news").json()["announcements"]
    deleted = olga.delete(one)

    assert (made.status_code, edited.json()["version"], late.status_code) == (201, 2, 409)
    assert [(each["title"], each["text"]) for each in listed] == [("By program", "More")]
    assert deleted.status_code == 204
    assert told(platform) == []


def test_a_feed_is_valid_and_its_entries_keep_their_ids(browser: Browser, platform: Platform) -> None:
    olga, visitor = organiser(browser, platform, "oskar@example.org"), browser()
    empty = ET.fromstring(visitor.get("/challenges/oak/news.atom").content)
    made = olga.post(
        f"/api/v1{WRITE}", json={"title": "A < B", "text": "*x* ]]> \x0b &amp; ![y](/pictures/oak/a)"}
    ).json()

    response = visitor.get("/challenges/oak/news.atom")
    feed = ET.fromstring(response.content)
    [first] = feed.findall(f"{ATOM}entry")
    olga.put(f"/api/v1{WRITE}/{made['id']}", json={"title": "A > B", "text": "y", "version": 1})
    [second] = entries(visitor)
    [of_all] = entries(visitor, "/news.atom")

    assert response.headers["content-type"] == "application/atom+xml; charset=utf-8"
    for root in (empty, feed):
        assert all(
            root.findtext(f"{ATOM}{name}")
            for name in ("id", "title", "updated", "author/{http://www.w3.org/2005/Atom}name")
        )
        assert {link.get("rel") for link in root.findall(f"{ATOM}link")} == {"self", "alternate"}
    for name in ("id", "title", "updated", "published"):
        assert first.findtext(f"{ATOM}{name}")
    assert first.findtext(f"{ATOM}id") == f"urn:uuid:{made['public_id']}"
    assert second.findtext(f"{ATOM}id") == first.findtext(f"{ATOM}id") == of_all.findtext(f"{ATOM}id")
    assert second.findtext(f"{ATOM}title") == "A > B"
    assert second.findtext(f"{ATOM}published") == first.findtext(f"{ATOM}published")
    assert "<em>x</em>" in str(first.findtext(f"{ATOM}content"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(first.findtext(f"{ATOM}updated")))
    known = visitor.get("/news.atom", headers={"If-None-Match": visitor.get("/news.atom").headers["ETag"]})
    assert known.status_code == 304
    assert visitor.get("/challenges/none/news.atom").status_code == 404
    assert (
        'type="application/atom+xml" href="/challenges/oak/news.atom"'
        in visitor.get("/challenges/oak/news").text
    )


def rules(phase: Phase, **changes: Any) -> NewRules:
    now = {
        "opens_at": phase.opens_at,
        "closes_at": phase.closes_at,
        "grace_minutes": int(phase.grace.total_seconds() // 60),
        "quotas": [{"results": each.results, "days": each.days} for each in phase.quotas],
        "embargo": phase.embargo,
        "reason": "a secret reason",
    }
    return NewRules.model_validate(now | changes)


def test_changes_of_dates_and_quotas_announce_themselves_and_nothing_else(
    platform: Platform, browser: Browser
) -> None:
    phase = phase_of(platform)
    close = phase.opens_at.replace(year=2040)
    registered(browser(), "admin@example.org")
    with platform.transaction() as session:
        user = session.scalars(select(User.id).where(User.email == "admin@example.org")).one()
    actor = Actor(user_id=user, role=ORGANISER.role, has_second_factor=True)

    phases.change_rules(platform, actor, phase.id, rules(phase, max_boxes=77))  # neither dates nor quotas
    assert told(platform) == []
    phases.change_rules(platform, actor, phase.id, rules(phase, closes_at=close))
    phases.change_rules(
        platform, actor, phase.id, rules(phase, closes_at=close, quotas=[{"results": 1, "days": 30}])
    )

    assert told(platform) == [
        ("test: new dates", f"`test` closes on {date_in_words(close)}; before, it was never."),
        (
            "test: new quota",
            "The quota of `test` is 1 result in 30 days, per task; it was 2 results in 7 days and 30 results in 365 days, per task.",
        ),
    ]
    page = unescape(browser().get("/challenges/oak/news").text)
    assert "<code>test</code> closes on" in page
    assert "a secret reason" not in page


def test_an_import_that_moves_a_deadline_announces_it(
    platform: Platform, tmp_path_factory: pytest.TempPathFactory
) -> None:
    phase = phase_of(platform, "elm")
    tree = small_kit(tmp_path_factory.mktemp("again"))

    import_tree(platform, TreeImport(tree, "elm", "test"))
    assert told(platform) == []
    import_tree(
        platform,
        TreeImport(tree, "elm", "test", quotas=(Quota(5, 7),), closes_at=phase.opens_at.replace(year=2041)),
    )

    [(title, text)] = told(platform)
    assert title == "test: new dates and quota"
    assert "5 results in 7 days" in text


def test_new_ground_truth_is_announced_when_the_boards_switch_to_it(platform: Platform) -> None:
    phase = phase_of(platform)
    with platform.transaction() as session:
        old = session.scalars(select(GroundTruth).where(GroundTruth.phase_id == phase.id)).one()
        scorer = session.scalars(select(Board.scorer).where(Board.phase_id == phase.id).limit(1)).one()
        same = {"description_key": old.description_key, "not_offered": old.not_offered}
        new = GroundTruth(
            phase_id=phase.id, version=2, fingerprint="f" * 64, statistics=old.statistics, **same
        )
        session.add(new)
        session.flush()
        session.add(Rescore(phase_id=phase.id, ground_truth_id=old.id, scorer=scorer))
    assert told(platform) == []
    confirm_rescores(platform)
    assert rescoring.activate_complete(platform) == 1
    assert told(platform) == []  # the same ground truth

    with platform.transaction() as session:
        session.add(Rescore(phase_id=phase.id, ground_truth_id=new.id, scorer=scorer))
    assert told(platform) == []  # imported, and not used yet
    confirm_rescores(platform)
    assert rescoring.activate_complete(platform) == 1

    assert told(platform) == [
        (
            "test: ground truth corrected",
            CORRECTED,
        )
    ]


def test_rules_page_shows_settings_the_organisers_text_and_the_terms(
    browser: Browser, platform: Platform
) -> None:
    olga = organiser(browser, platform, "oda@example.org", "elm")
    before = browser().get("/challenges/elm/rules").text
    olga.put("/api/v1/organise/challenges/elm/page", json={"rules": "## Fairness\n\nBe **fair**."})
    olga.post("/organise/challenges/elm/terms", data={"text": "Cite the paper of the challenge."})

    after = browser().get("/challenges/elm/rules").text
    data = browser().get("/api/v1/challenges/elm/rules").json()

    assert "It is final: no later result replaces it." in before
    assert "From the organisers" not in before
    assert "From the organisers" in after
    assert "<h3>Fairness</h3>" in after
    assert "Cite the paper of the challenge." in after
    assert data["phases"][0]["phase"]["disclosure"] == Disclosure.CLASSES
    assert "Be **fair**." in data["text"]
    assert (data["terms"], data["terms_version"]) == ("Cite the paper of the challenge.", 1)
    assert browser().get("/challenges/none/rules").status_code == 404
