"""A leaderboard as a reader may see it."""

import scoring
from app.access import Actor
from app.editions import service as editions
from app.editions.rules import HELD_OUT_DECIMALS, disclosed, sees_everything
from app.editions.schemas import PhaseView
from app.errors import MalformedError, NotFoundError
from app.leaderboards import queries
from app.leaderboards.rules import SORTS, Order, Standing, arrange
from app.leaderboards.schemas import BoardView
from app.platform import Platform


def board_page(
    platform: Platform, actor: Actor, edition: str, image_set: str, competition: int, order: Order
) -> BoardView:
    """One board, in the order that its address asks for.

    Raises NotFoundError, and MalformedError for an order that it does not have.
    """
    with platform.snapshot() as session:  # a board that is switched meanwhile is the old one or the new one
        phase = editions.find_phase(session, edition, image_set)
        stored = queries.board(session, phase.id, competition)
        if stored is None:
            raise NotFoundError(f"{edition} {image_set} has no competition {competition}")
        rows = queries.rows(session, phase.id, competition)
        values = queries.values(session, phase.id, competition)
    everything = sees_everything(actor, phase.disclosure)
    classes = columns(platform, phase, competition, stored.protocol)
    if order.by not in (*SORTS, *classes):
        raise MalformedError(
            f"a board is sorted by {', '.join(SORTS)} or one of its classes, not by {order.by!r}"
        )
    info = scoring.competition_of(phase.dataset, competition)
    standings = [_standing(row, values.get(row.run_id, {}), everything=everything) for row in rows]
    return BoardView(
        edition=phase.edition,
        edition_title=phase.edition_title,
        image_set=phase.image_set,
        competition=competition,
        title=info.title,
        data_rule=info.own_data_rule,
        measure=next((row.measure for row in rows), ""),
        protocol=stored.protocol,
        decimals=None if everything else HELD_OUT_DECIMALS,
        classes=classes,
        rows=arrange(standings, classes, order),
        sort=order.by,
        descending=order.descending,
        ground_truth=stored.ground_truth,
        fingerprint=stored.fingerprint,
        scorer=stored.scorer,
        version=stored.version,
        updated_at=stored.updated_at,
        rescoring=stored.rescoring,
    )


def columns(platform: Platform, phase: PhaseView, competition: int, protocol: str) -> tuple[str, ...]:
    """The classes of a board, in the order of the edition, or the parts that its protocol speaks of."""
    description = editions.description_of(platform.archives, phase.description_key)
    return scoring.columns(description, competition, protocol)


def _standing(
    row: queries.StoredRow, values: dict[str | None, float | None], *, everything: bool
) -> Standing:
    return Standing(
        method=row.method,
        submission=row.submission,
        date=row.date,
        mean=disclosed(values.get(None), everything=everything),
        values={
            name: disclosed(value, everything=everything)
            for name, value in values.items()
            if name is not None
        },
    )
