"""Problems of an archive, which keep it from being scored, and warnings and notes, which do not."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self

LISTED = 20  # of each code in one file; the rest is counted
MAX_OF_A_CODE = 500  # so that one kind does not hide the others
MAX_LISTED = 1_000  # problems, and as many notes
SHOWN = 120  # characters of a name or a value from outside
LONGEST_NAME = 60  # characters of an image's name or an id in a sentence

NOT_READ_ON: Final = "file-not-read-on"
"""The code of a file that has too many problems to be read to its end."""

_HALF = re.compile("[\ud800-\udfff]")  # of a character, as Python keeps a byte that is no UTF-8

NOT_CSV: Final = "this is not CSV: a text in double quotes has no end or is too long, or a line has a NUL"
"""What keeps Python from reading a table."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a JSON file, such as `annotations[3]`; id: its own, image: what it is of, both as the file has them.

    >>> str(Entry("annotations[3]", 887, "a/b.jpg"))
    'annotations[3] (id 887, a/b.jpg)'
    """

    path: str
    id: object = None
    image: str | None = None

    def __str__(self) -> str:
        """The place with all that is known of the entry."""
        known = [each for each in (self._id, self.image) if each is not None]
        return self.path + (f" ({', '.join(known)})" if known else "")

    @property
    def numbered(self) -> str:
        """The place and the id."""
        return self.path if self._id is None else f"{self.path}, {self._id}"

    @property
    def open(self) -> str:
        """The place, and the id if it is a number; a text may say anything.

        >>> Entry("images[3]", 887).open, Entry("images[3]", "cat", "cat.jpg").open
        ('images[3], id 887', 'images[3]')
        """
        return self.numbered if type(self.id) is int else self.path

    @property
    def _id(self) -> str | None:
        return None if self.id is None else f"id {shown(str(self.id), LONGEST_NAME)}"


class Rule(str):
    """The message of a problem, which knows what of it is quoted from a file; a message that is any other text may quote all over.

    words: fixed words, counts, names of formats, and `{}` for each quote, in this order; place: the entry that is meant.

    >>> rule = Rule("expected a number as 'area', found '{}'", "dog", place=Entry("annotations[3]", 887, "a/b.jpg"))
    >>> print(rule)
    annotations[3] (id 887, a/b.jpg): expected a number as 'area', found 'dog'
    >>> rule.open
    "expected a number as 'area', found '…'"
    """

    __slots__ = ("place", "quotes", "words")
    words: str
    quotes: tuple[object, ...]
    place: Entry | None

    def __new__(cls, words: str, *quotes: object, place: Entry | None = None) -> Self:
        """Keep the parts, and be the sentence made of them."""
        said = _filled(words, quotes)
        rule = super().__new__(cls, said if place is None else f"{place}: {said}")
        rule.words, rule.quotes, rule.place = words, quotes, place
        return rule

    @classmethod
    def of(cls, message: str) -> Self:
        """A message as a rule: one that is none is a quote from beginning to end.

        >>> Rule.of("found 'dog'").open
        '…'
        """
        return message if isinstance(message, cls) else cls("{}", message)

    def at(self, place: Entry) -> Self:
        """The same of an entry."""
        return type(self)(self.words, *self.quotes, place=place)

    @property
    def said(self) -> str:
        """The sentence without its place."""
        return _filled(self.words, self.quotes)

    @property
    def open(self) -> str:
        """The sentence without its place and without what it quotes."""
        return _filled(self.words, ("…",) * len(self.quotes))


def _filled(words: str, quotes: Sequence[object]) -> str:
    first, *rest = words.split("{}", len(quotes))
    return first + "".join(f"{quote}{each}" for quote, each in zip(quotes, rest, strict=True))


class Severity(StrEnum):
    """A PROBLEM keeps an archive from being scored; a WARNING says that it may not be what is meant, a NOTE needs no change."""

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of an archive, or a note about it, for the person who sent it.

    code is stable and in kebab-case; message may quote the file, and what of it does not is known of a `Rule` alone; line counts
    from 1; found and expected are what the message compares; text is the line, shortened.

    >>> str(Problem("field-count", "expected 6 fields, found 5", "comp3_det_test_car.txt", 1042))
    'comp3_det_test_car.txt:1042: expected 6 fields, found 5'
    """

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    found: str | None = None
    expected: str | None = None
    text: str | None = None

    def __str__(self) -> str:
        """Say it with its place in front, as compilers do."""
        line = "" if self.line is None else f":{self.line}" if self.file else f"line {self.line}"
        place = f"{self.file or ''}{line}"
        return f"{place}: {self.message}" if place else self.message


