"""An in-process server with hidden labels: real scoring, real disclosure, the quota of a year."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.challenges.challenges import PhaseView
from app.challenges.disclosure import public_visibility, withheld
from app.challenges.phase_rules import HELD_OUT_QUOTAS
from app.evaluation.scoring import score_rows
from app.models import ClassScore, Disclosure
from app.results.exhibits import CurveView, curve_view
from app.results.ladder import is_significant_gain
from heldout_scoring import (
    Confidences,
    Curve,
    Detections,
    LabelMaps,
    Replicates,
    Result,
    bootstrap,
    evaluate,
    standard_error_of_difference,
    standings,
)
from heldout_scoring.statistics.bootstrap import interval_table
from tests.pages.views import PHASE
from tests.security.attackers.world import World

YEAR: Final = min(
    quota.results * 365 // quota.days for quota in HELD_OUT_QUOTAS if quota.days
)  # of a team and task
MOMENT: Final = datetime(2026, 11, 22, 7, tzinfo=UTC)

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """The rules of the phase under attack; intervals: whether confidence intervals are shown in whole percents."""

    disclosure: Disclosure
    only_complete: bool = False
    accounts: int = 1
    intervals: bool = False

    @property
    def phase(self) -> PhaseView:
        """The phase, as the disclosure module knows it."""
        return replace(PHASE, disclosure=self.disclosure, only_complete=self.only_complete)


@dataclass(frozen=True)
class Answer:
    """What a participant sees of a result; None is hidden.

    bounds: float64 (classes and the mean, 2), of intervals in whole percents; better: whether it exceeds the first result and
    its group letters differ from that one's.
    """

    mean: float | None
    classes: Values | None
    bounds: Values | None
    better: bool | None
    curves: tuple[CurveView, ...]
    seconds: float  # from claim to end, as shown


class QuotaError(Exception):
    """The quota of the year is used up."""


@dataclass
class _Best:
    shown: ClassScore
    replicates: Replicates


class Server:
    """Scores results of teams of one person; its answers have passed through `score_rows` and `Visibility`."""

    def __init__(self, world: World, setting: Setting, seed: int = 0) -> None:
        self.world, self.setting = world, setting
        self.visibility = public_visibility(setting.phase)
        self.left = {task: [YEAR] * setting.accounts for task in ("images", "boxes", "masks")}
        self.best: dict[tuple[str, int], _Best] = {}
        self.first: dict[str, Replicates] = {}
        self.random = np.random.default_rng(seed)

    def budget(self, task: str) -> int:
        """How many results can still be sent."""
        return sum(self.left[task])

    def rank_images(self, lists: Sequence[NDArray[np.int64]], *, account: int | None = None) -> Answer:
        """Send the ranked images of each class, most confident first; other images are left out."""
        lists = [each if len(each) else np.zeros(1, np.int64) for each in lists]  # an empty file is a result
        image = np.concatenate(lists)
        label = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
        score = np.concatenate([-np.arange(len(each), dtype=float) for each in lists])
        images, classes = self.world.names
        sent = Confidences.from_arrays(image, label, score, images=images, classes=classes)
        complete = all(len(each) == self.world.images for each in lists)
        return self._answer("images", sent, account, is_complete=complete)

    def find_boxes(
        self, image: NDArray[np.int64], label: NDArray[np.int64], boxes: Values, *, account: int | None = None
    ) -> Answer:
        """Send boxes, the most confident first."""
        images, classes = self.world.names
        score = -np.arange(len(image), dtype=float)
        sent = Detections.from_arrays(image, label, score, boxes, images=images, classes=classes)
        complete = len(image) >= self.world.images * self.world.classes
        return self._answer("boxes", sent, account, is_complete=complete)

    def paint(self, masks: NDArray[np.uint8], *, account: int | None = None) -> Answer:
        """Send a label image for every image."""
        images, _ = self.world.names
        return self._answer(
            "masks", LabelMaps.from_arrays(list(masks), images=images), account, is_complete=True
        )

    def _answer(
        self, task: str, sent: Confidences | Detections | LabelMaps, account: int | None, *, is_complete: bool
    ) -> Answer:
        account = self._charge(task, account)
        truth = self.world.mask_truth if task == "masks" else self.world.truth
        begun = time.perf_counter()
        result = evaluate(sent, truth, protocol="voc2012")
        took = timedelta(seconds=time.perf_counter() - begun)
        headline, *rows = score_rows(0, result)
        visibility = self.visibility.of_result(is_complete=is_complete)
        ladder = self._climb((task, account), headline, result) if visibility.by_ladder else None
        values = [visibility.value(each) for each in rows]
        known = [value for value in values if value is not None]
        drawn = bootstrap(result, truth) if self.setting.intervals else None
        claimed = MOMENT + timedelta(seconds=float(self.random.uniform(0, 3600)))
        return Answer(
            mean=visibility.mean(headline, ladder),
            classes=np.array(known) if len(known) == len(values) else None,
            bounds=None if drawn is None else _bounds(drawn),
            better=None if drawn is None else self._is_better(task, drawn),
            curves=() if withheld(self.setting.phase, visibility) else _curves(result),
            seconds=(visibility.moment(claimed + took) - visibility.moment(claimed)).total_seconds(),
        )

    def _is_better(self, task: str, drawn: Replicates) -> bool:
        first = self.first.setdefault(task, drawn)
        best, *others = standings({"first": first, "this": drawn}).methods
        return best.name == "this" and not set(best.letters) & set(others[0].letters)

    def _charge(self, task: str, account: int | None) -> int:
        left = self.left[task]
        chosen = next((n for n, each in enumerate(left) if each), None) if account is None else account
        if chosen is None or not left[chosen]:
            raise QuotaError
        left[chosen] -= 1
        return chosen

    def _climb(self, team: tuple[str, int], own: ClassScore, result: Result) -> ClassScore:
        """The score that the ladder shows, decided as a worker decides it."""
        truth = self.world.mask_truth if team[0] == "masks" else self.world.truth
        replicates = bootstrap(result, truth)
        best = self.best.get(team)
        if own.held_out_value is None:
            return own
        if best is not None:
            error = standard_error_of_difference(best.replicates, replicates)
            if own.value is None or not is_significant_gain(
                own.value, best.shown.held_out_value or 0.0, error
            ):
                return best.shown
        self.best[team] = _Best(own, replicates)
        return own


def _bounds(drawn: Replicates) -> Values:
    rows = interval_table(drawn).rows
    return np.array([[round(row.low or 0.0, 2), round(row.high or 0.0, 2)] for row in rows])


def _curves(result: Result) -> tuple[CurveView, ...]:
    return tuple(curve_view(each) for each in result.exhibits if isinstance(each, Curve))
