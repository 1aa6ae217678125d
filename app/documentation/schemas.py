"""The calls of the API as its page shows them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of a call, or a field of its body."""

    name: str
    where: str  # path, query, header or body
    is_required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of the API, with an example."""

    method: str
    path: str
    paragraphs: tuple[str, ...]
    permission: str
    fields: tuple[Field, ...]
    status: str
    request: str  # as a command
    response: str  # its body; empty where the status says it all


@dataclass(frozen=True, slots=True)
class FormatView:
    """What the result files of a task hold, with the beginning of one; none where a file is no text."""

    task: str
    title: str
    path: str
    grammar: str
    file: str | None
    text: str | None
