"""The bell, the list of notifications, and what is marked as read, on pages and in the API."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import delete, func, select, text
from starlette.testclient import TestClient

from app.core.access import Scope
from app.models import Event, EventKind, MailChoice, Notification
from app.notifications import reading
from app.people.tokens import NewToken, create_token
from app.platform import Platform
from tests.pages.people_told import Scene, scene
from tests.pages.statements import asked
from tests.patience import take_time
from tests.system.plans import rows_read

AT = "2026-11-30T12:00:00+00:00"
QUERIES = 8  # of a page


@pytest.fixture(scope="module")
def challenge(platform: Platform) -> Scene:
    return scene(platform)


@pytest.fixture
def people(challenge: Scene) -> Scene:
    with challenge.platform.transaction() as session:
        session.execute(delete(Event))
        session.execute(delete(MailChoice))
    return challenge


def give(people: Scene, count: int) -> None:
    """Let the member have so many notifications."""
    statement = text(
        "WITH made AS (INSERT INTO event (kind, challenge_id, phase_id, details, dispatched_at)"
        " SELECT 'phase opened', :challenge, :phase, jsonb_build_object('at', CAST(:at AS text)), now()"
        " FROM generate_series(1, :count) RETURNING id)"
        " INSERT INTO notification (event_id, user_id) SELECT id, :member FROM made ORDER BY id"
    )
    known = {"challenge": people.challenge_id, "phase": people.rows.phase_id, "at": AT, "count": count}
    with people.platform.transaction() as session:
        take_time(session)
        session.execute(statement, known | {"member": people.people["member"]})


def bell(page: str) -> str:
    """What the bell in the header says, in words."""
    [link] = re.findall(r'<a class="bell".*?</a>', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", "", link).split())


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "Notifications"), (3, "Notifications 3 unread"), (120, "Notifications 99+ unread")],
)
def test_the_bell_counts_what_is_unread_on_every_page_without_a_query_of_its_own(
    people: Scene, browser: Callable[[], TestClient], count: int, said: str
) -> None:
    give(people, count)
    reader = people.log_in("member", browser)
    reader.get("/account/data")  # records at most once a minute that the session is used

    with asked(people.platform) as queries:
        account = reader.get("/account/data").text
    shared = reader.get("/").text

    assert [bell(page) for page in (account, shared)] == [said, said]
    assert len(queries) == 1
    assert 'class="bell"' not in browser().get("/").text


def test_a_list_is_read_page_by_page_and_marked_one_by_one_or_as_a_whole(
    people: Scene, browser: Callable[[], TestClient]
) -> None:
    give(people, reading.PAGE + 1)
    reader, stranger = people.log_in("member", browser), people.log_in("other team", browser)
    first = reader.get("/notifications").text
    newest, *_, last = map(int, re.findall(r'data-read="/notifications/(\d+)/read"', first))
    older = reader.get(f"/notifications?before={last}").text

    assert [page.count('<li class="unread">') for page in (first, older)] == [reading.PAGE, 1]
    assert f"/notifications?before={last}" in first
    assert "test opened" not in stranger.get("/notifications").text

    stranger.post(f"/notifications/{newest}/read")
    assert bell(reader.get("/account").text) == f"Notifications {reading.PAGE + 1} unread"
    marked = reader.post(f"/notifications/{newest}/read", data={"page": "unread=true"})
    assert marked.headers["location"] == "/notifications?unread=true"
    unread = reader.get("/notifications?unread=true").text
    assert (unread.count('<li class="unread">'), f"/notifications/{newest}/read" in unread) == (
        reading.PAGE,
        False,
    )

    people.record(EventKind.OPENED, at=AT)
    reader.post("/notifications/read", data={"until": newest})
    assert bell(reader.get("/account").text) == "Notifications 1 unread"  # it came after the page was read
    reader.post("/notifications/read")
    assert bell(reader.get("/account").text) == "Notifications"
    assert "Nothing is unread" in reader.get("/notifications?unread=true").text


def test_the_api_has_the_same_list_and_tokens_need_a_scope_to_change_it(
    people: Scene, browser: Callable[[], TestClient]
) -> None:
    give(people, 3)

    def client(scope: Scope) -> TestClient:
        new = NewToken(name=scope, scope=frozenset({scope}), days=1)
        opened = browser()
        opened.headers["Authorization"] = (
            f"Bearer {create_token(people.platform, people.people['member'], new)}"
        )
        return opened

    may_read, may_change = client(Scope.READ), client(Scope.SUBMIT)
    page = may_read.get("/api/v1/notifications").json()

    assert (page["unread"], page["next"], len(page["notifications"])) == (3, None, 3)
    first = page["notifications"][0]
    assert {name: first[name] for name in ("kind", "is_read", "path")} == {
        "kind": "phase opened", "is_read": False, "path": f"/challenges/{first['challenge']}",
    }  # fmt: skip
    assert datetime.fromisoformat(first["at"]).utcoffset() == timedelta(0)
    assert may_read.post(f"/api/v1/notifications/{first['id']}/read").status_code == 403
    assert may_change.post(f"/api/v1/notifications/{first['id']}/read").status_code == 204
    assert may_read.get("/api/v1/notifications?unread=true").json()["unread"] == 2
    assert may_change.post("/api/v1/notifications/read", json={"until": 0}).status_code == 422
    assert may_change.post("/api/v1/notifications/read").status_code == 204
    assert may_read.get("/api/v1/notifications?unread=true").json()["notifications"] == []


def test_what_is_mailed_is_chosen_on_a_page_and_in_the_api(
    people: Scene, browser: Callable[[], TestClient]
) -> None:
    member, admin = (people.log_in(role, browser) for role in ("member", "admin"))

    def checked(client: TestClient) -> set[str]:
        return set(
            re.findall(r'name="kind" value="([^"]+)" checked', client.get("/account/notifications").text)
        )

    before = checked(member)
    assert "phase opened" in before
    assert "storage low" not in member.get("/account/notifications").text
    assert "storage low" in checked(admin)
    saved = member.post(
        "/account/notifications", data={"group": ["teams"], "kind": ["phase closed", "team approved"]}
    )
    assert (saved.status_code, checked(member)) == (303, {"phase closed"})
    put = member.put("/api/v1/account/notifications", json={"by_mail": {"phase opened": True}})
    assert (put.status_code, checked(member)) == (204, {"phase opened", "phase closed"})
    listed = member.get("/api/v1/account/notifications").json()
    assert {each["kind"] for each in listed if each["by_mail"]} == {"phase opened", "phase closed"}
    for wrong in ({"storage low": True}, {"unknown": True}, {"phase opened": "perhaps"}):
        assert member.put("/api/v1/account/notifications", json={"by_mail": wrong}).status_code == 422
    assert checked(member) == {"phase opened", "phase closed"}
    member.post("/account/notifications", data={"group": ["team", "teams"], "kind": ["phase closed"]})
    turned_on = checked(member)
    assert "submission scored" in turned_on  # of a group that was off, what is usual
    assert "upload invalid" not in turned_on
    assert "phase opened" not in turned_on  # a group that was on has what is ticked
    assert member.post("/account/notifications", data={"kind": ["unknown"]}).status_code == 422


@pytest.mark.sampled
def test_a_hundred_thousand_notifications_make_neither_the_bell_nor_the_list_slower(
    people: Scene, browser: Callable[[], TestClient]
) -> None:
    give(people, 100_000)
    people.rows.result(mean=0.5)  # whose score the page reads, too
    people.record(EventKind.INVITATION, by=people.people["organiser"], has_joined=True)
    reader = people.log_in("member", browser)
    reader.get("/account")

    for path in ("/notifications", "/notifications?unread=true", "/account"):
        with rows_read(people.platform) as rows, asked(people.platform) as queries:
            assert reader.get(path).status_code == 200
        assert len(queries) <= QUERIES
        assert rows["notification"] <= 400, (path, rows)
        assert rows["event"] <= reading.PAGE + 1


def test_old_notifications_and_events_are_deleted_and_unread_ones_later(people: Scene) -> None:
    give(people, 4)
    with people.platform.transaction() as session:
        session.execute(text("DELETE FROM heartbeat"))
        ids = list(session.scalars(select(Notification.id).order_by(Notification.id)))
        ages = dict(zip(ids, (181, 91, 91, 89), strict=True))
        for number, days in ages.items():
            session.execute(
                text(
                    "WITH changed AS (UPDATE notification SET created_at = now() - make_interval(days => :days),"
                    " read_at = CASE WHEN :is_read THEN now() END WHERE id = :id RETURNING event_id)"
                    " UPDATE event SET at = now() - make_interval(days => :days) FROM changed WHERE id = event_id"
                ),
                {"id": number, "days": days, "is_read": number != ids[2] and days != 181},
            )

    reading.delete_old(people.platform)
    reading.delete_old(people.platform)

    with people.platform.transaction() as session:
        assert list(session.scalars(select(Notification.id).order_by(Notification.id))) == ids[2:]
        assert session.scalar(select(func.count()).select_from(Event)) == 3
