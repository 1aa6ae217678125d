"""Exports of boards for papers compile with LaTeX and BibTeX, whatever the names of methods."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.boards.exports import bib_of, tex_of
from app.boards.rows import BoardPage
from app.boards.selections import BoardQuery
from tests.pages.views import board, drawn_board

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("pdflatex") is None,
        reason="pdflatex is missing: apt-get install texlive-latex-base texlive-latex-recommended texlive-binaries",
    ),
]

PAPER = r"""\documentclass{article}
\usepackage{booktabs}
\usepackage{url}
\begin{document}
\input{board}
\nocite{*}
\bibliographystyle{plain}
\bibliography{board}
\end{document}
"""


def test_the_exports_of_a_board_compile(tmp_path: Path) -> None:
    drawn = drawn_board(board(12), BoardQuery(intervals=True))
    page = BoardPage(drawn["board"], drawn["controls"])
    (tmp_path / "board.tex").write_bytes(tex_of(page, "https://voc.example"))
    (tmp_path / "board.bib").write_bytes(bib_of(page, "https://voc.example"))
    (tmp_path / "paper.tex").write_text(PAPER)

    latex = ("pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "paper")
    for command in (latex, ("bibtex", "paper"), latex, latex):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:]

    assert (tmp_path / "paper.pdf").stat().st_size > 10_000
    assert "Warning--" not in (tmp_path / "paper.blg").read_text()
