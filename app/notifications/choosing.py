"""Which kinds of events a person wants by mail: on the settings page, and by the link in each mail."""

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core.access import Actor
from app.core.errors import FieldsError, NotFoundError
from app.models import EventKind, MailChoice, SigningKey, User
from app.notifications.kinds import BY_MAIL, KINDS, MAILED_AS, Recipients, kinds_for
from app.platform import Platform

KEY: Final = "unsubscribing"


@dataclass(frozen=True, slots=True)
class KindChoice:
    """Whether a person gets events of a kind by mail. told: the people who are told of such events."""

    kind: EventKind
    title: str
    told: str
    by_mail: bool


@dataclass(frozen=True, slots=True)
class ChoiceGroup:
    """The kinds that the same people are told of, which one switch turns on and off. name: of the switch."""

    name: str
    title: str
    about: str
    choices: tuple[KindChoice, ...]

    @property
    def mailed(self) -> int:
        """How many are mailed."""
        return sum(each.by_mail for each in self.choices)

    @property
    def is_on(self) -> bool:
        """Whether any is mailed."""
        return self.mailed > 0


GROUPS: Final[Mapping[Recipients, tuple[str, str]]] = {
    Recipients.TEAM: ("Your teams", "Scores, problems, answers, decisions of organisers"),
    Recipients.TEAMS: ("Challenges you take part in", "Phases, deadlines, announcements, terms"),
    Recipients.ORGANISERS: ("Challenges you organise", "Questions, teams that wait, failed runs, data sets"),
    Recipients.ADMINS: ("This server", "Storage, backups, workers, mail"),
}
"""Title and contents of each group, in the order of the page."""


