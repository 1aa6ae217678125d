"""Drafts of challenges: creating one, saving its steps, making its phases, opening and deleting it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.challenges import challenges, kits, pictures_from, same_labels, terms, texts, visibility
from app.challenges.pictures_from import UNSAID, ParticipantsPictures
from app.challenges.terms import NewTerms
from app.challenges.texts import NewTexts, TextSheet
from app.challenges.visibility import NewInvitations
from app.core import audit
from app.core.access import Action, Actor, require_challenge, rows_for
from app.core.errors import (
    ChallengeNotReady,
    ConflictError,
    ForbiddenError,
    MalformedError,
    NotFoundError,
    raise_if_refused,
)
from app.intake import applying, class_choices, intakes, keys, testing
from app.intake.intakes import IntakeView
from app.intake.reports import HIDDEN, PUBLIC, ClassChoice, FoundSet, Report, proposed_sets
from app.intake.testing import DeletedTests
from app.models import (
    Challenge,
    ChallengeDraft,
    ChallengeOrganiser,
    ChallengeRole,
    ChallengeVisibility,
    Disclosure,
    GroundTruth,
    Intake,
    IntakeState,
    Phase,
    Trial,
)
from app.notifications import mailing
from app.organising import draft_rules
from app.organising.creating import may_create_challenges
from app.organising.draft_rules import (
    Answers,
    Check,
    ClassRows,
    Facts,
    Item,
    PhaseChoice,
    RulesChoice,
    ScoringChoice,
    Step,
    What,
    can_open,
    checklist_of,
)
from app.platform import Platform
from app.web.forms import all_errors

MODELS: Final[Mapping[Step, type[BaseModel]]] = {
    Step.WHAT: What, Step.CHECK: Check, Step.SCORING: ScoringChoice, Step.RULES: RulesChoice
}  # fmt: skip
PHASES: Final = "phases"  # the key of phases with rules of their own
ONLY_OWNERS: Final = "Only owners of the challenge publish annotation; ask one to make the phases"
COPIES: Final = "its public annotation is hidden by another challenge that was opened meanwhile; only an admin may open it"
NO_PICTURES: Final = (
    "say in step 6 where participants get the images, or tick “Open without images for participants”"
)
BUSY: Final = "A worker makes the phases of this challenge. Wait until it is done."


class StepError(MalformedError):
    """Fields of a step are wrong."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {message}" for name, message in problems.items()))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class DraftLine:
    """A draft in a list."""

    code: str
    title: str
    step: Step  # the first that was not saved
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class DraftView:
    """A draft with its answers and its data set."""

    id: int
    code: str
    title: str
    answers: Answers
    intake: IntakeView | None
    can_receive: bool  # whether workers have a key
    changed_at: datetime
    is_made: bool
    contradictions: tuple[str, ...]  # of the answers
    items: tuple[Item, ...]
    opens_at: datetime | None
    refusal: str
    is_open: bool = False
    texts: TextSheet | None = None
    pictures: ParticipantsPictures = UNSAID

    @property
    def sets(self) -> tuple[FoundSet, ...]:
        """The image sets of the data set, once it is read."""
        return self.intake.report.sets if self.intake and self.intake.report else ()

    @property
    def chosen(self) -> tuple[FoundSet, ...]:
        """Those that participants submit to."""
        if self.answers.check is None:
            return proposed_sets(self.sets)
        return tuple(each for each in self.sets if each.key in self.answers.check.sets)

    @property
    def is_read(self) -> bool:
        """Whether the annotation was read without problems."""
        return bool(self.intake and self.intake.report and self.intake.report.is_valid)

    @property
    def is_busy(self) -> bool:
        """Whether a worker is processing the data set."""
        return bool(self.intake and self.intake.is_with_worker)

    @property
    def has_hidden(self) -> bool:
        """Whether participants submit to a set with hidden annotation."""
        return any(each.role == HIDDEN for each in self.chosen)

    @property
    def publishes(self) -> bool:
        """Whether making its phases publishes annotation, at once or when they are over."""
        shows_details = bool(self.answers.scoring and self.answers.scoring.details_at_close)
        return any(each.role == PUBLIC for each in self.chosen) or (self.has_hidden and shows_details)

    @property
    def opens_to(self) -> ChallengeVisibility:
        """Who sees it once it is open."""
        return self.answers.rules.visibility if self.answers.rules else ChallengeVisibility.LISTED

    @property
    def is_ready(self) -> bool:
        """Whether it can be opened."""
        return can_open(self.items)

    @property
    def can_be_made(self) -> bool:
        """Whether all steps are saved, and the phases are not as they say yet."""
        is_answered = {Step.CHECK, Step.SCORING, Step.RULES} <= self.done and not self.contradictions
        return self.is_read and is_answered and not self.is_made and not self.is_busy and not self.is_open

    @property
    def done(self) -> frozenset[Step]:
        """The steps that are done."""
        answers = self.answers
        known = {
            Step.WHAT: answers.what is not None,
            Step.DATA: self.is_read,
            Step.CHECK: answers.check is not None,
            Step.SCORING: answers.scoring is not None,
            Step.RULES: answers.rules is not None,
            Step.PAGE: bool(self.texts and self.texts.overview),
        }
        return frozenset(step for step, is_done in known.items() if is_done)

    @property
    def words(self) -> str:
        """Everything that was chosen as a paragraph; empty until the rules are saved."""
        answers = self.answers
        if not (answers.what and answers.scoring and answers.rules):
            return ""
        return draft_rules.in_words(answers.what, answers.scoring, answers.rules, self.chosen)


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
            select(Challenge, ChallengeDraft)
            .join(ChallengeDraft, ChallengeDraft.challenge_id == Challenge.id)
            .where(theirs, Challenge.visibility == ChallengeVisibility.DRAFT)
            .order_by(ChallengeDraft.changed_at.desc())
        ).all()
        listed = session.execute(
            select(Challenge.code, Challenge.title).where(theirs).order_by(Challenge.title)
        )
        return Start(tuple(_line(*row) for row in drafts), dict(listed.all()))


