"""Try it now: visitors have the server submit an archive of its own, and learn its score and nothing else. And the sample's dates."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

import sample
from app.challenges import challenges
from app.core.access import TRIED
from app.core.errors import NotFoundError
from app.home import trying
from app.home.trying import legible
from app.images.drawing import DrawnPrediction
from app.images.viewer import Mark
from app.intake.importing import TreeImport, import_tree
from app.models import (
    AuditRecord,
    Challenge,
    ChallengeVisibility,
    Disclosure,
    Heartbeat,
    Method,
    Phase,
    Publication,
    Queue,
    Quota,
    Result,
    Run,
    Submission,
    Team,
    Upload,
)
from app.operations.sample_dates import CLOSES, OPENED, QUOTAS, submitted_days_ago, take_back_in_time
from app.operations.sampling import SETS, SHORTEST_DESCRIPTION, copy_for_trying, submit
from app.people import accounts
from app.platform import PREPARING, Platform
from sample import texts
from tests.pages.conftest import Browser
from tests.second_factors import token_of_admin
from tests.working import do_all


@pytest.fixture(scope="module")
def drawn(app: FastAPI, platform: Platform) -> TestClient:
    """A small sample with two methods on its boards, and everything that visitors need to try it. Returns an admin's client."""
    folder = platform.settings.data / trying.SAMPLE
    tree = sample.draw_challenge(folder, images=45, sets=tuple(SETS)).tree
    for image_set, disclosure in SETS.items():
        quotas = () if disclosure is Disclosure.FULL else (Quota(100, 7),)
        import_tree(
            platform,
            TreeImport(
                tree, trying.SAMPLE, image_set, protocol="voc2012", disclosure=disclosure, quotas=quotas
            ),
        )
    with platform.transaction() as session:
        session.execute(update(Challenge).values(shortest_description=SHORTEST_DESCRIPTION))
    copy_for_trying(platform, tree)
    sample.draw_results(tree, folder / "results", image_set="val", methods=(sample.TRYING,))
    accounts.create_program_token(platform, trying.ACCOUNT, "Lantern Lab (made up)")
    token = token_of_admin(platform, "drawer@example.org", "Drawer")
    client = TestClient(app, headers={"Authorization": f"Bearer {token}"})
    for image_set in SETS:
        for result in sample.draw_results(
            tree, folder / "results", image_set=image_set, methods=(sample.METHODS[0], sample.METHODS[2])
        ):
            submit(client, trying.SAMPLE, (result,))
    do_all(platform, Queue.RUNS)
    return client


@pytest.fixture
def sampled(drawn: TestClient, platform: Platform) -> Iterator[TestClient]:
    """The same, without test runs before and after."""
    yield drawn
    do_all(platform, Queue.RUNS)
    delete_all(platform)


def delete_all(platform: Platform) -> None:
    with platform.transaction() as session:
        session.execute(update(Upload).values(started_at=Upload.started_at - timedelta(hours=25)))
        session.execute(
            update(Heartbeat)
            .where(Heartbeat.name == "tried")
            .values(seen_at=datetime(2020, 1, 1, tzinfo=UTC))
        )
    trying.delete_old(platform)


def count(platform: Platform, table: type[Upload] | type[Submission] | type[Team] | type[Publication]) -> int:
    """How many rows belong to the copy."""
    with platform.transaction() as session:
        phases = select(Phase.id).join(Phase.challenge).where(Challenge.code == TRIED)
        if table is Team:
            where = Team.challenge_id == select(Challenge.id).where(Challenge.code == TRIED).scalar_subquery()
        else:
            where = table.phase_id.in_(phases)  # type: ignore[union-attr]
        return session.scalar(select(func.count()).select_from(table).where(where)) or 0


def test_a_visitor_follows_an_archive_to_its_score(
    sampled: TestClient, platform: Platform, browser: Browser
) -> None:
    visitor = browser()
    offered = visitor.get("/challenges/sample").text
    before = visitor.get("/try").text

    pressed = visitor.post("/try")
    waiting = visitor.get(pressed.headers["location"]).text
    do_all(platform, Queue.RUNS)
    scored = visitor.get(pressed.headers["location"]).text

    assert 'action="/try"' in offered
    assert "Try it now</button>" in before
    assert (pressed.status_code, pressed.headers["location"]) == (303, "/try?newest=1")
    assert "It waits for a worker" in waiting
    assert 'hx-get="/try?newest=1"' in waiting
    assert "That would be place" in scored
    assert "Precision-recall curve" in scored
    assert "hx-get" not in scored
    assert {*sample.CLASSES} <= set(re.findall(r'<th scope="row">\s*(\w+)', scored))


