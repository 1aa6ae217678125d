"""The documents for people, and the blocks of code in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt

from app.operations.documentation_site import FILES
from tests.shared import ROOT

DOCUMENTS: Final = ("README.md", "scoring/README.md", *FILES.values())
NOT_RUN: Final = "not-run"
"""After `sh`: commands that need more than a test has, which are Docker, root, a domain, the network or many minutes.

After `python`: code of libraries that the tests do not have.
"""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code in a document; `mark` is what follows its language."""

    file: str
    line: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def blocks(*files: str) -> Iterator[Block]:
    """The fenced blocks of some documents, by default of all."""
    for file in files or DOCUMENTS:
        for token in MarkdownIt("commonmark").parse((ROOT / file).read_text()):
            if token.type == "fence":
                language, _, mark = token.info.partition(" ")
                yield Block(file, (token.map or [0])[0] + 1, language, mark, token.content)


def tables(file: str) -> list[list[list[str]]]:
    """The tables of a document as rows of cells, the first of them its head."""
    found: list[list[list[str]]] = []
    for token in MarkdownIt("commonmark").enable("table").parse((ROOT / file).read_text()):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and found and token.level > 3:
            found[-1][-1].append(token.content)
    return found
