"""Challenges as files: a draft from one, the same file again, and an open challenge compared with one and changed."""

import pytest
from sqlalchemy import func, select, update

from app.models import AuditRecord, Challenge
from tests.pages.test_drafts import NEW, Place, place, words

assert place  # a fixture
FILE = "/organise/new/file"
API = "/api/v1/organise/challenges"


def exported(place: Place, code: str) -> str:
    answer = place.organiser.get(f"/organise/challenges/{code}/settings.yaml")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/yaml"), answer.text
    return answer.text


@pytest.mark.sampled
def test_a_file_under_a_new_address_becomes_a_draft_that_exports_the_same_file(place: Place) -> None:
    code = place.finished(closes_at="2999-03-01T12:00", per_day="3")
    draft = exported(place, code)
    place.save(code, "open")
    opened = exported(place, code)

    for number, text in enumerate((draft, opened)):
        again = f"{code}-{number}"
        made = place.organiser.post(FILE, data={"text": text.replace(f"code: {code}", f"code: {again}")})

        assert (made.status_code, made.headers["location"]) == (303, f"{NEW}/{again}"), words(made.text)
        assert exported(place, again) == text.replace(f"code: {code}", f"code: {again}")
        assert "Nothing was read yet" in place.page(f"{NEW}/{again}/check")
    assert "ash@" not in opened
    assert "invited:" not in opened


@pytest.mark.sampled
def test_an_open_challenge_is_compared_with_a_file_and_changed_as_far_as_it_may_be(place: Place) -> None:
    code = place.finished(closes_at="2999-03-01T12:00")
    place.save(code, "open")
    text = exported(place, code)
    for before, after in (
        ("2999-03-01", "2999-04-01"), ("template: voc", "template: coco"), ("tagline: Find them", "tagline: Find all"),
        ("per_week: 2", "per_week: 3"), ("visibility: listed", "visibility: by link"),
    ):  # fmt: skip
        assert before in text
        text = text.replace(before, after)

    shown = place.organiser.post(FILE, data={"text": text})
    unchanged = exported(place, code)
    stale = place.organiser.post(FILE, data={"text": text, "seen": "other differences"})
    compared = place.organiser.put(f"{API}/{code}/file", content=text).json()
    applied = place.organiser.put(f"{API}/{code}/file?apply=true", content=text).json()

    assert "differences" in compared, str(compared)
    where = [each["where"] for each in compared["differences"]]
    assert where == ["tagline", "template", "rules.closes_at", "rules.per_week", "rules.visibility"]
    assert "nothing was changed yet" in words(shown.text)
    assert ("Change the challenge" in words(stale.text), "2999-03-01" in unchanged) == (True, True)
    assert applied["is_applied"]
    assert [(each["where"], each["refusal"]) for each in applied["differences"]] == [
        ("template", "stays as it is once a challenge is open")
    ]
    assert exported(place, code) == text.replace("template: coco", "template: voc")
    with place.platform.transaction() as session:
        recorded = session.scalars(
            select(AuditRecord.action)
            .join(Challenge, Challenge.id == AuditRecord.challenge_id)
            .where(Challenge.code == code)
        ).all()
    assert {"phase.change", "challenge.visibility", "page.change", "challenge.apply"} <= set(recorded)


@pytest.mark.sampled
def test_hidden_annotation_is_shown_in_full_only_after_it_was_confirmed_as_public(place: Place) -> None:
    another, code = place.finished(), place.finished()
    for each in (another, code):
        place.save(each, "open")
    text = "phases: {test: {disclosure: full, quotas: [2/7, 30/all], closes_at: null}}"

    refused = place.organiser.put(f"{API}/{code}/file?apply=true", content=text).json()
    shown = words(place.organiser.post(FILE, data={"text": f"code: {code}\n{text}"}).text)
    hidden = exported(place, code)
    confirmed = place.organiser.put(
        f"{API}/{code}/file?apply=true&annotation_is_public=true", content=text
    ).json()

    assert any("confirm that it is public" in each["refusal"] for each in refused["differences"])
    assert "The annotation of test is public" in shown
    assert "disclosure: full" not in hidden
    reasons = "; ".join(each["refusal"] for each in confirmed["differences"])
    assert "another phase keeps the same annotation hidden" in reasons
    assert "confirm that it is public" not in reasons


