"""People report labels of images whose annotation is public; organisers answer."""

import csv
import io
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.images import label_reports
from app.models import (
    AuditRecord,
    Challenge,
    ChallengeOrganiser,
    ChallengeRole,
    Disclosure,
    Event,
    EventKind,
    LabelProblem,
    LabelReport,
    Notification,
    Phase,
    PictureSource,
    User,
)
from app.people.sessions import actor_of
from app.platform import Platform
from tests.kills import assert_all_or_nothing
from tests.pages.picture_trees import loaded, tree_with_pictures
from tests.pages.test_accounts import PASSWORD
from tests.pages.test_teams import Person, organise, people
from tests.system.kits import IMAGES
from tests.working import do_all

__all__ = ["people"]

CODE, HIDDEN = "lynx", "vole"
IMAGE = IMAGES[0]
WRONG = {"kind": "wrong class", "text": "It is a lynx,\nnot a cat."}
LIST = f"/organise/challenges/{CODE}/label-reports"


@pytest.fixture(scope="module", autouse=True)
def _challenges(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One whose annotation is public, and one that hides it and shows its images."""
    tree = tree_with_pictures(tmp_path_factory.mktemp("labels"))
    loaded(platform, tree, CODE)
    loaded(platform, tree, HIDDEN, Disclosure.CLASSES)
    with platform.transaction() as session:
        phase = select(Phase.id).join(Challenge).where(Challenge.code == HIDDEN).scalar_subquery()
        session.execute(update(PictureSource).where(PictureSource.phase_id == phase).values(is_public=True))
    platform.cache.expire_versions()


@pytest.fixture
def owner(platform: Platform, people: Iterator[Person]) -> Person:
    person = next(people)
    organise(platform, person, CODE)
    with platform.transaction() as session:
        theirs = ChallengeOrganiser.user_id == person.id
        session.execute(update(ChallengeOrganiser).where(theirs).values(role=ChallengeRole.OWNER))
    return person


def at(image: str, code: str = CODE) -> str:
    return f"/challenges/{code}/test/images/{image}/reports"


def report(person: Person, image: str = IMAGE, **changes: Any) -> int:
    return int(person.call("POST", at(image), 201, **(WRONG | changes))["id"])


def close(person: Person, status: int, **closing: Any) -> Any:
    return person.call("POST", f"/organise/challenges/{CODE}/label-reports/close", status, **closing)


def told(platform: Platform, kind: EventKind) -> list[tuple[int, int]]:
    """The people who were notified of events of a kind in the challenge, with the event."""
    do_all(platform)
    with platform.reading() as session:
        statement = select(Notification.user_id, Event.id).join(Event).join(Event.challenge)
        rows = session.execute(statement.where(Event.kind == kind, Challenge.code == CODE))
        return [(user, event) for user, event in rows]


@pytest.mark.sampled
def test_a_label_is_reported_on_the_page_of_its_image_and_answered(
    platform: Platform, people: Iterator[Person], owner: Person
) -> None:
    ada, image = next(people), IMAGES[4]  # which nobody else reports
    page = f"/pictures/{CODE}/test/{image}"

    sent = ada.send(f"{page}/reports", **WRONG)
    report(ada, image, kind="object missing", text="A second <b>lynx</b>")

    assert sent == (303, f"{page}#report")
    shown = ada.page(page)
    assert "It is a lynx,\nnot a cat." in shown
    assert "A second &lt;b&gt;lynx&lt;/b&gt;" in shown
    assert "It is a lynx" not in owner.page(page)  # which shows everybody their own
    assert "reports of labels" in owner.page(f"/organise/challenges/{CODE}")
    assert f'href="{LIST}/test/{image}"' in owner.page(f"{LIST}?state=open")
    told_of = told(platform, EventKind.LABELS_REPORTED)
    assert len({event for _, event in told_of}) == 1  # however many reports a day has
    mine = ada.call("GET", at(image), 200)
    assert [(each["kind"], each["version"], each["closed_at"]) for each in mine] == [
        ("object missing", 1, None), ("wrong class", 1, None),
    ]  # fmt: skip

    status, where = owner.send(f"{LIST}/test/{image}", reports=str(mine[1]["id"]), answer="It is a cat.")
    assert (status, where) == (303, f"{LIST}/test/{image}")
    assert "It is a cat." in ada.page(page)
    [row] = [
        each
        for each in owner.call("GET", f"/organise/challenges/{CODE}/reported-images", 200)["images"]
        if each["image"] == image
    ]
    assert (row["open"], row["closed"]) == (1, 1)
    assert (ada.id, 1) in [(user, 1) for user, _ in told(platform, EventKind.LABEL_ANSWER)]
    assert f'href="{page}#report"' in ada.page("/notifications")
    audit = owner.page(f"/organise/challenges/{CODE}/audit")
    assert "closed reports of labels of test, 1 in all" in audit
    assert "reported a label of test: object missing" in audit


def test_nothing_can_be_reported_or_learned_of_hidden_images(people: Iterator[Person]) -> None:
    ada = next(people)
    assert ada.http.get(f"/pictures/{HIDDEN}/test/{IMAGE}").status_code == 200
    page = ada.page(f"/pictures/{HIDDEN}/test/{IMAGE}")

    there, nowhere = (
        [
            ada.http.post(f"/api/v1{at(image, HIDDEN)}", json=WRONG),
            ada.http.get(f"/api/v1{at(image, HIDDEN)}"),
            ada.http.post(f"/pictures/{HIDDEN}/test/{image}/reports", data=WRONG),
        ]
        for image in (IMAGE, "no-such")
    )

    assert "Is a label wrong?" not in page
    assert [each.status_code for each in there + nowhere] == [404] * 6
    details = [[each.json()["detail"] for each in answers[:2]] for answers in (there, nowhere)]
    assert [each.replace(IMAGE, "no-such") for each in details[0]] == details[1]


def test_a_report_needs_a_login_a_kind_and_words(app: FastAPI, people: Iterator[Person]) -> None:
    ada, visitor = next(people), TestClient(app, follow_redirects=False)
    page = f"/pictures/{CODE}/test/{IMAGE}"

    assert f"/login?next=/pictures/{CODE}/test/{IMAGE}" in visitor.get(page).text.replace("%2F", "/")
    assert visitor.post(f"/api/v1{at(IMAGE)}", json=WRONG).status_code == 401
    refused = ada.http.post(f"{page}/reports", data={"kind": "nonsense", "text": " a "})
    assert refused.status_code == 422
    assert "must have at least 3 characters" in refused.text
    assert "Fix 2 problems" in refused.text
    first, again = report(ada), report(ada)
    assert first == again


def test_a_person_reports_ten_labels_a_day_and_an_image_has_fifty_open_reports(
    platform: Platform, people: Iterator[Person]
) -> None:
    ada, bob, image = next(people), next(people), IMAGES[2]
    for number in range(label_reports.MOST_OF_PERSON):
        report(ada, image, text=f"The {number}th object")

    beyond = ada.http.post(f"/api/v1{at(image)}", json=WRONG)
    assert (beyond.status_code, beyond.json()["code"]) == (429, "report-limit")
    assert int(beyond.headers["Retry-After"]) > 86_000
    assert "You cannot report a label now" in ada.page(f"/pictures/{CODE}/test/{image}")
    with platform.transaction() as session:
        session.execute(update(LabelReport).values(created_at=LabelReport.created_at - timedelta(days=1)))
        [phase_id] = session.scalars(
            select(LabelReport.phase_id).where(LabelReport.image == image).distinct()
        )
        more = label_reports.MOST_OF_IMAGE - label_reports.MOST_OF_PERSON
        session.add_all(
            LabelReport(
                phase_id=phase_id, image=image, user_id=ada.id, kind=LabelProblem.BOX, text="Too wide"
            )
            for _ in range(more)
        )
    full = bob.http.post(f"/api/v1{at(image)}", json=WRONG)
    assert (full.status_code, "50 open reports" in full.text) == (429, True)
    report(bob, IMAGES[3])


def test_what_is_closed_says_what_was_wrong_with_it_and_changes_nothing(
    people: Iterator[Person], owner: Person
) -> None:
    ada, image = next(people), IMAGES[3]
    numbers = [report(ada, image, text=f"The {number}th object") for number in range(2)]

    silent = close(owner, 422, reports=numbers)
    unknown = close(owner, 422, reports=numbers, corrected_in=9)
    same = close(owner, 422, reports=numbers, corrected_in=1)
    elsewhere = close(owner, 404, reports=[*numbers, 10**15], answer="No")
    on_page = owner.http.post(f"{LIST}/test/{image}", data={"reports": numbers[:1], "corrected_in": "9"})

    assert "write an answer, or say in which version" in str(silent)
    assert "there is no version 9 yet; the newest is 1" in str(unknown)
    assert "version 1 was reported" in str(same)
    assert f"there is no report {10**15}" in str(elsewhere)
    assert (on_page.status_code, "there is no version 9 yet" in on_page.text.lower()) == (422, True)
    assert {each["closed_at"] for each in ada.call("GET", at(image), 200)} == {None}
    close(owner, 204, reports=numbers[:1], answer="Right you are")
    late = close(owner, 409, reports=numbers, answer="No")
    assert f"Somebody has closed {numbers[0]} meanwhile" in str(late)
    answers = [each["answer"] for each in ada.call("GET", at(image), 200)]
    assert answers == ["", "Right you are"]


def test_reports_are_exported_filtered_and_page_by_page(
    platform: Platform, people: Iterator[Person], owner: Person
) -> None:
    ada = next(people)
    with platform.transaction() as session:
        phase_id = session.scalars(select(Phase.id).join(Challenge).where(Challenge.code == CODE)).one()
        session.add_all(
            LabelReport(
                phase_id=phase_id, image=f"{number:04}", user_id=ada.id, kind=LabelProblem.BOX, text="=1+1"
            )
            for number in range(label_reports.BATCH + 60)
        )

    text = owner.http.get(f"{LIST}.csv", params={"state": "open", "image_set": "test"}).text
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["text"] == "'=1+1"]
    assert len(rows) == label_reports.BATCH + 60
    assert len({row["number"] for row in rows}) == len(rows)
    first = owner.call("GET", f"/organise/challenges/{CODE}/label-reports?state=open", 200)
    assert len(first["rows"]) == label_reports.PAGE
    second = owner.call(
        "GET", f"/organise/challenges/{CODE}/label-reports?state=open&before={first['next']}", 200
    )
    assert first["rows"][-1]["id"] == second["rows"][0]["id"] + 1
    page = owner.page(f"{LIST}?state=open")
    assert page.count("<tr>") == label_reports.PAGE + 1
    assert "Older reports" in page


def test_an_archived_challenge_takes_no_reports_and_closes_none(
    people: Iterator[Person], owner: Person
) -> None:
    ada = next(people)
    number = report(ada, IMAGE)
    owner.call("PUT", f"/organise/challenges/{CODE}/archive", 204)
    try:
        refused = ada.http.post(f"/api/v1{at(IMAGES[0])}", json=WRONG)
        assert (refused.status_code, "is archived" in refused.text) == (409, True)
        close(owner, 409, reports=[number], answer="No")
        page = ada.page(f"/pictures/{CODE}/test/{IMAGE}")
        assert "Report it to the organisers" not in page
        assert WRONG["text"] in page
    finally:
        owner.call("DELETE", f"/organise/challenges/{CODE}/archive", 204)


def test_reports_are_part_of_personal_data_and_are_deleted_with_the_account(
    platform: Platform, people: Iterator[Person]
) -> None:
    ada = next(people)
    number = report(ada, IMAGES[0], text="Mine alone")

    exported = ada.http.get("/api/v1/account/export").json()["label_reports"]
    assert [(each["id"], each["challenge"], each["text"]) for each in exported] == [
        (number, CODE, "Mine alone")
    ]
    assert ada.send("/account/delete", password=PASSWORD, results="keep")[0] in (200, 303)
    with platform.reading() as session:
        assert session.get_one(User, ada.id).deleted_at is not None
        assert session.get(LabelReport, number) is None


def test_reports_are_closed_with_their_records_or_not_at_all(
    platform: Platform, people: Iterator[Person], owner: Person
) -> None:
    ada = next(people)
    with platform.reading() as session:
        organiser = actor_of(session, owner.id)
    assert organiser is not None

    def scene() -> int:
        return report(ada, IMAGES[0], text=uuid.uuid4().hex)

    def state(number: int) -> Any:
        with platform.reading() as session:
            row = session.get_one(LabelReport, number)
            acts = select(AuditRecord.action).where(AuditRecord.action == "label-report.close")
            acts = acts.where(AuditRecord.details["reports"].contains([number]))
            told_ = select(Event.kind).where(Event.details["report"].as_integer() == number)
            return (
                row.closed_at is None,
                row.answer,
                session.scalars(acts).all(),
                session.scalars(told_).all(),
            )

    def operate(number: int) -> None:
        closing = label_reports.Closing(reports=(number,), answer="Yes")
        label_reports.close(platform, organiser, CODE, closing)

    with platform.transaction() as session:
        session.execute(update(LabelReport).values(created_at=LabelReport.created_at - timedelta(days=1)))
    assert_all_or_nothing(platform, scene, operate, state)
