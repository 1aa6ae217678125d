import pytest
from pydantic import ValidationError

from app.results.personal_data import Profile, deletion_conflict, erased_name, orcid_of


@pytest.mark.parametrize(
    ("admins", "may_end"), [([], True), ([7], False), ([3], True), ([3, 7], True), ([7, 9], True)]
)
def test_an_account_ends_unless_it_is_the_last_admin_s(admins: list[int], *, may_end: bool) -> None:
    assert (deletion_conflict(7, admins) is None) == may_end


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        ([], "Team 7"),
        (["Team 7"], "Team 7-2"),
        (["Team 7", "Team 7-2"], "Team 7-3"),
        (["Team 7-2"], "Team 7"),
        (["Team 7", "Team 7-x"], "Team 7-2"),
    ],
)
def test_an_erased_team_has_a_name_that_is_free(taken: list[str], name: str) -> None:
    assert erased_name(7, taken) == name


# examples that ORCID itself gives, and the same number with each last digit that is wrong
@pytest.mark.parametrize(
    ("typed", "orcid"),
    [
        ("0000-0002-1825-0097", "0000-0002-1825-0097"),
        ("0000000218250097", "0000-0002-1825-0097"),
        ("https://orcid.org/0000-0001-5109-3700", "0000-0001-5109-3700"),
        ("ORCID.org/0000-0002-1694-233x/", "0000-0002-1694-233X"),
    ],
)
def test_an_orcid_is_kept_in_its_own_form(typed: str, orcid: str) -> None:
    assert orcid_of(typed) == orcid


@pytest.mark.parametrize(
    "typed",
    [
        *(f"0000-0002-1825-009{digit}" for digit in "012345689X"),
        "0000-0002-1825-00977",
        "0000-0002-1825",
        "https://evil.example/0000-0002-1825-0097",
        "https://orcid.org.evil.example/0000-0002-1825-0097",
        "javascript:alert(1)//0000-0002-1825-0097",
        "\u0660000-0002-1825-0097",
    ],
)
def test_what_is_no_orcid_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        Profile(name="Ash", orcid=typed)


@pytest.mark.parametrize("typed", ["", "https://example.org/~ash", "https://xn--exmple-cua.org/?a=b#c"])
def test_a_homepage_is_an_address(typed: str) -> None:
    assert Profile(name="Ash", homepage=typed).homepage == typed


@pytest.mark.parametrize(
    "typed",
    [
        "http://example.org",
        "javascript:alert(1)",
        "//example.org",
        "example.org",
        "https://orcid.org@evil.example/",
    ],
)
def test_a_homepage_is_reached_over_https_and_is_what_it_looks_like(typed: str) -> None:
    with pytest.raises(ValidationError):
        Profile(name="Ash", homepage=typed)
