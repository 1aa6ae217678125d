"""The analyses of a run after it has been scored, and who sees them."""

from typing import Any

import pytest

from app.core.errors import NotFoundError
from app.models import Disclosure
from app.results import analyses
from tests.system.conftest import SharedSite
from tests.system.installations import LONGEST, Client, good
from tests.system.kits import CAT, DOG, IMAGES, line, packed, small_kit
from tests.system.servers import eventually

pytestmark = pytest.mark.system


def archive(**lines: str) -> bytes:
    return packed(
        {f"results/VOC2012/Main/comp3_det_test_{name}.txt": text.encode() for name, text in lines.items()}
    )


# finds the first five cats twice each, detects dogs as cats, and finds every dog
CONFUSED = archive(
    cat="".join(
        line(image, 0.9, CAT) + line(image, 0.8, CAT) + line(image, 0.7, DOG) for image in IMAGES[:5]
    ),
    dog="".join(line(image, 0.9, DOG) for image in IMAGES),
)


def run_of(client: Client, submission: int) -> int:
    [result] = client.final(submission)["results"]
    assert result["state"] == "scored"
    return int(result["shown"]["id"])


def analysed(client: Client, run: int) -> Any:
    def ask() -> Any:
        return good(client.http.get(f"/api/v1/runs/{run}/analysis"))

    assert eventually(lambda: bool(ask()["is_computed"]), LONGEST)
    return ask()


@pytest.fixture(scope="module")
def phases(site: SharedSite, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """An open and a held-out phase of one challenge."""
    root = small_kit(tmp_path_factory.mktemp("kit"))
    site.installation.load(root, "analysed", disclosure=Disclosure.FULL)
    site.installation.load(root, "withheld", disclosure=Disclosure.MEAN)
    return "analysed/test", "withheld/test"


@pytest.mark.sampled
def test_a_run_is_analysed_after_its_intervals(site: SharedSite, phases: tuple[str, str]) -> None:
    ada = site.participant("Ada Analysed")
    run = run_of(ada, ada.submit(phases[0], CONFUSED, "confused"))

    found = analysed(site.anybody, run)

    together, cat, dog = found["errors"]
    assert (together["name"], cat["name"], dog["name"]) == (None, "cat", "dog")
    counts = {row["kind"]: row["count"] for row in cat["rows"] if row["count"]}
    assert counts == {"duplicate": 5, "similar": 5, "missed": 5}
    assert [row["count"] for row in together["rows"]] == [row["count"] for row in cat["rows"]]
    gains = {row["kind"]: row["gain"] for row in dog["rows"]}
    assert gains["background"] == 0.0
    assert [each["swept"] for each in found["sweeps"]] == ["iou", "area", "iou", "area", "iou", "area"]
    assert {level["value"] for level in found["sweeps"][4]["levels"]} == {1.0}


@pytest.mark.sampled
def test_analysing_a_run_again_changes_nothing(site: SharedSite, phases: tuple[str, str]) -> None:
    bob = site.participant("Bob Analysed")
    run = run_of(bob, bob.submit(phases[0], CONFUSED, "again"))
    before = analysed(site.anybody, run)
    written = site.installation.ask(f"SELECT xmin::text, created_at FROM run_analysis WHERE run_id = {run}")

    analyses.compute(site.installation.platform, {"run_id": run})

    assert analysed(site.anybody, run) == before
    asked = f"SELECT xmin::text, created_at FROM run_analysis WHERE run_id = {run}"
    assert site.installation.ask(asked) == written
    with pytest.raises(NotFoundError):
        analyses.compute(site.installation.platform, {"run_id": 10**9})


def test_on_a_held_out_phase_only_organisers_see_analyses(site: SharedSite, phases: tuple[str, str]) -> None:
    eve = site.participant("Eve Analysed")
    run = run_of(eve, eve.submit(phases[1], CONFUSED, "hidden"))

    assert analysed(site.organiser, run)["errors"]
    for reader in (eve, site.anybody):
        answer = reader.http.get(f"/api/v1/runs/{run}/analysis")
        assert answer.status_code == 403
        assert "held out" in answer.json()["detail"]
