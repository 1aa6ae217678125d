"""Drafts of challenges: creating one, its steps, which change its phases and texts, opening and deleting it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from pydantic import BaseModel
from sqlalchemy import delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.challenges import challenges, news, same_labels, terms, texts, visibility
from app.challenges.challenges import PhaseView
from app.challenges.phase_rules import PhaseRules
from app.challenges.rules import Rule, main_rules, rules_of
from app.challenges.terms import NewTerms
from app.challenges.texts import NewTexts, TextSheet
from app.core import audit
from app.core.access import Action, Actor, require_challenge, rows_for
from app.core.errors import (
    ChallengeNotReady,
    ConflictError,
    FieldsError,
    ForbiddenError,
    NotFoundError,
    raise_if_refused,
)
from app.intake import class_choices, draft_phases, intakes, keys, testing
from app.intake.draft_phases import Task, Template, Tracks
from app.intake.intakes import IntakeView
from app.intake.reports import FoundSet, Report
from app.intake.testing import DeletedTests
from app.models import (
    Challenge,
    ChallengeDraft,
    ChallengeOrganiser,
    ChallengeRole,
    ChallengeVisibility,
    DataFile,
    Disclosure,
    GroundTruth,
    Intake,
    IntakeState,
    OneTimeLink,
    Phase,
    Question,
    Team,
    TeamMessage,
    Thread,
    Trial,
)
from app.notifications import mailing
from app.organising import draft_rules, questions
from app.organising.creating import may_create_challenges
from app.organising.disclosing import ONLY_OWNERS_SHOW
from app.organising.draft_rules import (
    Check,
    ClassRows,
    RulesChoice,
    ScoringChoice,
    Step,
    TermsChoice,
    What,
)
from app.platform import Platform

ONLY_OWNERS: Final = "Only owners of the challenge publish annotation; ask one to open it"
COPIES: Final = "its public annotation is hidden by another challenge that was opened meanwhile; only an admin may open it"
BUSY: Final = "a worker reads the data set of this challenge; wait until it is done"
NO_PHASES: Final = "A worker makes the phases when it has read the data set; send it first, or wait"


class NewCopy(BaseModel):
    """The title and address of a copy."""

    model_config = draft_rules.FROZEN

    title: draft_rules.Title
    code: draft_rules.Code


@dataclass(frozen=True, slots=True)
class DraftLine:
    """A draft in a list."""

    code: str
    title: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Item:
    """Something to do before a challenge opens. is_required: it cannot open without."""

    title: str
    is_done: bool
    address: str
    link: str
    text: str = ""
    is_required: bool = True
    is_link_kept: bool = False  # once it is done


@dataclass(frozen=True, slots=True)
class StatedPhase:
    """A phase with its rules in words. main: those that decide how people take part."""

    phase: PhaseView
    main: tuple[Rule, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class DraftView:
    """A draft with its phases and its data set. terms: as they are now; invited: addresses and domains."""

    challenge: Challenge
    draft: ChallengeDraft
    phases: tuple[PhaseView, ...]
    intake: IntakeView | None
    chosen: tuple[FoundSet, ...]  # what participants submit to, once it is read
    texts: TextSheet
    terms: str
    invited: tuple[str, ...]
    can_receive: bool  # whether workers have a key
    items: tuple[Item, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it is no draft any more; then its pages have replaced its steps."""
        return self.challenge.visibility is not ChallengeVisibility.DRAFT

    @property
    def sets(self) -> tuple[FoundSet, ...]:
        """The image sets of the data set, once it is read."""
        return self.intake.report.sets if self.intake and self.intake.report else ()

    @property
    def is_read(self) -> bool:
        """Whether the annotation was read without problems."""
        return bool(self.intake and self.intake.report and self.intake.report.is_valid)

    @property
    def is_busy(self) -> bool:
        """Whether a worker is processing the data set."""
        return bool(self.intake and self.intake.is_with_worker)

    @property
    def is_made(self) -> bool:
        """Whether its phases are those of its data set."""
        return bool(self.intake and self.intake.state is IntakeState.APPLIED)

    @property
    def has_hidden(self) -> bool:
        """Whether participants submit to a set with hidden annotation."""
        return any(each.is_held_out for each in self.phases)

    @property
    def main(self) -> tuple[PhaseView, ...]:
        """The phases that have the dates and quotas of step 5: the hidden ones, or all if none is hidden."""
        return tuple(each for each in self.phases if each.is_held_out) or self.phases

    @property
    def publishes(self) -> tuple[str, ...]:
        """The phases whose annotation becomes known if it opens, at once or when they are over."""
        return tuple(each.image_set for each in self.phases if not each.is_held_out or each.details_at_close)

    @property
    def is_ready(self) -> bool:
        """Whether it can be opened."""
        return not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """What is required and not done."""
        return tuple(
            f"not done yet: {each.title}" + (f" ({each.text})" if each.text else "")
            for each in self.items
            if each.is_required and not each.is_done
        )

    @property
    def done(self) -> frozenset[Step]:
        """The steps that are done."""
        is_done = {Step.WHAT: True, Step.DATA: self.is_read, Step.PAGE: bool(self.texts.overview)}
        return frozenset(each for each in Step if is_done.get(each, each in self.draft.steps))

    @property
    def found_by(self) -> str:
        """Who will find the challenge, as a sentence."""
        return f"{draft_rules.FOUND_BY[self.draft.opens_to]}."

    @property
    def stated(self) -> tuple[StatedPhase, ...]:
        """What was chosen, as participants will read it."""
        approves, most = self.challenge.approves_teams, self.challenge.most_members
        return tuple(
            StatedPhase(
                phase,
                main_rules(phase),
                rules_of(phase, approves_teams=approves, most_members=most),
            )
            for phase in self.phases
        )


