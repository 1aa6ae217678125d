"""HTML pages: similar results."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.evaluation import similarity
from app.evaluation.similarity import Dismissal
from app.web.dependencies import CurrentActor, ThePlatform, render, requires

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
    found = similarity.pairs(platform, actor, phase_id, before, dismissed=dismissed)
    return render(request, "similarity/pairs.html", list=found, phase=found.phase, rules=similarity)


@router.post("/alike/{pair_id}/dismiss")
def dismiss(
    platform: ThePlatform,
    actor: CurrentActor,
    pair_id: int,
    reason: Annotated[str, Form(min_length=1, max_length=1000)],
) -> Response:
    """Dismiss a pair."""
    return _to(similarity.dismiss(platform, actor, pair_id, Dismissal(reason=reason)))


@router.post("/alike/{pair_id}/restore")
def restore(platform: ThePlatform, actor: CurrentActor, pair_id: int) -> Response:
    """Restore a dismissed pair."""
    return _to(similarity.restore(platform, actor, pair_id))


def _to(phase_id: int) -> Response:
    return RedirectResponse(f"/organise/phases/{phase_id}/alike", status_code=303)