def test_a_draft_is_changed_by_a_file_and_keeps_whom_it_invites(place: Place) -> None:
    code = place.finished(visibility="invited", invited="@example.org")
    text = (
        "rules: {per_week: 4}\nscoring: {own: mean}\nclasses: [dog, {found: cat, name: lion}]\n"
        "questions: [{text: Runtime, kind: number}]\nphases: {val: {disclosure: full, quotas: [5/30], closes_at: null}}\n"
    )

    applied = place.organiser.put(f"{API}/{code}/file?apply=true", content=text).json()

    assert applied["differences"] == [], applied
    step = place.organiser.get(f"{NEW}/{code}/rules").text
    assert "@example.org" in step
    assert "val has dates, quotas and disclosure of its own" in words(step)
    assert "name: lion" in exported(place, code)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("code: birds\ntitle: [Birds]\n", "line 2, title : must be a text"),
        ("title: Birds\ntemplate: coco\ncode: birdsfile\ntasks: [action]\n", "line 4, tasks : COCO-like challenges have"),
        ("title: B1\ntemplate: voc\ncode: birdsfile\ntasks: [detection]\nscoring: {protocol: ours}\n", "line 5, scoring.protocol : choose a"),
        ("title: B1\ntemplate: voc\ncode: birdsfile\ntasks: [detection]\nrules:\n  closes_at: 2020-01-01T00:00Z\n", "line 6, rules.closes_at : must be"),
        ("", "line 1 : expected settings"),
    ],
    ids=["type", "tasks", "protocol", "past", "empty"],
)  # fmt: skip
def test_a_wrong_file_changes_nothing_and_says_each_line(place: Place, text: str, problem: str) -> None:
    answer = place.organiser.post(FILE, data={"text": text})

    assert answer.status_code == 422
    assert problem in words(answer.text)
    assert place.organiser.get("/organise/challenges/birdsfile").status_code == 404


def test_an_address_of_somebody_else_is_taken(place: Place) -> None:
    answer = place.organiser.post(
        API, content="code: sample-of-others\ntitle: Birds\ntemplate: voc\ntasks: [detection]\n"
    )
    taken = place.organiser.put(f"{API}/sample-of-others/file", content="code: another")

    assert answer.json()["is_new"]
    assert (taken.status_code, "must be sample-of-others" in taken.text) == (422, True)


@pytest.mark.sampled
def test_a_copy_has_its_own_dates_and_classes(place: Place) -> None:
    code = place.finished(closes_at="2999-03-01T12:00")
    form = {
        "copy_source": code,
        "copy_title": "Birds 2",
        "copy_code": f"{code}-next",
        "copy_closes_at": "2998-05-01T12:00",
    }

    made = place.organiser.post(f"{NEW}/copies", data=form)
    past = place.organiser.post(
        f"{NEW}/copies", data={**form, "copy_code": f"{code}-past", "copy_closes_at": "2020-05-01T12:00"}
    )

    text = exported(place, f"{code}-next")
    assert made.status_code == 303, words(made.text)
    assert ("2998-05-01T12:00:00Z" in text, "2999-" in text, "classes: []" in text) == (True, False, True)
    assert (past.status_code, "must be in the future" in words(past.text)) == (422, True)


