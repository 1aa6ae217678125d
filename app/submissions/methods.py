"""Methods: naming, describing, and publishing them."""

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Unpack

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, and_, exists, func, select, true
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges
from app.challenges.challenges import is_known_to_others, is_open_to_others
from app.core.access import Action, Actor, ResultVisibility, require_active, rows_for
from app.core.audit import RecordFields, record
from app.core.database import violated_constraint
from app.core.errors import (
    ConflictError,
    DescriptionTooShort,
    FieldsError,
    MethodHidden,
    NameFixed,
    NameTaken,
    NotFoundError,
    Refusal,
    RefusedError,
    TrainingNotStated,
)
from app.core.names import Visible, folded, lookalike_key
from app.jobs import events, queue
from app.models import (
    Challenge,
    ChallengeVisibility,
    EventKind,
    Method,
    MethodChange,
    Result,
    ResultState,
    Run,
    RunState,
    Submission,
    Team,
)
from app.people.teams import is_erased, is_public
from app.platform import Platform
from app.submissions.questions import (
    LONGEST_ANSWER,
    MOST_QUESTIONS,
    AnsweredQuestion,
    Answers,
    QuestionView,
    answered,
    answers_after,
    answers_of,
    missing_answers,
    questions_of,
    shortest_description,
    store_answers,
)
from app.web.forms import OrBlank
from heldout_scoring.competitions import name_of

_ADDRESS = TypeAdapter(HttpUrl)


class TrainingAnnotation(enum.StrEnum):
    """The annotation that a segmentation method with given data was trained on."""

    SEGMENTATIONS = "segmentations"
    BOXES = "segmentations and boxes"


def _printable_ascii(name: str) -> str:
    """Reject other alphabets, which have letters that look like these. Titles may use any."""
    if not (name.isascii() and name.isprintable()):
        message = (
            "must have only letters A to Z, digits and ASCII punctuation, so that no two names look the same"
        )
        raise ValueError(message)
    return name


def _web_address(text: str) -> str:
    if text:
        try:
            _ADDRESS.validate_python(text)
        except ValidationError as error:
            message = "must be an address that begins with https:// or http://"
            raise ValueError(message) from error
    return text


Address = Annotated[str, Field(max_length=500), AfterValidator(_web_address)]


Name = Annotated[
    str,
    Field(min_length=2, max_length=40, description="abbreviation, unique in the challenge, e.g. 'LEAR_flat'"),
    AfterValidator(_printable_ascii),
    Visible,
]
Title = Annotated[str, Field(max_length=200, description="what the abbreviation stands for")]
Contributors = Annotated[str, Field(max_length=500, description="who developed it")]
Affiliation = Annotated[str, Field(max_length=300, description="where they work")]
Description = Annotated[
    str,
    Field(
        max_length=4000,
        description="how it works; once it is public, at least as long as the challenge asks for, usually 500 characters",
    ),
]
GivenAnswers = Annotated[
    dict[int, Annotated[str, Field(max_length=LONGEST_ANSWER)]],
    Field(
        max_length=MOST_QUESTIONS,
        description="answers to the challenge's questions by their ids, see its `questions`: 'yes' or 'no', a choice, a"
        " number, text or an address; an empty answer removes one",
        examples=[{"7": "12.5"}],
    ),
]
PaperAddress = Annotated[
    Address, Field(description="address of a paper", examples=["https://example.org/paper"])
]
CodeAddress = Annotated[
    Address, Field(description="address of the code", examples=["https://example.org/code"])
]


class NewMethod(BaseModel):
    """A team's description of a method, as shown on the leaderboard."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: Name
    title: Title = ""
    contributors: Contributors = ""
    affiliation: Affiliation = ""
    description: Description = ""
    paper_url: PaperAddress = ""
    code_url: CodeAddress = ""
    is_baseline: Annotated[bool, Field(description="marked as a baseline on the board; for organisers")] = (
        False
    )
    answers: GivenAnswers = {}


class MethodEdit(BaseModel):
    """A change of a method. Omitted fields keep their values."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: Name | None = None
    title: Title | None = None
    contributors: Contributors | None = None
    affiliation: Affiliation | None = None
    description: Description | None = None
    paper_url: PaperAddress | None = None
    code_url: CodeAddress | None = None
    answers: GivenAnswers | None = None


