"""A leaderboard as a reader may see it."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.cache import Rendered
from app.disclosure import queries as disclosure
from app.disclosure.rules import Sight, sight_of, withheld
from app.disclosure.schemas import StoredScore
from app.editions import queries as stored_editions
from app.editions import service as editions
from app.editions.schemas import PhaseView
from app.errors import NotFoundError, WithheldError
from app.exhibits import queries as exhibits
from app.exhibits.schemas import with_difficult
from app.groups import queries as groups
from app.jobs import queue
from app.leaderboards import queries
from app.leaderboards.rules import (
    Audience,
    BoardAddress,
    Form,
    are_compared,
    arrange,
    check_page,
    check_query,
    page_of,
    training_of,
    with_classes,
)
from app.leaderboards.schemas import BoardControls, BoardLink, BoardPage, BoardRow, BoardView, Cell
from app.methods.rules import training_text
from app.models import EntryState, JobKind, Run, RunState
from app.platform import Platform
from app.publications import queries as publications
from app.ranking.rules import FIGURES
from app.rate_limits import Limited
from app.selections.rules import column_groups, end_of, page_count
from app.selections.schemas import BoardQuery
from app.submissions.rules import is_replaceable


def record_result(session: Session, entry_id: int, run_id: int) -> None:
    """Record what a run has come to: a score on its board, and in the queue what has to follow from it.

    Part of the transaction that ends the run and holds it locked; locks the entry after it and never the board. Runs of
    a re-scoring reach their boards by its switch. A score under versions that are no longer the board's does not stand
    there; the next sweep queues another run of its entry.
    """
    state, is_rescore = publications.run_state(session, run_id, entry_id)
    if state is RunState.SCORED:
        queue.add(session, JobKind.INTERVALS, {"run_id": run_id})
    if is_rescore:
        return
    if state is RunState.SCORED:
        queue.add(session, JobKind.SIMILARITY, {"entry_id": entry_id})
        publications.publish(session, Run.id == run_id)
    else:
        publications.end_without_result(session, entry_id, EntryState(state.value))


@dataclass(frozen=True, slots=True)
class Document:
    """How a board is written in a form."""

    form: Form
    write: Callable[[BoardPage], bytes]


def rendered_board(
    platform: Platform,
    actor: Actor,
    address: BoardAddress,
    query: BoardQuery,
    document: Document,
    reader: str,
) -> Rendered:
    """A board as a document, made once per version and audience.

    reader: who is counted for a selection that has to be made, as addresses can ask for any number of them.
    Raises NotFoundError, MalformedError for what the board does not have, WithheldError for values that are hidden,
    RateLimitedError.
    """
    phase, taken_back, version = platform.cache.version(address, lambda: _version(platform, address))
    named = (address, phase, taken_back, _audience(actor, phase.edition_id), query, document.form)
    key = (*named, version)
    is_variant = query != BoardQuery()
    if is_variant and not platform.cache.has_variant(key):
        platform.limiter.hit(Limited.VIEW, reader)
    return platform.cache.rendered(
        key,
        lambda: document.write(board_page(platform, actor, address, query)),
        is_variant=is_variant,
    )


def _audience(actor: Actor, edition_id: int) -> Audience:
    return Audience.ORGANISERS if actor.runs(edition_id) else Audience.PUBLIC


def _version(platform: Platform, address: BoardAddress) -> tuple[PhaseView, int, Hashable]:
    """What a board depends on: its phase's rules, what was taken back, its own version and the other boards."""
    with platform.snapshot() as session:
        phase = editions.find_phase(session, address.edition, address.image_set)
        taken_back = queries.taken_back(session, phase.id, address.competition)
        version = queries.version(session, phase.id, address.competition)
        others = _boards_of_edition(session, phase)
    if version is None:
        raise _no_board(address)
    return phase, taken_back, (version, others)


def _boards_of_edition(session: Session, phase: PhaseView) -> tuple[BoardLink, ...]:
    image_sets = {each.id: each.image_set for each in stored_editions.phases_of(session, phase.edition)}
    titles = {each.number: each.title for each in scoring.competitions(phase.dataset)}
    return tuple(
        BoardLink(image_sets[board.phase_id], board.competition, titles[board.competition], board.protocol)
        for board in stored_editions.boards_of(session, list(image_sets))
    )