@pytest.mark.sampled
def test_visitors_see_what_the_archive_says_of_an_image_while_they_may_see_it(
    sampled: TestClient, platform: Platform, browser: Browser
) -> None:
    do_all(platform)
    drawn = trying.illustration(platform)
    page = browser().get("/try").text
    with platform.transaction() as session:
        phase = session.scalars(
            select(Phase)
            .join(Phase.challenge)
            .where(Challenge.code == trying.SAMPLE, Phase.image_set == trying.IMAGE_SET)
        ).one()
        phase.quotas, phase.disclosure = (Quota(1, 7),), Disclosure.CLASSES
    hidden = trying.illustration(platform)
    with platform.transaction() as session:
        session.execute(update(Phase).where(Phase.id == phase.id).values(disclosure=Disclosure.FULL))

    assert drawn is not None
    assert drawn.panels[-1].title == trying.METHOD
    assert {mark.kind for mark in drawn.panels[-1].marks} <= {"hit", "false", "other"}
    assert all(mark.label in {*sample.CLASSES, ""} for mark in drawn.panels[-1].marks)
    assert page.count('<g class="mark') == len(drawn.panels[-1].marks) > 2
    assert hidden is None


def test_a_label_that_would_lie_on_another_is_left_out() -> None:
    places = ((10.0, 20.0), (30.0, 24.0), (30.0, 60.0), (380.0, 20.0), (390.0, 22.0))

    labels = [mark.label for mark in legible([Mark("hit", *at, 40, 40, "boat") for at in places], 400)]

    assert labels == ["boat", "", "boat", "boat", ""]


def test_a_prediction_is_right_if_it_is_the_first_to_cover_half_of_an_object_of_its_class() -> None:
    truth = [Mark("truth", 0, 0, 100, 100, "boat"), Mark("truth hard", 200, 0, 100, 100, "boat")]
    boxes = {
        "boat": ((0, 0, 100, 60), (0, 0, 100, 100), (210, 0, 300, 100), (0, 0, 100, 40)),
        "kite": ((0, 0, 100, 100),),
    }
    found = [DrawnPrediction(name, 0.5, box) for name, each in boxes.items() for box in each]

    assert [each.outcome for each in trying.matched_with(found, truth)] == [1, 0, -1, 0, 0]


@pytest.mark.sampled
def test_what_visitors_try_is_on_no_board_and_seen_nowhere_else(
    sampled: TestClient, platform: Platform, browser: Browser
) -> None:
    visitor = browser()
    visitor.post("/try")
    do_all(platform, Queue.RUNS)

    with platform.transaction() as session:
        number = session.scalars(select(func.max(Submission.id))).one()
    board = visitor.get("/api/v1/leaderboards/sample/val/3").json()
    assert trying.METHOD not in [row["method"] for row in board["rows"]]
    for path in (
        "/",
        "/challenges",
        "/leaderboards",
        "/challenges/sample",
        "/find?q=WindowShopper",
        "/api/v1/home",
    ):
        page = visitor.get(path).text
        assert TRIED not in page
        assert f"/submissions/{number}" not in page
    for path in (f"/submissions/{number}", f"/challenges/{TRIED}", f"/api/v1/submissions/{number}"):
        assert visitor.get(path).status_code == 404


def test_no_list_offers_anybody_what_visitors_try(sampled: TestClient, platform: Platform) -> None:
    token = token_of_admin(platform, "lister@example.org", "Lister")
    admin = TestClient(sampled.app, headers={"Authorization": f"Bearer {token}"})

    offered = [
        admin.get(path).text
        for path in ("/submissions", "/uploads", "/challenges", "/organise", "/find?q=sample")
    ]
    overview = admin.get("/admin").text

    assert f"/challenges/{trying.SAMPLE}/test/submit" in offered[0]
    assert [TRIED in page or "what visitors try" in page for page in offered] == [False] * len(offered)
    assert "1 challenge ·" in overview


def test_one_archive_is_on_its_way_at_a_time(
    sampled: TestClient, platform: Platform, browser: Browser
) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: browser().post("/try").status_code, range(16)))

    assert {*answers} == {303}
    assert (count(platform, Upload), count(platform, Submission)) == (1, 1)