@dataclass(frozen=True, slots=True)
class Start:
    """What the page shows that begins a new challenge."""

    drafts: tuple[DraftLine, ...]
    own: Mapping[str, str] = field(default_factory=dict)  # challenges to copy, by code


# reading


def start_page(platform: Platform, actor: Actor) -> Start:
    """Return the drafts of a person who may create challenges. Raises ForbiddenError."""
    with platform.snapshot() as session:
        _require_creator(session, actor)
        theirs = rows_for(actor, Action.ORGANISE, challenge=Challenge.id)
        drafts = session.execute(
            select(Challenge.code, Challenge.title, ChallengeDraft.changed_at)
            .join(ChallengeDraft, ChallengeDraft.challenge_id == Challenge.id)
            .where(theirs, Challenge.visibility == ChallengeVisibility.DRAFT)
            .order_by(ChallengeDraft.changed_at.desc())
        ).all()
        listed = session.execute(
            select(Challenge.code, Challenge.title).where(theirs).order_by(Challenge.title)
        )
        return Start(tuple(DraftLine(*row) for row in drafts), dict(listed.all()))


def _require_creator(session: Session, actor: Actor) -> None:
    if not may_create_challenges(session, actor):
        raise ForbiddenError(
            "You may not create challenges on this server; ask for it under Account, Creating challenges"
        )


def may_create(platform: Platform, actor: Actor) -> bool:
    """Whether a person may create challenges."""
    with platform.reading() as session:
        return may_create_challenges(session, actor)


def unfinished(platform: Platform, actor: Actor, code: str) -> DraftView | None:
    """Return the draft of a challenge for its organisers while something on its checklist is left to do; else None."""
    with platform.snapshot() as session:
        challenge = challenges.challenge_of(session, code)
        if challenge is None or not actor.organises_challenge(challenge.id):
            return None
        found = view_of(platform, session, challenge)
    is_over = found is not None and found.is_open and all(each.is_done for each in found.items)
    return None if is_over else found


