"""Leaderboards: load their rows, then rank and filter them as the reader may see them."""

import enum
import uuid
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, Subquery, and_, func, not_, or_, select, true
from sqlalchemy.orm import Session

import heldout_scoring
from app.boards.columns import further_of, further_values, headline_of
from app.boards.ranking import FIGURES
from app.boards.rows import (
    BoardControls,
    BoardFormat,
    BoardKey,
    BoardLink,
    BoardPage,
    BoardRow,
    BoardTeam,
    BoardView,
    ScoreCell,
    are_compared,
    arrange,
    check_page,
    check_query,
    filters_of,
    page_of,
    scale_of,
    segments,
    training_of,
    with_classes,
)
from app.boards.selections import BoardQuery, column_groups, end_of_day, page_count
from app.challenges import challenges
from app.challenges.challenges import PhaseView, is_open_to_others
from app.challenges.disclosure import StoredScore, Visibility, visibility_for, withheld
from app.core.access import Actor
from app.core.caching import Rendered
from app.core.errors import NotFoundError, WithheldError
from app.core.rate_limits import Limited
from app.models import (
    Board,
    BoardGroups,
    GroundTruth,
    Method,
    Publication,
    Rescore,
    Result,
    ResultState,
    Run,
    RunAnalysis,
    Submission,
    Team,
)
from app.people.teams import is_public, is_shown
from app.platform import Platform
from app.results import exhibits, groups, recording
from app.results.exhibits import with_difficult
from app.results.recording import current_results, is_on_board
from app.results.scores import RunScores, load_headlines, load_scores
from app.submissions.acceptance import is_replaceable
from app.submissions.methods import MethodView, Training, method_view, training_text
from app.submissions.questions import QuestionView, answers_of, questions_of
from heldout_scoring.competitions import is_numbered, name_of
from heldout_scoring.evaluation import columns_of


class BoardReaders(enum.StrEnum):
    """The groups of readers of a board. All readers of a group see the same."""

    PUBLIC = "public"  # public methods, values as they are disclosed
    ORGANISERS = "organisers"  # also private methods, with all their values