class Training(BaseModel):
    """A team's statement about the data a method was trained on."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    given_data_only: Annotated[
        bool,
        Field(description="only the given data was used; required where no other is allowed"),
    ] = False
    other_data: Annotated[
        str,
        Field(max_length=1000, description="which other data was used; required where any data is allowed"),
    ] = ""
    no_excluded_data: Annotated[
        bool,
        Field(
            description="neither the test images nor other excluded data was used; required where any data is allowed"
        ),
    ] = False
    annotation: Annotated[
        OrBlank[TrainingAnnotation],
        Field(description="for segmentation with given data: which annotation was used"),
    ] = None


@dataclass(frozen=True, slots=True)
class MethodRef:
    """Which method something belongs to."""

    id: int
    name: str
    is_baseline: bool
    title: str = ""

    @classmethod
    def of(cls, method: Method) -> "MethodRef":
        """Refer to a method."""
        return MethodRef(method.id, method.name, method.is_baseline, method.title)


@dataclass(frozen=True, slots=True)
class MethodView:
    """A team's method."""

    id: int
    name: str
    title: str
    contributors: str
    affiliation: str
    description: str
    paper_url: str
    code_url: str
    is_baseline: bool
    public_at: datetime | None  # None if only its team and organisers see its results


@dataclass(frozen=True, slots=True)
class MethodRevision:
    """An earlier description of a public method."""

    changed_at: datetime
    before: dict[str, str]


SHOWN_STATES = frozenset({ResultState.SCORED, ResultState.REPLACED})  # of a public method, to everyone
NAMES_PEOPLE = (
    "contributors",
    "affiliation",
    "paper_url",
    "code_url",
)  # fields that reveal who made a method
SHORTEST_DESCRIPTION = (
    500  # characters for a public method, as the VOC server required; organisers may choose another
)
TEXTS = tuple(NewMethod.model_fields.keys() - {"answers"})  # columns of a method
ANSWER = "answer: "  # how a change calls an answer, before the text of the question
METHOD_NAME = (
    "uq_method_challenge_id_name_key"  # the constraint that decides when two methods claim one name at once
)
NAME_RACED = NameTaken("another method took this name at the same time; choose another")
SEPARATORS = str.maketrans("_ .", "---")


def name_key(name: str) -> str:
    """Return the same key for names that readers of a board could mistake for one another.

    >>> name_key("LEAR_flat") == name_key("lear-flat"), name_key("Net 101") == name_key("Net-IO1")
    (True, True)
    >>> name_key("YOLO") == name_key("YOLO+")
    False
    """
    return lookalike_key(name).translate(SEPARATORS)


def name_refusal(name: str, found: str, *, is_ours: bool) -> Refusal:
    """Refuse a method's name because `found`, a method of the challenge, has the same key."""
    whose = f"your method {found}" if is_ours else "another method of this challenge"
    message = f"{name} looks like the name of {whose}; choose a name that cannot be mistaken for it"
    return NameTaken(message)


def training_refusals(
    training: Training, competitions: Iterable[heldout_scoring.CompetitionInfo]
) -> tuple[Refusal, ...]:
    """Return what is missing from a statement on training data, for all these competitions together."""
    chosen = tuple(competitions)
    messages = (*_given_data(training, chosen), *_other_data(training, chosen))
    return tuple(TrainingNotStated(message) for message in messages)


def _given_data(training: Training, competitions: Sequence[heldout_scoring.CompetitionInfo]) -> Iterable[str]:
    given = [each for each in competitions if not each.own_data]
    if given and not training.given_data_only:
        yield (
            f"tick “only the given data was used”: {_numbers(given, 'allow')} "
            "no other data (in the API: given_data_only)"
        )
    painted = [each for each in given if each.task == "segmentation"]
    if painted and training.annotation is None:
        choices = " or ".join(f"{one.value!r}" for one in TrainingAnnotation)
        yield f"state which annotation was used for {_numbers(painted)} (annotation: {choices})"


