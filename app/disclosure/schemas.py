"""Scores as they are stored."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredScore:
    """A score in [0, 1] with what readers see of it while the annotation is hidden; `reason` says why there is no value."""

    value: float | None
    held_out_value: float | None
    reason: str | None
