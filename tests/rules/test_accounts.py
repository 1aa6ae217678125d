"""Which names, addresses and passwords are accepted."""

import pytest
from pydantic import ValidationError

from app.core.names import folded, is_visible
from app.people.accounts import RegistrationForm
from app.web.forms import field_errors


def problems_of(**fields: str) -> dict[str, str]:
    good = {"email": "ash@example.org", "name": "Ash", "password": "long enough for this"}
    with pytest.raises(ValidationError) as raised:
        RegistrationForm.model_validate(good | fields)
    return dict(field_errors(raised.value))


def test_each_invalid_field_has_its_own_message() -> None:
    found = problems_of(email="nowhere", name="\u200b\u200b", password="short")

    assert set(found) == {"email", "name", "password"}
    assert found["password"] == "must have at least 10 characters"
    assert "name@example.org" in found["email"]
    assert "visible" in found["name"]


def test_addresses_are_compared_regardless_of_case_and_width() -> None:
    assert folded("ＡＳＨ@example.org ") == folded("ash@EXAMPLE.org")


@pytest.mark.parametrize(
    "name", ["", " ", "\u00a0", "\u200b", "a\nb", "a\x1b[2J", "\u202egro.evil", "a\u2028b"]
)
def test_a_blank_name_or_one_with_invisible_characters_is_not_visible(name: str) -> None:
    assert not is_visible(name)


@pytest.mark.parametrize("name", ["LEAR_flat", "Ünal", "李", "e\u0301", "R-CNN (v2)"])
def test_a_name_in_any_script_is_visible(name: str) -> None:
    assert is_visible(name)