Version = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions that a result was scored under. ground_truth_id: the public id of this ground truth."""

    protocol: str
    scorer: str
    ground_truth: int
    ground_truth_id: uuid.UUID


def is_outdated(row: Versions, board: Versions) -> bool:
    """Whether a result was scored under another ground truth or scorer than the board has now."""
    return (row.ground_truth, row.scorer) != (board.ground_truth, board.scorer)


@dataclass(frozen=True, slots=True)
class StoredBoard:
    """A board's versions, the number of its publications, and the time of the latest."""

    versions: Versions
    version: int
    updated_at: datetime
    rescoring: bool


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A method on a board. Its scores are loaded separately, by run."""

    run_id: int
    ladder_run_id: int | None
    is_complete: bool
    method: MethodView
    submission_id: int
    training: Training
    team: BoardTeam
    date: datetime
    measure: str
    versions: Versions


def is_shown_to(audience: BoardReaders) -> ColumnElement[bool]:
    """The condition for methods that a board shows. The statement must join Method and Result."""
    if audience is BoardReaders.ORGANISERS:
        return true()
    return and_(is_public(), is_open_to_others(Result.phase_id, Result.submission_id))


def board_version(session: Session, phase_id: int, competition: int) -> Version | None:
    """Return a value that changes with every change of a board, or None if there is no board.

    Publications are never deleted, other than all of a draft at once, so their number grows with every commit. The largest id
    alone would not do, because ids are not assigned in commit order. Revisions of methods grow under a lock, and so does their sum.
    """
    published = (
        select(func.count(Publication.id).label("count"), func.max(Publication.id).label("latest"))
        .where(Publication.phase_id == phase_id, Publication.competition == competition)
        .subquery()
    )
    revisions = (
        select(func.coalesce(func.sum(Method.revision), 0))
        .select_from(Result)
        .join(Result.method)
        .where(Result.phase_id == phase_id, Result.competition == competition)
        .scalar_subquery()
    )
    analysed = (  # a run's intervals are stored before its analysis
        select(func.count(RunAnalysis.run_id))
        .select_from(Result)
        .join(RunAnalysis, RunAnalysis.run_id == Result.published_run_id)
        .where(Result.phase_id == phase_id, Result.competition == competition)
        .scalar_subquery()
    )
    statement = (
        select(
            Board.generation, Board.protocol, published.c.count, published.c.latest, revisions,
            _open_rescores(phase_id).exists(), BoardGroups.version, analysed,
        )
        .select_from(Board)
        .join(published, true())
        .outerjoin(
            BoardGroups,
            and_(BoardGroups.phase_id == Board.phase_id, BoardGroups.competition == Board.competition),
        )
        .where(Board.phase_id == phase_id, Board.competition == competition)
    )  # fmt: skip
    row = session.execute(statement).one_or_none()
    return tuple(row) if row else None


def withdrawals_version(session: Session, phase_id: int, competition: int) -> int:
    """Return a number that changes whenever results disappear from a board: withdrawn, or hidden with their team."""
    is_removed = or_(Result.state == ResultState.WITHDRAWN, not_(is_shown(Method.team_id)))
    statement = (
        select(func.coalesce(func.sum(Result.id), 0))
        .join(Result.method)
        .where(
            Result.phase_id == phase_id,
            Result.competition == competition,
            Method.public_at.is_not(None),
            is_removed,
        )
    )
    return int(session.scalar(statement) or 0)


def _open_rescores(phase_id: int) -> Select[int]:
    return select(Rescore.id).where(
        Rescore.phase_id == phase_id, Rescore.activated_at.is_(None), Rescore.abandoned_at.is_(None)
    )


def stored_board(
    session: Session, phase_id: int, competition: int, audience: BoardReaders, before: datetime | None = None
) -> StoredBoard | None:
    """Load the versions of a board, or None if there is no board.

    For the public, private results do not count. before: count only what was published before this moment.
    """
    published = (
        select(func.count().label("count"), func.max(Publication.published_at).label("latest"))
        .select_from(Publication)
        .join(Result, Publication.result_id == Result.id)
        .join(Result.method)
        .where(
            Publication.phase_id == phase_id,
            Publication.competition == competition,
            is_shown_to(audience),
            _is_before(before),
        )
        .subquery()
    )
    statement = (
        select(
            Board.protocol, Board.scorer, GroundTruth.version, GroundTruth.public_id, published.c.count.label("publications"),
            func.coalesce(published.c.latest, Board.activated_at).label("updated_at"),
            _open_rescores(phase_id).exists().label("rescoring"),
        )
        .select_from(Board)
        .join(published, true())
        .join(GroundTruth, Board.ground_truth_id == GroundTruth.id)
        .where(Board.phase_id == phase_id, Board.competition == competition)
    )  # fmt: skip
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    return StoredBoard(_versions(row), row.publications, row.updated_at, row.rescoring)


def _versions(row: Row[*tuple[Any, ...]]) -> Versions:
    return Versions(
        protocol=row.protocol,
        scorer=row.scorer,
        ground_truth=row.version,
        ground_truth_id=row.public_id,
    )


def _is_before(moment: datetime | None) -> ColumnElement[bool]:
    return true() if moment is None else Publication.published_at < moment


def select_rows(session: Session, on_board: Subquery, audience: BoardReaders) -> list[StoredRow]:
    """Load the methods on a board. on_board: `current_results` for now, or `former_results` for an earlier date."""
    statement = (
        select(
            Run.id.label("run_id"), Run.ladder_run_id, Run.measure, Run.protocol, Run.scorer, Result.is_complete, Method,
            Submission.id.label("submission_id"), Submission.training, Submission.created_at.label("date"),
            Team.id.label("team_id"), Team.name.label("team"), Team.suspended_at.is_not(None).label("is_suspended"),
            GroundTruth.version, GroundTruth.public_id,
        )
        .select_from(on_board)
        .join(Result, Result.id == on_board.c.result_id)
        .join(Run, Run.id == on_board.c.run_id)
        .join(Run.ground_truth)
        .join(Result.method)
        .join(Method.team)
        .join(Result.submission)
        .where(is_shown_to(audience))
    )  # fmt: skip
    return [
        StoredRow(
            run_id=row.run_id,
            ladder_run_id=row.ladder_run_id,
            is_complete=row.is_complete,
            method=method_view(row.Method),
            submission_id=row.submission_id,
            training=Training.model_validate(row.training),
            team=BoardTeam(row.team_id, row.team, row.is_suspended),
            date=row.date,
            measure=row.measure or "",
            versions=_versions(row),
        )
        for row in session.execute(statement)
    ]


@dataclass(frozen=True, slots=True)
class Document:
    """An output format of a board, and the function that writes it. beside: what it shows beside the board."""

    form: BoardFormat
    write: Callable[[BoardPage], bytes]
    beside: Hashable = None


def rendered_board(
    platform: Platform,
    actor: Actor,
    address: BoardKey,
    query: BoardQuery,
    document: Document,
    reader: str,
) -> Rendered:
    """Return a board as a document, rendered once per version and audience.

    reader: the rate limit key; a selection that is not cached counts towards the limit, since URLs can ask for any number of
    them. Raises NotFoundError, MalformedError for classes or pages that the board does not have, WithheldError for hidden
    values, RateLimitedError.
    """
    phase, withdrawals, version = platform.cache.version(address, lambda: _version(platform, address))
    audience = _audience(actor, phase.challenge_id)
    form = (document.form, document.beside, platform.site().version)
    key = (address, phase, withdrawals, audience, query, form, version)
    is_variant = query != BoardQuery()
    if is_variant and not platform.cache.has_variant(key):
        platform.limiter.hit(Limited.VIEW, reader)
    return platform.cache.rendered(
        key,
        lambda: document.write(board_page(platform, actor, address, query)),
        is_variant=is_variant,
    )


def _audience(actor: Actor, challenge_id: int) -> BoardReaders:
    return BoardReaders.ORGANISERS if actor.organises_challenge(challenge_id) else BoardReaders.PUBLIC


def _version(platform: Platform, address: BoardKey) -> tuple[PhaseView, int, Hashable]:
    """Load everything a cached board depends on: phase, withdrawals, its own version, the other phases and boards."""
    with platform.snapshot() as session:
        phase = challenges.find_phase(session, address.challenge, address.image_set)
        withdrawals = withdrawals_version(session, phase.id, address.competition)
        version = board_version(session, phase.id, address.competition)
        phases = tuple(challenges.phases_of(session, address.challenge))
        others = boards_of_challenge(session, phases)
    if version is None:
        raise _no_board(address)
    return phase, withdrawals, (version, phases, others)


def has_public_results(session: Session, phase_id: int, competition: int) -> bool:
    """Whether a board has a result that everybody may see."""
    statement = (
        select(Result.id)
        .join(Board, is_on_board())
        .join(Result.method)
        .where(
            Result.phase_id == phase_id, Result.competition == competition, is_shown_to(BoardReaders.PUBLIC)
        )
        .limit(1)
    )
    return session.scalar(statement) is not None


def boards_of_challenge(session: Session, phases: Sequence[PhaseView]) -> tuple[BoardLink, ...]:
    """Return all boards of a challenge with these phases."""
    image_sets = {each.id: each.image_set for each in phases}
    infos = {each.number: each for each in heldout_scoring.competitions(phases[0].dataset)}
    return tuple(
        BoardLink(
            image_sets[board.phase_id],
            board.competition,
            infos[board.competition].title,
            infos[board.competition].own_data,
            board.protocol,
        )
        for board in challenges.boards_of(session, list(image_sets))
    )


def _no_board(address: BoardKey) -> NotFoundError:
    return NotFoundError(
        f"there is no competition {address.competition} in {address.challenge} {address.image_set}"
    )


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the database holds about a board. tables: of scores by run, only if needed; letters: the groups of each run."""

    phase: PhaseView
    board: StoredBoard
    rows: list[StoredRow]
    scores: dict[int, RunScores]
    ladder: dict[int, StoredScore]
    tables: dict[int, list[dict[str, Any]]]
    questions: tuple[QuestionView, ...]
    answers: dict[int, dict[int, str]]
    letters: dict[int, str]
    challenge_phases: tuple[PhaseView, ...]
    boards: tuple[BoardLink, ...]


