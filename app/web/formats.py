"""Formats of numbers, times, sizes and names on pages."""

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from markupsafe import Markup

from app.web.charts.shapes import place
from app.web.zones import DAY, MINUTE, WITH_WEEKDAY, aoe

UNITS: Final = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
SHORT: Final = {  # VOC's long class names as in its own tables; the title attribute has the full name
    "aeroplane": "aero",
    "background": "back",
    "bicycle": "bike",
    "diningtable": "table",
    "motorbike": "mbike",
    "motorcycle": "mbike",
    "playinginstrument": "instr",
    "pottedplant": "plant",
    "ridingbike": "rbike",
    "ridinghorse": "rhorse",
    "takingphoto": "photo",
    "tvmonitor": "tv",
    "usingcomputer": "comp",
}


OPENING: Final = re.compile(r"[a-z]+(?=[ ,.;]|$)")  # a word, not a path, a hash or the name of a file
_LETTER: Final = '[^\\s,;:()"\u201c\u201d]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff][^\\s,;:()"\u201c\u201d]*'
_FROM_THE_RIGHT: Final = re.compile(rf"({_LETTER}(?:\s+{_LETTER})*)")
WORDS_OF_NAME: Final = re.compile(r"[A-Z]*[^A-Z\s_./:+-]*[_./:+-]*\s*")
LONGEST_WORD: Final = 14  # letters of a name that stay together
MINUS: Final = "\N{MINUS SIGN}"
Values = Sequence[float | None]  # in [0, 1]; None if there is nothing to draw


def score(value: float | None, decimals: int = 1) -> str:
    """Format a value in [0, 1] in percent; None is blank.

    >>> score(0.648), score(0.0), score(None)
    ('64.8', '0.0', '')
    """
    return "" if value is None else f"{100 * value:.{decimals}f}"


def signed(value: float) -> str:
    """Format a difference in [-1, 1] in percentage points with its sign.

    >>> signed(0.031), signed(0.0001), signed(-0.25)[1:]
    ('+3.1', '0.0', '25.0')
    """
    written = f"{abs(100 * value):.1f}"
    return written if written == "0.0" else f"{'+' if value > 0 else MINUS}{written}"


def p_value(value: float | None) -> str:
    """Format a p-value to three decimal places; None is blank.

    >>> p_value(0.0312), p_value(1e-9), p_value(None)
    ('0.031', '< 0.001', '')
    """
    if value is None:
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def shade(value: float | None) -> str:
    """Return the CSS class of a cell for a value in [0, 1]: one of eleven shades, or none if it is blank.

    >>> shade(0.648), shade(1.0), shade(None)
    ('shade-6', 'shade-10', '')
    """
    return "" if value is None else f"shade-{round(10 * min(max(value, 0.0), 1.0))}"


def short(name: str) -> str:
    """Shorten a name for a narrow column.

    >>> short("aeroplane"), short("person"), short("triangle")
    ('aero', 'person', 'trian.')
    """
    return SHORT.get(name) or (name if len(name) <= 7 else f"{name[:5]}.")


