"""Making anew what a board shows beside its rows, after the rows have changed."""

from collections.abc import Mapping
from typing import Any

from app.board_figures import queries
from app.editions import queries as editions
from app.groups import service as groups
from app.overlays import service as overlays
from app.platform import Platform


def refresh(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Compute the groups of the board in `payload`; cheap if nothing has changed, and doing so twice gives the same."""
    phase_id, competition = int(payload["phase_id"]), int(payload["competition"])
    with platform.snapshot() as session:
        as_of = editions.now(session)
        compared = queries.comparable_runs(session, phase_id, competition)
    groups.compute(platform, (phase_id, competition), compared, as_of)
    with platform.transaction() as session:
        overlays.request(session, phase_id)
