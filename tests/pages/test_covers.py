"""The picture of a challenge: sent by its organisers, or made of its public images; never of those that a visitor may not see."""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any

import pytest
from fastapi import FastAPI
from PIL import Image, PngImagePlugin
from sqlalchemy import select
from starlette.testclient import TestClient

from app.core.access import Actor
from app.images import pictures
from app.images.pictures import PictureRules
from app.models import AuditRecord, Challenge, Disclosure, Phase, User
from app.organising import roles
from app.organising.roles import Grant
from app.platform import Platform
from app.web.markdown import markdown
from app.web.transfers import LARGEST_PICTURE
from tests.pages.picture_trees import deliver, loaded, tree_with_pictures
from tests.pages.test_accounts import registered
from tests.pages.test_pictures import bomb

HTML = {"Accept": "text/html"}
PAGE = "/organise/challenges/open/picture"
ALT = "Two boats & a kite"


@dataclass(frozen=True, slots=True)
class Place:
    """A challenge whose images everybody may see, one whose images are hidden, and an organiser of both."""

    platform: Platform
    visitor: TestClient
    organiser: TestClient

    def send(self, content: bytes, alt: str = ALT, name: str = "a.png") -> Any:
        return self.organiser.post(PAGE, data={"alt": alt}, files={"picture": (name, content)})

    def card(self, challenge: str) -> dict[str, Any]:
        """The card of a challenge, as the API has it."""
        self.platform.cache.expire_versions()
        cards = self.visitor.get("/api/v1/challenges").json()
        return next(each for each in cards if each["code"] == challenge)


