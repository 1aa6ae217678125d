import pytest

from heldout_scoring.errors import SubmissionError
from heldout_scoring.statistics.ranks import Scoreboard, read_scoreboard


def problems(text: str) -> list[tuple[str, int | None]]:
    with pytest.raises(SubmissionError) as caught:
        read_scoreboard(text, "table.csv")
    assert all(each.file == "table.csv" for each in caught.value.problems)
    return [(each.code, each.line) for each in caught.value.problems]


def test_a_table_is_read_with_its_gaps() -> None:
    table = read_scoreboard('\ufeffmethod, car ,"cat, tame"\r\n\r\nOxford,43.2,\r\n"a, b",.5,1e-1\r\n')

    assert table == Scoreboard(("Oxford", "a, b"), ("car", "cat, tame"), ((43.2, None), (0.5, 0.1)))
    assert table.incomplete() == ("Oxford",)
    assert table.complete() == Scoreboard(("a, b",), ("car", "cat, tame"), ((0.5, 0.1),))


@pytest.mark.parametrize("number", ["1_0", "nan", "inf", "1e999", "\uff11", "0x1", "1,5"[:1] + " 5", "--1"])
def test_a_cell_that_is_not_a_plain_number_is_a_problem(number: str) -> None:
    assert problems(f"method,car\na,1\nb,{number}\n") == [("not-a-number", 3)]


def test_all_problems_are_reported_at_once() -> None:
    text = "method,car,car,\na,1,2,3\na,x,2,3\n,1,2\n"

    assert problems(text) == [
        ("repeated-name", 1),
        ("no-name", 1),
        ("repeated-name", 3),
        ("no-name", 4),
        ("not-a-number", 3),
        ("field-count", 4),
    ]


def test_a_table_needs_methods_and_classes() -> None:
    assert problems("") == [("empty-table", None)]
    assert problems("\n , \n") == [("empty-table", None)]
    assert problems("method,car\n") == [("table-size", 1)]
    assert problems("method\na\n") == [("table-size", 1)]


def test_malformed_csv_is_refused_with_its_line() -> None:
    assert problems("method,car\na," + "1" * 200_000) == [("not-a-table", 2)]


def test_line_numbers_match_those_of_an_editor() -> None:
    assert problems('method,"car\nred"\na,x\n') == [("not-a-number", 3)]
