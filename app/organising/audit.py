"""The audit log for people: a sentence for each record, pages of them, and CSV."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Final

from pydantic import Field
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import InstrumentedAttribute, Session

import heldout_scoring
from app.core import audit as core_audit
from app.core.access import Action, Actor, require_challenge
from app.core.audit import AuditSearch, Record
from app.models import (
    Announcement,
    AuditRecord,
    Challenge,
    DataFile,
    Method,
    Phase,
    Question,
    Rescore,
    Result,
    Submission,
    Team,
    User,
)
from app.platform import Platform
from app.web.formats import plural
from app.web.forms import OrBlank
from app.web.tables import Cell, csv_of
from app.web.zones import MINUTE

PAGE = 30  # records
BATCH = 500  # records of a CSV that are read at a time

# by the noun with which actions begin: what a filter says, for a challenge
TOPICS: Final[Mapping[str, str]] = {
    "phase": "Dates, rules and disclosure",
    "result": "Results",
    "rescore": "Re-scoring",
    "method": "Methods",
    "pair": "Similar results",
    "team": "Teams",
    "quota": "Quotas and extra slots",
    "role": "Roles of people",
    "link": "Invitations and links",
    "view": "Views as somebody else",
    "page": "Texts",
    "news": "News",
    "terms": "Terms",
    "question": "Questions",
    "file": "Files",
    "pictures": "Images",
    "challenge": "Approval of teams, visibility",
    "label": "Corrected labels",
    "invitation": "Invitations to see the challenge",
    "data-set": "Data sets",
    "picture": "Image of the challenge",
    "text-image": "Images for texts",
    "webhook": "Webhooks",
    "thread": "Questions of teams",
    "label-report": "Reported labels",
    "answer": "Published answers",
    "asking": "Where teams can ask",
    "message": "Announcements to teams",
}

# the same for admins, beyond challenges
SITE_TOPICS: Final[Mapping[str, str]] = {
    "account": "Accounts",
    "person": "People",
    "creation": "Requests to create challenges",
    "creator": "Who may create challenges",
    "token": "API tokens",
    "session": "Sessions",
    "second-factor": "Two-factor login",
    "provider": "Login providers",
    "site": "Site",
    "notice": "Notices",
    "job": "Failed jobs",
    "storage": "Storage",
}

# what somebody did; {subject} is its object by name, the others are fields of before, after and details
SENTENCES: Final[Mapping[str, str]] = {
    "account.change_password": "changed the password",
    "account.confirm_address": "confirmed an e-mail address",
    "account.delete": "deleted the account of {subject}",
    "account.reset_password": "chose a new password by mail",
    "answer.edit": "changed a published answer",
    "answer.publish": "published an answer for everybody",
    "answer.unpublish": "withdrew a published answer",
    "asking.set": "changed where teams of {subject} can ask questions",
    "challenge.apply": "changed settings of {subject} by a file: {settings}",
    "challenge.approves_teams": "{asked}",
    "challenge.archive": "archived {subject}",
    "challenge.clear_tests": "deleted the test runs of {subject}, {uploads} uploads",
    "challenge.create": "created the challenge {code}",
    "challenge.delete": "deleted the draft {code}",
    "challenge.delete_opened": "deleted the challenge {code}, to which only its organisers had submitted: {deleted}",
    "challenge.open": "opened {subject} ({visibility})",
    "challenge.pictures": "said where participants get the images of {subject}: {changes}",
    "challenge.schedule": "set when {subject} opens by itself: {opens_at}",
    "challenge.take_back": "took {subject} back from the archive",
    "challenge.visibility": "changed who can see {subject}: {changes}",
    "creation.approve": "let {subject} create challenges, as they had asked",
    "creation.ask": "asked to be allowed to create challenges",
    "creation.refuse": "refused to let {subject} create challenges",
    "creator.add": "let {subject} create challenges",
    "creator.remove": "no longer lets {subject} create challenges",
    "data-set.apply": "asked to apply a data set to {phase}",
    "data-set.audiences": "answered who may see the annotation of image sets of a data set",
    "data-set.classes": "changed which classes of a data set count, their names or their order",
    "data-set.delete": "deleted a data set",
    "data-set.names": "chose whether hidden images of a data set get neutral names",
    "data-set.pictures": "had images of hidden annotation drawn",
    "data-set.tables": "said how tables of a data set are read",
    "data-set.refuse-copy": "was refused to publish annotation that is hidden in {hiding}",
    "description.rule": "set the length of descriptions to {shortest} characters",
    "file.add": "added the file {name}",
    "file.change": "changed the file {subject}",
    "file.delete": "deleted the file {name}",
    "file.replace": "replaced the file {name} by version {version}",
    "invitation.add": "invited people to {subject}",
    "invitation.code": "made an invitation code for {subject}",
    "invitation.redeem": "redeemed an invitation code for {subject}",
    "invitation.remove": "removed somebody from the people invited to {subject}",
    "invitation.revoke": "revoked an invitation to {subject}",
    "job.discard": "discarded a job that had failed for good",
    "label-report.add": "reported a label of {subject}: {kind}",
    "label-report.close": "closed reports of labels of {subject}, {count} in all",
    "label.apply": "asked to apply corrected labels of {images} images to version {version} of {subject}",
    "label.correct": "corrected labels of the image {image} of {subject}, to be applied later",
    "label.preview": "had counted what corrected labels of {images} images of {subject} change",
    "label.show": "had the labels of the image {image} of {subject} shown",
    "label.take-back": "took corrected labels of the image {image} of {subject} back",
    "link.create": "made {a_link}",
    "link.reveal": "revealed {a_link}",
    "link.revoke": "revoked {a_link}",
    "link.use": "accepted {a_role} by a link",
    "message.send": "wrote “{title}” to teams",
    "method.hide": "hid the method {method}",
    "method.make_public": "made the method {method} public",
    "method.show": "showed the method {method} again",
    "news.delete": "deleted the announcement “{title}”",
    "news.edit": "edited the announcement “{title}”",
    "news.publish": "announced “{title}”",
    "notice.end": "ended a notice on the status page",
    "notice.publish": "published the notice “{title}”",
    "page.change": "changed the texts of {subject}",
    "pair.dismiss": "decided that two similar results are different methods",
    "pair.restore": "put two similar results back on the list",
    "person.suspend": "suspended {subject}",
    "person.unsuspend": "ended the suspension of {subject}",
    "phase.change": "changed {subject}: {changes}",
    "phase.close": "closed {subject} early, at {closes_at}",
    "phase.compare": "had version {new_version} of {subject} compared with version {old_version}",
    "phase.copied": "applied as public what is annotated in {images} images of {subject}, which hides it",
    "phase.create": "created {subject} with its ground truth",
    "phase.disclose": "changed what {subject} discloses: {changes}",
    "phase.draw-changes": "had drawn what changed in version {new_version} of {subject} since version {old_version}",
    "phase.go-back": "asked to go back to version {version} of {subject}",
    "phase.import": "{imported}",
    "phase.note": "changed the note on version {version} of {subject}",
    "phase.pause": "paused scoring of {subject}",
    "phase.resume": "resumed scoring of {subject}",
    "picture.change": "changed the image of {subject}",
    "text-image.change": "changed the images for texts of {subject}",
    "pictures.archive": "changed whether the images of {subject} are offered as one archive",
    "pictures.change": "changed who sees the images of {subject}: {changes}",
    "provider.link": "linked a login provider",
    "provider.unlink": "removed a login provider",
    "question.add": "added the question “{text}”",
    "question.change": "changed {subject}",
    "question.delete": "deleted the question “{text}”",
    "quota.grant": "granted {subject} {slots}",
    "quota.refund": "gave the quota of {subject} back",
    "quota.take_back": "revoked an extra slot of {subject} in {task}",
    "rescore.abandon": "discarded the scores of {subject}",
    "rescore.keep": "kept the old score of {subject} in a re-scoring",
    "rescore.pause": "paused {subject}",
    "rescore.publish": "published the scores of {subject}",
    "rescore.request": "started {subject}: {number_of_runs}",
    "rescore.resume": "resumed {subject}",
    "rescore.switch": "had the boards of {subject} switched to version {version}, by a re-scoring",
    "rescore.retry": "retried {number_of_runs} of {subject}",
    "result.cancel": "cancelled {subject}, which was waiting",
    "result.rescore": "queued {subject} again",
    "result.withdraw": "withdrew {subject}",
    "role.change": "changed the role of {subject} on this server from {old_role} to {role}",
    "role.grant": "{granted}",
    "role.revoke": "removed {subject} from the people of the challenge",
    "second-factor.codes": "made new recovery codes",
    "second-factor.off": "turned the second factor off",
    "second-factor.on": "turned the second factor on",
    "second-factor.recovery": "used a recovery code",
    "session.end-all": "ended all logins",
    "session.start": "logged in",
    "site.change": "changed how this site presents itself",
    "storage.sweep": "removed expired content from storage",
    "team.account_ended": "left {subject} by deleting an account",
    "team.approve": "approved {subject}",
    "team.change": "changed {subject}: {changes}",
    "team.create": "created {subject}",
    "team.hand_over": "handed {subject} over",
    "team.invite": "made an invitation to {subject}",
    "team.join": "joined {subject}",
    "team.leave": "left {subject}",
    "team.lift_suspension": "ended the suspension of {subject}",
    "team.refuse": "refused to approve {subject}",
    "team.remove_member": "removed somebody from {subject}",
    "team.revoke_invitation": "revoked an invitation to {subject}",
    "team.set_owner": "changed who owns {subject}",
    "team.suspend": "suspended {subject}",
    "terms.set": "set version {version} of the terms",
    "thread.close": "closed a question of a team",
    "thread.reopen": "opened a question of a team again",
    "token.create": "made an API token",
    "token.revoke": "revoked an API token",
    "token.revoke-all": "revoked all API tokens",
    "view.end": "stopped viewing {subject} as {eyes}",
    "view.start": "began to view {subject} as {eyes}",
    "webhook.create": "added the webhook {name} to {host}",
    "webhook.delete": "deleted the webhook {name}",
    "webhook.rotate": "replaced the secret of the webhook {name}",
    "webhook.turn-on": "turned the webhook {name} on again",
}

# records outlast the features that made them
FORMER_SENTENCES: Final[Mapping[str, str]] = {
    "phase.extend": "extended the deadline of {subject} by what an outage took, to {closes_at}",
}

# a change of these reads better as a sentence of its own
CHANGES: Final[Mapping[str, str]] = {
    "opens_at": "moved the opening from {old} to {new}",
    "closes_at": "moved the deadline from {old} to {new}",
    "grace": "changed the grace period from {old} to {new}",
    "quotas": "changed the quotas from {old} to {new}",
    "frozen_from": "moved the freeze of the rows of others from {old} to {new}",
    "embargo": "changed the embargo from {old} to {new}",
}

_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)\S*\+00:00", re.ASCII)


class AuditQuery(AuditSearch):
    """More filters for audit records; an empty field matches all."""

    who: Annotated[str, Field(max_length=80, description="part of the name of the person who did it")] = ""
    challenge: Annotated[str, Field(max_length=100, description="its code")] = ""
    since: Annotated[OrBlank[date], Field(description="the first day, in UTC")] = None
    until: Annotated[OrBlank[date], Field(description="the last day, in UTC")] = None

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions of these filters."""
        if self.who:
            yield User.name.icontains(self.who, autoescape=True)
        if self.challenge:
            of_code = select(Challenge.id).where(Challenge.code == self.challenge)
            yield AuditRecord.challenge_id == of_code.scalar_subquery()
        if self.since is not None:
            yield AuditRecord.at >= datetime.combine(self.since, time(), UTC)
        if self.until is not None:
            yield AuditRecord.at < datetime.combine(self.until + timedelta(days=1), time(), UTC)


