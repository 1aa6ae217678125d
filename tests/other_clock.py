"""A plugin of pytest that shows all later modules a clock of another year, as they would find it in another process.

Importing this module changes nothing, because a run of doctests imports every module.
"""

import ctypes
import gc
import time
from datetime import datetime, timedelta, tzinfo

AHEAD = timedelta(days=400, hours=7, minutes=11, seconds=13)
_time, _time_ns, _now = time.time, time.time_ns, datetime.now


def _later(_: type[datetime], tz: tzinfo | None = None) -> datetime:
    return _now(tz) + AHEAD


def advance() -> None:
    """Show the other clock from now on, to this whole process."""
    time.time = lambda: _time() + AHEAD.total_seconds()
    time.time_ns = lambda: _time_ns() + AHEAD // timedelta(microseconds=1) * 1000
    # not a class derived from it: pydantic and others ask for `datetime` itself
    gc.get_referents(vars(datetime))[0]["now"] = classmethod(_later)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime))


def pytest_load_initial_conftests() -> None:
    """Begin before the first test module is imported."""
    advance()
