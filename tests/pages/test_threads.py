"""Teams ask the organisers, organisers answer, and publish what is useful to everybody."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from sqlalchemy import select, text, update

from app.intake.importing import TreeImport, import_tree
from app.models import AuditRecord, Challenge, Event, EventKind, Notification, Team, ThreadMessage
from app.notifications import threads
from app.notifications.threads import Limit
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.statements import asked
from tests.pages.test_accounts import PASSWORD
from tests.pages.test_teams import Person, new_challenge, organise, people
from tests.patience import take_time
from tests.system.kits import results, small_kit
from tests.working import do_all

__all__ = ["people"]

WHY = {"title": "Why was I refused?", "text": "It says **expected 6 fields**."}
HOSTILE = (
    "<script>alert(1)</script> ![x](https://evil.example/x.png) [click](javascript:alert(1))"
    " [bank](https://b\u0430nk.example/login)"
)


@pytest.fixture(scope="module", autouse=True)
def _challenges(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two that take uploads; the questions of one test alone are about Elm."""
    kit = small_kit(tmp_path_factory.mktemp("threads"))
    for code in ("fir", "elm"):
        import_tree(platform, TreeImport(kit, code, "test", title=code.title()))


def invalid_upload(person: Person, challenge: str = "fir") -> str:
    path = f"/api/v1/challenges/{challenge}/test/uploads?filename=fern.tar.gz"
    upload = person.http.put(path, content=results(cat=5).replace(b"comp3", b"comp9")).json()
    return str(upload["id"])


def ask(person: Person, challenge: str, **facts: Any) -> int:
    return int(person.call("POST", f"/challenges/{challenge}/threads", 201, **(WHY | facts))["thread"]["id"])


def organiser_of(platform: Platform, people: Iterator[Person], challenge: str) -> Person:
    olga = next(people)
    organise(platform, olga, challenge)
    return olga


def told(platform: Platform, kind: EventKind, thread: int) -> list[int]:
    """The people who were notified of messages of a thread."""
    do_all(platform)
    with platform.reading() as session:
        of_thread = Event.details["thread"].as_integer() == thread
        statement = select(Notification.user_id).join(Event).where(Event.kind == kind, of_thread)
        return sorted(session.scalars(statement))


def suspend(platform: Platform, team: int) -> None:
    with platform.transaction() as session:
        values = {"suspended_at": text("now()"), "suspension_reason": "shared accounts"}
        session.execute(update(Team).where(Team.id == team).values(values))


@pytest.mark.sampled
def test_a_team_asks_about_its_report_and_an_organiser_answers(
    platform: Platform, people: Iterator[Person]
) -> None:
    ada, olga = next(people), organiser_of(platform, people, "elm")
    upload = invalid_upload(ada, "elm")
    [link] = re.findall(r'href="(/challenges/elm/ask\?upload=[^"]+)"', ada.page(f"/uploads/{upload}"))
    form = ada.page(link)
    assert f'href="/uploads/{upload}">fern.tar.gz</a>' in form
    assert f'name="upload" value="{upload}"' in form

    status, where = ada.send("/challenges/elm/ask", **WHY, upload=upload)

    assert status == 303
    assert "1 question of teams" in olga.page("/organise")
    overview = olga.page("/organise/challenges/elm")
    assert 'href="/organise/challenges/elm/threads?state=open"' in overview
    listed = olga.page("/organise/challenges/elm/threads?state=open")
    assert f'href="{where}"' in listed
    assert f'href="/uploads/{upload}"' in listed  # two clicks from the overview
    assert "fern.tar.gz" in olga.page(f"/uploads/{upload}")
    thread = int(where.rpartition("/")[2])
    assert told(platform, EventKind.QUESTION, thread) == [olga.id]

    assert olga.send(f"/organise{where}/messages", text="Two fields are missing.")[0] == 303
    answered = ada.page(where)
    assert "answered</span>" in answered
    assert f'you asked: <a href="{where}">Why was I refused?</a>' in ada.page(f"/uploads/{upload}")
    assert "you asked" not in olga.page(f"/uploads/{upload}")
    bob = next(people)
    assert "you asked" not in bob.page(f"/uploads/{invalid_upload(bob, 'elm')}")  # of another team
    assert "<strong>expected 6 fields</strong>" in answered
    assert "Two fields are missing." in answered
    assert told(platform, EventKind.ANSWER, thread) == [ada.id]
    newest = ada.call("GET", "/notifications")["notifications"][0]
    assert newest["sentence"] == "The organisers of Elm answered: Why was I refused?"
    assert newest["path"] == f"{where}#last"

    assert ada.send(f"{where}/messages", text="Thank you. And which?")[0] == 303
    assert "open</span>" in ada.page("/threads")
    assert told(platform, EventKind.QUESTION, thread) == [olga.id] * 2
    assert olga.send(f"/organise{where}/close")[0] == 303
    status, refused = ada.send(f"{where}/messages", text="Hello?")
    assert status == 409
    assert "An organiser has closed this question" in refused
    assert "Hello?" in refused  # what was typed is not lost
    assert "question of teams" not in olga.page("/organise")
    assert olga.send(f"/organise{where}/reopen")[0] == 303
    assert "open</span>" in ada.page(where)


