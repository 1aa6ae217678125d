"""Drafts of the release before, whose answers are JSON, go on: nothing that organisers chose is lost."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select, update

from app.challenges.phase_rules import PhaseRules
from app.intake import intakes, testing
from app.models import Challenge, ChallengeDraft, Intake, IntakeState, Phase
from app.organising import earlier_drafts
from tests.pages.data_sets import kit, zipped
from tests.pages.test_drafts import NEW, PAGE, Place, place
from tests.working import do_all

__all__ = ["place"]

CLOSES = datetime(2990, 1, 31, 12, tzinfo=UTC)
ANSWERS: dict[str, Any] = {
    "what": {"title": "Birds", "template": "voc", "tasks": ["detection"], "tracks": "two"},
    "check": {"sets": ["hidden-0"], "without_picture": 100},
    "scoring": {
        "protocol": "voc2007", "own": "mean", "ladder": True, "others": "frozen", "frozen_days": 7, "only_complete": True,
        "details_at_close": False,
    },
    "rules": {
        "opens_at": None, "closes_at": CLOSES.isoformat(), "per_day": 3, "per_week": None, "total": 12, "visibility": "by link",
        "invited": "", "image_licence": "CC0-1.0", "annotation_licence": "", "terms": "none", "terms_text": "",
        "approves_teams": False, "most_members": None, "saved_at": "2027-01-01T12:00:00Z",
    },
}  # fmt: skip


def earlier(place: Place, answers: dict[str, Any], *, is_made: bool = False) -> str:
    """A draft as the release before has left it, with a data set that was read."""
    code = place.draft()
    place.send(code, public=zipped(kit("val")), hidden=zipped(kit("test")))
    place.save(code, "page", **PAGE)
    with place.platform.transaction() as session:
        challenge = session.scalars(select(Challenge).where(Challenge.code == code)).one()
        if not is_made:
            testing.delete_truths(session, challenge.id)
            session.execute(
                update(Intake).where(Intake.challenge_id == challenge.id).values(state=IntakeState.READ)
            )
        draft = session.get_one(ChallengeDraft, challenge.id)
        draft.settings, draft.tasks, draft.tracks, draft.steps = answers, [], "one", []
        draft.changed_at = func.now() - timedelta(hours=1) if is_made else func.clock_timestamp()
    return code


def upgrade(place: Place, code: str) -> ChallengeDraft:
    """Let the sweeper and a worker do what they do."""
    for _ in range(2):
        earlier_drafts.take_over(place.platform)
        do_all(place.platform)
    with place.platform.transaction() as session:
        return session.scalars(select(ChallengeDraft).join(Challenge).where(Challenge.code == code)).one()


def test_the_answers_of_a_draft_without_phases_are_the_rules_of_its_phases(place: Place) -> None:
    code = earlier(place, ANSWERS)

    draft = upgrade(place, code)

    phases = place.phases(code)
    assert draft.settings == {}
    assert (draft.tracks, draft.opens_to.value, draft.image_licence) == ("two", "by link", "CC0-1.0")
    test = phases["test"]
    assert phases.keys() == {"test"}
    assert (test.protocol, test.disclosure.value, test.only_complete) == ("voc2007", "ladder", True)
    assert (test.closes_at, test.frozen_from) == (CLOSES, CLOSES - timedelta(days=7))
    assert [str(each) for each in test.quotas] == ["3 in 1 day", "12 in total"]
    assert "Open now…" in place.page(f"/organise/challenges/{code}")
    assert place.organiser.post(f"{NEW}/{code}/open").status_code == 303


def test_phases_that_were_made_of_the_answers_stay_as_organisers_have_left_them(place: Place) -> None:
    code = earlier(place, ANSWERS, is_made=True)
    before = {name: (each.id, PhaseRules.of(each)) for name, each in place.phases(code).items()}

    draft = upgrade(place, code)

    assert {name: (each.id, PhaseRules.of(each)) for name, each in place.phases(code).items()} == before
    assert draft.settings == {}
    assert {"check", "scoring", "rules"} <= {*draft.steps}


def test_rules_that_contradict_each_other_are_saved_again_by_organisers(place: Place) -> None:
    past = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    code = earlier(place, {**ANSWERS, "rules": {**ANSWERS["rules"], "closes_at": past}})

    draft = upgrade(place, code)

    assert draft.settings == {}
    assert not {"scoring", "rules"} & {*draft.steps}
    assert "Scoring and rules have to be saved again: the phase would close" in draft.refusal
    assert place.phases(code)["test"].closes_at is None


def test_answers_wait_for_the_data_set_and_for_nothing_that_was_saved_since(place: Place) -> None:
    code = place.draft()
    with place.platform.transaction() as session:
        draft = session.scalars(select(ChallengeDraft).join(Challenge).where(Challenge.code == code)).one()
        draft.settings = {each: ANSWERS[each] for each in ("what", "scoring", "rules")}
    earlier_drafts.take_over(place.platform)
    place.send(code, hidden=zipped(kit("test")))

    place.save(code, "scoring", protocol="voc2012", disclosure="classes", others="live")
    upgrade(place, code)

    test = place.phases(code)["test"]
    assert (test.protocol, test.disclosure.value, test.closes_at) == ("voc2012", "classes", CLOSES)


def test_a_worker_that_was_asked_to_make_phases_by_the_release_before_makes_them(place: Place) -> None:
    code = earlier(place, ANSWERS)
    with place.platform.transaction() as session:
        intake = session.scalars(select(Intake).join(Challenge).where(Challenge.code == code)).one()
        intake.state, intake.request = (
            IntakeState.APPLYING,
            {"set": "hidden-0", "phase": "test", "made_of": {}},
        )
        intakes.add_job(session, intake)

    earlier_drafts.take_over(place.platform)  # which waits
    do_all(place.platform)
    draft = upgrade(place, code)

    assert draft.settings == {}
    with place.platform.transaction() as session:
        statement = select(Phase.image_set).join(Challenge).where(Challenge.code == code)
        assert session.scalars(statement).all() == ["test"]
    assert place.phases(code)["test"].disclosure.value == "ladder"
