"""Compare methods of a board: paired differences, curves and errors side by side."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np
from sqlalchemy import ColumnElement, Select, and_, select, true
from sqlalchemy.orm import Session, joinedload

import heldout_scoring
from app.boards.rows import BoardKey
from app.challenges import challenges
from app.challenges.challenges import PhaseView, is_open_to_others
from app.challenges.disclosure import StoredScore, Visibility, visibility_for, withheld
from app.core.access import Action, Actor, ResultVisibility, rows_for
from app.core.errors import MalformedError, NotFoundError
from app.models import Board, Method, Phase, Result, Run
from app.people.teams import is_public
from app.platform import Platform
from app.results import analyses, exhibits, groups
from app.results.analyses import AnalysisView, ClassErrors, analysis_view
from app.results.details import classes_to_draw, curves_figure, errors_figure, view_of
from app.results.exhibits import ClassValue
from app.results.groups import BoardFamily
from app.results.recording import is_on_board
from app.results.scores import RunScores, load_headlines, load_scores
from app.results.standings import rank_column
from app.results.submissions import class_values
from app.web.charts.dots import Dot, DotRow, Range, dot_chart, series_of, symmetric
from app.web.charts.shapes import Column, Drawing, Figure, Table
from heldout_scoring import Comparison, HolmFamily, Replicates, compare, holm
from heldout_scoring.analysis import ImageOutcomes
from heldout_scoring.stored import from_plain, to_plain


@dataclass(frozen=True, slots=True)
class Difference:
    """A method's score minus the reference's, in [-1, 1], with its 95 % interval.

    p_value: two-sided; holm: the p-value with Holm's correction for all tests of its table. None if there is no such value.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    holm: float | None = None


@dataclass(frozen=True, slots=True)
class PairDifference:
    """The difference of two methods' means. one, other: indices of the methods."""

    one: int
    other: int
    difference: Difference


@dataclass(frozen=True, slots=True)
class ClassDifferences:
    """The differences of a class, for each method except the reference."""

    name: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class ImageDifference:
    """The number of positives in an image, and how many false negatives and false positives each method has there."""

    image: str
    positives: int
    missed: tuple[int, ...]
    false: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PairedBootstrap:
    """The results of a paired bootstrap. The first method is the reference.

    pairs: the means of all pairs of methods; classes: each class against the reference; images: those whose numbers of errors
    differ most, largest difference first. tests: how many the p-values of means are corrected for: one for each pair of the
    board's public methods, or of these methods alone if those cannot be compared (is_of_board false).
    """

    replicates: int
    tests: int
    is_of_board: bool
    pairs: tuple[PairDifference, ...]
    classes: tuple[ClassDifferences, ...]
    images: tuple[ImageDifference, ...]


@dataclass(frozen=True, slots=True)
class Drawings:
    """The figures of a comparison that the reader may see."""

    drawn: str | None  # the class whose curves are drawn
    curves: Figure | None
    scores: Figure | None
    differences: Drawing | None
    errors: Figure | None


@dataclass(frozen=True, slots=True)
class ComparedMethod:
    """A method with the scores on the board that the reader may see."""

    id: int
    name: str
    title: str
    team: str
    submission: int
    run: int
    mean: float | None
    low: float | None
    high: float | None
    classes: tuple[ClassValue, ...]
    errors: (
        ClassErrors | None
    )  # of all classes together; None until computed, and for tasks without error counts