def test_a_thread_is_read_by_the_members_of_its_team_as_long_as_they_are(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    ada, bob, eve, alone = (next(people) for _ in range(4))
    team = ada.team(code, "Fern")
    bob.accept(ada.invite(team))
    thread, own = ask(bob, code), ask(alone, code)

    for person, there, not_there in ((ada, thread, own), (bob, thread, own), (alone, own, thread)):
        assert WHY["title"] in unescape(person.page(f"/threads/{there}"))
        assert [row["id"] for row in person.call("GET", "/threads")["rows"]] == [there]
        person.page(f"/threads/{not_there}", 404)
        assert person.send(f"/threads/{not_there}/messages", text="Mine")[0] == 404
    bob.call("POST", f"/teams/{team}/leave", 204)
    eve.accept(ada.invite(team))
    alone.accept(ada.invite(team))

    bob.page(f"/threads/{thread}", 404)
    assert bob.call("GET", "/threads")["rows"] == []
    eve.page(f"/threads/{thread}")
    assert [row["id"] for row in alone.call("GET", "/threads")["rows"]] == [own, thread]
    ada.page(f"/threads/{own}", 404)


def test_an_answer_to_somebody_without_a_team_reaches_this_person_alone(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    olga, ada = organiser_of(platform, people, code), next(people)
    thread = ask(ada, code)

    olga.call("POST", f"/organise/threads/{thread}/messages", 201, text="So")

    assert told(platform, EventKind.ANSWER, thread) == [ada.id]


def test_a_question_is_about_nothing_that_belongs_to_others(
    platform: Platform, people: Iterator[Person]
) -> None:
    ada, eve, code = next(people), next(people), new_challenge(platform)
    upload = invalid_upload(ada)
    eve.team("fir", "Eves")
    facts: tuple[tuple[str, dict[str, Any]], ...] = (
        ("fir", {"upload": upload}),
        (code, {"upload": upload}),
        ("fir", {"submission": 1}),
        (code, {"image_set": "test"}),
    )

    found = [eve.refused("POST", f"/challenges/{where}/threads", **WHY, **about) for where, about in facts]
    pages = [eve.http.get(f"/challenges/{where}/ask", params=about).status_code for where, about in facts]
    both = eve.refused("POST", "/challenges/fir/threads", **WHY, upload=upload, submission=1)

    assert found == [(404, "not-found")] * 4
    assert pages == [404] * 4
    assert both == (422, "malformed")
    assert ada.refused("POST", f"/challenges/{code}/threads", **WHY, upload=upload) == (404, "not-found")


def test_a_thread_outlives_the_upload_that_it_is_about(platform: Platform, people: Iterator[Person]) -> None:
    ada = next(people)
    upload = invalid_upload(ada)
    thread = ask(ada, "fir", upload=upload)

    ada.call("DELETE", f"/uploads/{upload}", 204)

    about = ada.call("GET", f"/threads/{thread}")["thread"]["about"]
    assert (about["upload"], about["image_set"]) == (None, "test")
    ada.page(f"/threads/{thread}")


def test_a_person_and_a_team_send_so_many_messages_and_are_told_when_the_next_is_possible(
    platform: Platform, people: Iterator[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "LIMITS", (Limit(2, timedelta(hours=1)),))
    code = new_challenge(platform)
    ada, bob, other = next(people), next(people), next(people)
    bob.accept(ada.invite(ada.team(code, "Fern")))
    thread = ask(ada, code)
    ada.call("POST", f"/threads/{thread}/messages", 201, text="And more")

    mine = ada.http.post("/challenges/fir/ask", data=WHY)
    ours = bob.http.post(f"/threads/{thread}/messages", data={"text": "More"})
    program = bob.http.post(f"/api/v1/threads/{thread}/messages", json={"text": "More"})

    assert (mine.status_code, ours.status_code, program.status_code) == (429, 429, 429)
    said = "sent 2 messages to organisers within 1 hour; the next is possible on "
    assert f"You have {said}" in mine.text
    assert WHY["text"] in mine.text
    assert f"Your team has {said}" in ours.text
    assert 3000 < int(program.headers["retry-after"]) <= 3600
    assert ask(other, code)
    with platform.transaction() as session:
        past = update(ThreadMessage).where(ThreadMessage.thread_id == thread)
        session.execute(past.values(created_at=ThreadMessage.created_at - timedelta(hours=1)))
    bob.call("POST", f"/threads/{thread}/messages", 201, text="More")


def test_a_suspended_team_has_one_question_at_a_time(platform: Platform, people: Iterator[Person]) -> None:
    code = new_challenge(platform)
    olga, ada = organiser_of(platform, people, code), next(people)
    suspend(platform, ada.team(code, "Fern"))

    thread = ask(ada, code)
    refused = ada.http.post(f"/challenges/{code}/ask", data=WHY | {"title": "Another"})
    ada.call("POST", f"/threads/{thread}/messages", 201, text="Still here")
    olga.call("POST", f"/organise/threads/{thread}/close", 204)

    assert refused.status_code == 403
    assert "can ask one question at a time" in refused.text
    assert ask(ada, code, title="Another")


def test_organisers_choose_where_they_are_asked(platform: Platform, people: Iterator[Person]) -> None:
    code = new_challenge(platform)
    olga, ada = organiser_of(platform, people, code), next(people)
    thread = ask(ada, code)
    setting, forum = f"/organise/challenges/{code}/asking", "https://\u0430sk.example/voc"
    another = WHY | {"title": "Another"}

    wrong = [
        olga.send(setting, place="forum", forum=each)[0]
        for each in ("", "http://a.example", "javascript:alert(1)", "https://oak.example@evil.example")
    ]
    assert wrong == [422] * 4
    assert olga.send(setting, place="forum", forum=forum)[0] == 303
    pages = [ada.page(f"/challenges/{code}"), ada.page(f"/challenges/{code}/ask")]
    link = (
        '<a href="https://xn--sk-6kc.example/voc" rel="nofollow noopener noreferrer">xn--sk-6kc.example</a>'
    )
    assert all(link in page for page in pages)
    assert ada.refused("POST", f"/challenges/{code}/threads", **another) == (409, "asking-off")
    ada.call("POST", f"/threads/{thread}/messages", 201, text="What was asked before goes on")

    olga.call("PUT", setting, place="nowhere")
    assert "Ask" not in ada.page(f"/challenges/{code}")
    assert "take no questions here" in ada.page(f"/challenges/{code}/ask")
    assert ada.refused("POST", f"/challenges/{code}/threads", **another) == (409, "asking-off")
    with platform.transaction() as session:
        records = session.scalars(select(AuditRecord.after).where(AuditRecord.action == "asking.set"))
        assert [record["place"] for record in records if record] == ["forum", "nowhere"]


def test_a_double_click_asks_and_answers_once(platform: Platform, people: Iterator[Person]) -> None:
    code = new_challenge(platform)
    olga, ada = organiser_of(platform, people, code), next(people)

    twice = {ada.send(f"/challenges/{code}/ask", **WHY) for _ in range(2)}
    [(_, where)] = twice
    for _ in range(2):
        assert olga.send(f"/organise{where}/messages", text="So")[0] == 303
    for _ in range(2):
        assert ada.send(f"{where}/messages", text="Thanks")[0] == 303

    view = ada.call("GET", where)
    assert [each["text"] for each in view["messages"]] == [WHY["text"], "So", "Thanks"]


def test_nobody_answers_or_closes_what_they_have_not_read(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    olga, omar, ada = organiser_of(platform, people, code), organiser_of(platform, people, code), next(people)
    where = f"/threads/{ask(ada, code)}"
    [seen, *_] = re.findall(r'name="seen" value="(\d+)"', olga.page(where))

    first = olga.send(f"/organise{where}/messages", text="Yes", seen=seen)
    second = omar.send(f"/organise{where}/messages", text="No, never", seen=seen)
    closing = omar.send(f"/organise{where}/close", seen=seen)

    assert (first[0], second[0], closing[0]) == (303, 409, 409)
    assert "Somebody has written since you opened this page" in second[1]
    assert "No, never</textarea>" in second[1]
    [newer, *_] = re.findall(r'name="seen" value="(\d+)"', second[1])
    assert ada.call("GET", where)["thread"]["state"] == "answered"
    assert omar.send(f"/organise{where}/messages", text="No, never", seen=newer)[0] == 303
    assert omar.send(f"/organise{where}/close")[0] == 303


def test_hostile_text_is_shown_as_text_and_links_keep_no_ties(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    olga, ada = organiser_of(platform, people, code), next(people)
    thread = ask(ada, code, title="<script>alert(1)</script>", text=HOSTILE)

    page = olga.page(f"/threads/{thread}") + olga.page(f"/organise/challenges/{code}/threads")
    hidden = ada.http.post(f"/challenges/{code}/ask", data={"title": "\u202etxt.exe", "text": " "})

    assert "<script>alert" not in page
    assert "evil.example" not in page
    assert 'href="javascript' not in page
    assert '<a href="https://xn--bnk-6cd.example/login" rel="nofollow noopener noreferrer">' in page
    assert hidden.status_code == 422
    assert "Fix 2 problems" in hidden.text


def test_an_upload_that_moves_to_another_team_does_not_tell_it_what_was_asked(
    people: Iterator[Person],
) -> None:
    ada, bob = next(people), next(people)
    upload = invalid_upload(ada)
    ask(ada, "fir", upload=upload)
    assert "you asked" in ada.page(f"/uploads/{upload}")

    ada.accept(bob.invite(bob.team("fir", "Moor")))

    assert "you asked" not in bob.page(f"/uploads/{upload}")


def test_a_published_answer_names_nobody_and_can_be_changed_and_unpublished(
    platform: Platform, people: Iterator[Person], browser: Browser
) -> None:
    ada, olga, visitor = next(people), organiser_of(platform, people, "fir"), browser()
    ada.team("fir", "Fernweh")
    upload = invalid_upload(ada)
    thread = ask(ada, "fir", upload=upload, text=f"Fernweh has fern.tar.gz, see /uploads/{upload}. Why?")
    olga.call("POST", f"/organise/threads/{thread}/messages", 201, text="Write six fields.")
    publish = f"/organise/threads/{thread}/publish"
    form = olga.page(publish)
    assert "Fernweh has fern.tar.gz" in form  # the organiser edits what was asked
    assert "Write six fields." in form

    named = olga.http.post(
        publish, data={"title": WHY["title"], "question": f"FERNWEH asks: /uploads/{upload}?", "answer": "Yes.", "version": 0}
    )  # fmt: skip
    edited = {
        "title": "How many fields?",
        "question": "How many *fields*?",
        "answer": "```\nSix",
        "version": "0",
    }
    preview = olga.http.post(publish, data=edited | {"preview": "1"})
    nothing = visitor.get("/challenges/fir/news").text
    published = [olga.send(publish, **edited)[0] for _ in range(2)]  # a double click

    assert named.status_code == 409
    assert "Fernweh" in named.text
    assert f"/uploads/{upload}" in named.text
    assert "<em>fields</em>" in preview.text
    assert "Questions and answers" not in nothing
    assert published == [303, 303]
    public = [
        visitor.get(address).text
        for address in (
            "/challenges/fir/news",
            "/api/v1/challenges/fir/news",
            "/challenges/fir/news.atom",
            "/news.atom",
        )
    ]
    for text_of_page in public:
        assert "How many fields?" in text_of_page
        assert not re.search(f"(?i)fernweh|fern.tar|{upload}|threads/{thread}|Ash Grove", text_of_page)
    assert "<em>fields</em>" in public[0]
    entry = ET.fromstring(public[2]).find("{http://www.w3.org/2005/Atom}entry")
    assert entry is not None
    assert "<em>fields</em>" in str(entry.findtext("{http://www.w3.org/2005/Atom}content"))

    late = olga.send(publish, **(edited | {"answer": "Seven"}))
    changed = olga.send(publish, **(edited | {"answer": "Seven", "version": "1"}))
    assert (late[0], changed[0]) == (409, 303)
    page = visitor.get("/challenges/fir/news").text
    assert "Seven" in page
    assert "edited <time" in page
    assert olga.send(f"/organise/threads/{thread}/unpublish")[0] == 303
    assert "How many" not in visitor.get("/challenges/fir/news").text
    with platform.transaction() as session:
        actions = select(AuditRecord.action).where(AuditRecord.subject == f"thread {thread}")
        assert list(session.scalars(actions.order_by(AuditRecord.id))) == [
            "answer.publish", "answer.edit", "answer.unpublish",
        ]  # fmt: skip


def test_an_account_that_is_deleted_leaves_its_questions_without_a_name(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    olga, ada, bob = organiser_of(platform, people, code), next(people), next(people)
    ada.http.post("/account/profile", data={"name": "Ada Fernweh"})
    team = ada.team(code, "Fern")
    bob.accept(ada.invite(team))
    ada.call("POST", f"/teams/{team}/hand-over", 204, person=bob.id)
    thread = ask(ada, code)
    other = new_challenge(platform)
    organise(platform, olga, other)
    ada.team(other, "Ada Fernweh")  # a team of one, called as she is
    own = ask(ada, other, title="Alone?")
    exported = ada.http.get("/account/data.json").json()
    before = olga.page(f"/threads/{thread}")

    ada.http.post("/account/delete", data={"password": PASSWORD, "results": "keep"})

    asked_by_her = [(each["title"], each["state"]) for each in exported["threads"]]
    assert asked_by_her == [(WHY["title"], "open"), ("Alone?", "open")]
    assert [each["text"] for each in exported["thread_messages"]] == [WHY["text"]] * 2
    assert "Ada Fernweh" in before
    for person, each in ((olga, thread), (bob, thread), (olga, own)):
        after = person.page(f"/threads/{each}")
        assert "Ada Fernweh" not in after
        assert "Deleted account" in after
        assert "expected 6 fields" in after


def test_lists_and_threads_are_paged_and_need_few_statements(
    platform: Platform, people: Iterator[Person]
) -> None:
    code = new_challenge(platform)
    olga, ada = organiser_of(platform, people, code), next(people)
    first = ask(ada, code)
    fill_threads(platform, code, ada.id, 60, messages=50)

    statements = []
    for person, address in (
        (ada, "/threads"), (ada, f"/threads/{first}"), (olga, f"/organise/challenges/{code}/threads"),
        (olga, f"/organise/challenges/{code}/threads?state=open"), (ada, f"/challenges/{code}/ask"),
    ):  # fmt: skip
        with asked(platform) as found:
            person.page(address)
        statements.append(len(found))

    assert max(statements) <= 8, statements
    rows, before = [], ""
    while True:
        page = ada.call("GET", f"/threads{before}")
        rows += [row["id"] for row in page["rows"]]
        if page["next"] is None:
            break
        before = f"?before={page['next']}"
    assert len(rows) == len(set(rows)) == 61
    newest = ada.call("GET", f"/threads/{first + 60}")
    assert len(newest["messages"]) == 20
    earlier = ada.call("GET", f"/threads/{first + 60}?before={newest['earlier']}")
    assert earlier["messages"][-1]["id"] < newest["messages"][0]["id"]


def fill_threads(platform: Platform, code: str, user_id: int, count: int, messages: int = 1) -> None:
    """Add many threads of a person without a team, with so many messages each."""
    with platform.transaction() as session:
        take_time(session)
        challenge = session.scalars(select(Challenge.id).where(Challenge.code == code)).one()
        values = {"challenge": challenge, "user": user_id, "count": count, "messages": messages}
        add_threads = (
            "INSERT INTO thread (challenge_id, asked_by, title, state, last_message_id) SELECT :challenge, :user,"
            " 'Question ' || n, 'open', 0 FROM generate_series(1, :count) n"
        )
        add_messages = (
            "INSERT INTO thread_message (thread_id, author_id, is_answer, text) SELECT t.id, :user, false, 'Why?'"
            " FROM thread t, generate_series(1, :messages) WHERE t.last_message_id = 0 ORDER BY t.id"
        )
        note_last = (
            "UPDATE thread t SET last_message_id = (SELECT max(id) FROM thread_message WHERE thread_id = t.id)"
            " WHERE last_message_id = 0"
        )
        for statement in (add_threads, add_messages, note_last):
            session.execute(text(statement), values)
