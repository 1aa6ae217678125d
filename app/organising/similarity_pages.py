"""HTML pages: similar results."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor
from app.evaluation import similarity
from app.evaluation.similarity import Dismissal
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])


@router.get("/phases/{phase_id}/alike")
def pairs(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    before: int | None = None,
    *,
    dismissed: bool = False,
) -> Response:
    """List pairs of results so similar that the methods may be the same."""
    return _pairs(request, platform, actor, phase_id, Form(), before, dismissed=dismissed)


def _pairs(
    request: Request,
    platform: Platform,
    actor: Actor,
    phase_id: int,
    form: Form,
    before: int | None = None,
    *,
    dismissed: bool = False,
) -> Response:
    found = similarity.pairs(platform, actor, phase_id, before, dismissed=dismissed)
    return render(
        request, "similarity/pairs.html", list=found, phase=found.phase, rules=similarity, form=form
    )


@router.post("/alike/{pair_id}/dismiss")
@marked(done="The two results are no longer listed.")
def dismiss(
    request: Request, platform: ThePlatform, actor: CurrentActor, pair_id: int, form: TheForm
) -> Response:
    """Dismiss a pair."""
    with form.showing_errors(names={"reason": f"reason-{pair_id}"}):
        return _to(similarity.dismiss(platform, actor, pair_id, form.read(Dismissal)))
    return _pairs(request, platform, actor, similarity.phase_of(platform, actor, pair_id), form)


@router.post("/alike/{pair_id}/restore")
@marked(done="The two results are listed again.")
def restore(platform: ThePlatform, actor: CurrentActor, pair_id: int) -> Response:
    """Restore a dismissed pair."""
    return _to(similarity.restore(platform, actor, pair_id))


def _to(phase_id: int) -> Response:
    return RedirectResponse(f"/organise/phases/{phase_id}/alike", status_code=303)
