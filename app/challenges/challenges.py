"""Challenges and their phases: dates, states, competitions, ground-truth versions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Select,
    SQLColumnExpression,
    and_,
    false,
    func,
    not_,
    or_,
    select,
    union_all,
)
from sqlalchemy.orm import Session, aliased

import heldout_scoring
from app.challenges.availability import audience_of, includes, offers_of
from app.challenges.phase_rules import RULES, PhaseRules, PhaseState, quotas_in_words, rules_of_row
from app.core.access import Action, Actor, no_challenge, require, rows_for, visible_to
from app.core.errors import NotFoundError
from app.models import (
    Audience,
    Board,
    Challenge,
    ChallengeVisibility,
    FileKind,
    GroundTruth,
    Phase,
    PictureSource,
    Quota,
    RetiredAddress,
    Submission,
    in_order,
    loaded,
)
from app.platform import Platform
from app.storage import Storage
from heldout_scoring import Description
from heldout_scoring.evaluation import is_scorable


@dataclass(frozen=True, slots=True)
class PhaseRef:
    """Which phase something belongs to."""

    challenge: str
    challenge_title: str
    image_set: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseView(PhaseRules):
    """A phase and its rules. quotas: those in force, with those of other phases that share its annotation."""

    id: int
    challenge_id: int
    challenge: str
    challenge_title: str
    dataset: str
    image_set: str
    is_over: bool  # closed, and no upload can be scored any more
    protocol: str
    description_key: str
    state: PhaseState
    own_quotas: tuple[Quota, ...] = ()  # chosen by its organisers
    # another held-out phase has the same annotation: results count in both, and its quotas also apply
    shares_quotas: bool = False
    shows_exposure: bool = False  # how much can have been disclosed to any team is public
    is_frozen: bool = False  # that time has come, and the phase is not over
    not_offered: tuple[int, ...] = ()  # competitions without ground truth, and those left out
    left_out: tuple[int, ...] = ()  # competitions that its organisers did not choose
    has_images: bool = False  # images were imported
    max_upload: int | None = None  # bytes of an archive, as its organisers chose
    publishes_images: bool = False  # they are not only for organisers
    images_available: bool = True  # no file that offers them has to wait for its date
    images_for: Audience = Audience.EVERYBODY  # those for whom the available files are that offer them
    shows_images: bool = False  # everybody may see them now
    draws_images: bool = False  # whoever may see them may see their annotation now, so that it and predictions are drawn over them
    paused_at: datetime | None = None  # since when its organisers have paused scoring
    pause_reason: str = ""
    archived_at: datetime | None = None  # since when its challenge is: it accepts nothing
    # its challenge is a draft: what is submitted is a test run, by organisers, without dates and quotas
    is_draft: bool = False

    @property
    def ref(self) -> PhaseRef:
        """Which phase it is."""
        return PhaseRef(self.challenge, self.challenge_title, self.image_set)

    @property
    def own_quotas_in_words(self) -> str:
        """The quotas that its organisers chose; empty if there are none."""
        return quotas_in_words(self.own_quotas)

    @property
    def rules(self) -> PhaseRules:
        """Its own rules, as organisers change them."""
        rules = {name: getattr(self, name) for name in RULES}
        # a phase that shares quotas is held out, so it has some of its own
        return PhaseRules(**rules | {"quotas": self.own_quotas or self.quotas})


NOT_CHOSEN: Final = "not part of this challenge"  # why a competition is not offered that organisers left out


def largest_archive(phase: PhaseView, allowed: int) -> int:
    """Return how many bytes an archive of a phase may have; allowed: by the operator."""
    return min(allowed, phase.max_upload or allowed)


def offered_competitions(phase: PhaseView) -> tuple[heldout_scoring.CompetitionInfo, ...]:
    """Return the competitions that accept results: this version can score them and has ground truth for them."""
    return tuple(
        each
        for each in heldout_scoring.competitions(phase.dataset)
        if is_scorable(each) and each.number not in phase.not_offered
    )


def tasks_of(phase: PhaseView) -> dict[int, str]:
    """Return the task of every competition of the challenge, by number."""
    return {each.number: each.task for each in heldout_scoring.competitions(phase.dataset)}


def chosen_tasks(phase: PhaseView) -> tuple[str, ...]:
    """Return the tasks of a phase without those that its organisers left out."""
    return tuple(
        dict.fromkeys(task for number, task in tasks_of(phase).items() if number not in phase.left_out)
    )


ANY_PHASE = aliased(Phase)  # created once: an alias costs more than the rest of a statement
OTHER_PHASE, ANY_SUBMISSION, OTHER_SUBMISSION = aliased(Phase), aliased(Submission), aliased(Submission)
_OWN, _SAME, _OTHER, _ELSEWHERE = (
    aliased(GroundTruth),
    aliased(GroundTruth),
    aliased(Phase),
    aliased(Challenge),
)


def equal_labels(one: type[GroundTruth], other: type[GroundTruth]) -> ColumnElement[bool]:
    """Whether two versions are the same annotation, whatever the names of their data sets and phases.

    A version of an earlier release has no `labels` until a worker has filled it in.
    """
    return or_(one.fingerprint == other.fingerprint, one.labels == other.labels)


def share_quotas(one: type[Challenge], other: type[Challenge]) -> ColumnElement[bool]:
    """Whether phases of two challenges that have the same annotation share their quotas.

    Drafts and other challenges do not see each other: nobody may learn from a draft what others hide.
    """
    are_opened = and_(
        one.visibility != ChallengeVisibility.DRAFT, other.visibility != ChallengeVisibility.DRAFT
    )
    return or_(one.id == other.id, are_opened)


# held-out phases with the same annotation: a score in one of them reveals something about the others
_SHARED_QUOTAS: Final = (
    select(func.jsonb_agg(_OTHER.stored_quotas))
    .join(_ELSEWHERE, _OTHER.challenge_id == _ELSEWHERE.id)
    .where(
        _OTHER.id != Phase.id,
        _OTHER.is_held_out,
        share_quotas(Challenge, _ELSEWHERE),
        _OTHER.id.in_(
            select(_SAME.phase_id)
            .join(_OWN, equal_labels(_OWN, _SAME))
            .where(_OWN.phase_id == Phase.id)
            .correlate(Phase)
        ),
    )
    .correlate(Phase, Challenge)
    .scalar_subquery()
)
PHASE_ORDER: Final = (Phase.is_held_out, Phase.opens_at, Phase.image_set)
"""The order of image sets everywhere: those with open annotation first, each as it opens, so that the test set is last."""
PHASES: Final = (
    select(
        Phase,
        Challenge,
        func.clock_timestamp(),
        PictureSource.is_public,
        _SHARED_QUOTAS,
        offers_of(FileKind.IMAGES),
        offers_of(FileKind.ANNOTATION),
    )
    .join(Challenge)
    .outerjoin(PictureSource, PictureSource.phase_id == Phase.id)
    .order_by(Challenge.id.desc(), *PHASE_ORDER)
)
IMPORT_LOCK = 0x494D504F  # advisory lock: one import at a time


def now(session: Session) -> datetime:
    """Return the time of the database's clock, which decides all deadlines."""
    moment: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return moment


