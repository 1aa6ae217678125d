"""The query parameters of a board: methods, columns, rows, a date."""

import enum
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlencode

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class TrainingData(enum.StrEnum):
    """The training data of a method, as stated by its team."""

    GIVEN = "given"
    OTHER = "other"


class Format(enum.StrEnum):
    """The formats that a board can be requested in."""

    HTML = "html"
    CSV = "csv"
    JSON = "json"
    TEX = "tex"
    BIB = "bib"


ASCENDING: Final = frozenset({"method", "team", "mean-rank"})  # sort orders that are ascending by default
MOST_CHOSEN: Final = 100  # classes in one URL


ANSWER_NAME: Final = re.compile(r"answer-([0-9]{1,18})(-from|-to)?")
MOST_ANSWERS: Final = 40  # filters in one URL


@dataclass(frozen=True, order=True, slots=True)
class AnswerFilter:
    """A filter by the answers to a question.

    bound: "-from" or "-to" for a number that is not smaller or not larger, empty for text that contains this, or exactly
    this answer.
    """

    question: int
    bound: str
    value: str

    @property
    def name(self) -> str:
        """Its name in addresses."""
        return f"answer-{self.question}{self.bound}"

    def accepts(self, answer: str | None, *, is_text: bool) -> bool:
        """Whether an answer passes. is_text: the answers are free text or addresses.

        >>> AnswerFilter(7, "-to", "30").accepts("12.5", is_text=False), AnswerFilter(7, "", "net").accepts("ResNet-50", is_text=True)
        (True, True)
        """
        if answer is None:
            return False
        if self.bound:
            return (
                (float(answer) >= float(self.value))
                if self.bound == "-from"
                else float(answer) <= float(self.value)
            )
        return self.value.casefold() in answer.casefold() if is_text else self.value == answer


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """Which rows and classes of a board to show, in which order and how.

    sort: one of `rows.SORTS` or a class; team: its id; since, until: the days between which results were submitted; as_of:
    show the board at the end of this day; difficult: show values that also count difficult objects; classes: empty for all;
    columns, page: the group of classes and the page of rows, from 1; method: the id of the method whose row is marked;
    class_columns: whether the classes have columns, None for the default, see `rows.shows_classes`; answers: filters by
    the answers to the challenge's questions.
    """

    sort: str = "mean"
    descending: bool = True
    training: TrainingData | None = None
    team: int | None = None
    since: date | None = None
    until: date | None = None
    as_of: date | None = None
    baselines: bool = True
    difficult: bool = False
    classes: tuple[str, ...] = ()
    columns: int = 1
    page: int = 1
    method: int | None = None
    intervals: bool = False
    compact: bool = False
    class_columns: bool | None = None
    answers: tuple[AnswerFilter, ...] = ()

    def address(self, **changes: Any) -> str:
        """Return the query string for this query with some fields changed. Fields at their defaults are left out.

        >>> BoardQuery(sort="car").address(order="asc"), BoardQuery(team=7, page=3).address(page=None)
        ('?sort=car&order=asc', '?team=7')
        """
        given = [
            (name, value) for name, value in (self.fields() | changes).items() if value not in (None, "", ())
        ]
        return (
            f"?{urlencode(given, doseq=True)}" if given else "?"
        )  # an empty address would keep the query of the page

    def fields(self) -> dict[str, Any]:
        """Return the fields of the form, None for those at their defaults."""
        natural = self.sort not in ASCENDING
        return {
            "sort": None if self.sort == "mean" else self.sort,
            "order": None if self.descending == natural else ("desc" if self.descending else "asc"),
            "training": self.training and self.training.value,
            "team": self.team,
            "since": self.since and self.since.isoformat(),
            "until": self.until and self.until.isoformat(),
            "as_of": self.as_of and self.as_of.isoformat(),
            "baselines": None if self.baselines else "hide",
            "values": "difficult" if self.difficult else None,
            "class": self.classes,
            "columns": None if self.columns == 1 else self.columns,
            "page": None if self.page == 1 else self.page,
            "method": self.method,
            "intervals": "show" if self.intervals else None,
            "density": "compact" if self.compact else None,
            "class_columns": None
            if self.class_columns is None
            else ("show" if self.class_columns else "hide"),
            **{each.name: each.value for each in self.answers},
        }

    def of_all(self) -> "BoardQuery":
        """Return the query for the whole table, without pages and other options of the HTML page."""
        return replace(self, columns=1, page=1, method=None, compact=False, class_columns=None)

    def as_shown(self) -> "BoardQuery":
        """Return the query for the rows and columns of the HTML page."""
        return replace(self, method=None, compact=False)


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Consecutive classes that a page shows together. number: from 1."""

    number: int
    first: str
    last: str


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _none_if_blank(value: Any) -> Any:
    return None if value == "" else value


BlankAsNone = BeforeValidator(_none_if_blank)  # forms also send empty fields
Day = Annotated[Annotated[date, Field(ge=date(2000, 1, 1), le=date(2100, 1, 1))] | None, BlankAsNone]
Number = Annotated[Annotated[int, Field(ge=1, le=2**62)] | None, BlankAsNone]
ClassName = Annotated[str, Field(max_length=100)]


class BoardParameters(BaseModel):
    """The query parameters of a board: which rows and classes, in which order.

    Filters by the answers to the challenge's questions are parameters, too: `answer-7=yes`, `answer-8-from=10`,
    `answer-8-to=30`, with the id of the question.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    sort: Annotated[
        ClassName | None,
        BlankAsNone,
        Field(
            description="mean, method, team, date, median, won, mean-rank, a figure such as AP50, answer-7 for a question, or a class"
        ),
    ] = None
    order: Annotated[
        Literal["asc", "desc"] | None,
        BlankAsNone,
        Field(description="ascending or descending; by default, names and mean ranks are ascending"),
    ] = None
    training: Annotated[
        TrainingData | None,
        BlankAsNone,
        Field(description="only methods trained on the given data, or on other data"),
    ] = None
    team: Annotated[Number, Field(description="only methods of the team with this id")] = None
    since: Annotated[Day, Field(description="only results submitted on this day or later")] = None
    until: Annotated[Day, Field(description="only results submitted on this day or earlier")] = None
    as_of: Annotated[Day, Field(description="the board as it stood at the end of this day, UTC")] = None
    baselines: Annotated[Literal["hide"] | None, BlankAsNone, Field(description="leave out baselines")] = None
    values: Annotated[
        Literal["difficult"] | None,
        BlankAsNone,
        Field(description="values that count difficult objects like all others; needs visible details"),
    ] = None
    classes: Annotated[
        list[ClassName],
        Field(
            alias="class",
            max_length=MOST_CHOSEN,
            description="a class to show; repeat for several, by default all",
        ),
    ] = []

    def query(self) -> BoardQuery:
        """Return the query that these parameters describe."""
        sort = self.sort or "mean"
        return BoardQuery(
            sort=sort,
            descending=self.order == "desc" if self.order else sort not in ASCENDING,
            training=self.training,
            team=self.team,
            since=self.since,
            until=self.until,
            as_of=self.as_of,
            baselines=self.baselines is None,
            difficult=self.values is not None,
            classes=tuple(sorted(set(self.classes))),
            answers=self._answers(),
        )

    @model_validator(mode="after")
    def _answers_fit(self) -> Self:
        found = self._answers()
        if len(found) > MOST_ANSWERS or any(len(each.value) > 100 for each in found):
            message = f"at most {MOST_ANSWERS} filters by answers, of at most 100 characters each"
            raise ValueError(message)
        for each in found:
            if each.bound and not _is_finite(each.value):
                message = f"{each.name}: expected a number, found {each.value!r}"
                raise ValueError(message)
        return self

    def _answers(self) -> tuple[AnswerFilter, ...]:
        """Return the filters by answers, which have names of their own in every challenge."""
        matches = ((ANSWER_NAME.fullmatch(name), value) for name, value in (self.model_extra or {}).items())
        return tuple(
            sorted(
                AnswerFilter(int(match[1]), match[2] or "", value.strip())
                for match, value in matches
                if match and isinstance(value, str) and value.strip()
            )
        )


