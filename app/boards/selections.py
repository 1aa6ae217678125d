"""What the address of a board selects: methods, columns, rows, a date."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class TrainingData(enum.StrEnum):
    """What a team stated that its method was trained on."""

    GIVEN = "given"
    OTHER = "other"


class Format(enum.StrEnum):
    """In which a board can be had."""

    HTML = "html"
    CSV = "csv"
    JSON = "json"
    TEX = "tex"
    BIB = "bib"


ASCENDING: Final = frozenset(
    {"method", "team", "mean-rank"}
)  # what stands smallest first unless asked otherwise
MOST_CHOSEN: Final = 100  # classes in one address


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """What an address asks of a board: which rows and classes, in which order, drawn how.

    sort: one of `rules.SORTS` or a class; team: its id; since, until: days on which results were sent in; as_of: the board at
    the end of that day; difficult: values that count difficult objects, too; classes: those chosen, none for all; columns,
    page: groups of classes and rows, from 1 on; method: the id of a method whose row is marked.
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

    def address(self, **changes: Any) -> str:
        """The end of an address that asks for this with some changes, fields as in the form; nothing where it is the default.

        >>> BoardQuery(sort="car").address(order="asc"), BoardQuery(team=7, page=3).address(page=None)
        ('?sort=car&order=asc', '?team=7')
        """
        given = [
            (name, value) for name, value in (self.fields() | changes).items() if value not in (None, "", ())
        ]
        return f"?{urlencode(given, doseq=True)}" if given else "?"

    def fields(self) -> dict[str, Any]:
        """The fields of the form, none where they are as by default."""
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
        }

    def of_all(self) -> "BoardQuery":
        """The same for a whole table: without what only a page on a screen has."""
        return replace(self, columns=1, page=1, method=None, compact=False)


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Classes that stand on the page together; number: from 1 on."""

    number: int
    first: str
    last: str


def _none_if_blank(value: Any) -> Any:
    return None if value == "" else value


Optional = BeforeValidator(_none_if_blank)  # a form sends its empty fields, too
Day = Annotated[Annotated[date, Field(ge=date(2000, 1, 1), le=date(2100, 1, 1))] | None, Optional]
Number = Annotated[Annotated[int, Field(ge=1, le=2**62)] | None, Optional]
ClassName = Annotated[str, Field(max_length=100)]


class BoardParameters(BaseModel):
    """The address of a board: which rows and classes, in which order."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    sort: Annotated[
        ClassName | None,
        Optional,
        Field(description="mean, method, team, date, median, won, mean-rank or a class"),
    ] = None
    order: Annotated[
        Literal["asc", "desc"] | None,
        Optional,
        Field(description="smallest or largest first; by default names and mean ranks smallest first"),
    ] = None
    training: Annotated[
        TrainingData | None,
        Optional,
        Field(description="methods trained on given data only, or on other data"),
    ] = None
    team: Annotated[Number, Field(description="methods of the team with this id")] = None
    since: Annotated[Day, Field(description="results submitted on this day or later")] = None
    until: Annotated[Day, Field(description="results submitted on this day or earlier")] = None
    as_of: Annotated[Day, Field(description="the board as it stood at the end of this day, UTC")] = None
    baselines: Annotated[
        Literal["hide"] | None, Optional, Field(description="whether baselines are left out")
    ] = None
    values: Annotated[
        Literal["difficult"] | None,
        Optional,
        Field(description="values that count difficult objects like any other, where details are shown"),
    ] = None
    classes: Annotated[
        list[ClassName],
        Field(
            alias="class",
            max_length=MOST_CHOSEN,
            description="a class to show; once for each, by default all",
        ),
    ] = []

    def query(self) -> BoardQuery:
        """What this asks for."""
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
        )


class PageParameters(BoardParameters):
    """The address of a board's page: also which part of it, drawn how, in which format."""

    columns: Annotated[Number, Field(description="group of classes, from 1 on")] = None
    page: Annotated[Number, Field(description="of the rows, from 1 on")] = None
    method: Annotated[Number, Field(description="the id of a method whose row is marked")] = None
    intervals: Annotated[
        Literal["show"] | None, Optional, Field(description="confidence intervals under the values")
    ] = None
    density: Annotated[Literal["compact"] | None, Optional] = None
    format: Annotated[Format | None, Optional, Field(description="of the whole table; html: the page")] = None

    def query(self) -> BoardQuery:
        """What this asks for."""
        return replace(
            super().query(),
            columns=self.columns or 1,
            page=self.page or 1,
            method=self.method,
            intervals=self.intervals is not None,
            compact=self.density is not None,
        )


CLASSES_TOGETHER: Final = 40  # on a page
ROWS_TOGETHER: Final = 200


def end_of(day: date) -> datetime:
    """The moment at which a day ends, in UTC.

    >>> end_of(date(2026, 11, 21)).isoformat()
    '2026-11-22T00:00:00+00:00'
    """
    return datetime.combine(day, time.min, UTC) + timedelta(days=1)


def column_groups(classes: Sequence[str]) -> tuple[ColumnGroup, ...]:
    """The groups in which classes stand on a page, one at least.

    >>> column_groups(["car", "dog"])
    (ColumnGroup(number=1, first='car', last='dog'),)
    """
    starts = range(0, len(classes), CLASSES_TOGETHER)
    groups = [classes[start : start + CLASSES_TOGETHER] for start in starts] or [("",)]
    return tuple(ColumnGroup(number, each[0], each[-1]) for number, each in enumerate(groups, 1))


def page_count(rows: int) -> int:
    """How many pages rows fill; one at least.

    >>> page_count(0), page_count(200), page_count(201)
    (1, 1, 2)
    """
    return max(1, -(-rows // ROWS_TOGETHER))
