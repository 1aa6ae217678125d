"""What people are told of: each kind of event, whom it concerns, and whether it is mailed."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.core.access import Actor
from app.models import EventKind


class Recipients(StrEnum):
    """The people who are told of an event, unless it is for one person alone."""

    TEAM = "members of the team"
    TEAMS = "members of all teams of the challenge"
    ORGANISERS = "organisers of the challenge"
    ADMINS = "admins"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of event. title: on the settings page; by_mail: whether it is mailed unless a person chooses otherwise.

    is_former: only processes of the release before record such events. mailed_as: the kind whose choice and whose mails it shares.
    """

    title: str
    recipients: Recipients
    by_mail: bool = True
    is_former: bool = False
    mailed_as: EventKind | None = None

    @property
    def is_chosen(self) -> bool:
        """Whether people choose for themselves if it is mailed."""
        return not self.is_former and self.mailed_as is None


KINDS: Final[Mapping[EventKind, Kind]] = {
    EventKind.SCORED: Kind("A submission was scored", Recipients.TEAM),
    EventKind.INVALID: Kind("An upload of yours has problems", Recipients.TEAM, by_mail=False),
    EventKind.REFUSED: Kind("A submission could not be scored because of an error in it", Recipients.TEAM),
    EventKind.FAILED: Kind("A submission failed because of an error of the server", Recipients.TEAM),
    EventKind.WAITS: Kind("A submission waits because stored data is damaged", Recipients.TEAM),
    EventKind.RESCORED: Kind("A re-scoring changed scores of the team", Recipients.TEAM),
    EventKind.PUBLISHED: Kind("A method of the team was published", Recipients.TEAM, by_mail=False),
    EventKind.DEADLINE: Kind("A deadline is near, and an upload was not submitted", Recipients.TEAM),
    EventKind.OPENED: Kind("A phase opened", Recipients.TEAMS),
    EventKind.CLOSED: Kind("A phase closed", Recipients.TEAMS, by_mail=False),
    EventKind.EXTENDED: Kind("A deadline was moved", Recipients.TEAMS),
    EventKind.ANNOUNCEMENT: Kind("An announcement", Recipients.TEAMS),
    EventKind.ANSWER: Kind("An answer to a question of the team", Recipients.TEAM),
    EventKind.MESSAGE: Kind("An announcement to the team", Recipients.TEAM, mailed_as=EventKind.ANNOUNCEMENT),
    EventKind.INVITATION: Kind("An invitation to the team was made or used", Recipients.TEAM),
    EventKind.TEAM_APPROVED: Kind("The team was approved", Recipients.TEAM),
    EventKind.TEAM_REFUSED: Kind("The team was not approved", Recipients.TEAM),
    EventKind.TEAM_SUSPENDED: Kind("The team was suspended, or its suspension ended", Recipients.TEAM),
    EventKind.TERMS_CHANGED: Kind("The terms changed", Recipients.TEAMS),
    EventKind.DECISION: Kind(
        "Organisers cancelled, withdrew, hid or showed something of the team", Recipients.TEAM
    ),
    EventKind.QUOTA: Kind("Organisers gave quota back, or granted or revoked extra slots", Recipients.TEAM),
    EventKind.HOOK_OFF: Kind("A webhook was turned off", Recipients.TEAM),
    EventKind.QUESTION: Kind("A team asked a question", Recipients.ORGANISERS),
    EventKind.RUNS_FAILED: Kind(
        "Submissions failed because of an error of the server", Recipients.ORGANISERS
    ),
    EventKind.TEAM_WAITS: Kind("A team waits for approval", Recipients.ORGANISERS),
    EventKind.DATA_SET_READ: Kind("A data set was read", Recipients.ORGANISERS),
    EventKind.TRUTH_READY: Kind(
        "Ground truth was imported, or is on the leaderboards", Recipients.ORGANISERS
    ),
    EventKind.DATA_SET_EXPIRES: Kind("A data set will be removed soon", Recipients.ORGANISERS),
    EventKind.OUTAGE: Kind(
        "The service was unavailable near a deadline", Recipients.ORGANISERS, is_former=True
    ),
    EventKind.STORAGE_LOW: Kind("Storage is low", Recipients.ADMINS),
    EventKind.BACKUP_OLD: Kind("The last backup is old", Recipients.ADMINS),
    EventKind.WORKER_AWAY: Kind("A worker was or is away", Recipients.ADMINS),
    EventKind.INTAKE_KEY: Kind("Data sets are encrypted for a key that no worker has", Recipients.ADMINS),
    EventKind.MAIL_FAILS: Kind("Mail cannot be sent", Recipients.ADMINS, by_mail=False),
}
BY_MAIL: Final = frozenset(kind for kind, row in KINDS.items() if row.by_mail)
MAILED_AS: Final[Mapping[EventKind, EventKind]] = {
    kind: row.mailed_as for kind, row in KINDS.items() if row.mailed_as is not None
}


@dataclass(frozen=True, slots=True)
class Scope:
    """What an event is about: its challenge and team, or the one person it is for."""

    kind: EventKind
    challenge_id: int | None = None
    team_id: int | None = None
    user_id: int | None = None


def is_shown(actor: Actor, event: Scope) -> bool:
    """Whether a person who was told of an event may still read what it is about: they may have left the team since.

    What everybody in a challenge is told of is public. What organisers are told of, one alone or all, only they may read.

    >>> is_shown(Actor(user_id=1, teams=frozenset({7})), Scope(EventKind.SCORED, 2, team_id=7))
    True
    >>> is_shown(Actor(user_id=1), Scope(EventKind.SCORED, 2, team_id=7))
    False
    """
    recipients = KINDS[event.kind].recipients
    if event.user_id is not None and event.user_id != actor.user_id:
        return False
    if event.user_id is not None and recipients is not Recipients.ORGANISERS:
        return True
    match recipients:
        case Recipients.TEAM:
            return event.team_id is not None and actor.is_member(event.team_id)
        case Recipients.ORGANISERS:
            return event.challenge_id is not None and actor.organises_challenge(event.challenge_id)
        case Recipients.ADMINS:
            return actor.is_admin
    return True


def kinds_for(actor: Actor) -> tuple[EventKind, ...]:
    """Return the kinds that a person may be told of."""
    told = {
        Recipients.ORGANISERS: bool(actor.organises) or actor.is_admin,
        Recipients.ADMINS: actor.is_admin,
    }
    return tuple(kind for kind, row in KINDS.items() if told.get(row.recipients, True) and row.is_chosen)
