"""JSON API: rules and news of challenges, and what organisers write about them."""

from dataclasses import replace

from fastapi import APIRouter

from app.challenges import announcing, answers, news, texts
from app.challenges import rules as challenge_rules
from app.challenges.announcing import (
    AddressedAnnouncement,
    ReceivedBefore,
    ToTeamsBefore,
    Written,
    WrittenView,
)
from app.challenges.answers import AnswerSheet, NewAnswer
from app.challenges.news import AnnouncementView, AnswersBefore, NewAnnouncement, NewsView
from app.challenges.rules import RulesView
from app.challenges.texts import NewTexts, TextSheet
from app.core.access import Action
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1")


@router.get("/challenges/{challenge}/rules", tags=["challenges"], dependencies=[requires(Action.READ_PUBLIC)])
def rules(platform: ThePlatform, challenge: str) -> RulesView:
    """Return the rules of a challenge: those of its phases in sentences, the organisers' text, the terms."""
    return challenge_rules.rules_page(platform, challenge)


@router.get("/challenges/{challenge}/news", tags=["challenges"], dependencies=[requires(Action.READ_PUBLIC)])
def challenge_news(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    before: Before = None,
    answers_before: AnswersBefore = None,
    received_before: ReceivedBefore = None,
) -> NewsView:
    """Return the announcements of a challenge and the answers that its organisers have published, newest first.

    `received` is what they announced to your team and not to everybody.
    """
    page = news.news_page(platform, challenge, before, answers_before)
    received = announcing.received(platform, actor, challenge, received_before)
    return replace(page, received=received.rows, next_received=received.next)


@router.get(
    "/organise/challenges/{challenge}/news",
    tags=["organisers"],
    dependencies=[requires(Action.ORGANISE)],
)
def written(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    before: Before = None,
    to_teams_before: ToTeamsBefore = None,
) -> Written:
    """List the announcements of a challenge, to everybody and to teams, newest first."""
    return announcing.written(platform, actor, challenge, before, to_teams_before)


@router.post(
    "/organise/challenges/{challenge}/news",
    status_code=201,
    tags=["organisers"],
    dependencies=[requires(Action.ORGANISE), limited(Limited.CHANGE)],
)
def publish(
    platform: ThePlatform, actor: CurrentActor, challenge: str, new: AddressedAnnouncement
) -> AnnouncementView | WrittenView:
    """Publish an announcement, or send it to the teams that match its audience now: at most ten of these within 24 hours."""
    announced = announcing.publish(platform, actor, challenge, new)
    if not announced.is_public:
        return announced
    return news.editable_announcement(platform, actor, challenge, announced.id)


@router.put(
    "/organise/challenges/{challenge}/news/{announcement_id}",
    tags=["organisers"],
    dependencies=[requires(Action.ORGANISE)],
)
def edit(
    platform: ThePlatform, actor: CurrentActor, challenge: str, announcement_id: int, new: NewAnnouncement
) -> AnnouncementView:
    """Change an announcement. `version` is the one that was read: another organiser's newer text is not overwritten."""
    news.edit(platform, actor, challenge, announcement_id, new)
    return news.editable_announcement(platform, actor, challenge, announcement_id)


@router.delete(
    "/organise/challenges/{challenge}/news/{announcement_id}",
    status_code=204,
    tags=["organisers"],
    dependencies=[requires(Action.ORGANISE)],
)
def delete(platform: ThePlatform, actor: CurrentActor, challenge: str, announcement_id: int) -> None:
    """Delete an announcement."""
    news.delete(platform, actor, challenge, announcement_id)


@router.get(
    "/organise/threads/{thread_id}/answer", tags=["organisers"], dependencies=[requires(Action.ORGANISE)]
)
def answer(platform: ThePlatform, actor: CurrentActor, thread_id: int) -> AnswerSheet:
    """Return what is published of a question to the organisers, or the texts that it could be published with."""
    return answers.answer_sheet(platform, actor, thread_id)


@router.put(
    "/organise/threads/{thread_id}/answer", tags=["organisers"], dependencies=[requires(Action.ORGANISE)]
)
def publish_answer(platform: ThePlatform, actor: CurrentActor, thread_id: int, new: NewAnswer) -> AnswerSheet:
    """Publish a question with its answer, or change what is published. Nothing but these texts becomes public."""
    answers.publish(platform, actor, thread_id, new)
    return answers.answer_sheet(platform, actor, thread_id)


@router.delete(
    "/organise/threads/{thread_id}/answer",
    status_code=204,
    tags=["organisers"],
    dependencies=[requires(Action.ORGANISE)],
)
def unpublish_answer(platform: ThePlatform, actor: CurrentActor, thread_id: int) -> None:
    """Delete what is published of a question."""
    answers.unpublish(platform, actor, thread_id)


@router.get(
    "/organise/challenges/{challenge}/page", tags=["organisers"], dependencies=[requires(Action.ORGANISE)]
)
def page(platform: ThePlatform, actor: CurrentActor, challenge: str) -> TextSheet:
    """Return the texts of a challenge as its organisers edit them."""
    return texts.editable_texts(platform, actor, challenge)


@router.put(
    "/organise/challenges/{challenge}/page", tags=["organisers"], dependencies=[requires(Action.ORGANISE)]
)
def set_page(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewTexts) -> TextSheet:
    """Replace all texts of a challenge. `version` is the one that was read: another organiser's newer texts are not overwritten."""
    texts.set_texts(platform, actor, challenge, new)
    return texts.editable_texts(platform, actor, challenge)