def _require_creator(session: Session, actor: Actor) -> None:
    if not may_create_challenges(session, actor):
        raise ForbiddenError(
            "You may not create challenges on this server; ask for it under Account, Creating challenges"
        )


def _line(challenge: Challenge, draft: ChallengeDraft) -> DraftLine:
    first = next((each for each in MODELS if each.value not in draft.settings), Step.PAGE)
    return DraftLine(challenge.code, challenge.title, first, draft.changed_at)


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
    answers = answers_of(row.settings)
    is_made = row.made_of is not None and row.made_of == _made_of(answers, intake) and _is_applied(intake)
    sheet = texts.sheet_of(session, challenge)
    # then its pages have replaced its steps, and its newest data set may be one that replaced annotation
    is_open = challenge.visibility is not ChallengeVisibility.DRAFT
    people = answers.rules.people if answers.rules and not is_open else ()
    facts = Facts(
        code=challenge.code,
        saved={step for step in MODELS if is_open or step.value in row.settings},
        is_read=is_open or bool(intake and intake.report and intake.report.is_valid),
        contradictions=() if is_open else tuple(_contradictions(answers, intake, challenges.now(session))),
        is_made=is_made or is_open,
        invited=len(people),
        not_invited=visibility.not_invited(session, challenge.id, people) if people else (),
        is_making=bool(intake and intake.state is IntakeState.APPLYING),
        has_text=bool(sheet.overview),
        trials=_trials(session, challenge.id) if is_made or is_open else {},
        tests_on=_first_phase(session, challenge.id) if is_made and not is_open else None,
        is_tested=testing.is_tested(session, challenge.id),
        says_pictures=challenge.pictures_from is not None,
        untrue_pictures=pictures_from.untrue(session, challenge) if is_made or is_open else (),
        organisers=_count_organisers(session, challenge.id),
        sends_mail=platform.settings.smtp_host is not None and mailing.trouble(session) is None,
        mail_lacks=(
            "This server has no mail server, so nobody gets mail."
            if platform.settings.smtp_host is None
            else "No mail could be sent for a while; the admins of this server know why."
        ),
    )
    return DraftView(
        id=challenge.id,
        code=challenge.code,
        title=challenge.title,
        answers=answers,
        intake=intake,
        can_receive=keys.exists_any(session),
        changed_at=row.changed_at,
        is_made=is_made,
        contradictions=tuple(facts.contradictions),
        items=checklist_of(facts),
        opens_at=row.opens_at,
        refusal=row.refusal,
        is_open=is_open,
        texts=sheet,
        pictures=pictures_from.answer_of(challenge),
    )


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


