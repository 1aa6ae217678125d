"""What is late, and what is degraded."""

from app.operations.health import Part, Progress, health_of

WELL = Progress(sweep_age=3.0, workers=2, jobs_lag=0.0, dead_jobs=0)


def test_an_installation_in_which_everything_goes_on_is_ok() -> None:
    health = health_of(WELL, 15)

    assert health.status == "ok"
    assert health.sweep == Part("ok", 3.0)


def test_a_sweep_that_did_not_happen_for_four_intervals_is_late() -> None:
    in_time, late = (health_of(Progress(age, 2, 0.0, 0), 15) for age in (60.0, 61.0))

    assert (in_time.status, late.status) == ("ok", "degraded")
    assert late.sweep == Part("late", 61.0)


def test_no_sweep_no_worker_and_messages_that_wait_are_each_named() -> None:
    health = health_of(Progress(sweep_age=None, workers=0, jobs_lag=90.0, dead_jobs=3), 15)

    assert health.status == "degraded"
    assert [health.sweep.status, health.workers.status, health.jobs.status, health.dead_jobs.status] == [
        "never", "none", "late", "failed"
    ]  # fmt: skip


def test_without_a_database_everything_behind_it_is_unknown() -> None:
    health = health_of(None, 15)

    assert health.database.status == "unreachable"
    assert {health.sweep.status, health.workers.status, health.jobs.status} == {"unknown"}