def _other_data(training: Training, competitions: Sequence[heldout_scoring.CompetitionInfo]) -> Iterable[str]:
    other = [each for each in competitions if each.own_data]
    if not other:
        return
    if not training.other_data:
        yield (
            f"name the data that was used ({_numbers(other, 'allow')} any; write 'none' if it was only the "
            "given data; in the API: other_data)"
        )
    if not training.no_excluded_data:
        yield (
            f"state that neither the test images nor other excluded data was used for {_numbers(other)} "
            "(in the API: no_excluded_data)"
        )


def _numbers(competitions: Sequence[heldout_scoring.CompetitionInfo], verb: str = "") -> str:
    numbers = ", ".join(str(each.number) for each in competitions)
    if len(competitions) == 1:
        return f"competition {numbers} {verb}s" if verb else f"competition {numbers}"
    return f"competitions {numbers} {verb}".rstrip()


def publication_refusal(
    description: str, *, is_baseline: bool, shortest: int = SHORTEST_DESCRIPTION
) -> Refusal | None:
    """Return why a method cannot be public yet: others must learn how it works. Organisers' baselines may be brief.

    shortest: how many characters a description needs.

    >>> publication_refusal("A linear classifier.", is_baseline=False).message
    'a public method needs a description of at least 500 characters; this one has 20'
    """
    if is_baseline or len(description) >= shortest:
        return None
    message = f"a public method needs a description of at least {shortest} characters; this one has {len(description)}"
    return DescriptionTooShort(message)


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a challenge asks of its public methods."""

    shortest: int = SHORTEST_DESCRIPTION
    questions: tuple[QuestionView, ...] = ()

    def refusals(self, method: NewMethod, answers: Answers) -> tuple[Refusal, ...]:
        """Return why a method cannot be public yet."""
        missing = None if method.is_baseline else missing_answers(self.questions, answers)
        too_short = publication_refusal(
            method.description, is_baseline=method.is_baseline, shortest=self.shortest
        )
        return tuple(each for each in (too_short, missing) if each is not None)


def requirements_of(session: Session, challenge_id: int) -> Requirements:
    """Return what a challenge asks of its public methods."""
    return Requirements(shortest_description(session, challenge_id), questions_of(session, challenge_id))


def edit_refusals(before: NewMethod, after: NewMethod, *, has_score: bool) -> tuple[Refusal, ...]:
    """Return why an edit is refused: the name of a scored method is fixed."""
    if after.name == before.name or not has_score:
        return ()
    return (NameFixed(f"{before.name!r} has a score, so its name can no longer change"),)


def changed_fields(before: NewMethod, after: NewMethod) -> Mapping[str, str]:
    """Return the fields that differ, with their earlier values.

    >>> changed_fields(NewMethod(name="Net", title="A net"), NewMethod(name="Net", title="The net"))
    {'title': 'A net'}
    """
    values = after.model_dump(include=set(TEXTS))
    return {
        field: value
        for field, value in before.model_dump(include=set(TEXTS)).items()
        if value != values[field]
    }


def changed_answers(questions: Iterable[QuestionView], before: Answers, after: Answers) -> Mapping[str, str]:
    """Return the answers that differ as they were before, by the text of their question."""
    return {
        f"{ANSWER}{each.title}": before.get(each.id, "")
        for each in questions
        if before.get(each.id) != after.get(each.id)
    }


def without_people(changes: Iterable[MethodRevision]) -> tuple[MethodRevision, ...]:
    """Return the earlier descriptions without the fields that reveal who made a method."""
    kept = (
        replace(
            change,
            before={
                name: text
                for name, text in change.before.items()
                if name not in NAMES_PEOPLE and not name.startswith(ANSWER)
            },
        )
        for change in changes
    )
    return tuple(change for change in kept if change.before)


def training_text(training: Training, *, is_baseline: bool, any_data: bool | None = None) -> str:
    """Return a statement on training data as text for readers; any_data: what of it concerns competitions of such a track alone.

    >>> training_text(Training(other_data="ImageNet", no_excluded_data=True), is_baseline=False)
    'ImageNet'
    >>> training_text(Training(given_data_only=True, annotation=TrainingAnnotation.BOXES), is_baseline=False)
    'Given data only, with segmentations and boxes'
    >>> both = Training(given_data_only=True, other_data="ImageNet", no_excluded_data=True)
    >>> [training_text(both, is_baseline=False, any_data=any_data) for any_data in (None, False, True)]
    ['Given data only; any data: ImageNet', 'Given data only', 'ImageNet']
    """
    if training.other_data.casefold() == "none":
        training = training.model_copy(update={"given_data_only": True, "other_data": ""})
    parts = []
    if training.given_data_only and not (any_data and training.other_data):
        annotation = f", with {training.annotation.value}" if training.annotation else ""
        parts.append(f"Given data only{annotation}")
    if training.other_data and (any_data is not False or not training.given_data_only):
        parts.append(f"any data: {training.other_data}" if parts else training.other_data)
    return "; ".join(parts) or ("Not stated (baseline)" if is_baseline else "Not stated")


def stated_training(session: Session, ids: Collection[int], *, is_baseline: bool) -> tuple[str, ...]:
    """Return what teams said of the training data of these submissions, each statement once."""
    stated = session.scalars(
        select(Submission.training).where(Submission.id.in_(ids)).order_by(Submission.id)
    )
    texts = (training_text(Training.model_validate(each), is_baseline=is_baseline) for each in stated)
    return tuple(dict.fromkeys(texts))


def visible_methods(viewer: Actor) -> ColumnElement[bool]:
    """The methods that the reader may see, as a condition."""
    return rows_for(
        viewer,
        Action.READ_SUBMISSION,
        team=Method.team_id,
        challenge=Method.challenge_id,
        states={
            ResultVisibility.PRIVATE: true(),
            ResultVisibility.PUBLIC: and_(is_public(), is_known_to_others(Method.id)),
        },
    )


@dataclass(frozen=True, slots=True)
class KnownMethod:
    """A team's method with its answers to the questions of its challenge."""

    view: MethodView
    answers: tuple[AnsweredQuestion, ...]


