"""HTML pages: what a challenge asks about its methods."""

from dataclasses import asdict
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor
from app.models import QuestionKind
from app.organising import questions
from app.organising.questions import DescriptionRule
from app.platform import Platform
from app.submissions.questions import NewQuestion
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter(
    prefix="/organise/challenges/{challenge}/questions", dependencies=[requires(Action.ORGANISE)]
)


@router.get("")
def page(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """List the questions with forms to change them."""
    return _page(request, platform, actor, challenge, Form())


def _page(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    form: Form,
    changed: int | None = None,
) -> Response:
    """Show the questions, each with its form; changed: whose form was refused."""
    page = questions.questions_page(platform, actor, challenge)
    form.fill({"shortest": page.shortest_description, "kind": QuestionKind.NUMBER})
    for each in page.questions:
        stored = asdict(each.question) | {"choices": "\n".join(each.question.choices)}
        form.fill({f"{name}-{each.question.id}": stored[name] for name in NewQuestion.model_fields})
    return render(
        request,
        "questions/questions.html",
        page=page,
        kinds=list(QuestionKind),
        form=form,
        changed=changed,
    )


def _read(form: Form) -> NewQuestion:
    choices = [line.strip() for line in form.text("choices").splitlines()]
    return form.read(NewQuestion, choices=[line for line in choices if line])


@router.post("")
@marked(done="The question is added.")
def add(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Ask another question."""
    with form.showing_errors(names={"": "choices"}):
        questions.add_question(platform, actor, challenge, _read(form))
        return _back(challenge)
    return _page(request, platform, actor, challenge, form)


@router.post("/description")
@marked(done="The rule is saved.")
def set_description_rule(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Choose how long descriptions of public methods have to be."""
    with form.showing_errors():
        questions.set_description_rule(platform, actor, challenge, form.read(DescriptionRule))
        return _back(challenge)
    return _page(request, platform, actor, challenge, form)


@router.post("/{question_id}")
@marked(done="The question is saved.")
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    question_id: int,
    form: TheForm,
) -> Response:
    """Change a question."""
    names = {name: f"{name}-{question_id}" for name in NewQuestion.model_fields}
    with form.showing_errors(names=names | {"": names["choices"]}):
        questions.change_question(platform, actor, challenge, question_id, _read(form))
        return _back(challenge)
    return _page(request, platform, actor, challenge, form, question_id)


@router.post("/{question_id}/delete")
@marked(done="The question is deleted.")
def delete(platform: ThePlatform, actor: CurrentActor, challenge: str, question_id: int) -> Response:
    """Delete a question with its answers."""
    questions.delete_question(platform, actor, challenge, question_id)
    return _back(challenge)


def _back(challenge: str) -> Response:
    return RedirectResponse(f"/organise/challenges/{quote(challenge)}/questions", status_code=303)
