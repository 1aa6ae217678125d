"""Events become notifications of everybody whom they concern."""

import pytest
from sqlalchemy import select

from app.challenges import news
from app.challenges.news import NewAnnouncement
from app.core.access import Actor
from app.intake.importing import TreeImport, import_tree
from app.jobs import events
from app.models import Challenge, Event, EventKind, Member, Notification, Role, Team, User
from app.notifications.kinds import KINDS
from app.platform import Platform
from tests.system.kits import small_kit
from tests.working import do_all


@pytest.fixture(scope="module")
def member(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> int:
    """The id of the only member of a team of the challenge `fir`."""
    import_tree(platform, TreeImport(small_kit(tmp_path_factory.mktemp("events")), "fir", "test"))
    with platform.transaction() as session:
        challenge = session.scalars(select(Challenge)).one()
        user = User(email="ash@lab.example", name="Ash", password_hash=None)
        team = Team(challenge_id=challenge.id, name="Fern", name_key="fern")
        session.add_all([user, User(email="oak@lab.example", name="Oak", password_hash=None), team])
        session.flush()
        session.add(Member(team_id=team.id, user_id=user.id, challenge_id=challenge.id))
        return user.id


def told(platform: Platform, kind: EventKind) -> list[int]:
    with platform.reading() as session:
        statement = select(Notification.user_id).join(Event).where(Event.kind == kind)
        return list(session.scalars(statement))


def test_an_announcement_reaches_the_members_of_all_teams_once(platform: Platform, member: int) -> None:
    organiser = Actor(user_id=member, role=Role.ADMIN, has_second_factor=True)

    news.publish(platform, organiser, "fir", NewAnnouncement(title="Late", text="One day more."))
    do_all(platform)
    do_all(platform)

    assert told(platform, EventKind.ANNOUNCEMENT) == [member]


def test_an_event_for_one_person_reaches_nobody_else(platform: Platform, member: int) -> None:
    with platform.transaction() as session:
        events.record(session, EventKind.INVITATION, user_id=member)
    do_all(platform)

    assert told(platform, EventKind.INVITATION) == [member]


def test_each_kind_of_event_has_a_row_that_says_whom_it_concerns() -> None:
    assert set(KINDS) == set(EventKind)