def _phases(session: Session, statement: Select[Any]) -> list[PhaseView]:
    return [_view(*row) for row in session.execute(statement)]


def _view(
    phase: Phase,
    challenge: Challenge,
    moment: datetime,
    images: bool | None,  # noqa: FBT001 - None: no images
    others_quotas: list[list[dict[str, Any]]] | None,
    offers: list[dict[str, Any]] | None,  # of files with its images
    annotation_offers: list[dict[str, Any]] | None,
) -> PhaseView:
    images_for, annotation_for = audience_of(offers, moment), audience_of(annotation_offers, moment)
    has_open_truth = images is not None and not phase.is_held_out
    publishes_images = bool(images) or has_open_truth
    is_shared = phase.is_held_out and others_quotas is not None
    shared = [each for quotas in others_quotas or () for each in loaded(quotas)] if is_shared else []
    rules = rules_of_row(phase)
    own = PhaseRules(**rules)
    state = PhaseState.CLOSED if challenge.archived_at else own.state_at(moment)
    is_draft = challenge.visibility is ChallengeVisibility.DRAFT
    return PhaseView(
        **rules | {"quotas": in_order((*phase.quotas, *shared))},
        id=phase.id,
        challenge_id=phase.challenge_id,
        challenge=challenge.code,
        challenge_title=challenge.title,
        dataset=challenge.dataset,
        image_set=phase.image_set,
        is_over=own.is_over_at(moment),
        protocol=phase.protocol,
        description_key=phase.description_key,
        own_quotas=phase.quotas,
        shares_quotas=is_shared,
        is_frozen=own.is_frozen_at(moment),
        max_upload=phase.max_upload,
        shows_exposure=phase.shows_exposure,
        state=state,
        not_offered=tuple(sorted(map(int, phase.not_offered))),
        left_out=tuple(
            sorted(int(number) for number, reason in phase.not_offered.items() if reason == NOT_CHOSEN)
        ),
        has_images=images is not None,
        publishes_images=publishes_images,
        images_available=images_for is not None,
        images_for=images_for or Audience.EVERYBODY,
        shows_images=publishes_images and images_for is Audience.EVERYBODY,
        draws_images=(
            has_open_truth
            and (is_draft or state is not PhaseState.UPCOMING)
            and includes(annotation_for, images_for)
        ),
        paused_at=phase.paused_at,
        pause_reason=phase.pause_reason,
        archived_at=challenge.archived_at,
        is_draft=is_draft,
    )