def draft_of(platform: Platform, actor: Actor, code: str) -> DraftView:
    """Return a draft that the actor organises. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        found = view_of(platform, session, challenge)
    if found is None:
        raise NotFoundError(f"the challenge {code} was not created in steps; its pages are below Organise")
    return found


def view_of(platform: Platform, session: Session, challenge: Challenge) -> DraftView | None:
    """Return the draft of a challenge, also of one that was opened; None if it was not created in steps."""
    row = session.get(ChallengeDraft, challenge.id)
    if row is None:
        return None
    intake = intakes.newest(session, challenge.id)
    sets = intake.report.sets if intake and intake.report else ()
    stated = terms.newest_terms(session, challenge.code, None)
    view = DraftView(
        challenge=challenge,
        draft=row,
        phases=tuple(challenges.phases_of(session, challenge.code)),
        intake=intake,
        chosen=draft_phases.chosen_sets(sets, session.get_one(Intake, intake.id).sets if intake else None),
        texts=texts.sheet_of(session, challenge),
        terms=stated.text if stated else "",
        invited=visibility.invited(session, challenge.id),
        can_receive=keys.exists_any(session),
    )
    return replace(view, items=tuple(_checklist(platform, session, view)))


def _checklist(platform: Platform, session: Session, view: DraftView) -> Iterator[Item]:
    """Yield everything to do, done or not; once a challenge is open, its pages have replaced its steps."""
    code, is_open, is_made = view.challenge.code, view.is_open, view.is_made
    here, organise = f"/organise/new/{code}", f"/organise/challenges/{code}"
    undecided = [(each, "") for each in (Step.CHECK, Step.SCORING, Step.RULES) if each not in view.done]
    problems = [*undecided, *_problems(session, view)]
    at = problems[0][0] if problems else Step.CHECK
    yield Item(
        "The annotation was read without problems", is_open or view.is_read, f"{here}/data", draft_rules.TITLES[Step.DATA]
    )  # fmt: skip
    yield Item(
        "Classes, scoring and rules are decided", is_open or not problems, f"{here}/{at}",
        draft_rules.TITLES[at], "; ".join(text for _, text in problems if text),
    )  # fmt: skip
    yield Item(
        "The phases are made from the data set", is_open or is_made, f"{here}/check", draft_rules.TITLES[Step.CHECK],
        "A worker is at it." if view.is_busy else "A worker makes them when it has read the data set.",
    )  # fmt: skip
    if is_open or is_made:
        for phase, is_scored in _trials(session, view.challenge.id).items():
            yield Item(
                "Trial results show what participants will see", is_scored,
                f"/organise/phases/{phase}/trials", "Look at them" if is_scored else "Trial results",
                "A worker scores made-up results after the phases are made.", is_required=False, is_link_kept=True,
            )  # fmt: skip
    if is_made and not is_open:
        is_tested = testing.is_tested(session, view.challenge.id)
        submit = f"/challenges/{code}/{view.main[0].image_set}/submit"
        yield Item(
            "Test run done", is_tested, f"{organise}/submissions" if is_tested else submit,
            "Look at it" if is_tested else "Submit a test",
            "Submit an archive as participants will. Dates and quotas do not count; everything of it is deleted before the challenge"
            " opens.", is_required=False, is_link_kept=True,
        )  # fmt: skip
    yield Item(
        "The page has a text", bool(view.texts.overview), f"{here}/page", draft_rules.TITLES[Step.PAGE]
    )
    yield Item(
        "A second organiser", _count_organisers(session, view.challenge.id) > 1, f"{organise}/organisers", "Invite",
        "Somebody who can act while you are away.", is_required=False,
    )  # fmt: skip
    has_server = platform.settings.smtp_host is not None
    yield Item(
        "Mail works", has_server and mailing.trouble(session) is None, "/admin", "Settings of the server",
        "No mail could be sent for a while; the admins of this server know why."
        if has_server
        else "This server has no mail server, so nobody gets mail.", is_required=False,
    )  # fmt: skip


def _problems(session: Session, view: DraftView) -> Iterator[tuple[Step, str]]:
    """Yield what keeps a draft from opening as it was chosen, with the step in which it was."""
    draft, now = view.draft, challenges.now(session)
    if view.chosen:
        found = draft_rules.problems_of_check(draft, view.chosen, draft.without_picture)
        yield from ((Step.CHECK, f"{name.replace('_', ' ')}: {message}") for name, message in found.items())
    for each in view.phases:
        if each.closes_at is not None and each.closes_at <= now:
            yield Step.RULES, f"{each.image_set} closes in the past"
    is_invited = visibility.count_invitations(session, view.challenge.id)
    if draft.opens_to is ChallengeVisibility.INVITED and not is_invited:
        yield Step.RULES, "nobody is invited"


def _count_organisers(session: Session, challenge_id: int) -> int:
    roles = (ChallengeRole.OWNER, ChallengeRole.ORGANISER)
    statement = select(func.count()).where(
        ChallengeOrganiser.challenge_id == challenge_id, ChallengeOrganiser.role.in_(roles)
    )
    return session.scalar(statement) or 0


def _trials(session: Session, challenge_id: int) -> dict[int, bool]:
    """Return the phases with hidden annotation, and whether trial results of it were scored."""
    statement = (
        select(Phase.id, func.bool_or(Trial.finished_at.is_not(None)))
        .join(GroundTruth, GroundTruth.phase_id == Phase.id)
        .outerjoin(Trial, Trial.ground_truth_id == GroundTruth.id)
        .where(Phase.challenge_id == challenge_id, Phase.disclosure != Disclosure.FULL)
        .group_by(Phase.id)
        .order_by(Phase.id)
    )
    return {phase: bool(is_scored) for phase, is_scored in session.execute(statement)}


# creating


def create(platform: Platform, actor: Actor, what: What) -> str:
    """Create a draft and return its code. Raises ForbiddenError, and FieldsError if the code is taken."""
    with _taking(what.code), platform.transaction() as session:
        _require_creator(session, actor)
        _add(session, actor, what)
    platform.cache.expire_versions()
    return what.code


@contextmanager
def _taking(code: str) -> Iterator[None]:
    """Say that a challenge has this code already."""
    try:
        yield
    except IntegrityError as error:
        raise FieldsError({"code": f"{code} is taken; choose another address"}) from error


def _add(session: Session, actor: Actor, what: What, **details: str) -> ChallengeDraft:
    assert actor.user_id is not None
    challenge = Challenge(
        code=what.code, title=what.title, dataset=what.code, visibility=ChallengeVisibility.DRAFT
    )
    session.add(challenge)
    session.flush()
    draft = ChallengeDraft(challenge_id=challenge.id, **what.columns)
    owner = ChallengeOrganiser(challenge_id=challenge.id, user_id=actor.user_id, role=ChallengeRole.OWNER)
    session.add_all((draft, owner))
    texts.set_tagline(session, challenge.id, what.tagline, actor.user_id)
    if keys.exists_any(session):
        session.add(Intake(challenge_id=challenge.id, user_id=actor.user_id))
    audit.record(
        session, actor.user_id, "challenge.create", f"challenge {challenge.id}",
        challenge_id=challenge.id, after={"code": what.code}, details=details,
    )  # fmt: skip
    return draft


def copy(platform: Platform, actor: Actor, code: str, new: NewCopy) -> str:
    """Create a draft with the texts and settings of a challenge, but no data, people or results, and return its code.

    Its phases get the rules of the copied ones when they are made. Its overview describes its own data, so another is proposed.
    Raises what `create` raises, and NotFoundError.
    """
    with _taking(new.code), platform.transaction() as session:
        _require_creator(session, actor)
        source = require_challenge(session, actor, code)
        copied = session.get(ChallengeDraft, source.id)
        if copied is None or not copied.tasks:
            copied = _as_draft(session, source)
        about = {name: getattr(copied, name) for name in ("template", "tasks", "tracks")}
        tagline = texts.sheet_of(session, source).tagline
        draft = _add(session, actor, What(**new.model_dump(), **about, tagline=tagline), copy_of=code)
        draft.copy_of = source.id
        is_open = source.visibility is not ChallengeVisibility.DRAFT
        draft.opens_to = source.visibility if is_open else copied.opens_to
        draft.image_licence, draft.annotation_licence = copied.image_licence, copied.annotation_licence
        challenge = session.get_one(Challenge, draft.challenge_id)
        for name in ("approves_teams", "most_members", "shortest_description"):
            setattr(challenge, name, getattr(source, name))
        texts.copy(session, source.id, challenge.id, actor.user_id, without={"overview"})
        questions.copy(session, source.id, challenge.id)
        stated = terms.current_terms(session, code, None)
        if stated is not None:
            is_ours = stated.text == research_terms(source.title, draft)
            text = research_terms(challenge.title, draft) if is_ours else stated.text
            terms.replace_terms(session, actor, challenge, NewTerms(text=text))
    platform.cache.expire_versions()
    return new.code


def _as_draft(session: Session, challenge: Challenge) -> ChallengeDraft:
    """What the draft of a challenge would have been that was not created in steps."""
    phases = challenges.phases_of(session, challenge.code)
    offered = [each for phase in phases for each in challenges.offered_competitions(phase)]
    tasks = sorted({draft_phases.kind_of(each.task).value for each in offered})
    template = Template.COCO if challenge.dataset in ("COCO", "LVIS") else Template.VOC
    return ChallengeDraft(
        template=template, tasks=tasks or [Task.DETECTION.value], tracks=Tracks.ONE,
        opens_to=ChallengeVisibility.LISTED, image_licence="", annotation_licence="",
    )  # fmt: skip


def research_terms(title: str, draft: ChallengeDraft) -> str:
    """Return the terms for research and teaching of a challenge with this title."""
    return draft_rules.research_terms(title, draft.image_licence, draft.annotation_licence)


# the steps


def _locked(session: Session, actor: Actor, code: str) -> tuple[Challenge, ChallengeDraft]:
    """Lock a draft that can still be changed. Raises NotFoundError, ForbiddenError, ConflictError."""
    challenge = require_challenge(session, actor, code, lock=True)
    row = session.get(ChallengeDraft, challenge.id, with_for_update=True)
    if row is None:
        raise NotFoundError(f"the challenge {code} was not created in steps; its pages are below Organise")
    if challenge.visibility is not ChallengeVisibility.DRAFT:
        raise ConflictError("This challenge is open; change it on its pages below Organise")
    return challenge, row


@dataclass(frozen=True, slots=True)
class _Draft:
    """A locked draft that somebody changes."""

    session: Session
    actor: Actor
    challenge: Challenge
    row: ChallengeDraft

    def intake(self) -> Intake | None:
        """The newest data set, locked."""
        newest = intakes.newest(self.session, self.challenge.id)
        return self.session.get_one(Intake, newest.id, with_for_update=True) if newest else None

    def read_intake(self) -> tuple[Intake, Report]:
        """The newest data set, locked, and what was found in it. Raises ConflictError before it is read."""
        intake = self.intake()
        report = intakes.report_of(intake) if intake else None
        if intake is None or report is None or intake.state in intakes.WITH_WORKER:
            raise ConflictError("The annotation has to be read first")
        return intake, report

    def phases(self) -> Sequence[Phase]:
        """The phases, locked. Raises FieldsError before there are any."""
        statement = select(Phase).where(Phase.challenge_id == self.challenge.id).order_by(Phase.id)
        if found := self.session.scalars(statement.with_for_update()).all():
            return found
        raise FieldsError({"": NO_PHASES})

    def change(self, phases: Sequence[Phase], rules: Sequence[PhaseRules]) -> None:
        """Give phases these rules."""
        for phase, after in zip(phases, rules, strict=True):
            if changes := news.change_rules(self.session, phase, after):
                audit.record(
                    self.session, self.actor.user_id, "phase.change", f"phase {phase.id}",
                    challenge_id=self.challenge.id,
                    before={each.name: each.before for each in changes},
                    after={each.name: each.after for each in changes},
                )  # fmt: skip


@contextmanager
def _changing(platform: Platform, actor: Actor, code: str, step: Step) -> Iterator[_Draft]:
    """A transaction that saves a step of a draft. Raises NotFoundError, ForbiddenError, ConflictError."""
    with platform.transaction() as session:
        challenge, row = _locked(session, actor, code)
        yield _Draft(session, actor, challenge, row)
        row.steps = sorted({*row.steps, step.value})
        row.settings = {each: answer for each, answer in row.settings.items() if each != step}
        row.changed_at, row.refusal = func.clock_timestamp(), ""
    platform.notifier.wake_workers()
    platform.cache.expire_versions()


def save_what(platform: Platform, actor: Actor, code: str, what: What) -> str:
    """Save the first step and return the code, which may have changed; a worker reads the data set again if that matters to it.

    Raises FieldsError if the code is taken, and for other tasks while a worker reads the data set.
    """
    with _taking(what.code), _changing(platform, actor, code, Step.WHAT) as draft:
        challenge, row = draft.challenge, draft.row
        is_other = (row.tasks, row.tracks) != (what.columns["tasks"], what.columns["tracks"])
        if challenge.dataset == challenge.code != what.code:  # unless a development kit has named it
            challenge.dataset, is_other = what.code, True
        intake = draft.intake()
        if is_other and intake is not None and intake.state in intakes.WITH_WORKER:
            raise FieldsError({"tasks": BUSY})
        if is_other and intake is not None and intake.report is not None:
            intakes.queue_reading(draft.session, intake)
        stated = terms.current_terms(draft.session, code, None)
        is_ours = stated is not None and stated.text == research_terms(challenge.title, row)
        challenge.code, challenge.title = what.code, what.title
        for name, value in what.columns.items():
            setattr(row, name, value)
        draft.session.flush()
        if is_ours:  # not written anew since
            text = research_terms(what.title, row)
            terms.replace_terms(draft.session, actor, challenge, NewTerms(text=text))
        texts.set_tagline(draft.session, challenge.id, what.tagline, actor.user_id)
    return what.code


def read(platform: Platform, actor: Actor, code: str) -> None:
    """Have a worker read the data set of a draft and make its phases. Raises NotFoundError, ForbiddenError, ConflictError."""
    view = draft_of(platform, actor, code)
    if view.intake is None:
        raise FieldsError({"": "send annotation first"})
    intakes.read(platform, actor, view.intake.id)


def start_data_set(platform: Platform, actor: Actor, code: str) -> None:
    """Start the data set of a draft that has none. Raises NotFoundError, ForbiddenError, ConflictError, NoWorkerError."""
    with platform.transaction() as session:
        challenge, _ = _locked(session, actor, code)
        if intakes.newest(session, challenge.id) is None:
            intakes.add(session, actor, challenge.id)


def save_check(platform: Platform, actor: Actor, code: str, check: Check) -> None:
    """Save which image sets participants submit to; if they are others, a worker reads the data set again and makes their phases.

    Raises FieldsError, and ConflictError before they are known.
    """
    with _changing(platform, actor, code, Step.CHECK) as draft:
        intake, report = draft.read_intake()
        _require_valid(report)
        chosen = draft_phases.chosen_sets(report.sets, check.sets)
        if problems := draft_rules.problems_of_check(draft.row, chosen, check.without_picture or 0):
            raise FieldsError(problems)
        before = draft_phases.chosen_sets(report.sets, intake.sets)
        if chosen != before or intake.state is not IntakeState.APPLIED:
            intakes.queue_reading(draft.session, intake)
        intake.sets = [each.key for each in chosen]
        draft.row.without_picture = check.without_picture or 0


def _require_valid(report: Report) -> None:
    if not report.is_valid:
        raise ConflictError("The annotation has to be read without problems first")


def save_names(platform: Platform, actor: Actor, code: str, *, is_neutral: bool) -> None:
    """Save whether hidden images get neutral names, and have a worker read the data set again.

    Raises NotFoundError, ForbiddenError, and ConflictError while there is no report.
    """
    with _changing(platform, actor, code, Step.DATA) as draft:
        intake, _ = draft.read_intake()
        intakes.choose_names(draft.session, actor, intake, is_neutral=is_neutral)


def save_classes(platform: Platform, actor: Actor, code: str, rows: ClassRows) -> None:
    """Save which classes count, their names and order, and have a worker read the data set again with them.

    Raises FieldsError, and ConflictError while there is no report.
    """
    with _changing(platform, actor, code, Step.DATA) as draft:
        intake, report = draft.read_intake()
        _require_valid(report)
        if not rows.fit(report.classes):
            raise ConflictError("The data set was read again meanwhile; look at its classes once more")
        if problems := class_choices.problems_of_choices(rows.choices, report, draft.row.tasks):
            raise FieldsError(problems)
        chosen = class_choices.in_order(rows.choices, rows.positions)
        if chosen != report.classes:
            intakes.choose_classes(draft.session, actor, intake, chosen)


def save_scoring(platform: Platform, actor: Actor, code: str, choice: ScoringChoice) -> None:
    """Save how results are scored and what is shown; another protocol deletes the test runs. Raises FieldsError, ForbiddenError."""
    tests = DeletedTests()
    with _changing(platform, actor, code, Step.SCORING) as draft:
        phases, now = draft.phases(), challenges.now(draft.session)
        before = [PhaseRules.of(each) for each in phases]
        after = [choice.applied_to(each, now) for each in before]
        if problems := draft_rules.problems_of_scoring(choice, draft.challenge.dataset, after, now):
            raise FieldsError(problems)
        were_shown = all(each.details_at_close for each in before if each.is_held_out)
        if choice.details_at_close and not were_shown and not actor.owns_challenge(draft.challenge.id):
            raise ForbiddenError(ONLY_OWNERS_SHOW)
        if phases[0].protocol != choice.protocol:
            tests = testing.delete_all(draft.session, actor.user_id, draft.challenge)
            draft_phases.change_protocol(draft.session, phases, choice.protocol)
        draft.change(phases, after)
    testing.remove_contents(platform, tests)


def save_rules(platform: Platform, actor: Actor, code: str, rules: RulesChoice) -> None:
    """Save dates, quotas, people and terms; whom they do not name is no longer invited. Raises FieldsError."""
    with _changing(platform, actor, code, Step.RULES) as draft:
        challenge, row, session = draft.challenge, draft.row, draft.session
        phases, now = draft.phases(), challenges.now(session)
        main = [each for each in phases if each.is_held_out] or phases
        after = [rules.applied_to(PhaseRules.of(each), now, is_main=each in main) for each in phases]
        if problems := draft_rules.problems_of_rules(rules, after, now):
            raise FieldsError(problems)
        try:
            invited = visibility.invited(session, challenge.id)
            visibility.change_invitations(session, actor, challenge, rules.people, invited)
        except ConflictError as error:
            raise FieldsError({"invited": str(error)}) from error
        draft.change(phases, after)
        challenge.approves_teams, challenge.most_members = rules.approves_teams, rules.most_members
        row.opens_to = rules.visibility
        row.image_licence, row.annotation_licence = rules.image_licence, rules.annotation_licence
        text = {
            TermsChoice.NONE: "",
            TermsChoice.RESEARCH: research_terms(challenge.title, row),
            TermsChoice.OWN: rules.terms_text,
        }[rules.terms]
        terms.replace_terms(session, actor, challenge, NewTerms(text=text))


def save_page(platform: Platform, actor: Actor, code: str, new: NewTexts) -> None:
    """Save the texts of the challenge's page. Raises NotFoundError, ForbiddenError, ConflictError."""
    with _changing(platform, actor, code, Step.PAGE) as draft:
        texts.replace_texts(draft.session, actor, draft.challenge, new)


