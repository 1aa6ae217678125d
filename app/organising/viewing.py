"""Viewing a challenge as a visitor or a new participant: for organisers, read-only, for half an hour."""

import re
from datetime import timedelta
from typing import Final
from urllib.parse import quote, unquote

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

LASTS: Final = timedelta(minutes=30)
SAFE: Final = ("GET", "HEAD", "OPTIONS")
# what a viewer may send: the end of the view, and of the session
LEAVES: Final = ("/organise/view-as/end", "/logout")
OWN_LISTS: Final = ("/submissions", "/uploads")
# pages whose second part is a challenge; nothing of them is stored about the reader
OF_CHALLENGE: Final = re.compile(r"/(challenges|leaderboards|compare|pictures|select)/([^/]+)(/.*)?")
# files are recorded as downloads of a person
DOWNLOAD: Final = re.compile(r"/challenges/[^/]+/data/\d+")
OF_OBJECT: Final = re.compile(r"/(submissions|teams|methods|results|runs)/([^/]+)(/status|/images)?")


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


def check(platform: Platform, view: View, method: str, path: str) -> None:
    """Raise ForbiddenError unless somebody with this view may send such a request: reading pages of its challenge."""
    if path in LEAVES:
        return
    if method not in SAFE:
        raise ForbiddenError(f"You see this as {view.eyes}; nothing can be changed until you end the view")
    if not _is_allowed(platform, view, path):
        raise ForbiddenError(
            f"You see {view.title} as {view.eyes}; this page is not part of it. End the view to go there"
        )


def _is_allowed(platform: Platform, view: View, path: str) -> bool:
    if path in OWN_LISTS or path.startswith("/site/"):
        return True
    if found := OF_CHALLENGE.fullmatch(path):
        return unquote(found[2]) == view.code and not DOWNLOAD.fullmatch(path)
    found = OF_OBJECT.fullmatch(path)
    return found is not None and _challenge_of(platform, found[1], found[2]) == view.challenge_id


_OF_RESULT = select(Phase.challenge_id).join(Result, Result.phase_id == Phase.id)
CHALLENGE_OF: Final = {
    "teams": (select(Team.challenge_id), Team.id),
    "methods": (select(Method.challenge_id), Method.id),
    "submissions": (
        select(Phase.challenge_id).join(Submission, Submission.phase_id == Phase.id),
        Submission.id,
    ),
    "results": (_OF_RESULT, Result.id),
    "runs": (_OF_RESULT.join(Run, Run.result_id == Result.id), Run.id),
}
"""By the first part of a page's address: what selects the challenge of its object, and the number of that object."""


def _challenge_of(platform: Platform, kind: str, number: str) -> int | None:
    """Return the challenge of an object that a page is about; None if there is no such object."""
    if not (number.isascii() and number.isdecimal() and len(number) < 19):
        return None
    statement, column = CHALLENGE_OF[kind]
    with platform.reading() as session:
        return session.scalar(statement.where(column == int(number)))


def page_of(code: str) -> str:
    """Return the page with which a view begins."""
    return f"/challenges/{quote(code)}"
