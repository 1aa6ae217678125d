"""Problems of an archive, which keep it from being scored, and warnings and notes, which do not."""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
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


class ScoringError(Exception):
    """Everything that the library refuses on purpose, in a sentence for the person who asked; a subclass says what it is about."""


class DataError(ScoringError, ValueError):
    """Values are not what a function expects; the message says which, what was expected and what was found."""


class NotFoundError(ScoringError, KeyError):
    """There is no protocol, competition, class, image or annotation as asked for; the message says what there is."""

    def __str__(self) -> str:
        """The sentence, which KeyError would put in quotes."""
        return str(self.args[0])


class SubmissionError(ScoringError):
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


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "object"), plural(1200, "object"), plural(2, "class")
    ('1 object', '1,200 objects', '2 classes')
    """
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith('s') else 's'}"


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


class PathError(ScoringError, OSError):
    """A path cannot be read or written; the message is a sentence with the path; error number and file name are those of the system."""

    def __str__(self) -> str:
        """The sentence."""
        return str(self.strerror)


class MissingPathError(PathError, FileNotFoundError):
    """Nothing has this path."""


_NUL: Final = "\0"


def as_path(path: Path | str) -> Path:
    """A path, given in either way. Raises PathError for an empty text, which would be the working folder, and for a NUL in it.

    >>> as_path("")
    Traceback (most recent call last):
    heldout_scoring.errors.MissingPathError: expected a path, found ''
    """
    text = os.fspath(path)
    if not text or _NUL in text:
        raise MissingPathError(None, f"expected a path, found {text!r}", text)
    return Path(path)


def read_file(path: Path | str) -> bytes:
    """The content of a file. Raises PathError for a missing one, a folder, and one that cannot be read.

    >>> read_file("no such file")
    Traceback (most recent call last):
    heldout_scoring.errors.MissingPathError: there is no file 'no such file'
    """
    known = as_path(path)
    with named(known):
        return known.read_bytes()


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Raise errors of the system as PathError with this path.

    >>> with named(Path("/")):
    ...     Path("/").read_bytes()
    Traceback (most recent call last):
    heldout_scoring.errors.PathError: expected a file, found the folder '/'
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        folder = path.parent
        sentence = (
            f"there is no file '{path}'"
            if folder.is_dir()
            else f"there is no folder '{folder}' for '{path.name}'"
        )
        raise MissingPathError(error.errno, sentence, str(path)) from None
    except IsADirectoryError as error:
        raise PathError(error.errno, f"expected a file, found the folder '{path}'", str(path)) from None
    except PermissionError as error:
        raise PathError(error.errno, f"'{path}' may not be opened: permission denied", str(path)) from None
    except OSError as error:
        raise PathError(
            error.errno, f"'{path}' cannot be read or written: {error.strerror}", str(path)
        ) from None


MAX_COMPARED: Final = 500
"""Names that an unknown one is compared with, letter by letter; among more of them only its plain form is looked up."""

_SIMILARITY: Final = 0.75
"""Of difflib, from which a word is near another one: "airplane" is near "aeroplane", "people" is not."""
_ZEROS: Final = re.compile(rb"(?<![0-9])0+(?=[0-9])")
_OTHER: Final = re.compile(rb"[^a-z0-9]+")
_BETWEEN: Final = re.compile(r"[^a-z0-9]+")
_NO_DIGIT: Final = re.compile(r"[^0-9]+")
_LONGEST: Final = 100  # letters that are compared
_ENDINGS: Final = re.compile(r"(?:\.(?:txt|png|xml|json|jpe?g|csv))+$", re.IGNORECASE)
_SYNONYMS: Final = {
    "tv": "tvmonitor",
    "couch": "sofa",
    "plane": "aeroplane",
    "table": "diningtable",
    "motorcycle": "motorbike",
    "people": "person",
}  # as in COCO, and the plural that no comparison of letters finds


@contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Import what only an extra of the library brings. Raises ImportError that says how to install it.

    >>> with from_extra("files"):
    ...     import no_such_module
    Traceback (most recent call last):
    ImportError: this needs no_such_module, which is not installed: install heldout-scoring[files]
    """
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"this needs {error.name}, which is not installed: install heldout-scoring[{extra}]"
        raise ImportError(message, name=error.name) from None


def similar_name(name: bytes, known: Collection[bytes]) -> bytes | None:
    """The known name that differs only in case, punctuation or leading zeros, if there is exactly one.

    >>> similar_name(b"2008-8", [b"2008_000008", b"2008_000009"])
    b'2008_000008'
    """
    if name in known:
        return name
    return _plain_forms(known if isinstance(known, frozenset) else frozenset(known)).get(_plain(name))


def similar_word(word: str, known: Sequence[str]) -> str | None:
    """The known word that is most like this one; None if none is near, or two are equally near.

    Endings of file names do not count, nor do other words around a known one.

    >>> similar_word("motorcycle", ["bicycle", "motorbike"]), similar_word("xyz", ["car"])
    ('motorbike', None)
    >>> similar_word("car.txt", ["car", "cat"]), similar_word("car_det", ["car", "cat"]), similar_word("caf", ["car", "cat"])
    ('car', 'car', None)
    """
    word = _ENDINGS.sub("", word)
    spelt = similar_name(word.encode(errors="replace"), frozenset(each.encode() for each in known))
    if spelt is not None or len(known) > MAX_COMPARED:
        return None if spelt is None else spelt.decode()
    lower = {each.lower(): each for each in known}
    if (synonym := _SYNONYMS.get(word.lower(), word.lower())) in lower:
        return lower[synonym]
    if inside := [each for each in known if has_parts(word, each)]:
        return inside[0] if len(inside) == 1 else None
    return _nearest(word[:_LONGEST].lower(), lower)


def has_parts(name: str, known: str) -> bool:
    """Whether a name has all words of a known one in their order, perhaps with others between them, before or behind.

    >>> has_parts("comp4-44503_det_test_car.txt", "comp4_det_test_car.txt"), has_parts("comp4_det_test_cars.txt", "car")
    (True, False)
    """
    words = iter(_words(name))
    return all(word in words for word in _words(known))


def _words(name: str) -> list[str]:
    return [word for word in _BETWEEN.split(name[: 2 * _LONGEST].lower()) if word]


def _nearest(word: str, lower: Mapping[str, str]) -> str | None:
    from difflib import SequenceMatcher, get_close_matches  # noqa: PLC0415 - only for suggestions

    same_digits = [each for each in lower if _NO_DIGIT.sub("", each) == _NO_DIGIT.sub("", word)]
    close = get_close_matches(word, same_digits, n=2, cutoff=_SIMILARITY)
    ratios = [SequenceMatcher(None, each, word).ratio() for each in close]
    return lower[close[0]] if len(ratios) == 1 or (close and ratios[0] > ratios[1]) else None


@lru_cache(maxsize=8)  # a file of 100,000 unknown names asks as often
def _plain_forms(known: frozenset[bytes]) -> Mapping[bytes, bytes]:
    forms: dict[bytes, bytes] = {}
    ambiguous = set()
    for name in known:
        form = _plain(name)
        if form in forms:
            ambiguous.add(form)
        forms[form] = name
    return {form: name for form, name in forms.items() if form not in ambiguous}


def _plain(name: bytes) -> bytes:
    return _ZEROS.sub(b"", _OTHER.sub(b"_", name.lower()).strip(b"_"))