def _first_phase(session: Session, challenge_id: int) -> str | None:
    """The image set to try first: one with hidden annotation, if there is any."""
    phases = select(Phase.image_set).where(Phase.challenge_id == challenge_id)
    return session.scalar(phases.order_by(Phase.is_held_out.desc(), Phase.id).limit(1))


def answers_of(settings: Mapping[str, Any]) -> Answers:
    """Return stored answers. One that an earlier version stored and this one cannot read counts as not saved."""
    found: dict[str, Any] = {}
    for step, model in MODELS.items():
        try:
            found[step.value] = model.model_validate(settings[step.value]) if step.value in settings else None
        except ValidationError:
            found[step.value] = None
    try:
        phases = {name: PhaseChoice.model_validate(each) for name, each in settings.get(PHASES, {}).items()}
    except ValidationError:
        phases = {}
    return Answers(**found, phases=phases)


def _is_applied(intake: IntakeView | None) -> bool:
    return intake is not None and intake.state is IntakeState.APPLIED


def _made_of(answers: Answers, intake: IntakeView | None) -> dict[str, Any] | None:
    """Return what phases would be made of now; None while something is missing."""
    sets = intake.report.sets if intake and intake.report else ()
    if not (intake and answers.what and answers.check and answers.scoring and answers.rules):
        return None
    found = draft_rules.applications_of(answers, sets)
    return {"intake": str(intake.id), "phases": [each.model_dump(mode="json") for each in found]}


def _contradictions(answers: Answers, intake: IntakeView | None, now: datetime) -> Sequence[str]:
    """Say what in the saved answers does not fit together, or no longer fits the data set."""
    sets = intake.report.sets if intake and intake.report else ()
    chosen = [each for each in sets if answers.check and each.key in answers.check.sets]
    problems: dict[str, str] = {}
    if answers.what and answers.check and sets:
        problems |= draft_rules.problems_of_check(answers.check, answers.what, sets)
    if answers.scoring and chosen:
        problems |= draft_rules.problems_of_scoring(answers.scoring, chosen[0].dataset)
    if answers.rules:
        problems |= draft_rules.problems_of_rules(answers.rules, answers.scoring, chosen, now)
    problems |= draft_rules.problems_of_phases(answers.phases, chosen, now)
    return [f"{name.replace('_', ' ')}: {message}" for name, message in problems.items()]


def now(platform: Platform) -> datetime:
    """Return the time of the database's clock."""
    with platform.reading() as session:
        return challenges.now(session)


# creating and saving


def create(platform: Platform, actor: Actor, what: What) -> str:
    """Create a draft and return its code. Raises ForbiddenError, and StepError with the problem of each field."""
    with creating(platform, actor, what.code, draft_rules.problems_of_what(what)) as session:
        add(session, actor, what, {Step.WHAT.value: what.model_dump(mode="json")})
    platform.cache.expire_versions()
    return what.code


