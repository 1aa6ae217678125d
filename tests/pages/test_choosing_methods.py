"""Which methods of a board are offered for comparison."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from app.boards import comparisons
from app.models import Disclosure, Method
from app.platform import Platform
from tests.pages.boards import board_of
from tests.pages.conftest import Browser


def test_a_long_list_offers_the_best_and_the_chosen_methods_and_says_so(
    browser: Browser, platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = board_of(platform, tmp_path, "chooser", Disclosure.FULL).team_id
    with platform.transaction() as session:
        theirs = dict(session.execute(select(Method.name, Method.id).where(Method.team_id == team)).all())
        session.execute(update(Method).where(Method.id == theirs["Chance"]).values(name="Aaa"))
    monkeypatch.setattr(comparisons, "MAX_CANDIDATES", 2)
    client, address = browser(), "/compare/chooser/test/4"

    def offered(query: str = "") -> Any:
        found = client.get(f"/api/v1{address}{query}").json()
        assert found["has_more"]
        return {each["name"] for each in found["candidates"]}

    assert offered() == {"=cmd", "Beech_50%"}
    assert "Aaa" in offered(f"?methods={theirs['Chance']}")
    assert "Only 2 of the methods" in client.get(address).text
