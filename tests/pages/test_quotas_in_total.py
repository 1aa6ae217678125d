"""Quotas in total: they count over the whole phase, and those that were stored as windows become such."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import text

from app.models import Challenge, ChallengeDraft, Disclosure, Phase, Quota
from app.platform import Platform
from tests.pages.test_closing import Place, place
from tests.shared import ROOT

__all__ = ["place"]

OPENS = datetime(2027, 1, 1, 12, tzinfo=UTC)


def test_a_quota_in_total_is_used_up_for_good_and_says_so(place: Place) -> None:
    place.change(
        stored_quotas=[{"results": 9, "days": 7}, {"results": 1, "days": 9999}],
        opens_at=datetime.now(UTC) - timedelta(days=900),
    )
    quota = f"/api/v1/challenges/{place.code}/test/quota"

    first = place.confirm(place.upload(), "Acorn")
    with place.platform.transaction() as session:
        session.execute(
            text("UPDATE submission SET created_at = now() - interval '800 days' WHERE phase_id = :id"),
            {"id": place.phase().id},
        )
    second = place.confirm(place.upload(), "Beech")
    page = place.ash.get(f"/challenges/{place.code}/test/submit").text
    left = place.ash.get(quota)

    assert (first.status_code, second.status_code, second.json()["code"]) == (201, 429, "quota")
    assert "in total are used; no more can be scored" in second.text
    assert "next slot" not in second.text
    assert "0 left of 1 in total" in page
    assert '"detection-total";q=1,' in left.headers["RateLimit-Policy"] + ","
    assert [use["quota"]["days"] for use in left.json()[0]["uses"]] == [7, None, 7, None]


def saved(**rules: Any) -> dict[str, Any]:
    usual = {
        "opens_at": None, "closes_at": None, "per_day": None, "per_week": 2, "total": 12, "saved_at": OPENS.isoformat()
    }  # fmt: skip
    return {"rules": usual | rules}


LONG = {"closes_at": (OPENS + timedelta(days=41, hours=3)).isoformat()}
WEEK = {"closes_at": (OPENS + timedelta(days=7)).isoformat()}


@pytest.mark.parametrize(
    ("rules", "days", "stored", "made_of", "expected"),
    [
        (LONG, 42, [(2, 7), (12, 42)], "2/7, 12/42", ([(2, 7), (12, 9999)], "2/7, 12/9999")),
        # the deadline has moved since, and the quota with it
        (LONG, 60, [(2, 7), (12, 60)], "2/7, 12/42", ([(2, 7), (12, 9999)], "2/7, 12/9999")),
        ({}, None, [(2, 7), (12, 365)], "2/7, 12/365", ([(2, 7), (12, 9999)], "2/7, 12/9999")),
        # as long as the phase, and not of the steps
        (LONG, 42, [(2, 7), (30, 42)], "2/7, 12/42", ([(2, 7), (30, 42)], "2/7, 12/9999")),
        (LONG, 42, [(2, 7), (12, 50)], "2/7, 12/42", ([(2, 7), (12, 50)], "2/7, 12/9999")),
        # of a week, which is as long as the phase
        (WEEK | {"total": 2}, 7, [(2, 7)], "2/7", ([(2, 7)], "2/7")),
        (WEEK | {"per_week": None}, 7, [(12, 7)], "12/7", ([(12, 9999)], "12/9999")),
        (LONG | {"total": None}, 42, [(2, 7), (12, 42)], "2/7, 12/42", ([(2, 7), (12, 42)], "2/7, 12/42")),
    ],
    ids=["wizard", "moved", "endless", "other", "window", "week", "alone", "none"],
)
def test_windows_that_were_quotas_in_total_for_certain_become_such(
    platform: Platform,
    rules: dict[str, Any],
    days: int | None,
    stored: list[tuple[int, int]],
    made_of: str,
    expected: tuple[list[tuple[int, int]], str],
) -> None:
    script = ScriptDirectory(str(ROOT / "migrations")).get_revision("a4c90e57d1b3")
    assert script is not None
    with platform.transaction() as session:
        code = f"totals{session.scalar(text('SELECT count(*) FROM challenge'))}"
        challenge = Challenge(code=code, title=code, dataset="birds")
        session.add(challenge)
        session.flush()
        phase = Phase(
            challenge_id=challenge.id, image_set="test", disclosure=Disclosure.CLASSES, protocol="voc2012", description_key="d",
            opens_at=OPENS, closes_at=None if days is None else OPENS + timedelta(days=days),
            stored_quotas=[{"results": results, "days": window} for results, window in stored],
        )  # fmt: skip
        draft = ChallengeDraft(challenge_id=challenge.id, settings=saved(**rules))
        draft.made_of = {"intake": "1", "phases": [{"set": "hidden-test", "quotas": made_of}, {"quotas": ""}]}
        session.add_all([phase, draft])
        session.flush()

        for statement in (script.module.PHASES, script.module.MADE_OF):
            session.execute(text(statement.replace(":", r"\:").replace(r"\:\:", "::")))
        session.refresh(phase)
        session.refresh(draft)

        assert [(each["results"], each["days"]) for each in phase.stored_quotas] == expected[0]
        assert [each["quotas"] for each in draft.made_of["phases"]] == [expected[1], ""]
        is_total = expected[0][-1][1] == 9999
        assert (phase.quotas[-1] == Quota(expected[0][-1][0], None)) is is_total
        session.rollback()
