"""An annotation error on its whole way: reported, corrected on the page, scored in the shadow, published, and taken back."""

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import sample
from app.models import Disclosure
from tests.browser.conftest import Visit
from tests.browser.sites import Site, own_phase
from tests.patience import LIMIT
from tests.system.installations import Client, good
from tests.system.servers import eventually

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

CODE, BOARD = "correcting", 3
PHASE = f"{CODE}/val"


@dataclass(frozen=True, slots=True)
class Walk:
    """A challenge of its own with public annotation, whom it concerns, and what they see of it."""

    site: Site
    phase: int
    tree: Path
    images: tuple[str, ...]

    @property
    def here(self) -> str:
        return f"/api/v1/organise/phases/{self.phase}/ground-truth"

    def versions(self) -> list[dict[str, Any]]:
        """The versions as organisers see them, newest first."""
        found: list[dict[str, Any]] = good(self.site.organiser.http.get(self.here))
        return found

    def wait_for(self, version: int) -> None:
        assert eventually(lambda: self.versions()[0]["version"] == version, LIMIT), self.versions()

    def shown(self) -> dict[str, Any]:
        """All that a participant sees of the annotation, which a visitor sees alike: each part with the version it is of."""
        seen = [self._shown(client) for client in (self.site.participant, self.visitor)]
        assert seen[0] == seen[1]
        return seen[0]

    @property
    def visitor(self) -> Client:
        return self.site.installation.client(self.site.address)

    def _shown(self, client: Client) -> dict[str, Any]:
        board = client.board(PHASE, BOARD)
        names = [
            line.split(",")[0] for line in client.http.get(f"/challenges/{PHASE}/images.csv").text.split()[1:]
        ]
        address = f"/api/v1/challenges/{PHASE}/images/{names[0]}"

        def truth() -> list[dict[str, Any]]:
            [first, *_] = good(client.http.get(address, params={"competition": BOARD}))["panels"]
            found: list[dict[str, Any]] = first["marks"]
            return found

        assert eventually(lambda: bool(truth()), LIMIT)  # which a worker draws anew after each switch
        return {
            "version": board["ground_truth"],
            "classes": board["classes"],
            "means": {row["method"]: row["mean"] for row in board["rows"]},
            "outdated": [row["method"] for row in board["rows"] if row["is_outdated"]],
            "images": names,
            "truth": truth(),
        }

    def preview(self) -> dict[str, Any]:
        """The preview once every result is scored or could not be."""
        [number] = [each for each in range(1, 100) if self._is_open(each)]
        address = f"/api/v1/organise/rescores/{number}"

        def done() -> dict[str, Any] | None:
            found: dict[str, Any] = good(self.site.organiser.http.get(address))
            is_done = found["rescore"]["done"] == found["rescore"]["total"]
            return found if is_done and all(row["state"] != "waiting" for row in found["rows"]) else None

        assert eventually(lambda: done() is not None, LIMIT)
        found = done()
        assert found is not None
        for other in (self.site.participant, self.visitor):
            assert other.http.get(address).status_code in (401, 403, 404)
            assert other.http.get(address.removeprefix("/api/v1")).status_code in (303, 401, 403, 404)
        return found

    def _is_open(self, number: int) -> bool:
        answer = self.site.organiser.http.get(f"/api/v1/organise/rescores/{number}")
        return (
            answer.status_code == 200
            and answer.json()["state"] == "open"
            and answer.json()["phase"]["id"] == self.phase
        )


@pytest.fixture
def walk(site: Site, tmp_path: Path) -> Walk:
    phase, tree = own_phase(
        site, tmp_path, CODE, image_set="val", disclosure=Disclosure.FULL, competitions=(BOARD,)
    )
    images = (tree / "ImageSets/Main/val.txt").read_text().split()
    drawn = sample.draw_results(tree, tmp_path / "results", image_set="val")
    for one in [each for each in drawn if each.competition == BOARD][:2]:
        site.participant.final(site.participant.submit(PHASE, one.archive.read_bytes(), one.method.name))
    found = Walk(site, phase, tree, tuple(images))
    pictures = f"/pictures/{CODE}/val/{images[0]}/picture.jpg"
    assert eventually(lambda: site.participant.http.get(pictures).status_code == 200, LIMIT)
    return found


