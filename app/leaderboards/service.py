"""A leaderboard as a reader may see it."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.cache import Rendered
from app.editions import service as editions
from app.editions.rules import HELD_OUT_DECIMALS, disclosed, sees_details, shown_time
from app.editions.schemas import PhaseView
from app.errors import MalformedError, NotFoundError
from app.leaderboards import queries
from app.leaderboards.rules import (
    SORTS,
    Audience,
    BoardAddress,
    Candidate,
    Form,
    Order,
    Standing,
    arrange,
    leaders_of,
)
from app.leaderboards.schemas import BoardRow, BoardSummary, BoardView
from app.models import EntryState, Run, RunState, Topic
from app.outbox import queries as outbox
from app.platform import Platform
from app.publications import queries as publications

LEADERS = 3  # ranks of a board that stand on the page of its edition


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
    audience = Audience.ORGANISERS if actor.is_organiser else Audience.PUBLIC
    version = platform.cache.version(address, lambda: _version(platform, address))
    key = (address, version, audience, order, form)
    return platform.cache.rendered(key, lambda: write(board_page(platform, actor, address, order)))


def _version(platform: Platform, address: BoardAddress) -> Hashable:
    """What a board depends on: its phase's rules, too."""
    with platform.snapshot() as session:
        phase = editions.find_phase(session, address.edition, address.image_set)
        version = queries.version(session, phase.id, address.competition)
    if version is None:
        raise _no_board(address)
    return phase, version


def _no_board(address: BoardAddress) -> NotFoundError:
    return NotFoundError(f"{address.edition} {address.image_set} has no competition {address.competition}")


def board_page(platform: Platform, actor: Actor, address: BoardAddress, order: Order) -> BoardView:
    """One board, in the order that its address asks for.

    Raises NotFoundError, and MalformedError for an order that it does not have.
    """
    competition = address.competition
    with platform.snapshot() as session:  # a board that is switched meanwhile is the old one or the new one
        phase = editions.find_phase(session, address.edition, address.image_set)
        audience = Audience.ORGANISERS if actor.is_organiser else Audience.PUBLIC
        stored = queries.board(session, phase.id, competition, audience)
        if stored is None:
            raise _no_board(address)
        rows = queries.rows(session, phase.id, competition, audience)
        values = queries.values(session, phase.id, competition)
    details = sees_details(actor, phase)
    classes = columns(platform, phase, competition, stored.protocol)
    if order.by not in (*SORTS, *classes):
        raise MalformedError(
            f"a board is sorted by {', '.join(SORTS)} or one of its classes, not by {order.by!r}"
        )
    info = scoring.competition_of(phase.dataset, competition)
    standings = [_standing(row, values.get(row.run_id, {}), details=details) for row in rows]
    return BoardView(
        edition=phase.edition,
        edition_title=phase.edition_title,
        image_set=phase.image_set,
        competition=competition,
        title=info.title,
        data_rule=info.own_data_rule,
        measure=next((row.measure for row in rows), ""),
        protocol=stored.protocol,
        decimals=None if details else HELD_OUT_DECIMALS,
        classes=classes,
        rows=_shown(arrange(standings, classes, order), details=details),
        sort=order.by,
        descending=order.descending,
        ground_truth=stored.ground_truth,
        fingerprint=stored.fingerprint,
        scorer=stored.scorer,
        version=stored.version,
        updated_at=shown_time(stored.updated_at, details=details),
        rescoring=stored.rescoring,
    )


def _shown(rows: Sequence[BoardRow], *, details: bool) -> tuple[BoardRow, ...]:
    """The rows with their dates as the reader may see them; they are in their order already."""
    return tuple(replace(row, date=shown_time(row.date, details=details)) for row in rows)


def summaries(
    session: Session, actor: Actor, phases: Sequence[PhaseView]
) -> dict[tuple[int, int], BoardSummary]:
    """By (phase, competition), how many methods stand on the board and which lead it."""
    candidates: dict[tuple[int, int], list[Candidate]] = {
        board: [] for board in queries.boards_of(session, [phase.id for phase in phases])
    }
    details = {phase.id: sees_details(actor, phase) for phase in phases}
    for row in queries.means(session, [phase.id for phase in phases]):
        mean = disclosed(row.mean, details=details[row.phase_id])
        candidates[row.phase_id, row.competition].append(Candidate(row.method, row.submission_id, mean))
    return {
        board: BoardSummary(len(found), leaders_of(found, LEADERS)) for board, found in candidates.items()
    }


def columns(platform: Platform, phase: PhaseView, competition: int, protocol: str) -> tuple[str, ...]:
    """The classes of a board, in the order of the edition, or the parts that its protocol speaks of."""
    description = editions.description_of(platform.descriptions, phase.description_key)
    return scoring.columns(description, competition, protocol)


def _standing(row: queries.StoredRow, values: dict[str | None, float | None], *, details: bool) -> Standing:
    return Standing(
        method=row.method,
        submission_id=row.submission_id,
        date=row.date,
        is_outdated=row.is_outdated,
        mean=disclosed(values.get(None), details=details),
        values={
            name: disclosed(value, details=details) for name, value in values.items() if name is not None
        },
    )
