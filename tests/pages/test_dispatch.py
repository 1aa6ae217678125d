"""Events become notifications of everybody whom they concern, and of nobody else."""

import re
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update

from app.challenges import news
from app.challenges.news import NewAnnouncement
from app.jobs import events
from app.models import (
    ChallengeOrganiser,
    Event,
    EventKind,
    Job,
    JobKind,
    Member,
    Method,
    Notification,
    Submission,
    Team,
    Upload,
    User,
)
from app.notifications import dispatch, reading
from app.notifications.kinds import GONE, KINDS, Recipients
from app.platform import Platform
from tests.pages.people_told import Scene, scene
from tests.pages.statements import asked
from tests.shared import ROOT
from tests.working import do_all

TEAM, TEAMS = {"member"}, {"member", "other team"}
ORGANISERS, ADMINS = {"organiser", "co-organiser"}, {"admin"}
TOLD: dict[EventKind, set[str]] = {
    EventKind.SCORED: TEAM,
    EventKind.INVALID: TEAM,
    EventKind.REFUSED: TEAM,
    EventKind.FAILED: TEAM,
    EventKind.WAITS: TEAM,
    EventKind.RESCORED: TEAM,
    EventKind.UPLOAD_OUTDATED: TEAM,
    EventKind.PUBLISHED: TEAM,
    EventKind.DEADLINE: TEAM,
    EventKind.OPENED: TEAMS,
    EventKind.CLOSED: TEAMS,
    EventKind.EXTENDED: TEAMS,
    EventKind.ANNOUNCEMENT: TEAMS,
    EventKind.ANSWER: TEAM,
    EventKind.MESSAGE: TEAM,
    EventKind.INVITATION: TEAM,
    EventKind.TEAM_APPROVED: TEAM,
    EventKind.TEAM_REFUSED: TEAM,
    EventKind.TEAM_SUSPENDED: TEAM,
    EventKind.TERMS_CHANGED: TEAMS,
    EventKind.DECISION: TEAM,
    EventKind.QUOTA: TEAM,
    EventKind.HOOK_OFF: TEAM,
    EventKind.LABEL_ANSWER: TEAM,
    EventKind.QUESTION: ORGANISERS,
    EventKind.LABELS_REPORTED: ORGANISERS,
    EventKind.RUNS_FAILED: ORGANISERS,
    EventKind.TEAM_WAITS: ORGANISERS,
    EventKind.DATA_SET_READ: ORGANISERS,
    EventKind.TRUTH_READY: ORGANISERS,
    EventKind.PREVIEW: ORGANISERS,
    EventKind.OUTAGE: ORGANISERS,
    EventKind.DATA_SET_EXPIRES: ORGANISERS,
    EventKind.STORAGE_LOW: ADMINS,
    EventKind.BACKUP_OLD: ADMINS,
    EventKind.WORKER_AWAY: ADMINS,
    EventKind.INTAKE_KEY: ADMINS,
    EventKind.MAIL_FAILS: ADMINS,
}
AT = "2026-11-30T12:00:00+00:00"
INTAKE = "00000000-0000-4000-8000-000000000007"
SAID: dict[EventKind, tuple[dict[str, Any], str]] = {
    EventKind.INVALID: (
        {"upload": "{upload}", "filename": "a.zip"},
        "a.zip for {title}, test has problems; nothing was counted",
    ),
    EventKind.RESCORED: (
        {"results": 2, "ranks": 1},
        "A re-scoring of {title}, test changed 2 results and 1 rank of the team {team}",
    ),
    EventKind.UPLOAD_OUTDATED: (
        {"version": 2, "uploads": 1},
        (
            "Version 2 of the annotation of {title}, test is on the leaderboards, with other images or classes; a valid archive"
            " that is not submitted was checked by an earlier one and will be checked again"
        ),
    ),
    EventKind.PREVIEW: (
        {"version": 2, "rescore": 7, "state": "ready"},
        "The scores of {title}, test under version 2 of the ground truth are ready; look at the preview, and publish or discard them",
    ),
    EventKind.LABEL_ANSWER: ({"image": "a b"}, "The organisers of {title} closed your report of a b"),
    EventKind.OPENED: ({"at": AT}, "{title}, test opened on Mon 30 Nov 2026 12:00 UTC"),
    EventKind.CLOSED: ({"at": AT}, "{title}, test closed on Mon 30 Nov 2026 12:00 UTC"),
    EventKind.EXTENDED: (
        {"before": None, "after": AT},
        "The deadline of {title}, test is now Mon 30 Nov 2026 12:00 UTC; there was none",
    ),
    EventKind.ANNOUNCEMENT: ({"announcement": 10**9}, "{title}: an announcement that was deleted"),
    EventKind.ANSWER: (
        {"title": "Why?", "thread": 7, "path": "/threads/7#last"},
        "The organisers of {title} answered: Why?",
    ),
    EventKind.INVITATION: (
        {"has_joined": True},
        "Somebody joined the team {team} by an invitation ({title})",
    ),
    EventKind.TEAM_SUSPENDED: (
        {"is_suspended": False},
        "The suspension of the team {team} in {title} has ended",
    ),
    EventKind.TERMS_CHANGED: (
        {"version": 2, "has_text": True},
        "The terms of {title} changed; accept version 2 before you submit",
    ),
    EventKind.PUBLISHED: (
        {"method": "{method}"},
        "{method_name} of the team {team} is public now in {title}",
    ),
    EventKind.MESSAGE: (
        {"title": "Hello", "path": "/challenges/{title}/news"},
        "The organisers of {title} wrote: Hello",
    ),
    EventKind.DECISION: (
        {
            "done": "withdrew",
            "method": "{method}",
            "submission": "{submission}",
            "competition": "Detection",
            "reason": "a wrong team",
        },
        "The organisers withdrew {method_name} (Detection) in {title}, test: a wrong team",
    ),
    EventKind.QUOTA: (
        {"slots": 2, "task": "detection", "until": AT, "reason": "an outage"},
        "The organisers granted 2 extra slots for detection in {title}, test, until Mon 30 Nov 2026 12:00 UTC: an outage",
    ),
    EventKind.HOOK_OFF: (
        {"title": "chat", "path": "/teams/{team_id}"},
        "A webhook of {title} was turned off: chat",
    ),
    EventKind.QUESTION: (
        {"title": "Why?", "thread": 7, "path": "/threads/7#last"},
        "A question about {title}: Why?",
    ),
    EventKind.OUTAGE: (
        {"title": "uploads were unavailable for 9 minutes", "path": "/organise/phases/{phase}#outages"},
        "The service was unavailable near a deadline of {title}: uploads were unavailable for 9 minutes",
    ),
    EventKind.DATA_SET_READ: (
        {"intake": INTAKE, "problems": 3, "warnings": 1},
        "The data set of {title} was read: 3 problems and 1 warning",
    ),
    EventKind.TRUTH_READY: (
        {"version": 2, "is_shown": False},
        "Version 2 of the ground truth of {title}, test was imported; score the results again to use it",
    ),
    EventKind.DATA_SET_EXPIRES: (
        {"intake": INTAKE},
        "A data set of {title} was not touched for weeks and will be removed soon",
    ),
    EventKind.STORAGE_LOW: (
        {"host": "h", "place": "storage", "free": 1 << 30, "total": 100 << 30},
        "The disk of storage on h has 1 GiB (1%) left",
    ),
    EventKind.BACKUP_OLD: ({"last": None}, "No backup was ever taken"),
    EventKind.WORKER_AWAY: (
        {"host": "h", "since": AT},
        "The worker on h has not been seen since Mon 30 Nov 2026 12:00 UTC",
    ),
    EventKind.MAIL_FAILS: ({"error": "refused"}, "Mail cannot be sent: refused"),
}
MANY = 2000
OF_SUBMISSIONS = (EventKind.SCORED, EventKind.REFUSED, EventKind.FAILED, EventKind.WAITS)


