"""What the figures were measured on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Final

_LIBRARIES: Final = ("numpy", "polars", "msgspec", "isal", "pillow")


def describe_machine() -> str:
    """One sentence: processor, cores, memory, Python, libraries, and how busy it is."""
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    cores, memory = len(os.sched_getaffinity(0)), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (
        f"{_processor()}, {cores} cores, {memory / 2**30:.0f} GiB; Python {platform.python_version()}, {libraries};"
        f" load {os.getloadavg()[0]:.1f} at the start"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