@dataclass(frozen=True, slots=True)
class Candidate:
    """A method that the reader can add to the comparison."""

    id: int
    name: str
    mean: float | None


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Two to five methods of a board side by side. With fewer methods, only the candidates are filled in."""

    challenge: str
    challenge_title: str
    image_set: str
    competition: int
    title: str
    own_data: bool  # methods may be trained on any data
    measure: str
    methods: tuple[ComparedMethod, ...]
    classes: tuple[str, ...]
    statistics: PairedBootstrap | None
    is_computed: bool  # False while statistics or corrected p-values of means are still to be computed
    obstacle: str | None  # why these results cannot be compared statistically
    withheld: str | None  # what is hidden from the reader, and until when
    beyond_public: bool
    candidates: tuple[Candidate, ...] = ()  # the chosen methods and the best of the others
    has_more: bool = False  # the board has more methods than candidates
    draws_images: bool = False  # each image has a page with annotation and predictions drawn over it

    @property
    def value_of(self) -> dict[tuple[int, str], ClassValue]:
        """The score by method id and class."""
        return {(method.id, each.name): each for method in self.methods for each in method.classes}


FEWEST: Final = 2
MOST: Final = 5
MAX_IMAGES: Final = 20

Compared = tuple[Replicates, ImageOutcomes]


def chosen_methods(ids: Sequence[int]) -> tuple[int, ...]:
    """Remove duplicates from the method ids; the first is the reference. Raises MalformedError for more than five.

    >>> chosen_methods([7, 3, 7])
    (7, 3)
    """
    chosen = tuple(dict.fromkeys(ids))
    if len(chosen) > MOST:
        raise MalformedError(f"at most {MOST} methods can be compared at once; {len(chosen)} were chosen")
    return chosen


def obstacle_of(setups: Sequence[tuple[int, str, str]]) -> str | None:
    """Return why results cannot be compared statistically, or None if they can.

    setups: ground truth, scorer and protocol of each result.

    >>> obstacle_of([(1, "1", "voc2012"), (1, "1", "voc2012")])
    >>> obstacle_of([(1, "1", "voc2012"), (2, "1", "voc2012")])
    'these results were scored under different versions of the ground truth or the scorer'
    """
    if len(set(setups)) > 1:
        return "these results were scored under different versions of the ground truth or the scorer"
    return None


def statistics_of(compared: Sequence[Compared], family: HolmFamily | None = None) -> PairedBootstrap:
    """Compute the paired differences of at least two methods.

    family: the tests of all pairs of the board's methods, whose correction the means get, so that a p-value does not depend on
    what else was chosen; without it, Holm's correction over the chosen pairs. The classes of all methods against the first
    are a family of their own.
    Only classes that every method has predictions for are compared; images are compared only if these are all classes of every
    method and all have the same images. Raises ValueError if the replicates are not paired.
    """
    replicates = _of_common_classes([each for each, _ in compared])
    pairs = list(combinations(range(len(replicates)), 2))
    by_pair = {pair: compare(replicates[pair[1]], replicates[pair[0]]) for pair in pairs}
    tested = [by_pair[pair][-1] for pair in pairs]
    means = _corrected(tested) if family is None else [_in_family(each, family) for each in tested]
    against_first = [by_pair[0, place][:-1] for place in range(1, len(replicates))]
    flat = _corrected([each for column in against_first for each in column])
    names = replicates[0].names
    columns = [flat[start : start + len(names)] for start in range(0, len(flat), len(names) or 1)]
    return PairedBootstrap(
        replicates=replicates[0].draws.replicates,
        tests=len(pairs) if family is None else family.tests,
        is_of_board=family is not None,
        pairs=tuple(
            PairDifference(one, other, mean) for (one, other), mean in zip(pairs, means, strict=True)
        ),
        classes=tuple(
            ClassDifferences(name, tuple(column[place] for column in columns))
            for place, name in enumerate(names)
        ),
        images=_images([outcomes for _, outcomes in compared])
        if len({(each.names, outcomes.images) for each, outcomes in compared}) == 1
        else (),
    )


def without_correction(found: PairedBootstrap) -> PairedBootstrap:
    """Leave out the corrected p-values of means, as long as not all methods of the board have been compared."""
    return replace(
        found,
        pairs=tuple(replace(each, difference=replace(each.difference, holm=None)) for each in found.pairs),
    )


def _of_common_classes(replicates: Sequence[Replicates]) -> list[Replicates]:
    """Restrict replicates to the classes that every method has, and the headline."""
    common = [name for name in replicates[0].names if all(name in each.names for each in replicates)]

    def restricted(each: Replicates) -> Replicates:
        rows = [*map(each.names.index, common), len(each.names)]
        scores = tuple(each.scores[row] for row in rows)
        return replace(each, names=tuple(common), scores=scores, values=each.values[rows])

    return [restricted(each) for each in replicates]


def _in_family(each: Comparison, family: HolmFamily) -> Difference:
    corrected = None if each.p_value is None else family.corrected(each.p_value)
    return Difference(
        each.difference.value, each.difference.low, each.difference.high, each.p_value, corrected
    )


def _corrected(compared: Sequence[Comparison]) -> list[Difference]:
    tested = [each.p_value for each in compared if each.p_value is not None]
    corrected = iter(holm(tested))
    return [
        Difference(
            each.difference.value,
            each.difference.low,
            each.difference.high,
            each.p_value,
            None if each.p_value is None else next(corrected),
        )
        for each in compared
    ]


def _images(outcomes: Sequence[ImageOutcomes]) -> tuple[ImageDifference, ...]:
    """Find the images whose numbers of errors differ most, largest difference first; empty if they never differ."""
    errors = np.array([each.errors() for each in outcomes])
    spread = errors.max(axis=0) - errors.min(axis=0)
    first = np.argsort(-spread, kind="stable")[:MAX_IMAGES]
    return tuple(
        ImageDifference(
            outcomes[0].images[place],
            int(outcomes[0].positives[place]),
            tuple(int(each.positives[place] - each.found[place]) for each in outcomes),
            tuple(int(each.false[place]) for each in outcomes),
        )
        for place in first.tolist()
        if spread[place]
    )


def scores_figure(view: ComparisonView) -> Figure | None:
    """Draw the scores of every class with their intervals, one dot per method. None if they are hidden."""
    value_of = view.value_of
    rows = tuple(
        DotRow(name, tuple(_dot(value_of.get((method.id, name))) for method in view.methods))
        for name in view.classes
    )
    if not rows:
        return None
    names = [method.name for method in view.methods]
    columns = (Column("class", "text"), *map(Column, names))
    table = tuple((row.name, *(None if dot is None else dot.value for dot in row.dots)) for row in rows)
    title = "Score of each class"
    description = f"{title}, for {', '.join(names)}."
    return Figure(
        dot_chart("scores", title, description, rows, series_of(names), Range(0.0, 1.0)),
        Table(columns, table),
    )


def _dot(score: ClassValue | None) -> Dot | None:
    return None if score is None or score.value is None else Dot(score.value, score.low, score.high)


def differences_figure(view: ComparisonView) -> Drawing | None:
    """Draw the differences of every class from the reference, with their intervals. None without statistics."""
    if view.statistics is None or not view.statistics.classes:
        return None
    rows = tuple(
        DotRow(
            each.name,
            (
                None,  # the place of the reference, so that the rows are as high as those of the scores
                *(
                    None
                    if difference.value is None
                    else Dot(difference.value, difference.low, difference.high)
                    for difference in each.differences
                ),
            ),
        )
        for each in view.statistics.classes
    )
    dots = [dot for row in rows for dot in row.dots if dot is not None]
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    reference, *others = (method.name for method in view.methods)
    title = f"Difference from {reference}"
    description = f"{title} of {', '.join(others)}, in each class."
    series = series_of([f"{reference}, the reference", *others])
    return dot_chart("differences", title, description, rows, series, symmetric(ends))


@dataclass(frozen=True, slots=True)
class BoardRun:
    """A method on a board with its team, and the run that the board shows."""

    result: Result
    run: Run
    method: Method

    @property
    def setup(self) -> tuple[int, str, str]:
        """The ground truth, scorer and protocol of the run."""
        return self.run.ground_truth_id, self.run.scorer, self.run.protocol


def _select_from_board(actor: Actor, phase_id: int, competition: int) -> Select[Result, Run, Method]:
    """Select methods on a board: public ones and those of the reader's team; for organisers, all."""
    shown: ColumnElement[bool] = rows_for(
        actor,
        Action.READ_SUBMISSION,
        team=Method.team_id,
        challenge=Phase.challenge_id,
        states={
            ResultVisibility.PRIVATE: true(),
            ResultVisibility.PUBLIC: and_(
                is_public(), is_open_to_others(Result.phase_id, Result.submission_id)
            ),
        },
    )
    return (
        select(Result, Run, Method)
        .join(Board, is_on_board())
        .join(Run, Result.published_run_id == Run.id)
        .join(Result.method)
        .join(Result.phase)
        .options(joinedload(Method.team))
        .where(Result.phase_id == phase_id, Result.competition == competition, shown)
    )


