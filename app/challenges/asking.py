"""Where the organisers of a challenge are asked: here, in a forum elsewhere, or nowhere."""

import uuid
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationInfo, field_validator
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.core import audit
from app.core.access import Actor, require_challenge
from app.models import AskingPlace, AskingRule, Thread, ThreadState
from app.platform import Platform
from app.web.forms import HttpsOrBlank


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that a team has asked."""

    id: int
    title: str
    state: ThreadState


@dataclass(frozen=True, slots=True)
class Asking:
    """Where organisers are asked. forum: the address of one elsewhere, empty if there is none."""

    place: AskingPlace = AskingPlace.HERE
    forum: str = ""
    asked: tuple[AskedQuestion, ...] = ()  # by the reader's team, about what a page shows

    @property
    def host(self) -> str:
        r"""The host of the forum, in letters that cannot be confused with others.

        >>> Asking(AskingPlace.FORUM, "https://\u0430sk.example/vision").host  # begins with a Cyrillic letter
        'xn--sk-6kc.example'
        """
        return (HttpUrl(self.forum).host or "") if self.forum else ""


class NewAsking(BaseModel):
    """Where organisers are asked from now on."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True, validate_default=True)

    place: AskingPlace
    forum: Annotated[HttpsOrBlank, Field(max_length=300, description="its address, if this is the place")] = (
        ""
    )

    @field_validator("forum")
    @classmethod
    def _only_of_a_forum(cls, forum: str, info: ValidationInfo) -> str:
        if info.data.get("place") is not AskingPlace.FORUM:
            return ""
        if not forum:
            raise ValueError("is missing")
        return str(HttpUrl(forum))


def asking_of(session: Session, challenge_id: int) -> Asking:
    """Return where the organisers of a challenge are asked."""
    rule = session.get(AskingRule, challenge_id)
    return Asking(rule.place, rule.forum) if rule else Asking()


def asked_about(
    session: Session, actor: Actor, upload: uuid.UUID, submission: int | None = None
) -> tuple[AskedQuestion, ...]:
    """Return what the reader's team has asked about an upload and its submission.

    An upload moves with the person who sent it into another team, which does not see what the former one has asked.
    """
    about = [Thread.upload_id == upload]
    if submission is not None:
        about.append(Thread.submission_id == submission)
    statement = (
        select(Thread.id, Thread.title, Thread.state)
        .where(or_(*about), Thread.team_id.in_(actor.teams))
        .order_by(Thread.id)
    )
    return tuple(AskedQuestion(*row) for row in session.execute(statement))


def asking_about(
    platform: Platform, actor: Actor, code: str, upload: uuid.UUID | None, submission: int
) -> Asking:
    """Return where the organisers are asked about a submission, and what the reader's team has asked. Raises NotFoundError."""
    found = asking(platform, code)
    if upload is None:
        return found
    with platform.reading() as session:
        return replace(found, asked=asked_about(session, actor, upload, submission))


def asking(platform: Platform, code: str) -> Asking:
    """Return where the organisers of a challenge are asked. Raises NotFoundError."""
    with platform.transaction() as session:
        challenge = challenges.find_challenge(session, code)
        return asking_of(session, challenge.id)


def set_asking(platform: Platform, actor: Actor, code: str, new: NewAsking) -> None:
    """Choose where the organisers of a challenge are asked; questions that were asked before can still be answered.

    Raises NotFoundError, ForbiddenError.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        before = asking_of(session, challenge.id)
        if (before.place, before.forum) == (new.place, new.forum):
            return
        session.merge(AskingRule(challenge_id=challenge.id, place=new.place, forum=new.forum))
        audit.record(
            session,
            actor.user_id,
            "asking.set",
            f"challenge {challenge.id}",
            challenge_id=challenge.id,
            before={"place": before.place, "forum": before.forum},
            after={"place": new.place, "forum": new.forum},
        )
    platform.cache.expire_versions()
