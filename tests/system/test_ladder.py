"""A phase with a ladder, from the archive to the pages of its readers."""

from pathlib import Path

import pytest

from app.models import Disclosure, Run
from app.platform import Platform
from app.results import ladder
from app.results.ladder import LadderStep
from tests.confirming import confirm_rescores
from tests.system.conftest import SharedSite
from tests.system.installations import Client, awaited, good
from tests.system.kits import results, small_kit
from tests.system.rows import made, small_board

pytestmark = pytest.mark.system

__all__ = ["small_board"]

PHASE = "rungs/test"


def submit(client: Client, method: str, cat: int, dog: int) -> int:
    number = client.submit(PHASE, results(cat=cat, dog=dog), method)
    client.final(number)
    return number


@pytest.mark.sampled
def test_a_team_sees_a_new_mean_only_after_a_significant_step(site: SharedSite, tmp_path: Path) -> None:
    site.installation.load(small_kit(tmp_path / "first"), "rungs", disclosure=Disclosure.LADDER)
    rowan = site.participant("rowan")
    submit(rowan, "First", cat=5, dog=5)
    submit(rowan, "Second", cat=3, dog=8)  # 0.55, within a standard error of 0.5
    third = submit(rowan, "Third", cat=8, dog=8)
    worse = submit(rowan, "Worse", cat=1, dog=1)

    assert rowan.means(PHASE) == {"First": 0.5, "Second": 0.5, "Third": 0.8, "Worse": 0.8}
    assert {row["mean"] for row in good(rowan.http.get("/api/v1/submissions"))} == {0.5, 0.8}
    [result] = rowan.submission(worse)["results"]
    assert (result["shown"]["headline"], result["shown"]["classes"]) == (0.8, [])
    truth = {name: round(mean or 0, 3) for name, mean in site.organiser.means(PHASE).items()}
    assert truth == {"First": 0.5, "Second": 0.55, "Third": 0.8, "Worse": 0.1}
    page = rowan.http.get(f"/submissions/{worse}", headers={"Accept": "text/html"}).text
    assert "unless this one beats it by a standard error" in page

    withdraw(site.organiser, third)
    submit(rowan, "Fifth", cat=10, dog=7)  # within a standard error of the withdrawn result

    assert rowan.means(PHASE) == {"First": 0.5, "Second": 0.5, "Worse": 0.8, "Fifth": 0.8}

    site.installation.load(small_kit(tmp_path / "second", without=2), "rungs", disclosure=Disclosure.LADDER)
    good(site.organiser.http.post(f"/api/v1/organise/{PHASE}/rescore"))
    confirm_rescores(site.installation.platform)
    awaited(lambda: rowan.board(PHASE)["ground_truth"] == 2)

    # 5 of 10 cats and 5 of 8 dogs; the withdrawn one, whose mean is shown for two others, is scored again for that: 8 of each
    assert rowan.means(PHASE) == {"First": 0.562, "Second": 0.562, "Worse": 0.9, "Fifth": 0.9}


def withdraw(organiser: Client, submission: int) -> None:
    [result] = organiser.submission(submission)["results"]
    good(organiser.http.post(f"/api/v1/results/{result['id']}/withdraw", json={"reason": "a test"}))


def test_of_two_results_scored_at_once_the_later_is_compared_with_the_earlier(small_board: Platform) -> None:
    board = made(small_board)
    earlier, later = board.result(), board.result()
    with small_board.transaction() as session:
        run = session.get_one(Run, board.run_of(later))
        outdated = LadderStep(ladder.best_entry(session, run.id), run.id)
    with small_board.transaction() as session:
        session.get_one(Run, board.run_of(earlier)).ladder_run_id = board.run_of(earlier)
    board.score(earlier, 0.5)

    with small_board.transaction() as session:
        run = session.get_one(Run, board.run_of(later))
        assert not ladder.record_if_unchanged(session, run, outdated)
        assert run.ladder_run_id is None
        best = ladder.best_entry(session, run.id)
        assert best is not None
        assert ladder.record_if_unchanged(session, run, LadderStep(best, best.run_id))
        assert run.ladder_run_id == board.run_of(earlier)
