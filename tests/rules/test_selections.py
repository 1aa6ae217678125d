"""The query of a board's address is parsed, written and validated."""

from datetime import date
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.boards.selections import (
    BoardQuery,
    PageParameters,
    TrainingData,
    column_groups,
    end_of_day,
    page_count,
)

DAYS = st.none() | st.dates(date(2000, 1, 1), date(2100, 1, 1))
NUMBERS = st.integers(1, 99)
QUERIES = st.builds(
    BoardQuery,
    sort=st.sampled_from(["mean", "method", "mean-rank", "won", "car & cat"]),
    descending=st.booleans(),
    training=st.none() | st.sampled_from(TrainingData),
    team=st.none() | NUMBERS,
    since=DAYS,
    until=DAYS,
    as_of=DAYS,
    baselines=st.booleans(),
    difficult=st.booleans(),
    classes=st.sets(st.sampled_from(["car", "cat", "dog & cat"])).map(sorted).map(tuple),
    columns=NUMBERS,
    page=NUMBERS,
    method=st.none() | NUMBERS,
    intervals=st.booleans(),
    compact=st.booleans(),
)


@given(QUERIES)
def test_an_address_is_parsed_back_to_the_query_it_was_made_from(query: BoardQuery) -> None:
    sent = {
        name: values if name == "class" else values[0]
        for name, values in parse_qs(query.address()[1:]).items()
    }

    assert PageParameters.model_validate(sent).query() == query


def test_empty_and_unknown_fields_are_ignored() -> None:
    empty = dict.fromkeys((*BoardQuery().fields().keys() - {"class"}, "utm_source"), "")

    assert PageParameters.model_validate(empty).query() == BoardQuery()
    assert BoardQuery().address() == "?"


def test_the_order_of_chosen_classes_does_not_matter() -> None:
    one, other = ({"class": names} for names in (["b", "a", "a"], ["a", "b"]))

    assert PageParameters.model_validate(one).query() == PageParameters.model_validate(other).query()


@pytest.mark.parametrize(
    "field",
    [{"as_of": "1999-12-31"}, {"until": "2100-01-02"}, {"page": "0"}, {"team": "x"}, {"sort": "s" * 101}, {"baselines": "show"}, {"class": ["x"] * 101}],
)  # fmt: skip
def test_a_value_out_of_bounds_is_refused(field: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        PageParameters.model_validate(field)


def test_an_export_has_the_whole_table() -> None:
    query = BoardQuery(sort="car", columns=3, page=2, method=7, compact=True, intervals=True)

    assert query.of_all() == BoardQuery(sort="car", intervals=True)


def test_many_classes_are_shown_in_groups() -> None:
    groups = column_groups([f"{place:03}" for place in range(500)])

    assert [(group.first, group.last) for group in (groups[0], groups[-1])] == [
        ("000", "039"),
        ("480", "499"),
    ]
    assert [group.number for group in groups] == list(range(1, 14))
    assert [group.first for group in column_groups(())] == [""]
    assert [page_count(rows) for rows in (0, 1, 200, 201, 1000)] == [1, 1, 1, 2, 5]
    assert end_of_day(date(2024, 2, 29)).isoformat() == "2024-03-01T00:00:00+00:00"