class PageParameters(BoardParameters):
    """The query parameters of a board's page: also which part to show, how, and in which format."""

    columns: Annotated[Number, Field(description="group of classes, from 1")] = None
    page: Annotated[Number, Field(description="page of rows, from 1")] = None
    method: Annotated[Number, Field(description="the id of a method whose row is marked")] = None
    intervals: Annotated[
        Literal["show"] | None, BlankAsNone, Field(description="show confidence intervals under the values")
    ] = None
    density: Annotated[Literal["compact"] | None, BlankAsNone] = None
    class_columns: Annotated[
        Literal["show", "hide"] | None,
        BlankAsNone,
        Field(description="whether the classes have columns; by default, if they are few"),
    ] = None
    format: Annotated[
        Format | None, BlankAsNone, Field(description="export the whole table; html: the page")
    ] = None

    def query(self) -> BoardQuery:
        """Return the query that these parameters describe."""
        return replace(
            super().query(),
            columns=self.columns or 1,
            page=self.page or 1,
            method=self.method,
            intervals=self.intervals is not None,
            compact=self.density is not None,
            class_columns=None if self.class_columns is None else self.class_columns == "show",
        )


CLASSES_TOGETHER: Final = 40  # per page
ROWS_TOGETHER: Final = 200  # per page


def end_of_day(day: date) -> datetime:
    """Return the moment at which a day ends, in UTC.

    >>> end_of_day(date(2026, 11, 21)).isoformat()
    '2026-11-22T00:00:00+00:00'
    """
    return datetime.combine(day, time.min, UTC) + timedelta(days=1)


def column_groups(classes: Sequence[str]) -> tuple[ColumnGroup, ...]:
    """Split classes into the groups that a page shows; there is at least one.

    >>> column_groups(["car", "dog"])
    (ColumnGroup(number=1, first='car', last='dog'),)
    """
    starts = range(0, len(classes), CLASSES_TOGETHER)
    groups = [classes[start : start + CLASSES_TOGETHER] for start in starts] or [("",)]
    return tuple(ColumnGroup(number, each[0], each[-1]) for number, each in enumerate(groups, 1))


def page_count(rows: int) -> int:
    """Return the number of pages that rows fill, at least one.

    >>> page_count(0), page_count(200), page_count(201)
    (1, 1, 2)
    """
    return max(1, -(-rows // ROWS_TOGETHER))