def known_method(session: Session, challenge_id: int, team_id: int, name: str) -> KnownMethod | None:
    """Return the team's method that a submission under this name belongs to; None if it is a new one."""
    found = method_like(session, challenge_id, name)
    if found is None or found.team_id != team_id or folded(found.name) != folded(name):
        return None
    return KnownMethod(method_view(found), answered(session, found))


def method_like(session: Session, challenge_id: int, name: str) -> Method | None:
    """Return the method of a challenge whose name looks like this one."""
    statement = select(Method).where(Method.challenge_id == challenge_id, Method.name_key == name_key(name))
    return session.scalar(statement)


def methods_of(session: Session, challenge_id: int, team_id: int) -> tuple[MethodView, ...]:
    """Return a team's methods in a challenge, by name."""
    statement = select(Method).where(Method.challenge_id == challenge_id, Method.team_id == team_id)
    return tuple(
        method_view(method) for method in session.scalars(statement.order_by(func.lower(Method.name)))
    )


def method_of(session: Session, viewer: Actor, method_id: int) -> tuple[Method, Team, Challenge] | None:
    """Return a method that the reader may see, with its team and challenge."""
    statement = (
        select(Method, Team, Challenge)
        .join(Method.team)
        .join(Method.challenge)
        .where(Method.id == method_id, visible_methods(viewer))
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1], row[2]) if row else None


