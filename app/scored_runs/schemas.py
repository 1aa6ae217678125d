"""What intervals and comparisons are computed from."""

from dataclasses import dataclass

import scoring


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """The keys of a run's statistics and ground truth, and its report without exhibits."""

    statistics: str
    truth: str
    truth_id: str  # what people see of it
    report: scoring.Result