@pytest.mark.sampled
def test_a_time_in_another_zone_is_no_difference_once_it_is_applied(place: Place) -> None:
    code = place.finished(closes_at="2999-03-01T12:00")
    place.save(code, "open")

    file = f"{API}/{code}/file?apply=true"
    applied = place.organiser.put(file, content="rules: {closes_at: '2999-04-01T14:00+02:00'}").json()

    assert applied["differences"] == []
    assert "closes_at: '2999-04-01T12:00:00Z'" in exported(place, code)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("scoring:\n  own: all\n  ladder: true\n", "line 3, scoring.ladder: the ladder shows the primary figure"),
        ("rules:\n  terms: own\n  terms_text: ''\n", "line 3, rules.terms_text: write the terms"),
        ("rules:\n  per_week: 3\n  closes_at: 2020-05-01T12:00Z\n", "line 3, rules.closes_at: must be in the future"),
        (
            "questions:\n- {text: Runtime, kind: number}\n- {text: Runtime, kind: text}\n",
            "line 3, questions[2].text: stands there twice",
        ),
        (
            "tagline: New\nquestions: [" + "{text: Runtime, kind: number}, " * 21 + "]",
            "line 2, questions: may have at most 20 entries; found 21",
        ),
    ],
    ids=["ladder", "terms", "past", "questions", "many"],
)  # fmt: skip
def test_a_file_that_contradicts_itself_changes_nothing_of_an_open_challenge(
    place: Place, text: str, problem: str
) -> None:
    code = place.finished(closes_at="2999-03-01T12:00")
    place.save(code, "open")
    before = exported(place, code)

    answer = place.organiser.put(f"{API}/{code}/file?apply=true", content=text)

    assert (answer.status_code, problem in answer.text) == (422, True), answer.text
    assert exported(place, code) == before


def applications(place: Place, code: str) -> list[str]:
    """Which settings were changed by each file, as the audit has it."""
    is_it = Challenge.code == code, AuditRecord.action == "challenge.apply"
    with place.platform.transaction() as session:
        found = select(AuditRecord.details).join(Challenge, Challenge.id == AuditRecord.challenge_id)
        return [each["settings"] for each in session.scalars(found.where(*is_it))]


def test_a_file_says_and_records_only_what_it_changed(place: Place) -> None:
    code = place.finished(closes_at="2999-03-01T12:00")
    place.save(code, "open")
    file = f"{API}/{code}/file?apply=true"

    place.organiser.put(file, content="tagline: New\nquestions: [{text: Runtime, kind: number}]")
    partly = place.organiser.put(file, content="tagline: Newer\nquestions: []").json()

    assert ([each["where"] for each in partly["differences"]], partly["is_applied"]) == (["questions"], True)
    assert applications(place, code) == ["tagline, questions", "tagline"]


def test_a_file_for_an_archived_challenge_changes_nothing_and_says_so(place: Place) -> None:
    code = place.finished(closes_at="2999-03-01T12:00")
    place.save(code, "open")
    with place.platform.transaction() as session:
        session.execute(update(Challenge).where(Challenge.code == code).values(archived_at=func.now()))
    before = exported(place, code)

    answer = place.organiser.put(f"{API}/{code}/file?apply=true", content="tagline: New").json()
    compared = place.organiser.post(FILE, data={"text": f"code: {code}\ntagline: New"}).text
    seen = compared.split('name="seen" value="')[1].split('"')[0]
    page = words(place.organiser.post(FILE, data={"text": f"code: {code}\ntagline: New", "seen": seen}).text)

    assert (answer["is_applied"], "archived" in answer["differences"][0]["refusal"]) == (False, True)
    assert "Nothing was changed, because all settings that differ stay as they are" in page
    assert "The challenge was changed" not in page
    assert (exported(place, code), applications(place, code)) == (before, [])


@pytest.mark.sampled
def test_a_phase_that_a_file_names_is_compared_with_the_rules_that_hold(place: Place) -> None:
    code = place.finished()
    place.save(code, "open")
    text = "phases: {test: {disclosure: classes, quotas: [3/7, 2/7], closes_at: null}}"

    asked = place.organiser.put(f"{API}/{code}/file", content=text).json()
    applied = place.organiser.put(f"{API}/{code}/file?apply=true", content=text).json()
    again = place.organiser.put(f"{API}/{code}/file", content=text).json()

    assert [(each["where"], each["wanted"]) for each in asked["differences"]] == [
        ("phases.test.quotas", "2/7")
    ]
    assert (applied["is_applied"], applied["differences"], again["differences"]) == (True, [], [])
    assert "total: null" in exported(place, code)
