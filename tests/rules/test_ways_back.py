"""What an error page suggests to somebody who is lost."""

import pytest

from app.home.home import ChallengeSummary, likely_challenges
from app.web.addresses import search_terms

CHALLENGES = tuple(
    ChallengeSummary(code, title, code, ())
    for code, title in (
        ("VOC2012", "PASCAL VOC 2012"),
        ("VOC2007", "PASCAL VOC 2007"),
        ("sample", "Sample challenge"),
    )
)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("VOC2O12", "VOC2012"),
        ("voc2007 test", "VOC2007"),
        ("PASCAL VOC 2007", "VOC2007"),
        ("sammple", "sample"),
        ("Sample", "sample"),
    ],
)
def test_a_challenge_is_found_even_if_its_name_is_misspelt(words: str, first: str) -> None:
    assert likely_challenges(words, CHALLENGES)[0].code == first


@pytest.mark.parametrize("words", ["", "zebra", "42"])
def test_words_unlike_any_challenge_find_none(words: str) -> None:
    assert likely_challenges(words, CHALLENGES) == ()


def test_search_terms_are_the_unknown_words_of_an_address() -> None:
    assert search_terms("/leaderboards/VOC2O12/test/3") == "VOC2O12 test"
    assert search_terms("/submissions/999999") == ""
    assert len(search_terms("/" + "x" * 500)) == 100
