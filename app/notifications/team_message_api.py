"""JSON API: messages of organisers to teams, and those that a team received."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app.core.access import Action
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.notifications import team_messages
from app.notifications.team_messages import (
    NewTeamMessage,
    ReceivedMessages,
    TeamMessages,
    TeamMessageSheet,
)
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["questions"])

ORGANISING = [requires(Action.ORGANISE)]
CHANGING = [*ORGANISING, limited(Limited.CHANGE)]
ONE = "/organise/messages/{team_message_id}"


class Sending(BaseModel):
    """The draft as it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = Field(ge=1, le=2**31 - 1, description="a draft that was changed since is not sent")


@router.get("/organise/challenges/{challenge}/messages", dependencies=ORGANISING)
def messages(
    platform: ThePlatform, actor: CurrentActor, challenge: str, before: Before = None
) -> TeamMessages:
    """List the messages to teams of a challenge, newest first, drafts among them."""
    return team_messages.team_messages(platform, actor, challenge, before)


@router.post("/organise/challenges/{challenge}/messages", status_code=201, dependencies=CHANGING)
def write(
    platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewTeamMessage
) -> TeamMessageSheet:
    """Write a draft and return it with who would receive it. Nothing is sent before `send`."""
    return team_messages.message_sheet(platform, actor, team_messages.write(platform, actor, challenge, new))


@router.get(ONE, dependencies=ORGANISING)
def message(platform: ThePlatform, actor: CurrentActor, team_message_id: int) -> TeamMessageSheet:
    """Return a message with who would receive it now."""
    return team_messages.message_sheet(platform, actor, team_message_id)


@router.put(ONE, dependencies=CHANGING)
def change(
    platform: ThePlatform, actor: CurrentActor, team_message_id: int, new: NewTeamMessage
) -> TeamMessageSheet:
    """Change a draft. `version` is the one that was read: another organiser's newer text is not overwritten."""
    team_messages.change(platform, actor, team_message_id, new)
    return team_messages.message_sheet(platform, actor, team_message_id)


@router.delete(ONE, status_code=204, dependencies=ORGANISING)
def discard(platform: ThePlatform, actor: CurrentActor, team_message_id: int) -> None:
    """Delete a draft."""
    team_messages.discard(platform, actor, team_message_id)


@router.post(f"{ONE}/test", status_code=204, dependencies=CHANGING)
def test(platform: ThePlatform, actor: CurrentActor, team_message_id: int) -> None:
    """Send a message to yourself alone."""
    team_messages.test(platform, actor, team_message_id)


@router.post(f"{ONE}/send", dependencies=CHANGING)
def send(
    platform: ThePlatform, actor: CurrentActor, team_message_id: int, sending: Sending
) -> TeamMessageSheet:
    """Send a draft to the teams that match its audience now, at most ten messages of a challenge within 24 hours."""
    team_messages.send(platform, actor, team_message_id, sending.version)
    return team_messages.message_sheet(platform, actor, team_message_id)


@router.get("/teams/{team_id}/messages", dependencies=[requires(Action.READ_OWN)])
def received(
    platform: ThePlatform, actor: CurrentActor, team_id: int, before: Before = None
) -> ReceivedMessages:
    """List the messages of organisers that your team received, newest first."""
    return team_messages.received_messages(platform, actor, team_id, before)
