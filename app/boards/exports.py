"""Exports of a leaderboard: CSV, LaTeX, BibTeX."""

from urllib.parse import quote

from app.boards.ranking import FIGURES
from app.boards.rows import BoardPage, BoardRow, BoardView, Cell
from app.web import tables
from app.web.formats import score


def csv_of(page: BoardPage, site: str) -> bytes:
    """Write the table for spreadsheets: scores in [0, 1] with the digits that the reader may see; intervals if requested."""
    board, query = page.board, page.controls.query
    with_intervals = query.intervals and page.controls.has_details
    names = ["mean", *board.classes]
    header = [
        "rank", "group", "method", "team", "training", "baseline", "date", *([board.sort] if board.sort in FIGURES else []),
        *(f"{name}{end}" for name in names for end in (("", " low", " high") if with_intervals else ("",))),
        *(each.title for each in board.questions), "address",
    ]  # fmt: skip
    return tables.csv_of(
        header, [_csv_row(row, board, site, with_intervals=with_intervals) for row in board.rows]
    ).encode()


def _csv_row(row: BoardRow, board: BoardView, site: str, *, with_intervals: bool) -> list[tables.Cell]:
    values: list[tables.Cell] = []
    for cell in (Cell(row.mean, row.mean_best, row.low, row.high), *row.cells):
        values += [cell.value, *((cell.low, cell.high) if with_intervals else ())]
    return [
        row.rank, row.group or "", row.method, row.team.name, row.training or "", "yes" if row.is_baseline else "",
        row.date.date().isoformat(), *([row.figure] if board.sort in FIGURES else []), *values,
        *(answer or "" for answer in row.answers), f"{site}/submissions/{row.submission}",
    ]  # fmt: skip


def tex_of(page: BoardPage, site: str) -> bytes:
    """Write the table for papers: percent with one decimal, the best in bold; intervals if requested."""
    board = page.board
    with_intervals = page.controls.query.intervals
    header = ["Method", "Mean", *(tables.tex_text(name) for name in board.classes)]
    rows = [
        [
            tables.tex_text(row.method),
            *(
                _tex_cell(cell, with_intervals=with_intervals)
                for cell in (Cell(row.mean, row.mean_best, row.low, row.high), *row.cells)
            ),
        ]
        for row in board.rows
    ]
    return tables.tex_table(_notes(page, site), header, rows).encode()


def _tex_cell(cell: Cell, *, with_intervals: bool) -> str:
    text = f"\\textbf{{{score(cell.value)}}}" if cell.best else score(cell.value)
    if not with_intervals or cell.low is None:
        return text
    return f"{text} {{\\scriptsize [{score(cell.low)}, {score(cell.high)}]}}"


def _notes(page: BoardPage, site: str) -> tuple[str, ...]:
    board = page.board
    return (
        f"{board.challenge_title} {board.image_set}, {board.title} (competition {board.competition})"
        + (", difficult objects included: not the official values" if page.controls.query.difficult else ""),
        f"{board.measure} in percent, {len(board.rows)} of {board.methods} methods",
        f"protocol {board.protocol}, ground truth version {board.ground_truth}, scorer version {board.scorer}",
        f"{address_of_board(board, site)}{page.controls.query.address()}, version {board.version} of this board",
    )


def address_of_board(board: BoardView, site: str) -> str:
    """Return the URL of a board."""
    return f"{site}/leaderboards/{quote(board.challenge)}/{quote(board.image_set)}/{board.competition}"


def bib_of(page: BoardPage, site: str) -> bytes:
    """Write BibTeX entries for the board and each of its methods."""
    board = page.board
    about = {
        "title": f"{board.challenge_title} {board.image_set}: {board.title} (competition {board.competition})",
        "key": board.challenge_title,  # styles sort entries without an author by this key
        "year": f"{board.updated_at:%Y}",
        "howpublished": address_of_board(board, site),
        "note": f"Leaderboard, version {board.version}, {board.updated_at:%Y-%m-%d}",
    }
    methods = [
        tables.bibtex(
            f"{row.method}-{row.method_id}",
            {
                "title": row.title or row.method,
                "author": row.contributors or row.team.name,
                "year": f"{row.date:%Y}",
                "howpublished": f"{site}/methods/{row.method_id}",
                "note": f"{row.method}, {about['title']}",
            },
        )
        for row in board.rows
    ]
    name = f"{board.challenge}-{board.image_set}-{board.competition}"
    return "\n".join((tables.bibtex(name, about), *methods)).encode()