@contextmanager
def creating(platform: Platform, actor: Actor, code: str, problems: Mapping[str, str]) -> Iterator[Session]:
    """A transaction that creates a challenge with this code."""
    found = dict(problems)
    with _taking(platform, code) as session:
        _require_creator(session, actor)
        if challenges.is_taken(session, code):
            found["code"] = f"{code} is taken; choose another address"
        if found:
            raise StepError(found)
        yield session


@contextmanager
def _taking(platform: Platform, code: str) -> Iterator[Session]:
    """A transaction that gives a challenge this code, which somebody else may take at the same moment."""
    try:
        with platform.transaction() as session:
            yield session
    except IntegrityError as error:
        raise StepError({"code": f"{code} was taken a moment ago; choose another address"}) from error


def add(
    session: Session, actor: Actor, what: What, settings: dict[str, Any], copy_of: str | None = None
) -> Challenge:
    """Add a draft with these answers, which its creator owns."""
    assert actor.user_id is not None
    challenge = Challenge(
        code=what.code, title=what.title, dataset=what.code, visibility=ChallengeVisibility.DRAFT
    )
    session.add(challenge)
    session.flush()
    owner = ChallengeOrganiser(challenge_id=challenge.id, user_id=actor.user_id, role=ChallengeRole.OWNER)
    session.add_all((ChallengeDraft(challenge_id=challenge.id, settings=settings), owner))
    texts.set_tagline(session, challenge.id, what.tagline, actor.user_id)
    if keys.exists_any(session):
        session.add(Intake(challenge_id=challenge.id, user_id=actor.user_id))
    audit.record(
        session, actor.user_id, "challenge.create", f"challenge {challenge.id}",
        challenge_id=challenge.id, after={"code": what.code}, details={"copy_of": copy_of} if copy_of else {},
    )  # fmt: skip
    return challenge


def locked(session: Session, actor: Actor, code: str) -> tuple[Challenge, ChallengeDraft]:
    """Lock a draft that can still be changed. Raises NotFoundError, ForbiddenError, ConflictError."""
    challenge = require_challenge(session, actor, code, lock=True)
    row = session.get(ChallengeDraft, challenge.id, with_for_update=True)
    if row is None:
        raise NotFoundError(f"the challenge {code} was not created in steps; its pages are below Organise")
    if challenge.visibility is not ChallengeVisibility.DRAFT:
        raise ConflictError("This challenge is open; change it on its pages below Organise")
    return challenge, row


def save(row: ChallengeDraft, step: Step, answer: BaseModel) -> None:
    """Save the answer of a step in a locked draft."""
    row.settings = {**row.settings, step.value: answer.model_dump(mode="json")}
    row.changed_at, row.refusal = func.clock_timestamp(), ""


def save_what(platform: Platform, actor: Actor, code: str, what: What) -> str:
    """Save the first step and return the code, which may have changed. Raises what `create` raises."""
    with _taking(platform, what.code) as session:
        problems = dict(draft_rules.problems_of_what(what))
        challenge, row = locked(session, actor, code)
        if what.code != code and challenges.is_taken(session, what.code):
            problems["code"] = f"{what.code} is taken; choose another address"
        if problems:
            raise StepError(problems)
        if challenge.dataset == challenge.code and not challenges.has_phases(session, challenge.id):
            challenge.dataset = what.code
        rules, former = answers_of(row.settings).rules, challenge.title
        challenge.code, challenge.title = what.code, what.title
        save(row, Step.WHAT, what)
        stated = terms.newest_terms(session, what.code, None)
        if rules and stated and stated.text == terms_of(rules, former).text:  # not written anew since
            terms.replace_terms(session, actor, challenge, terms_of(rules, what.title))
        texts.set_tagline(session, challenge.id, what.tagline, actor.user_id)
    platform.cache.expire_versions()
    return what.code