def _is_family_awaited(session: Session, phase_id: int, competition: int) -> bool:
    """Whether the tests of all pairs of a board's public methods are still to be computed."""
    statement = _select_from_board(Actor(), phase_id, competition).where(
        Run.ground_truth_id == Board.ground_truth_id, Run.scorer == Board.scorer
    )
    runs = [run.id for _, run, _ in session.execute(statement)]
    return groups.is_awaited(session, phase_id, competition, runs)


def runs_on_board(
    session: Session, actor: Actor, phase_id: int, competition: int, methods: Sequence[int]
) -> list[BoardRun]:
    """Load those of the given methods that are on the board and visible to the reader, in the given order."""
    statement = _select_from_board(actor, phase_id, competition).where(Method.id.in_(methods))
    rows = [BoardRun(*row) for row in session.execute(statement)]
    return sorted(rows, key=lambda row: methods.index(row.method.id))


def candidates(
    session: Session,
    actor: Actor,
    phase_id: int,
    competition: int,
    chosen: Sequence[int],
    *,
    visibility: Visibility,
    limit: int,
) -> list[BoardRun]:
    """Return the chosen methods and the best others on a board.

    If means are hidden, the others are the first by name, so that the selection reveals nothing about their scores.
    """
    rank = rank_column(visibility)
    best_first = () if rank is None else (rank.desc().nulls_last(),)
    statement = (
        _select_from_board(actor, phase_id, competition)
        .order_by(Method.id.in_(chosen).desc(), *best_first, Method.name)
        .limit(limit)
    )
    return [BoardRun(*row) for row in session.execute(statement)]