@pytest.fixture(scope="module")
def people(platform: Platform) -> Scene:
    return scene(platform)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", EventKind)
def test_an_event_tells_whom_it_concerns_in_one_sentence(people: Scene, kind: EventKind) -> None:
    known, sentence = recorded(people, kind)

    assert people.told(kind) == TOLD[kind]
    for role in TOLD[kind]:
        newest = reading.notifications(people.platform, people.actor(role)).notifications[0]
        assert newest.kind is kind
        assert newest.sentence != GONE.sentence
        assert newest.path is not None or kind is EventKind.INVALID
        assert "None" not in newest.sentence
        assert not sentence or newest.sentence == sentence.format(**known)
        assert KINDS[kind].recipients is Recipients.ADMINS or known["title"] in newest.sentence


def recorded(people: Scene, kind: EventKind) -> tuple[dict[str, Any], str]:
    """Record an event of this kind; return what is known of its challenge, and the sentence that is expected, if one is."""
    details, sentence = SAID.get(kind, ({}, ""))
    known = facts_of(people)
    if kind in OF_SUBMISSIONS:
        details = {"submission": "{submission}"}
    people.record(kind, **{name: filled(value, known) for name, value in details.items()})
    return known, sentence


def filled(value: object, known: dict[str, Any]) -> Any:
    """A detail with the names and numbers of the challenge."""
    if not isinstance(value, str):
        return value
    return known.get(value.strip("{}"), value.format(**known))


def facts_of(people: Scene) -> dict[str, Any]:
    """Names and numbers of the challenge; a method with a submission is made first."""
    result_id = people.rows.result()
    with people.platform.transaction() as session:
        submission = session.scalars(select(Submission).order_by(Submission.id.desc()).limit(1)).one()
        upload = session.get_one(Upload, submission.upload_id)
        team = session.get_one(Team, people.rows.team_id)
        title = team.name  # the rows name a challenge and its first team alike
        return {
            "result": result_id,
            "submission": submission.id,
            "method": submission.method_id,
            "method_name": session.get_one(Method, submission.method_id).name,
            "phase": people.rows.phase_id,
            "team_id": people.rows.team_id,
            "upload": str(upload.id),
            "team": team.name,
            "title": title,
        }


