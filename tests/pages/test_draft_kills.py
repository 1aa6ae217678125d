"""A draft is never half saved, half made or half opened, whatever is refused or killed."""

from typing import Any

from sqlalchemy import func, select, update

from app.challenges.texts import NewTexts
from app.challenges.visibility import MOST_INVITATIONS
from app.core.access import Actor
from app.models import (
    AuditRecord,
    Challenge,
    ChallengeDraft,
    ChallengeInvitation,
    ChallengeOrganiser,
    ChallengePage,
    Terms,
)
from app.organising import drafts
from app.organising.draft_rules import RulesChoice
from app.people.sessions import actor_of
from app.platform import Platform
from tests.kills import assert_all_or_nothing
from tests.pages.test_drafts import NEW, RULES, Place, place, words

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
        drafts.save_page(place.platform, actor(place.platform, code), code, new)

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

    assert "done The people whom the rules name are invited" in ready
    assert "to do The people whom the rules name are invited" in lacking
    assert "1 of 2 are not, such as oak@example.org" in lacking
    assert (opened.status_code, again.status_code) == (409, 303)
    assert "It did not open by itself. not done yet: The people whom the rules name are invited" in refused
    with place.platform.transaction() as session:
        challenge = session.scalars(select(Challenge).where(Challenge.code == code)).one()
        assert challenge.visibility.value == "invited"
    assert state(place, code)[1] == ["ash@example.org", "oak@example.org"]