def test_a_visitor_who_has_started_nothing_is_offered_a_run_and_not_shown_that_of_another(
    sampled: TestClient, platform: Platform, browser: Browser
) -> None:
    browser().post("/try")
    do_all(platform, Queue.RUNS)

    page = browser().get("/try").text

    assert "Try it now</button>" in page
    assert "That would be place" not in page
    assert '<a href="/try?newest=1">See the newest run of any visitor</a>' in page


@pytest.mark.sampled
def test_a_minute_has_six(sampled: TestClient, platform: Platform, browser: Browser) -> None:
    for _ in range(trying.MOST_A_MINUTE + 2):
        browser().post("/try")
        do_all(platform, Queue.RUNS)

    assert count(platform, Submission) == trying.MOST_A_MINUTE
    assert "That would be place" in browser().get("/try?newest=1").text


def test_test_runs_are_deleted_after_a_day_with_everything_that_they_left(
    sampled: TestClient, platform: Platform, browser: Browser
) -> None:
    browser().post("/try")
    do_all(platform, Queue.RUNS)
    with platform.transaction() as session:
        session.execute(
            update(Heartbeat)
            .where(Heartbeat.name == "tried")
            .values(seen_at=datetime(2020, 1, 1, tzinfo=UTC))
        )
    trying.delete_old(platform)
    young = count(platform, Submission)
    on_boards = sampled.get("/api/v1/leaderboards/sample/val/3").json()["rows"]

    delete_all(platform)

    assert young == 1
    assert [count(platform, each) for each in (Upload, Submission, Publication, Team)] == [0] * 4
    assert sampled.get("/api/v1/leaderboards/sample/val/3").json()["rows"] == on_boards
    browser().post("/try")
    assert count(platform, Submission) == 1