class NewChoices(BaseModel):
    """Which kinds of events to mail; kinds that are left out stay as they are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    by_mail: Annotated[
        dict[EventKind, bool],
        Field(description="true to mail events of a kind", examples=[{"submission scored": False}]),
    ]


@dataclass(frozen=True, slots=True)
class Subscription:
    """A kind of event as it is mailed to a person."""

    user_id: int
    kind: EventKind

    @property
    def title(self) -> str:
        """The kind in words."""
        return KINDS[self.kind].title


def choices(platform: Platform, actor: Actor) -> tuple[KindChoice, ...]:
    """Return the kinds that the reader may be told of, and which are mailed."""
    with platform.reading() as session:
        chosen = _chosen(session, actor.user_id)
    rows = ((kind, KINDS[kind]) for kind in kinds_for(actor))
    return tuple(
        KindChoice(kind, row.title, row.recipients.value, chosen.get(kind, row.by_mail)) for kind, row in rows
    )


def grouped(choices: Sequence[KindChoice]) -> tuple[ChoiceGroup, ...]:
    """Return choices by the people who are told; groups without any are left out."""
    by_recipients = {told: tuple(each for each in choices if each.told == told) for told in GROUPS}
    return tuple(
        ChoiceGroup(told.name.lower(), *GROUPS[told], found) for told, found in by_recipients.items() if found
    )


def chosen_by_groups(
    groups: Iterable[ChoiceGroup], switched_on: Collection[str], ticked: Collection[EventKind]
) -> NewChoices:
    """Return what a form with switches asks for: nothing of a group that is off, and what is ticked of one that is on.

    Of one that was off and was turned on with nothing ticked, as without a script, what is mailed unless people choose otherwise.
    """
    new: dict[EventKind, bool] = {}
    for group in groups:
        kinds = [each.kind for each in group.choices]
        wanted = {kind for kind in kinds if kind in ticked} if group.name in switched_on else set()
        if group.name in switched_on and not wanted and not group.is_on:
            wanted = {kind for kind in kinds if kind in BY_MAIL} or set(kinds)
        new |= {kind: kind in wanted for kind in kinds}
    return NewChoices(by_mail=new)


def _chosen(session: Session, user_id: int | None) -> Mapping[EventKind, bool]:
    statement = select(MailChoice.kind, MailChoice.by_mail).where(MailChoice.user_id == user_id)
    return dict(session.execute(statement).all())


def is_wanted(session: Session, subscription: Subscription) -> bool:
    """Whether a person wants events of a kind by mail."""
    default = KINDS[subscription.kind].by_mail
    return _chosen(session, subscription.user_id).get(subscription.kind, default)


def choose(platform: Platform, actor: Actor, new: NewChoices) -> None:
    """Set which kinds are mailed to the reader. Raises MalformedError for kinds that the reader is never told of."""
    assert actor.user_id is not None
    if unknown := sorted(new.by_mail.keys() - set(kinds_for(actor))):
        raise FieldsError({"by_mail": f"you are never told of {', '.join(unknown)}"})
    with platform.transaction() as session:
        for kind, by_mail in new.by_mail.items():
            _set(session, Subscription(actor.user_id, kind), by_mail=by_mail)


def _set(session: Session, subscription: Subscription, *, by_mail: bool) -> None:
    """Store a choice if it is not the default, which may change in a later release."""
    user_id, kind = subscription.user_id, subscription.kind
    # kinds that share the choice of this one had choices of their own in the previous release
    alike = [each for each, shared in MAILED_AS.items() if shared is kind]
    session.execute(delete(MailChoice).where(MailChoice.user_id == user_id, MailChoice.kind.in_(alike)))
    if by_mail == KINDS[kind].by_mail:
        session.execute(delete(MailChoice).where(MailChoice.user_id == user_id, MailChoice.kind == kind))
        return
    row = insert(MailChoice).values(user_id=user_id, kind=kind, by_mail=by_mail)
    session.execute(row.on_conflict_do_nothing())


def token_of(session: Session, subscription: Subscription) -> str:
    """Return the token of the link that ends a subscription; it works without a login, and for nothing else."""
    what = f"{subscription.user_id}:{subscription.kind}".encode()
    return f"{_encoded(what)}.{_encoded(hmac.digest(_key(session), what, 'sha256'))}"


def subscription_of(session: Session, token: str) -> Subscription:
    """Return what a token ends. Raises NotFoundError if this server has not signed it, or the account is gone."""
    what, _, signature = token.partition(".")
    try:
        content, signed = _decoded(what), _decoded(signature)
        user_id, _, kind = content.decode().partition(":")
        found = Subscription(int(user_id), EventKind(kind))
    except ValueError:
        raise NotFoundError(UNKNOWN_LINK) from None
    is_ours = hmac.compare_digest(hmac.digest(_key(session), content, "sha256"), signed)
    owner = select(User.id).where(User.id == found.user_id, User.deleted_at.is_(None))
    if not is_ours or session.scalar(owner) is None:
        raise NotFoundError(UNKNOWN_LINK)
    return found


UNKNOWN_LINK: Final = (
    "this link is not complete; copy it whole from the mail, or log in and open /account/notifications"
)


def _key(session: Session) -> bytes:
    """Return the key that signs these links, and make it if this is the first use."""
    mine = insert(SigningKey).values(name=KEY, secret=secrets.token_bytes(32)).on_conflict_do_nothing()
    known = select(SigningKey.secret).where(SigningKey.name == KEY)
    key = session.scalar(known)
    if key is None:
        session.execute(mine)
        key = session.scalars(known).one()
    return key


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    """Decode what `_encoded` returned. Raises ValueError for anything else."""
    content = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    if _encoded(content) != text:
        raise ValueError(text)
    return content


def offered(platform: Platform, token: str) -> Subscription:
    """Return what a link would end. Raises NotFoundError."""
    with platform.transaction() as session:
        return subscription_of(session, token)


def unsubscribe(platform: Platform, token: str) -> Subscription:
    """End the mail about a kind of event, as the link in a mail asks. Raises NotFoundError."""
    with platform.transaction() as session:
        found = subscription_of(session, token)
        _set(session, found, by_mail=False)
        return found
