"""The figures of a board are drawn after its rows change, and show only what is public."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update
from starlette.testclient import TestClient

import heldout_scoring
from app.core.access import Actor
from app.figures import board_figures
from app.jobs import queue
from app.models import (
    Artefact,
    Board,
    Challenge,
    ClassScore,
    Disclosure,
    Exhibit,
    Job,
    JobKind,
    Phase,
    Quota,
    Result,
    Role,
)
from app.organising import approvals
from app.organising.approvals import Suspension
from app.platform import Platform
from app.results import withdrawing
from heldout_scoring.stored import to_plain
from tests.system.damage import overwrite
from tests.system.rows import Rows, described
from tests.working import do_all, handling

CURVES = [heldout_scoring.Curve(name, 10, bytes([1, 0, 1, 1, 0])) for name in ("cat", "dog")]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A board whose rows have class values and curves."""

    rows: Rows
    address: str
    browser: TestClient

    def add(self, mean: float) -> int:
        """Add a scored method; its values have digits that a held-out phase does not show."""
        result_id = self.rows.result(mean=mean)
        run_id = self.rows.run_of(result_id)
        with self.rows.platform.transaction() as session:
            session.execute(
                update(ClassScore).where(ClassScore.run_id == run_id).values(held_out_value=ClassScore.value)
            )
            for place, name in enumerate(("cat", "dog")):
                value = mean + 0.01 * place + 0.0001234
                session.add(
                    ClassScore(
                        run_id=run_id, class_name=name, position=place + 1, value=value, held_out_value=value
                    )
                )
            for place, curve in enumerate(CURVES):
                session.add(Exhibit(run_id=run_id, position=place, kind=curve.kind, content=to_plain(curve)))
            return session.get_one(Result, result_id).method_id

    def deliver(self) -> None:
        """Run the jobs queued by the changes so far."""
        do_all(self.rows.platform, handlers=handling(JobKind.INTERVALS, lambda *_: None))

    def change(self, **columns: Any) -> None:
        """Change the rules of the phase without queueing any job."""
        with self.rows.platform.transaction() as session:
            session.execute(update(Phase).where(Phase.id == self.rows.phase_id).values(**columns))

    def page(self) -> str:
        return self.browser.get(f"{self.address}/figures").text

    def numbers(self) -> dict[str, Any]:
        figures = self.browser.get(f"/api/v1{self.address}/figures").json()["figures"]
        return {figure["name"]: figure for figure in figures}


Make = Callable[..., Drawn]


@pytest.fixture
def make(platform: Platform, browser: Callable[[], TestClient], tmp_path: Path) -> Make:
    def make_one(disclosure: Disclosure = Disclosure.FULL, competition: int = 3) -> Drawn:
        rows = replace(described(platform, tmp_path), competition=competition)
        with platform.transaction() as session:
            session.execute(
                update(Board).where(Board.phase_id == rows.phase_id).values(competition=competition)
            )
            phase = session.get_one(Phase, rows.phase_id)
            phase.disclosure, phase.quotas = disclosure, (Quota(2, 7),)
            code = session.get_one(Challenge, phase.challenge_id).code
        return Drawn(rows, f"/leaderboards/{code}/test/{competition}", browser())

    return make_one


@pytest.mark.parametrize("kind", [board_figures.FIGURE, board_figures.FIGURES])
def test_figures_with_a_damaged_file_are_drawn_again_from_the_scores(make: Make, kind: str) -> None:
    board = make()
    board.add(0.5)
    board.add(0.7)
    board.deliver()
    before, platform = board.numbers(), board.rows.platform
    with platform.transaction() as session:
        of_board = Artefact.kind == kind, Artefact.subject.startswith(f"{board.rows.phase_id}/")
        key = session.scalars(select(Artefact.key).where(*of_board).order_by(Artefact.subject)).first()
    assert key is not None
    overwrite(platform.artefacts, key, b"{}")

    broken = board.browser.get(f"{board.address}/figures")
    listed = board.browser.get(f"/api/v1{board.address}/figures").json()

    assert (broken.status_code, "being computed" in broken.text) == (200, True)
    assert (listed["is_computed"], listed["figures"]) == (False, [])
    board_figures.queue_outdated(platform)
    board.deliver()
    assert board.numbers() == before
    assert "being computed" not in board.page()


def test_figures_are_being_computed_until_they_are_drawn(make: Make) -> None:
    board = make()
    board.add(0.5)
    board.add(0.7)
    assert "being computed" in board.page()
    assert board.browser.get(f"{board.address}/figures/by-class.svg").status_code == 404

    board.deliver()

    page = board.page()
    assert "being computed" not in page
    assert page.count("<svg xmlns") == 8  # one of them with the curves of the first class
    medians = board.numbers()["median-by-method"]["rows"]
    assert [value for _, value in medians] == pytest.approx([0.7051234, 0.5051234])


