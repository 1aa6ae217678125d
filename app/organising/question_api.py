"""JSON API: what a challenge asks about its methods."""

from fastapi import APIRouter

from app.core.access import Action
from app.organising import questions
from app.organising.questions import DescriptionRule, QuestionsView
from app.submissions.questions import NewQuestion, QuestionView
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["methods"])

HERE = "/organise/challenges/{challenge}/questions"
ORGANISE = requires(Action.ORGANISE)


@router.get("/challenges/{challenge}/questions", dependencies=[requires(Action.READ_PUBLIC)])
def public_questions(platform: ThePlatform, challenge: str) -> tuple[QuestionView, ...]:
    """List the questions that a challenge asks about its methods; answers are part of a method."""
    return questions.public_questions(platform, challenge)


@router.get(HERE, dependencies=[ORGANISE])
def organised_questions(platform: ThePlatform, actor: CurrentActor, challenge: str) -> QuestionsView:
    """List the questions of a challenge with the numbers of their answers, and the usual ones that it does not ask."""
    return questions.questions_page(platform, actor, challenge)


@router.post(HERE, status_code=201, dependencies=[ORGANISE])
def add(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewQuestion) -> QuestionView:
    """Ask another question about every method of the challenge."""
    return questions.add_question(platform, actor, challenge, new)


@router.put(f"{HERE}/description", status_code=204, dependencies=[ORGANISE])
def set_description_rule(
    platform: ThePlatform, actor: CurrentActor, challenge: str, rule: DescriptionRule
) -> None:
    """Choose how long the descriptions of public methods have to be; methods that are public stay so."""
    questions.set_description_rule(platform, actor, challenge, rule)


@router.put(f"{HERE}/{{question_id}}", dependencies=[ORGANISE])
def change(
    platform: ThePlatform, actor: CurrentActor, challenge: str, question_id: int, new: NewQuestion
) -> QuestionView:
    """Change a question; once methods have answered, their answers still have to fit it."""
    return questions.change_question(platform, actor, challenge, question_id, new)


@router.delete(f"{HERE}/{{question_id}}", status_code=204, dependencies=[ORGANISE])
def delete(platform: ThePlatform, actor: CurrentActor, challenge: str, question_id: int) -> None:
    """Delete a question with all its answers."""
    questions.delete_question(platform, actor, challenge, question_id)
