import ast
import builtins
import importlib
import json
import pkgutil
from pathlib import Path

import pytest

import heldout_scoring
from heldout_scoring import ScoringError
from heldout_scoring.data.description import Description
from heldout_scoring.errors import LISTED, MAX_LISTED, Problem, Problems, Severity, SubmissionError, shown
from tests.scoring.archives import description

FALSE_POSITIVE = Problem("field-count", "expected 6 fields, found 5", "comp3_det_test_car.txt", 1042)


PYTHONS_OWN = (AttributeError, ImportError, AssertionError)
"""What Python asks for where an attribute or a package is not there."""


def modules() -> list[str]:
    found = pkgutil.walk_packages(heldout_scoring.__path__, "heldout_scoring.")
    return sorted(each.name for each in found if "command_line" not in each.name and not each.ispkg)


@pytest.mark.sampled
@pytest.mark.parametrize("name", modules())
def test_what_is_refused_on_purpose_has_one_base_class(name: str) -> None:
    module = importlib.import_module(name)
    raised = [
        getattr(module, node.exc.func.id, None) or getattr(builtins, node.exc.func.id, None)
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text()))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and isinstance(node.exc.func, ast.Name)
    ]
    kinds = {each for each in raised if isinstance(each, type) and each not in PYTHONS_OWN}

    others = {
        each for each in kinds if not issubclass(each, ScoringError) and not each.__name__.startswith("_")
    }

    assert others <= (
        {ValueError} if name.endswith("records") else set()
    )  # which Python's parser of JSON passes on


def test_a_problem_starts_with_its_place() -> None:
    assert str(FALSE_POSITIVE) == "comp3_det_test_car.txt:1042: expected 6 fields, found 5"
    assert str(Problem("empty", "the archive is empty")) == "the archive is empty"
    assert str(Problem("link", "a link", "results/a.txt")) == "results/a.txt: a link"


def test_an_error_lists_every_problem() -> None:
    error = SubmissionError(FALSE_POSITIVE, Problem("empty", "the archive is empty"))

    assert error.problems[1].code == "empty"
    assert str(error).splitlines() == [str(FALSE_POSITIVE), "the archive is empty"]


def test_twenty_problems_of_a_kind_are_listed_and_the_rest_counted() -> None:
    problems = Problems()

    problems.extend(Problem("unknown-image", "unknown", line=line) for line in range(1, LISTED + 6))
    problems.add(FALSE_POSITIVE)

    assert [problem.line for problem in problems.listed] == [*range(1, LISTED + 1), 1042]
    assert problems.unlisted == {"unknown-image": 5}


def test_each_file_lists_twenty_of_a_kind_and_a_report_a_thousand() -> None:
    problems = Problems()
    for code in ("binary", "encoding", "field-count"):
        problems.extend(Problem(code, "", f"{each % 100}.txt", each) for each in range(10_000))

    assert len(problems.listed) == MAX_LISTED
    assert problems.unlisted == {"binary": 9_500, "encoding": 9_500, "field-count": 10_000}
    assert problems.total == 30_000


def test_notes_are_listed_separately_from_problems() -> None:
    problems = Problems()

    problems.note(FALSE_POSITIVE)
    problems.add(FALSE_POSITIVE, Severity.NOTE)

    assert problems.listed == ()
    assert problems.notes == (FALSE_POSITIVE, FALSE_POSITIVE)


def test_quoted_input_has_no_terminal_control_characters() -> None:
    assert shown("comp3_det_test_car.txt") == "comp3_det_test_car.txt"
    assert shown("a\x1b[31m\0\u202e") == r"a\x1b[31m\x00\u202e"
    assert shown("\ud83d") == shown("\udce9") == "\N{REPLACEMENT CHARACTER}"
    assert shown(b"2008_00\xe9") == r"2008_00\xe9"


def test_quoted_input_is_shortened_to_fit_a_sentence() -> None:
    assert shown("A" * 5000) == "A" * 119 + "…"
    assert len(shown(b"\0" * 5000)) == 120
    assert shown("abcdef", 4) == "abc…"


def test_a_description_survives_a_round_trip_through_json() -> None:
    text = description().to_json()

    assert Description.from_json(text) == description()
    assert Description.from_json(text).to_json() == text
    assert json.loads(text)["images"][0] == ["000001", 500, 375]