def columns(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return each name with its form for a narrow column, which is longer if the short forms are ambiguous.

    >>> columns(["aeroplane", "triangle"]), columns(["class_1", "class_2"])
    ([('aeroplane', 'aero'), ('triangle', 'trian.')], [('class_1', 'class_1'), ('class_2', 'class_2')])
    """
    counted = Counter(map(short, names))
    return [(name, short(name) if counted[short(name)] == 1 else _longer(name)) for name in names]


def _longer(name: str) -> str:
    return name if len(name) <= 12 else f"{name[:6]}…{name[-5:]}"


def when(moment: datetime | None) -> str:
    """Format a time in UTC to the minute as a <time> element; None is blank."""
    return _time(moment, MINUTE)


def local(moment: datetime | None) -> str:
    """Format a time in UTC with the weekday; a script adds the time in the viewer's time zone.

    >>> print(local(datetime(2026, 11, 24, 14, tzinfo=UTC)))
    <time datetime="2026-11-24T14:00:00Z" data-local>Tue 24 Nov 2026 14:00 UTC</time>
    """
    return _time(moment, WITH_WEEKDAY, " data-local")


def day(moment: datetime | None) -> str:
    """Format the date in UTC, for narrow columns."""
    return _time(moment, DAY)


def day_of(written: str) -> str:
    """Format a date that is written as YYYY-MM-DD, for narrow columns."""
    return day(datetime.fromisoformat(written).replace(tzinfo=UTC))


def written_day(moment: datetime) -> str:
    """Format the date in UTC without markup, for drawings.

    >>> written_day(datetime(2026, 11, 24, 14, tzinfo=UTC))
    '24 Nov 2026'
    """
    return moment.astimezone(UTC).strftime(DAY)


def ago(moment: datetime, now: datetime) -> str:
    """Format a time relative to `now`: one that has passed rounded in one unit, one to come as the script that counts down.

    >>> now = datetime(2026, 11, 24, 14, tzinfo=UTC)
    >>> ago(now - timedelta(days=6, hours=15), now), ago(now + timedelta(days=6, hours=15), now)
    ('7 days ago', 'in 6 days')
    """
    seconds = (now - moment).total_seconds()
    if seconds < 0:
        return f"in {_left(-seconds)}"
    if seconds < 60:
        return "just now"
    length, unit = next((each for each in UNITS[:2] if seconds >= 1.5 * each[0]), UNITS[2])
    return f"{plural(round(seconds / length), unit)} ago"


def _left(seconds: float) -> str:
    """Never more time than there is: in days until the last two, to the second within the last hour, else to the minute."""
    day, hour, minute, _ = (length for length, _ in UNITS)
    exact = next((length for limit, length in ((2 * day, day), (hour - 1, minute)) if seconds > limit), 1)
    return duration(seconds // exact * exact)


def duration(length: timedelta | float) -> str:
    """Format a duration in its two largest units.

    >>> duration(timedelta(days=7)), duration(5400), duration(0.2)
    ('7 days', '1 hour 30 minutes', 'less than a second')
    """
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    return " ".join(_parts(seconds)[:2]) or "less than a second"


def size(count: int) -> str:
    """Format a number of bytes in units of 1024.

    >>> size(1), size(1536), size(5 * 1024**3)
    ('1 byte', '1.5 KiB', '5 GiB')
    """
    if count < 1024:
        return plural(count, "byte")
    amount, unit = count / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if amount < 1023.95:  # otherwise it would print as 1024.0
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f}".removesuffix(".0") + f" {unit}"


def number(count: int) -> str:
    """Format a count with thousands separators.

    >>> number(12032)
    '12,032'
    """
    return f"{count:,}"


def plural(count: int, noun: str) -> str:
    """Format a count with its noun.

    >>> plural(1, "file"), plural(1200, "file"), plural(2, "entry"), plural(20, "class")
    ('1 file', '1,200 files', '2 entries', '20 classes')
    """
    if count == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith("s") else "s"
    many = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}{ending}"
    return f"{number(count)} {many}"


def count_classes(names: Collection[str], noun: str = "class") -> str:
    """Count classes; the background of segmentations is named apart, since it is no class of a challenge.

    >>> count_classes(["background", "cat", "dog"]), count_classes(["cat"])
    ('2 classes and background', '1 class')
    """
    others = [name for name in names if name != "background"]
    return plural(len(others), noun) + ("" if len(others) == len(names) else " and background")


def sentence(words: str) -> str:
    """Begin a sentence with a capital letter, unless it begins with a value: in quotes, or a name before a colon.

    >>> sentence("there is no upload 7"), sentence("'birds' is taken"), sentence("test: no annotation")
    ('There is no upload 7', "'birds' is taken", 'test: no annotation')
    """
    return words[:1].upper() + words[1:] if OPENING.match(words) else words


def inside(measure: str) -> str:
    """Return the name of a measure for use within a sentence.

    >>> inside("Average precision"), inside("AP (11 points)")
    ('average precision', 'AP (11 points)')
    """
    return measure if measure[:2].isupper() else measure[:1].lower() + measure[1:]


def task_words(task: str) -> str:
    """A task as it is called within a challenge, which has those of COCO, of LVIS or others.

    >>> task_words("coco-detection"), task_words("action")
    ('detection', 'action')
    """
    return task.removeprefix("coco-").removeprefix("lvis-")


def breakable(name: str) -> Markup:
    """Let a name break between its words, which begin with capitals or follow signs; and anywhere if a word is long.

    >>> breakable("SlidingWindow_v2"), breakable("Oak two")
    (Markup('Sliding<wbr>Window_<wbr>v2'), Markup('Oak two'))
    """
    parts = (
        word[start : start + LONGEST_WORD]
        for word in WORDS_OF_NAME.findall(name)
        for start in range(0, len(word), LONGEST_WORD)
    )
    return Markup("<wbr>").join(parts).replace(" <wbr>", " ")


def isolated(text: str) -> Markup:
    """A sentence with names in it, those in letters from right to left by themselves, so that numbers behind them stay behind them.

    >>> isolated("in כלב 1.jpg, cat (3)"), isolated("in a&b (3)")
    (Markup('in <bdi>כלב</bdi> 1.jpg, cat (3)'), Markup('in a&amp;b (3)'))
    """
    parts = _FROM_THE_RIGHT.split(text)
    return Markup("").join(
        Markup("<bdi>{}</bdi>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )


def initials(name: str) -> str:
    """Return the first letters of the first two words of a name, for its mark; a name without letters has its first sign.

    >>> initials("Sample organisers (made up)"), initials("oak_7"), initials("42")
    ('SO', 'O', '4')
    """
    words = re.findall(r"[^\W\d_]+", name)
    return "".join(word[0] for word in words[:2]).upper() or name[:1]


def by_file(problems: Iterable[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Group a report's problems by file, in the order of the report; those without a file come first, under ""."""
    groups: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for problem in problems:
        groups[problem["file"] or ""].append(problem)
    return sorted(groups.items(), key=lambda group: bool(group[0]))


def problem_count(report: Mapping[str, Any]) -> int:
    """Count the problems in a report, including those it only counts.

    >>> problem_count({"problems": [{"code": "field-count"}], "unlisted": {"field-count": 3, "folder": 9}})
    4
    """
    codes = [problem["code"] for problem in report["problems"]]
    unlisted: Mapping[str, int] = report["unlisted"]
    return len(codes) + sum(more for code, more in unlisted.items() if code in codes)


def points(across: Values, up: Values) -> str:
    """Convert a curve, both coordinates in [0, 1], to points of an SVG polyline in a 100 by 100 square, origin at bottom left.

    Long curves are thinned to a resolution of half a unit: for each column the first, lowest, highest and last value.

    >>> points((0.0, 0.5, 1.0), (1.0, 0.8, 0.25))
    '0,0 50,20 100,75'
    """
    pairs = zip(across, up, strict=True)
    places = ((round(200 * x), round(200 * (1 - y))) for x, y in pairs if x is not None and y is not None)
    return " ".join(
        f"{x / 2:g},{y / 2:g}" for _, column in groupby(places, itemgetter(0)) for x, y in _thinned(column)
    )


def bars(values: Values) -> str:
    """Convert values in [0, 1] to the SVG path of vertical bars in a drawing 10 units high; None has no bar.

    >>> bars((0.5, None, 1.0))
    'M.5 10v-5M2.5 10v-10'
    """
    heights = enumerate(round(10 * value, 1) if value is not None else 0 for value in values)
    return "".join(f"M{place or ''}.5 10v{-height:g}" for place, height in heights if height)


def _thinned(column: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    places = list(column)
    yield from dict.fromkeys((places[0], min(places), max(places), places[-1]))


def _time(moment: datetime | None, form: str, attributes: str = "") -> str:
    if moment is None:
        return ""
    moment = moment.astimezone(UTC)
    written = f"{moment:%Y-%m-%dT%H:%M:%SZ}", Markup(attributes), f"{moment:{form}}"  # noqa: S704 - a constant
    return Markup('<time datetime="{}"{}>{}</time>').format(*written)


def _parts(seconds: float) -> list[str]:
    parts, rest = [], round(seconds)
    for length, unit in UNITS:
        amount, rest = divmod(rest, length)
        if amount:
            parts.append(plural(amount, unit))
    return parts


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "ago": ago,
    "aoe": aoe,
    "bars": bars,
    "breakable": breakable,
    "isolated": isolated,
    "by_file": by_file,
    "bytes": size,
    "columns": columns,
    "day": day,
    "day_of": day_of,
    "duration": duration,
    "initials": initials,
    "inside": inside,
    "local": local,
    "number": number,
    "count_classes": count_classes,
    "plural": plural,
    "problem_count": problem_count,
    "p_value": p_value,
    "place": place,
    "points": points,
    "score": score,
    "sentence": sentence,
    "shade": shade,
    "shell": shlex.quote,
    "short": short,
    "signed": signed,
    "task_words": task_words,
    "when": when,
}
