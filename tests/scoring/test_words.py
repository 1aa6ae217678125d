import polars as pl

from heldout_scoring.readers.image_index import Words


def test_a_list_finds_its_words_after_unknown_words_were_read() -> None:
    words = Words.of(["b", "a"])

    for strange in ("c", "d"):
        assert words.places(pl.Series(["a", strange], dtype=words.type)) is None

    assert len(words) == 2
    found = words.places(pl.Series(["a", "b", "a"], dtype=words.type))
    assert found is not None
    assert found.tolist() == [1, 0, 1]


def test_two_lists_are_independent() -> None:
    one, other = Words.of(["a", "b"]), Words.of(["b", "a"])

    column = pl.Series(["a"], dtype=pl.String)

    assert [words.places(column.cast(words.type)) for words in (one, other)] == [[0], [1]]


def test_an_empty_list_finds_no_words() -> None:
    words = Words.of([])

    assert words.places(pl.Series(["a"], dtype=words.type)) is None
    found = words.places(pl.Series([], dtype=words.type))
    assert found is not None
    assert found.tolist() == []