def require_method(session: Session, actor: Actor, action: Action, method_id: int) -> Method:
    """Return a method on which the reader may do this, locked until the end of the transaction. Raises NotFoundError."""
    theirs = rows_for(actor, action, team=Method.team_id, challenge=Method.challenge_id)
    statement = select(Method).where(Method.id == method_id, theirs).with_for_update(key_share=True)
    method = session.scalar(statement.execution_options(populate_existing=True))
    if method is None:
        whose = "there is" if action is Action.ORGANISE else "your team has"
        raise NotFoundError(f"{whose} no method {method_id}")
    require_active(session, method.challenge_id)
    return method


def has_score(session: Session, method_id: int) -> bool:
    """Whether any result of a method has ever been scored."""
    scored = exists().where(
        Result.method_id == method_id, Run.result_id == Result.id, Run.state == RunState.SCORED
    )
    return bool(session.scalar(select(scored)))


def changes_of(session: Session, method: Method) -> tuple[MethodRevision, ...]:
    """Return the earlier descriptions of a public method, newest first; without people once its team is erased."""
    statement = (
        select(MethodChange.changed_at, MethodChange.before)
        .where(MethodChange.method_id == method.id)
        .order_by(MethodChange.id.desc())
    )
    changes = tuple(MethodRevision(changed_at, before) for changed_at, before in session.execute(statement))
    return without_people(changes) if is_erased(session, method.team_id) else changes


def submissions_of(session: Session, viewer: Actor, method: Method) -> tuple[int, ...]:
    """Return the submissions of a method that the reader may see, oldest first; outsiders see only scored ones."""
    is_shown = exists().where(
        Result.submission_id == Submission.id,
        Result.state.in_(SHOWN_STATES),
        is_open_to_others(Result.phase_id, Result.submission_id),
    )
    sees_all = (
        viewer.is_member(method.team_id)
        or viewer.organises_challenge(method.challenge_id)
        or viewer.views_challenge(method.challenge_id)
    )
    statement = select(Submission.id).where(
        Submission.method_id == method.id, true() if sees_all else is_shown
    )
    return tuple(session.scalars(statement.order_by(Submission.id)))


def method_view(method: Method) -> MethodView:
    """Return a method as pages show it."""
    return MethodView(
        method.id, method.name, method.title, method.contributors, method.affiliation, method.description,
        method.paper_url, method.code_url, method.is_baseline, method.public_at,
    )  # fmt: skip


def unpublishable_reason(session: Session, method: Method) -> str | None:
    """Return why a private method cannot be made public as it is; None if it can or already is."""
    if method.public_at is not None:
        return None
    return "; ".join(each.message for each in _publication_refusals(session, method)) or None


def unpublishable(session: Session, ids: Collection[int]) -> frozenset[int]:
    """Return which of these methods are private and cannot be made public as they are."""
    is_asked = Method.id.in_(ids), Method.public_at.is_(None)
    found = session.scalars(select(Method).where(*is_asked)).all() if ids else ()
    answers = answers_of(session, ids) if found else {}
    asked = {each: requirements_of(session, each) for each in {method.challenge_id for method in found}}
    return frozenset(
        each.id
        for each in found
        if _hidden(each) or asked[each.challenge_id].refusals(texts(each), answers.get(each.id, {}))
    )


def _publication_refusals(session: Session, method: Method) -> tuple[Refusal, ...]:
    answers = answers_of(session, [method.id]).get(method.id, {})
    refusals = requirements_of(session, method.challenge_id).refusals(texts(method), answers)
    return (*_hidden(method), *refusals)


def _hidden(method: Method | None) -> tuple[Refusal, ...]:
    if method is None or method.hidden_at is None:
        return ()
    return (MethodHidden(f"the organisers have hidden this method: {method.hide_reason}"),)


def texts(method: Method) -> NewMethod:
    """Return a method's description. Newer rules are not applied to what was accepted earlier."""
    return NewMethod.model_construct(**{field: getattr(method, field) for field in TEXTS})


def set_texts(method: Method, new: Mapping[str, Any]) -> None:
    """Change a method's description."""
    for field, value in new.items():
        setattr(method, field, value)
    method.name_key = name_key(method.name)


