"""The metrics that a monitoring server reads, and that nobody else can."""

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text
from starlette.testclient import TestClient

from app.core import caching
from app.core.rate_limits import limiter_of
from app.evaluation.scoring import LOST_MESSAGE
from app.jobs import heartbeats, queue
from app.main import create_app
from app.models import JobKind, Service
from app.operations import metrics
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.statements import asked
from tests.patience import take_time
from tests.system.rows import Rows, made
from tests.system.servers import OwnServers, plain

TOKEN = "a-token-of-twenty-characters"
NOBODY = {"Authorization": ""}
OLD, OURS = "an earlier scorer", "a scorer"


@pytest.fixture(scope="module")
def monitored(platform: Platform) -> Platform:
    return replace(platform, settings=platform.settings.model_copy(update={"metrics_token": TOKEN}))


@pytest.fixture(scope="module")
def prometheus(monitored: Platform) -> Iterator[TestClient]:
    with TestClient(create_app(monitored), headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        yield client


@pytest.fixture(scope="module")
def rows(platform: Platform) -> Rows:
    return made(platform)


def scraped(client: TestClient) -> dict[str, float]:
    """The value of each sample, by `name label=value …`."""
    client.app.state.platform.cache.expire_versions()  # type: ignore[attr-defined]
    response = client.get("/metrics")
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"
    return {
        " ".join(
            [sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))]
        ): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


@pytest.mark.parametrize("sent", ["", "Bearer ", "Bearer another-token-of-twenty", TOKEN, f"Basic {TOKEN}"])
def test_without_the_token_the_metrics_are_not_found(prometheus: TestClient, sent: str) -> None:
    assert prometheus.get("/metrics", headers={"Authorization": sent}).status_code == 404


def test_without_a_token_in_the_settings_nobody_can_read_metrics(browser: Browser) -> None:
    for sent in ("Bearer ", "Bearer None", f"Bearer {TOKEN}"):
        assert browser().get("/metrics", headers={"Authorization": sent}).status_code == 404


def test_requests_are_counted_by_route_and_never_by_path(prometheus: TestClient) -> None:
    def counted() -> dict[str, float]:
        return {name: value for name, value in scraped(prometheus).items() if "_http_requests_total" in name}

    before = counted()
    for method, path in (
        ("GET", "/role-links/works-once"),
        ("GET", "/no/such/page"),
        ("BREW", "/no/such/page"),
        ("GET", "/static/style.css"),
        ("GET", "/static/../etc"),
    ):
        prometheus.request(method, path, headers=NOBODY)

    after = counted()
    grown = {name.partition(" ")[2]: value - before.get(name, 0) for name, value in after.items()}
    assert {name: by for name, by in grown.items() if by and "/metrics" not in name} == {
        "method=GET route=/role-links/{token} status=2xx": 1,
        "method=GET route=none status=4xx": 2,
        "method=other route=none status=4xx": 1,
        "method=GET route=/static/{path} status=2xx": 1,
    }
    assert "works-once" not in str(after)


def test_refusals_are_counted_by_limit(monitored: Platform) -> None:
    settings = monitored.settings.model_copy(update={"limit_register": "1/hour"})
    app = create_app(replace(monitored, limiter=limiter_of(settings, str(settings.broker_url))))
    client = TestClient(app, headers={"Authorization": f"Bearer {TOKEN}"}, client=("192.0.2.99", 1))
    refused = "heldout_rate_limited_total limit=register"
    before = scraped(client).get(refused, 0)  # counted in this process, which other tests share
    for _ in range(2):
        client.post("/register", data={}, headers=NOBODY)

    assert scraped(client)[refused] == before + 1


def test_the_queue_is_counted_by_scorer_and_priority_without_held_runs(
    prometheus: TestClient, rows: Rows, platform: Platform
) -> None:
    held = rows.other_team()
    runs = [rows.run_of(rows.result(team_id=team)) for team in (None, None, None, held)]
    with platform.transaction() as session:
        session.execute(
            text(
                "UPDATE job SET scorer = :scorer, queued_at = now() - interval '5 min' WHERE run_id = ANY(:runs)"
            ),
            {"scorer": OURS, "runs": runs},
        )
        session.execute(
            text("UPDATE job SET not_before = now() + interval '1 min' WHERE run_id = :run"), {"run": runs[0]}
        )
        session.execute(
            text("UPDATE job SET team_id = :held WHERE run_id = :run"), {"held": held, "run": runs[3]}
        )
        session.execute(text("UPDATE team SET suspended_at = now() WHERE id = :held"), {"held": held})
        session.execute(
            text("UPDATE job SET lease_until = now() - interval '1 s' WHERE run_id = :run"),
            {"run": runs[2]},
        )

    found = scraped(prometheus)

    where = f"priority=live scorer={OURS}"
    assert found[f"heldout_queue_runs {where}"] == 2
    assert found[f"heldout_queue_paused_runs {where}"] == 1
    assert found["heldout_queue_held_runs"] == 1
    assert 300 <= found[f"heldout_queue_oldest_seconds {where}"] < 400
    assert found[f"heldout_claims scorer={OURS}"] == found[f"heldout_claims_overdue scorer={OURS}"] == 1