def has_board(session: Session, phase_id: int, competition: int) -> bool:
    """Whether a phase offers a competition."""
    return session.get(Board, (phase_id, competition)) is not None


MAX_CANDIDATES = 200  # methods offered on the page; a URL can name any method


def comparison(platform: Platform, actor: Actor, address: BoardKey, methods: Sequence[int]) -> ComparisonView:
    """Compare methods of a board, as the reader may see them. The first method is the reference.

    Raises MalformedError for too many methods, NotFoundError if the board does not exist or a method is not on it.
    """
    chosen = chosen_methods(methods)
    with platform.snapshot() as session:
        phase = challenges.find_phase(session, address.challenge, address.image_set)
        if not has_board(session, phase.id, address.competition):
            raise NotFoundError(
                f"there is no competition {address.competition} in {address.challenge} {address.image_set}"
            )
        visibility = visibility_for(actor, phase)
        runs = runs_on_board(session, actor, phase.id, address.competition, chosen)
        if missing := set(chosen) - {each.method.id for each in runs}:
            numbers = ", ".join(map(str, sorted(missing)))
            raise NotFoundError(f"this board has no method {numbers}, or it is not public")
        stored = analyses.diagnoses(session, [each.run.id for each in runs]) if visibility.details else {}
        compared = _methods(session, visibility, runs, stored)
        candidates, has_more = _candidates(session, actor, phase, address.competition, chosen, visibility)
        is_awaited = visibility.details and _is_family_awaited(session, phase.id, address.competition)
        family = (
            groups.family_of(session, phase.id, address.competition)
            if visibility.details and not is_awaited
            else None
        )
    obstacle = obstacle_of([run.setup for run in runs])
    info = heldout_scoring.competition_of(phase.dataset, address.competition)
    is_ready = obstacle is None and len(stored) == len(runs) >= FEWEST
    statistics = _statistics(platform, [each.run.id for each in runs], family) if is_ready else None
    if statistics and is_awaited:
        statistics = without_correction(statistics)
    return ComparisonView(
        challenge=phase.challenge,
        challenge_title=phase.challenge_title,
        image_set=phase.image_set,
        competition=address.competition,
        title=info.title,
        own_data=info.own_data,
        measure=next((each.run.measure or "" for each in runs), ""),
        methods=compared,
        classes=tuple(dict.fromkeys(each.name for method in compared for each in method.classes)),
        statistics=statistics,
        is_computed=(is_ready and not is_awaited)
        or not visibility.details
        or obstacle is not None
        or len(runs) < FEWEST,
        obstacle=obstacle,
        withheld=withheld(phase, visibility),
        beyond_public=visibility.beyond_public,
        candidates=candidates,
        has_more=has_more,
        draws_images=phase.draws_images,
    )


