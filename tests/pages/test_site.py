"""An admin names the site and gives it a look, and every page, feed and mail follows."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from fastapi import FastAPI
from PIL import Image
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from app.core.settings import Registration
from app.core.site import DARK, ENOUGH, LIGHT, accent_style, checked_accent, contrast
from app.jobs import mail
from app.models import AuditRecord, Site
from app.operations import site
from app.platform import Platform
from tests.login_settings import with_settings
from tests.pages.conftest import Browser
from tests.pages.statements import asked
from tests.pages.test_accounts import registered
from tests.pages.test_people import admin_of
from tests.rules.test_mail import FIELDS

ROOT = Path(__file__).parents[2]
FORM = {
    "name": "Acorn & Bench",
    "accent": "#B3261E",
    "contact": "site@oak.example",
    "links": "Our lab https://oak.example\n\nOther work https://oak.example/a",
    "imprint": "# Who we are\n\nOak *Lab* <script>x</script>",
    "privacy": "We store little.",
}


@pytest.fixture(scope="module")
def admin(platform: Platform, app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False) as client:
        yield admin_of(client, platform, "root@example.org")


@pytest.fixture(autouse=True)
def _as_installed(platform: Platform) -> None:
    with platform.transaction() as session:
        session.query(Site).delete()
    platform.cache.expire_versions("site")


def png(size: tuple[int, int] = (800, 200), kind: str = "PNG") -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, (10, 20, 200)).save(written, kind)
    return written.getvalue()


def test_every_page_carries_the_name_the_look_and_the_links(admin: TestClient, browser: Browser) -> None:
    before = browser().get("/").text
    saved = admin.post("/admin/site", data=FORM | {"version": "0"})
    settings = admin.get("/admin/site").text

    assert "· Heldout</title>" in before
    assert saved.status_code == 303
    assert 'value="Acorn &amp; Bench"' in settings
    for path in ("/", "/login", "/docs", "/nowhere"):
        page = browser().get(path).text
        assert "· Acorn &amp; Bench</title>" in page, path
        assert 'href="/site/accent.css?v=1"' in page
        assert '<a href="https://oak.example" rel="nofollow noopener noreferrer">Our lab</a>' in page
        assert 'href="/imprint"' in page
        assert "site@oak.example" not in page
    assert "--accent: light-dark(#b3261e," in browser().get("/site/accent.css?v=1").text
    assert "<h2>Who we are</h2>" in browser().get("/imprint").text
    assert "<script>x" not in browser().get("/imprint").text
    assert "We store little." in browser().get("/privacy").text
    assert "<title>Acorn &amp; Bench: news</title>" in browser().get("/news.atom").text


def test_images_in_legal_texts_are_said_to_be_not_shown(admin: TestClient) -> None:
    picture = "![a cat](https://pictures.example.org/cat.png)"
    form = FORM | {"imprint": "```\nnever closed", "privacy": picture, "version": "0"}

    preview = admin.post("/admin/site", data=form | {"preview": "1"}).text
    before = admin.get("/admin/site").text
    saved = admin.post("/admin/site", data=form)
    after = admin.get(saved.headers["location"]).text

    said = "Images are not shown; their words stand in their place"
    assert [page.count(said) for page in (preview, before, after)] == [1, 0, 1]
    assert "<code>https://pictures.example.org/cat.png</code>" in after


def test_an_admin_closes_registration_unless_the_environment_has_decided(
    admin: TestClient, browser: Browser, platform: Platform
) -> None:
    newcomer = {"email": "late@example.org", "name": "Late", "password": "four words are long"}
    saved = admin.post("/admin/site", data=FORM | {"version": "0", "registration": "closed"})
    assert saved.status_code == 303
    assert "New accounts cannot be made here" in browser().get("/register").text
    assert browser().post("/register", data=newcomer).status_code == 403
    assert '<option value="closed" selected>' in admin.get("/admin/site").text
    fixed = with_settings(platform, registration=Registration.OPEN)
    assert fixed.current_settings().registration is Registration.OPEN
    assert site.is_registration_fixed(fixed)

    admin.post("/admin/site", data=FORM | {"version": "1", "registration": ""})

    assert browser().post("/register", data=newcomer).status_code == 303
    assert admin.post("/admin/site", data=FORM | {"version": "2", "registration": "x"}).status_code == 422


def test_variables_are_put_away_by_group_with_their_number_those_that_are_set_first_until_they_are_sought(
    admin: TestClient,
) -> None:
    def parts(page: str) -> tuple[str, list[tuple[bool, str]]]:
        """What is listed outside of folds, and each fold with whether it is open."""
        folds = re.findall(r'<details class="fold filtered" ?(open)?>(.*?)</details>', page, re.DOTALL)
        listed = re.sub(r'<details class="fold filtered".*?</details>', "", page, flags=re.DOTALL)
        return listed, [(bool(is_open), fold) for is_open, fold in folds]

    listed, folds = parts(admin.get("/admin/settings").text)
    sought, found = parts(admin.get("/admin/settings?q=mails_per").text)

    assert "<code>HELDOUT_DATABASE_URL</code>" not in listed
    assert sum("<code>HELDOUT_DATABASE_URL</code>" in fold for _, fold in folds) == 1
    assert "<code>HELDOUT_MAILS_PER_MINUTE</code>" not in listed
    counts = [int(re.search(r'<summary>[^<]+<span class="count">(\d+)<', fold)[1]) for _, fold in folds]  # type: ignore[index]
    assert counts == [fold.count('<th scope="row">') for _, fold in folds]
    assert not any(is_open for is_open, _ in folds)
    assert "HELDOUT_DATABASE_URL" not in sought
    assert [(is_open, fold.count("HELDOUT_MAILS_PER_MINUTE")) for is_open, fold in found] == [(True, 1)]


def test_settings_say_the_default_where_nothing_was_chosen(admin: TestClient, browser: Browser) -> None:
    page = " ".join(admin.get("/admin/site").text.split())
    purpose = (ROOT / "templates/site/tagline.txt").read_text().strip()

    assert purpose in " ".join(browser().get("/").text.split())
    colour = re.search(r"--accent: light-dark\((#\w+)", (ROOT / "static/style.css").read_text())
    assert colour
    for default in (purpose, colour[1]):
        assert f"Empty: {default}" in page
    assert f'fill="{colour[1]}"' in page


def test_nothing_is_shown_of_what_was_not_written(browser: Browser) -> None:
    page = browser().get("/").text

    assert not re.search("/imprint|/privacy|/contact|/site/", page)
    for path in ("/imprint", "/privacy", "/contact", "/site/logo.png"):
        assert browser().get(path).status_code == 404
    assert browser().get("/site/accent.css").text == ""


def test_the_address_of_the_site_is_shown_to_those_logged_in_or_who_ask(
    admin: TestClient, browser: Browser
) -> None:
    admin.post("/admin/site", data=FORM | {"version": "0"})

    assert "site@oak.example" not in browser().get("/contact").text
    assert "site@oak.example" in browser().post("/contact").text
    assert "site@oak.example" in admin.get("/contact").text


def test_all_problems_of_the_settings_are_named_at_once(admin: TestClient) -> None:
    wrong = {
        "name": "",
        "accent": "#ffee00",
        "contact": "nobody",
        "links": "Lab javascript:alert(1)",
        "imprint": "x" * 20_001,
    }

    page = admin.post("/admin/site", data=FORM | wrong | {"version": "0"})

    assert page.status_code == 422
    assert "Fix 5 problems" in page.text
    assert "is too light: its contrast with the page is 1.2, and text needs 4.5" in page.text


def test_settings_of_another_admin_are_not_overwritten(admin: TestClient, platform: Platform) -> None:
    admin.post("/admin/site", data=FORM | {"version": "0"})

    late = admin.post("/admin/site", data=FORM | {"name": "Too late", "version": "0"})
    preview = admin.post("/admin/site", data=FORM | {"imprint": "*New*", "version": "1", "preview": "1"})
    api = admin.put("/api/v1/admin/site", json={"name": "By program", "version": 1})

    assert late.status_code == 409
    assert 'value="Too late"' in late.text
    assert "Acorn &amp; Bench</pre>" in late.text
    assert "<em>New</em>" in preview.text
    assert (api.status_code, api.json()["name"], api.json()["imprint"]) == (200, "By program", "")
    with platform.transaction() as session:
        recorded = session.scalars(
            select(AuditRecord.after)
            .where(AuditRecord.action == "site.change")
            .order_by(AuditRecord.id.desc())
        ).first()
    assert recorded is not None
    assert recorded["name"] == "By program"


def test_a_logo_is_rewritten_and_what_is_no_image_is_refused(admin: TestClient, browser: Browser) -> None:
    for data, problem in (
        (b"<svg onload='alert(1)'/>", "must be a PNG, WebP or JPEG image"),
        (png()[:100], "must be a PNG, WebP or JPEG image"),
        (png((2100, 2100)), "must have at most 4,000,000 pixels"),
        (bytes(600 << 10), "must have at most 512 KiB"),
    ):
        refused = admin.post("/admin/site/logo", files={"logo": ("logo.png", data)})
        assert (refused.status_code, problem in refused.text) == (422, True)
    for kind in ("PNG", "WEBP", "JPEG"):
        assert admin.post("/admin/site/logo", files={"logo": ("x", png(kind=kind))}).status_code == 303

    [address] = re.findall(r'src="(/site/logo\.png\?v=\w+)"', browser().get("/").text)
    served = browser().get(address)
    with Image.open(io.BytesIO(served.content)) as image:
        assert (image.format, image.size) == ("PNG", (384, 96))
    assert served.headers["content-type"] == "image/png"
    assert admin.post("/admin/site/logo/remove").status_code == 303
    assert "/site/logo.png" not in browser().get("/").text
    assert browser().get(address).status_code == 404


def test_the_settings_cost_no_page_a_query(admin: TestClient, browser: Browser, platform: Platform) -> None:
    admin.post("/admin/site", data=FORM | {"version": "0"})
    visitor = browser()
    visitor.get("/login")

    with asked(platform, of_site=True) as found:
        page = visitor.get("/login").text

    assert "Acorn &amp; Bench" in page
    assert [statement for statement in found if "FROM site" in statement] == []


def test_the_name_is_that_of_the_last_reading_while_the_database_cannot_be_asked(
    admin: TestClient, platform: Platform, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.post("/admin/site", data=FORM | {"version": "0"})
    assert platform.site().name == "Acorn & Bench"

    def unavailable(_: Session) -> NoReturn:
        raise OperationalError("SELECT", {}, OSError("gone"))

    monkeypatch.setattr("app.platform.load_site", unavailable)
    platform.cache.expire_versions("site")

    assert platform.site().name == "Acorn & Bench"
    assert "· Acorn &amp; Bench</title>" in browser().get("/login").text


def test_mail_comes_from_the_site_by_its_name(admin: TestClient, platform: Platform) -> None:
    admin.post("/admin/site", data=FORM | {"version": "0"})
    folder = platform.settings.data / "mail"
    before = set(folder.glob("*.eml"))
    fields = {name: value for name, value in FIELDS.items() if name != "server"}

    mail.deliver(platform, {"letter": "account-deleted", "address": "ash@example.org", "fields": fields})

    [sent] = set(folder.glob("*.eml")) - before
    assert 'From: "Acorn & Bench" <' in sent.read_text() or "From: Acorn & Bench <" in sent.read_text()


def test_only_admins_change_the_site(browser: Browser) -> None:
    ash = registered(browser(), "ash.site@example.org")

    assert ash.get("/admin/site").status_code == 403
    assert ash.post("/admin/site", data=FORM | {"version": "0"}).status_code == 403
    assert ash.put("/api/v1/admin/site", json={"name": "Mine"}).status_code == 403


@pytest.mark.parametrize(
    "accent", ["#000000", "#2456d6", "#b3261e", "#11734b", "#6b21a8", "#0000ff", "#5c4a00"]
)
def test_text_in_the_accent_can_be_read_on_light_and_on_dark_pages(accent: str) -> None:
    style = accent_style(checked_accent(accent))
    light, dark = re.findall("--accent: light-dark[(](#[0-9a-f]+), (#[0-9a-f]+)[)]", style)[0]
    on_light, on_dark = re.findall("--on-accent: light-dark[(](#[0-9a-f]+), (#[0-9a-f]+)[)]", style)[0]
    soft_light, soft_dark = re.findall("--accent-soft: light-dark[(](#[0-9a-f]+), (#[0-9a-f]+)[)]", style)[0]

    for text_colour, below in (
        (light, LIGHT),
        (dark, DARK),
        (on_light, light),
        (on_dark, dark),
        (light, soft_light),
        (dark, soft_dark),
    ):
        assert contrast(text_colour, below) >= ENOUGH, (text_colour, below)


@pytest.mark.parametrize("colour", ["red", "#fff", "#ffffff", "#ffff00", "#2456d6;}", "rgb(0,0,0)"])
def test_a_colour_that_cannot_be_read_or_is_none_is_refused(colour: str) -> None:
    with pytest.raises(ValueError, match=r"too light|must be a colour"):
        checked_accent(colour)


def test_without_a_mail_server_no_page_says_that_mail_is_sent(admin: TestClient) -> None:
    pages = [admin.get(address).text for address in ("/account/notifications", "/admin", "/admin/mail")]

    assert all("No mail server is set" in page for page in pages)
    for untrue in ("is mailed as well", "is always sent", "No mail has failed"):
        assert not any(untrue in page for page in pages), untrue