def save_check(platform: Platform, actor: Actor, code: str, check: Check) -> bool:
    """Save which image sets participants submit to, and who may see their annotation; whether a worker reads them again for that.

    Raises as `create` does, and ConflictError before they are known.
    """
    with platform.transaction() as session:
        challenge, row = locked(session, actor, code)
        intake = intakes.newest(session, challenge.id)
        if intake is None or intake.report is None or not intake.report.is_valid:
            raise ConflictError("The annotation has to be read without problems first")
        what = answers_of(row.settings).what
        assert what is not None
        problems = draft_rules.problems_of_check(check, what, intake.report.sets)
        if problems := {**class_choices.problems_in_files(intake.report), **problems}:
            raise StepError(problems)
        save(row, Step.CHECK, check)
        stored = session.get_one(Intake, intake.id, with_for_update=True)
        audiences = check.audiences(intake.report.sets)
        is_read_again = bool(audiences) and intakes.choose_audiences(session, actor, stored, audiences)
    if is_read_again:
        platform.notifier.wake_workers()
    return is_read_again


@dataclass(frozen=True, slots=True)
class _Rereading:
    """The locked data set of a draft that a worker reads again."""

    session: Session
    row: ChallengeDraft
    intake: Intake
    report: Report


@contextmanager
def _rereading(platform: Platform, actor: Actor, code: str) -> Iterator[_Rereading]:
    """A transaction that has a worker read the data set of a draft again; its phases are made again after that."""
    with platform.transaction() as session:
        challenge, row = locked(session, actor, code)
        newest = intakes.newest(session, challenge.id)
        intake = session.get_one(Intake, newest.id, with_for_update=True) if newest else None
        report = intakes.report_of(intake) if intake else None
        if intake is None or report is None or intake.state in intakes.WITH_WORKER:
            raise ConflictError("The annotation has to be read first")
        yield _Rereading(session, row, intake, report)
        row.changed_at, row.refusal = func.clock_timestamp(), ""
    platform.notifier.wake_workers()


def save_names(platform: Platform, actor: Actor, code: str, *, is_neutral: bool) -> None:
    """Save whether hidden images get neutral names, and have a worker read the data set again.

    Raises NotFoundError, ForbiddenError, and ConflictError while there is no report.
    """
    with _rereading(platform, actor, code) as found:
        intakes.choose_names(found.session, actor, found.intake, is_neutral=is_neutral)


def save_classes(platform: Platform, actor: Actor, code: str, rows: ClassRows) -> None:
    """Save which classes count, their names and order, and have a worker read the data set again with them.

    Raises as `create` does, and ConflictError while there is no report.
    """
    with _rereading(platform, actor, code) as found:
        if not rows.fit(found.report.classes):
            raise ConflictError("The data set was read again meanwhile; look at its classes once more")
        _choose(found, actor, rows.choices, rows.positions)


def choose_classes(platform: Platform, actor: Actor, code: str, choices: Sequence[ClassChoice]) -> None:
    """Save what becomes of these classes, in this order before all others; a data set that was not read yet is read with them.

    Raises as `save_classes` does, and ConflictError before there is a data set.
    """
    with platform.transaction() as session:
        challenge, row = locked(session, actor, code)
        newest = intakes.newest(session, challenge.id)
        if newest is None:
            raise ConflictError("classes are chosen for a data set; start one first")
        if newest.report is None:
            intakes.keep_classes(
                session, actor, session.get_one(Intake, newest.id, with_for_update=True), choices
            )
            row.changed_at = func.clock_timestamp()
            return
    with _rereading(platform, actor, code) as found:
        names = [each.found for each in found.report.classes]
        if unknown := [each.found for each in choices if each.found not in names]:
            raise ConflictError(f"the annotation has no class called {', '.join(unknown[:5])}")
        chosen = class_choices.completed(choices, names)
        _choose(found, actor, chosen, range(1, len(chosen) + 1))


