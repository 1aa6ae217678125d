"""A box is corrected by the keyboard alone, from its image to the next version of the annotation."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from app.models import Disclosure
from tests.browser.axe import violations
from tests.browser.conftest import Visit
from tests.browser.sites import Site, own_phase
from tests.system.servers import eventually

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CODE = "keyboard"


@pytest.fixture
def phase(site: Site, tmp_path: Path) -> int:
    """A phase of its own, whose annotation has another version afterwards."""
    number, _ = own_phase(site, tmp_path, CODE, image_set="test", disclosure=Disclosure.CLASSES)
    return number


def test_an_organiser_corrects_a_box_by_keyboard_and_applies_it_as_the_next_version(
    site: Site, visit: Visit, phase: int
) -> None:
    http, page = site.organiser.http, visit("organiser")
    here = f"/api/v1/organise/phases/{phase}"
    versions = http.get(f"{here}/ground-truth").json()
    image = http.get(f"{here}/labels").json()["images"][3]["name"]
    # until a worker has made them, the list asks for thumbnails in vain
    assert eventually(lambda: http.get(f"/pictures/{CODE}/test/{image}/thumbnail.jpg").status_code == 200)
    page.goto(f"/organise/challenges/{CODE}/ground-truth")
    page.get_by_role("link", name="Correct labels of test").press("Enter")
    page.get_by_label("Name of the image").fill(image)
    page.keyboard.press("Enter")
    page.get_by_role("link", name=image, exact=True).press("Enter")
    page.get_by_role("button", name="Show the labels").press("Enter")
    page.wait_for_selector(".scene.live")

    boxes = page.get_by_role("group", name=f"Boxes of {image}").get_by_role("button")
    left, right = (page.get_by_label(f"{side} of box 1", exact=True) for side in ("Left", "Right"))
    before = float(left.input_value()), float(right.input_value())
    count = boxes.count()
    page.get_by_role("region", name=f"{image}, scrolls").focus()
    page.keyboard.press("Tab")
    expect(boxes.first).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    assert (float(left.input_value()), float(right.input_value())) == (before[0] + 2, before[1] + 1)
    page.keyboard.press("n")
    expect(boxes).to_have_count(count + 1)
    page.keyboard.press("Delete")
    expect(boxes).to_have_count(count)
    assert violations(page) == []
    page.get_by_role("button", name="Save the correction").press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Your corrections of test")
    page.get_by_role("button", name="See what they change").press("Enter")
    expect(page.get_by_text("Objects: 1 moved")).to_be_visible()
    assert violations(page) == []
    page.get_by_label("Note").fill("A box two pixels to the right")
    page.get_by_role("button", name=f"Apply as version {versions[0]['version'] + 1}").press("Enter")
    expect(page).to_have_url(re.compile(f"/ground-truth#phase-{phase}$"))
    assert eventually(lambda: len(http.get(f"{here}/ground-truth").json()) > len(versions))
    page.reload()
    expect(page.get_by_text("A box two pixels to the right")).to_be_visible()
    newest = http.get(f"{here}/ground-truth").json()[0]
    assert (newest["version"], newest["note"]) == (
        versions[0]["version"] + 1,
        "A box two pixels to the right",
    )
