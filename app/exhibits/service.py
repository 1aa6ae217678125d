"""What a report has in addition to scores: curves, matrices and further tables, unless they are withheld."""

from typing import Any

import scoring
from app.access import Actor
from app.disclosure.rules import sight_of, withheld
from app.editions import queries as editions
from app.errors import NotFoundError, WithheldError
from app.exhibits import queries
from app.exhibits.schemas import CurveView, ExhibitView, curve_view, exhibits_of
from app.platform import Platform


def curves(
    platform: Platform, actor: Actor, run_id: int, class_name: str | None = None
) -> tuple[CurveView, ...]:
    """The curves of a run with every point. Raises NotFoundError, and WithheldError while the phase is held out."""
    stored = _stored_exhibits(platform, actor, run_id)
    curves = (scoring.from_plain(scoring.Curve, one) for one in stored if one["kind"] == scoring.Curve.kind)
    return tuple(curve_view(curve) for curve in curves if class_name in (None, curve.class_name))


def tables(platform: Platform, actor: Actor, run_id: int) -> tuple[ExhibitView, ...]:
    """The tables of a run in addition to its scores, such as with difficult objects included.

    Raises NotFoundError, and WithheldError while the phase is held out.
    """
    exhibits = exhibits_of(_stored_exhibits(platform, actor, run_id))
    return tuple(exhibit for exhibit in exhibits if exhibit.kind == scoring.ScoreTable.kind)


def exhibits(platform: Platform, actor: Actor, run_id: int) -> tuple[ExhibitView, ...]:
    """What a page shows of a run in addition to its scores; nothing while it is withheld. Raises NotFoundError."""
    try:
        return exhibits_of(_stored_exhibits(platform, actor, run_id))
    except WithheldError:
        return ()


def _stored_exhibits(platform: Platform, actor: Actor, run_id: int) -> list[dict[str, Any]]:
    with platform.transaction() as session:
        found = queries.visible_run(session, actor, run_id)
        phase = editions.phase_of_id(session, found[1].id) if found else None
        if phase is None:
            raise NotFoundError(f"there is no run {run_id}, or it is not public")
        if hidden := withheld(phase, sight_of(actor, phase)):
            raise WithheldError(hidden)
        return queries.exhibits_of(session, run_id)