@dataclass(frozen=True, slots=True)
class AuditLine(Record):
    """A record with its sentence."""

    sentence: str = ""


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of the audit log, newest first; `next` is the `before` of the following page."""

    records: tuple[AuditLine, ...]
    next: int | None
    challenge: str | None = None  # if it is of one
    challenge_title: str = ""
    is_viewed: bool = False  # the reader may only read


def sentence(record: Record, names: Mapping[str, str]) -> str:
    """Return what somebody did, as a sentence. names: of subjects, such as "team 7".

    >>> from datetime import datetime
    >>> moved = {"before": {"closes_at": "1 May"}, "after": {"closes_at": "8 May"}, "details": {}}
    >>> record = Record(1, datetime(2026, 1, 1), 1, "Ash", "phase.change", "phase 3", None, "", **moved)
    >>> sentence(record, {"phase 3": "test"})
    'Ash moved the deadline of test from 1 May to 8 May'
    """
    who = (record.name or "Somebody with a deleted account") if record.by else "The server"
    before, after = record.before or {}, record.after or {}
    changes = changes_of(before, after)
    subject, role = names.get(record.subject, record.subject), record.details.get("role")
    if record.action == "phase.change" and len(changes) == 1 and next(iter(changes)) in CHANGES:
        [(field, (old, new))] = changes.items()
        verb, _, rest = CHANGES[field].partition(" from ")
        return f"{who} {verb} of {subject} from {rest.format(old=old, new=new)}"
    words = {
        **{name: said(value) for values in (before, after, record.details) for name, value in values.items()},
        "subject": subject,
        "changes": "; ".join(f"{_field(name)} from {old} to {new}" for name, (old, new) in changes.items())
        or "nothing that is shown",
        "old_role": said(before.get("role")),
        "asked": _asked(before, after),
        "granted": _granted(record, subject),
        "imported": _imported(record, subject),
        "a_link": f"a link for a new {role}" if role else "an anonymous link to a result",
        "a_role": f"the role of {role}" if role else "a role",
        "slots": _slots(after),
        "number_of_runs": plural(record.details.get("runs", 0), "run"),
    }
    former = FORMER_SENTENCES.get(record.action, "did {action} to {subject}")
    template = SENTENCES.get(record.action, former)
    return f"{who} {template.format_map(defaultdict(lambda: 'something', words, action=record.action))}"


def _imported(record: Record, subject: str) -> str:
    """What an import did: it may change rules alone."""
    version, copied = record.details.get("new_ground_truth"), record.details.get("copied_from")
    if version is None:
        return f"changed the rules of {subject} by an import"
    again = f", which is version {copied} again," if copied else ""
    if corrected := record.details.get("corrected"):
        again = f", with corrected labels of {plural(corrected, 'image')},"
    return f"applied version {version}{again} to {subject}"


def changes_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the fields that differ, each with its old and new value in words."""
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    return {name: (said(before.get(name)), said(after.get(name))) for name in names}


