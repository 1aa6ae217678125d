"""Organisers pause scoring of a phase, and everybody who waits reads why."""

from pathlib import Path

import pytest
from sqlalchemy import select, text

import heldout_scoring
from app.jobs.places import outlook_of
from app.models import AuditRecord, Disclosure, Member, Phase, User
from app.platform import Platform
from tests.pages.boards import board_of
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.pages.test_terms import organiser


@pytest.mark.sampled
def test_a_pause_is_shown_wherever_somebody_waits_for_it(
    platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    rows = board_of(platform, tmp_path, "paused", Disclosure.FULL)
    olga = organiser(browser, platform, "olga.paused@example.org", "paused")
    ash = registered(browser(), "ash.paused@example.org")
    waiting = rows.result()
    with platform.transaction() as session:
        user = session.scalars(select(User.id).where(User.email == "ash.paused@example.org")).one()
        challenge = session.get_one(Phase, rows.phase_id).challenge_id
        session.add(Member(team_id=rows.team_id, user_id=user, challenge_id=challenge))
        session.execute(text("UPDATE upload SET received_at = now(), checked_at = now()"))
        find = text("SELECT submission_id FROM result WHERE id = :id")
        submission = session.execute(find, {"id": waiting}).scalar_one()
    here = f"/organise/phases/{rows.phase_id}"

    short = olga.post(f"{here}/pause", data={"pause_reason": "x"})
    paused = olga.post(f"{here}/pause", data={"pause_reason": "A class is mislabelled."})
    twice = olga.post(f"{here}/pause", data={"pause_reason": "A class is mislabelled."})
    platform.cache.expire_versions()

    assert (short.status_code, "must have at least 3 characters" in short.text) == (422, True)
    assert (paused.headers["location"], twice.status_code) == (f"{here}#scoring", 409)
    words = "paused scoring: A class is mislabelled. It keeps its place"
    for address in (f"/submissions/{submission}", f"/submissions/{submission}/status", "/submissions"):
        assert words in ash.get(address).text, address
    [result] = ash.get(f"/api/v1/submissions/{submission}").json()["results"]
    assert result["shown"]["waits_for"]["cause"] == "scoring paused"
    [row] = [each for each in ash.get("/api/v1/submissions").json() if each["waits_for"]]
    assert words in row["waits_for"]["text"]
    assert "is paused since" in ash.get("/challenges/paused/test/submit").text
    with platform.transaction() as session:
        outlook = outlook_of(platform, session, heldout_scoring.SCORER, rows.phase_id).text
    assert outlook == "1 result waits until the organisers resume scoring; a new one waits with them."
    assert "is paused" in olga.get("/organise").text

    assert olga.post(f"{here}/resume").status_code == 303
    platform.cache.expire_versions()
    assert "No worker is alive" in ash.get(f"/submissions/{submission}").text
    assert "is paused since" not in ash.get("/challenges/paused/test/submit").text
    with platform.transaction() as session:
        recorded = session.scalars(
            select(AuditRecord.action)
            .where(AuditRecord.subject == f"phase {rows.phase_id}")
            .order_by(AuditRecord.id)
        ).all()
    assert recorded[-2:] == ["phase.pause", "phase.resume"]