def test_recent_runs_are_counted_by_reason_and_duration(
    prometheus: TestClient, rows: Rows, platform: Platform
) -> None:
    ends = {
        "scored": "state = 'scored'",
        "before": "state = 'scored', finished_at = now() - interval '11 min'",
        "archive": "state = 'refused', failure_message = 'no such class'",
        "over a limit": "state = 'refused', failure_message = 'scoring this archive was stopped: too long'",
        "crashed": "state = 'failed'",
        "worker lost": f"state = 'failed', failure_message = '{LOST_MESSAGE.format(losses=10)}'",
    }
    with platform.transaction() as session:
        session.execute(text("UPDATE run SET finished_at = finished_at - interval '1 day'"))
    for end in ends.values():
        times = {
            "queued_at": "now() - interval '23 s'",
            "claimed_at": "now() - interval '3 s'",
            "finished_at": "now()",
        }
        chosen = ", ".join(f"{name} = {value}" for name, value in times.items() if name not in end)
        run = rows.run_of(rows.result())
        with platform.transaction() as session:
            session.execute(text(f"UPDATE run SET {chosen}, {end} WHERE id = {run}"))

    found = scraped(prometheus)

    ended = {
        name.partition(" ")[2]: value
        for name, value in found.items()
        if name.startswith("heldout_recent_runs")
    }
    assert ended == {
        "reason= state=scored": 1,
        "reason=archive state=refused": 1,
        "reason=over a limit state=refused": 1,
        "reason=crashed state=failed": 1,
        "reason=worker lost state=failed": 1,
    }
    assert found["heldout_recent_scoring_seconds_bucket le=2.5"] == 0
    assert found["heldout_recent_scoring_seconds_bucket le=5.0"] == 1
    assert found["heldout_recent_scoring_seconds_gsum"] == pytest.approx(3)
    assert found["heldout_recent_wait_seconds_bucket le=15.0"] == 0
    assert (
        found["heldout_recent_wait_seconds_bucket le=60.0"]
        == found["heldout_recent_wait_seconds_gcount"]
        == 1
    )


def test_workers_jobs_and_uploads_are_counted_consistently_with_health(
    prometheus: TestClient, rows: Rows, platform: Platform
) -> None:
    rows.result()  # its upload is still being received
    with platform.transaction() as session:
        session.execute(text("DELETE FROM job"))
        heartbeats.write_heartbeat(session, "here:1", Service.WORKER, scorer=OURS, slots=3)
        heartbeats.record_sweep(session)
        for _ in range(3):
            queue.add(session, JobKind.INTERVALS, {}, owner="team 1")
        session.flush()
        first = "WHERE id = (SELECT min(id) FROM job)"
        session.execute(text(f"UPDATE job SET dead_at = now() {first}"))
        session.execute(text("UPDATE job SET not_before = now() - interval '90 s' WHERE dead_at IS NULL"))

    found = scraped(prometheus)

    assert (found[f"heldout_workers scorer={OURS}"], found[f"heldout_worker_slots scorer={OURS}"]) == (1, 3)
    assert found["heldout_jobs kind=intervals"] == 2
    assert 90 <= found["heldout_jobs_late_seconds kind=intervals"] < 150
    assert found["heldout_jobs_dead kind=intervals"] == 1
    assert found["heldout_jobs kind=mail"] == 0
    assert found["heldout_uploads state=receiving"] >= 1
    assert found["heldout_sweep_age_seconds"] < 60
    assert found["heldout_disk_free_bytes place=scratch"] > 0
    assert found["heldout_database_has_room"] == 1
    said = {
        name: part["status"] == "ok"
        for name, part in prometheus.get("/health").json().items()
        if name != "status"
    }
    assert {name: found[f"heldout_healthy part={name}"] == 1 for name in said} == said
    assert (said["jobs"], said["dead_jobs"], said["workers"]) == (False, False, True)
    assert found["heldout_ready check=database"] == found["heldout_ready check=storage"] == 1


def test_health_queries_the_database_at_most_once_a_second(
    prometheus: TestClient, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caching, "FRESH", 60.0)  # on a slow machine a second is over too soon
    first = prometheus.get("/health").json()
    with asked(platform) as found:
        again = prometheus.get("/health").json()

    assert first == again
    assert found == []


def test_without_a_database_the_metrics_say_so_and_still_count_requests(
    prometheus: TestClient, own_servers: OwnServers, platform: Platform
) -> None:
    prometheus.get("/health")
    platform.engine.dispose()
    with own_servers.database_down():
        found = scraped(prometheus)
    platform.engine.dispose()

    assert found["heldout_healthy part=database"] == found["heldout_ready check=database"] == 0
    assert [
        name for name in found if name.startswith(("heldout_queue", "heldout_healthy part=workers"))
    ] == []
    assert any(name.startswith("heldout_http_requests_total") for name in found)


HISTORY = """
    INSERT INTO run (result_id, ground_truth_id, protocol, scorer, state, attempt, team_id, claimed_at, finished_at)
    SELECT :result, :truth, 'voc2012', :scorer, 'scored', 1, :team, now(), now() - n * interval '1 hour'
    FROM generate_series(1, 20000) AS n
"""
# counts this transaction and earlier ones of the connection that are not in the totals yet
SCANS = "SELECT relname, seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'run'"


def test_metrics_never_scan_the_table_of_runs(
    rows: Rows, monitored: Platform, own_servers: OwnServers, database_url: str
) -> None:
    values = {"result": rows.result(), "truth": rows.truths[0], "scorer": OLD, "team": rows.team_id}
    with monitored.transaction() as session:
        take_time(session)
        session.execute(text(HISTORY), values)
    with psycopg.connect(plain(own_servers.owners_url(database_url)), autocommit=True) as owner:
        owner.execute("ANALYZE run")

    with monitored.transaction() as session:
        before: dict[str, int] = dict(session.execute(text(SCANS)).all())
        metrics.read(session)
        after: dict[str, int] = dict(session.execute(text(SCANS)).all())

    assert after == before
    assert set(after) == {"run"}
