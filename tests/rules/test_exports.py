"""Exports keep what people typed as plain text."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.tables import authors, bibtex, bibtex_key, csv_of, tex_table, tex_text

EVIL = '=HYPERLINK("x"), {\\input{/etc/passwd}} %\r\n@misc{x} $&#_^~<>|'


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_text_that_looks_like_a_formula_is_quoted(text: str) -> None:
    [_, [cell, *_]] = csv.reader(io.StringIO(csv_of(["name"], [[text]]), newline=""))

    assert cell == f"'{text}"


@given(st.text())
def test_other_text_is_exported_unchanged(text: str) -> None:
    text = text.lstrip("=+-@\t\r").replace("\0", "")
    rows = list(csv.reader(io.StringIO(csv_of(["name", "value"], [[text, -0.5]]), newline="")))

    assert rows == [["name", "value"], [text, "-0.5"]]


def test_latex_commands_in_text_are_escaped() -> None:
    text = tex_text(EVIL)

    assert "\\input" not in text
    assert "\n" not in text
    assert text.count("{") == text.count("}")
    assert tex_text("a\0b\x1b") == "ab"


def test_a_latex_table_uses_booktabs_and_has_one_line_per_note() -> None:
    table = tex_table(["from\nhere"], "lr", ["Method", "car"], [["a", "1.0"]])

    assert table.splitlines() == [
        "% needs \\usepackage{booktabs}", "% from here", "\\begin{tabular}{lr}", "\\toprule", "Method & car \\\\", "\\midrule",
        "a & 1.0 \\\\", "\\bottomrule", "\\end{tabular}",
    ]  # fmt: skip


def test_a_citation_of_hostile_text_has_balanced_braces_and_a_plain_key() -> None:
    fields = dict.fromkeys(("title", "author", "howpublished", "note"), EVIL)
    entry = bibtex(EVIL, fields)

    assert entry.count("{") == entry.count("}")
    assert entry.count("@misc{HYPERLINK") == 1
    assert "\n@" not in entry
    assert bibtex_key("///") == "entry"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Ada Byron", "Ada Byron"),
        ("Ada Byron; Alan Turing & Grace Hopper", "Ada Byron and Alan Turing and Grace Hopper"),
        ("M. Everingham, A. Zisserman", "M. Everingham and A. Zisserman"),
        ("Everingham, M., Zisserman, A.", "{Everingham, M., Zisserman, A.}"),
        ("", ""),
    ],
)
def test_contributors_become_authors(text: str, written: str) -> None:
    assert authors(text) == written