def test_the_page_of_figures_shows_the_curves_of_one_class_and_leads_to_those_of_the_others(
    make: Make,
) -> None:
    board = make()
    board.add(0.5)
    board.deliver()

    classes = re.findall(r'<a href="[?]class=(\w+)#curves" (aria-current="page")?', board.page())
    chosen = board.browser.get(f"{board.address}/figures?class=dog").text

    assert classes == [("cat", 'aria-current="page"'), ("dog", "")]
    assert "Precision and recall: cat</a>" in board.page()
    assert "Precision and recall: dog</a>" in chosen
    assert "Precision and recall: cat</a>" not in chosen
    assert 'data-plot="' in chosen
    assert board.browser.get(f"{board.address}/figures?class=cow").status_code == 404


def test_curves_of_classification_are_compared_with_random_rankings(make: Make) -> None:
    board = make(competition=1)
    board.add(0.5)
    board.deliver()

    drawing = board.browser.get(f"{board.address}/figures/curves-1.svg").text
    assert "A dashed line marks random rankings, 60.0%." in drawing  # 3 of 5 predictions are positives


def test_a_standalone_figure_includes_its_styles_and_may_be_embedded_elsewhere(make: Make) -> None:
    board = make()
    board.add(0.5)
    board.deliver()

    answer, next_one = (board.browser.get(f"{board.address}/figures/curves-1.svg") for _ in range(2))

    assert {**next_one.headers, "x-request-id": ""} == {**answer.headers, "x-request-id": ""}
    root = ET.fromstring(answer.text)
    [style] = root.findall("{http://www.w3.org/2000/svg}style")
    assert answer.headers["Content-Type"].startswith("image/svg+xml")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert ".drawing" in (style.text or "")
    again = board.browser.get(
        f"{board.address}/figures/curves-1.svg", headers={"If-None-Match": answer.headers["ETag"]}
    )
    assert again.status_code == 304


def test_the_numbers_of_a_figure_can_be_downloaded_as_csv(make: Make) -> None:
    board = make()
    board.add(0.5)
    board.deliver()

    answer = board.browser.get(f"{board.address}/figures/by-class.csv")

    lines = answer.text.splitlines()
    assert lines[0] == "class,maximum,median"
    assert [line.split(",")[0] for line in lines[1:]] == ["dog", "cat"]
    assert "attachment" in answer.headers["Content-Disposition"]


def test_a_figure_has_a_page_with_its_drawing_numbers_downloads_and_citation(make: Make) -> None:
    board = make()
    board.add(0.5)
    board.deliver()

    assert f'<a href="{board.address}/figures/curves-1">' in board.page()
    page = board.browser.get(f"{board.address}/figures/curves-1").text

    assert "<svg xmlns" in page
    assert 'data-plot="' in page
    assert '<th scope="row">Method 1</th>' in page
    for kind in ("svg", "csv"):
        assert f'href="{board.address}/figures/curves-1.{kind}"' in page
    assert "howpublished = {\\url{" in page
    assert f"{board.address}/figures/curves-1}}}}," in page
    assert board.browser.get(f"{board.address}/figures/nothing").status_code == 404


def test_a_board_with_one_method_says_what_the_second_will_add(make: Make) -> None:
    board = make()
    board.deliver()
    assert "No figures yet" in board.page()
    board.add(0.5)
    board.deliver()
    board.rows.platform.cache.expire_versions()
    assert "appear with the second method" in board.page()


def test_figures_of_a_held_out_phase_have_no_curves_and_no_more_digits_than_its_board(make: Make) -> None:
    board = make(Disclosure.CLASSES)
    board.add(0.5)
    board.add(0.7)
    board.deliver()

    for curve in ("curves-1.svg", "curves-1.csv", "curves-1"):
        assert board.browser.get(f"{board.address}/figures/{curve}").status_code == 404
    every = [cell for each in board.numbers().values() for row in each["rows"] for cell in row]
    digits = [cell for cell in every if isinstance(cell, float) and round(cell, 3) != cell]
    assert {0.51, 0.71} <= set(every)
    assert all(re.fullmatch(r"0\.\d{3,4}", f"{cell:.6g}") for cell in digits), (
        digits
    )  # medians may end in halves
    assert "hidden because the annotation of test is held out" in board.page()


@pytest.mark.parametrize("disclosure", [Disclosure.MEAN, Disclosure.LADDER])
def test_if_only_means_are_disclosed_only_their_progress_is_drawn(make: Make, disclosure: Disclosure) -> None:
    board = make(disclosure)
    board.add(0.5)
    board.add(0.7)
    board.deliver()

    assert set(board.numbers()) == {"progress"}


