"""Tables as CSV and LaTeX, citations as BibTeX, with user input escaped."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Final

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # a cell that starts with one is a formula in a spreadsheet
TEX: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",  # BibTeX would count the brace of \{
    "}": r"\textbraceright{}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
UNSAFE: Final = re.compile(r"[{}\\%#\s]")  # in a URL
INITIALS: Final = re.compile(r"(?:\w\.[ -]?)+")

Cell = str | float | None


def csv_of(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    r"""Format a table with a header as CSV; text that a spreadsheet would read as a formula gets a leading apostrophe.

    >>> csv_of(["method", "mean"], [["=1+1", 0.5], ["b", None]])
    "method,mean\r\n'=1+1,0.5\r\nb,\r\n"
    """
    text = StringIO()
    lines = csv.writer(text)
    lines.writerow([_safe(name) for name in header])
    lines.writerows([_safe(cell) for cell in row] for row in rows)
    return text.getvalue()


def _safe(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def tex_text(text: str) -> str:
    r"""Convert text to one line of LaTeX: special characters escaped, control characters removed, other alphabets unchanged.

    >>> print(tex_text("LEAR_flat 50%"))
    LEAR\_flat 50\%
    """
    line = " ".join(text.split())
    return "".join(TEX.get(each, each) for each in line if each.isprintable())


def tex_table(
    comments: Iterable[str], alignment: str, header: Sequence[str], rows: Iterable[Sequence[str]]
) -> str:
    """Format a LaTeX table with booktabs rules. alignment: l or r for each column; cells are LaTeX already."""
    notes = [f"% {' '.join(comment.split())}" for comment in ("needs \\usepackage{booktabs}", *comments)]
    lines = [
        *notes,
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
        _tex_row(header),
        "\\midrule",
        *map(_tex_row, rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _tex_row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def bibtex(key: str, fields: Mapping[str, str]) -> str:
    r"""Format a BibTeX entry of type `misc`; fields: text, except for the URL in `howpublished`. Empty fields are left out.

    >>> print(bibtex("voc-7", {"title": "50% more", "year": "2026", "note": ""}))
    @misc{voc-7,
      title = {{50\% more}},
      year = {2026},
    }
    <BLANKLINE>
    """
    written = {name: _field(name, value) for name, value in fields.items() if value}
    lines = [f"  {name} = {{{value}}}," for name, value in written.items()]
    return "\n".join((f"@misc{{{bibtex_key(key)},", *lines, "}", ""))


def _field(name: str, value: str) -> str:
    match name:
        case "title":
            return f"{{{tex_text(value)}}}"  # a second pair of braces keeps capitals
        case "author":
            return authors(value)
        case "howpublished":
            return f"\\url{{{UNSAFE.sub('', value)}}}"
    return tex_text(value)


def bibtex_key(text: str) -> str:
    """Convert text to a BibTeX key of letters, digits and hyphens.

    >>> bibtex_key("LEAR_flat, 2007")
    'LEAR-flat-2007'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") or "entry"


def authors(text: str) -> str:
    """Split free text into authors for BibTeX; keep it as one group if names and initials are ambiguous.

    >>> authors("Ada Byron, Alan Turing and Grace Hopper"), authors("Byron, A., Turing, A.")
    ('Ada Byron and Alan Turing and Grace Hopper', '{Byron, A., Turing, A.}')
    """
    names = [tex_text(each) for each in re.split(r"[,;&\n]|\band\b", text)]
    if any(INITIALS.fullmatch(name) for name in names):
        return f"{{{tex_text(text)}}}"
    return " and ".join(name for name in names if name)