def create_or_update_method(
    session: Session, actor: Actor, where: tuple[int, int], new: NewMethod, *, make_public: bool
) -> tuple[Method | None, tuple[Refusal, ...]]:
    """Return the team's method of this name, updated from `new`; or the reasons for refusal, changing nothing.

    where: the challenge and the team, which is locked. Empty fields of `new` keep their values.
    """
    challenge_id, team_id = where
    found = method_like(session, challenge_id, new.name)
    is_ours = found is not None and found.team_id == team_id
    is_same = found is not None and is_ours and folded(found.name) == folded(new.name)
    method = require_method(session, actor, Action.CHANGE_METHOD, found.id) if found and is_same else None
    before = texts(method) if method else new
    changed = {field: value for field, value in new.model_dump(exclude={"name", "answers"}).items() if value}
    after = before.model_copy(update=changed)
    is_public = make_public or (method is not None and method.public_at is not None)
    requirements = requirements_of(session, challenge_id)
    known = answers_of(session, [method.id]).get(method.id, {}) if method else {}
    answers, invalid = answers_after(requirements.questions, known, new.answers)
    reasons = (
        *([name_refusal(new.name, found.name, is_ours=is_ours)] if found and not is_same else []),
        *invalid,
        *(requirements.refusals(after, answers) if is_public else ()),
        *(_hidden(method) if make_public else ()),
    )
    if reasons:
        return None, reasons
    if method is None:
        method = Method(challenge_id=challenge_id, team_id=team_id, revision=0, public_at=None)
        set_texts(method, new.model_dump(include=set(TEXTS)))
        session.add(method)
        session.flush()
        store_answers(session, method.id, {}, answers)
    else:
        _change(session, actor, method, after, answers)
    if make_public:
        _publish(session, actor, method)
    session.flush()
    return method, ()


def edit(platform: Platform, actor: Actor, method_id: int, edit: MethodEdit) -> MethodView:
    """Change a method's description. Raises NotFoundError, RefusedError with all reasons."""
    try:
        with platform.transaction() as session:
            method = require_method(session, actor, Action.CHANGE_METHOD, method_id)
            before = texts(method)
            changed = edit.model_dump(exclude_none=True, exclude={"answers"})
            after = before.model_copy(update=changed)
            requirements = requirements_of(session, method.challenge_id)
            known = answers_of(session, [method_id]).get(method_id, {})
            answers, invalid = answers_after(requirements.questions, known, edit.answers or {})
            reasons = [*_edit_refusals(session, method, before, after), *invalid]
            if method.public_at is not None:
                reasons += requirements.refusals(after, answers)
            if reasons:
                raise RefusedError(reasons)
            _change(session, actor, method, after, answers)
            view = method_view(method)
    except IntegrityError as error:
        if violated_constraint(error) != METHOD_NAME:
            raise
        raise RefusedError([NAME_RACED]) from error
    platform.cache.expire_versions()
    return view


def _edit_refusals(
    session: Session, method: Method, before: NewMethod, after: NewMethod
) -> tuple[Refusal, ...]:
    found = edit_refusals(before, after, has_score=has_score(session, method.id))
    other = method_like(session, method.challenge_id, after.name)
    if other is None or other.id == method.id:
        return found
    return (*found, name_refusal(after.name, other.name, is_ours=other.team_id == method.team_id))


def _is_draft(session: Session, challenge_id: int) -> bool:
    """Whether methods of a challenge are of test runs, which are deleted with everything that is known of them."""
    return session.get_one(Challenge, challenge_id).visibility is ChallengeVisibility.DRAFT


def _change(session: Session, actor: Actor, method: Method, after: NewMethod, answers: Answers) -> None:
    """Store a new description and answers, and keep the earlier ones of a public method."""
    changed = changed_fields(texts(method), after)
    known = answers_of(session, [method.id]).get(method.id, {})
    earlier = changed_answers(questions_of(session, method.challenge_id), known, answers)
    if not changed and not earlier:
        return
    if method.public_at is not None and not _is_draft(session, method.challenge_id):
        session.add(MethodChange(method_id=method.id, user_id=actor.user_id, before={**changed, **earlier}))
    set_texts(method, {field: getattr(after, field) for field in changed})
    store_answers(session, method.id, known, answers)
    method.revision += 1
    queue.add_boards(session, Result.method_id == method.id)