def proposed_page(view: DraftView) -> str:
    """Return a text for the page from the other steps; empty until there are phases."""
    if not view.phases:
        return ""
    draft = view.draft
    licences = {"Images": draft.image_licence, "Annotations": draft.annotation_licence}
    return draft_rules.page_of(view.texts.tagline, draft.tasks, view.phases[0].protocol, licences, view.sets)


# opening and deleting


def open_now(platform: Platform, actor: Actor, code: str) -> None:
    """Open a draft for the people whom its rules name; its test runs are deleted. An owner confirms what becomes public.

    Raises NotFoundError, ForbiddenError, ConflictError, RateLimitedError after many refusals because another challenge hides what
    would be public, and RefusedError with everything that is missing.
    """
    _note_copies(platform, actor, code)
    with platform.transaction() as session:
        challenge, draft = _locked(session, actor, code)
        missing = _missing(platform, session, actor, challenge)
        raise_if_refused([ChallengeNotReady(each) for each in missing])
        tests = _open(session, actor, challenge, draft)
    testing.remove_contents(platform, tests)
    platform.cache.expire_versions()


def _note_copies(platform: Platform, actor: Actor, code: str) -> None:
    """Record the refusal if opening a draft would publish what another challenge hides; admins are not refused."""
    if actor.is_admin or actor.user_id is None:
        return
    with platform.transaction() as session:
        challenge, _ = _locked(session, actor, code)
        same_labels.note_opening(session, actor.user_id, challenge.id)


