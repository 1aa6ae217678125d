"""Pages whose cost must not grow with the number of scored results: their query plans on a long history."""

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import delete, func, select, text
from starlette.routing import Match

from app.challenges import challenges
from app.challenges.disclosure import PUBLIC, Use
from app.core.access import Actor
from app.main import create_app
from app.models import Disclosure, Phase, Result, Role, RunState, Team
from app.organising import overview, run_counts
from app.organising.run_counts import PhaseQueue, queues_of_phases
from app.people.teams import add_team
from app.platform import platform_of
from app.results import details, exposure
from app.results.details import Rank
from benchmarks.server.rows import Place, add_scored
from tests.pages.statements import asked
from tests.system.installations import installation
from tests.system.plans import plans, rows_read
from tests.system.rows import Rows, made
from tests.system.servers import OwnServers

pytestmark = pytest.mark.system

RUNS = 2000  # results scored before
MOST_LOOKS = 20  # of five hundred and fifty routes


@pytest.fixture(scope="module")
def history(own_servers: OwnServers) -> Iterator[Rows]:
    """A phase of 40 teams with 50 results each on its only board, with planner statistics."""
    with installation(own_servers) as running:
        rows = made(running.platform)
        owner = running.settings.model_copy(update={"database_url": running.settings.migration_database_url})
        platform = platform_of(owner)
        with platform.transaction() as session:
            phase = session.get_one(Phase, rows.phase_id)
            place = Place(phase.challenge_id, phase.id, rows.truths[0], phase.protocol, (rows.competition,))
            add_scored(session, place, RUNS, classes=("cat", "dog"))
        platform.engine.dispose()
        running.ask("VACUUM ANALYZE")
        yield rows


def test_overview_counts_use_indexes_of_unscored_runs(
    history: Rows,
) -> None:
    rows = made(history.platform)
    for mean in (0.1, 0.2, 0.3):
        rows.result(mean=mean)
    rows.result()
    rows.claim(rows.result())
    rows.end(rows.run_of(rows.result()), RunState.FAILED)

    with plans(history.platform) as found, history.platform.transaction() as session:
        counts, _ = queues_of_phases(session)

    assert counts[rows.phase_id] == PhaseQueue(results=3, queued=1, running=1, failed=1)
    assert "Seq Scan" not in "\n".join(found).replace("Seq Scan on phase", "")
    assert re.search(r"using ix_result_\w+ on result", found[0])
    assert {*re.findall(r"using (ix_(?:run|job)_\w+) on (?:run|job)", found[1])} == {
        "ix_job_waiting",
        "ix_job_claimed",
        "ix_run_ended",
    }


def test_deleting_a_team_reads_no_runs_of_others(history: Rows) -> None:
    runs = text("SELECT seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'run'")
    with history.platform.transaction() as session:
        session.execute(text("SET LOCAL enable_seqscan = off"))
        challenge_id = session.get_one(Phase, history.phase_id).challenge_id
        team_id = add_team(session, challenge_id, "a team without results")
        before = session.scalar(runs)
        session.execute(delete(Team).where(Team.id == team_id))
        session.flush()

        assert session.scalar(runs) == before


def test_the_organisers_overview_stops_counting_at_its_limit(
    history: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_counts, "MAX_COUNT", 10)
    organiser = Actor(user_id=history.user_id, role=Role.ADMIN, has_second_factor=True)

    with rows_read(history.platform) as found, asked(history.platform) as statements:
        [phase] = [
            each
            for each in overview.overview(history.platform, organiser).phases
            if each.phase.id == history.phase_id
        ]

    assert (phase.results, phase.stopped_counting) == (10, True)
    assert found["result"] <= RUNS / 20, found
    # a generic plan for any state can neither use the index of scored results nor know that few are counted
    assert any("result.state = 'scored'" in each and "LIMIT 10" in each for each in statements), statements


def test_failed_runs_are_counted_among_the_most_recent_failures(
    history: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_counts, "MAX_COUNT", 2)
    rows = made(history.platform)
    for _ in range(4):
        rows.end(rows.run_of(rows.result()), RunState.FAILED)

    with rows_read(history.platform) as found, history.platform.transaction() as session:
        counts, there_may_be_more = queues_of_phases(session)

    assert (counts[rows.phase_id].failed, RunState.FAILED in there_may_be_more) == (2, True)
    assert found["run"] <= 10, found


def test_queued_runs_are_counted_up_to_the_overviews_limit(
    history: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_counts, "MAX_COUNT", 3)
    rows = made(history.platform)
    for _ in range(20):
        rows.result()

    with rows_read(history.platform) as found, history.platform.transaction() as session:
        counts, there_may_be_more = queues_of_phases(session)

    assert (sum(each.queued for each in counts.values()), RunState.QUEUED in there_may_be_more) == (3, True)
    assert found["run"] <= 10, found


def test_a_page_reads_only_the_results_of_its_teams(history: Rows) -> None:
    with rows_read(history.platform) as found, history.platform.transaction() as session:
        page = exposure.uses(session, history.phase_id, 0, 2)

    assert [each.use for each in page] == [Use(results=50, values=100, steps=0)] * 2
    assert 100 <= found["class_score"] <= 400
    assert all(100 <= found[table] <= 400 for table in ("run", "result", "method", "submission", "upload")), (
        found
    )


def test_a_rank_is_counted_from_keys_without_loading_other_results(history: Rows) -> None:
    with history.platform.transaction() as session:
        phase = challenges.phase_of_id(session, history.phase_id)
        own = session.scalars(select(Result).where(Result.phase_id == history.phase_id).limit(1)).one()
        assert phase is not None
        with rows_read(history.platform) as found:
            ranks = details.ranks(session, Actor(), phase, PUBLIC[Disclosure.CLASSES], [own])
        better = select(func.count()).where(
            Result.phase_id == history.phase_id, Result.rank_key > (own.rank_key or 0)
        )

        assert ranks == {own.id: Rank(1 + session.scalars(better).one(), RUNS)}
    assert found["class_score"] == found["run"] == 0
    assert found["result"] <= 1.1 * RUNS


@pytest.mark.parametrize(
    "path", ["/leaderboards/oak/test/3", "/submissions/7/status", "/", "/challenges/oak", "/submissions/7"]
)
def test_the_most_frequent_routes_are_matched_early(history: Rows, path: str) -> None:
    routes = create_app(history.platform).routes
    scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "headers": []}

    looks = next(count for count, each in enumerate(routes, 1) if each.matches(dict(scope))[0] is Match.FULL)

    assert looks <= MOST_LOOKS
