"""A leaderboard as a reader may see it."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.cache import Rendered
from app.disclosure import queries as disclosure
from app.disclosure.rules import Sight, sight_of, withheld
from app.disclosure.schemas import StoredScore
from app.editions import service as editions
from app.editions.schemas import PhaseView
from app.errors import MalformedError, NotFoundError
from app.leaderboards import queries
from app.leaderboards.rules import (
    SORTS,
    Audience,
    BoardAddress,
    Form,
    Order,
    Standing,
    arrange,
)
from app.leaderboards.schemas import BoardRow, BoardView
from app.models import EntryState, Run, RunState, Topic
from app.outbox import queries as outbox
from app.platform import Platform
from app.publications import queries as publications
from app.submissions.rules import is_replaceable


def record_result(session: Session, entry_id: int, run_id: int) -> None:
    """Record what a run has come to: a score on its board, and in the outbox what has to follow from it.

    Part of the transaction that ends the run and holds it locked; locks the entry after it and never the board. Runs of
    a re-scoring reach their boards by its switch. A score under versions that are no longer the board's does not stand
    there; the next sweep queues another run of its entry.
    """
    state, is_rescore = publications.run_state(session, run_id, entry_id)
    if state is RunState.SCORED:
        outbox.add(session, Topic.INTERVALS, {"run_id": run_id})
    if is_rescore:
        return
    if state is RunState.SCORED:
        publications.publish(session, Run.id == run_id)
    else:
        publications.end_without_result(session, entry_id, EntryState(state.value))


def rendered_board(
    platform: Platform,
    actor: Actor,
    address: BoardAddress,
    order: Order,
    form: Form,
    write: Callable[[BoardView], bytes],
) -> Rendered:
    """A board as `write` writes it in this form, made once per version and audience.

    Raises NotFoundError, and MalformedError for an order that the board does not have.
    """
    edition_id, version = platform.cache.version(address, lambda: _version(platform, address))
    key = (address, version, _audience(actor, edition_id), order, form)
    return platform.cache.rendered(key, lambda: write(board_page(platform, actor, address, order)))


def _audience(actor: Actor, edition_id: int) -> Audience:
    return Audience.ORGANISERS if actor.runs(edition_id) else Audience.PUBLIC


def _version(platform: Platform, address: BoardAddress) -> tuple[int, Hashable]:
    """The id of a board's edition, and what the board depends on: its phase's rules, too."""
    with platform.snapshot() as session:
        phase = editions.find_phase(session, address.edition, address.image_set)
        version = queries.version(session, phase.id, address.competition)
    if version is None:
        raise _no_board(address)
    return phase.edition_id, (phase, version)


def _no_board(address: BoardAddress) -> NotFoundError:
    return NotFoundError(f"{address.edition} {address.image_set} has no competition {address.competition}")


def board_page(platform: Platform, actor: Actor, address: BoardAddress, order: Order) -> BoardView:
    """One board, in the order that its address asks for.

    Raises NotFoundError, and MalformedError for an order that it does not have.
    """
    competition = address.competition
    with platform.snapshot() as session:  # a board that is switched meanwhile is the old one or the new one
        phase = editions.find_phase(session, address.edition, address.image_set)
        audience = _audience(actor, phase.edition_id)
        stored = queries.board(session, phase.id, competition, audience)
        if stored is None:
            raise _no_board(address)
        rows = queries.rows(session, phase.id, competition, audience)
        scores = queries.scores(session, phase.id, competition)
        ladder = disclosure.headlines(session, [row.ladder_run_id for row in rows])
    sight = sight_of(actor, phase)
    classes = _columns(platform, phase, competition, stored.protocol, order)
    info = scoring.competition_of(phase.dataset, competition)
    standings = [
        _standing(row, scores.get(row.run_id, {}), ladder.get(row.ladder_run_id or 0), sight) for row in rows
    ]
    return BoardView(
        edition=phase.edition,
        edition_title=phase.edition_title,
        image_set=phase.image_set,
        competition=competition,
        title=info.title,
        data_rule=info.own_data_rule,
        measure=next((row.measure for row in rows), ""),
        protocol=stored.protocol,
        shows_newest=is_replaceable(phase),
        decimals=sight.decimals,
        beyond_public=sight.beyond_public,
        withheld=withheld(phase, sight),
        classes=classes,
        rows=_shown(arrange(standings, classes, order), sight),
        sort=order.by,
        descending=order.descending,
        ground_truth=stored.ground_truth,
        fingerprint=stored.fingerprint,
        scorer=stored.scorer,
        version=stored.version,
        updated_at=sight.moment(stored.updated_at),
        rescoring=stored.rescoring,
    )


def _columns(
    platform: Platform, phase: PhaseView, competition: int, protocol: str, order: Order
) -> tuple[str, ...]:
    """The classes of a board. Raises MalformedError for an order by something else."""
    classes = columns(platform, phase, competition, protocol)
    if order.by not in (*SORTS, *classes):
        raise MalformedError(
            f"a board is sorted by {', '.join(SORTS)} or one of its classes, not by {order.by!r}"
        )
    return classes


def _shown(rows: Sequence[BoardRow], sight: Sight) -> tuple[BoardRow, ...]:
    """The rows with their dates as the reader may see them; they are in their order already."""
    return tuple(replace(row, date=sight.moment(row.date)) for row in rows)


def columns(platform: Platform, phase: PhaseView, competition: int, protocol: str) -> tuple[str, ...]:
    """The classes of a board, in the order of the edition, or the parts that its protocol speaks of."""
    description = editions.description_of(platform.descriptions, phase.description_key)
    return scoring.columns(description, competition, protocol)


def _standing(
    row: queries.StoredRow, scores: dict[str | None, StoredScore], ladder: StoredScore | None, sight: Sight
) -> Standing:
    sight = sight.of_result(is_complete=row.is_complete)
    return Standing(
        method=row.method,
        submission_id=row.submission_id,
        team=row.team,
        date=row.date,
        is_outdated=row.is_outdated,
        is_complete=row.is_complete if sight.beyond_public else None,
        mean=sight.mean(scores.get(None), ladder),
        values={name: sight.value(score) for name, score in scores.items() if name is not None},
    )
