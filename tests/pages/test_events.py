"""Events are recorded where they happen, once, in the transaction of what happened."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.orm import Session

import heldout_scoring
from app.boards import team_views
from app.challenges import news, terms
from app.challenges.phase_rules import PhaseRules
from app.challenges.terms import NewTerms
from app.core.errors import MalformedError, StorageDamagedError
from app.evaluation import rescoring
from app.evaluation.scoring import HANDLER
from app.jobs import attempts, heartbeats, queue
from app.models import (
    Approval,
    Board,
    Challenge,
    ClassScore,
    DamagedContent,
    Disclosure,
    Event,
    EventKey,
    EventKind,
    ExtraSlot,
    Heartbeat,
    Job,
    JobKind,
    Method,
    Phase,
    Queue,
    Result,
    ResultState,
    Run,
    RunState,
    Service,
    Submission,
    Team,
    Upload,
    UploadState,
)
from app.notifications import dates, reading
from app.operations import alarms
from app.organising import approvals
from app.organising.approvals import ApprovalRule, Suspension, TeamRefusal
from app.people import invitations
from app.people.invitations import NewTeamLink
from app.people.teams import NewTeam
from app.platform import Platform
from app.results import cancelling, recording, withdrawing
from app.submissions import checking, methods, quotas
from app.submissions.quotas import NewSlots
from tests.confirming import confirm_rescores
from tests.pages.people_told import Scene, scene
from tests.pages.statements import asked
from tests.patience import LIMIT
from tests.system.rows import end_run
from tests.system.servers import eventually
from tests.working import do_all

TASK = "(Detection, given data)"
OUTCOMES = (EventKind.SCORED, EventKind.REFUSED, EventKind.FAILED)


@pytest.fixture
def people(platform: Platform) -> Scene:
    return scene(platform)


def recorded(people: Scene, *kinds: EventKind) -> list[Event]:
    """The events of the challenge, oldest first."""
    statement = select(Event).where(
        Event.challenge_id == people.challenge_id, Event.kind.in_(kinds or EventKind)
    )
    with people.platform.transaction() as session:
        return list(session.scalars(statement.order_by(Event.id)))


def kinds(people: Scene) -> list[EventKind]:
    return [event.kind for event in recorded(people)]


def submission_of(people: Scene, count: int) -> list[int]:
    """The results of a new submission in so many competitions, each with a queued run."""
    first = people.rows.result()
    with people.platform.transaction() as session:
        result = session.get_one(Result, first)
        found = [first]
        for competition in range(4, 3 + count):
            board = session.get_one(Board, (people.rows.phase_id, people.rows.competition))
            if session.get(Board, (people.rows.phase_id, competition)) is None:
                session.add(
                    Board(
                        phase_id=people.rows.phase_id,
                        competition=competition,
                        protocol=board.protocol,
                        ground_truth_id=board.ground_truth_id,
                        scorer=heldout_scoring.SCORER,
                    )
                )
            other = Result(
                submission_id=result.submission_id,
                method_id=result.method_id,
                phase_id=result.phase_id,
                competition=competition,
            )
            session.add(other)
            session.flush()
            run = Run(
                result_id=other.id,
                ground_truth_id=board.ground_truth_id,
                protocol=board.protocol,
                scorer=board.scorer,
                team_id=people.rows.team_id,
            )
            session.add(run)
            session.flush()
            queue.add_runs(session, [run.id])
            found.append(other.id)
    return found


def end(people: Scene, result_id: int, state: RunState) -> None:
    """End the run of a result as a worker does."""
    with people.platform.transaction() as session:
        end_in(session, people, result_id, state)


def end_in(session: Session, people: Scene, result_id: int, state: RunState) -> None:
    run_id = people.rows.run_of(result_id)
    end_run(session, run_id, state, 0.5 if state is RunState.SCORED else None)
    recording.record_result(session, result_id, run_id)


@pytest.mark.parametrize(
    ("states", "kind"),
    [
        ((RunState.SCORED,) * 3, EventKind.SCORED),
        ((RunState.SCORED, RunState.REFUSED, RunState.SCORED), EventKind.REFUSED),
        ((RunState.FAILED, RunState.REFUSED, RunState.SCORED), EventKind.FAILED),
    ],
)
def test_a_submission_is_told_of_once_when_its_last_run_has_ended(
    people: Scene, states: tuple[RunState, ...], kind: EventKind
) -> None:
    found = submission_of(people, 3)

    for count, (result_id, state) in enumerate(zip(found, states, strict=True), 1):
        end(people, result_id, state)
        assert len(recorded(people, *OUTCOMES)) == (count == 3)

    [event] = recorded(people, *OUTCOMES)
    assert (event.kind, event.team_id) == (kind, people.rows.team_id)


def test_of_two_runs_that_end_at_the_same_time_the_second_records_the_outcome(people: Scene) -> None:
    first, second = submission_of(people, 2)

    with ThreadPoolExecutor() as together, people.platform.transaction() as session:
        end_in(session, people, first, RunState.SCORED)
        other = together.submit(end, people, second, RunState.SCORED)
        assert eventually(lambda: other.done() or people.rows.somebody_waits_for_a_lock())
        session.commit()
        other.result(LIMIT)

    assert [event.kind for event in recorded(people, *OUTCOMES)] == [EventKind.SCORED]


def test_cancelling_what_waits_ends_a_submission_whose_other_results_are_scored(people: Scene) -> None:
    scored, _ = submission_of(people, 2)
    end(people, scored, RunState.SCORED)
    nothing = submission_of(people, 1)[0]
    with people.platform.transaction() as session:
        both = [session.get_one(Result, each).submission_id for each in (scored, nothing)]

    for submission in both:
        cancelling.cancel(people.platform, people.actor("member"), submission)

    assert [event.details["submission"] for event in recorded(people, *OUTCOMES)] == both[:1]


def test_failed_runs_are_told_to_organisers_once_an_hour(people: Scene) -> None:
    for _ in range(3):
        end(people, people.rows.result(), RunState.FAILED)

    assert len(recorded(people, EventKind.RUNS_FAILED)) == 1
    assert len(recorded(people, EventKind.FAILED)) == 3


def test_nothing_is_told_of_what_was_rolled_back(people: Scene) -> None:
    result_id = people.rows.result()
    run_id = people.rows.run_of(result_id)
    with people.platform.transaction() as session:
        end_run(session, run_id, RunState.SCORED, 0.5)
        recording.record_result(session, result_id, run_id)
        session.flush()
        session.rollback()

    assert kinds(people) == []


# re-scoring


@pytest.mark.sampled
@pytest.mark.parametrize("disclosure", Disclosure)
def test_a_rescoring_tells_the_teams_whose_visible_scores_it_changes(
    people: Scene, disclosure: Disclosure
) -> None:
    """One team's mean changes visibly, another's only in digits that a held-out phase hides, and no rank does."""
    people.disclose(disclosure)
    other, same, of_class = (people.rows.other_team() for _ in range(3))
    changes = {people.rows.team_id: (0.5, 0.6), other: (0.4, 0.40001), same: (0.3, 0.3), of_class: (0.2, 0.2)}
    results = {
        people.rows.result(mean=before, team_id=team): (team, after)
        for team, (before, after) in changes.items()
    }
    for result_id, (team, _) in results.items():
        add_class(people, people.rows.run_of(result_id), 0.2)
        assert team
    with asked(people.platform) as statements:
        rescoring.rescore_phase(people.platform, None, people.rows.phase_id)
        for result_id, (team, after) in results.items():
            run = people.rows.run_of(result_id)
            people.rows.end(run, RunState.SCORED, after)
            add_class(people, run, 0.3 if team == of_class else 0.2)
        confirm_rescores(people.platform)
        rescoring.activate_complete(people.platform)

    told = {event.team_id for event in recorded(people, EventKind.RESCORED)}
    expected = {
        Disclosure.FULL: {people.rows.team_id, other, of_class},
        Disclosure.CLASSES: {people.rows.team_id, of_class},
        Disclosure.MEAN: {people.rows.team_id},
        Disclosure.LADDER: {people.rows.team_id},
        Disclosure.AT_CLOSE: set(),
    }
    assert told == expected[disclosure]
    assert (
        len([each for each in statements if "INSERT INTO event " in each]) <= 3
    )  # this, that the truth is in use, and archives that it outdates
    assert [event.details["is_shown"] for event in recorded(people, EventKind.TRUTH_READY)] == [True]
    assert recorded(people, EventKind.FAILED, EventKind.REFUSED) == []


def add_class(people: Scene, run_id: int, value: float) -> None:
    with people.platform.transaction() as session:
        session.add(
            ClassScore(run_id=run_id, class_name="cat", position=1, value=value, held_out_value=value)
        )


def said(people: Scene) -> list[str]:
    """What the member is told of submissions now, oldest first."""
    do_all(people.platform, Queue.MAIL)
    page = reading.notifications(people.platform, people.actor("member")).notifications
    return [each.sentence for each in reversed(page) if each.kind in OUTCOMES]


def rescored(people: Scene, result_id: int, mean: float) -> None:
    """Score the whole phase again, and switch its boards."""
    rescoring.rescore_phase(people.platform, None, people.rows.phase_id)
    people.rows.end(people.rows.run_of(result_id), RunState.SCORED, mean)
    confirm_rescores(people.platform)
    rescoring.activate_complete(people.platform)
    assert people.rows.standing() == {result_id: mean}


def test_a_score_that_was_told_stays_the_same_after_a_rescoring_and_is_hidden_with_its_phase(
    people: Scene,
) -> None:
    people.disclose(Disclosure.MEAN)
    result_id = people.rows.result(mean=0.527)
    before = said(people)

    rescored(people, result_id, 0.513)

    assert before == said(people)
    assert before[0].endswith("scored 52.7%")
    for disclosure, is_shown in (
        (Disclosure.AT_CLOSE, False),
        (Disclosure.LADDER, True),
        (Disclosure.FULL, True),
    ):
        people.disclose(disclosure)
        assert [("52.7%" in each, "51.3%" in each) for each in said(people)] == [(is_shown, False)]


def test_of_a_result_that_was_withdrawn_nothing_else_is_told_any_more(people: Scene) -> None:
    people.disclose(Disclosure.FULL)
    result_id = people.rows.result(mean=0.527, is_public=False)
    assert "52.7%" in said(people)[0]

    withdrawing.withdraw(people.platform, people.actor("member"), result_id, None)

    assert [each.rpartition(", ")[2] for each in said(people)] == ["withdrawn"]


def test_an_event_of_an_earlier_release_tells_no_score_that_could_change(people: Scene) -> None:
    people.disclose(Disclosure.FULL)
    result_id = people.rows.result(mean=0.527)
    with people.platform.transaction() as session:
        session.execute(text("UPDATE event SET details = details - 'runs'"))
    before = said(people)

    rescored(people, result_id, 0.513)

    assert before == said(people)
    assert before[0].endswith(", scored")


def test_a_failure_that_was_told_stays_one_after_the_submission_was_scored(people: Scene) -> None:
    people.disclose(Disclosure.FULL)
    [result_id] = submission_of(people, 1)
    end(people, result_id, RunState.FAILED)
    before = said(people)

    rescoring.rescore_one_result(people.platform, people.actor("organiser"), result_id)
    end(people, result_id, RunState.SCORED)

    failed, scored = said(people)
    assert before == [failed]
    assert "failed because of an error of the server" in failed
    assert scored.endswith("scored 50.0%")


# what organisers do


def decided(people: Scene, kind: EventKind) -> list[str]:
    """What the member is told of a kind, oldest first; nobody else is told."""
    do_all(people.platform, Queue.MAIL)
    page = reading.notifications(people.platform, people.actor("member")).notifications
    assert people.told(kind) == ({"member"} if page else set())
    return [each.sentence for each in reversed(page) if each.kind is kind]


def method_of(people: Scene, result_id: int) -> tuple[int, str]:
    """The method of a result, and its name."""
    with people.platform.transaction() as session:
        method = session.get_one(Method, session.get_one(Result, result_id).method_id)
        return method.id, method.name


def test_a_team_is_told_what_organisers_do_to_its_results_and_why(people: Scene) -> None:
    organiser, where = people.actor("organiser"), f"in {code(people)}, test"
    waiting, scored = people.rows.result(), people.rows.result(mean=0.5)
    method, name = method_of(people, scored)

    with pytest.raises(MalformedError, match="say why"):
        cancelling.cancel_for_team(people.platform, organiser, waiting, " ")
    cancelling.cancel_for_team(people.platform, organiser, waiting, "a wrong phase")
    methods.hide(people.platform, organiser, method, "two in one")
    methods.show(people.platform, organiser, method)
    withdrawing.withdraw(people.platform, organiser, scored, "a wrong team")

    assert decided(people, EventKind.DECISION) == [
        f"The organisers cancelled {method_of(people, waiting)[1]} {TASK} {where}: a wrong phase",
        f"The organisers hid {name} in {code(people)}: two in one",
        f"The organisers showed {name} again in {code(people)}",
        f"The organisers withdrew {name} {TASK} {where}: a wrong team",
    ]


def test_cancelling_the_last_result_for_a_team_ends_its_submission(people: Scene) -> None:
    scored, waiting = submission_of(people, 2)
    end(people, scored, RunState.SCORED)

    cancelling.cancel_for_team(people.platform, people.actor("organiser"), waiting, "a wrong task")

    assert len(recorded(people, EventKind.SCORED)) == 1
    with people.platform.transaction() as session:
        result = session.get_one(Result, waiting)
        assert (result.state, result.withdraw_reason) == (ResultState.WITHDRAWN, "a wrong task")


def test_a_team_is_told_of_quota_that_is_given_back_and_of_extra_slots(people: Scene) -> None:
    organiser = people.actor("organiser")
    people.disclose(Disclosure.CLASSES)
    result_id = people.rows.result(mean=0.5)
    with people.platform.transaction() as session:
        team = session.get_one(Team, people.rows.team_id).name
    slots = NewSlots(team=team, task="detection", number=2, reason="an outage")

    cancelling.refund(people.platform, organiser, result_id, "a slow worker")
    quotas.grant(people.platform, organiser, people.rows.phase_id, slots)
    with people.platform.transaction() as session:
        newest = session.scalars(select(ExtraSlot.id).order_by(ExtraSlot.id.desc()).limit(1)).one()
    quotas.revoke_slot(people.platform, organiser, newest, "one too many")

    where = f"in {code(people)}, test"
    assert decided(people, EventKind.QUOTA) == [
        f"The organisers gave the quota of {method_of(people, result_id)[1]} {TASK} back {where}: a slow worker",
        f"The organisers granted 2 extra slots for detection {where}: an outage",
        f"The organisers revoked 1 extra slot for detection {where}: one too many",
    ]


def test_what_a_team_withdraws_or_cancels_itself_is_no_decision_of_organisers(people: Scene) -> None:
    waiting, scored = people.rows.result(), people.rows.result(mean=0.5, is_public=False)
    with people.platform.transaction() as session:
        submission = session.get_one(Result, waiting).submission_id

    cancelling.cancel(people.platform, people.actor("member"), submission)
    withdrawing.withdraw(people.platform, people.actor("member"), scored, "ours")

    assert recorded(people, EventKind.DECISION) == []


# storage, uploads, methods


def test_a_submission_that_waits_for_a_repair_is_told_of_once_for_all_its_runs(people: Scene) -> None:
    with people.platform.transaction() as session:
        session.execute(delete(Job))
    key = f"k{submission_of(people, 2)[0]}"
    with people.platform.transaction() as session:
        session.add(DamagedContent(store="archives", key=key, what="stored archive"))

    def fail(*_: object) -> None:
        raise StorageDamagedError(key)

    for _ in range(2):
        for _ in range(2):
            assert attempts.do_next(people.platform, Queue.RUNS, {JobKind.RUN: replace(HANDLER, work=fail)})
        with people.platform.transaction() as session:
            session.execute(update(Job).values(damaged_content_id=None, not_before=None))

    [event] = recorded(people, EventKind.WAITS)
    assert event.team_id == people.rows.team_id
    with people.platform.transaction() as session:
        session.execute(delete(Job))


def received(people: Scene, **values: object) -> Upload:
    with people.platform.transaction() as session:
        upload = Upload(
            phase_id=people.rows.phase_id,
            team_id=people.rows.team_id,
            user_id=people.people["member"],
            filename="a.zip",
            size=1,
            **values,
        )
        session.add(upload)
    return upload


@pytest.mark.parametrize("valid", [True, False])
def test_an_upload_with_problems_is_told_to_whoever_uploaded_it(
    people: Scene, monkeypatch: pytest.MonkeyPatch, *, valid: bool
) -> None:
    upload = received(people, state=UploadState.RECEIVED, sha256="0" * 64)
    monkeypatch.setattr(checking, "_report", lambda *_: {"valid": valid, "problems": []})

    for _ in range(2):
        checking._check(people.platform, upload.id)

    found = [(event.kind, event.user_id, event.details["filename"]) for event in recorded(people)]
    assert found == ([] if valid else [(EventKind.INVALID, people.people["member"], "a.zip")])


def publish(people: Scene) -> None:
    people.rows.result(mean=0.5, is_public=False)
    with people.platform.transaction() as session:
        method = session.scalars(select(Method).order_by(Method.id.desc()).limit(1)).one()
        method.description = "long enough " * 50
    for _ in range(2):
        methods.make_public(people.platform, people.actor("member"), method.id)


# teams, terms, dates


def code(people: Scene) -> str:
    with people.platform.transaction() as session:
        return session.get_one(Challenge, people.challenge_id).code


def make_team(people: Scene) -> None:
    for waits in (False, True):
        approvals.set_approval_rule(
            people.platform, people.actor("organiser"), code(people), ApprovalRule(approves_teams=waits)
        )
        actor = people.actor("visitor" if waits else "admin")
        team_views.create_team(people.platform, actor, code(people), NewTeam(name=f"Team {waits}"))


def approve(people: Scene) -> None:
    with people.platform.transaction() as session:
        session.get_one(Team, people.rows.team_id).approval = Approval.WAITING
    for _ in range(2):
        approvals.approve(people.platform, people.actor("organiser"), people.rows.team_id)


def refuse(people: Scene) -> None:
    approvals.refuse(people.platform, people.actor("organiser"), people.rows.team_id, TeamRefusal(reason="x"))


def suspend(people: Scene) -> None:
    organiser, team = people.actor("organiser"), people.rows.team_id
    approvals.suspend(people.platform, organiser, team, Suspension(reason="x"))
    approvals.lift(people.platform, organiser, team, TeamRefusal(reason="y"))


def invite(people: Scene) -> None:
    link = invitations.invite(people.platform, people.actor("member"), people.rows.team_id, NewTeamLink())
    team_views.accept_invitation(people.platform, people.actor("visitor"), link.token)


def set_terms(people: Scene) -> None:
    for words in ("Be fair to each other.", "Be fair to each other.", ""):
        terms.set_terms(people.platform, people.actor("organiser"), code(people), NewTerms(text=words))


def extend(people: Scene) -> None:
    with people.platform.transaction() as session:
        phase = session.get_one(Phase, people.rows.phase_id)
        later = replace(PhaseRules.of(phase), closes_at=datetime(2030, 1, 1, tzinfo=UTC))
        for _ in range(2):
            news.change_rules(session, phase, later)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (publish, [EventKind.SCORED, EventKind.PUBLISHED]),
        (make_team, [EventKind.TEAM_WAITS]),
        (approve, [EventKind.TEAM_APPROVED]),
        (refuse, [EventKind.TEAM_REFUSED]),
        (suspend, [EventKind.TEAM_SUSPENDED] * 2),
        (invite, [EventKind.INVITATION] * 2),
        (set_terms, [EventKind.TERMS_CHANGED] * 2),
        (extend, [EventKind.EXTENDED]),
    ],
)
def test_what_people_do_is_recorded_once(
    people: Scene, act: Callable[[Scene], None], expected: list[EventKind]
) -> None:
    act(people)

    assert kinds(people) == expected


# the calendar


def at(people: Scene, **dates_of: str) -> None:
    """Set dates of the phase relative to now, and let the calendar be looked at again."""
    with people.platform.transaction() as session:
        columns = ", ".join(f"{name} = now() + interval '{length}'" for name, length in dates_of.items())
        session.execute(text(f"UPDATE phase SET {columns} WHERE id = {people.rows.phase_id}"))
    look(people.platform)


def look(platform: Platform) -> None:
    with platform.transaction() as session:
        session.execute(delete(Heartbeat).where(Heartbeat.name == "dates of phases"))
    dates.record_dates(platform)


def test_a_phase_that_opens_and_closes_is_told_of_once_also_a_day_later(people: Scene) -> None:
    at(people, opens_at="1 hour", closes_at="9 days")
    assert kinds(people) == []
    for hours in (-1, -25):
        at(people, opens_at=f"{hours} hours")
        look(people.platform)
    assert kinds(people) == [EventKind.OPENED] * 2  # the date was another one
    at(people, opens_at="-9 days", closes_at="-10 minutes")
    look(people.platform)
    at(people, closes_at="-4 days")

    assert kinds(people) == [EventKind.OPENED] * 2 + [EventKind.CLOSED]


def test_teams_with_an_archive_they_did_not_submit_are_warned_three_days_and_a_day_before_the_deadline(
    people: Scene,
) -> None:
    checked = {"state": UploadState.CHECKED, "valid": True, "report": {}}
    waiting, rival, suspended = (
        received(people, **checked, checked_at=func.now() - timedelta(days=9)) for _ in range(3)
    )
    other, banned = people.rows.other_team(), people.rows.other_team()
    with people.platform.transaction() as session:
        session.get_one(Upload, rival.id).team_id = other
        session.get_one(Upload, suspended.id).team_id = banned
        session.get_one(Team, banned).suspended_at = func.now()
        session.get_one(Upload, waiting.id).checked_at = func.now()

    def warned() -> list[int | None]:
        return [event.team_id for event in recorded(people, EventKind.DEADLINE)]

    at(people, opens_at="-9 days", closes_at="4 days")
    assert warned() == []
    at(people, closes_at="2 days")
    look(people.platform)
    assert warned() == [other]  # this team's archive came later: it is at work on it
    with people.platform.transaction() as session:
        session.get_one(Upload, waiting.id).checked_at = func.now() - timedelta(days=2)
    at(people, closes_at="23 hours")
    look(people.platform)
    assert set(warned()[1:]) == {other, people.rows.team_id}
    assert len(warned()) == 3
    with people.platform.transaction() as session:
        method = Method(challenge_id=people.challenge_id, team_id=other, name="M", name_key=f"m{other}")
        session.add(method)
        session.flush()
        session.add(
            Submission(
                upload_id=rival.id,
                phase_id=people.rows.phase_id,
                method_id=method.id,
                user_id=people.people["member"],
                request_digest=b"",
                training={},
            )
        )
        session.execute(delete(EventKey))
    look(people.platform)
    assert warned()[3:] == [people.rows.team_id]
    at(people, closes_at="-1 minute")
    assert len(warned()) == 4


# what admins are told of


def test_admins_are_told_of_what_needs_their_attention_once(
    people: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = people.platform
    with platform.transaction() as session:
        session.execute(delete(Event))
        session.execute(delete(EventKey))
        session.execute(delete(Heartbeat))
        session.execute(delete(Job))
    monkeypatch.setattr(alarms, "disks", lambda _: {"storage": (9, 100), "scratch": (11, 100)})

    def told() -> list[tuple[EventKind, dict[str, object]]]:
        with platform.transaction() as session:
            session.execute(delete(Heartbeat).where(Heartbeat.name == "alarms"))
        alarms.record_alarms(platform)
        with platform.transaction() as session:
            found = [
                (event.kind, event.details) for event in session.scalars(select(Event).order_by(Event.id))
            ]
            session.execute(delete(Event))
        return found

    [(kind, details)] = told()
    assert (kind, details["place"], details["free"]) == (EventKind.STORAGE_LOW, "storage", 9)
    assert told() == []
    with platform.transaction() as session:
        for name, host in (
            ("gone:1", "20 minutes"),
            ("gone:2", "11 minutes"),
            ("back:1", "20 minutes"),
            ("back:2", "0"),
        ):
            heartbeats.write_heartbeat(session, name, Service.WORKER)
            session.execute(
                text(f"UPDATE heartbeat SET seen_at = now() - interval '{host}' WHERE name = :name"),
                {"name": name},
            )
        heartbeats.write_heartbeat(session, heartbeats.LAST_SWEEP, Service.SWEEPER)
        heartbeats.write_heartbeat(session, heartbeats.LAST_BACKUP, Service.SWEEPER)
    assert [(kind, details["host"]) for kind, details in told()] == [(EventKind.WORKER_AWAY, "gone")]
    with platform.transaction() as session:
        old = text(
            "UPDATE heartbeat SET seen_at = now() - interval '8 days' WHERE name IN ('backup', 'sweep')"
        )
        session.execute(old)
        job = Job(
            kind=JobKind.NOTIFICATION_MAIL, queue=Queue.MAIL, key="mail", postponements=4, error="refused"
        )
        job.queued_at = func.now() - timedelta(hours=1)
        session.add(job)
    found = told()
    assert {kind for kind, _ in found} == {EventKind.WORKER_AWAY, EventKind.BACKUP_OLD, EventKind.MAIL_FAILS}
    assert [details["error"] for kind, details in found if kind is EventKind.MAIL_FAILS] == ["refused"]
    assert told() == []
    with platform.transaction() as session:
        session.execute(delete(Job))
        session.execute(delete(Heartbeat))