def is_withheld(phase: PhaseView, confirmed_at: datetime) -> bool:
    """Whether others than its team and organisers see nothing of a result now, even if its method is public."""
    is_late = phase.frozen_from is not None and confirmed_at >= phase.frozen_from
    return not phase.is_over and (phase.embargo or is_late)


def is_open_to_others(
    phase_id: SQLColumnExpression[int], submission_id: SQLColumnExpression[int]
) -> ColumnElement[bool]:
    """The same as a condition of statements: whether others may see a result, as far as its phase decides it."""
    embargoed = select(ANY_PHASE.id).where(ANY_PHASE.embargo, _goes_on(ANY_PHASE))
    frozen = select(ANY_SUBMISSION.id).join(ANY_PHASE, _is_frozen(ANY_SUBMISSION, ANY_PHASE))
    return and_(phase_id.not_in(embargoed), submission_id.not_in(frozen))


def is_known_to_others(method_id: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Whether others may see a public method: it has not only submissions that their phases freeze or put under an embargo."""
    other = (
        select(OTHER_SUBMISSION.id)
        .join(OTHER_PHASE, OTHER_SUBMISSION.phase_id == OTHER_PHASE.id)
        .where(
            OTHER_SUBMISSION.method_id == ANY_SUBMISSION.method_id,
            not_(func.coalesce(_is_withheld(OTHER_SUBMISSION, OTHER_PHASE), false())),
        )
        .correlate(ANY_SUBMISSION)
    )
    withheld = select(ANY_SUBMISSION.method_id).join(ANY_PHASE, _is_withheld(ANY_SUBMISSION, ANY_PHASE))
    return method_id.not_in(withheld.where(not_(other.exists())))


def _is_frozen(submission: type[Submission], phase: type[Phase]) -> ColumnElement[bool]:
    """Whether others see nothing of a submission until its phase is over, because it came late."""
    return and_(submission.phase_id == phase.id, submission.created_at >= phase.frozen_from, _goes_on(phase))


def _is_withheld(submission: type[Submission], phase: type[Phase]) -> ColumnElement[bool]:
    """Whether others see nothing of a submission until its phase is over."""
    embargoed = and_(submission.phase_id == phase.id, phase.embargo, _goes_on(phase))
    return or_(embargoed, _is_frozen(submission, phase))


def _goes_on(phase: type[Phase]) -> ColumnElement[bool]:
    return not_(func.coalesce(phase.closes_at + phase.grace <= func.clock_timestamp(), false()))


def phase_of(session: Session, challenge: str, image_set: str) -> PhaseView | None:
    """Return a phase by the codes in its URL."""
    return next(
        iter(_phases(session, PHASES.where(Challenge.code == challenge, Phase.image_set == image_set))), None
    )


def phase_of_id(session: Session, phase_id: int) -> PhaseView | None:
    """Return a phase by its id."""
    return next(iter(_phases(session, PHASES.where(Phase.id == phase_id))), None)


def keep_dates(session: Session, phase_id: int) -> None:
    """Have changes of a phase wait for the end of this transaction, so that it closes before or after, never meanwhile.

    The same holds for the opening of its challenge, which is locked first, as where a challenge is opened.
    """
    whole = select(Challenge.id).join(Phase).where(Phase.id == phase_id)
    session.execute(whole.with_for_update(of=Challenge, read=True))
    session.execute(select(Phase.id).where(Phase.id == phase_id).with_for_update(read=True))


def phases_with(session: Session, ids: Collection[int]) -> dict[int, PhaseView]:
    """Return the phases with these ids."""
    return {phase.id: phase for phase in _phases(session, PHASES.where(Phase.id.in_(ids)))}


def all_phases(session: Session) -> list[PhaseView]:
    """Return every phase, the newest challenge first."""
    return _phases(session, PHASES)


def listed_phases(session: Session, actor: Actor) -> list[PhaseView]:
    """Return the phases of all challenges that lists show this reader, the newest challenge first."""
    return _phases(session, PHASES.where(visible_to(actor, Phase.challenge_id, in_lists=True)))


def by_deadline(phases: Sequence[PhaseView], state: PhaseState) -> tuple[PhaseView, ...]:
    """Sort the phases in a state by closing date, or by opening date if upcoming. Phases that never close come last."""
    far = datetime.max.replace(tzinfo=UTC)

    def moment(phase: PhaseView) -> datetime:
        return phase.opens_at if state is PhaseState.UPCOMING else phase.closes_at or far

    return tuple(sorted((each for each in phases if each.state is state), key=moment))


def open_phases(platform: Platform, actor: Actor) -> tuple[PhaseView, ...]:
    """Return the phases that accept results and that lists show this reader, the one that closes first at the beginning."""
    with platform.reading() as session:
        listed = listed_phases(session, actor)
    accepting = [phase for phase in listed if phase.paused_at is None and not phase.is_draft]
    return by_deadline(accepting, PhaseState.OPEN)


def organised_by(actor: Actor) -> ColumnElement[bool]:
    """The phases that the reader organises, as a condition for statements with Phase."""
    return rows_for(actor, Action.ORGANISE, challenge=Phase.challenge_id)


def organised_phases(session: Session, actor: Actor) -> list[PhaseView]:
    """Return the phases that the reader organises, the newest challenge first."""
    return _phases(session, PHASES.where(organised_by(actor)))


def read_phases(session: Session, actor: Actor) -> list[PhaseView]:
    """Return the phases whose organisers' pages the reader may read, the newest challenge first."""
    theirs = rows_for(actor, Action.READ_ORGANISING, challenge=Phase.challenge_id)
    return _phases(session, PHASES.where(theirs))


def phases_of(session: Session, challenge: str) -> list[PhaseView]:
    """Return the phases of a challenge."""
    return _phases(session, PHASES.where(Challenge.code == challenge))


def challenge_of(session: Session, code: str, *, lock: bool = False) -> Challenge | None:
    """Return a challenge by its code. lock: as `access.require` does."""
    statement = select(Challenge).where(Challenge.code == code)
    if lock:
        statement = statement.with_for_update(key_share=True).execution_options(populate_existing=True)
    return session.scalar(statement)


def is_taken(session: Session, code: str) -> bool:
    """Whether a new challenge cannot have this code, because one has it, or one that was open had it before it was deleted."""
    taken = union_all(select(Challenge.code), select(RetiredAddress.code)).subquery()
    return session.scalar(select(taken.c.code).where(taken.c.code == code).limit(1)) is not None


def find_challenge(session: Session, code: str) -> Challenge:
    """Return a challenge, whoever asks. Raises NotFoundError."""
    challenge = challenge_of(session, code)
    if challenge is None:
        raise no_challenge(code)
    return challenge


def all_challenges(session: Session) -> list[Challenge]:
    """Return every challenge, the newest first."""
    return list(session.scalars(select(Challenge).order_by(Challenge.id.desc())))


def listed_challenges(session: Session, actor: Actor) -> list[Challenge]:
    """Return every challenge that lists show this reader, the newest first."""
    shown = select(Challenge).where(visible_to(actor, Challenge.id, in_lists=True))
    return list(session.scalars(shown.order_by(Challenge.id.desc())))


def boards_of(session: Session, phase_ids: Sequence[int]) -> list[Board]:
    """Return the boards of these phases in the order of the phases, each by competition."""
    boards = session.scalars(select(Board).where(Board.phase_id.in_(phase_ids)).order_by(Board.competition))
    return sorted(boards, key=lambda board: phase_ids.index(board.phase_id))


def board_of(session: Session, phase_id: int, competition: int) -> Board | None:
    """Return the leaderboard of a competition in a phase."""
    return session.get(Board, (phase_id, competition))


def board_versions(session: Session, phase_id: int, competition: int) -> tuple[Board, GroundTruth] | None:
    """Return a leaderboard and the ground truth it uses."""
    statement = (
        select(Board, GroundTruth)
        .join(GroundTruth, Board.ground_truth_id == GroundTruth.id)
        .where(Board.phase_id == phase_id, Board.competition == competition)
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1]) if row else None


