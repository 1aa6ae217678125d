"""JSON API: questions to the organisers and their answers."""

from fastapi import APIRouter

from app.challenges import asking
from app.challenges.asking import Asking, NewAsking
from app.core.access import Action
from app.core.paging import Before, RowPage
from app.core.rate_limits import Limited
from app.notifications import threads
from app.notifications.thread_pages import State
from app.notifications.threads import NewMessage, NewThread, OrganisedThreads, ThreadRow, ThreadView
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["questions"])

CHANGE, ORGANISE = limited(Limited.CHANGE), requires(Action.ORGANISE)


@router.post("/challenges/{challenge}/threads", status_code=201, dependencies=[requires(Action.ASK), CHANGE])
def ask(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewThread) -> ThreadView:
    """Ask the organisers of a challenge. Your team and they read the question; without a team in the challenge, only you and they."""
    return threads.ask(platform, actor, challenge, new)


@router.get("/threads", dependencies=[requires(Action.READ_OWN)])
def mine(platform: ThePlatform, actor: CurrentActor, before: Before = None) -> RowPage[ThreadRow]:
    """List the questions of your teams, the one with the newest message first."""
    return threads.own_threads(platform, actor, before)


@router.get("/threads/{thread_id}", dependencies=[requires(Action.READ_THREAD)])
def thread(platform: ThePlatform, actor: CurrentActor, thread_id: int, before: Before = None) -> ThreadView:
    """Return a question with its newest messages; `before` is `earlier` of the page after it."""
    return threads.thread_page(platform, actor, thread_id, before)


@router.post("/threads/{thread_id}/messages", status_code=201, dependencies=[requires(Action.REPLY), CHANGE])
def reply(platform: ThePlatform, actor: CurrentActor, thread_id: int, new: NewMessage) -> ThreadView:
    """Continue a question as its team, which opens it again."""
    threads.reply(platform, actor, thread_id, new)
    return threads.thread_page(platform, actor, thread_id)


@router.get("/organise/challenges/{challenge}/threads", dependencies=[ORGANISE])
def organised(
    platform: ThePlatform, actor: CurrentActor, challenge: str, state: State = None, before: Before = None
) -> OrganisedThreads:
    """List the questions of teams of a challenge, the one with the newest message first."""
    return threads.organised_threads(platform, actor, challenge, state, before)


@router.post("/organise/threads/{thread_id}/messages", status_code=201, dependencies=[ORGANISE, CHANGE])
def answer(platform: ThePlatform, actor: CurrentActor, thread_id: int, new: NewMessage) -> ThreadView:
    """Answer a question. With `seen`, nothing is sent if somebody has written since you read it."""
    threads.answer(platform, actor, thread_id, new)
    return threads.thread_page(platform, actor, thread_id)


@router.post("/organise/threads/{thread_id}/close", status_code=204, dependencies=[ORGANISE])
def close(platform: ThePlatform, actor: CurrentActor, thread_id: int) -> None:
    """Close a question, which then takes no more messages."""
    threads.close(platform, actor, thread_id)


@router.post("/organise/threads/{thread_id}/reopen", status_code=204, dependencies=[ORGANISE])
def reopen(platform: ThePlatform, actor: CurrentActor, thread_id: int) -> None:
    """Open a closed question again."""
    threads.reopen(platform, actor, thread_id)


@router.get("/challenges/{challenge}/asking", dependencies=[requires(Action.READ_PUBLIC)])
def where_to_ask(platform: ThePlatform, challenge: str) -> Asking:
    """Return where the organisers of a challenge are asked."""
    return asking.asking(platform, challenge)


@router.put("/organise/challenges/{challenge}/asking", dependencies=[ORGANISE])
def set_asking(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewAsking) -> Asking:
    """Choose where you are asked: here, in a forum elsewhere, or nowhere."""
    asking.set_asking(platform, actor, challenge, new)
    return asking.asking(platform, challenge)
