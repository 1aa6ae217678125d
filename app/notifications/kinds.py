"""What people are told of: each kind of event, whom it concerns, what it says, and whether it is mailed.

Notifications, mail and webhooks say the same, from what participants may see now. Pure functions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from urllib.parse import quote

from app.core.access import Actor
from app.models import Approval, EventKind, ResultState
from app.web.formats import plural, score, size
from app.web.zones import date_in_words

MOST_RESULTS: Final = 3  # named in a sentence


@dataclass(frozen=True, slots=True)
class ResultFacts:
    """What an event says of a result. mean: None if there is none or participants may not see it now."""

    competition: int
    title: str  # of its competition
    state: ResultState
    mean: float | None


@dataclass(frozen=True, slots=True)
class ChallengeFacts:
    """The challenge of an event."""

    code: str
    title: str


@dataclass(frozen=True, slots=True)
class PhaseFacts:
    """A phase as it is now."""

    image_set: str
    opens_at: datetime
    closes_at: datetime | None


@dataclass(frozen=True, slots=True)
class TeamFacts:
    """A team as it is now."""

    id: int
    name: str
    approval: Approval
    approval_reason: str
    is_suspended: bool
    suspension_reason: str


@dataclass(frozen=True, slots=True)
class NewsFacts:
    """An announcement as it is now. text: Markdown."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """An event, and what is known now of what it is about; None or empty if that is gone."""

    kind: EventKind
    details: Mapping[str, Any] = field(default_factory=dict)
    challenge: ChallengeFacts | None = None
    phase: PhaseFacts | None = None
    team: TeamFacts | None = None
    person: str = ""  # the name of whoever did it
    news: NewsFacts | None = None
    method: str = ""
    has_upload: bool = False
    message: str | None = None  # Markdown, what somebody wrote
    results: tuple[ResultFacts, ...] = ()

    @property
    def title(self) -> str:
        """The title of the challenge."""
        return self.challenge.title if self.challenge else ""

    @property
    def place(self) -> str:
        """The challenge and the image set in words."""
        return f"{self.title}, {self.phase.image_set}" if self.phase else self.title

    @property
    def page(self) -> str:
        """The path of the challenge."""
        return f"/challenges/{quote(self.challenge.code if self.challenge else '')}"

    @property
    def submission(self) -> str:
        """The path of the submission."""
        return f"/submissions/{self.details['submission']}"

    @property
    def team_name(self) -> str:
        """The name of the team."""
        return self.team.name if self.team else "A team"


@dataclass(frozen=True, slots=True)
class Line:
    """What an event says: a sentence without its full stop, the path of the page about it, and a text that belongs to it."""

    sentence: str
    path: str | None = None
    text: str | None = None  # Markdown

    @property
    def ended(self) -> str:
        """The sentence with a full stop, unless it ends with a title that has its own.

        >>> Line("VOC2012: is it late?").ended, Line("VOC2012, test opened").ended
        ('VOC2012: is it late?', 'VOC2012, test opened.')
        """
        return self.sentence if self.sentence.endswith((".", "!", "?", "…")) else f"{self.sentence}."


GONE: Final = Line("This is about something that you can no longer see")
STATES: Final = {
    ResultState.REFUSED: "could not be scored because of an error in it",
    ResultState.FAILED: "failed because of an error of the server; it does not count",
    ResultState.WITHDRAWN: "withdrawn",
    ResultState.PENDING: "is scored again",
}


def _outcome(facts: Facts) -> Line:
    more = len(facts.results) - MOST_RESULTS
    named = "; ".join(map(_result, facts.results[:MOST_RESULTS]))
    rest = f"; and {plural(more, 'other result')}" if more > 0 else ""
    return Line(f"{facts.method} in {facts.place}: {named}{rest}", facts.submission)


def _result(result: ResultFacts) -> str:
    """Say what became of a result; a mean that participants may not see is left out.

    >>> _result(ResultFacts(3, "Detection, any data", ResultState.SCORED, 0.4531))
    'Detection, any data, scored 45.3%'
    """
    if result.state in STATES:
        return f"{result.title}, {STATES[result.state]}"
    return f"{result.title}, scored" + (f" {score(result.mean)}%" if result.mean is not None else "")


def _waits(facts: Facts) -> Line:
    sentence = (
        f"{facts.method} in {facts.place} waits because a file on the server is damaged; scoring goes on by itself once that is"
        " repaired"
    )
    return Line(sentence, facts.submission)


def _invalid(facts: Facts) -> Line:
    path = f"/uploads/{facts.details['upload']}" if facts.has_upload else None
    return Line(f"{facts.details['filename']} for {facts.place} has problems; nothing was counted", path)


def _rescored(facts: Facts) -> Line:
    """Releases before wrote nothing of ranks."""
    parts = (
        plural(facts.details["results"], "result") if facts.details["results"] else "",
        plural(ranks, "rank") if (ranks := facts.details.get("ranks", 0)) else "",
    )
    what = " and ".join(filter(None, parts))
    return Line(f"A re-scoring of {facts.place} changed {what} of the team {facts.team_name}", "/submissions")


def _upload_outdated(facts: Facts) -> Line:
    count, version = facts.details["uploads"], facts.details["version"]
    waits = (
        "a valid archive that is not submitted was"
        if count == 1
        else f"{count} valid archives that are not submitted were"
    )
    return Line(
        f"Version {version} of the annotation of {facts.place} is on the leaderboards, with other images or classes; {waits} checked"
        " by an earlier one and will be checked again",
        "/uploads",
    )


PREVIEWS: Final = {
    "ready": "are ready; look at the preview, and publish or discard them",
    "waiting": "still wait to be published; they are discarded 30 days after the re-scoring was started",
    "discarded": "were discarded, because nobody published them within 30 days",
}


def _preview(facts: Facts) -> Line:
    about = facts.details
    which = f"The scores of {facts.place} under version {about['version']} of the ground truth"
    return Line(f"{which} {PREVIEWS[about['state']]}", f"/organise/rescores/{about['rescore']}")


def _published(facts: Facts) -> Line:
    what = facts.method or "A method"
    sentence = f"{what} of the team {facts.team_name} is public now in {facts.title}"
    return Line(sentence, f"/methods/{facts.details['method']}" if facts.method else None)


def _deadline(facts: Facts) -> Line:
    closes_at = facts.phase.closes_at if facts.phase else None
    when = f"closes on {date_in_words(closes_at)}" if closes_at else "no longer has a deadline"
    sentence = (
        f"{facts.place} {when}; the team {facts.team_name} had uploaded a valid archive and not submitted it"
    )
    return Line(sentence, "/uploads")


def _phase_opened(facts: Facts) -> Line:
    closes_at = facts.phase.closes_at if facts.phase else None
    until = f"; its deadline is {date_in_words(closes_at)}" if closes_at else ""
    return Line(f"{facts.place} opened on {_moment(facts.details['at'])}{until}", facts.page)


def _phase_closed(facts: Facts) -> Line:
    return Line(f"{facts.place} closed on {_moment(facts.details['at'])}", facts.page)


def _deadline_moved(facts: Facts) -> Line:
    before, after = facts.details["before"], facts.details["after"]
    now = f"is now {_moment(after)}" if after else "was removed"
    was = f"it was {_moment(before)}" if before else "there was none"
    return Line(f"The deadline of {facts.place} {now}; {was}", facts.page)


def _moment(text: str) -> str:
    return date_in_words(datetime.fromisoformat(text))


def _announcement(facts: Facts) -> Line:
    if facts.news is None:
        return Line(f"{facts.title}: an announcement that was deleted", f"{facts.page}/news")
    path = f"{facts.page}/news#news-{facts.details['announcement']}"
    return Line(f"{facts.title}: {facts.news.title}", path, facts.news.text)


def _invitation(facts: Facts) -> Line:
    who, team = facts.person or "Somebody", facts.details
    sentence = f"{who} invited others to the team {facts.team_name} by a link"
    if team["has_joined"]:
        sentence = f"{who} joined the team {facts.team_name} by an invitation"
    return Line(f"{sentence} ({facts.title})", "/teams")


def _team_approved(facts: Facts) -> Line:
    return Line(f"The team {facts.team_name} was approved for {facts.title}", "/teams")


def _team_refused(facts: Facts) -> Line:
    is_still = facts.team is not None and facts.team.approval is Approval.REFUSED
    why = f": {facts.team.approval_reason}" if facts.team and is_still else ""
    return Line(f"The team {facts.team_name} was not approved for {facts.title}{why}", "/teams")


def _team_suspended(facts: Facts) -> Line:
    if not facts.details["is_suspended"]:
        sentence = f"The suspension of the team {facts.team_name} in {facts.title} has ended"
        return Line(sentence, "/teams")
    why = f": {facts.team.suspension_reason}" if facts.team and facts.team.is_suspended else ""
    return Line(f"The team {facts.team_name} was suspended in {facts.title}{why}", "/teams")


def _terms_changed(facts: Facts) -> Line:
    if not facts.details["has_text"]:
        return Line(f"{facts.title} has no terms any more", facts.page)
    sentence = (
        f"The terms of {facts.title} changed; accept version {facts.details['version']} before you submit"
    )
    return Line(sentence, f"{facts.page}/terms")


def _label_answer(facts: Facts) -> Line:
    image = facts.details["image"]
    set_ = facts.phase.image_set if facts.phase else ""
    challenge = facts.challenge.code if facts.challenge else ""
    path = f"/pictures/{quote(challenge)}/{quote(set_)}/{quote(image)}#report"
    return Line(f"The organisers of {facts.title} closed your report of {image}", path)


def _labels_reported(facts: Facts) -> Line:
    path = f"/organise{facts.page}/label-reports?state=open"
    return Line(f"Labels of {facts.title} were reported", path)


def _runs_failed(facts: Facts) -> Line:
    sentence = f"Scoring failed in {facts.title} because of an error of the server; nothing was counted"
    return Line(sentence, f"/organise{facts.page}/submissions?state=failed")


def _team_waits(facts: Facts) -> Line:
    is_decided = facts.team is not None and facts.team.approval is not Approval.WAITING
    state = "asked for approval, and was answered" if is_decided else "waits for approval"
    path = f"/organise{facts.page}/teams"
    return Line(f"The team {facts.team_name} {state} in {facts.title}", path)


def _decision(facts: Facts) -> Line:
    about = facts.details
    what = facts.method or "a method"
    if "competition" in about:
        what = f"{what} ({about['competition']})"
    if about["done"] == "showed":
        what = f"{what} again"
    why = f": {about['reason']}" if about["reason"] else ""
    path = facts.submission if "submission" in about else f"/methods/{about['method']}"
    return Line(f"The organisers {about['done']} {what} in {facts.place}{why}", path)


def _quota(facts: Facts) -> Line:
    about = facts.details
    why = f": {about['reason']}" if about["reason"] else ""
    if "submission" in about:
        done = f"gave the quota of {facts.method or 'a method'} ({about['competition']}) back"
        return Line(f"The organisers {done} in {facts.place}{why}", facts.submission)
    number = about["slots"]
    done = f"{'granted' if number > 0 else 'revoked'} {plural(abs(number), 'extra slot')} for {about['task']}"
    until = f", until {_moment(about['until'])}" if about.get("until") else ""
    return Line(f"The organisers {done} in {facts.place}{until}{why}", "/submissions")


def _data_set_read(facts: Facts) -> Line:
    about, which = facts.details, f"The data set of {facts.title}"
    path = f"/organise/data-sets/{about['intake']}"
    if "failed" in about:
        return Line(f"{which} could not be {about['failed']}", path)
    counts = {"problem": about["problems"], "warning": about["warnings"]}
    found = [plural(count, word) for word, count in counts.items() if count]
    return Line(f"{which} was read: {' and '.join(found) or 'no problems'}", path)


def _truth_ready(facts: Facts) -> Line:
    """Releases before wrote fewer details, and the same kind for a data set that was read."""
    about = facts.details
    path = f"/organise{facts.page}/ground-truth"
    if "version" not in about:
        return Line(f"A data set of {facts.title} was read", f"/organise/data-sets/{about['intake']}")
    which = f"Version {about['version']} of the ground truth of {facts.place}"
    if "copied_from" in about:
        which += f", which is version {about['copied_from']} again,"
    match about.get("is_shown"):
        case True:
            return Line(f"{which} is on the leaderboards", path)
        case False:
            return Line(f"{which} was imported; score the results again to use it", path)
    return Line(f"{which} was imported", path)


def _storage_low(facts: Facts) -> Line:
    about = facts.details
    share = f"{100 * about['free'] / about['total']:.0f}%"
    return Line(
        f"The disk of {about['place']} on {about['host']} has {size(about['free'])} ({share}) left",
        "/admin/storage",
    )


def _backup_old(facts: Facts) -> Line:
    last = facts.details["last"]
    return Line(
        f"The last backup is from {_moment(last)}" if last else "No backup was ever taken",
        "/docs/administer/backup",
    )


def _worker_away(facts: Facts) -> Line:
    about = facts.details
    if "until" in about:
        period = f"from {_moment(about['since'])} to {_moment(about['until'])}"
        sentence = f"Nothing was done in the background {period}: no worker was alive, or its sweeps failed"
    else:
        sentence = f"The worker on {about['host']} has not been seen since {_moment(about['since'])}"
    return Line(sentence, "/admin")


def _data_set_expires(facts: Facts) -> Line:
    return Line(
        f"A data set of {facts.title} was not touched for weeks and will be removed soon",
        f"/organise/data-sets/{facts.details['intake']}",
    )


def _intake_key(_facts: Facts) -> Line:
    return Line(
        "Data sets are encrypted for a key that no worker has; rotate the key", "/docs/administer/backup"
    )


def _mail_fails(facts: Facts) -> Line:
    return Line(f"Mail cannot be sent: {facts.details['error']}", "/admin/mail")


def _titled(beginning: str) -> Callable[[Facts], Line]:
    """Return a writer for events whose details have the words and the path."""

    def write(facts: Facts) -> Line:
        words = beginning.format(challenge=facts.title, team=facts.team_name)
        title = facts.details.get("title")
        sentence = f"{words}: {title}" if title else words
        return Line(
            sentence, facts.details.get("path") or facts.page, facts.message or facts.details.get("text")
        )

    return write


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
    sentence: Callable[[Facts], Line]
    by_mail: bool = True
    is_former: bool = False
    mailed_as: EventKind | None = None

    @property
    def is_chosen(self) -> bool:
        """Whether people choose for themselves if it is mailed."""
        return not self.is_former and self.mailed_as is None


KINDS: Final[Mapping[EventKind, Kind]] = {
    EventKind.SCORED: Kind("A submission was scored", Recipients.TEAM, _outcome),
    EventKind.INVALID: Kind("An upload of yours has problems", Recipients.TEAM, _invalid, by_mail=False),
    EventKind.REFUSED: Kind("A submission could not be scored because of an error in it", Recipients.TEAM, _outcome),
    EventKind.FAILED: Kind("A submission failed because of an error of the server", Recipients.TEAM, _outcome),
    EventKind.WAITS: Kind("A submission waits because stored data is damaged", Recipients.TEAM, _waits),
    EventKind.RESCORED: Kind("A re-scoring changed scores or ranks of the team", Recipients.TEAM, _rescored),
    EventKind.UPLOAD_OUTDATED: Kind("The annotation was replaced after the check of an upload that was not submitted", Recipients.TEAM, _upload_outdated),
    EventKind.PUBLISHED: Kind("A method of the team was published", Recipients.TEAM, _published, by_mail=False),
    EventKind.DEADLINE: Kind("A deadline is near, and an upload was not submitted", Recipients.TEAM, _deadline),
    EventKind.OPENED: Kind("A phase opened", Recipients.TEAMS, _phase_opened),
    EventKind.CLOSED: Kind("A phase closed", Recipients.TEAMS, _phase_closed, by_mail=False),
    EventKind.EXTENDED: Kind("A deadline was moved", Recipients.TEAMS, _deadline_moved),
    EventKind.ANNOUNCEMENT: Kind("An announcement", Recipients.TEAMS, _announcement),
    EventKind.ANSWER: Kind("An answer to a question of the team", Recipients.TEAM, _titled("The organisers of {challenge} answered")),
    EventKind.MESSAGE: Kind("An announcement to the team", Recipients.TEAM, _titled("The organisers of {challenge} wrote"), mailed_as=EventKind.ANNOUNCEMENT),
    EventKind.INVITATION: Kind("An invitation to the team was made or used", Recipients.TEAM, _invitation),
    EventKind.TEAM_APPROVED: Kind("The team was approved", Recipients.TEAM, _team_approved),
    EventKind.TEAM_REFUSED: Kind("The team was not approved", Recipients.TEAM, _team_refused),
    EventKind.TEAM_SUSPENDED: Kind("The team was suspended, or its suspension ended", Recipients.TEAM, _team_suspended),
    EventKind.TERMS_CHANGED: Kind("The terms changed", Recipients.TEAMS, _terms_changed),
    EventKind.DECISION: Kind("Organisers cancelled, withdrew, hid or showed something of the team", Recipients.TEAM, _decision),
    EventKind.QUOTA: Kind("Organisers gave quota back, or granted or revoked extra slots", Recipients.TEAM, _quota),
    EventKind.HOOK_OFF: Kind("A webhook was turned off", Recipients.TEAM, _titled("A webhook of {challenge} was turned off")),
    EventKind.LABEL_ANSWER: Kind("A label that you reported was corrected, or your report answered", Recipients.TEAM, _label_answer),
    EventKind.QUESTION: Kind("A team asked a question", Recipients.ORGANISERS, _titled("A question about {challenge}")),
    EventKind.LABELS_REPORTED: Kind("Labels were reported, once a day", Recipients.ORGANISERS, _labels_reported),
    EventKind.RUNS_FAILED: Kind("Submissions failed because of an error of the server", Recipients.ORGANISERS, _runs_failed),
    EventKind.TEAM_WAITS: Kind("A team waits for approval", Recipients.ORGANISERS, _team_waits),
    EventKind.DATA_SET_READ: Kind("A data set was read", Recipients.ORGANISERS, _data_set_read),
    EventKind.TRUTH_READY: Kind("Ground truth was imported, or is on the leaderboards", Recipients.ORGANISERS, _truth_ready),
    EventKind.PREVIEW: Kind("Scores of a re-scoring wait to be published, or were discarded", Recipients.ORGANISERS, _preview),
    EventKind.DATA_SET_EXPIRES: Kind("A data set will be removed soon", Recipients.ORGANISERS, _data_set_expires),
    EventKind.OUTAGE: Kind("The service was unavailable near a deadline", Recipients.ORGANISERS, _titled("The service was unavailable near a deadline of {challenge}"), is_former=True),
    EventKind.STORAGE_LOW: Kind("Storage is low", Recipients.ADMINS, _storage_low),
    EventKind.BACKUP_OLD: Kind("The last backup is old", Recipients.ADMINS, _backup_old),
    EventKind.WORKER_AWAY: Kind("A worker was or is away", Recipients.ADMINS, _worker_away),
    EventKind.INTAKE_KEY: Kind("Data sets are encrypted for a key that no worker has", Recipients.ADMINS, _intake_key),
    EventKind.MAIL_FAILS: Kind("Mail cannot be sent", Recipients.ADMINS, _mail_fails, by_mail=False),
}  # fmt: skip
BY_MAIL: Final = frozenset(kind for kind, row in KINDS.items() if row.by_mail)
MAILED_AS: Final[Mapping[EventKind, EventKind]] = {
    kind: row.mailed_as for kind, row in KINDS.items() if row.mailed_as is not None
}


def line_of(facts: Facts) -> Line:
    """Return what an event says; only what kind it is if another version of the program has recorded it differently."""
    try:
        return KINDS[facts.kind].sentence(facts)
    except KeyError:
        return Line(KINDS[facts.kind].title)


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