def test_figures_disappear_as_soon_as_the_disclosure_becomes_stricter(make: Make) -> None:
    board = make(Disclosure.FULL)
    method_id = board.add(0.5)
    board.deliver()
    assert board.numbers()

    board.change(disclosure=Disclosure.MEAN)  # no worker has drawn anything since

    assert board.numbers() == {}
    assert "being computed" in board.page()
    for gone in (
        "figures/by-class.svg",
        "figures/curves-1.svg",
        "figures/by-class.csv",
        "figures/by-class",
        f"badges/{method_id}.svg",
    ):
        assert board.browser.get(f"{board.address}/{gone}").status_code == 404


def test_a_badge_shows_rank_and_mean(make: Make) -> None:
    board = make()
    second, first = board.add(0.5), board.add(0.7)
    board.deliver()

    texts = [board.browser.get(f"{board.address}/badges/{method}.svg").text for method in (first, second)]

    assert ["#1 · 70.0%" in texts[0], "#2 · 50.0%" in texts[1]] == [True, True]
    assert board.browser.get(f"{board.address}/badges/999999.svg").status_code == 404


def test_unchanged_figures_are_not_drawn_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    board = make()
    board.add(0.5)
    board.deliver()
    monkeypatch.setattr(board_figures, "summary_figures", lambda _: pytest.fail("drawn again"))
    with board.rows.platform.transaction() as session:
        queue.add_board(session, board.rows.phase_id, 3)

    board.deliver()

    with board.rows.platform.transaction() as session:
        assert (
            session.scalars(select(Job.error).where(Job.kind == JobKind.BOARD, Job.error.is_not(None))).all()
            == []
        )


def test_a_sweep_redraws_figures_that_are_missing_or_predate_the_end_of_their_phase(make: Make) -> None:
    board = make(Disclosure.CLASSES)
    board.add(0.5)
    platform = board.rows.platform
    with platform.transaction() as session:
        session.execute(delete(Job))  # as if it had been lost

    assert board_figures.queue_outdated(platform) == 1
    assert board_figures.queue_outdated(platform) == 0  # it is already queued
    board.deliver()
    assert board_figures.queue_outdated(platform) == 0
    assert board.browser.get(f"{board.address}/figures/curves-1.svg").status_code == 404

    hour = func.make_interval(0, 0, 0, 0, 1)
    board.change(opens_at=func.now() - 3 * hour, closes_at=func.now() - 2 * hour, details_at_close=True)
    board.change(closes_at=func.now(), grace=func.make_interval())
    assert board_figures.queue_outdated(platform) == 1
    board.deliver()

    assert board.browser.get(f"{board.address}/figures/curves-1.svg").status_code == 200


def test_an_address_without_a_board_has_no_figures(make: Make) -> None:
    board = make()

    assert board.browser.get(f"{board.address[:-1]}9/figures").status_code == 404
    assert board.browser.get("/leaderboards/nothing/test/3/figures").status_code == 404


def test_a_group_of_columns_that_no_table_has_is_refused(make: Make) -> None:
    board = make()
    board.add(0.5)
    board.deliver()

    refused = board.browser.get(f"{board.address}/figures/by-class?columns=2")

    assert refused.status_code == 422
    assert "columns: expected 1 to 1, found 2" in refused.text


def test_the_page_of_figures_is_sent_compressed(make: Make) -> None:
    board = make()

    assert board.browser.get(f"{board.address}/figures").headers["Content-Encoding"] == "gzip"


@pytest.mark.sampled
@pytest.mark.parametrize("taken_back", ["withdrawn", "hidden with its team"])
def test_a_removed_result_is_neither_on_the_board_nor_in_its_figures(make: Make, taken_back: str) -> None:
    board = make()
    method_id = board.add(0.5)
    board.deliver()
    board.rows.platform.cache.expire_versions()
    badge, name = f"{board.address}/badges/{method_id}.svg", "Method 1"
    assert [name in board.browser.get(page).text for page in (board.address, f"{board.address}/figures")] == [
        True,
        True,
    ]
    assert board.browser.get(badge).status_code == 200
    admin = Actor(user_id=board.rows.user_id, role=Role.ADMIN, has_second_factor=True)

    if taken_back == "withdrawn":
        [result_id] = board.rows.standing()
        withdrawing.withdraw(board.rows.platform, admin, result_id, "Used the test images")
    else:
        hiding = Suspension(reason="two accounts", hides_results=True)
        approvals.suspend(board.rows.platform, admin, board.rows.team_id, hiding)

    pages = [board.browser.get(page).text for page in (board.address, f"{board.address}/figures")]
    assert [name in page for page in pages] == [False, False]
    assert board.browser.get(badge).status_code == 404


def test_figures_are_drawn_again_after_an_unscored_result_is_withdrawn(make: Make) -> None:
    board = make()
    method_id = board.add(0.5)
    waiting = board.rows.result()
    board.deliver()

    admin = Actor(user_id=board.rows.user_id, role=Role.ADMIN, has_second_factor=True)
    withdrawing.withdraw(board.rows.platform, admin, waiting, "Another archive")
    board.deliver()

    assert board.browser.get(f"{board.address}/badges/{method_id}.svg").status_code == 200