class SubmissionError(Exception):
    """The archive cannot be scored; problems says why, and there is at least one."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        """Say every problem, one a line."""
        return "\n".join(map(str, self.problems))


@dataclass(slots=True)
class Problems:
    """Collects what is found in an archive: the first twenty of a code in each file, a thousand in all, and how many more.

    mistakes: the severity of likely mistakes that the development kits would score, such as a box that ends before it begins; notes
    for results that were accepted before.
    """

    mistakes: Severity = Severity.PROBLEM
    _listed: dict[Severity, list[Problem]] = field(default_factory=lambda: {each: [] for each in Severity})
    _counts: dict[Severity, Counter[tuple[str, str]]] = field(
        default_factory=lambda: {each: Counter() for each in Severity}
    )
    _listed_of: dict[Severity, Counter[tuple[str, str | None]]] = field(
        default_factory=lambda: {each: Counter() for each in Severity}
    )

    def add(self, problem: Problem, severity: Severity = Severity.PROBLEM) -> None:
        """List the problem, or only count it when its file has twenty of its code, or a thousand are listed."""
        self._counts[severity][problem.code, problem.file or ""] += 1
        listed, counts = self._listed[severity], self._listed_of[severity]
        of_code, of_file = (problem.code, None), (problem.code, problem.file or "")
        if len(listed) < MAX_LISTED and counts[of_code] < MAX_OF_A_CODE and counts[of_file] < LISTED:
            counts.update((of_code, of_file))
            listed.append(problem)

    def note(self, note: Problem) -> None:
        """Add a note, which does not keep the archive from being scored."""
        self.add(note, Severity.NOTE)

    def warn(self, warning: Problem) -> None:
        """Add a warning, which does not keep the archive from being scored."""
        self.add(warning, Severity.WARNING)

    def replace(self, code: str, cause: Problem, files: Collection[str] | None = None) -> None:
        """Name the cause of all problems of a code once, in place of them; files: in these only.

        That a file was not read to its end goes, too, where it has no other problems.
        """
        counts = self._counts[Severity.PROBLEM]
        of_code = [file for each, file in counts if each == code and (files is None or file in files)]
        self._remove(code, of_code)
        others = {file for each, file in counts if each != NOT_READ_ON}
        self._remove(NOT_READ_ON, [file for file in of_code if file not in others])
        self.add(cause)

    def _remove(self, code: str, files: Collection[str]) -> None:
        listed, listed_of = self._listed[Severity.PROBLEM], self._listed_of[Severity.PROBLEM]
        listed[:] = [each for each in listed if each.code != code or (each.file or "") not in files]
        for file in files:
            listed_of[code, None] -= listed_of.pop((code, file), 0)
            self._counts[Severity.PROBLEM].pop((code, file), None)

    def count(self, code: str) -> int:
        """How many problems of a code there are, listed or not."""
        return _by_code(self._counts[Severity.PROBLEM])[code]

    def first(self, code: str, files: Collection[str] | None = None) -> Problem | None:
        """The first listed problem of a code; files: in one of these only."""
        found = (each for each in self.listed if each.code == code)
        return next((each for each in found if files is None or each.file in files), None)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add each problem."""
        for problem in problems:
            self.add(problem)

    def join(self, other: "Problems") -> None:
        """Add everything another collection has listed or counted."""
        for severity, listed in other._listed.items():  # noqa: SLF001 - of the same class
            for problem in listed:
                self.add(problem, severity)
            counts = other._counts[severity]  # noqa: SLF001
            more = counts - Counter((each.code, each.file or "") for each in listed)
            self._counts[severity] += more

    @property
    def listed(self) -> tuple[Problem, ...]:
        """The problems, in the order in which they were found."""
        return tuple(self._listed[Severity.PROBLEM])

    @property
    def notes(self) -> tuple[Problem, ...]:
        """The notes, in the order in which they were found."""
        return tuple(self._listed[Severity.NOTE])

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The warnings, in the order in which they were found."""
        return tuple(self._listed[Severity.WARNING])

    @property
    def total(self) -> int:
        """How many problems there are, listed or not."""
        return self._counts[Severity.PROBLEM].total()

    @property
    def unlisted(self) -> Mapping[str, int]:
        """How many more there are of each code than are listed, codes in alphabetical order."""
        total = _by_code(sum(self._counts.values(), Counter[tuple[str, str]]()))
        listed = Counter(each.code for each in self.listed + self.warnings + self.notes)
        return {code: count - listed[code] for code, count in sorted(total.items()) if count > listed[code]}


def _by_code(counts: Counter[tuple[str, str]]) -> Counter[str]:
    found = Counter[str]()
    for (code, _), count in counts.items():
        found[code] += count
    return found


def shown(text: str | bytes, most: int = SHOWN) -> str:
    r"""A text from outside as messages show it: control characters escaped, at most `most` characters.

    Bytes of a name that are no UTF-8 become replacement characters.

    >>> shown(b"a\r\n\x1b[31m\xff")
    'a\\r\\n\\x1b[31m\\xff'
    >>> shown("\u202etxt.exe"), shown("caf\udce9")
    ('\\u202etxt.exe', 'caf�')
    """
    if isinstance(text, bytes):
        text = text[: 4 * most].decode("utf-8", "backslashreplace")
    text = _HALF.sub("\N{REPLACEMENT CHARACTER}", text)
    if len(text) <= most and text.isprintable():
        return text
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: most + 1])
    return safe if len(safe) <= most else safe[: most - 1] + "…"