@pytest.fixture(scope="module")
def place(platform: Platform, app: FastAPI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    for challenge, disclosure in (("open", Disclosure.FULL), ("hidden", Disclosure.CLASSES)):
        loaded(platform, tree_with_pictures(tmp_path_factory.mktemp(challenge)), challenge, disclosure)
    visitor, organiser = (TestClient(app, headers=HTML, follow_redirects=False) for _ in range(2))
    registered(organiser, "organiser@example.org")
    for challenge in ("open", "hidden"):
        roles.grant(platform, "organiser@example.org", Grant.ORGANISER, challenge)
    yield Place(platform, visitor, organiser)
    for client in (visitor, organiser):
        client.close()


def picture(kind: str = "PNG", size: tuple[int, int] = (1000, 900), **options: Any) -> bytes:
    """An image whose left half is red and whose right half is blue."""
    drawn = Image.new("RGB", size, "blue")
    drawn.paste("red", (0, 0, size[0] // 2, size[1]))
    written = io.BytesIO()
    drawn.save(written, kind, **options)
    return written.getvalue()


def with_description() -> PngImagePlugin.PngInfo:
    info = PngImagePlugin.PngInfo()
    info.add_text("Description", "secret camera")
    return info


def turned() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    exif[0x010E] = "secret camera"
    return exif


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("content", "is_upright"),
    [
        (picture("PNG", pnginfo=with_description()), True),
        (picture("JPEG", exif=turned()), False),
        (picture("WEBP", (2000, 400)), True),
        (picture("JPEG", progressive=True), True),
    ],
    ids=["PNG", "JPEG", "WebP", "progressive"],
)
def test_a_picture_is_shown_in_one_shape_and_without_its_metadata(
    place: Place, content: bytes, *, is_upright: bool
) -> None:
    sent = place.send(content)
    assert (sent.status_code, sent.headers["location"]) == (303, PAGE)
    cover = place.card("open")["cover"]
    pages = [unescape(place.visitor.get(path).text) for path in ("/", "/challenges", "/challenges/open")]
    large, small = (place.visitor.get(cover[name]) for name in ("picture", "small"))

    assert cover["alt"] == ALT
    assert all(cover["small"] in page and f'alt="{ALT}"' in page for page in pages)
    for answer, size in ((large, (1280, 720)), (small, (640, 360))):
        shown = Image.open(io.BytesIO(answer.content))
        assert (shown.format, shown.size) == ("JPEG", size)
        assert not shown.getexif()
        assert b"secret" not in answer.content
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
        corners = [shown.convert("RGB").getpixel(each) for each in ((5, 5), (size[0] - 5, 5))]
        assert (corners[0] == corners[1]) != is_upright  # halves beside each other, or one above the other
    assert (
        place.visitor.get(cover["small"], headers={"If-None-Match": small.headers["etag"]}).status_code == 304
    )


def test_what_a_picture_shows_can_be_changed_without_it_and_a_removed_one_leaves_images(place: Place) -> None:
    place.send(picture())
    before = place.card("open")["cover"]

    changed = place.organiser.post(PAGE, data={"alt": "Only boats"})
    after = place.card("open")["cover"]
    removed = place.organiser.post(f"{PAGE}/remove")
    without = place.card("open")["cover"]
    first = place.organiser.post(PAGE, data={"alt": "Nothing"})

    assert (changed.status_code, removed.status_code) == (303, 303)
    assert (after["picture"], after["alt"]) == (before["picture"], "Only boats")
    assert (without["picture"], len(without["images"])) == (None, 4)
    assert place.visitor.get(before["picture"]).status_code == 404
    assert first.status_code == 422
    assert "choose one" in first.text
    with place.platform.transaction() as session:
        actions = session.scalars(select(AuditRecord.action).where(AuditRecord.action == "picture.change"))
        assert len(actions.all()) >= 3


def zipped() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("page.html", "<script>alert(1)</script>")
    return written.getvalue()


SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
REFUSED = {
    "an SVG": (SVG, "expected a JPEG, PNG or WebP image, found an SVG"),
    "an SVG after an XML line": (b"<?xml version='1.0'?>" + SVG, "found an XML file"),
    "a GIF": (picture("GIF"), "found a GIF"),
    "an empty file": (b"", "found an empty file"),
    "text": (b"a picture", "found something else"),
    "a decompression bomb": (bomb(50_000, 50_000), "more than 64,000,000 pixels"),
    "a JPEG of 50,000 x 50,000 pixels": (
        picture("JPEG").replace(b"\x00\x11\x08\x03\x84\x03\xe8", b"\x00\x11\x08\xc3\x50\xc3\x50"),
        "more than 64,000,000 pixels",
    ),
    "half a PNG": (picture()[:1500], "the file ends before the image does"),
    "half a JPEG": (picture("JPEG")[:3000], "the file ends before the image does"),
    "half a WebP": (picture("WEBP")[:-50], "the file ends before the image does"),
    "a PNG that is a ZIP": (picture() + zipped(), "bytes follow the end of the image"),
    "a JPEG that is a ZIP": (picture("JPEG") + zipped(), "bytes follow the end of the image"),
    "a WebP that is a page": (picture("WEBP") + b"<script>", "8 bytes follow the end of the image"),
    "a PNG without its pixels": (bomb(800, 600), "this image cannot be decoded"),
    "a small image": (picture(size=(639, 400)), "at least 640 x 360 are needed"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_picture_is_refused_with_the_reason(place: Place, what: str) -> None:
    content, reason = REFUSED[what]
    before = place.card("open")["cover"]

    answer = place.send(content)

    assert answer.status_code == 422
    assert reason in unescape(answer.text)
    assert ALT.replace("&", "&amp;") in answer.text  # what was typed stays
    assert place.card("open")["cover"] == before


def test_a_picture_that_is_too_large_or_says_nothing_is_refused(place: Place) -> None:
    assert place.send(picture(), alt="").status_code == 422
    assert place.send(b"\0" * (LARGEST_PICTURE + 1)).status_code == 422
    assert place.send(b"\0" * (LARGEST_PICTURE + (1 << 20))).status_code == 413


def test_images_that_a_visitor_may_not_see_never_stand_for_a_challenge(place: Place) -> None:
    place.organiser.post(f"{PAGE}/remove")
    seen, hidden = place.card("open")["cover"], place.card("hidden")["cover"]
    page = "/api/v1/organise/challenges/open/data"
    file = {"name": "later.zip", "title": "Images", "kind": "images", "image_set": "test"}
    later = {**file, "available_from": "2030-01-01T00:00:00Z"}

    assert len(seen["images"]) == 4
    assert all(place.visitor.get(each).status_code == 200 for each in seen["images"])
    assert hidden == {"picture": None, "small": None, "alt": "", "images": [], "drawn": []}
    added = place.organiser.post(page, json=later)
    assert place.card("open")["cover"] == hidden
    assert 'class="cover pattern"' in place.visitor.get("/challenges/open").text
    assert "/pictures/" not in place.visitor.get("/challenges").text
    assert place.visitor.get(seen["images"][0]).status_code == 403
    place.organiser.delete(f"{added.headers['location']}?reason=test")
    assert len(place.card("open")["cover"]["images"]) == 4
    assert 'class="cover mosaic"' in place.visitor.get("/challenges/open").text


def test_annotation_is_drawn_over_images_of_a_challenge_only_if_it_is_open_to_everybody(place: Place) -> None:
    place.organiser.post(f"{PAGE}/remove")
    with place.platform.transaction() as session:
        phase = session.scalars(select(Phase).join(Phase.challenge).where(Challenge.code == "hidden")).one()
        phase_id, user = (
            phase.id,
            session.scalars(select(User).where(User.email == "organiser@example.org")).one(),
        )
        actor = Actor(user.id, organises=frozenset({phase.challenge_id}))
    rules = PictureRules(is_public=True, draws_truth=True, reason="for organisers")
    pictures.change(place.platform, actor, phase_id, rules)
    deliver(place.platform)

    seen, hidden = place.card("open")["cover"], place.card("hidden")["cover"]
    cards = place.visitor.get("/challenges").text.split("<article")
    strips = {
        code: place.visitor.get(f"/api/v1/challenges/{code}").json()["phases"][0]["pictures"]
        for code in ("open", "hidden")
    }

    assert [len(each["boxes"]) for each in seen["drawn"]] == [2, 2, 2, 2]
    assert (len(hidden["images"]), hidden["drawn"]) == (4, [])
    assert {
        code: "<rect" in card for card in cards for code in ("open", "hidden") if f"/{code}/" in card
    } == {
        "open": True,
        "hidden": False,
    }
    drawn = {code: {each["task"]: each["drawn"] for each in strip} for code, strip in strips.items()}
    assert len(drawn["open"]["detection"]["boxes"]) == 2
    assert len(drawn["hidden"]) > 0
    assert not any(drawn["hidden"].values())
    pictures.change(place.platform, actor, phase_id, PictureRules(reason="as before"))


def test_a_card_has_the_tagline_of_its_challenge(place: Place) -> None:
    form = {"tagline": "Boats <b>and</b> kites", "version": "0"}
    place.organiser.post("/organise/challenges/open/page", data=form)

    assert place.card("open")["tagline"] == "Boats <b>and</b> kites"
    assert "Boats &lt;b&gt;and&lt;/b&gt; kites" in place.visitor.get("/").text


TEXTS = "/organise/challenges/open/text-images"


def add_image(place: Place, content: bytes, shows: str = "A [map] of sites") -> Any:
    return place.organiser.post(TEXTS, data={"shows": shows}, files={"image": ("a.png", content)})


def test_an_image_is_sent_for_texts_and_shown_in_them_from_this_server_alone(place: Place) -> None:
    added = add_image(place, picture(size=(2000, 1000), pnginfo=with_description()))
    page = unescape(place.organiser.get(PAGE).text)
    [line] = [part for part in page.split("<code") if "![A " in part]
    line = line.partition(">")[2].partition("</code>")[0]
    address = line.partition("](")[2].rstrip(")")
    served = place.visitor.get(address)

    assert (added.status_code, added.headers["location"]) == (303, f"{PAGE}#text-images")
    assert (served.status_code, served.headers["content-type"]) == (200, "image/jpeg")
    assert b"secret" not in served.content
    assert Image.open(io.BytesIO(served.content)).size == (1280, 640)
    html = markdown(line, "open")
    assert f'<img src="{address}" alt="A [map] of sites" width="1280" height="640"' in html
    assert "<img" not in markdown(line, "hidden")

    name = address.rpartition("/")[2]
    assert place.visitor.get(f"/challenges/hidden/text-images/{name}").status_code == 404
    assert place.organiser.post(f"{TEXTS}/{name}/remove").status_code == 303
    assert place.visitor.get(address).status_code == 404
    assert place.organiser.post(f"{TEXTS}/{name}/remove").status_code == 404


def test_what_is_no_image_or_one_too_many_is_refused_with_its_reason(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content, said in ((b"MZ no image", 'id="problem-image"'), (bomb(60_000, 60_000), "pixels")):
        refused = add_image(place, content)
        assert (refused.status_code, said in refused.text) == (422, True), refused.text
    assert place.organiser.post(TEXTS, data={"shows": ""}).status_code == 422

    monkeypatch.setattr("app.images.text_images.MOST", 1)
    first, second = picture(size=(20, 10)), picture(size=(10, 20))
    assert [add_image(place, content, "Small").status_code for content in (first, second, first)] == [
        303,
        422,
        303,
    ]
