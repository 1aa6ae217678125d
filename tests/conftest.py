"""Fixtures of all tests that need servers: one pair for the whole session."""

import gc
import os
import re
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest
from httpx2 import create_ssl_context
from hypothesis import HealthCheck, settings

from app.operations.supervisor import STOP_SIGNALS, ignore_signal
from tests.attacks import attacks
from tests.system.servers import broker_url, database_url, own_servers

# what the shell ignores, such as SIGHUP under nohup, programs under test must not
for number in STOP_SIGNALS:
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, ignore_signal)

# how long an example takes depends on what else the machine does
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

SHORT, LONG = 40, 90  # characters of one value, and of the id of all parameters of a test
PARTS = 3  # of the cases of a test that is marked so, each in a process of its own
SAMPLED = 8  # of so many similar cases, a run that takes a sample takes one

__all__ = ["attacks", "broker_url", "database_url", "own_servers"]


@pytest.fixture(scope="session", autouse=True)
def one_tls_context() -> Iterator[None]:
    """Read the certificates of the machine once: each HTTP client would do so, which takes longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx2._transports.default.create_ssl_context", cache(create_ssl_context))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Measure coverage in the processes of the tests alone: in those that they start it would take twice as long.

    No garbage is looked for among the tests, neither now, when it takes a quarter of the time, nor later.
    """
    os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only the modules that have slow or sampled tests if no others are asked for: all together take half a minute."""
    if config.option.markexpr == "slow" and collection_path.suffix == ".py":
        text = collection_path.read_text()
        return ("slow" not in text and "sampled" not in text) or None
    return None


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Call contents and sentences by the name of their argument, and all other values as pytest does.

    Contents that are compressed in a test's module have the time of day in them: each process of pytest-xdist
    would give the same test another name.
    """
    said = val.pattern if isinstance(val, re.Pattern) else val
    if isinstance(said, bytes | bytearray) or (isinstance(said, str) and not is_short_word(said, SHORT)):
        return argname
    return None


def is_short_word(text: str, longest: int) -> bool:
    """Whether a text can be copied into a command line: short, and without characters that pytest writes as escapes."""
    return len(text) <= longest and text.isascii() and text.isprintable() and "\\" not in text


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take a sample of similar cases, and give tests that share a running site or real data to one process of pytest-xdist,
    and each other module to one.
    """
    others = [item for item in items if item.get_closest_marker("sampled") and not is_drawn(item)]
    if os.environ.get("HELDOUT_SHORT"):
        left_out = {item for item in others if item.get_closest_marker("slow")}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    if os.environ.get("HELDOUT_SAMPLE"):
        for item in others:
            item.add_marker(pytest.mark.slow)
    for item in items:
        if item.config.pluginmanager.hasplugin("xdist"):
            item.add_marker(pytest.mark.xdist_group(group_of(item)))
    odd = [item.nodeid for item in items if not has_plain_id(item)]
    if odd:
        raise pytest.UsageError("expected short words as the ids of parameters, found\n" + "\n".join(odd))


def is_drawn(item: pytest.Item) -> bool:
    """Whether one of similar cases belongs to the sample, which differs from seed to seed."""
    seed = item.config.getoption("randomly_seed", None)
    return crc32(f"{seed} {item.nodeid}".encode()) % SAMPLED == 0


def has_plain_id(item: pytest.Item) -> bool:
    """Whether the id of a test's parameters is the same in each process, and fits on a line."""
    said = item.callspec.id if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ""
    places = (
        str(item.config.rootpath),
        tempfile.gettempdir(),
        " at 0x",
    )  # the last one of an object without repr
    return is_short_word(said, LONG) and not any(place in said for place in places)


def group_of(item: pytest.Item) -> str:
    """The tests that run in the same process."""
    module = item.nodeid.partition("::")[0]
    if module.startswith("tests/browser/"):
        return "browser"
    if item.get_closest_marker("divided"):
        return f"{module} {crc32(item.name.encode()) % PARTS}"
    fixtures = getattr(item, "fixturenames", ())
    if module.startswith("tests/system/") and "site" in fixtures:
        return "site"
    if module.startswith("tests/scoring/") and "unpacked" in fixtures:
        return "real data"  # reading a tree takes longer than most tests of it
    return module


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Report each test without its group, so that `--last-failed` finds it again."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # the process that collects the reports does it
    module = report.nodeid.partition("::")[0]
    for group in ("browser", "site", "real data", module, *(f"{module} {part}" for part in range(PARTS))):
        report.nodeid = report.nodeid.removesuffix(f"@{group}")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run if groups are not kept together, or every process would start every site and fixture."""
    groups = getattr(session.config.option, "loadgroup", False)
    if groups and not all(item.nodeid.endswith(f"@{group_of(item)}") for item in session.items):
        raise pytest.UsageError(
            "this version of pytest-xdist does not group tests with this version of pytest"
        )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Say how to repeat the order of a run that failed."""
    seed = config.getoption("randomly_seed", None)
    if exitstatus != pytest.ExitCode.OK and seed is not None:
        target = "test-slow" if config.option.markexpr == "slow" else "test"
        terminalreporter.write_line(f"the same order and examples again: make {target} SEED={seed}")


def pytest_sessionfinish() -> None:
    """Save what was measured while there is time: pytest-xdist kills a process that takes more than ten seconds to end."""
    if "coverage" in sys.modules and (measured := sys.modules["coverage"].Coverage.current()):
        measured.save()
