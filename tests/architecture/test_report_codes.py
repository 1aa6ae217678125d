"""Every code that a report on an archive or a data set can have is explained on the page that its link leads to."""

import ast
import re
from collections.abc import Iterator
from itertools import chain

from app.operations.documentation_site import CODES, page_at
from tests.shared import ROOT

LIBRARY, INTAKE, SUBMISSIONS = ROOT / "scoring/heldout_scoring", ROOT / "app/intake", ROOT / "app/submissions"
SOURCES = (
    *(path for name in ("archives", "readers", "tasks") for path in (LIBRARY / name).rglob("*.py")),
    *(LIBRARY / name for name in ("errors.py", "validation.py")),
    *INTAKE.rglob("*.py"),
    *(SUBMISSIONS / name for name in ("checking.py", "uploads.py")),
)
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
SAYING = {
    "Problem", "Finding", "Invalid", "PngError", "_RowError", "Readable", "add_problem", "complain", "leave_out", "refuse", "say",
    "stop", "warn", "_say", "_warn", "_failed_report",
}  # fmt: skip
OF_FIELDS = {
    "wholes": "bad",
    "flags": "bad",
    "numbers": "bad",
    "texts": "bad",
    "unique": "duplicate",
    "known": "unknown",
}
WITH_HYPHENS = re.compile(r"[a-z]+(-[a-z0-9]+)+")
NO_CODES = re.compile(
    r"utf-.*|latin-1|iso-.*|us-ascii|windows-.*|(coco|lvis)-(detection|segmentation)|half-open"
)
ELSEWHERE = {
    "has-classes", "intake-scratch", "no-store", "pictures-of-phases", "test-dev",  # of fields, files, headers and sets
    "no-tree", "swapped-files",  # of commands, which have no page
}  # fmt: skip


def test_every_code_of_a_report_has_a_row_with_an_anchor() -> None:
    explained = re.findall(r'<tr id="([a-z0-9-]+)">', page_at("/docs/report-codes").html)
    written = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    found = {*chain.from_iterable(map(codes_in, TREES.values()))} - ELSEWHERE

    assert len(explained) == len(set(explained)) == (ROOT / CODES).read_text(encoding="utf-8").count("\n| `")
    assert len(found) > 200
    assert sorted(found - set(explained)) == []
    assert [
        code
        for code in explained
        if f'"{code}"' not in written and not code.startswith(("bad-", "duplicate-"))
    ] == []


def codes_in(tree: ast.AST) -> Iterator[str]:
    """The texts with hyphens, the words that are given to what makes a problem, and the codes about fields of COCO's JSON."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if WITH_HYPHENS.fullmatch(node.value) and not NO_CODES.fullmatch(node.value):
                yield node.value
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = [each.value for each in node.args[:3] if isinstance(each, ast.Constant)]
            if name in SAYING:
                yield from (each for each in given if isinstance(each, str) and re.fullmatch("[a-z]+", each))
            if name in OF_FIELDS and given and isinstance(given[0], str):
                field = given[0].removesuffix("_id") if name == "known" else given[0]
                yield f"{OF_FIELDS[name]}-{field.replace('_', '-')}"