def board_page(platform: Platform, actor: Actor, address: BoardKey, query: BoardQuery) -> BoardPage:
    """Return a board with all rows and classes that the query selects, and the controls around it.

    Raises NotFoundError, MalformedError for classes or pages that the board does not have, WithheldError for hidden values.
    """
    stored = _load(platform, actor, address, query)
    visibility = visibility_for(actor, stored.phase)
    _check_sight(stored.phase, visibility, query)
    description = challenges.description_of(platform.descriptions, stored.phase.description_key)
    classes = columns_of(description, address.competition, stored.board.versions.protocol)
    info = heldout_scoring.competition_of(stored.phase.dataset, address.competition)
    further = further_of(info.task) if visibility.details and not query.difficult else ()
    check_query(query, classes, further, stored.questions)
    rows = [_row(row, stored, visibility, query, info, classes) for row in stored.rows]
    arranged = _with_visible_dates(
        arrange(rows, classes, query, visibility.decimals, further, stored.questions), visibility
    )
    board = replace(
        _view(stored, visibility, query, info, classes, arranged),
        further=further,
        is_numbered=is_numbered(description),
    )
    board = with_classes(board, query.classes)
    check_page(query, board)
    return BoardPage(board, _controls(stored, visibility, query, classes, board))


def _load(platform: Platform, actor: Actor, address: BoardKey, query: BoardQuery) -> _Stored:
    competition = address.competition
    before = end_of_day(query.as_of) if query.as_of else None
    with platform.snapshot() as session:  # sees the board either before or after a switch
        phase = challenges.find_phase(session, address.challenge, address.image_set)
        audience = _audience(actor, phase.challenge_id)
        board = stored_board(session, phase.id, competition, audience, before)
        if board is None:
            raise _no_board(address)
        task = heldout_scoring.competition_of(phase.dataset, competition).task
        on_board = (
            recording.former_results(phase.id, competition, before)
            if before
            else current_results(phase.id, competition)
        )
        rows = select_rows(session, on_board, audience)
        newest = max(rows, key=lambda row: row.run_id, default=None)
        phases = tuple(challenges.phases_of(session, phase.challenge))
        return _Stored(
            phase=phase,
            board=replace(board, versions=newest.versions) if before and newest else board,
            rows=rows,
            scores=load_scores(session, select(on_board.c.run_id)),
            ladder=load_headlines(session, [row.ladder_run_id for row in rows]),
            tables=exhibits.score_tables(session, on_board) if query.difficult or further_of(task) else {},
            questions=questions_of(session, phase.challenge_id),
            answers=answers_of(session, [row.method.id for row in rows]),
            letters={} if before else groups.letters_by_run(session, phase.id, competition),
            challenge_phases=phases,
            boards=boards_of_challenge(session, phases),
        )


