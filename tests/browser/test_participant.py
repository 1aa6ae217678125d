"""What a participant does between registering and a score, on the pages made for it."""

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.browser.test_walk import register
from tests.system.installations import good

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CONTENT = Random(7).randbytes(600_000)
# keeps the first kilobyte of a download it breaks off, gets the rest by a range, and returns the hash of both
INTERRUPTED = """async (address) => {
  const begun = await fetch(address);
  const reader = begun.body.getReader();
  const first = (await reader.read()).value.slice(0, 1024);
  await reader.cancel();
  const headers = { Range: `bytes=${first.length}-`, "If-Range": begun.headers.get("etag") };
  const rest = await fetch(address, { headers });
  const whole = new Blob([first, await rest.arrayBuffer()]);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await whole.arrayBuffer()));
  const sha256 = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return { status: rest.status, sha256 };
}"""


@pytest.fixture
def file(site: Site) -> Iterator[dict[str, Any]]:
    """A file of the challenge for those who accepted its terms, which exist during the test alone."""
    challenge, http = "/organise/challenges/sample", site.organiser.http
    said = {"name": "images.zip", "title": "Images", "kind": "images", "audience": "terms accepted"}
    set_terms(site, "Do not train on the test images, and cite the challenge.")
    added = http.post(f"/api/v1{challenge}/data", json=said)
    yield good(http.put(f"{added.headers['location']}/content", content=CONTENT))
    http.delete(f"{added.headers['location']}?reason=test")
    set_terms(site, "")


def set_terms(site: Site, text: str) -> None:
    response = site.organiser.http.post("/organise/challenges/sample/terms", data={"text": text})
    assert response.status_code == 303


def test_a_participant_accepts_the_terms_downloads_submits_and_cancels(
    site: Site, visit: Visit, file: dict[str, Any]
) -> None:
    page = visit()
    register(page, site.installation, "Taker")
    page.goto("/challenges/sample/test/submit")
    page.get_by_role("link", name="Accept the terms").click()
    page.get_by_role("button", name="Accept version").click()
    expect(page).to_have_url(re.compile("/challenges/sample/test/submit$"))
    expect(page.get_by_text("Before you can submit")).to_have_count(0)

    page.goto("/challenges/sample/data")
    address = page.get_by_role("link", name="images.zip").get_attribute("href")
    downloaded = page.evaluate(INTERRUPTED, address)
    assert downloaded == {"status": 206, "sha256": file["sha256"]}
    page.get_by_text("Checksums").first.click()
    expect(page.get_by_text(file["sha256"])).to_be_visible()

    page.goto("/challenges/sample/test/submit")
    with site.worker_asleep():
        submit(page, site, "Taken_net")
        page.goto("/challenges/sample/test/submit")
        submit(page, site, "Regretted_net")
        page.goto("/submissions")
        page.get_by_role("button", name="Cancel Regretted_net").click()
        page.goto("/submissions")
        regretted = page.get_by_role("rowgroup").filter(has_text="Regretted_net")
        expect(regretted).to_contain_text("cancelled")
        expect(regretted).to_contain_text("costs nothing")
        expect(regretted.get_by_role("button")).to_have_count(0)
        expect(regretted.get_by_role("link", name="Submit again")).to_be_visible()
    taken = page.get_by_role("rowgroup").filter(has_text="Taken_net")
    taken.get_by_role("link", name="Detection, given data").click()
    expect(page.locator("#status h2 .chip")).to_have_text("scored")


def submit(page: Page, site: Site, method: str) -> None:
    """Go through all steps on the page."""
    page.get_by_label("Archive of prediction files").set_input_files(
        FilePayload(name="results.tar.gz", mimeType="application/gzip", buffer=site.good)
    )
    page.get_by_role("button", name="Upload and check").click()
    page.get_by_label("Name on the leaderboard").fill(method)
    expect(page.locator("#known")).to_contain_text("New method")
    expect(page.locator("#follows")).to_contain_text("of 1000 detection results this week")
    page.get_by_role("group", name="Training data").get_by_role("checkbox").check()
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/submissions/\d+$"))