def _methods(
    session: Session, visibility: Visibility, runs: Sequence[BoardRun], stored: Mapping[int, dict[str, Any]]
) -> tuple[ComparedMethod, ...]:
    scores = load_scores(session, [each.run.id for each in runs])
    ladder = load_headlines(session, [each.run.ladder_run_id for each in runs])
    return tuple(
        _method(
            each,
            visibility.of_result(is_complete=each.result.is_complete),
            scores.get(each.run.id, {}),
            ladder.get(each.run.ladder_run_id or 0),
            analysis_view(stored.get(each.run.id)),
        )
        for each in runs
    )


def _method(
    shown: BoardRun,
    visibility: Visibility,
    scores: RunScores,
    ladder: StoredScore | None,
    analysis: AnalysisView,
) -> ComparedMethod:
    method, mean = shown.method, scores.get(None)
    bounded = mean if visibility.details else None
    return ComparedMethod(
        id=method.id,
        name=method.name,
        title=method.title,
        team=method.team.name,
        submission=shown.result.submission_id,
        run=shown.run.id,
        mean=visibility.mean(mean, ladder),
        low=bounded.low if bounded else None,
        high=bounded.high if bounded else None,
        classes=class_values(scores, visibility),
        errors=analysis.errors_of(None),
    )


def _candidates(
    session: Session,
    actor: Actor,
    phase: PhaseView,
    competition: int,
    chosen: Sequence[int],
    visibility: Visibility,
) -> tuple[tuple[Candidate, ...], bool]:
    """Return the candidates that the page shows, and whether there are more."""
    rows = candidates(
        session, actor, phase.id, competition, chosen, visibility=visibility, limit=MAX_CANDIDATES + 1
    )
    means = load_headlines(session, (run for row in rows for run in (row.run.id, row.run.ladder_run_id)))
    everyone = [
        Candidate(
            row.method.id,
            row.method.name,
            visibility.mean(means.get(row.run.id), means.get(row.run.ladder_run_id or 0)),
        )
        for row in rows
    ]
    shown = everyone[:MAX_CANDIDATES]
    shown.sort(key=lambda each: (-(each.mean if each.mean is not None else -1), each.name))
    return tuple(shown), len(everyone) > MAX_CANDIDATES


def _statistics(platform: Platform, run_ids: Sequence[int], family: BoardFamily | None) -> PairedBootstrap:
    """Compute the statistics of runs, or take them from the cache; they depend on these and on the runs of the board."""

    def make() -> bytes:
        with platform.transaction() as session:
            kept = analyses.comparison_data(session, run_ids)
        compared = [
            (Replicates.of_bytes(kept[run].replicates), ImageOutcomes.of_bytes(kept[run].image_outcomes))
            for run in run_ids
        ]
        return json.dumps(to_plain(statistics_of(compared, family.family if family else None))).encode()

    rendered = platform.cache.rendered(("comparison", family.version if family else "", *run_ids), make)
    return from_plain(PairedBootstrap, json.loads(gzip.decompress(rendered.compressed)))


def drawings(platform: Platform, view: ComparisonView, class_name: str | None) -> Drawings:
    """Draw the figures of a comparison. The curves show one class, by default the first that is not 0."""
    curves: dict[int, dict[str, Any]] = {}
    value_of = view.value_of

    def is_zero(name: str) -> bool:
        return not any(
            found.value for method in view.methods if (found := value_of.get((method.id, name))) is not None
        )

    drawn = next(iter(classes_to_draw([class_name or ""], sorted(view.classes, key=is_zero))), None)
    if view.withheld is None and drawn is not None:
        with platform.transaction() as session:
            curves = exhibits.curves_of(session, [method.run for method in view.methods], drawn)
    lines = [
        (method.name, value_of[method.id, drawn].value, view_of(curves[method.run]))
        if drawn is not None and method.run in curves
        else (method.name, None, None)
        for method in view.methods
    ]
    return Drawings(
        drawn=drawn,
        curves=curves_figure(lines),
        scores=scores_figure(view),
        differences=differences_figure(view),
        errors=errors_figure([(method.name, method.errors) for method in view.methods]),
    )
