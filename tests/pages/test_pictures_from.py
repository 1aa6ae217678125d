"""Organisers say where participants get the pictures; the checklist of a draft names what of it is not so."""

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.models import AuditRecord, Challenge, ChallengeDraft, ChallengeVisibility, Phase
from app.organising import drafts
from tests.pages.data_sets import jpeg, kit, zipped
from tests.pages.test_drafts import NEW, PAGE, RULES, SCORING, Place, place, words
from tests.working import do_all

__all__ = ["place"]

UNSAID = {**PAGE, "pictures_from": "", "pictures_address": ""}
HIDDEN = {**kit("test"), **{f"VOC2012/JPEGImages/{name}.jpg": jpeg() for name in "abc"}}


def made(place: Place, **page: str) -> str:
    """A draft of a hidden set with its pictures, whose phase is made."""
    code = place.draft()
    place.send(code, hidden=zipped(HIDDEN))
    place.save(code, "check", sets=["hidden-0"])
    place.save(code, "scoring", **SCORING)
    place.save(code, "rules", **RULES)
    place.save(code, "page", **{**UNSAID, **page})
    do_all(place.platform)
    return code


def visibility_of(place: Place, code: str) -> ChallengeVisibility:
    with place.platform.transaction() as session:
        return session.scalars(select(Challenge.visibility).where(Challenge.code == code)).one()


def test_a_challenge_opens_without_an_answer_only_if_that_is_ticked(place: Place) -> None:
    code = made(place)
    later = {"opens_at": "2030-01-01T00:00", "opens_zone": "UTC"}

    listed = place.page(f"/organise/challenges/{code}")
    asked = place.page(f"{NEW}/{code}/open")
    forms = [
        place.organiser.get(f"{each}").text
        for each in (f"{NEW}/{code}/page", f"/organise/challenges/{code}/data")
    ]
    refused = place.organiser.post(f"{NEW}/{code}/open")
    unscheduled = place.organiser.post(f"{NEW}/{code}/schedule", data=later)
    scheduled = place.organiser.post(f"{NEW}/{code}/schedule", data={**later, "without_pictures": "true"})
    opened = place.organiser.post(f"{NEW}/{code}/open", data={"without_pictures": "true"})

    assert "It is said where participants get the images advisable" in listed
    assert "Open without images for participants" in asked
    assert all('name="pictures_from" value="" checked' in each for each in forms)
    assert (refused.status_code, unscheduled.status_code) == (409, 422)
    for each in (refused, unscheduled):
        assert "step 6 where participants get the images, or tick" in words(each.text)
    assert (scheduled.status_code, opened.status_code) == (303, 303)
    assert place.organiser.get(f"/api/v1/challenges/{code}/data").json()["pictures"]["pictures_from"] is None


@pytest.mark.sampled
def test_a_draft_that_was_scheduled_before_anybody_was_asked_opens(place: Place) -> None:
    code = made(place)
    with place.platform.transaction() as session:
        session.execute(update(ChallengeDraft).values(opens_at=func.now()))

    drafts.open_due(place.platform)

    assert visibility_of(place, code) is ChallengeVisibility.LISTED


@pytest.mark.sampled
def test_what_is_said_of_the_pictures_has_to_be_so_before_the_challenge_opens(place: Place) -> None:
    code = made(place, pictures_from="here")
    with place.platform.transaction() as session:
        challenge = session.scalars(select(Challenge).where(Challenge.code == code)).one()
        phase_id = session.scalars(select(Phase.id).where(Phase.challenge_id == challenge.id)).one()
    files = {"file": ("images.zip", b"x")}
    form = {"title": "Images", "kind": "images", "audience": "everybody"}

    arranged = place.page(f"/organise/challenges/{code}")
    hide = {"is_public": "", "reason": "not yet"}
    place.organiser.post(f"/organise/phases/{phase_id}/pictures", data=hide)
    secret = place.page(f"/organise/challenges/{code}")
    refused = place.organiser.post(f"{NEW}/{code}/open")
    place.organiser.put(f"/api/v1/organise/challenges/{code}/pictures-from", json={"pictures_from": "files"})
    missing = place.page(f"/organise/challenges/{code}")
    place.organiser.post(f"/organise/challenges/{code}/data", data=form, files=files)
    offered = place.page(f"/organise/challenges/{code}")
    place.organiser.post(
        f"/organise/challenges/{code}/pictures-from", data={"pictures_from": "here", "pictures_address": ""}
    )
    do_all(place.platform)
    shown = place.page(f"/organise/challenges/{code}")
    opened = place.organiser.post(f"{NEW}/{code}/open")

    todo, done = (f"Participants get the images as it is said {each}" for each in ("to do", "done"))
    assert done in arranged
    assert f"{todo} test: only organisers see its images" in secret
    assert (refused.status_code, opened.status_code) == (409, 303)
    assert f"{todo} test: no file that has arrived offers its images" in missing
    assert done in offered
    assert done in shown
    with place.platform.transaction() as session:
        said = session.scalars(
            select(AuditRecord.after)
            .where(AuditRecord.action == "challenge.pictures", AuditRecord.challenge_id == challenge.id)
            .order_by(AuditRecord.id)
        ).all()
    assert [each and each["pictures_from"] for each in said] == ["here", "files", "here"]


@pytest.mark.sampled
def test_an_address_elsewhere_is_shown_and_exported(place: Place, app: FastAPI) -> None:
    address = "https://pictures.example/birds"
    code = made(place, pictures_from="elsewhere", pictures_address=address)
    place.organiser.post(f"{NEW}/{code}/open")
    visitor = TestClient(app, headers={"Accept": "text/html"})

    page = visitor.get(f"/challenges/{code}/data").text
    exported = place.organiser.get(f"/organise/challenges/{code}/settings.json").json()["pictures"]

    assert "The images come from elsewhere:" in page
    assert f'<a href="{address}"' in page
    assert (exported["pictures_from"], exported["pictures_address"]) == ("elsewhere", address)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"pictures_from": "elsewhere"}, "is missing"),
        ({"pictures_from": "elsewhere", "pictures_address": "http://a.example"}, "begins with https://"),
    ],
)
def test_elsewhere_needs_an_address(place: Place, answer: dict[str, str], problem: str) -> None:
    code = place.draft()

    step = place.organiser.post(f"{NEW}/{code}/page", data={**UNSAID, **answer})
    page = place.organiser.post(f"/organise/challenges/{code}/pictures-from", data=answer)

    assert (step.status_code, page.status_code) == (422, 422)
    assert problem in step.text
    assert problem in page.text