def newest_truth(session: Session, phase_id: int) -> GroundTruth | None:
    """Return the version of the annotation that was imported last."""
    statement = (
        select(GroundTruth).where(GroundTruth.phase_id == phase_id).order_by(GroundTruth.version.desc())
    )
    return session.scalar(statement.limit(1))


def lock_imports(session: Session) -> None:
    """Block other imports until the end of the transaction."""
    session.execute(select(func.pg_advisory_xact_lock(IMPORT_LOCK)))


def has_phases(session: Session, challenge_id: int) -> bool:
    """Whether a challenge has a phase."""
    return session.scalar(select(Phase.id).where(Phase.challenge_id == challenge_id).limit(1)) is not None


def lock_phase(session: Session, phase_id: int) -> Phase:
    """Lock the row of a phase until the end of the transaction and return it."""
    return session.get_one(Phase, phase_id, with_for_update={"key_share": True})


def is_announced(session: Session, challenge_id: int) -> bool:
    """Whether people are told what changes in a challenge; nobody is told anything of a draft, also not once it opens."""
    return session.get_one(Challenge, challenge_id).visibility is not ChallengeVisibility.DRAFT


def stored_phase(session: Session, challenge_id: int, image_set: str) -> Phase | None:
    """Return a phase's row, locked until the end of the transaction."""
    statement = select(Phase).where(Phase.challenge_id == challenge_id, Phase.image_set == image_set)
    return session.scalar(statement.with_for_update(key_share=True))


