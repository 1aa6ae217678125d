"""JSON API: methods."""

from fastapi import APIRouter

from app.core.access import Action
from app.core.rate_limits import Limited
from app.results import methods as views
from app.results.methods import MethodPage
from app.submissions import methods
from app.submissions.methods import MethodEdit, MethodView
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["methods"])


@router.get("/methods/{method_id}", dependencies=[requires(Action.READ_SUBMISSION)])
def method(platform: ThePlatform, actor: CurrentActor, method_id: int) -> MethodPage:
    """A method with its description, its submissions, and its history."""
    return views.method_page(platform, actor, method_id)


@router.patch("/methods/{method_id}", dependencies=[requires(Action.CHANGE_METHOD), limited(Limited.CHANGE)])
def edit(platform: ThePlatform, actor: CurrentActor, method_id: int, edit: MethodEdit) -> MethodView:
    """Change the description of your team's method. If it is public, its earlier descriptions remain visible to everyone.

    The name can be changed until the first score.
    """
    return methods.edit(platform, actor, method_id, edit)


@router.post("/methods/{method_id}/public", status_code=204, dependencies=[requires(Action.PUBLISH)])
def make_public(platform: ThePlatform, actor: CurrentActor, method_id: int) -> None:
    """Make a method of your team public with all its results. This cannot be undone."""
    methods.make_public(platform, actor, method_id)