def test_it_is_offered_only_if_the_operator_leaves_it_on(
    sampled: TestClient, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = replace(platform, settings=platform.settings.model_copy(update={"try_it_now": False}))

    assert trying.is_offered(platform)
    assert not trying.is_offered(platform, "VOC2007")
    assert not trying.is_offered(off)
    for operation in (trying.submit, trying.newest):
        with pytest.raises(NotFoundError):
            operation(off)


@pytest.mark.parametrize(("code", "usual"), [(TRIED, "DRAFT"), (trying.SAMPLE, "LISTED")])
def test_nothing_is_tried_once_the_copy_is_no_draft_or_visitors_do_not_see_the_sample(
    sampled: TestClient, platform: Platform, browser: Browser, code: str, usual: str
) -> None:
    def show(visibility: ChallengeVisibility) -> None:
        with platform.transaction() as session:
            session.execute(update(Challenge).where(Challenge.code == code).values(visibility=visibility))

    show(ChallengeVisibility.INVITED)
    try:
        assert browser().post("/try").status_code == browser().get("/try").status_code == 404
        platform.cache.expire_versions()
        hidden = browser().get("/").text
        delete_all(platform)
    finally:
        show(ChallengeVisibility[usual])
        platform.cache.expire_versions()
    assert count(platform, Upload) == 0
    assert browser().get("/try").status_code == 200
    assert 'action="/try"' not in hidden
    assert 'action="/try"' in browser().get("/").text


def test_pages_say_how_far_the_sample_is_until_it_is_complete(platform: Platform, browser: Browser) -> None:
    file = platform.settings.data / PREPARING
    file.write_text("3 of 60 results are scored")
    during = browser().get("/challenges").text
    file.unlink()
    platform.cache.expire_versions()

    assert "being prepared for the first time: 3 of 60 results are scored" in during
    assert "being prepared" not in browser().get("/challenges").text


def test_methods_are_submitted_within_the_quotas_while_phases_are_open() -> None:
    days = {name: [submitted_days_ago(each, name) for each in sample.METHODS] for name in SETS}

    assert days["val"] == sorted((each.days for each in sample.METHODS), reverse=True)
    assert [each for each in days["test"] if each is not None] == sorted(
        map(float, filter(None, days["test"])), reverse=True
    )
    assert all(each is None or 16.0 < each < 36.0 for each in days["pilot"])
    for team in sample.TEAMS[1:]:
        for task in (1, 3, 5, 7, 9):
            moments = sorted(
                submitted_days_ago(each, "test") or 0.0
                for each in sample.METHODS
                if each.team is team
                for number in each.competitions
                if number in (task, task + 1)
            )
            assert all(later - moment > 7 for moment, later in zip(moments, moments[3:], strict=False))


def test_announcements_of_the_sample_say_what_the_rules_of_its_phases_say() -> None:
    told = {title: (days, text) for days, title, text in texts.NEWS}
    (pilot, of_pilot), (test, of_test) = told["The pilot is open"], told["The test set is open"]

    assert (pilot, test) == (OPENED["pilot"], OPENED["test"])
    assert OPENED["pilot"] + CLOSES["pilot"] == 20
    assert (Quota(3, 7), Quota(30, None)) == QUOTAS
    assert "three results in seven days for each task, and thirty in total" in of_test
    assert all("afterwards with all their details" in each for each in (of_pilot, of_test))


def test_the_sample_is_told_as_if_it_had_happened_over_five_weeks(
    sampled: TestClient, platform: Platform
) -> None:
    before = {name: sampled.get(f"/api/v1/leaderboards/sample/{name}/3").json()["rows"] for name in SETS}

    take_back_in_time(platform)

    now = datetime.now(UTC)
    rows = sampled.get("/api/v1/leaderboards/sample/val/3").json()["rows"]
    assert [row["mean"] for row in rows] == [row["mean"] for row in before["val"]]
    with platform.transaction() as session:
        phases = {each.image_set: each for each in challenges.phases_of(session, "sample")}
        submission = (
            select(Submission.created_at)
            .join(Submission.phase)
            .where(Phase.image_set == "val", Phase.id == phases["val"].id)
        )
        published = select(func.max(Publication.published_at)).where(Publication.phase_id == phases["val"].id)
        scored = (
            select(func.max(Run.finished_at))
            .join(Result, Result.id == Run.result_id)
            .where(Result.phase_id == phases["val"].id)
        )
        first, last = min(session.scalars(submission)), max(session.scalars(submission))
        assert timedelta(0) <= session.scalars(published).one() - last < timedelta(minutes=10)
        finished = session.scalars(scored).one()
        assert finished is not None
        assert timedelta(0) <= finished - last < timedelta(minutes=10)
    assert abs(now - first - timedelta(days=sample.METHODS[0].days)) < timedelta(minutes=1)
    assert abs(now - last - timedelta(days=sample.METHODS[2].days)) < timedelta(minutes=1)
    assert {name: each.state.value for name, each in phases.items()} == {
        "pilot": "closed",
        "val": "open",
        "test": "open",
    }
    assert phases["test"].closes_at is not None
    assert timedelta(days=8) < phases["test"].closes_at - now < timedelta(days=10)
    assert phases["test"].quotas == QUOTAS
    assert phases["pilot"].details_at_close
    with platform.transaction() as session:
        [in_all] = session.scalars(select(Challenge).where(Challenge.code == "sample"))
        of_sample = select(AuditRecord).where(AuditRecord.challenge_id == in_all.id).order_by(AuditRecord.id)
        records = session.scalars(of_sample).all()
        public = dict(session.execute(select(Method.id, Method.public_at)).all())
    told = {each.subject: each.at for each in records if each.action == "method.make_public"}
    assert [each.at for each in records] == sorted(each.at for each in records)
    assert records[0].at >= in_all.created_at
    assert told
    assert told == {f"method {number}": public[number] for number in public if f"method {number}" in told}
    assert phases["test"].details_at_close


def test_the_days_before_the_first_start_are_not_measured_though_the_sample_is_older(
    sampled: TestClient, platform: Platform
) -> None:
    take_back_in_time(platform)

    days = sampled.get("/api/v1/status").json()["numbers"]["days"]
    assert [each["is_known"] for each in days] == [*[False] * 29, True]


def test_the_page_of_a_method_says_what_it_was_trained_on_as_its_submissions_do(sampled: TestClient) -> None:
    [row, *_] = sampled.get("/api/v1/leaderboards/sample/val/3").json()["rows"]
    number = row["method_id"]

    page = " ".join(sampled.get(f"/methods/{number}").text.split())

    assert sampled.get(f"/api/v1/methods/{number}").json()["training"][0].startswith("Given data only")
    assert "<dt>Trained on</dt> <dd><bdi>Given data only" in page
    assert "External data" not in page
