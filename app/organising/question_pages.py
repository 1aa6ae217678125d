"""HTML pages: what a challenge asks about its methods."""

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from app.core.access import Action, Actor
from app.core.errors import RefusedError
from app.models import QuestionKind
from app.organising import questions
from app.organising.questions import DescriptionRule
from app.platform import Platform
from app.submissions.questions import NewQuestion
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import SentForm, field_errors, values_of

router = APIRouter(
    prefix="/organise/challenges/{challenge}/questions", dependencies=[requires(Action.ORGANISE)]
)


@router.get("")
def page(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """List the questions with forms to change them."""
    return _page(request, platform, actor, challenge)


def _page(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    form: dict[str, Any] | None = None,
    problems: dict[str, str] | None = None,
    changed: int | None = None,
    code: int = 200,
) -> Response:
    return render(
        request,
        "questions/questions.html",
        code=code,
        page=questions.questions_page(platform, actor, challenge),
        kinds=list(QuestionKind),
        form=form or {},
        problems=problems or {},
        changed=changed,
    )


def _new_question(sent: FormData) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of a question as they were sent, and as the API takes them."""
    form = values_of(sent, NewQuestion)
    choices = [line.strip() for line in str(form["choices"]).splitlines()]
    return form, form | {"choices": [line for line in choices if line]}


@router.post("")
def add(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Ask another question."""
    form, new = _new_question(sent)
    try:
        questions.add_question(platform, actor, challenge, NewQuestion.model_validate(new))
    except ValidationError as error:
        problems = _problems(error)
        return _page(request, platform, actor, challenge, form, problems, None, 422)
    except RefusedError as error:
        problems = {each.field: each.message for each in error.refusals}
        return _page(request, platform, actor, challenge, form, problems, None, 409)
    return _back(challenge)


@router.post("/description")
def set_description_rule(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Choose how long descriptions of public methods have to be."""
    try:
        rule = DescriptionRule.model_validate(values_of(sent, DescriptionRule))
        questions.set_description_rule(platform, actor, challenge, rule)
    except ValidationError as error:
        form, problems = {"shortest": sent.get("shortest", "")}, _problems(error)
        return _page(request, platform, actor, challenge, form, problems, 0, 422)
    return _back(challenge)


@router.post("/{question_id}")
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    question_id: int,
    sent: SentForm,
) -> Response:
    """Change a question."""
    form, new = _new_question(sent)
    try:
        questions.change_question(platform, actor, challenge, question_id, NewQuestion.model_validate(new))
    except ValidationError as error:
        problems = _problems(error)
        return _page(request, platform, actor, challenge, form, problems, question_id, 422)
    except RefusedError as error:
        problems = {each.field: each.message for each in error.refusals}
        return _page(request, platform, actor, challenge, form, problems, question_id, 409)
    return _back(challenge)


@router.post("/{question_id}/delete")
def delete(platform: ThePlatform, actor: CurrentActor, challenge: str, question_id: int) -> Response:
    """Delete a question with its answers."""
    questions.delete_question(platform, actor, challenge, question_id)
    return _back(challenge)


def _problems(error: ValidationError) -> dict[str, str]:
    """Return messages by field; those about several fields belong to the choices."""
    return {field or "choices": message for field, message in field_errors(error).items()}


def _back(challenge: str) -> Response:
    return RedirectResponse(f"/organise/challenges/{quote(challenge)}/questions", status_code=303)
