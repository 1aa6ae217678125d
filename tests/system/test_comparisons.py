"""Result pages and comparisons of methods on a running installation."""

from dataclasses import dataclass
from typing import Any

import pytest

from app.models import Disclosure
from app.results import analyses
from app.web.formats import signed
from tests.system.conftest import SharedSite
from tests.system.installations import LONGEST, Client, good
from tests.system.kits import CAT, DOG, IMAGES, line, packed, small_kit
from tests.system.servers import eventually

pytestmark = pytest.mark.system

HTML = {"Accept": "text/html"}
OPEN, HELD_OUT = "compared/test", "unlike/test"


def archive(cats: int, false: int = 0) -> bytes:
    """An archive that finds the first n cats after some false positives, and all dogs."""
    cat = [line(image, 0.95, (40, 30, 49, 39)) for image in IMAGES[:false]]
    cat += [line(image, 0.9, CAT) for image in IMAGES[:cats]]
    dog = [line(image, 0.9, DOG) for image in IMAGES]
    folder = "results/VOC2012/Main/comp3_det_test_"
    return packed({f"{folder}cat.txt": "".join(cat).encode(), f"{folder}dog.txt": "".join(dog).encode()})


@dataclass(frozen=True, slots=True)
class Results:
    """Two public methods and a private one on an open phase, and the public ones on a held-out phase."""

    site: SharedSite
    owner: Client
    submissions: dict[str, int]
    methods: dict[str, int]

    def address(self, *names: str, phase: str = OPEN) -> str:
        chosen = "&".join(f"methods={self.methods[f'{phase} {name}']}" for name in names)
        return f"/compare/{phase}/3?{chosen}"

    def compared(self, reader: Client, *names: str, phase: str = OPEN) -> Any:
        return good(reader.http.get(f"/api/v1{self.address(*names, phase=phase)}"))

    def page(self, reader: Client, address: str) -> str:
        answer = reader.http.get(address, headers=HTML)
        assert answer.status_code == 200, answer.text
        return answer.text


@pytest.fixture(scope="module")
def results(site: SharedSite, tmp_path_factory: pytest.TempPathFactory) -> Results:
    root = small_kit(tmp_path_factory.mktemp("kit"))
    site.installation.load(root, "compared", disclosure=Disclosure.FULL)
    site.installation.load(root, "unlike", disclosure=Disclosure.CLASSES)
    owner = site.participant("Cora Compared")
    submissions, methods = {}, {}
    for name, sent in (("oak", archive(9)), ("elm", archive(4, false=3)), ("private", archive(6))):
        for phase in (OPEN, HELD_OUT):
            confirmed = owner.confirm(owner.upload(phase, sent), name, make_public=name != "private")
            view = owner.final(int(good(confirmed)["id"]))
            submissions[f"{phase} {name}"], methods[f"{phase} {name}"] = view["id"], view["method"]["id"]
    found = Results(site, owner, submissions, methods)
    assert eventually(lambda: found.compared(owner, "oak", "elm", "private")["is_computed"], LONGEST)
    return found


def test_differences_agree_with_the_board(results: Results) -> None:
    found = results.compared(results.site.anybody, "elm", "oak")

    means = {name: mean or 0.0 for name, mean in results.site.anybody.means(OPEN).items()}
    [pair] = found["statistics"]["pairs"]
    difference = pair["difference"]
    assert difference["value"] == pytest.approx(means["oak"] - means["elm"])
    assert difference["low"] <= difference["value"] <= difference["high"]
    cat, dog = found["statistics"]["classes"]
    assert (cat["name"], dog["differences"][0]["value"]) == ("cat", 0.0)
    assert cat["differences"][0]["holm"] == 2 * cat["differences"][0]["p_value"] < 0.05
    images = found["statistics"]["images"]
    assert [image["false"] for image in images] == [[1, 0]] * 3 + [[0, 0]] * 5
    assert [image["missed"] for image in images] == [[0, 0]] * 3 + [[1, 0]] * 5
    assert found["methods"][0]["errors"]["rows"]


def test_the_page_shows_them_with_figures(results: Results) -> None:
    page = results.page(results.site.anybody, results.address("elm", "oak"))

    [pair] = results.compared(results.site.anybody, "elm", "oak")["statistics"]["pairs"]
    difference = signed(pair["difference"]["value"])
    bold = f'<b>{difference}</b><span class="hidden"> significant</span>'
    assert f'{bold} <span class="quiet num">' in page  # beside the method
    assert "Difference of the means" not in page  # which is for more than one pair
    assert (
        page.count("<svg") == 9
    )  # the mark, the bell and the menu in the header, a line for each method, and four figures
    assert "Paired bootstrap: 1,000 times" in page
    assert "hx-" not in page


