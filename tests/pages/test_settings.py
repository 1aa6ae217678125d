"""Organisers change the settings of a challenge that is open."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from app.intake.importing import TreeImport, import_tree
from app.models import (
    Announcement,
    AuditRecord,
    Challenge,
    ChallengePage,
    ChallengeVisibility,
    Intake,
    Phase,
    Team,
    Upload,
)
from app.organising import roles
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.system.kits import small_kit

HERE = "/organise/challenges/alder"
TEXTS = {"overview": "Find cats", "contact": "old@alder.example"}
SETTINGS = {
    "title": "Alder 2028",
    "tagline": "Find cats",
    "image_licence": "CC-BY-4.0",
    "annotation_licence": "CC0-1.0",
    "contact": "new@alder.example",
    "citation": "@misc{alder, title = {Alder}}",
}


@pytest.fixture(scope="module", autouse=True)
def _challenge(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> None:
    import_tree(platform, TreeImport(small_kit(tmp_path_factory.mktemp("settings")), "alder", "test"))


@pytest.fixture
def owner(browser: Browser, platform: Platform) -> TestClient:
    client = registered(browser(), f"owner.{uuid.uuid4().hex}@alder.example")
    client.post(f"/role-links/{roles.create_organiser_link(platform, 'alder')}")
    return client


def version(client: TestClient) -> str:
    [found] = re.findall('name="version" value="([0-9]+)"', client.get(f"{HERE}/settings").text)
    return str(found)


def stored(platform: Platform) -> Challenge:
    with platform.reading() as session:
        return session.scalars(select(Challenge).where(Challenge.code == "alder")).one()


def test_an_open_challenge_is_renamed_and_its_address_stays(owner: TestClient, platform: Platform) -> None:
    owner.post(f"{HERE}/page", data=TEXTS | {"version": version(owner)})

    saved = owner.post(f"{HERE}/settings", data=SETTINGS | {"version": version(owner)})

    assert (saved.status_code, saved.headers["location"]) == (303, f"{HERE}/settings?saved=1")
    row = stored(platform)
    assert (row.code, row.title, row.annotation_licence) == ("alder", "Alder 2028", "CC0-1.0")
    texts = owner.get(f"/api/v1{HERE}/page").json()
    assert (texts["overview"], texts["contact"]) == ("Find cats", "new@alder.example")
    assert "images CC-BY-4.0, annotation CC0-1.0" in " ".join(
        owner.get("/challenges/alder/data").text.split()
    )
    assert "@misc{alder" in owner.get("/challenges/alder?format=bib").text
    with platform.reading() as session:
        record = session.scalars(select(AuditRecord).order_by(AuditRecord.id.desc()).limit(1)).one()
    assert (record.action, record.after) == (
        "page.change",
        {"version": texts["version"], "title": "Alder 2028", "image_licence": "CC-BY-4.0", "annotation_licence": "CC0-1.0"},
    )  # fmt: skip


def test_a_tagline_that_was_typed_on_several_lines_is_one_sentence(
    owner: TestClient, platform: Platform
) -> None:
    row = stored(platform)
    kept = {name: getattr(row, name) for name in ("title", "image_licence", "annotation_licence")}

    saved = owner.post(
        f"{HERE}/settings",
        data=SETTINGS | kept | {"tagline": "Find\r\ncats ", "version": version(owner)},
    )

    assert saved.status_code == 303
    assert ">Find cats</textarea>" in owner.get(f"{HERE}/settings").text


def test_of_two_who_save_at_once_the_second_is_shown_what_the_first_wrote(
    owner: TestClient, platform: Platform
) -> None:
    number = int(version(owner))
    sent = [{"title": title, "version": number} for title in ("Alder by Ash", "Alder by Oak")]
    with ThreadPoolExecutor(2) as both:
        answers = list(both.map(lambda body: owner.put(f"/api/v1{HERE}/settings", json=body), sent))

    assert sorted(each.status_code for each in answers) == [200, 409]
    first = next(body for body, each in zip(sent, answers, strict=True) if each.status_code == 200)
    assert stored(platform).title == first["title"]
    late = owner.post(f"{HERE}/settings", data=SETTINGS | {"version": str(number)})
    assert late.status_code == 409
    assert f'<pre tabindex="0">{first["title"]}</pre>' in late.text
    assert f'value="{number + 1}"' in late.text


def test_what_the_page_does_not_change_is_named_with_its_value(owner: TestClient) -> None:
    page = owner.get(f"{HERE}/settings").text

    assert "Accepts results; no closing date" in page
    assert f'href="{HERE}/visibility"' in page
    assert "/organise/phases/" in page
    refused = owner.post(
        f"{HERE}/settings", data={"title": "A", "contact": "nobody", "version": version(owner)}
    )
    assert refused.status_code == 422
    assert "is not an e-mail address" in refused.text


def counts(platform: Platform) -> tuple[int, ...]:
    """How many uploads, teams and data sets there are, and the version of all texts together."""
    of = select(Challenge.id).where(Challenge.code == "alder").scalar_subquery()
    with platform.reading() as session:
        return tuple(
            session.scalar(statement) or 0
            for statement in (
                select(func.count()).select_from(Upload).join(Upload.phase).where(Phase.challenge_id == of),
                select(func.count()).select_from(Team).where(Team.challenge_id == of),
                select(func.count()).select_from(Intake).where(Intake.challenge_id == of),
                select(func.count()).select_from(Announcement).where(Announcement.challenge_id == of),
                select(ChallengePage.version).where(ChallengePage.challenge_id == of),
            )
        )


def test_an_archived_challenge_is_read_only_and_in_no_list_until_it_is_taken_back(
    owner: TestClient, browser: Browser, platform: Platform
) -> None:
    person = registered(browser(), f"{uuid.uuid4().hex}@alder.example")
    api, theirs = f"/api/v1{HERE}", "/api/v1/challenges/alder"
    sent = {"title": "Alder", "version": int(version(owner))}
    tus = {"Tus-Resumable": "1.0.0", "Upload-Length": "10"}
    with platform.transaction() as session:
        phase = session.scalars(select(Phase.id).join(Challenge).where(Challenge.code == "alder")).first()
    truth = f"/api/v1/organise/phases/{phase}/ground-truth"

    def changes() -> list[int]:
        team = {"name": f"Team {uuid.uuid4().hex[:6]}"}
        return [
            person.post(f"{theirs}/test/uploads", headers=tus).status_code,
            person.post(f"{theirs}/teams", json=team).status_code,
            owner.post(f"{api}/data-sets").status_code,
            owner.put(f"{api}/settings", json=sent).status_code,
            owner.post(f"{api}/news", json={"title": "News", "text": "Some"}).status_code,
            owner.put(f"{api}/visibility", json={"visibility": "by link"}).status_code,
            owner.put(f"{truth}/1/note", json={"note": "The first"}).status_code,
            owner.post(f"{truth}/1/use", json={"newest": 1}).status_code,
        ]

    assert person.put(f"{api}/archive").status_code == 403
    assert (owner.put(f"{api}/archive").status_code, owner.put(f"{api}/archive").status_code) == (204, 204)
    before = counts(platform)
    assert changes() == [409] * 8
    assert counts(platform) == before
    assert stored(platform).visibility is ChallengeVisibility.LISTED
    listed = [each["code"] for each in person.get("/api/v1/challenges").json()]
    found = person.get("/api/v1/find", params={"q": "alder"}).json()["challenges"]
    assert ("alder" in listed, found) == (False, [])
    for page in ("", "/data", "/rules", "/news"):
        assert "This challenge was archived" in person.get(f"/challenges/alder{page}").text
    assert "/test/submit" not in person.get("/challenges/alder").text
    assert "Take it back" in owner.get(f"{HERE}/settings").text

    with ThreadPoolExecutor(2) as both:  # two owners at once: it is announced and recorded once
        answers = list(both.map(lambda _: owner.delete(f"{api}/archive").status_code, range(2)))
    assert answers == [204, 204]
    assert stored(platform).archived_at is None
    assert person.post(f"{theirs}/test/uploads", headers=tus).status_code == 201
    assert "alder" in [each["code"] for each in person.get("/api/v1/challenges").json()]
    titles = [each["title"] for each in person.get(f"{theirs}/news").json()["announcements"]]
    assert titles == ["This challenge is no longer archived", "This challenge is archived"]