def said(value: object) -> str:
    """Return a recorded value in words.

    >>> said(None), said(True), said(["a", "b"]), said({"x": 1}), said("2027-01-25T23:59:59+00:00")
    ('none', 'yes', 'a, b', '{"x": 1}', '25 Jan 2027 23:59 UTC')
    """
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case str() | int() | float():
            moment = _moment(str(value))
            return f"{moment:{MINUTE}}" if moment else str(value) or "none"
        case list() | tuple():
            return ", ".join(map(said, value)) or "none"
    return json.dumps(value, sort_keys=True) if value else "none"


def _moment(text: str) -> datetime | None:
    """Return a recorded time; None for other texts."""
    if _MOMENT.fullmatch(text):
        with suppress(ValueError):
            return datetime.fromisoformat(text)
    return None


def _field(name: str) -> str:
    """Return the name of a recorded field in words.

    >>> _field("is_public"), _field("pictures_from"), _field("expires_at")
    ('public', 'source', 'expires')
    """
    known = {"pictures_from": "source", "pictures_address": "address"}
    return known.get(name, name.removeprefix("is_").removesuffix("_at").replace("_", " "))


def _asked(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    if before.get("most_members") != after.get("most_members"):
        most = after.get("most_members")
        return (
            f"limited teams to {plural(most, 'member')}" if most else "let teams have any number of members"
        )
    return (
        "asked for approval of teams"
        if after.get("approves_teams")
        else "stopped asking for approval of teams"
    )


def _granted(record: Record, subject: str) -> str:
    role = record.details.get("challenge_role")
    if not role:
        return f"changed the roles of {subject}"
    if role.get("before"):
        return f"made {subject}, who was {role['before']}, {role.get('after')} of the challenge"
    return f"made {subject} {role.get('after')} of the challenge"


def _slots(after: Mapping[str, Any]) -> str:
    until = f", until {said(after['expires_at'])}" if after.get("expires_at") else ""
    return f"{plural(after.get('slots', 1), 'extra slot')} in {after.get('task', 'something')}{until}"


Loader = Callable[[Session, Collection[int]], Mapping[int, str]]


def _by_id(
    column: InstrumentedAttribute[int], name: ColumnElement[str] | InstrumentedAttribute[str]
) -> Loader:
    def load(session: Session, ids: Collection[int]) -> Mapping[int, str]:
        return dict(session.execute(select(column, name).where(column.in_(ids))).all())

    return load


def _results(session: Session, ids: Collection[int]) -> Mapping[int, str]:
    statement = (
        select(Result.id, Method.name, Challenge.dataset, Result.competition)
        .join(Result.method)
        .join(Method.challenge)
        .where(Result.id.in_(ids))
    )
    return {
        number: f"the result of {method} in {heldout_scoring.competition_of(dataset, competition).title.lower()}"
        for number, method, dataset, competition in session.execute(statement)
    }


def _rescores(session: Session, ids: Collection[int]) -> Mapping[int, str]:
    statement = select(Rescore.id, Phase.image_set).join(Phase, Rescore.phase_id == Phase.id)
    rows = session.execute(statement.where(Rescore.id.in_(ids)))
    return {number: f"{number} of {image_set}" for number, image_set in rows}


def _submissions(session: Session, ids: Collection[int]) -> Mapping[int, str]:
    statement = select(Submission.id, Method.name).join(Submission.method)
    return dict(session.execute(statement.where(Submission.id.in_(ids))).all())


NAMES: Final[Mapping[str, tuple[str, Loader]]] = {
    "person": ("{}", _by_id(User.id, User.name)),
    "team": ("the team {}", _by_id(Team.id, Team.name)),
    "phase": ("{}", _by_id(Phase.id, Phase.image_set)),
    "method": ("the method {}", _by_id(Method.id, Method.name)),
    "challenge": ("{}", _by_id(Challenge.id, Challenge.title)),
    "announcement": ("the announcement “{}”", _by_id(Announcement.id, Announcement.title)),
    "question": ("the question “{}”", _by_id(Question.id, Question.text)),
    "data file": ("{}", _by_id(DataFile.id, DataFile.name)),
    "result": ("{}", _results),
    "submission": ("the submission of {}", _submissions),
    "re-scoring": ("re-scoring {}", _rescores),
}
"""By the noun of a subject: how it is called, and what loads the names."""


def names_of(session: Session, subjects: Iterable[str]) -> dict[str, str]:
    """Return the names of subjects that still exist, with one query for each kind."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for subject in subjects:
        kind, _, number = subject.rpartition(" ")
        if kind in NAMES and number.isascii() and number.isdecimal():
            wanted[kind].add(int(number))
    found: dict[str, str] = {}
    for kind, ids in wanted.items():
        called, load = NAMES[kind]
        found |= {
            f"{kind} {number}": called.format(name or "somebody")
            for number, name in load(session, ids).items()
        }
    return found


def tell(session: Session, actor: Actor, records: Iterable[Record]) -> list[AuditLine]:
    """Add sentences; viewers of a challenge get them without the recorded values."""
    listed = list(records)
    names = names_of(session, (each.subject for each in listed))
    told = [
        AuditLine(**{name: getattr(each, name) for name in Record.__slots__}, sentence=sentence(each, names))
        for each in listed
    ]
    if actor.is_admin or not actor.views:
        return told
    viewed = set(session.scalars(select(Challenge.code).where(Challenge.id.in_(actor.views))))
    return [
        replace(each, before=None, after=None, details={}) if each.challenge in viewed else each
        for each in told
    ]


def page(platform: Platform, actor: Actor, search: AuditQuery) -> AuditPage:
    """Return a page of the records that the actor may read, newest first, of all challenges or of one.

    Raises NotFoundError for a challenge whose organisers' pages they may not read.
    """
    with platform.snapshot() as session:
        challenge = (
            require_challenge(session, actor, search.challenge, Action.READ_ORGANISING)
            if search.challenge
            else None
        )
        found = tell(
            session, actor, core_audit.records(session, actor, search, PAGE + 1, *search.conditions())
        )
    following = found[PAGE - 1].id if len(found) > PAGE else None
    if challenge is None:
        return AuditPage(tuple(found[:PAGE]), following)
    is_viewed = actor.views_challenge(challenge.id)
    return AuditPage(tuple(found[:PAGE]), following, challenge.code, challenge.title, is_viewed)


def latest(platform: Platform, actor: Actor, most: int) -> tuple[AuditLine, ...]:
    """Return the newest records that the actor may read."""
    with platform.snapshot() as session:
        return tuple(tell(session, actor, core_audit.records(session, actor, AuditQuery(), most)))


HEADER: Final = (
    "at",
    "by",
    "person",
    "sentence",
    "action",
    "subject",
    "reason",
    "before",
    "after",
    "details",
)


def csv_lines(platform: Platform, actor: Actor, search: AuditQuery) -> Iterator[str]:
    """Return the matching records as CSV, some at a time. Raises NotFoundError at once."""
    with platform.snapshot() as session:
        require_challenge(session, actor, search.challenge, Action.READ_ORGANISING)

    def lines() -> Iterator[str]:
        yield csv_of(HEADER, ())
        following = search
        while True:
            with platform.snapshot() as session:
                found = tell(
                    session, actor, core_audit.records(session, actor, following, BATCH, *search.conditions())
                )
            yield csv_of(HEADER, map(_cells, found)).partition("\r\n")[2]
            if len(found) < BATCH:
                return
            following = search.model_copy(update={"before": found[-1].id})

    return lines()


def _cells(record: AuditLine) -> tuple[Cell, ...]:
    values = (
        json.dumps(each, sort_keys=True) if each else ""
        for each in (record.before, record.after, record.details)
    )
    return (
        record.at.astimezone(UTC).isoformat(), record.name, record.by, record.sentence, record.action, record.subject,
        record.reason, *values,
    )  # fmt: skip
