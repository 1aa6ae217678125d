"""What is late, and what is degraded."""

from app.operations.health import BackgroundWork, PartHealth, health_of

WELL = BackgroundWork(sweep_age=3.0, workers=2, jobs_lag=0.0, dead_jobs=0)


def test_a_running_installation_is_ok() -> None:
    health = health_of(WELL, 15)

    assert health.status == "ok"
    assert health.sweep == PartHealth("ok", 3.0)


def test_a_sweep_is_late_after_more_than_four_intervals() -> None:
    in_time, late = (health_of(BackgroundWork(age, 2, 0.0, 0), 15) for age in (60.0, 61.0))

    assert (in_time.status, late.status) == ("ok", "degraded")
    assert late.sweep == PartHealth("late", 61.0)


def test_missing_sweeps_and_workers_and_late_or_failed_jobs_are_each_reported() -> None:
    health = health_of(BackgroundWork(sweep_age=None, workers=0, jobs_lag=90.0, dead_jobs=3), 15)

    assert health.status == "degraded"
    assert [health.sweep.status, health.workers.status, health.jobs.status, health.dead_jobs.status] == [
        "never", "none", "late", "failed"
    ]  # fmt: skip


def test_without_a_database_the_state_of_sweeps_workers_and_jobs_is_unknown() -> None:
    health = health_of(None, 15)

    assert health.database.status == "unreachable"
    assert {health.sweep.status, health.workers.status, health.jobs.status} == {"unknown"}
