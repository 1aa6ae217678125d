"""Opening the page that a notification leads to marks it as read, also while the page follows what happens."""

from collections.abc import Callable

import pytest
from sqlalchemy import delete, func, select, text
from starlette.testclient import TestClient

from app.core.access import Scope
from app.jobs import events
from app.models import Event, EventKind, MailedNotification, Notification, Queue
from app.notifications import opening, reading
from app.notifications.kinds import KINDS, Recipients
from app.people.tokens import NewToken, create_token
from app.platform import Platform
from tests.pages.people_told import Scene, scene
from tests.pages.test_dispatch import TOLD, recorded
from tests.working import do_all

OF_AN_IMAGE = EventKind.LABEL_ANSWER  # whose page has three parameters; the list of notifications reads it
OF_PAGES = [
    kind for kind in EventKind if KINDS[kind].recipients is not Recipients.ADMINS and kind is not OF_AN_IMAGE
]


@pytest.fixture(scope="module")
def challenge(platform: Platform) -> Scene:
    return scene(platform)


@pytest.fixture
def people(challenge: Scene) -> Scene:
    with challenge.platform.transaction() as session:
        session.execute(delete(Event))
    return challenge


def unread(people: Scene, role: str) -> int:
    return reading.notifications(people.platform, people.actor(role), only_unread=True).unread


@pytest.mark.sampled
@pytest.mark.parametrize("kind", OF_PAGES)
def test_the_page_of_an_event_reads_it_for_whoever_opens_it_alone(
    people: Scene, browser: Callable[[], TestClient], kind: EventKind
) -> None:
    recorded(people, kind)
    role = next(iter(sorted(TOLD[kind])))
    others = sorted(TOLD[kind] - {role})
    [told] = reading.notifications(people.platform, people.actor(role)).notifications
    reader = people.log_in(role, browser)
    assert told.path is not None

    reader.get("/account")
    assert unread(people, role) == 1
    reader.get(told.path.partition("#")[0])

    assert unread(people, role) == 0
    assert [unread(people, each) for each in others] == [1 for _ in others]


def submission_scored(people: Scene) -> str:
    """The page of a submission that was scored; nobody was told of it yet."""
    result_id = people.rows.result(mean=0.5)
    with people.platform.transaction() as session:
        session.execute(text("UPDATE upload SET received_at = now(), checked_at = now()"))
        found = text("SELECT submission_id FROM result WHERE id = :id")
        return f"/submissions/{session.execute(found, {'id': result_id}).scalar_one()}"


def test_the_page_itself_no_longer_counts_what_it_reads(
    people: Scene, browser: Callable[[], TestClient]
) -> None:
    page = submission_scored(people)
    do_all(people.platform, Queue.MAIL)
    people.record(EventKind.TEAM_APPROVED)
    reader = people.log_in("member", browser)

    assert 'class="count">2<' in reader.get("/account").text
    assert 'class="count">1<' in reader.get(page).text


@pytest.mark.parametrize("part", ["", "/status"], ids=["page", "part"])
def test_what_one_watches_is_read_before_anybody_is_told_and_is_not_mailed(
    people: Scene, browser: Callable[[], TestClient], part: str
) -> None:
    page = submission_scored(people)

    assert people.log_in("member", browser).get(page + part).status_code == 200
    do_all(people.platform, Queue.MAIL)

    assert people.told(EventKind.SCORED) == {"member"}
    assert unread(people, "member") == 0
    with people.platform.transaction() as session:
        assert session.scalar(select(func.count()).select_from(MailedNotification)) == 0


def test_what_happens_while_a_page_follows_is_read_by_it(
    people: Scene, browser: Callable[[], TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = submission_scored(people)
    number = int(page.rpartition("/")[2])
    with people.platform.transaction() as session:
        session.execute(delete(Event))
    found = opening._mark
    where = {
        "challenge_id": people.challenge_id,
        "phase_id": people.rows.phase_id,
        "team_id": people.rows.team_id,
    }

    def score_and_mark(*known: object) -> int:
        with people.platform.transaction() as session:
            events.record(session, EventKind.SCORED, **where, submission=number, runs=[])
        return found(*known)  # type: ignore[arg-type]

    monkeypatch.setattr(opening, "_mark", score_and_mark)
    people.log_in("member", browser).get(f"{page}/status")
    do_all(people.platform, Queue.MAIL)

    assert people.told(EventKind.SCORED) == {"member"}
    assert unread(people, "member") == 0


def test_neither_prefetching_nor_a_program_nor_a_stranger_reads_anything(
    people: Scene, browser: Callable[[], TestClient]
) -> None:
    page = submission_scored(people)
    do_all(people.platform, Queue.MAIL)
    member, program = people.log_in("member", browser), browser()
    new = NewToken(name="all", scope=frozenset({Scope.READ}), days=1)
    program.headers["Authorization"] = f"Bearer {create_token(people.platform, people.people['member'], new)}"

    member.get(page, headers={"Sec-Purpose": "prefetch;prerender"})
    member.head(page)
    program.get(page)
    program.get(f"/api/v1{page}")
    member.get(f"/api/v1{page}")
    for role in ("organiser", "other team"):
        people.log_in(role, browser).get(page)
    browser().get(page)

    assert unread(people, "member") == 1
    assert people.told(EventKind.SCORED) == {"member"}


def test_an_organiser_who_opens_a_submission_is_told_nothing_of_it(
    people: Scene, browser: Callable[[], TestClient]
) -> None:
    page = submission_scored(people)

    assert people.log_in("organiser", browser).get(page).status_code == 200

    with people.platform.transaction() as session:
        assert session.scalars(select(Notification.id)).all() == []
    do_all(people.platform, Queue.MAIL)
    assert (people.told(EventKind.SCORED), unread(people, "member")) == ({"member"}, 1)


@pytest.mark.parametrize(
    "path",
    ["/submissions/x", f"/submissions/{10**30}", "/organise/data-sets/7", "/uploads/x"],
    ids=["word", "huge", "number", "upload"],
)
def test_an_address_without_a_thing_is_not_an_error_of_the_server(
    people: Scene, browser: Callable[[], TestClient], path: str
) -> None:
    assert people.log_in("organiser", browser).get(path).status_code in (404, 422)


def test_every_page_that_reads_something_exists(people: Scene, browser: Callable[[], TestClient]) -> None:
    routes = {route.path for route in browser().app.state.page_routes if "GET" in route.methods}  # type: ignore[attr-defined]

    assert opening.PAGES.keys() <= routes
