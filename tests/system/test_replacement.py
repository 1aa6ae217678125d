"""With open annotation, a newer result of a method replaces the previous one."""

import io
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.models import Disclosure
from tests.system.conftest import SharedSite
from tests.system.installations import Client, good
from tests.system.kits import results, small_kit

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def phase(site: SharedSite, tmp_path_factory: pytest.TempPathFactory) -> str:
    tree = small_kit(tmp_path_factory.mktemp("open"))
    site.installation.load(tree, "validated", disclosure=Disclosure.FULL)
    return "validated/test"


def enter(someone: Client, phase: str, method: str, dogs: int) -> int:
    upload = someone.upload(phase, results(cat=5, dog=dogs))
    number = int(good(someone.confirm(upload, method))["id"])
    someone.final(number)
    return number


@pytest.mark.sampled
def test_the_newest_result_is_on_the_board_and_the_older_one_stays_readable(
    site: SharedSite, phase: str
) -> None:
    oak = site.participant("robur")
    first, second = enter(oak, phase, "Tuned_net", 2), enter(oak, phase, "tuned_net", 5)

    [row] = [row for row in site.anybody.board(phase)["rows"] if row["method"] == "Tuned_net"]
    assert row["submission"] == second
    assert row["mean"] == oak.submission(second)["results"][0]["shown"]["headline"]
    [old] = good(site.anybody.http.get(f"/api/v1/submissions/{first}"))["results"]
    assert (old["state"], old["shown"]["headline"] is not None) == ("replaced", True)
    assert old["shown"]["headline"] != row["mean"]
    page = oak.http.get(f"/submissions/{first}", headers={"Accept": "text/html"}).text
    assert "The leaderboard shows a newer result of this method" in page
    runs = site.installation.ask(
        "SELECT result_id = (SELECT id FROM result WHERE submission_id = %s), run_id IS NULL FROM publication"
        " JOIN result ON result.id = result_id WHERE method_id = %s ORDER BY publication.id",
        first,
        oak.submission(first)["method"]["id"],
    )
    assert runs == [(True, False), (True, True), (False, False)]


@pytest.mark.sampled
def test_only_one_of_many_simultaneous_newer_results_is_accepted(site: SharedSite, phase: str) -> None:
    fir = site.participant("abies")
    enter(fir, phase, "Rushed_net", 5)
    uploads = [fir.upload(phase, results(cat=5, dog=dogs)) for dogs in range(1, 5)]

    with ThreadPoolExecutor(len(uploads)) as pool:
        answers = list(pool.map(lambda upload: fir.confirm(upload, "Rushed_net"), uploads))

    codes = sorted(answer.status_code for answer in answers)
    assert codes[0] == 201
    assert {answer.json()["code"] for answer in answers if answer.status_code != 201} <= {"one-result"}
    for answer in answers:
        if answer.status_code == 201:
            fir.final(int(answer.json()["id"]))
    rows = [row for row in site.anybody.board(phase)["rows"] if row["method"] == "Rushed_net"]
    assert len(rows) == 1


@pytest.mark.sampled
def test_a_team_is_warned_of_an_identical_archive_before_it_costs_quota(site: SharedSite, phase: str) -> None:
    yew, box = site.participant("taxus"), site.participant("buxus")
    archive = results(3, cat=1, dog=4)
    number = int(good(yew.confirm(yew.upload(phase, archive), "Repeated_net"))["id"])

    again, others = yew.upload(phase, archive), box.upload(phase, archive)

    assert good(yew.http.get(f"/api/v1/uploads/{again}"))["same_content"] == [number]
    assert good(box.http.get(f"/api/v1/uploads/{others}"))["same_content"] == []
    text = yew.http.get(f"/uploads/{again}", headers={"Accept": "text/html"}).text
    assert "Your team has submitted the same archive here before" in text
    assert f"/submissions/{number}" in text


def test_a_team_is_warned_of_equal_predictions_in_another_archive_too(site: SharedSite, phase: str) -> None:
    rowan, alder = site.participant("sorbus"), site.participant("alnus")
    number = int(good(rowan.confirm(rowan.upload(phase, results(3, cat=2, dog=3)), "Packed_net"))["id"])
    with tarfile.open(fileobj=io.BytesIO(results(3, cat=2, dog=3))) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}  # type: ignore[union-attr]  # all are files
    repacked = io.BytesIO()
    with zipfile.ZipFile(repacked, "w") as archive:
        for name, content in reversed(files.items()):
            archive.writestr(name, content.replace(b"\n", b"\r\n"))

    again = good(rowan.send(phase, repacked.getvalue(), "other.zip"))["id"]
    others = good(alder.send(phase, repacked.getvalue(), "other.zip"))["id"]

    found = good(rowan.http.get(f"/api/v1/uploads/{again}"))
    assert found["same_content"] == []
    assert [(same["competition"], same["submission"]) for same in found["same_predictions"]] == [(3, number)]
    assert good(alder.http.get(f"/api/v1/uploads/{others}"))["same_predictions"] == []
    text = rowan.http.get(f"/uploads/{again}", headers={"Accept": "text/html"}).text
    assert "Your team has submitted the same predictions here before" in text
    assert f"/submissions/{number}" in text
