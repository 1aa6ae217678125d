"""Processes that are killed at any moment: an operation leaves what was before it, or all that it does, and nothing between."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeVar

from sqlalchemy import event, func, update

from app.jobs import attempts
from app.models import Job
from app.platform import Platform
from tests.working import do_all
from worker.handlers import HANDLERS

Scene = TypeVar("Scene")
MOST: Final = 2_000  # moments of one operation, so that one that repeats itself for ever fails
NEAR: Final = 2  # moments before and after a commit
COMMIT: Final = "COMMIT"
LONG_AGO: Final = func.clock_timestamp() - timedelta(days=1)


class Killed(BaseException):
    """What the process was about to send to the database was not sent, as after `kill -9`."""


@dataclass(slots=True)
class Kill:
    """A kill at a moment of a block: its n-th statement or commit, counted from 1."""

    moment: int
    about: str = ""  # the statement that was not sent; empty if the block ended before
    sent: list[str] = field(default_factory=list)  # the statements and commits before it

    @property
    def near_commits(self) -> set[int]:
        """The moments at most NEAR before or after a commit."""
        commits = (moment for moment, each in enumerate(self.sent, 1) if each == COMMIT)
        return {moment + distance for moment in commits for distance in range(-NEAR, NEAR + 1)}


@contextmanager
def killed_at(platform: Platform, moment: int) -> Iterator[Kill]:
    """Let the block send so many statements and commits but one, and nothing afterwards, whatever it catches."""
    kill, lock = Kill(moment), threading.Lock()

    def send(about: str) -> None:
        if threading.current_thread().name.startswith("heartbeat of job"):
            return  # which come when they like
        with lock:
            if kill.about or len(kill.sent) + 1 == moment:
                kill.about = kill.about or about
                raise Killed(kill.about)
            kill.sent.append(about)

    def execute(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        send(statement)

    def commit(_connection: Any) -> None:
        send(COMMIT)

    event.listen(platform.engine, "before_cursor_execute", execute)
    event.listen(platform.engine, "commit", commit)
    try:
        yield kill
    except Killed:
        pass
    finally:
        event.remove(platform.engine, "before_cursor_execute", execute)
        event.remove(platform.engine, "commit", commit)


def assert_all_or_nothing(
    platform: Platform,
    prepare: Callable[[], Scene],
    operate: Callable[[Scene], object],
    state: Callable[[Scene], object],
    recover: Callable[[Scene], object] | None = None,
    every: int = 1,
) -> int:
    """Kill an operation at each of its statements and commits; return how many these are.

    prepare: makes the same scene anew, once for each moment after the first commit; operate: calls the operation itself, not
    a page, whose server would catch the kill; state: everything that it may change, without what differs between two scenes,
    such as ids and times. Each kill has to leave the state before the operation, or the one that it leaves undisturbed.
    recover: what others do then, such as another worker (`work_again`); after that, only the state after it is right.
    every: kill only at every so many statements and near each commit, where an operation takes seconds.
    """
    undisturbed = prepare()
    before = state(undisturbed)
    with killed_at(platform, MOST) as whole:
        operate(undisturbed)
    assert not whole.about, f"more than {MOST} statements"
    near_commits = whole.near_commits
    after = state(undisturbed)
    assert after != before, "the operation changes nothing of this state"

    scene = prepare()
    for moment in range(1, MOST):
        if moment % every and moment not in near_commits:
            continue
        found = state(scene)
        assert found == before, f"scenes differ before moment {moment}"
        with killed_at(platform, moment) as kill:
            operate(scene)
        found = state(scene)
        if not kill.about:
            assert found == after
            return len(kill.sent)
        where = f"killed at moment {moment}: {' '.join(kill.about.split())[:300]}"
        assert found in (before, after), where
        if recover is not None:
            recover(scene)
            assert state(scene) == after, where
        if recover is not None or found != before:
            scene = prepare()
    raise AssertionError(f"more than {MOST} statements")


def work_again(platform: Platform) -> None:
    """Do what killed workers had claimed, as if their leases had run out, and all else that waits."""
    with platform.transaction() as session:
        session.execute(update(Job).where(Job.lease_until.is_not(None)).values(lease_until=LONG_AGO))
    attempts.recover_lost_jobs(platform, HANDLERS)
    with platform.transaction() as session:
        session.execute(update(Job).values(not_before=None))
    do_all(platform)