def truth_versions(session: Session) -> tuple[dict[int, int], dict[int, int]]:
    """Return two mappings from phases: to the newest version of the ground truth, and to the one its boards use."""
    newest = select(GroundTruth.phase_id, func.max(GroundTruth.version)).group_by(GroundTruth.phase_id)
    shown = (
        select(Board.phase_id, func.min(GroundTruth.version))
        .join(GroundTruth, Board.ground_truth_id == GroundTruth.id)
        .group_by(Board.phase_id)
    )
    return dict(session.execute(newest).all()), dict(session.execute(shown).all())


def reasons_not_offered(session: Session) -> dict[int, dict[int, str]]:
    """Return the competitions that are not offered and what their annotation lacks, by phase; not those left out."""
    rows = session.execute(select(Phase.id, Phase.not_offered))
    return {
        phase: {int(number): reason for number, reason in sorted(found.items()) if reason != NOT_CHOSEN}
        for phase, found in rows
    }


def find_phase(session: Session, challenge: str, image_set: str) -> PhaseView:
    """Return a phase by the codes in its URL.

    Raises NotFoundError.
    """
    phase = phase_of(session, challenge, image_set)
    if phase is None:
        raise NotFoundError(f"there is no phase {image_set!r} in a challenge {challenge!r}")
    return phase


def find_phase_of_id(session: Session, phase_id: int) -> PhaseView:
    """Return a phase, whoever asks. Raises NotFoundError."""
    phase = phase_of_id(session, phase_id)
    if phase is None:
        raise _no_phase(phase_id)
    return phase


def require_phase(
    session: Session, actor: Actor, phase_id: int, action: Action = Action.ORGANISE, *, lock: bool = False
) -> PhaseView:
    """Return a phase to which the actor may do `action`. lock: as `access.require` does.

    Raises NotFoundError if they may not see it, ForbiddenError if they see it but may not do this.
    """
    statement = select(Phase).where(Phase.id == phase_id)
    require(session, actor, action, statement, Phase.challenge_id, _no_phase(phase_id), lock=lock)
    return find_phase_of_id(session, phase_id)


def _no_phase(phase_id: int) -> NotFoundError:
    return NotFoundError(f"there is no phase {phase_id}")


@lru_cache(maxsize=32)
def description_of(descriptions: Storage, key: str) -> Description:
    """Return the public description with this key. Descriptions are immutable, so each is read once per process."""
    with descriptions.open(key) as stream:
        return Description.from_json(stream.read().decode())


def phase_description(platform: Platform, challenge: str, image_set: str) -> Description:
    """Return the public description of a phase.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        phase = find_phase(session, challenge, image_set)
    return description_of(platform.descriptions, phase.description_key)


def phase_page(platform: Platform, challenge: str, image_set: str) -> PhaseView:
    """Return a phase and its rules.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        return find_phase(session, challenge, image_set)


def organised_phase(platform: Platform, actor: Actor, phase_id: int) -> PhaseView:
    """Return a phase that the reader organises. Raises what `require_phase` raises."""
    with platform.transaction() as session:
        return require_phase(session, actor, phase_id)
