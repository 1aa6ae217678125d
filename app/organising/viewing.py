"""Viewing a challenge as a visitor or a new participant: for organisers, read-only, for half an hour."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from urllib.parse import quote

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Action, Actor, View, require_challenge
from app.core.errors import ForbiddenError
from app.core.secret_hashes import hash_of_token
from app.models import Method, Phase, Result, Run, Submission, Team, Viewing
from app.platform import Platform
from app.web.addresses import route_of
from app.web.dependencies import action_of
from app.web.route_marks import marks_of

LASTS: Final = timedelta(minutes=30)
SAFE: Final = ("GET", "HEAD", "OPTIONS")
# what a new participant may do on pages that are about one challenge or an object of it
OF_PARTICIPANTS: Final = frozenset(
    {Action.READ_PUBLIC, Action.UPLOAD, Action.ASK, Action.READ_SUBMISSION, Action.READ_TEAM}
)


class NewView(BaseModel):
    """Whose eyes: those of a visitor, or of somebody who is logged in and in no team."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    is_visitor: bool = False


def start(platform: Platform, actor: Actor, code: str, cookie: str, wanted: NewView) -> None:
    """View a challenge as somebody else from the next request of this session on.

    Raises NotFoundError for a challenge that the actor does not organise.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, Action.VIEW_AS)
        values = {
            "challenge_id": challenge.id,
            "team_id": None,  # a process of the release before may have left one
            "is_visitor": wanted.is_visitor,
            "until": func.now() + LASTS,
        }
        row = insert(Viewing).values(token_hash=hash_of_token(cookie), **values)
        session.execute(row.on_conflict_do_update(index_elements=[Viewing.token_hash], set_=values))
        view = View(challenge.id, challenge.code, challenge.title, is_visitor=wanted.is_visitor)
        _record(session, actor, "view.start", challenge.id, view.eyes)


def end(platform: Platform, view: View, organiser: Actor, cookie: str) -> None:
    """See everything with one's own eyes again."""
    with platform.transaction() as session:
        session.execute(delete(Viewing).where(Viewing.token_hash == hash_of_token(cookie)))
        _record(session, organiser, "view.end", view.challenge_id, view.eyes)


def _record(session: Session, actor: Actor, action: str, challenge_id: int, eyes: str) -> None:
    subject, details = f"challenge {challenge_id}", {"eyes": eyes}
    audit.record(session, actor.user_id, action, subject, challenge_id=challenge_id, details=details)


def check(platform: Platform, view: View, request: Request) -> None:
    """Raise ForbiddenError unless somebody with this view may send such a request: reading pages of its challenge."""
    route, params = route_of(request)
    is_part = marks_of(route).in_views if route else False
    if is_part:
        return
    if request.method not in SAFE:
        raise ForbiddenError(f"You see this as {view.eyes}; nothing can be changed until you end the view")
    if is_part is False or route is None or not _is_about(platform, view, route, params):
        raise ForbiddenError(
            f"You see {view.title} as {view.eyes}; this page is not part of it. End the view to go there"
        )


def _is_about(platform: Platform, view: View, route: APIRoute, params: Mapping[str, str]) -> bool:
    """Whether a page is for participants and about the challenge of the view, or an object of it."""
    if route.path.startswith("/api/") or action_of(route.dependencies) not in OF_PARTICIPANTS:
        return False
    if "challenge" in params:
        return params["challenge"] == view.code
    found = [_challenge_of(platform, name, number) for name, number in params.items()]
    return found == [view.challenge_id]


_OF_RESULT = select(Phase.challenge_id).join(Result, Result.phase_id == Phase.id)
CHALLENGE_OF: Final = {
    "team_id": (select(Team.challenge_id), Team.id),
    "method_id": (select(Method.challenge_id), Method.id),
    "submission_id": (
        select(Phase.challenge_id).join(Submission, Submission.phase_id == Phase.id),
        Submission.id,
    ),
    "run_id": (_OF_RESULT.join(Run, Run.result_id == Result.id), Run.id),
}
"""By the parameter in a page's address: what selects the challenge of its object, and the number of that object."""


def _challenge_of(platform: Platform, name: str, number: str) -> int | None:
    """Return the challenge of an object that a page is about; None if there is no such object."""
    if name not in CHALLENGE_OF or not (number.isascii() and number.isdecimal() and len(number) < 19):
        return None
    statement, column = CHALLENGE_OF[name]
    with platform.reading() as session:
        return session.scalar(statement.where(column == int(number)))


def page_of(code: str) -> str:
    """Return the page with which a view begins."""
    return f"/challenges/{quote(code)}"
