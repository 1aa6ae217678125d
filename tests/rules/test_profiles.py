import pytest

from app.profiles.rules import deletion_conflict, erased_name


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