def _choose(
    found: _Rereading, actor: Actor, choices: Sequence[ClassChoice], positions: Sequence[int]
) -> None:
    report = found.report
    if not report.is_valid:
        raise ConflictError("The annotation has to be read without problems first")
    what = answers_of(found.row.settings).what
    tasks = [each.value for each in what.tasks] if what else []
    if problems := class_choices.problems_of_choices(choices, report, tasks):
        raise StepError(problems)
    chosen = class_choices.in_order(choices, positions)
    if chosen != report.classes:
        intakes.choose_classes(found.session, actor, found.intake, chosen)


def save_scoring(platform: Platform, actor: Actor, code: str, choice: ScoringChoice) -> None:
    """Save how results are scored and what is shown. Raises as `create` does."""
    with platform.transaction() as session:
        challenge, row = locked(session, actor, code)
        if problems := draft_rules.problems_of_scoring(choice, dataset_of(session, challenge)):
            raise StepError(problems)
        save(row, Step.SCORING, choice)


def dataset_of(session: Session, challenge: Challenge) -> str:
    """The name of a draft's data set, as it was read."""
    intake = intakes.newest(session, challenge.id)
    sets = intake.report.sets if intake and intake.report else ()
    return sets[0].dataset if sets else challenge.dataset


def save_phases(platform: Platform, actor: Actor, code: str, phases: Mapping[str, PhaseChoice]) -> None:
    """Save which phases have rules of their own. Raises as `create` does."""
    with platform.transaction() as session:
        _, row = locked(session, actor, code)
        if problems := draft_rules.problems_of_phases(phases, (), challenges.now(session)):
            raise StepError(problems)
        row.settings = row.settings | {PHASES: plain_phases(phases)}
        row.changed_at, row.refusal = func.clock_timestamp(), ""


def plain_phases(phases: Mapping[str, PhaseChoice]) -> dict[str, Any]:
    """The rules of phases as they are stored."""
    return {name: each.model_dump(mode="json") for name, each in phases.items()}


def save_rules(
    platform: Platform, actor: Actor, code: str, rules: RulesChoice, *, for_all: bool = False
) -> None:
    """Save dates, quotas, people and terms; invitations and terms are in force once the challenge opens.

    for_all: no phase has rules of its own any more. Whom earlier rules invited and these do not is no longer invited. Raises as `create` does.
    """
    with platform.transaction() as session:
        challenge, row = locked(session, actor, code)
        answers = answers_of(row.settings)
        intake = intakes.newest(session, challenge.id)
        sets = intake.report.sets if intake and intake.report else ()
        chosen = [each for each in sets if answers.check and each.key in answers.check.sets]
        problems = dict(
            draft_rules.problems_of_rules(rules, answers.scoring, chosen, challenges.now(session))
        )
        if rules.people and (problem := _problem_of_people(rules.people)):
            problems["invited"] = problem
        if problems:
            raise StepError(problems)
        before = answers.rules.people if answers.rules else ()
        try:
            visibility.change_invitations(session, actor, challenge, rules.people, before)
        except ConflictError as error:
            raise StepError({"invited": str(error)}) from error
        save(row, Step.RULES, rules)
        if for_all:
            row.settings = {name: each for name, each in row.settings.items() if name != PHASES}
        challenge.approves_teams, challenge.most_members = rules.approves_teams, rules.most_members
        challenge.image_licence, challenge.annotation_licence = rules.image_licence, rules.annotation_licence
        terms.replace_terms(session, actor, challenge, terms_of(rules, challenge.title))


def terms_of(rules: RulesChoice, title: str) -> NewTerms:
    """The terms that step 5 chose, which name the challenge."""
    return NewTerms(text=draft_rules.terms_of(rules, title))


def _problem_of_people(people: Sequence[str]) -> str:
    """Say what is wrong with the people to invite; empty if nothing is."""
    try:
        NewInvitations(people=tuple(people))
    except ValidationError as error:
        return all_errors(error)
    return ""


