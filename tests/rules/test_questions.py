"""Questions about methods, and which answers are valid."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.models import QuestionKind
from app.submissions.questions import NewQuestion, QuestionView, answers_after, normal_answer


def question(kind: str, number: int = 1, *choices: str) -> QuestionView:
    return QuestionView(number, "Asked", QuestionKind(kind), "", choices, True, True, True)


@pytest.mark.parametrize(
    ("kind", "given", "stored"),
    [
        ("number", "12.50", "12.5"),
        ("number", "1e3", "1000"),
        ("number", "nan", None),
        ("number", "inf", None),
        ("number", "twelve", None),
        ("yes or no", "yes", "yes"),
        ("yes or no", "maybe", None),
        ("choice", "COCO", "COCO"),
        ("choice", "coco", None),
        ("text", "  ResNet \n 50 ", "ResNet 50"),
        ("text", "x" * 501, None),
        ("text", "a\u202eb", None),
        ("link", "https://example.org/card", "https://example.org/card"),
        ("link", "javascript:alert(1)", None),
    ],
)
def test_an_answer_is_normalised_or_refused(kind: str, given: str, stored: str | None) -> None:
    assert normal_answer(question(kind, 1, "COCO", "none"), given) == stored


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "choice", "choices": ["one"]},
        {"kind": "choice", "choices": ["one", "one"]},
        {"kind": "text", "choices": ["one", "two"]},
        {"kind": "text", "unit": "ms"},
        {"kind": "essay"},
        {"kind": "number", "text": "x"},
    ],
)
def test_an_inconsistent_question_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        NewQuestion.model_validate({"text": "Asked", **fields})


def test_all_invalid_answers_are_reported_at_once_and_the_others_are_kept() -> None:
    questions = (question("number", 1), question("yes or no", 2), question("text", 3))

    after, refusals = answers_after(questions, {1: "5", 3: "old"}, {1: "fast", 2: "perhaps", 3: "", 9: "x"})

    assert after == {1: "5"}
    assert [each.message for each in refusals] == [
        "'Asked': expected a number, found 'fast'",
        "'Asked': expected yes or no, found 'perhaps'",
        "this challenge has no question 9",
    ]
