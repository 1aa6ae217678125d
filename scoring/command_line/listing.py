"""`protocols`: how each protocol scores each task."""

import textwrap
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from scoring.protocol_table import describe_protocols

_WIDTH: Final = 100
_SHOWN: Final = ("counts", "threshold", "boxes", "measure", "mean", "sources")


def list_protocols(_asked: Namespace) -> Mapping[str, Any]:
    """Every protocol by name; of each its title, other names and tasks, and of each task how it is scored."""
    return {
        "protocols": {
            row.name: {
                "title": row.title,
                "other_names": row.other_names,
                "tasks": {task.task: {**asdict(task), "threshold": task.threshold} for task in row.tasks},
            }
            for row in describe_protocols()
        }
    }


def table_of_protocols(listed: Mapping[str, Any]) -> str:
    """What `list_protocols` returns, for people to read; a task that is scored as in an earlier row refers to it."""
    lines: list[str] = []
    seen: dict[str, str] = {}
    for name, row in listed["protocols"].items():
        names = ", ".join((name, *row["other_names"]))
        lines += [f"{names}: {row['title']}"]
        for task in row["tasks"].values():
            text = "\n".join(_lines(task))
            first = seen.setdefault(text, name)
            lines += [f"  {task['title']}: as {first}" if first != name else f"  {task['title']}\n{text}"]
    return "\n".join(lines)


def _lines(task: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for key in _SHOWN:
        value = "; ".join(task[key]) if key == "sources" else task[key]
        if value:
            lines += textwrap.wrap(
                f"{key + ':':<10} {value}", _WIDTH, initial_indent="    ", subsequent_indent=" " * 15
            )
    return lines