def save_page(
    platform: Platform, actor: Actor, code: str, new: NewTexts, pictures: ParticipantsPictures
) -> None:
    """Save the texts of the challenge's page, and where participants get the pictures.

    Raises NotFoundError, ForbiddenError, ConflictError.
    """
    with platform.transaction() as session:
        challenge, _ = locked(session, actor, code)
        texts.replace_texts(session, actor, challenge, new)
        pictures_from.store(session, actor, challenge, pictures)
    platform.cache.expire_versions()


def proposed_page(view: DraftView) -> str:
    """Return a text for the page from the other steps; empty until they are saved."""
    answers = view.answers
    if not (answers.what and answers.scoring and answers.rules):
        return ""
    named = [each for each in view.sets if each.role == PUBLIC or each in view.chosen]
    return draft_rules.page_of(answers.what, answers.scoring, answers.rules, named)


# the data set


def start_data_set(platform: Platform, actor: Actor, code: str) -> None:
    """Start the data set of a draft, or another one in place of one whose phases were made; once, however often this is asked.

    Raises NotFoundError, ForbiddenError, ConflictError, NoWorkerError.
    """
    with platform.transaction() as session:
        challenge, _ = locked(session, actor, code)
        intake = intakes.newest(session, challenge.id)
        if intake is None or intake.state is IntakeState.APPLIED:
            intakes.add(session, actor, challenge.id)


def make_phases(platform: Platform, actor: Actor, code: str) -> None:
    """Have a worker make the phases as the answers say, in place of those that were made before and of their test runs.

    Raises NotFoundError, ForbiddenError, and ConflictError while something is missing.
    """
    with platform.transaction() as session:
        challenge, row = locked(session, actor, code)
        view = view_of(platform, session, challenge)
        assert view is not None
        made_of = _made_of(view.answers, view.intake)
        contradictions = _contradictions(view.answers, view.intake, challenges.now(session))
        if view.intake is None or made_of is None or not view.is_read or contradictions:
            missing = "; ".join(contradictions) or "save all steps and have the annotation read first"
            raise ConflictError(f"The phases cannot be made yet: {missing}")
        if view.publishes and not actor.owns_challenge(challenge.id):
            raise ForbiddenError(ONLY_OWNERS)
        intake = session.get_one(Intake, view.intake.id, with_for_update=True)
        if intake.state in intakes.WITH_WORKER:
            raise ConflictError(BUSY)
        if intake.state not in (IntakeState.READ, IntakeState.APPLIED):
            raise ConflictError(
                f"The phases cannot be made yet: {intake.message} Have the data set read again"
            )
        testing.require_no_files(session, challenge.id)
        row.refusal = ""
        applications = draft_rules.applications_of(view.answers, view.sets)
        applying.queue_applications(session, actor, intake, applications, made_of=made_of)
    platform.notifier.wake_workers()


# opening and deleting


def open_now(platform: Platform, actor: Actor, code: str, *, without_pictures: bool = False) -> None:
    """Open a draft for the people whom its rules name; its test runs are deleted.

    without_pictures: although nobody has said where participants get the pictures. Raises NotFoundError, ForbiddenError, ConflictError, RateLimitedError after many refusals because another challenge hides what
    would be public, and RefusedError with everything that is missing.
    """
    _note_copies(platform, actor, code)
    with platform.transaction() as session:
        challenge, row = locked(session, actor, code)
        reasons = [] if without_pictures or challenge.pictures_from else [NO_PICTURES]
        tests = _open(platform, session, actor, challenge, row, reasons)
    testing.remove_contents(platform, tests)
    platform.cache.expire_versions()


