import ast
import inspect
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import pytest

from app.core import errors
from app.web import formats

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def problem(file: str | None, code: str = "field-count") -> dict[str, object]:
    return {"code": code, "message": "expected 6 fields, found 5", "file": file, "line": 1}


def test_a_score_of_zero_is_shown_and_a_missing_one_is_blank() -> None:
    assert formats.score(0.0) == "0.0"
    assert formats.score(None) == ""
    assert formats.score(0.64849, 2) == "64.85"


@pytest.mark.parametrize(("value", "step"), [(-0.1, 0), (0.0, 0), (0.26, 3), (0.999, 10), (1.2, 10)])
def test_cells_have_eleven_shades(value: float, step: int) -> None:
    assert formats.shade(value) == f"shade-{step}"


def test_a_blank_cell_has_no_shade() -> None:
    assert formats.shade(None) == ""


def test_every_voc_class_fits_a_narrow_column() -> None:
    classes = (
        "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person "
        "pottedplant sheep sofa train tvmonitor background"
    )
    shorts = [formats.short(name) for name in classes.split()]

    assert max(map(len, shorts)) <= 6
    assert len(set(shorts)) == 21


def test_times_are_shown_in_utc_regardless_of_their_zone() -> None:
    evening = NOON.astimezone(timezone(timedelta(hours=9)))

    assert formats.when(evening) == '<time datetime="2026-11-21T12:00:00Z">21 Nov 2026 12:00 UTC</time>'
    assert formats.day(evening) == '<time datetime="2026-11-21T12:00:00Z">21 Nov 2026</time>'


def test_a_missing_time_is_blank() -> None:
    assert formats.when(None) == ""


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (timedelta(), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(seconds=82), "1 minute ago"),
        (timedelta(seconds=91), "2 minutes ago"),
        (timedelta(seconds=-79.5), "in 1 minute 19 seconds"),
        (timedelta(minutes=5, seconds=20), "5 minutes ago"),
        (timedelta(hours=1, minutes=5), "65 minutes ago"),
        (timedelta(days=1, hours=5), "29 hours ago"),
        (timedelta(days=-1, hours=-23, minutes=-59, seconds=-59), "in 1 day 23 hours"),
        (timedelta(hours=-1, minutes=-5, seconds=-59), "in 1 hour 5 minutes"),
        (timedelta(days=-6, hours=-23, minutes=-59), "in 6 days"),
        (timedelta(seconds=-20), "in 20 seconds"),
        (timedelta(seconds=-0.2), "in less than a second"),
        (timedelta(days=-7), "in 7 days"),
    ],
)
def test_a_time_is_shown_relative_to_now(distance: timedelta, text: str) -> None:
    assert formats.ago(NOON - distance, NOON) == text


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "less than a second"),
        (1, "1 second"),
        (3661, "1 hour 1 minute"),
        (timedelta(days=7), "7 days"),
        (timedelta(days=1, seconds=30), "1 day 30 seconds"),
    ],
)
def test_a_duration_has_at_most_two_units(length: timedelta | float, text: str) -> None:
    assert formats.duration(length) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1023, "1,023 bytes"),
        (1024, "1 KiB"),
        (1024**2 - 1, "1 MiB"),
        (305 * 1024**2, "305 MiB"),
        (3 * 1024**5, "3072 TiB"),
    ],
)
def test_a_size_is_shown_in_units_of_1024(count: int, text: str) -> None:
    assert formats.size(count) == text


def test_problems_are_grouped_by_file_and_those_without_a_file_come_first() -> None:
    [nowhere, car, cat] = formats.by_file(
        [problem("car.txt"), problem(None), problem("cat.txt"), problem("car.txt", "nan")]
    )

    assert nowhere[0] == ""
    assert (car[0], [each["code"] for each in car[1]]) == ("car.txt", ["field-count", "nan"])
    assert cat[0] == "cat.txt"


def test_a_curve_without_points_draws_nothing() -> None:
    assert formats.points((), ()) == ""


def test_a_long_curve_is_thinned_without_visible_change() -> None:
    count = 20_000
    recall = tuple(each / count for each in range(count))
    precision = tuple(1.0 if each % 2 else 0.5 for each in range(count))

    places = [tuple(map(float, place.split(","))) for place in formats.points(recall, precision).split()]

    assert len(places) <= 4 * 201
    assert {y for _, y in places} == {0.0, 50.0}
    assert all(before[0] <= after[0] for before, after in pairwise(places))


ERRORS = {name for name, found in vars(errors).items() if inspect.isclass(found)}
# what these hold are words or counts of ours, or the name of a field or a header before a colon
OURS = {
    "MAX_ACTIVE", "advice", "field", "file.size", "header", "images", "name", "sent", "size", "slots", "what", "whose",
}  # fmt: skip


BEGUN = re.compile(r'\(\s*f"\{')  # few files have to be parsed


def openings(source: str) -> Iterator[tuple[int, str]]:
    """The line and the code of each value without quotes with which the message of an error begins."""
    for call in ast.walk(ast.parse(source)):
        match call:
            case ast.Call(
                func=ast.Name(id=name),
                args=[ast.JoinedStr(values=[ast.FormattedValue(conversion=-1) as value, *_]), *_],
            ) if name in ERRORS:
                yield call.lineno, ast.unparse(value.value)


def test_no_message_begins_with_a_value_without_quotes() -> None:
    """Pages begin messages with a capital letter, which would change a name."""
    assert list(openings('raise NotFoundError(f"{code} is gone")')) == [(1, "code")]
    found = [
        f"{path}: {line}: {value}"
        for path in sorted(Path("app").rglob("*.py"))
        if BEGUN.search(source := path.read_text())
        for line, value in openings(source)
        if value not in OURS
    ]

    assert found == []


def test_a_sentence_begins_with_a_capital_letter_unless_it_begins_with_a_value() -> None:
    assert formats.sentence("the phase val opens on Sunday") == "The phase val opens on Sunday"
    assert formats.sentence("'owl' already has a result") == "'owl' already has a result"
    assert formats.sentence("https://example.org is not shown") == "https://example.org is not shown"