def test_a_reported_label_is_corrected_previewed_published_and_taken_back(walk: Walk, visit: Visit) -> None:
    olga, ada = visit("organiser"), visit("participant")
    first = walk.shown()
    image = first["images"][0]
    assert (first["version"], len(first["means"]), first["outdated"]) == (1, 2, [])

    report(ada, image)
    correct(olga, image)
    walk.wait_for(2)
    assert walk.shown() == first
    score_again(olga, walk)
    walk.site.participant.final(walk.site.participant.submit(PHASE, walk.site.good_val, "Meanwhile"))
    found = walk.preview()
    meanwhile = walk.shown()
    assert meanwhile["means"].items() > first["means"].items()
    assert meanwhile | {"means": first["means"]} == first
    publish(olga, found)
    second = walk.shown()
    assert (second["version"], set(second["means"])) == (2, set(meanwhile["means"]))
    assert second["means"] == {row["method"]: row["new"] for row in found["rows"]}
    assert second["truth"] != first["truth"]
    assert {each: second[each] for each in ("images", "classes", "outdated")} == {
        each: first[each] for each in ("images", "classes", "outdated")
    }
    answer_report(olga, image)
    ada.goto(f"/pictures/{PHASE}/{image}")
    expect(ada.locator("#report")).to_contain_text("version 2")

    use_version(olga, walk, 1)
    walk.wait_for(3)
    assert walk.shown() == second
    score_again(olga, walk)
    back = walk.preview()
    assert walk.shown() == second
    publish(olga, back)
    third = walk.shown()
    assert third == meanwhile | {"version": 3}

    send_data_set(walk, lambda text: text.replace("fish", "trout"), without=first["images"][-1])
    walk.wait_for(4)
    assert walk.shown() == third
    score_again(olga, walk)
    renamed = walk.preview()
    assert walk.shown() == third
    assert renamed["rescore"]["failed"] == 3  # none of these archives knows the new class
    decide(olga, renamed)
    publish(olga, walk.preview())
    fourth = walk.shown()
    assert fourth["version"] == 4
    assert "trout" in fourth["classes"]
    assert "fish" not in fourth["classes"]
    assert first["images"][-1] not in fourth["images"]
    assert set(fourth["outdated"]) == set(third["means"])


def report(page: Page, image: str) -> None:
    """Report a label on the page of its image."""
    page.goto(f"/pictures/{PHASE}/{image}")
    page.get_by_text("Report it to the organisers").click()
    page.get_by_label("What is wrong").select_option("wrong box")
    page.get_by_label("Details").fill("The box of the first object is too wide.")
    page.get_by_role("button", name="Report", exact=True).click()
    expect(page.locator("#report")).to_contain_text("The box of the first object is too wide.")


def correct(page: Page, image: str) -> None:
    """Move a box from the report of it, and apply that as the next version."""
    page.goto(f"/organise/challenges/{CODE}/label-reports")
    page.get_by_role("link", name=image, exact=True).click()
    page.get_by_role("link", name="Correct the label").click()
    page.get_by_role("button", name="Show the labels").click()
    page.wait_for_selector(".scene.live")
    for side in ("Left", "Right"):
        field = page.get_by_label(f"{side} of box 1", exact=True)
        field.fill(str(float(field.input_value()) + 3))
    page.get_by_role("button", name="Save the correction").click()
    page.get_by_role("button", name="See what they change").click()
    expect(page.get_by_text("Objects: 1 moved")).to_be_visible()
    page.get_by_role("button", name="Apply as version 2").click()
    expect(page).to_have_url(re.compile("/ground-truth#phase"))


def score_again(page: Page, walk: Walk) -> None:
    page.goto(f"/organise/challenges/{CODE}/ground-truth")
    page.get_by_text("Score everything again", exact=True).click()
    page.get_by_role("button", name=f"Score {CODE} val again").click()
    expect(page.get_by_text("The boards show the old scores until you publish")).to_be_visible()


def publish(page: Page, preview: dict[str, Any]) -> None:
    page.goto(f"/organise/rescores/{preview['id']}")
    page.get_by_role("button", name="Publish the new scores").click()
    expect(page.get_by_text("The boards switched")).to_be_visible()


def answer_report(page: Page, image: str) -> None:
    page.goto(f"/organise/challenges/{CODE}/label-reports/val/{image}")
    page.get_by_role("checkbox").check()
    page.get_by_label("Corrected in version").fill("2")
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.get_by_role("table")).to_contain_text("version 2")


def use_version(page: Page, walk: Walk, version: int) -> None:
    page.goto(f"/organise/phases/{walk.phase}/ground-truth/{version}")
    page.get_by_text("Use this one", exact=True).click()
    page.get_by_role("button", name=f"Go back to version {version}").click()


def decide(page: Page, preview: dict[str, Any]) -> None:
    """Keep the old score of each result that could not be scored."""
    for _ in range(preview["rescore"]["failed"]):
        page.goto(f"/organise/rescores/{preview['id']}")
        page.get_by_role("button", name="Keep the old score").first.click()


def send_data_set(walk: Walk, change: Callable[[str], str], without: str) -> None:
    """Send the annotation again as a data set, with other words and without an image, and apply it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(walk.tree.rglob("*")):
            name = path.relative_to(walk.tree.parent).as_posix()
            if not path.is_file() or path.stem == without or "_test" in name or path.stem == "test":
                continue
            if "/ImageSets/Main/" in name or (path.suffix == ".xml" and path.stem in walk.images):
                lines = [line for line in path.read_text().splitlines() if not line.startswith(without)]
                archive.writestr(change(name), change("\n".join(lines) + "\n"))
    http = walk.site.organiser.http
    address = (
        f"/api/v1/organise/data-sets/{good(http.post(f'/api/v1/organise/challenges/{CODE}/data-sets'))['id']}"
    )
    good(http.put(f"{address}/files/public/val.zip", content=packed.getvalue()))
    good(http.post(f"{address}/read"))
    assert eventually(lambda: good(http.get(address))["state"] in ("read", "invalid"), LIMIT)
    found = good(http.get(address))
    assert found["state"] == "read", found
    application = {"set": "public-0", "phase": "val", "accept_changes": True, "without_picture": 100}
    good(http.post(f"{address}/apply", json=application))
