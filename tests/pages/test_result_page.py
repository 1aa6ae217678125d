"""The page of a submission with ten results is small and needs few queries."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

import heldout_scoring
from app.models import Board, ClassScore, Exhibit, Result, ResultState, Run, RunState, Submission, Upload
from app.platform import Platform
from heldout_scoring.scores import DIFFICULT_INCLUDED
from heldout_scoring.stored import to_plain
from tests.pages.statements import asked
from tests.system.rows import Rows, made

MOST_QUERIES = 7
CLASSES = [f"class {number}" for number in range(20)]
CURVE = to_plain(heldout_scoring.Curve("", 300, bytes(place % 5 == 0 for place in range(2000))))


def add_results(rows: Rows, submission_id: int, competitions: range) -> None:
    """Add scored results of the same submission, each on its own board with 20 classes and curves."""
    with rows.platform.transaction() as session:
        first = session.scalars(select(Result).where(Result.submission_id == submission_id)).one()
        for number in competitions:
            board = Board(
                phase_id=rows.phase_id, competition=number, protocol="voc2012", ground_truth_id=rows.truths[0],
                scorer=heldout_scoring.SCORER,
            )  # fmt: skip
            result = Result(
                submission_id=submission_id, method_id=first.method_id, phase_id=rows.phase_id, competition=number
            )  # fmt: skip
            session.add_all((board, result))
            session.flush()
            run = Run(
                result_id=result.id, ground_truth_id=rows.truths[0], protocol="voc2012", scorer=heldout_scoring.SCORER,
                team_id=rows.team_id, state=RunState.SCORED, measure="AP", claimed_at=func.now(), finished_at=func.now(),
            )  # fmt: skip
            session.add(run)
            session.flush()
            for place, name in enumerate([None, *CLASSES]):
                session.add(ClassScore(run_id=run.id, position=place, class_name=name, value=0.5, low=0.4, high=0.6, positives=300, predictions=2000))  # fmt: skip
            for place, name in enumerate(CLASSES):
                content = CURVE | {"class_name": name}
                session.add(Exhibit(run_id=run.id, position=place, kind="curve", content=content))
            for place, (title, value) in enumerate({"AP": 0.5, f"AP, {DIFFICULT_INCLUDED}": 0.437}.items()):
                table = heldout_scoring.ScoreTable(title, tuple((name, value) for name in CLASSES))
                session.add(
                    Exhibit(run_id=run.id, position=100 + place, kind=table.kind, content=to_plain(table))
                )
            result.state = ResultState.SCORED
            result.published_run_id, result.published_generation = run.id, 1


@dataclass(frozen=True, slots=True)
class Submissions:
    """A submission with one result, and one with ten."""

    platform: Platform
    one: int
    ten: int


@pytest.fixture(scope="module")
def submissions(platform: Platform) -> Submissions:
    rows = [made(platform) for _ in range(2)]
    results = [each.result(mean=0.5) for each in rows]
    with platform.transaction() as session:
        found = [session.get_one(Result, result).submission_id for result in results]
        for number in found:
            upload = session.get_one(Upload, session.get_one(Submission, number).upload_id)
            upload.received_at = upload.checked_at = func.now()
    add_results(rows[1], found[1], range(4, 13))
    return Submissions(platform, *found)


def test_ten_results_need_no_more_queries_than_one_and_fit_a_small_page(
    submissions: Submissions, browser: Callable[[], TestClient]
) -> None:
    visitor = browser()

    with asked(submissions.platform) as of_one:
        one = visitor.get(f"/submissions/{submissions.one}")
    with asked(submissions.platform) as of_ten:
        query = "competition=7&class=class+3&class=class+4"
        ten = visitor.get(f"/submissions/{submissions.ten}?{query}")

    assert (one.status_code, ten.status_code) == (200, 200)
    assert ten.text.count("rank </span>1 of 1") == 10
    assert "Precision-recall curve of class 3 50.0; class 4 50.0." in ten.text
    assert len(of_ten) <= len(of_one) <= MOST_QUERIES, "\n\n".join(of_ten)
    assert len(ten.text) < 80_000


def test_a_result_that_is_not_shown_in_detail_links_to_its_details(
    submissions: Submissions, browser: Callable[[], TestClient]
) -> None:
    page = browser().get(f"/submissions/{submissions.ten}", params={"competition": 3}).text

    assert f'href="/submissions/{submissions.ten}?competition=9#result-' in page
    assert f'href="/submissions/{submissions.ten}?competition=3#result-' not in page


def test_several_results_are_rows_that_say_once_what_is_measured_and_which_is_shown_below(
    submissions: Submissions, browser: Callable[[], TestClient]
) -> None:
    page = browser().get(f"/submissions/{submissions.ten}", params={"competition": 3}).text

    rows = page.split('<div class="card several">')[1].split("</table>")[0].split("<tr")[2:]
    marked = [row for row in rows if 'aria-current="true"' in row]
    assert len(rows) == 10
    assert ["Shown below" in row for row in marked] == [True]
    assert page.count("Shown below") == page.count("percent, mean of the classes") == 1


def test_scores_with_difficult_objects_are_a_column_beside_the_others(
    submissions: Submissions, browser: Callable[[], TestClient]
) -> None:
    page = browser().get(f"/submissions/{submissions.ten}", params={"competition": 5}).text
    [classes] = [table for table in page.split("<table")[1:] if "class 7" in table]

    assert classes.count("43.7") == len(CLASSES)
    assert DIFFICULT_INCLUDED not in page