def _missing(platform: Platform, session: Session, actor: Actor, challenge: Challenge) -> list[str]:
    """Return why a locked draft cannot open; an actor without an account is the server. Raises ForbiddenError."""
    view = view_of(platform, session, challenge)
    assert view is not None
    if actor.user_id is not None and view.publishes and not actor.owns_challenge(challenge.id):
        raise ForbiddenError(ONLY_OWNERS)
    is_copy = not actor.is_admin and same_labels.hiding_elsewhere(session, challenge.id)
    return [*view.missing, *([COPIES] if is_copy else [])]


def _open(session: Session, actor: Actor, challenge: Challenge, draft: ChallengeDraft) -> DeletedTests:
    now = challenges.now(session)
    tests = testing.delete_all(session, actor.user_id, challenge)
    visibility.open_challenge(session, actor, challenge, now, draft.opens_to)
    draft.opens_at, draft.refusal = None, ""
    session.execute(
        update(Phase).where(Phase.challenge_id == challenge.id, Phase.opens_at < now).values(opens_at=now)
    )
    return tests


def open_on(platform: Platform, actor: Actor, code: str, at: datetime | None) -> None:
    """Have a draft open by itself at a time, or no longer. Raises what `open_now` raises, and FieldsError for a past time."""
    if at is not None:
        _note_copies(platform, actor, code)
    with platform.transaction() as session:
        challenge, draft = _locked(session, actor, code)
        if at is not None:
            missing = _missing(platform, session, actor, challenge)
            if at <= challenges.now(session):
                missing = ["must be in the future; or open the challenge now"]
            if missing:
                raise FieldsError({"opens_at": "; ".join(missing)})
        draft.opens_at, draft.refusal = at, ""
        audit.record(
            session, actor.user_id, "challenge.schedule", f"challenge {challenge.id}",
            challenge_id=challenge.id, after={"opens_at": at.isoformat() if at else None},
        )  # fmt: skip


