"""What an event says to a person, in one sentence, and the page it leads to. Pure functions of what participants may see now."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from app.models import Approval, EventKind, ResultState
from app.notifications.kinds import KINDS
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
class TeamFacts:
    """A team as it is now."""

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
    challenge: str = ""  # code
    challenge_title: str = ""
    image_set: str = ""
    closes_at: datetime | None = None  # of the phase
    team: TeamFacts | None = None
    person: str = ""  # the name of whoever did it
    news: NewsFacts | None = None
    method: str = ""
    has_upload: bool = False
    message: str | None = None  # Markdown, what somebody wrote
    results: tuple[ResultFacts, ...] = ()

    @property
    def phase(self) -> str:
        """The challenge and the image set in words."""
        return f"{self.challenge_title}, {self.image_set}"

    @property
    def page(self) -> str:
        """The path of the challenge."""
        return f"/challenges/{quote(self.challenge)}"

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


def line_of(facts: Facts) -> Line:
    """Return what an event says; only what kind it is if another version of the program has recorded it differently."""
    try:
        return WRITERS[facts.kind](facts)
    except KeyError:
        return Line(KINDS[facts.kind].title)


def _outcome(facts: Facts) -> Line:
    more = len(facts.results) - MOST_RESULTS
    named = "; ".join(map(_result, facts.results[:MOST_RESULTS]))
    rest = f"; and {plural(more, 'other result')}" if more > 0 else ""
    return Line(f"{facts.method} in {facts.phase}: {named}{rest}", facts.submission)


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
        f"{facts.method} in {facts.phase} waits because a file on the server is damaged; scoring goes on by itself once that is"
        " repaired"
    )
    return Line(sentence, facts.submission)


def _invalid(facts: Facts) -> Line:
    path = f"/uploads/{facts.details['upload']}" if facts.has_upload else None
    return Line(f"{facts.details['filename']} for {facts.phase} has problems; nothing was counted", path)


def _rescored(facts: Facts) -> Line:
    count = plural(facts.details["results"], "result")
    return Line(
        f"A re-scoring of {facts.phase} changed {count} of the team {facts.team_name}", "/submissions"
    )


def _published(facts: Facts) -> Line:
    what = facts.method or "A method"
    sentence = f"{what} of the team {facts.team_name} is public now in {facts.challenge_title}"
    return Line(sentence, f"/methods/{facts.details['method']}" if facts.method else None)


def _deadline(facts: Facts) -> Line:
    when = f"closes on {date_in_words(facts.closes_at)}" if facts.closes_at else "no longer has a deadline"
    sentence = (
        f"{facts.phase} {when}; the team {facts.team_name} had uploaded a valid archive and not submitted it"
    )
    return Line(sentence, "/uploads")


def _opened(facts: Facts) -> Line:
    until = f"; its deadline is {date_in_words(facts.closes_at)}" if facts.closes_at else ""
    return Line(f"{facts.phase} opened on {_moment(facts.details['at'])}{until}", facts.page)


def _closed(facts: Facts) -> Line:
    return Line(f"{facts.phase} closed on {_moment(facts.details['at'])}", facts.page)


def _extended(facts: Facts) -> Line:
    before, after = facts.details["before"], facts.details["after"]
    now = f"is now {_moment(after)}" if after else "was removed"
    was = f"it was {_moment(before)}" if before else "there was none"
    return Line(f"The deadline of {facts.phase} {now}; {was}", facts.page)


def _moment(text: str) -> str:
    return date_in_words(datetime.fromisoformat(text))


def _announcement(facts: Facts) -> Line:
    if facts.news is None:
        return Line(f"{facts.challenge_title}: an announcement that was deleted", f"{facts.page}/news")
    path = f"{facts.page}/news#news-{facts.details['announcement']}"
    return Line(f"{facts.challenge_title}: {facts.news.title}", path, facts.news.text)


def _invitation(facts: Facts) -> Line:
    who, team = facts.person or "Somebody", facts.details
    sentence = f"{who} invited others to the team {facts.team_name} by a link"
    if team["has_joined"]:
        sentence = f"{who} joined the team {facts.team_name} by an invitation"
    return Line(f"{sentence} ({facts.challenge_title})", "/teams")


def _approved(facts: Facts) -> Line:
    return Line(f"The team {facts.team_name} was approved for {facts.challenge_title}", "/teams")


def _refused(facts: Facts) -> Line:
    is_still = facts.team is not None and facts.team.approval is Approval.REFUSED
    why = f": {facts.team.approval_reason}" if facts.team and is_still else ""
    return Line(f"The team {facts.team_name} was not approved for {facts.challenge_title}{why}", "/teams")


def _suspended(facts: Facts) -> Line:
    if not facts.details["is_suspended"]:
        sentence = f"The suspension of the team {facts.team_name} in {facts.challenge_title} has ended"
        return Line(sentence, "/teams")
    why = f": {facts.team.suspension_reason}" if facts.team and facts.team.is_suspended else ""
    return Line(f"The team {facts.team_name} was suspended in {facts.challenge_title}{why}", "/teams")


def _terms(facts: Facts) -> Line:
    if not facts.details["has_text"]:
        return Line(f"{facts.challenge_title} has no terms any more", facts.page)
    sentence = f"The terms of {facts.challenge_title} changed; accept version {facts.details['version']} before you submit"
    return Line(sentence, f"{facts.page}/terms")


def _runs_failed(facts: Facts) -> Line:
    sentence = (
        f"Scoring failed in {facts.challenge_title} because of an error of the server; nothing was counted"
    )
    return Line(sentence, f"/organise/challenges/{quote(facts.challenge)}/submissions?state=failed")


def _team_waits(facts: Facts) -> Line:
    is_decided = facts.team is not None and facts.team.approval is not Approval.WAITING
    state = "asked for approval, and was answered" if is_decided else "waits for approval"
    path = f"/organise/challenges/{quote(facts.challenge)}/teams"
    return Line(f"The team {facts.team_name} {state} in {facts.challenge_title}", path)


def _decision(facts: Facts) -> Line:
    about = facts.details
    what = facts.method or "a method"
    if "competition" in about:
        what = f"{what} ({about['competition']})"
    if about["done"] == "showed":
        what = f"{what} again"
    where = facts.phase if facts.image_set else facts.challenge_title
    why = f": {about['reason']}" if about["reason"] else ""
    path = facts.submission if "submission" in about else f"/methods/{about['method']}"
    return Line(f"The organisers {about['done']} {what} in {where}{why}", path)


def _quota(facts: Facts) -> Line:
    about = facts.details
    why = f": {about['reason']}" if about["reason"] else ""
    if "submission" in about:
        done = f"gave the quota of {facts.method or 'a method'} ({about['competition']}) back"
        return Line(f"The organisers {done} in {facts.phase}{why}", facts.submission)
    number = about["slots"]
    done = f"{'granted' if number > 0 else 'revoked'} {plural(abs(number), 'extra slot')} for {about['task']}"
    until = f", until {_moment(about['until'])}" if about.get("until") else ""
    return Line(f"The organisers {done} in {facts.phase}{until}{why}", "/submissions")


def _data_set_read(facts: Facts) -> Line:
    about, which = facts.details, f"The data set of {facts.challenge_title}"
    path = f"/organise/data-sets/{about['intake']}"
    if "failed" in about:
        return Line(f"{which} could not be {about['failed']}", path)
    counts = {"problem": about["problems"], "warning": about["warnings"]}
    found = [plural(count, word) for word, count in counts.items() if count]
    return Line(f"{which} was read: {' and '.join(found) or 'no problems'}", path)


def _truth_ready(facts: Facts) -> Line:
    """Releases before wrote fewer details, and the same kind for a data set that was read."""
    about = facts.details
    path = f"/organise/challenges/{quote(facts.challenge)}/ground-truth"
    if "version" not in about:
        return Line(
            f"A data set of {facts.challenge_title} was read", f"/organise/data-sets/{about['intake']}"
        )
    which = f"Version {about['version']} of the ground truth of {facts.phase}"
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
        f"A data set of {facts.challenge_title} was not touched for weeks and will be removed soon",
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
        words = beginning.format(challenge=facts.challenge_title, team=facts.team_name)
        title = facts.details.get("title")
        sentence = f"{words}: {title}" if title else words
        return Line(
            sentence, facts.details.get("path") or facts.page, facts.message or facts.details.get("text")
        )

    return write


WRITERS: Final[Mapping[EventKind, Callable[[Facts], Line]]] = {
    EventKind.SCORED: _outcome,
    EventKind.REFUSED: _outcome,
    EventKind.FAILED: _outcome,
    EventKind.INVALID: _invalid,
    EventKind.WAITS: _waits,
    EventKind.RESCORED: _rescored,
    EventKind.PUBLISHED: _published,
    EventKind.DEADLINE: _deadline,
    EventKind.OPENED: _opened,
    EventKind.CLOSED: _closed,
    EventKind.EXTENDED: _extended,
    EventKind.ANNOUNCEMENT: _announcement,
    EventKind.ANSWER: _titled("The organisers of {challenge} answered"),
    EventKind.MESSAGE: _titled("The organisers of {challenge} wrote"),
    EventKind.INVITATION: _invitation,
    EventKind.TEAM_APPROVED: _approved,
    EventKind.TEAM_REFUSED: _refused,
    EventKind.TEAM_SUSPENDED: _suspended,
    EventKind.TERMS_CHANGED: _terms,
    EventKind.DECISION: _decision,
    EventKind.QUOTA: _quota,
    EventKind.HOOK_OFF: _titled("A webhook of {challenge} was turned off"),
    EventKind.QUESTION: _titled("A question about {challenge}"),
    EventKind.RUNS_FAILED: _runs_failed,
    EventKind.TEAM_WAITS: _team_waits,
    EventKind.DATA_SET_READ: _data_set_read,
    EventKind.TRUTH_READY: _truth_ready,
    EventKind.OUTAGE: _titled("The service was unavailable near a deadline of {challenge}"),
    EventKind.STORAGE_LOW: _storage_low,
    EventKind.BACKUP_OLD: _backup_old,
    EventKind.WORKER_AWAY: _worker_away,
    EventKind.INTAKE_KEY: _intake_key,
    EventKind.DATA_SET_EXPIRES: _data_set_expires,
    EventKind.MAIL_FAILS: _mail_fails,
}


LONGEST_SUBJECT: Final = 150  # characters


@dataclass(frozen=True, slots=True)
class Counted:
    """A line of a mail, and how many events say the same."""

    line: Line
    count: int

    @property
    def words(self) -> str:
        """The sentence, with how often it happened if that is more than once.

        >>> Counted(Line("VOC2012, test opened"), 3).words
        'VOC2012, test opened (3 times)'
        """
        return f"{self.line.sentence} ({self.count} times)" if self.count > 1 else self.line.sentence

    @property
    def ended(self) -> str:
        """The words with a full stop where they need one."""
        return replace(self.line, sentence=self.words).ended


def counted(lines: Iterable[Line]) -> tuple[Counted, ...]:
    """Count equal lines, each at the place of the first.

    >>> [each.count for each in counted([Line("a"), Line("b"), Line("a")])]
    [2, 1]
    """
    return tuple(Counted(line, count) for line, count in Counter(lines).items())


def subject_of(title: str, lines: Sequence[Counted], *, has_more: bool = False) -> str:
    """Return the subject of a mail: what its only event says, or the title of its kind with their number.

    >>> subject_of("A phase opened", [Counted(Line("VOC2012, test opened"), 1)])
    'VOC2012, test opened'
    >>> subject_of("A phase opened", [Counted(Line("a"), 2), Counted(Line("b"), 1)], has_more=True)
    'A phase opened (3+)'
    """
    if len(lines) > 1 or has_more:
        return f"{title} ({sum(each.count for each in lines)}{'+' if has_more else ''})"
    words = lines[0].words
    return words if len(words) <= LONGEST_SUBJECT else f"{words[: LONGEST_SUBJECT - 1]}…"