def _no_board(address: BoardAddress) -> NotFoundError:
    return NotFoundError(f"{address.edition} {address.image_set} has no competition {address.competition}")


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the database has of a board and its edition; tables: by run, only where they are asked for; letters: of groups."""

    phase: PhaseView
    board: queries.StoredBoard
    rows: list[queries.StoredRow]
    scores: dict[int, dict[str | None, StoredScore]]
    ladder: dict[int, StoredScore]
    tables: dict[int, list[dict[str, Any]]]
    letters: dict[int, str]
    boards: tuple[BoardLink, ...]


def board_page(platform: Platform, actor: Actor, address: BoardAddress, query: BoardQuery) -> BoardPage:
    """What an address asks of one board: all rows and classes that it chooses, and what stands beside them.

    Raises NotFoundError, MalformedError for what the board does not have, WithheldError for values that are hidden.
    """
    stored = _read(platform, actor, address, query)
    sight = sight_of(actor, stored.phase)
    _check_sight(stored.phase, sight, query)
    classes = columns(platform, stored.phase, address.competition, stored.board.versions.protocol)
    check_query(query, classes)
    info = scoring.competition_of(stored.phase.dataset, address.competition)
    rows = [_row(row, stored, sight, query, info, classes) for row in stored.rows]
    arranged = _shown(arrange(rows, classes, query, sight.decimals), sight)
    board = with_classes(_view(stored, sight, query, info, classes, arranged), query.classes)
    check_page(query, board)
    return BoardPage(board, _controls(stored, sight, query, classes, board))


def _read(platform: Platform, actor: Actor, address: BoardAddress, query: BoardQuery) -> _Stored:
    competition = address.competition
    before = end_of(query.as_of) if query.as_of else None
    with platform.snapshot() as session:  # a board that is switched meanwhile is the old one or the new one
        phase = editions.find_phase(session, address.edition, address.image_set)
        audience = _audience(actor, phase.edition_id)
        board = queries.board(session, phase.id, competition, audience, before)
        if board is None:
            raise _no_board(address)
        standing = (
            publications.former(phase.id, competition, before)
            if before
            else queries.current(phase.id, competition)
        )
        rows = queries.rows(session, standing, audience)
        newest = max(rows, key=lambda row: row.run_id, default=None)
        return _Stored(
            phase=phase,
            board=replace(board, versions=newest.versions) if before and newest else board,
            rows=rows,
            scores=queries.scores(session, standing),
            ladder=disclosure.headlines(session, [row.ladder_run_id for row in rows]),
            tables=exhibits.score_tables(session, standing) if query.difficult else {},
            letters={} if before else groups.letters_by_run(session, phase.id, competition),
            boards=_boards_of_edition(session, phase),
        )


def _check_sight(phase: PhaseView, sight: Sight, query: BoardQuery) -> None:
    """Raise WithheldError for what is made of values that this reader does not see."""
    needs_classes = query.sort in FIGURES
    if (query.difficult and not sight.details) or (needs_classes and not sight.classes):
        raise WithheldError(withheld(phase, sight) or "")


def _view(
    stored: _Stored,
    sight: Sight,
    query: BoardQuery,
    info: scoring.CompetitionInfo,
    classes: tuple[str, ...],
    rows: tuple[BoardRow, ...],
) -> BoardView:
    phase, board = stored.phase, stored.board
    return BoardView(
        edition=phase.edition,
        edition_title=phase.edition_title,
        image_set=phase.image_set,
        competition=info.number,
        title=info.title,
        data_rule=info.own_data_rule,
        measure=next((row.measure for row in stored.rows), ""),
        protocol=board.versions.protocol,
        shows_newest=is_replaceable(phase),
        decimals=sight.decimals,
        beyond_public=sight.beyond_public,
        withheld=withheld(phase, sight),
        classes=classes,
        rows=rows,
        sort=query.sort,
        descending=query.descending,
        ground_truth=board.versions.ground_truth,
        ground_truth_id=board.versions.ground_truth_id,
        scorer=board.versions.scorer,
        version=board.version,
        updated_at=sight.moment(board.updated_at),
        rescoring=board.rescoring,
        methods=len(stored.rows),
        as_of=query.as_of,
    )


def _controls(
    stored: _Stored, sight: Sight, query: BoardQuery, classes: tuple[str, ...], board: BoardView
) -> BoardControls:
    teams = {row.team.id: row.team for row in stored.rows}
    return BoardControls(
        query=replace(query, page=page_of(board, query)),
        classes=classes,
        teams=tuple(sorted(teams.values(), key=lambda team: team.name.casefold())),
        competitions=tuple(each for each in stored.boards if each.image_set == board.image_set),
        phases=tuple(each for each in stored.boards if each.competition == board.competition),
        groups=column_groups(board.classes),
        pages=page_count(len(board.rows)),
        listed=len(board.rows),
        has_classes=sight.classes,
        has_details=sight.details,
        has_groups=sight.details and are_compared(board, query),
        has_images=stored.phase.draws_images,
    )


def _shown(rows: Sequence[BoardRow], sight: Sight) -> tuple[BoardRow, ...]:
    """The rows with their dates as the reader may see them; they are in their order already."""
    return tuple(replace(row, date=sight.moment(row.date)) for row in rows)


def columns(platform: Platform, phase: PhaseView, competition: int, protocol: str) -> tuple[str, ...]:
    """The classes of a board, in the order of the edition, or the parts that its protocol speaks of."""
    description = editions.description_of(platform.descriptions, phase.description_key)
    return scoring.columns(description, competition, protocol)


def _row(
    row: queries.StoredRow,
    stored: _Stored,
    sight: Sight,
    query: BoardQuery,
    info: scoring.CompetitionInfo,
    classes: tuple[str, ...],
) -> BoardRow:
    sight = sight.of_result(is_complete=row.is_complete)
    scores = stored.scores.get(row.run_id, {})
    mean = sight.mean(scores.get(None), stored.ladder.get(row.ladder_run_id or 0))
    values = {name: sight.value(score) for name, score in scores.items() if name is not None}
    intervals = {name: sight.interval(score) for name, score in scores.items()}
    group = stored.letters.get(row.run_id) if sight.details else None
    if query.difficult:  # details, which `_check_sight` has let through
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
        is_complete=row.is_complete if sight.beyond_public else None,
        is_outdated=queries.is_outdated(row.versions, stored.board.versions),
        submission=row.submission_id,
        team=row.team,
        mean=mean,
        cells=tuple(_cell(values.get(name), intervals.get(name)) for name in classes),
        date=row.date,
        method_id=row.method.id,
        paper_url=row.method.paper_url,
        code_url=row.method.code_url,
        training=training_of(row.training, any_data=info.own_data),
        training_data=training_text(row.training, is_baseline=row.method.is_baseline),
        low=low,
        high=high,
        group=group,
    )


def _cell(value: float | None, interval: tuple[float | None, float | None] | None) -> Cell:
    low, high = interval or (None, None)
    return Cell(value, low=low, high=high)