def _note_copies(platform: Platform, actor: Actor, code: str) -> None:
    """Record the refusal if opening a draft would publish what another challenge hides; admins are not refused."""
    if actor.is_admin or actor.user_id is None:
        return
    with platform.transaction() as session:
        challenge, _ = locked(session, actor, code)
        same_labels.note_opening(session, actor.user_id, challenge.id)


def _open(
    platform: Platform,
    session: Session,
    actor: Actor,
    challenge: Challenge,
    row: ChallengeDraft,
    further: Sequence[str] = (),  # reasons against it
) -> DeletedTests:
    view = view_of(platform, session, challenge)
    assert view is not None
    now = challenges.now(session)
    reasons = [
        ChallengeNotReady(_missing(each)) for each in view.items if each.is_required and not each.is_done
    ]
    reasons.extend(map(ChallengeNotReady, further))
    if not actor.is_admin and same_labels.hiding_elsewhere(session, challenge.id):
        reasons.append(ChallengeNotReady(COPIES))
    rules = view.answers.rules
    raise_if_refused(reasons)
    tests = testing.delete_all(session, actor.user_id, challenge)
    visibility.open_challenge(session, actor, challenge, now, view.opens_to)
    row.opens_at, row.refusal = None, ""
    kits.queue_kit(session, challenge.id)
    if rules is not None:
        for phase in session.scalars(select(Phase).where(Phase.challenge_id == challenge.id)):
            if view.answers.opens_at(phase.image_set) is None:
                phase.opens_at = now
    return tests


def _missing(item: Item) -> str:
    return f"not done yet: {item.title}" + (f" ({item.text})" if item.text else "")


def open_on(
    platform: Platform, actor: Actor, code: str, at: datetime | None, *, without_pictures: bool = False
) -> None:
    """Have a draft open by itself at a time, or no longer. Raises what `open_now` raises, and StepError for a past time."""
    if at is not None:
        _note_copies(platform, actor, code)
    with platform.transaction() as session:
        challenge, row = locked(session, actor, code)
        view = view_of(platform, session, challenge)
        assert view is not None
        if at is not None:
            reasons = [_missing(each) for each in view.items if each.is_required and not each.is_done]
            if not actor.is_admin and same_labels.hiding_elsewhere(session, challenge.id):
                reasons.append(COPIES)
            if at <= challenges.now(session):
                raise StepError({"opens_at": "must be in the future; or open the challenge now"})
            if challenge.pictures_from is None and not without_pictures:
                reasons.append(NO_PICTURES)
            if reasons:
                raise StepError({"opens_at": "; ".join(reasons)})
        row.opens_at, row.refusal = at, ""
        audit.record(
            session, actor.user_id, "challenge.schedule", f"challenge {challenge.id}",
            challenge_id=challenge.id, after={"opens_at": at.isoformat() if at else None},
        )  # fmt: skip


def open_due(platform: Platform) -> None:
    """Open the drafts whose time has come; one that is not ready any more stays a draft and says why."""
    due = select(Challenge.code).join(ChallengeDraft).where(
        ChallengeDraft.opens_at <= func.clock_timestamp(), Challenge.visibility == ChallengeVisibility.DRAFT
    )  # fmt: skip
    with platform.transaction() as session:
        codes = session.scalars(due).all()
    for code in codes:
        with platform.transaction() as session:
            challenge = challenges.challenge_of(session, code, lock=True)
            row = session.get(ChallengeDraft, challenge.id) if challenge else None
            if challenge is None or row is None or row.opens_at is None:
                continue
            view = view_of(platform, session, challenge)
            assert view is not None
            tests = DeletedTests()
            copies = [COPIES] if same_labels.hiding_elsewhere(session, challenge.id) else []
            if view.is_ready and not view.is_open and not copies:
                tests = _open(platform, session, Actor(), challenge, row)
            else:
                row.opens_at = None
                missing = [_missing(each) for each in view.items if each.is_required and not each.is_done]
                row.refusal = "; ".join(missing + copies)
        testing.remove_contents(platform, tests)
