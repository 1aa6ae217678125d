"""What is said of each kind of event, and to whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.models import EventKind


class Recipients(StrEnum):
    """The people who are told of an event, unless it is for one person alone."""

    TEAM = "members of the team"
    TEAMS = "members of all teams of the challenge"
    ORGANISERS = "organisers of the challenge"
    ADMINS = "admins"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of event. title: on the settings page; by_mail: whether it is mailed unless a person chooses otherwise."""

    title: str
    recipients: Recipients
    by_mail: bool = True


KINDS: Final[Mapping[EventKind, Kind]] = {
    EventKind.SCORED: Kind("A submission was scored", Recipients.TEAM),
    EventKind.INVALID: Kind("An upload is invalid", Recipients.TEAM, by_mail=False),
    EventKind.REFUSED: Kind("A submission could not be scored because of an error in it", Recipients.TEAM),
    EventKind.FAILED: Kind("A submission failed because of an error of the server", Recipients.TEAM),
    EventKind.WAITS: Kind("A submission waits because stored data is damaged", Recipients.TEAM),
    EventKind.RESCORED: Kind("A re-scoring changed a score", Recipients.TEAM),
    EventKind.PUBLISHED: Kind("A method of the team was published", Recipients.TEAM, by_mail=False),
    EventKind.DEADLINE: Kind("A deadline is near, and an upload was not submitted", Recipients.TEAM),
    EventKind.OPENED: Kind("A phase opened", Recipients.TEAMS),
    EventKind.CLOSED: Kind("A phase closed", Recipients.TEAMS, by_mail=False),
    EventKind.EXTENDED: Kind("A deadline was moved", Recipients.TEAMS),
    EventKind.ANNOUNCEMENT: Kind("An announcement", Recipients.TEAMS),
    EventKind.ANSWER: Kind("An answer to a question of the team", Recipients.TEAM),
    EventKind.MESSAGE: Kind("A message of the organisers", Recipients.TEAM),
    EventKind.INVITATION: Kind("An invitation to a team", Recipients.TEAM),
    EventKind.TEAM_APPROVED: Kind("The team was approved", Recipients.TEAM),
    EventKind.TEAM_REFUSED: Kind("The team was not approved", Recipients.TEAM),
    EventKind.TEAM_SUSPENDED: Kind("The team was suspended", Recipients.TEAM),
    EventKind.TERMS_CHANGED: Kind("The terms changed", Recipients.TEAMS),
    EventKind.HOOK_OFF: Kind("A webhook was turned off", Recipients.TEAM),
    EventKind.QUESTION: Kind("A team asked a question", Recipients.ORGANISERS),
    EventKind.RUNS_FAILED: Kind(
        "Submissions failed because of an error of the server", Recipients.ORGANISERS
    ),
    EventKind.TEAM_WAITS: Kind("A team waits for approval", Recipients.ORGANISERS),
    EventKind.TRUTH_READY: Kind("Ground truth is ready", Recipients.ORGANISERS),
    EventKind.DATA_SET_EXPIRES: Kind("A data set will be removed soon", Recipients.ORGANISERS),
    EventKind.OUTAGE: Kind("The service was unavailable near a deadline", Recipients.ORGANISERS),
    EventKind.STORAGE_LOW: Kind("Storage is low", Recipients.ADMINS),
    EventKind.BACKUP_OLD: Kind("The last backup is old", Recipients.ADMINS),
    EventKind.WORKER_AWAY: Kind("No worker is alive", Recipients.ADMINS),
    EventKind.INTAKE_KEY: Kind("Data sets are encrypted for a key that no worker has", Recipients.ADMINS),
    EventKind.MAIL_FAILS: Kind("Mail cannot be sent", Recipients.ADMINS, by_mail=False),
}