def _check_sight(phase: PhaseView, visibility: Visibility, query: BoardQuery) -> None:
    """Raise WithheldError if the query needs values that are hidden from this reader."""
    needs_classes = query.sort in FIGURES
    if (query.difficult and not visibility.details) or (needs_classes and not visibility.classes):
        raise WithheldError(withheld(phase, visibility) or "")


def _view(
    stored: _Stored,
    visibility: Visibility,
    query: BoardQuery,
    info: heldout_scoring.CompetitionInfo,
    classes: tuple[str, ...],
    rows: tuple[BoardRow, ...],
) -> BoardView:
    phase, board = stored.phase, stored.board
    return BoardView(
        challenge=phase.challenge,
        challenge_title=phase.challenge_title,
        image_set=phase.image_set,
        competition=info.number,
        title=info.title,
        name=name_of(phase.dataset, info.number),
        is_numbered=False,
        data_rule=info.own_data_rule,
        measure=next((row.measure for row in stored.rows), ""),
        headline=headline_of(board.versions.protocol, info.task),
        further=(),
        protocol=board.versions.protocol,
        shows_newest=is_replaceable(phase),
        decimals=visibility.decimals,
        beyond_public=visibility.beyond_public,
        withheld=withheld(phase, visibility),
        classes=classes,
        questions=stored.questions,
        rows=rows,
        sort=query.sort,
        descending=query.descending,
        ground_truth=board.versions.ground_truth,
        ground_truth_id=board.versions.ground_truth_id,
        scorer=board.versions.scorer,
        version=board.version,
        updated_at=visibility.moment(board.updated_at),
        rescoring=board.rescoring,
        methods=len(stored.rows),
        as_of=query.as_of,
    )