def test_an_announcement_reaches_the_members_of_all_teams_once(people: Scene) -> None:
    with people.platform.transaction() as session:
        code = session.scalars(select(Team.name).where(Team.id == people.rows.team_id)).one()
    news.publish(
        people.platform, people.actor("organiser"), code, NewAnnouncement(title="Late", text="One day.")
    )
    do_all(people.platform)
    do_all(people.platform)

    page = reading.notifications(people.platform, people.actor("member")).notifications
    assert [each.sentence for each in page].count(f"{code}: Late") == 1


def test_an_event_for_one_person_reaches_nobody_else_and_nobody_is_told_what_they_did(
    platform: Platform,
) -> None:
    people = scene(platform)
    mate = people.people["visitor"]
    with platform.transaction() as session:
        session.add(Member(team_id=people.rows.team_id, user_id=mate, challenge_id=people.challenge_id))

    people.record(EventKind.INVALID, user_id=mate, upload="x", filename="x")
    people.record(EventKind.INVITATION, by=people.people["member"], has_joined=False)

    assert people.told(EventKind.INVALID) == {"visitor"}
    assert people.told(EventKind.INVITATION) == {"visitor"}


def test_admins_are_told_in_place_of_organisers_if_a_challenge_has_none(platform: Platform) -> None:
    people = scene(platform)
    with platform.transaction() as session:
        session.execute(
            delete(ChallengeOrganiser).where(ChallengeOrganiser.challenge_id == people.challenge_id)
        )

    people.record(EventKind.TEAM_WAITS)

    assert people.told(EventKind.TEAM_WAITS) == {"admin"}


def test_whoever_left_the_team_reads_nothing_of_it_any_more(platform: Platform) -> None:
    people = scene(platform)
    people.record(EventKind.TEAM_APPROVED)
    people.record(EventKind.OPENED)
    with platform.transaction() as session:
        session.execute(delete(Member).where(Member.user_id == people.people["member"]))

    page = reading.notifications(platform, people.actor("member")).notifications

    assert [each.sentence == GONE.sentence for each in page] == [False, True]  # that a phase opened is public
    assert page[1].path is None


def test_two_thousand_events_are_recorded_in_one_statement_and_told_in_a_few(platform: Platform) -> None:
    people = scene(platform)
    many = func.generate_series(1, MANY).table_valued("n")
    rows = select(
        Team.challenge_id, Team.id.label("team_id"), func.jsonb_build_object().label("details")
    ).select_from(Team).join(many, Team.id == people.rows.team_id)  # fmt: skip
    before = jobs(platform)

    with asked(platform) as recorded, platform.transaction() as session:
        assert events.record_each(session, EventKind.TEAM_APPROVED, rows) == MANY
    with asked(platform) as told:
        dispatch.dispatch(platform, {})

    assert len([each for each in recorded if "event" in each]) == 1
    assert jobs(platform) == before + 1
    assert len(told) < 6 * MANY / dispatch.BATCH + 10
    with platform.transaction() as session:
        own = Notification.user_id == people.people["member"]
        assert session.scalar(select(func.count()).where(own)) == MANY
        session.execute(delete(Event).where(Event.challenge_id == people.challenge_id))


def jobs(platform: Platform) -> int:
    with platform.transaction() as session:
        return session.scalar(select(func.count()).where(Job.kind == JobKind.NOTIFY)) or 0


def test_an_event_with_a_key_is_recorded_once(platform: Platform) -> None:
    people = scene(platform)
    where = {"challenge_id": people.challenge_id, "phase_id": people.rows.phase_id}

    for key in ("first", "second", "first"):
        with platform.transaction() as session:
            events.record_once(session, f"{key}/{people.challenge_id}", EventKind.OPENED, **where, at=AT)
    do_all(platform)

    page = reading.notifications(platform, people.actor("member")).notifications
    assert [each.kind for each in page] == [EventKind.OPENED] * 2


def test_deleted_people_are_told_nothing(platform: Platform) -> None:
    people = scene(platform)
    with platform.transaction() as session:
        gone = update(User).where(User.id == people.people["member"])
        session.execute(gone.values(deleted_at=func.now(), verified_at=None))

    people.record(EventKind.OPENED, at=AT)

    assert people.told(EventKind.OPENED) == {"other team"}


def test_the_documentation_lists_every_kind() -> None:
    text = (ROOT / "docs" / "notifications.md").read_text()
    rows = re.findall(r"^\| (.+?) \| `(.+?)` \| (.+?) \| (yes|no) \|$", text, re.MULTILINE)

    assert rows == [
        (row.title, kind.value, row.recipients.value, "yes" if row.by_mail else "no")
        for kind, row in KINDS.items()
        if row.is_chosen
    ]
    assert set(KINDS) == set(EventKind) == set(TOLD)
