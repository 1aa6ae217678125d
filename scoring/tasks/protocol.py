"""A protocol: the rules by which tasks are scored."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Self, overload

import numpy as np

from scoring.tasks.task import Rules, Task, TaskRules


@dataclass(frozen=True, slots=True)
class Protocol:
    """The rules of one year or one evaluator, for the tasks that it scores.

    Raises ValueError for other rules under the name of an official protocol.
    """

    name: str
    title: str
    tasks: tuple[TaskRules[Any], ...]

    def __post_init__(self) -> None:
        """Keep official names for official rules."""
        check_name(self)

    @overload
    def rules_of(self, task: Task[Any, Any, Any, Rules]) -> Rules: ...
    @overload
    def rules_of(self, task: str) -> Any: ...
    def rules_of(self, task: Task[Any, Any, Any, Any] | str) -> Any:
        """The rules for a task, or for the task of a name. Raises LookupError if the protocol does not score it.

        >>> from scoring.protocols import PROTOCOLS
        >>> PROTOCOLS["voc2012"].rules_of("detection").iou_threshold
        0.5
        """
        name = task if isinstance(task, str) else task.name
        for each in self.tasks:
            if each.task.name == name:
                return each.rules
        known = ", ".join(each.task.name for each in self.tasks)
        raise LookupError(f"protocol '{self.name}' has no rules for {name}; it has rules for {known}")

    def with_rules(self, name: str, title: str, *changed: TaskRules[Any]) -> Self:
        """A protocol of another name that scores some tasks by other rules, or further tasks.

        Raises ValueError for the name of an official protocol.

        >>> from scoring.protocols import PROTOCOLS
        >>> from scoring.tasks.detection.task import DETECTION
        >>> strict = replace(PROTOCOLS["voc2012"].rules_of(DETECTION), iou_threshold=0.75)
        >>> row = PROTOCOLS["voc2012"].with_rules("own2026", "Our challenge", TaskRules(DETECTION, strict))
        >>> row.rules_of(DETECTION).iou_threshold
        0.75
        """
        new = {each.task.name: each for each in (*self.tasks, *changed)}
        return replace(self, name=name, title=title, tasks=tuple(new.values()))


_official: dict[str, Protocol] = {}


def reserve_names(protocols: Mapping[str, Protocol]) -> None:
    """Refuse other rules under these names from now on; `scoring.protocols` does it once for all of its rows."""
    _official.update(protocols)


def check_name(protocol: Protocol) -> None:
    """Raises ValueError for other rules under the name of an official protocol."""
    official = _official.get(protocol.name)
    if official is not None and not _is_same(protocol.tasks, official.tasks):
        raise ValueError(
            f"'{protocol.name}' is the name of an official protocol with other rules: choose another name"
        )


def _is_same(one: Any, other: Any) -> bool:
    """Whether two rules, or tuples of them, are equal in every field, also after pickling."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one) and not isinstance(one, Task):
        return all(_is_same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)


def spell(choice: Any) -> str:
    """Rules with every function by its name, on one line, as they enter a receipt; fields outside `repr` decide no score.

    >>> from scoring.metrics.measures import AP_11_POINTS
    >>> spell(AP_11_POINTS)
    "RankingMeasure(name='11-point average precision', of=average_precision_11_points)"
    """
    if is_dataclass(choice):
        shown = (field for field in fields(choice) if field.repr)
        parts = (f"{field.name}={spell(getattr(choice, field.name))}" for field in shown)
        return f"{type(choice).__name__}({', '.join(parts)})"
    if isinstance(choice, np.ndarray):
        return repr(choice.tolist())
    return choice.__name__ if callable(choice) else repr(choice)