def open_due(platform: Platform) -> None:
    """Open the drafts whose time has come; one that is not ready any more stays a draft and says why."""
    is_due = (
        ChallengeDraft.opens_at <= func.clock_timestamp(), Challenge.visibility == ChallengeVisibility.DRAFT
    )  # fmt: skip
    with platform.transaction() as session:
        due = session.scalars(select(Challenge.code).join(ChallengeDraft).where(*is_due)).all()
    for code in due:
        tests = DeletedTests()
        with platform.transaction() as session:
            challenge = challenges.challenge_of(session, code, lock=True)
            draft = session.get(ChallengeDraft, challenge.id) if challenge else None
            is_draft = challenge is not None and challenge.visibility is ChallengeVisibility.DRAFT
            if challenge is None or draft is None or draft.opens_at is None or not is_draft:
                continue
            if missing := _missing(platform, session, Actor(), challenge):
                draft.opens_at, draft.refusal = None, "; ".join(missing)
            else:
                tests = _open(session, Actor(), challenge, draft)
        testing.remove_contents(platform, tests)


def delete_draft(platform: Platform, actor: Actor, code: str) -> None:
    """Delete a draft with its data and its test runs.

    Raises NotFoundError, ForbiddenError, ConflictError.
    """
    with platform.transaction() as session:
        challenge, _ = _locked(session, actor, code)
        if not actor.owns_challenge(challenge.id):
            raise ForbiddenError("Only owners delete a draft")
        session.refresh(challenge, with_for_update=True)  # nobody adds a row that refers to it
        tests = testing.delete_all(session, actor.user_id, challenge)
        unused = intakes.delete_all(session, challenge.id)
        pictures = testing.delete_truths(session, challenge.id)
        here = challenge.id
        for table in (TeamMessage, Thread, Question, DataFile, Team, OneTimeLink):
            session.execute(delete(table).where(table.challenge_id == here))
        audit.record(
            session, actor.user_id, "challenge.delete", f"challenge {here}",
            challenge_id=here, before={"code": code, "title": challenge.title},
        )  # fmt: skip
        session.flush()
        session.execute(delete(Challenge).where(Challenge.id == here))
    testing.remove_contents(platform, tests)
    for each in pictures:
        each.remove(platform)
    intakes.delete_objects(platform, unused)
    platform.cache.expire_versions()
