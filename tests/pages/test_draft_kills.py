"""A draft is never half saved, half made or half opened, whatever is refused or killed."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from app.challenges.pictures_from import ParticipantsPictures
from app.challenges.texts import NewTexts
from app.challenges.visibility import MOST_INVITATIONS
from app.core.access import Actor
from app.intake import reading
from app.jobs.queue import Claim
from app.models import (
    AuditRecord,
    Board,
    Challenge,
    ChallengeDraft,
    ChallengeInvitation,
    ChallengeOrganiser,
    ChallengePage,
    GroundTruth,
    Intake,
    Job,
    JobKind,
    Phase,
    Picture,
    PictureSource,
    Terms,
)
from app.organising import drafts
from app.organising.draft_rules import RulesChoice
from app.people.sessions import actor_of
from app.platform import Platform
from tests.kills import assert_all_or_nothing
from tests.pages.data_sets import jpeg, kit, zipped
from tests.pages.test_drafts import NEW, PAGE, RULES, SCORING, Place, place, words
from tests.working import do_all

__all__ = ["place"]
INVITED = {**RULES, "visibility": "invited"}


def actor(platform: Platform, code: str) -> Actor:
    """The owner of a draft."""
    with platform.transaction() as session:
        statement = select(ChallengeOrganiser.user_id).join(Challenge).where(Challenge.code == code)
        found = actor_of(session, session.scalars(statement).one())
    assert found is not None
    return found


def rules(place: Place, *people: str, **changes: Any) -> RulesChoice:
    form = {**INVITED, "invited": "\n".join(people), "saved_at": drafts.now(place.platform), **changes}
    return RulesChoice.model_validate(form)


def state(place: Place, code: str) -> Any:
    """Everything that the rules of a draft, its page and its opening change."""
    with place.platform.transaction() as session:
        challenge = session.scalars(select(Challenge).where(Challenge.code == code)).one()
        here = challenge.id
        draft = session.get_one(ChallengeDraft, here)
        live = ChallengeInvitation.challenge_id == here, ChallengeInvitation.revoked_at.is_(None)
        people = session.scalars(
            select(func.coalesce(ChallengeInvitation.address, ChallengeInvitation.domain)).where(*live)
        ).all()
        page = session.get(ChallengePage, here)
        acts = session.scalars(select(AuditRecord.action).where(AuditRecord.challenge_id == here)).all()
        invited = (draft.settings.get("rules") or {}).get("invited")
        return (
            invited, sorted(map(str, people)), (challenge.approves_teams, challenge.most_members),
            session.scalars(select(Terms.text).where(Terms.challenge_id == here)).all(),
            (page.overview, page.version) if page else None, sorted(acts),
        )  # fmt: skip


def test_rules_are_saved_with_their_terms_and_invitations_or_not_at_all(place: Place) -> None:
    def scene() -> str:
        code = place.draft()
        drafts.save_rules(
            place.platform, actor(place.platform, code), code, rules(place, "ash@a.org", "@b.org")
        )
        return code

    def save(code: str) -> None:
        changed = rules(
            place, "@b.org", "@c.org", "oak@d.org", approves_teams=True, terms="own", terms_text="Be fair to all of us."
        )  # fmt: skip
        drafts.save_rules(place.platform, actor(place.platform, code), code, changed)

    assert assert_all_or_nothing(place.platform, scene, save, lambda code: state(place, code)) > 10


def test_the_texts_of_step_6_are_saved_whole(place: Place) -> None:
    def save(code: str) -> None:
        new = NewTexts(tagline="Find them", overview="# Birds", version=1)
        pictures = ParticipantsPictures(pictures_from="files")
        drafts.save_page(place.platform, actor(place.platform, code), code, new, pictures)

    assert_all_or_nothing(place.platform, place.draft, save, lambda code: state(place, code))


def test_too_many_invitations_are_a_problem_of_their_field_and_change_nothing(place: Place) -> None:
    code = place.draft()
    place.save(code, "rules", **{**INVITED, "invited": "ash@example.org oak@example.org"})
    place.organiser.post(
        f"/organise/challenges/{code}/invitations/codes", data={"note": "workshop", "uses": ""}
    )
    before = state(place, code)
    domains = [f"@{number}.org" for number in range(MOST_INVITATIONS + 1)]

    together = place.organiser.post(
        f"{NEW}/{code}/rules", data={**INVITED, "terms": "none", "invited": "\n".join(domains[:-1])}
    )
    alone = place.organiser.post(f"{NEW}/{code}/rules", data={**INVITED, "invited": "\n".join(domains)})

    assert (together.status_code, alone.status_code) == (422, 422)
    assert "Fix 1 problem Invited : A challenge can have at most 2,000 invitations" in words(together.text)
    assert "must be at most 2000, not 2001" in words(alone.text)
    assert state(place, code) == before
    assert len(before[1]) == 3


@pytest.mark.sampled
def test_a_challenge_for_invited_people_opens_only_with_those_of_its_rules(place: Place) -> None:
    code = place.finished(visibility="invited", invited="ash@example.org oak@example.org")
    ready = place.page(f"/organise/challenges/{code}")
    with place.platform.transaction() as session:
        session.execute(
            update(ChallengeInvitation)
            .where(ChallengeInvitation.address == "oak@example.org")
            .values(revoked_at=func.now())
        )

    lacking = place.page(f"/organise/challenges/{code}")
    opened = place.organiser.post(f"{NEW}/{code}/open")
    with place.platform.transaction() as session:
        session.execute(update(ChallengeDraft).values(opens_at=func.now()))
    drafts.open_due(place.platform)
    refused = place.page(f"/organise/challenges/{code}")
    place.save(code, "rules", **{**INVITED, "invited": "ash@example.org oak@example.org"})
    again = place.organiser.post(f"{NEW}/{code}/open")

    assert "The people whom the rules name are invited done" in ready
    assert "The people whom the rules name are invited to do" in lacking
    assert "1 of 2 are not, such as oak@example.org" in lacking
    assert (opened.status_code, again.status_code) == (409, 303)
    assert "It did not open by itself. not done yet: The people whom the rules name are invited" in refused
    with place.platform.transaction() as session:
        challenge = session.scalars(select(Challenge).where(Challenge.code == code)).one()
        assert challenge.visibility.value == "invited"
    assert state(place, code)[1] == ["ash@example.org", "oak@example.org"]


def made(place: Place, code: str) -> Any:
    """The phases of a draft with all that is made with them, and what its data set says."""
    with place.platform.transaction() as session:
        here = session.scalars(select(Challenge.id).where(Challenge.code == code)).one()
        phases = session.scalars(
            select(Phase).where(Phase.challenge_id == here).order_by(Phase.image_set)
        ).all()
        rows = [
            (
                each.image_set, each.protocol, each.disclosure.value,
                *(
                    session.scalar(select(func.count()).where(table.phase_id == each.id))
                    for table in (GroundTruth, Board, Picture, PictureSource)
                ),
            )
            for each in phases
        ]  # fmt: skip
        intake = session.scalars(select(Intake).where(Intake.challenge_id == here)).one()
        draft = session.get_one(ChallengeDraft, here)
        acts = session.scalars(select(AuditRecord.action).where(AuditRecord.challenge_id == here)).all()
        return rows, intake.state.value, draft.made_of is not None, sorted(acts)


def ready_to_make(place: Place, **scoring: str) -> str:
    """A draft with pictures whose steps are saved."""
    code = place.draft()
    pictures = zipped({f"{name}.jpg": jpeg(shade=number) for number, name in enumerate("abc")})
    place.send(code, images=pictures, public=zipped(kit("val")), hidden=zipped(kit("test")))
    place.save(code, "check", sets=["public-0", "hidden-0"])
    place.save(code, "scoring", **{**SCORING, **scoring})
    place.save(code, "rules", **RULES)
    return code


def apply(platform: Platform, code: str) -> None:
    """Make the phases of a draft as the next worker does."""
    with platform.transaction() as session:
        statement = select(Intake.id).join(Challenge).where(Challenge.code == code)
        intake = str(session.scalars(statement).one())
        job = session.scalars(
            select(Job).where(Job.kind == JobKind.INTAKE, Job.payload["intake"].as_string() == intake)
        ).one()
        job.attempt, job.lease_until = job.attempt + 1, func.clock_timestamp() + timedelta(minutes=1)
        claim = Claim(job.id, job.attempt, job.kind, None, job.payload)
    reading.work(platform, claim)


def remade(place: Place) -> str:
    """A draft whose phases a worker was asked to make again, by other rules."""
    code = ready_to_make(place)
    drafts.make_phases(place.platform, actor(place.platform, code), code)
    do_all(place.platform)
    place.save(code, "scoring", **{**SCORING, "own": "mean"})
    drafts.make_phases(place.platform, actor(place.platform, code), code)
    return code


@pytest.mark.sampled
def test_phases_that_cannot_all_be_made_leave_those_that_were_there(place: Place) -> None:
    """The annotation of val is kept hidden by a phase that is open, so it cannot be made public; test could be made."""
    code, own = place.draft(), ("emu", "owl")
    place.send(code, hidden=zipped(kit("test", own)), public=zipped(kit("val", own)))
    place.save(code, "check", sets=["hidden-0"])
    place.save(code, "scoring", **SCORING)
    place.save(code, "rules", **RULES)
    place.save(code, "page", **PAGE)
    do_all(place.platform)
    before = made(place, code)
    other = place.draft()
    place.send(other, hidden=zipped(kit("val", own)))
    place.save(other, "check", sets=["hidden-0"])
    place.save(other, "scoring", **SCORING)
    place.save(other, "rules", **RULES)
    place.save(other, "page", **PAGE)
    do_all(place.platform)
    place.save(other, "open")

    place.save(code, "check", sets=["hidden-0", "public-0"])
    place.save(code, "phases")
    meanwhile = made(place, code)
    do_all(place.platform)
    after = made(place, code)
    page = place.page(f"/organise/challenges/{code}")
    place.save(code, "check", sets=["hidden-0"])

    assert before[0] == [("test", "voc2012", "classes", 1, 1, 0, 0)]
    assert (meanwhile[0], meanwhile[1]) == (before[0], "applying")
    assert (after[0], after[1]) == (before[0], "applied")
    assert "another phase of this server keeps the same annotation hidden" in page
    assert "The phases are made from the data set to do" in page
    assert "The phases are made from the data set done" in place.page(f"/organise/challenges/{code}")


@pytest.mark.slow  # a child process reads the data set at each of dozens of moments: every fifth, and those near a commit
def test_phases_are_made_all_at_once_in_place_of_those_before(place: Place) -> None:
    platform = place.platform

    moments = assert_all_or_nothing(
        platform,
        lambda: remade(place),
        lambda code: apply(platform, code),
        lambda code: made(place, code),
        every=5,
    )

    assert moments > 50


@pytest.mark.sampled
def test_a_challenge_opens_whole(place: Place) -> None:
    def opened(code: str) -> Any:
        with place.platform.transaction() as session:
            challenge = session.scalars(select(Challenge).where(Challenge.code == code)).one()
            opens = session.scalars(select(Phase.opens_at).where(Phase.challenge_id == challenge.id)).all()
            return (
                challenge.visibility.value, challenge.opened_at is not None,
                {each == challenge.opened_at for each in opens}, made(place, code),
            )  # fmt: skip

    def open_now(code: str) -> None:
        drafts.open_now(place.platform, actor(place.platform, code), code)

    assert_all_or_nothing(place.platform, place.finished, open_now, opened)
