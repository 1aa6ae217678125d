"""YAML that people wrote, read as texts, lists and blocks in which each value knows its line; and written.

What lets one text stand for another (anchors, aliases, merge keys, tags) is refused, and nothing is guessed from how a value looks: a
plain `no` or `12:30` is a text, which a model makes a value of. JSON is read in the same way.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

DEEPEST: Final = 8  # blocks within each other
MOST: Final = 20_000  # values, for which the library takes a second
NOTHING: Final = frozenset({"", "~", "null", "Null", "NULL"})  # without quotes
MERGE: Final = "<<"

Path = tuple[str | int, ...]  # the keys, and the places in lists from 0, that lead to a value


@dataclass(frozen=True, slots=True)
class YamlProblem:
    """What is wrong with a file, and in which line."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Document:
    """What a file holds. lines: of each value and of everything around it."""

    value: Any
    problems: tuple[YamlProblem, ...]
    lines: Mapping[Path, int] = field(default_factory=dict)

    def line_of(self, path: Path) -> int | None:
        """The line of a value; if it is missing, of what it is missing in. None if the file does not speak of it."""
        return next(
            (self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), None
        )


class _UnreadableError(Exception):
    """What follows makes no sense any more."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.problem = YamlProblem(line, message)


def read(content: bytes, largest: int) -> Document:
    r"""Read a file of at most so many bytes; its problems are all that can be found.

    >>> read(b"title: 2027\ntasks: [a, b]\n", 100).value
    {'title': '2027', 'tasks': ['a', 'b']}
    >>> [each.message for each in read(b"a: &x 1\nb: *x\na: !!int 2\n", 100).problems]
    ["'&x' is not read here; write the value itself", "'*x' is not read here; write the value itself", "'a' stands here again; the first is in line 1", "'!!int' is not read here; write the value alone"]
    """
    if len(content) > largest:
        return _nothing(1, f"expected at most {largest:,} bytes, found {len(content):,}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return _nothing(line, f"expected UTF-8, found the byte {content[error.start]:#04x}")
    reader = _Reader()
    try:
        value = reader.document(_events(text))
    except _UnreadableError as error:
        return Document(None, (*reader.problems, error.problem), reader.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = ", ".join(filter(None, (error.context, error.problem)))
        found = YamlProblem(mark.line + 1 if mark else 1, f"this is not YAML: {message}")
        return Document(None, (*reader.problems, found), reader.lines)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        return _nothing(line, f"expected text, found the character U+{int(error.character):04X}")
    return Document(value, tuple(reader.problems), reader.lines)


def _nothing(line: int, message: str) -> Document:
    return Document(None, (YamlProblem(line, message),))


def _events(text: str) -> Iterator[Event]:
    """Yield what a file consists of. The library takes the numbers of characters and versions as they come."""
    loader = yaml.SafeLoader(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    except (ValueError, OverflowError):
        words = "this is not YAML: there is no character, or no version, of this number"
        raise _UnreadableError(loader.line + 1, words) from None


class _Reader:
    """Makes values of the events of a file, and notes where they stand and what is wrong with them."""

    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.problems: list[YamlProblem] = []
        self.count = 0  # of values so far

    def document(self, events: Iterator[Event]) -> Any:
        value, is_read = None, False
        for event in events:
            if isinstance(event, DocumentStartEvent) and is_read:
                raise _UnreadableError(event.start_mark.line + 1, "expected one document, found another")
            if isinstance(event, NodeEvent):
                value, is_read = self._value(event, events, ()), True
        return value

    def _value(self, event: NodeEvent, events: Iterator[Event], path: Path) -> Any:
        line = event.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.count += 1
        if self.count > MOST:
            raise _UnreadableError(line, f"expected at most {MOST:,} values, found more")
        if len(path) > DEEPEST:
            raise _UnreadableError(line, f"expected at most {DEEPEST} blocks within each other, found more")
        self._refuse_marks(event, line)
        if isinstance(event, ScalarEvent):
            is_nothing = event.style is None and event.value in NOTHING
            return None if is_nothing else self._text(event.value, line)
        if isinstance(event, SequenceStartEvent):
            return self._list(events, path)
        return self._block(events, path) if isinstance(event, MappingStartEvent) else None

    def _refuse_marks(self, event: NodeEvent, line: int) -> None:
        if event.anchor:
            sign = "*" if isinstance(event, AliasEvent) else "&"
            self._refuse(line, f"'{sign}{event.anchor[:40]}' is not read here; write the value itself")
        tag = getattr(event, "tag", None)
        if tag is not None:
            written = tag.replace("tag:yaml.org,2002:", "!!")[:40]
            self._refuse(line, f"'{written}' is not read here; write the value alone")

    def _refuse(self, line: int, message: str) -> None:
        self.problems.append(YamlProblem(line, message))

    def _text(self, text: str, line: int) -> str:
        """Return a text; JSON writes some characters as two halves."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._refuse(line, "expected a text, found half of a character (such as \\ud83d alone)")
            return ""

    def _list(self, events: Iterator[Event], path: Path) -> list[Any]:
        found: list[Any] = []
        for event in events:
            if isinstance(event, SequenceEndEvent):
                break
            found.append(self._value(event, events, (*path, len(found))))
        return found

    def _block(self, events: Iterator[Event], path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for event in events:
            if isinstance(event, MappingEndEvent):
                break
            line = event.start_mark.line + 1
            if not isinstance(event, ScalarEvent):
                raise _UnreadableError(
                    line, "expected the name of a setting, found a list, a block or an alias"
                )
            self._refuse_marks(event, line)
            key = self._text(event.value, line)
            if key in found:
                self._refuse(
                    line, f"'{key[:40]}' stands here again; the first is in line {self.lines[*path, key]}"
                )
            if key == MERGE and event.style is None:
                self._refuse(line, f"'{MERGE}' is not read here; write the settings themselves")
            self.lines.setdefault((*path, key), line)
            found[key] = self._value(next(events), events, (*path, key))
        return found


class _Writer(yaml.SafeDumper):  # type: ignore[misc]  # the library has no types
    """Writes texts of several lines as blocks."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Write equal values as often as they stand there."""
        return True


def _write_text(writer: _Writer, text: str) -> yaml.ScalarNode:
    is_moment = re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", text)
    style = "|" if "\n" in text else "'" if is_moment else None
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Writer.add_representer(str, _write_text)


def write(value: Any) -> str:
    r"""Write a value that `read` gives back as it was, but for numbers and yes or no, which become texts.

    >>> print(write({"title": "no", "text": "a\nb\n", "days": None}), end="")
    title: 'no'
    text: |
      a
      b
    days: null
    """
    return str(yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=120))
