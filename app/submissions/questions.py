"""The questions that a challenge asks about its methods, and what their teams answered."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, TypeAdapter, ValidationError, model_validator
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.core.errors import AnswerInvalid, AnswerMissing, Refusal
from app.core.names import Visible
from app.models import Answer, Challenge, Method, Question, QuestionKind

MOST_QUESTIONS: Final = 20  # of a challenge
MOST_CHOICES: Final = 30
LONGEST_ANSWER: Final = 500  # characters
FIELD: Final = "answer-"  # of a form, before the id of the question
_ADDRESS: Final = TypeAdapter(HttpUrl)

ChoiceText = Annotated[str, Field(min_length=1, max_length=60), Visible]
Answers = Mapping[int, str]  # by the id of the question; without those that have no answer


class NewQuestion(BaseModel):
    """A question that organisers ask about every method of their challenge."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    text: Annotated[
        str, Field(min_length=2, max_length=60, description="the head of its column, e.g. 'Runtime'"), Visible
    ]
    kind: QuestionKind
    unit: Annotated[str, Field(max_length=20, description="of a number, e.g. 'ms per image'")] = ""
    choices: Annotated[
        tuple[ChoiceText, ...], Field(max_length=MOST_CHOICES, description="the possible answers of a choice")
    ] = ()
    is_required: Annotated[bool, Field(description="a method is public only once it has an answer")] = False
    is_column: Annotated[bool, Field(description="the answers are a column of the leaderboards")] = False
    is_filter: Annotated[bool, Field(description="leaderboards can be filtered by the answers")] = False

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind is QuestionKind.CHOICE and len(set(self.choices)) < 2:
            message = "a choice needs at least two different answers to choose from"
            raise ValueError(message)
        if self.kind is not QuestionKind.CHOICE and self.choices:
            message = "only a choice has answers to choose from"
            raise ValueError(message)
        if self.kind is not QuestionKind.NUMBER and self.unit:
            message = "only a number has a unit"
            raise ValueError(message)
        return self


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question of a challenge."""

    id: int
    text: str
    kind: QuestionKind
    unit: str
    choices: tuple[str, ...]
    is_required: bool
    is_column: bool
    is_filter: bool

    @property
    def title(self) -> str:
        """The text with the unit."""
        return f"{self.text} ({self.unit})" if self.unit else self.text


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question and a method's answer, None without one."""

    question: QuestionView
    answer: str | None


PRESETS: Final = (
    NewQuestion(
        text="Runtime", kind=QuestionKind.NUMBER, unit="ms per image", is_column=True, is_filter=True
    ),
    NewQuestion(text="Parameters", kind=QuestionKind.NUMBER, unit="million", is_column=True, is_filter=True),
    NewQuestion(text="Backbone", kind=QuestionKind.TEXT, is_column=True, is_filter=True),
)
"""The usual questions, which organisers add with one click."""


