"""Pages: the forms to change and publish a method."""

from dataclasses import asdict

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.core.rate_limits import Limited
from app.results import methods as views
from app.submissions import methods
from app.submissions.methods import MethodEdit
from app.submissions.questions import FIELD, answers_sent
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()


@router.get("/methods/{method_id}/edit", dependencies=[requires(Action.CHANGE_METHOD)])
def form(request: Request, platform: ThePlatform, actor: CurrentActor, method_id: int) -> Response:
    """Show the form to change a method's description."""
    page = views.own_method_page(platform, actor, method_id)
    answers = {f"{FIELD}{each.question.id}": each.answer or "" for each in page.answers}
    return render(request, "methods/edit.html", page=page, form=Form(asdict(page.method) | answers))


@router.post(
    "/methods/{method_id}/edit", dependencies=[requires(Action.CHANGE_METHOD), limited(Limited.CHANGE)]
)
@marked(done="The method is saved.")
def edit(
    request: Request, platform: ThePlatform, actor: CurrentActor, method_id: int, form: TheForm
) -> Response:
    """Change a method's description."""
    answers = answers_sent(form.sent.items())
    form.fill({f"{FIELD}{question}": answer for question, answer in answers.items()})
    with form.showing_errors():
        methods.edit(platform, actor, method_id, form.read(MethodEdit, answers=answers))
        return RedirectResponse(f"/methods/{method_id}", status_code=303)
    page = views.own_method_page(platform, actor, method_id)
    return render(request, "methods/edit.html", page=page, form=form)


@router.post("/methods/{method_id}/public", dependencies=[requires(Action.PUBLISH)])
@marked(done="The method is public now.")
def make_public(platform: ThePlatform, actor: CurrentActor, method_id: int) -> Response:
    """Make a method public."""
    methods.make_public(platform, actor, method_id)
    return RedirectResponse(f"/methods/{method_id}", status_code=303)