def test_a_held_out_phase_shows_disclosed_values_side_by_side(results: Results) -> None:
    for reader in (results.site.anybody, results.owner):
        found = results.compared(reader, "elm", "oak", phase=HELD_OUT)

        assert (found["statistics"], found["is_computed"]) == (None, True)
        assert "held out" in found["withheld"]
        assert [method["errors"] for method in found["methods"]] == [None, None]
        assert {each["low"] for method in found["methods"] for each in method["classes"]} == {None}
        page = results.page(reader, results.address("elm", "oak", phase=HELD_OUT))
        assert "p&nbsp;" not in page
        assert "Paired bootstrap" not in page
        assert found["withheld"] in page.replace("&#39;", "'")
    assert results.compared(results.site.organiser, "elm", "oak", phase=HELD_OUT)["statistics"]


def test_a_private_method_can_be_compared_only_by_its_team(results: Results) -> None:
    assert results.compared(results.owner, "private", "oak")["statistics"]

    answer = results.site.anybody.http.get(f"/api/v1{results.address('private', 'oak')}")
    assert answer.status_code == 404
    missing = results.site.anybody.http.get(f"/api/v1/compare/{OPEN}/3?methods=123456789")
    assert answer.json()["detail"].split()[6:] == missing.json()["detail"].split()[6:]
    chosen = [each["name"] for each in results.compared(results.site.anybody)["candidates"]]
    assert chosen == ["oak", "elm"]


def test_impossible_comparisons_are_explained(results: Results) -> None:
    http = results.site.anybody.http

    assert http.get("/compare/compared/test/9", headers=HTML).status_code == 404
    six = "&".join(f"methods={number}" for number in range(6))
    assert http.get(f"/api/v1/compare/{OPEN}/3?{six}").status_code == 422


@pytest.mark.sampled
def test_a_page_without_statistics_says_so_and_shows_them_once_computed(results: Results) -> None:
    run = results.compared(results.site.anybody, "oak")["methods"][0]["run"]
    results.site.installation.ask(f"DELETE FROM run_analysis WHERE run_id = {run}")

    before = results.page(results.site.anybody, results.address("oak", "elm"))
    analyses.compute(results.site.installation.platform, {"run_id": run})
    after = results.page(results.site.anybody, results.address("oak", "elm"))

    assert "being computed" in before
    assert 'hx-select="#statistics"' in before
    assert "being computed" not in after
    assert "Paired bootstrap" in after


def test_the_page_of_a_result_has_rank_interval_curve_and_errors(results: Results) -> None:
    oak = results.submissions[f"{OPEN} oak"]

    page = results.page(results.site.anybody, f"/submissions/{oak}?competition=3&class=cat&class=dog")

    assert "rank 1 of 2" in page
    assert "Precision-recall curve of cat 90.0; dog 100.0." in page
    assert "What each kind of error costs" in page
    assert len(page) < 60_000
    [result] = results.owner.submission(results.submissions[f"{OPEN} private"])["results"]
    assert result["rank"] == {"rank": 2, "of": 3}


def test_a_held_out_result_says_what_is_hidden(results: Results) -> None:
    page = results.page(results.site.anybody, f"/submissions/{results.submissions[f'{HELD_OUT} elm']}")

    assert "rank 2 of 2" in page
    assert "Curves, intervals and error analysis" in page
    assert "<svg viewBox=" in page
    assert "Precision-recall" not in page


def test_history_says_that_scoring_again_changed_nothing(results: Results) -> None:
    elm = results.submissions[f"{OPEN} elm"]
    [before] = results.owner.submission(elm)["results"]
    answer = results.site.organiser.http.post(f"/api/v1/organise/results/{before['id']}/rescore")
    assert answer.is_success, answer.text

    def rescored() -> bool:
        return len(results.owner.submission(elm)["results"][0]["history"]) == 2

    assert eventually(rescored, LONGEST)
    [result] = results.owner.submission(elm)["results"]
    assert [row["changes"] for row in result["history"]] == [[], []]
    assert result["history"][1]["run"] == before["shown"]["id"]
    assert "nothing that is shown" in results.page(results.owner, f"/submissions/{elm}")
    # later tests compare it
    assert eventually(lambda: results.compared(results.owner, "oak", "elm")["is_computed"], LONGEST)