def _controls(
    stored: _Stored, visibility: Visibility, query: BoardQuery, classes: tuple[str, ...], board: BoardView
) -> BoardControls:
    teams = {row.team.id: row.team for row in stored.rows}
    here = next(
        each
        for each in stored.boards
        if (each.image_set, each.competition) == (board.image_set, board.competition)
    )
    tasks, trainings, phases = segments(stored.boards, here)
    phase = stored.phase
    return BoardControls(
        phase=stored.phase,
        challenge_phases=stored.challenge_phases,
        query=replace(query, page=page_of(board, query)),
        classes=classes,
        teams=tuple(sorted(teams.values(), key=lambda team: team.name.casefold())),
        tasks=tasks,
        trainings=trainings,
        phases=phases,
        filters=filters_of(query, tuple(teams.values()), stored.questions),
        groups=column_groups(board.classes),
        pages=page_count(len(board.rows)),
        listed=len(board.rows),
        has_classes=visibility.classes,
        has_details=visibility.details,
        has_groups=visibility.details and are_compared(board, query),
        scale=scale_of(board.rows),
        intervals_at=phase.closes_at
        if not visibility.details and phase.details_at_close and not phase.is_over
        else None,
        has_images=phase.draws_images,
    )


def _with_visible_dates(rows: Sequence[BoardRow], visibility: Visibility) -> tuple[BoardRow, ...]:
    """Reduce dates to what the reader may see. Sorting comes first because it needs the exact dates."""
    return tuple(replace(row, date=visibility.moment(row.date)) for row in rows)


def columns(platform: Platform, phase: PhaseView, competition: int, protocol: str) -> tuple[str, ...]:
    """Return the classes of a board in the order of the challenge, or the body parts that its protocol scores."""
    description = challenges.description_of(platform.descriptions, phase.description_key)
    return columns_of(description, competition, protocol)


def _row(
    row: StoredRow,
    stored: _Stored,
    visibility: Visibility,
    query: BoardQuery,
    info: heldout_scoring.CompetitionInfo,
    classes: tuple[str, ...],
) -> BoardRow:
    visibility = visibility.of_result(is_complete=row.is_complete)
    scores = stored.scores.get(row.run_id, {})
    mean = visibility.mean(scores.get(None), stored.ladder.get(row.ladder_run_id or 0))
    values = {name: visibility.value(score) for name, score in scores.items() if name is not None}
    intervals = {name: visibility.interval(score) for name, score in scores.items()}
    group = stored.letters.get(row.run_id) if visibility.details else None
    further: tuple[float | None, ...] = ()
    if visibility.details and not query.difficult:
        further = further_values(info.task, stored.tables.get(row.run_id, ()))
    if query.difficult:  # needs details, which `_check_sight` has checked
        values = dict(with_difficult(stored.tables.get(row.run_id, ())))
        mean, intervals, group = values.get("mean"), {}, None
    low, high = intervals.get(None, (None, None))
    return BoardRow(
        method=row.method.name,
        title=row.method.title,
        contributors=row.method.contributors,
        affiliation=row.method.affiliation,
        description=row.method.description,
        is_baseline=row.method.is_baseline,
        is_public=row.method.public_at is not None,
        is_complete=row.is_complete if visibility.beyond_public else None,
        is_outdated=is_outdated(row.versions, stored.board.versions),
        submission=row.submission_id,
        team=row.team,
        mean=mean,
        cells=tuple(_cell(values.get(name), intervals.get(name)) for name in classes),
        date=row.date,
        method_id=row.method.id,
        paper_url=row.method.paper_url,
        code_url=row.method.code_url,
        training=training_of(row.training, any_data=info.own_data),
        training_data=training_text(row.training, is_baseline=row.method.is_baseline, any_data=info.own_data),
        low=low,
        high=high,
        group=group,
        further=tuple(map(ScoreCell, further)),
        answers=tuple(stored.answers.get(row.method.id, {}).get(each.id) for each in stored.questions),
    )


def _cell(value: float | None, interval: tuple[float | None, float | None] | None) -> ScoreCell:
    low, high = interval or (None, None)
    return ScoreCell(value, low=low, high=high)
