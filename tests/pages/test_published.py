"""A historical challenge is shown as published; nothing is sent to it, and it goes when it is removed."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.core.errors import NotFoundError
from app.figures import published
from app.figures.published import CHALLENGES, NOTE, board_of
from app.main import PAGES
from app.models import Artefact
from app.platform import Platform

BOARD = "/published/voc2007/1"


@pytest.fixture
def shown(platform: Platform, browser: Callable[[], TestClient]) -> Iterator[TestClient]:
    published.add(platform, "voc2007")
    yield browser()
    published.remove(platform, "voc2007")


def test_the_boards_are_tables_5_and_6_of_the_paper(shown: TestClient) -> None:
    classification, detection = (shown.get(f"/api/v1/published/voc2007/{number}").json() for number in (1, 3))

    assert [row["method"] for row in classification["rows"][:3]] == ["INRIA_Genetic", "INRIA_Flat", "XRCE"]
    assert 100 * classification["rows"][0]["median"] == pytest.approx(57.5, abs=0.1)
    assert len(classification["rows"]) == 17
    unranked = [row["method"] for row in detection["rows"] if row["rank"] is None]
    assert unranked == ["Darmstadt", "IRISA", "Oxford"]
    assert detection["challenge"]["note"] == NOTE


def test_every_page_of_it_says_that_it_was_not_scored_here(shown: TestClient) -> None:
    assert NOTE in shown.get("/").text
    for address in ("/published/voc2007", BOARD, "/published/voc2007/3"):
        assert NOTE in shown.get(address).text


def test_its_page_has_its_figures_and_each_has_an_address(shown: TestClient) -> None:
    page = shown.get(BOARD).text

    assert page.count("<svg xmlns") == 4
    assert "CD = 5.52" in shown.get(f"{BOARD}/figures/critical-differences.svg").text
    lines = shown.get(f"{BOARD}/figures/median-by-method.csv").text.splitlines()
    assert lines[:1] == ["method,median"]
    assert lines[1].startswith("INRIA_Genetic,0.57")
    assert shown.get(f"{BOARD}/figures/progress.svg").status_code == 404


def test_nothing_can_be_sent_to_it() -> None:
    routes = [
        route for router in PAGES for route in router.routes if "/published" in getattr(route, "path", "")
    ]

    assert len(routes) == 4
    assert {method for route in routes for method in getattr(route, "methods", ())} == {"GET"}


def test_it_is_shown_once_and_gone_when_it_is_removed(
    platform: Platform, browser: Callable[[], TestClient]
) -> None:
    assert published.add(platform, "voc2007")
    assert not published.add(platform, "voc2007")
    assert published.draw_missing(platform) == 0

    published.remove(platform, "voc2007")

    for address in ("/published/voc2007", BOARD, f"{BOARD}/figures/by-class.svg", f"/api/v1{BOARD}"):
        assert browser().get(address).status_code == 404
    assert browser().get("/api/v1/published").json() == []
    with pytest.raises(NotFoundError):
        published.remove(platform, "voc2007")
    with pytest.raises(NotFoundError):
        published.add(platform, "voc1999")


def test_figures_that_were_drawn_otherwise_are_drawn_again(platform: Platform, shown: TestClient) -> None:
    with platform.transaction() as session:
        session.execute(
            update(Artefact).where(Artefact.subject == "published/voc2007/1").values(version="old")
        )

    assert published.draw_missing(platform) == 1
    assert shown.get("/published/voc2007/5").status_code == 404


def test_a_published_board_marks_the_best_of_each_class() -> None:
    view, boards = CHALLENGES["voc2007"]

    board = board_of(view, boards[1])

    assert board.best[board.classes.index("car")] == pytest.approx(0.432)  # Oxford
