"""Run the recipes of the library and the guide from other libraries: what they print is what their comments say."""

import re
from typing import Any

import pytest

from tests.documents import NOT_RUN, Block, blocks
from tests.shared import ROOT

RECIPES, GUIDE = "docs/recipes.md", "docs/migrating.md"
LIBRARIES = ("pycocotools", "torchmetrics", "supervision", "Ultralytics")
MOST_LINES = 6


def by_section(file: str) -> dict[str, list[Block]]:
    """The blocks of Python below each second-level heading that has some."""
    lines, found = (ROOT / file).read_text().splitlines(), dict[str, list[Block]]()
    for block in blocks(file):
        title = next(line[3:] for line in lines[block.line :: -1] if line.startswith("## "))
        if block.language == "python":
            found.setdefault(title, []).append(block)
    return found


def promised(text: str) -> list[str]:
    """What the comments behind `print` say that it prints."""
    return re.findall(r"^print\(.*\)  # (.+)$", text, re.MULTILINE)


def run(text: str, file: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    return names


ALL_RECIPES = {title: found.text for title, [found] in by_section(RECIPES).items()}
FIRST = next(iter(ALL_RECIPES.values()))
WAYS = {
    library: "\n".join(
        block.text for block in found if block.mark != NOT_RUN and "pycocotools" not in block.text
    )
    for library, found in by_section(GUIDE).items()
}
"""The data and what is done with them here."""
PROGRAMS = {"recipes": "\n".join(ALL_RECIPES.values())} | WAYS
"""What needs nothing but NumPy."""


@pytest.mark.parametrize("title", ALL_RECIPES)
def test_a_recipe_is_short_and_prints_what_it_says(title: str, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = ALL_RECIPES[title]
    lines = [line for line in recipe.splitlines() if line and not line.startswith("import ")]

    run(FIRST if recipe == FIRST else FIRST + recipe, RECIPES)

    said = promised(recipe)
    assert len(lines) <= MOST_LINES
    assert said
    assert capsys.readouterr().out.splitlines()[-len(said) :] == said


@pytest.fixture(scope="module")
def figures_of_pycocotools() -> dict[str, float | None]:
    from pycocotools.cocoeval import COCOeval

    sections = by_section(GUIDE)["pycocotools"]
    evaluation = run("\n".join(block.text for block in sections), GUIDE)["evaluation"]
    assert isinstance(evaluation, COCOeval)
    names = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")
    values = (None if value == -1 else value for value in evaluation.stats.tolist())
    return dict(zip(names, values, strict=True))


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_way_from_a_library_gives_the_figures_of_pycocotools(
    library: str, figures_of_pycocotools: dict[str, float | None], capsys: pytest.CaptureFixture[str]
) -> None:
    figures = run(WAYS[library], GUIDE)["result"].figures

    assert capsys.readouterr().out.splitlines()[-1:] == promised(WAYS[library])
    assert [*figures] == [*figures_of_pycocotools]
    for name, value in figures_of_pycocotools.items():
        assert figures[name] == (None if value is None else pytest.approx(value, rel=0, abs=1e-12))


def test_the_guide_has_a_section_of_every_library_with_code_before_and_after() -> None:
    sections = by_section(GUIDE)

    assert tuple(sections) == LIBRARIES
    for data, before, after in sections.values():
        assert not data.mark
        assert "heldout_scoring" not in before.text
        assert "from heldout_scoring import" in after.text
        compile(before.text, GUIDE, "exec")
