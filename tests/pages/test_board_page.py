"""The page of a board is rendered without a request."""

from app.boards.pages import account_links, anonymous_page, shared_page
from app.boards.rows import BoardPage
from app.core.access import Actor
from app.core.site import ServiceLine, SiteView
from app.web.dependencies import ACCOUNT
from tests.pages.views import ORGANISER, board, drawn_board


def a_page(methods: int) -> BoardPage:
    drawn = drawn_board(board(methods))
    return BoardPage(drawn["board"], drawn["controls"])


def test_a_shared_page_has_one_placeholder_for_the_account_and_no_name() -> None:
    page = shared_page(a_page(3), SiteView()).decode()

    assert page.count(ACCOUNT) == 1
    assert "Log in" not in page


def test_a_board_says_whether_the_service_works_like_other_pages() -> None:
    service = ServiceLine("done", "Uploads and scoring work")

    pages = [write(a_page(3), SiteView(), service).decode() for write in (shared_page, anonymous_page)]

    assert [page.count("Uploads and scoring work") for page in pages] == [1, 1]


def test_an_anonymous_page_offers_to_log_in() -> None:
    page = anonymous_page(a_page(3), SiteView()).decode()

    assert ACCOUNT not in page
    assert "Log in" in page
    assert "Organise" in account_links(ORGANISER)
    assert "Organise" not in account_links(Actor())
