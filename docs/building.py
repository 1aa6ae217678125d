"""The pages: one for each module of the library, and one of all protocols."""

import importlib
import pkgutil
import warnings
from pathlib import Path
from typing import Final

import pdoc.doc
import pdoc.render

import heldout_scoring
from app.challenges.protocols import protocols

TEMPLATES: Final = Path(__file__).parent / "templates"


def build(folder: Path) -> Path:
    """Write all pages below a folder and return the first one; nothing is fetched, and no page needs the network."""
    pdoc.render.configure(docformat="markdown", show_source=False, template_directory=TEMPLATES)
    for name in heldout_scoring.__all__:
        getattr(heldout_scoring, name)  # imported when it is first used, and pdoc documents what is there
    documented = {name: pdoc.doc.Module(importlib.import_module(name)) for name in modules()}
    with warnings.catch_warnings():
        # array.array takes an element type in annotations that type checkers read, but not when they are evaluated
        warnings.filterwarnings("ignore", "Error parsing type annotation array")
        for name, module in documented.items():
            _write(folder / f"{name.replace('.', '/')}.html", pdoc.render.html_module(module, documented))
        _write(folder / "search.js", pdoc.render.search_index(documented))
    template = pdoc.render.env.get_template("protocols.html.jinja2")
    _write(folder / "protocols.html", template.render(protocols=protocols()))
    return folder / "heldout_scoring.html"


def modules() -> list[str]:
    """The library and all its modules, in the order of their names."""
    found = (each.name for each in pkgutil.walk_packages(heldout_scoring.__path__, "heldout_scoring."))
    return ["heldout_scoring", *(name for name in found if not name.endswith("__main__"))]


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
