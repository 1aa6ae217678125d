"""Exports of a leaderboard: CSV, LaTeX, BibTeX."""

from urllib.parse import quote

from app.boards.ranking import FIGURES, SummaryOfClasses
from app.boards.rows import BoardPage, BoardRow, BoardView, ScoreCell, one_page
from app.models import QuestionKind
from app.web import tables
from app.web.formats import inside, score


def csv_of(page: BoardPage, site: str) -> bytes:
    """Write the table for spreadsheets: scores in [0, 1] with the digits that the reader may see; intervals if requested.

    Every row says what it was scored under, so that rows of several files can be put together.
    """
    board, query = page.board, page.controls.query
    with_intervals = query.intervals and page.controls.has_details
    names = ["mean", *board.further, *board.classes]
    header = [
        "rank", "group", "method", "team", "training", "baseline", "date", *([board.sort] if board.sort in FIGURES else []),
        *(f"{name}{end}" for name in names for end in (("", " low", " high") if with_intervals else ("",))),
        *(each.title for each in board.questions), "address", *_origin(board),
    ]  # fmt: skip
    return tables.csv_of(
        header, [_csv_row(row, board, site, with_intervals=with_intervals) for row in board.rows]
    ).encode()


def _csv_row(row: BoardRow, board: BoardView, site: str, *, with_intervals: bool) -> list[tables.Cell]:
    values: list[tables.Cell] = []
    for cell in (_mean(row), *row.further, *row.cells):
        values += [cell.value, *((cell.low, cell.high) if with_intervals else ())]
    return [
        row.rank, row.group or "", row.method, row.team.name, row.training or "", "yes" if row.is_baseline else "",
        row.date.date().isoformat(), *([row.figure] if board.sort in FIGURES else []), *values,
        *(answer or "" for answer in row.answers), f"{site}/submissions/{row.submission}", *_origin(board).values(),
    ]  # fmt: skip


def _origin(board: BoardView) -> dict[str, str]:
    """What the scores of a board are, and what they were scored under, by the names of columns."""
    return {
        "unit": board.unit,
        "measure": f"{board.headline}: {inside(board.measure)}",
        "challenge": board.challenge,
        "phase": board.image_set,
        "task": board.name,
        "protocol": board.protocol,
        "ground truth version": str(board.ground_truth),
        "scorer version": board.scorer,
        "leaderboard version": str(board.version),
    }


def _mean(row: BoardRow) -> ScoreCell:
    return ScoreCell(row.mean, row.mean_best, row.low, row.high, row.mean_second)


def tex_of(page: BoardPage, site: str) -> bytes:
    """Write the table for papers as the page shows it: percent with one decimal, the best in bold, the second underlined.

    Its columns are rank, method, team and the mean, then the figures, classes and answers that have columns on the page;
    intervals if requested. Comments say what the scores are, and what they were scored under.
    """
    board = one_page(page)
    with_intervals = page.controls.query.intervals
    figure = FIGURES.get(board.sort)
    asked = [(place, each) for place, each in enumerate(board.questions) if each.is_column]
    scores = [board.headline, *board.further, *([board.sort] if figure else []), *board.classes]
    answers = "".join("r" if each.kind is QuestionKind.NUMBER else "l" for _, each in asked)
    header = [
        "Rank", "Method", "Team", *map(tables.tex_text, scores), *(tables.tex_text(each.title) for _, each in asked)
    ]  # fmt: skip
    rows = [
        [
            "--" if row.rank is None else str(row.rank),
            tables.tex_text(row.method),
            tables.tex_text(row.team.name),
            *(_tex_cell(cell, with_intervals=with_intervals) for cell in (_mean(row), *row.further)),
            *([_tex_figure(row.figure, figure)] if figure else []),
            *(_tex_cell(cell, with_intervals=with_intervals) for cell in row.cells),
            *(tables.tex_text(row.answers[place] or "") for place, _ in asked),
        ]
        for row in board.rows
    ]
    alignment = f"rll{'r' * len(scores)}{answers}"
    return tables.tex_table(_notes(page, board, site), alignment, header, rows).encode()


def _tex_figure(value: float | None, figure: SummaryOfClasses) -> str:
    if value is None:
        return ""
    return score(value) if figure.is_score else f"{value:.{figure.decimals}f}"


def _tex_cell(cell: ScoreCell, *, with_intervals: bool) -> str:
    text = score(cell.value)
    if cell.best or cell.second:
        text = f"\\{'textbf' if cell.best else 'underline'}{{{text}}}"
    if not with_intervals or cell.low is None:
        return text
    return f"{text} {{\\scriptsize [{score(cell.low)}, {score(cell.high)}]}}"


def _notes(page: BoardPage, board: BoardView, site: str) -> tuple[str, ...]:
    number = f" (competition {board.competition})" if board.is_numbered else ""
    address = f"{address_of_board(board, site)}{page.controls.query.address()}".removesuffix("?")
    return (
        f"{board.challenge_title} ({board.challenge}), phase {board.image_set}, {board.name}{number}"
        + (", difficult objects included: not the official values" if page.controls.query.difficult else ""),
        f"{board.headline}: {inside(board.measure)}, in percent, {len(board.rows)} of {board.methods} methods",
        f"protocol {board.protocol}, ground truth version {board.ground_truth}, scorer version {board.scorer}",
        f"{address}, version {board.version} of this leaderboard",
    )


def address_of_board(board: BoardView, site: str) -> str:
    """Return the URL of a board."""
    return f"{site}/leaderboards/{quote(board.challenge)}/{quote(board.image_set)}/{board.competition}"


def bib_of(page: BoardPage, site: str) -> bytes:
    """Write BibTeX entries for the board and each of its methods."""
    board = page.board
    scored = f"{board.headline}, protocol {board.protocol}, version {board.version}"
    about = {
        "title": f"{board.challenge_title} {board.image_set}: {board.name}"
        + (f" (competition {board.competition})" if board.is_numbered else ""),
        "key": board.challenge_title,  # styles sort entries without an author by this key
        "year": f"{board.updated_at:%Y}",
        "howpublished": address_of_board(board, site),
        "note": f"Leaderboard, {scored}, {board.updated_at:%Y-%m-%d}",
    }
    methods = [
        tables.bibtex(
            f"{row.method}-{row.method_id}",
            {
                "title": row.title or row.method,
                "author": row.contributors or row.team.name,
                "year": f"{row.date:%Y}",
                "howpublished": f"{site}/methods/{row.method_id}",
                "note": f"{row.method} of {row.team.name}{_rank(row)}, {about['title']}, {scored}",
            },
        )
        for row in board.rows
    ]
    name = f"{board.challenge}-{board.image_set}-{board.competition}"
    return "\n".join((tables.bibtex(name, about), *methods)).encode()


def _rank(row: BoardRow) -> str:
    return "" if row.rank is None else f", rank {row.rank}"