def answers_sent(fields: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Return the answers among the fields of a form, which are called answer-ID, by the ids of their questions.

    >>> answers_sent([("name", "Net"), ("answer-7", "12.5")])
    {'7': '12.5'}
    """
    return {
        name.removeprefix(FIELD): text
        for name, text in fields
        if re.fullmatch(rf"{FIELD}[0-9]{{1,18}}", name) and isinstance(text, str)
    }


def normal_answer(question: QuestionView, given: str) -> str | None:
    """Return an answer as it is stored, None if it does not fit its question; numbers are shortest decimals.

    >>> runtime = QuestionView(1, "Runtime", QuestionKind.NUMBER, "ms", (), False, True, True)
    >>> normal_answer(runtime, " 12.50 "), normal_answer(runtime, "fast")
    ('12.5', None)
    """
    given = " ".join(given.split())
    if len(given) > LONGEST_ANSWER or not given.isprintable():
        return None
    match question.kind:
        case QuestionKind.YES_NO:
            return given if given in ("yes", "no") else None
        case QuestionKind.CHOICE:
            return given if given in question.choices else None
        case QuestionKind.NUMBER:
            return _number(given)
        case QuestionKind.LINK:
            return given if _is_address(given) else None
    return given


def _number(given: str) -> str | None:
    try:
        value = float(given)
    except ValueError:
        return None
    return f"{value:.12g}" if math.isfinite(value) else None


def _is_address(given: str) -> bool:
    try:
        _ADDRESS.validate_python(given)
    except ValidationError:
        return False
    return True


def expected_of(question: QuestionView) -> str:
    """Return what an answer has to be, in words.

    >>> expected_of(QuestionView(1, "Data", QuestionKind.CHOICE, "", ("COCO", "none"), False, True, True))
    "one of 'COCO', 'none'"
    """
    match question.kind:
        case QuestionKind.YES_NO:
            return "yes or no"
        case QuestionKind.CHOICE:
            return f"one of {', '.join(map(repr, question.choices))}"
        case QuestionKind.NUMBER:
            return f"a number, in {question.unit}" if question.unit else "a number"
        case QuestionKind.LINK:
            return "an address that begins with https:// or http://"
    return f"text of at most {LONGEST_ANSWER} characters"


def answers_after(
    questions: Sequence[QuestionView], before: Answers, given: Answers
) -> tuple[dict[int, str], tuple[Refusal, ...]]:
    """Return the answers after a change, and why it is refused. An empty answer removes one; others stay as they are."""
    by_id = {each.id: each for each in questions}
    after, refusals = dict(before), list[Refusal]()
    for number, text in given.items():
        question = by_id.get(number)
        if question is None:
            refusals.append(AnswerInvalid(f"this challenge has no question {number}"))
        elif not text.strip():
            after.pop(number, None)
        elif (answer := normal_answer(question, text)) is None:
            refusals.append(
                AnswerInvalid(f"{question.text!r}: expected {expected_of(question)}, found {text[:60]!r}")
            )
        else:
            after[number] = answer
    return after, tuple(refusals)


def missing_answers(questions: Iterable[QuestionView], answers: Answers) -> AnswerMissing | None:
    """Return why a method cannot be public: the required questions without an answer."""
    missing = [each.text for each in questions if each.is_required and each.id not in answers]
    if not missing:
        return None
    return AnswerMissing(
        f"a public method of this challenge answers these questions, too: {', '.join(missing)}"
    )


def questions_of(session: Session, challenge_id: int) -> tuple[QuestionView, ...]:
    """Return the questions of a challenge in their order."""
    statement = select(Question).where(Question.challenge_id == challenge_id)
    rows = session.scalars(statement.order_by(Question.position, Question.id))
    return tuple(question_view(each) for each in rows)


def question_view(question: Question) -> QuestionView:
    """Return a question as pages and the API show it."""
    return QuestionView(
        question.id, question.text, question.kind, question.unit, tuple(question.choices), question.is_required,
        question.is_column, question.is_filter,
    )  # fmt: skip


def answers_of(session: Session, method_ids: Iterable[int]) -> dict[int, dict[int, str]]:
    """Return the answers of methods by question, by the id of the method."""
    statement = select(Answer.method_id, Answer.question_id, Answer.text)
    found: dict[int, dict[int, str]] = {}
    for method, question, text in session.execute(statement.where(Answer.method_id.in_(list(method_ids)))):
        found.setdefault(method, {})[question] = text
    return found


def store_answers(session: Session, method_id: int, before: Answers, after: Answers) -> None:
    """Store what has changed in a method's answers."""
    session.execute(
        delete(Answer).where(
            Answer.method_id == method_id,
            Answer.question_id.in_([each for each in before if before[each] != after.get(each)]),
        )
    )
    session.add_all(
        Answer(method_id=method_id, question_id=each, text=text)
        for each, text in after.items()
        if before.get(each) != text
    )


def answered(session: Session, method: Method) -> tuple[AnsweredQuestion, ...]:
    """Return the questions of a method's challenge with its answers."""
    answers = answers_of(session, [method.id]).get(method.id, {})
    return tuple(
        AnsweredQuestion(each, answers.get(each.id)) for each in questions_of(session, method.challenge_id)
    )


def shortest_description(session: Session, challenge_id: int) -> int:
    """Return how many characters the description of a public method of a challenge needs."""
    return session.get_one(Challenge, challenge_id).shortest_description


def answer_counts(session: Session, challenge_id: int) -> dict[int, int]:
    """Return how many methods have answered each question of a challenge that any has answered."""
    statement = (
        select(Answer.question_id, func.count())
        .join(Question, Question.id == Answer.question_id)
        .where(Question.challenge_id == challenge_id)
        .group_by(Answer.question_id)
    )
    return dict(session.execute(statement).all())