def make_public(platform: Platform, actor: Actor, method_id: int) -> None:
    """Make a method of the reader's team public with all its results. This cannot be undone.

    Raises NotFoundError, RefusedError.
    """
    with platform.transaction() as session:
        method = require_method(session, actor, Action.PUBLISH, method_id)
        refusals = _publication_refusals(session, method)
        if refusals and method.public_at is None:
            raise RefusedError(list(refusals))
        _publish(session, actor, method)
    platform.cache.expire_versions()


def _publish(session: Session, actor: Actor, method: Method) -> None:
    if method.public_at is not None:
        return
    method.public_at = func.clock_timestamp()
    method.revision += 1
    session.flush()
    queue.add_boards(session, Result.method_id == method.id)
    events.record(
        session,
        EventKind.PUBLISHED,
        challenge_id=method.challenge_id,
        team_id=method.team_id,
        method=method.id,
        by=actor.user_id,
    )
    record(
        session,
        actor.user_id,
        "method.make_public",
        f"method {method.id}",
        challenge_id=method.challenge_id,
        before={"public": False},
        after={"public": True},
        details={"method": method.name},
    )


def record_decision(
    session: Session, actor: Actor, method: Method, done: str, reason: str = "", result: Result | None = None
) -> None:
    """Record for a team what organisers did to a method of theirs, or to one result of it. done: such as "withdrew"."""
    about: dict[str, Any] = {"method": method.id}
    if result is not None:
        phase = challenges.phase_of_id(session, result.phase_id)
        assert phase is not None
        about |= {
            "submission": result.submission_id,
            "competition": name_of(phase.dataset, result.competition),
        }
    events.record(
        session,
        EventKind.DECISION,
        challenge_id=method.challenge_id,
        phase_id=result.phase_id if result else None,
        team_id=method.team_id,
        by=actor.user_id,
        done=done,
        reason=reason,
        **about,
    )


def hide(platform: Platform, actor: Actor, method_id: int, reason: str) -> None:
    """Make a public method private with all its results, until an organiser shows it again.

    Raises NotFoundError for a method of a challenge that the actor does not organise, MalformedError without a reason,
    ConflictError if it is not public.
    """
    reason = reason.strip()
    if not reason:
        raise FieldsError({"reason": "say why the method is hidden; its team reads it"})
    with platform.transaction() as session:
        method = require_method(session, actor, Action.ORGANISE, method_id)
        if method.public_at is None:
            raise ConflictError("This method is not public.")
        before = {"public_at": method.public_at.isoformat()}
        method.public_at, method.hidden_at, method.hide_reason = None, func.clock_timestamp(), reason
        _changed_visibility(session, actor, "method.hide", method, reason=reason, before=before)
        record_decision(session, actor, method, "hid", reason)
    platform.cache.expire_versions()


def show(platform: Platform, actor: Actor, method_id: int) -> None:
    """Make a hidden method public again. Raises NotFoundError, and ConflictError if it is not hidden."""
    with platform.transaction() as session:
        method = require_method(session, actor, Action.ORGANISE, method_id)
        if method.hidden_at is None:
            raise ConflictError("This method is not hidden.")
        before = {"hide_reason": method.hide_reason}
        method.public_at, method.hidden_at, method.hide_reason = func.clock_timestamp(), None, None
        _changed_visibility(session, actor, "method.show", method, before=before)
        record_decision(session, actor, method, "showed")
    platform.cache.expire_versions()


def _changed_visibility(
    session: Session, actor: Actor, action: str, method: Method, **facts: Unpack[RecordFields]
) -> None:
    method.revision += 1
    session.flush()
    queue.add_boards(session, Result.method_id == method.id)
    facts |= {"challenge_id": method.challenge_id, "details": {"method": method.name}}
    record(session, actor.user_id, action, f"method {method.id}", **facts)
