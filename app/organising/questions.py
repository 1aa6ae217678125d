"""What organisers ask about the methods of their challenge: the questions, and the length of descriptions."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.core import audit
from app.core.access import Actor, require_challenge
from app.core.errors import NotFoundError, QuestionAnswered, QuestionRepeated, RefusedError, TooManyQuestions
from app.models import Answer, Challenge, Method, Question, QuestionKind
from app.platform import Platform
from app.submissions.questions import (
    MOST_QUESTIONS,
    PRESETS,
    NewQuestion,
    QuestionView,
    answer_counts,
    question_view,
    questions_of,
)


class DescriptionRule(BaseModel):
    """How long the description of a public method has to be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    shortest: Annotated[int, Field(ge=0, le=4000, description="characters; 0 for none")]


@dataclass(frozen=True, slots=True)
class OrganisedQuestion:
    """A question, and how many methods have answered it."""

    question: QuestionView
    answers: int


@dataclass(frozen=True, slots=True)
class QuestionsView:
    """What a challenge asks about its methods. presets: usual questions that it does not ask yet."""

    code: str
    title: str
    shortest_description: int
    questions: tuple[OrganisedQuestion, ...]
    presets: tuple[NewQuestion, ...]


def public_questions(platform: Platform, code: str) -> tuple[QuestionView, ...]:
    """Return the questions of a challenge. Raises NotFoundError."""
    with platform.snapshot() as session:
        challenge = challenges.find_challenge(session, code)
        return questions_of(session, challenge.id)


def questions_page(platform: Platform, actor: Actor, code: str) -> QuestionsView:
    """Return what a challenge asks. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        counts = answer_counts(session, challenge.id)
        asked = questions_of(session, challenge.id)
        texts = {each.text for each in asked}
        return QuestionsView(
            challenge.code,
            challenge.title,
            challenge.shortest_description,
            tuple(OrganisedQuestion(each, counts.get(each.id, 0)) for each in asked),
            tuple(each for each in PRESETS if each.text not in texts),
        )


def add_question(platform: Platform, actor: Actor, code: str, new: NewQuestion) -> QuestionView:
    """Ask another question, after the others. Raises NotFoundError, ForbiddenError, RefusedError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        asked = questions_of(session, challenge.id)
        if len(asked) >= MOST_QUESTIONS:
            raise RefusedError([TooManyQuestions(f"a challenge asks at most {MOST_QUESTIONS} questions")])
        _require_new_text(asked, new)
        question = ask(session, challenge, new)
        _changed(session, actor, challenge, "question.add", question, after=_facts(new))
        view = question_view(question)
    platform.cache.expire_versions()
    return view


def ask(session: Session, challenge: Challenge, new: NewQuestion) -> Question:
    """Add a question of a locked challenge, after the others."""
    last = select(func.coalesce(func.max(Question.position), 0)).where(Question.challenge_id == challenge.id)
    question = Question(
        challenge_id=challenge.id, position=(session.scalar(last) or 0) + 1, **_columns_of(new)
    )
    session.add(question)
    session.flush()
    return question


def change_question(
    platform: Platform, actor: Actor, code: str, question_id: int, new: NewQuestion
) -> QuestionView:
    """Change a question. Its answers stay, so they still have to fit.

    Raises NotFoundError, ForbiddenError, RefusedError if another has this text, or if methods have answered and the kind, the unit or one of the chosen
    answers would change.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        question = _question(session, challenge, question_id)
        before = question_view(question)
        if new.text != before.text:
            _require_new_text(questions_of(session, challenge.id), new)
        given = set(session.scalars(select(Answer.text).where(Answer.question_id == question_id)))
        if given and (reason := _misfit(before, new, given)):
            raise RefusedError([QuestionAnswered(reason)])
        for field, value in _columns_of(new).items():
            setattr(question, field, value)
        session.flush()
        facts = {field: value for field, value in _facts(before).items() if value != _facts(new)[field]}
        _changed(
            session, actor, challenge, "question.change", question, before=facts,
            after={field: _facts(new)[field] for field in facts},
        )  # fmt: skip
        view = question_view(question)
    platform.cache.expire_versions()
    return view


def _require_new_text(others: Iterable[QuestionView], new: NewQuestion) -> None:
    if any(each.text == new.text for each in others):
        raise RefusedError([QuestionRepeated("is asked already; give each question a text of its own")])


def _misfit(before: QuestionView, new: NewQuestion, given: set[str]) -> str | None:
    if (before.kind, before.unit) != (new.kind, new.unit):
        return "methods have answered this question, so its kind and its unit cannot change; delete it and ask another"
    lost = sorted(given - set(new.choices)) if new.kind is QuestionKind.CHOICE else []
    if lost:
        return f"methods have chosen {', '.join(map(repr, lost))}, so this cannot be removed"
    return None


def delete_question(platform: Platform, actor: Actor, code: str, question_id: int) -> None:
    """Delete a question with all its answers. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        question = _question(session, challenge, question_id)
        answers = answer_counts(session, challenge.id).get(question_id, 0)
        before = {**_facts(question_view(question)), "answers": answers}
        _changed(session, actor, challenge, "question.delete", question, before=before)
        session.delete(question)
    platform.cache.expire_versions()


def set_description_rule(platform: Platform, actor: Actor, code: str, rule: DescriptionRule) -> None:
    """Choose how long descriptions of public methods have to be; public methods stay public.

    Raises NotFoundError, ForbiddenError.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        before, challenge.shortest_description = challenge.shortest_description, rule.shortest
        if before == rule.shortest:
            return
        audit.record(
            session, actor.user_id, "description.rule", f"challenge {challenge.id}", challenge_id=challenge.id,
            before={"shortest": before}, after={"shortest": rule.shortest},
        )  # fmt: skip


def _question(session: Session, challenge: Challenge, question_id: int) -> Question:
    question = session.get(Question, question_id)
    if question is None or question.challenge_id != challenge.id:
        raise NotFoundError(f"there is no question {question_id} in {challenge.code}")
    return question


FIELDS = tuple(NewQuestion.model_fields)


def _columns_of(new: NewQuestion) -> dict[str, object]:
    return {**{field: getattr(new, field) for field in FIELDS}, "choices": list(dict.fromkeys(new.choices))}


def _facts(question: NewQuestion | QuestionView) -> dict[str, object]:
    """What the audit log says of a question."""
    known = question.model_dump(mode="json") if isinstance(question, NewQuestion) else asdict(question)
    return {field: list(known[field]) if field == "choices" else known[field] for field in FIELDS}


def _changed(
    session: Session,
    actor: Actor,
    challenge: Challenge,
    action: str,
    question: Question,
    *,
    before: Mapping[str, Any] = MappingProxyType({}),
    after: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Record a change, and let the boards of the challenge be drawn again: they depend on the revisions of its methods."""
    session.execute(
        update(Method).where(Method.challenge_id == challenge.id).values(revision=Method.revision + 1)
    )
    audit.record(
        session, actor.user_id, action, f"question {question.id}", challenge_id=challenge.id, before=dict(before),
        after=dict(after),
    )  # fmt: skip
