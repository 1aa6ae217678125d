"""Changes of a person run one at a time, without stopping others who add something of theirs."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillWaiting

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.core.access import Actor, require_challenge
from app.models import Challenge, ChallengeVisibility, LoginSession, User
from app.operations import administration
from app.people import accounts, teams
from app.people.locking import lock_person
from app.people.sessions import Browser, identify, start_session
from app.platform import Platform
from tests.second_factors import token_of_admin

BROWSER = Browser("192.0.2.1", "Firefox on Linux")


def person(platform: Platform) -> int:
    with platform.transaction() as session:
        address = f"{uuid.uuid4().hex}@example.org"
        made = accounts.create_person(session, address, "Ash", "a hash", is_verified=True)
        return made.id


def waits_at_most(session: Session, seconds: int) -> None:
    session.execute(text(f"SET LOCAL lock_timeout = '{seconds}s'"))


def test_a_team_is_founded_while_an_organiser_changes_its_challenge(platform: Platform) -> None:
    ash, code = person(platform), f"lock{uuid.uuid4().hex[:8]}"
    with platform.transaction() as session:
        birds = Challenge(code=code, title=code, dataset=code, visibility=ChallengeVisibility.LISTED)
        session.add(birds)
        session.flush()
        number = birds.id

    with platform.transaction() as changing:
        organiser = Actor(user_id=ash, organises=frozenset({number}))
        challenge = require_challenge(changing, organiser, code, lock=True)
        challenge.title = "Changed"
        changing.flush()
        with platform.transaction() as founding:
            waits_at_most(founding, 5)
            assert teams.own_or_new_team(founding, ash, number)
        assert lock_person(changing, ash) is not None


def test_changes_of_a_challenge_wait_for_each_other_and_read_what_was_changed(platform: Platform) -> None:
    ash, code = person(platform), f"lock{uuid.uuid4().hex[:8]}"
    with platform.transaction() as session:
        birds = Challenge(code=code, title=code, dataset=code, visibility=ChallengeVisibility.LISTED)
        session.add(birds)
        session.flush()
        organiser = Actor(user_id=ash, organises=frozenset({birds.id}))

    def change() -> str:
        with platform.transaction() as second:
            require_challenge(second, organiser, code)  # as a page that has read it before
            return require_challenge(second, organiser, code, lock=True).title

    with ThreadPoolExecutor(1) as pool:
        with platform.transaction() as first:
            require_challenge(first, organiser, code, lock=True).title = "Changed"
            waiting = pool.submit(change)
            with pytest.raises(StillWaiting):
                waiting.result(timeout=1)
        assert waiting.result(timeout=60) == "Changed"


def test_a_locked_person_can_log_in(platform: Platform) -> None:
    ash = person(platform)

    with platform.transaction() as changing:
        lock_person(changing, ash)
        with platform.transaction() as login:
            waits_at_most(login, 5)
            assert start_session(login, platform, ash, BROWSER)


def test_suspending_ends_the_session_of_a_login_that_has_just_begun(platform: Platform) -> None:
    ash = person(platform)
    actor = identify(platform, None, token_of_admin(platform, "robot@localhost", "Robot"))

    with ThreadPoolExecutor(1) as pool:
        with platform.transaction() as login:
            start_session(login, platform, ash, BROWSER)
            login.flush()
            suspending = pool.submit(administration.suspend, platform, actor, ash, "a bot")
            with pytest.raises(StillWaiting):
                suspending.result(timeout=1)
        suspending.result(timeout=60)

    with platform.transaction() as session:
        live = LoginSession.user_id == ash, LoginSession.expires_at > func.now()
        assert session.scalar(select(func.count()).select_from(LoginSession).where(*live)) == 0
        assert session.get_one(User, ash).suspended_at is not None
