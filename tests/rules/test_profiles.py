import pytest
from pydantic import ValidationError

from app.results.personal_data import Profile, deletion_conflict, erased_name, orcid_of


@pytest.mark.parametrize(
    ("admins", "may_end"), [([], True), ([7], False), ([3], True), ([3, 7], True), ([7, 9], True)]
)
def test_an_account_can_be_deleted_unless_it_is_the_last_admins(admins: list[int], *, may_end: bool) -> None:
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
def test_an_erased_team_gets_an_unused_name(taken: list[str], name: str) -> None:
    assert erased_name(7, taken) == name


# ORCID's own examples
@pytest.mark.parametrize(
    ("typed", "orcid"),
    [
        ("0000-0002-1825-0097", "0000-0002-1825-0097"),
        ("0000000218250097", "0000-0002-1825-0097"),
        ("https://orcid.org/0000-0001-5109-3700", "0000-0001-5109-3700"),
        ("ORCID.org/0000-0002-1694-233x/", "0000-0002-1694-233X"),
    ],
)
def test_an_orcid_is_stored_in_its_standard_form(typed: str, orcid: str) -> None:
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
def test_an_invalid_orcid_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        Profile(name="Ash", orcid=typed)


@pytest.mark.parametrize("typed", ["", "https://example.org/~ash", "https://xn--exmple-cua.org/?a=b#c"])
def test_a_homepage_may_be_empty_or_an_https_address(typed: str) -> None:
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
def test_an_insecure_or_misleading_homepage_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        Profile(name="Ash", homepage=typed)
