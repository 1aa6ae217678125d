"""Exhibits of runs (tables, curves, matrices), drawn artefacts, and receipts.

A plain receipt is a hash of the archive, the ground truth, the scorer and the protocol. Anyone who has these can compute it, so
while the ground truth is hidden it could confirm guesses. Until then readers see an HMAC of it, which this server confirms by
finding it among its stored receipts.
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import chain, repeat
from math import isnan
from typing import Any, Final

import structlog
from sqlalchemy import ColumnElement, Subquery, and_, case, delete, func, not_, or_, select, true, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

import scoring
from app.challenges import challenges
from app.challenges.challenges import is_past_embargo
from app.challenges.disclosure import sight_of, withheld
from app.core.access import Action, Actor, State, rows_for
from app.core.errors import NotFoundError, StorageUnavailableError, WithheldError
from app.models import (
    Artefact,
    Challenge,
    Disclosure,
    Exhibit,
    GroundTruth,
    Method,
    Phase,
    Result,
    Run,
    RunState,
)
from app.people.teams import is_public
from app.platform import Platform
from app.storage import digest_of
from app.web import tables as exports
from scoring.saved_matches import open_matches
from scoring.tasks.outcome import DIFFICULT_INCLUDED


def find(session: Session, kind: str, subject: str) -> Artefact | None:
    """Return the artefact of this kind and subject, without its content."""
    return session.scalar(select(Artefact).where(Artefact.kind == kind, Artefact.subject == subject))


def versions(session: Session, kind: str, subjects: Collection[str]) -> dict[str, str]:
    """Return the versions of the existing artefacts among these, by subject."""
    statement = select(Artefact.subject, Artefact.version).where(
        Artefact.kind == kind, Artefact.subject.in_(subjects)
    )
    return dict(session.execute(statement).all())


def remove(session: Session, kind: str, subject: str) -> None:
    """Remove an artefact's row, if it exists."""
    session.execute(delete(Artefact).where(Artefact.kind == kind, Artefact.subject == subject))


def store(  # noqa: PLR0913 - the properties of an artefact
    platform: Platform,
    kind: str,
    subject: str,
    version: str,
    media_type: str,
    content: bytes,
    *,
    as_of: datetime | None = None,
) -> None:
    """Store an artefact, replacing the previous one of its kind and subject.

    version: of its source; as_of: when the source was read, by the database's clock (default: now), so that of two workers the
    one with later data wins. Repeating it has no effect.
    """
    with platform.transaction() as session:
        moment = as_of or session.execute(select(func.clock_timestamp())).scalar_one()
        before = find(session, kind, subject)
        is_same = before is not None and digest_of(before.key) == sha256(content).hexdigest()
        if before is not None and is_same and _renew(session, before, version, moment):
            return
    # a separate content: a shared one could not be removed safely
    key = platform.artefacts.put(content, uuid.uuid4())
    values = {
        "version": version,
        "key": key,
        "media_type": media_type,
        "size": len(content),
        "as_of": moment,
        "created_at": func.now(),
    }
    statement = insert(Artefact).values(kind=kind, subject=subject, **values)
    with platform.transaction() as session:
        session.execute(
            statement.on_conflict_do_update(
                index_elements=[Artefact.kind, Artefact.subject], set_=values, where=Artefact.as_of <= moment
            )
        )


def _renew(session: Session, same: Artefact, version: str, as_of: datetime) -> bool:
    """Update the version of an artefact with unchanged content. Return whether it still exists with this content."""
    statement = (
        update(Artefact)
        .where(Artefact.id == same.id, Artefact.key == same.key)
        .values(
            version=case((Artefact.as_of <= as_of, version), else_=Artefact.version),
            as_of=func.greatest(Artefact.as_of, as_of),
        )
    )
    return session.scalar(statement.returning(Artefact.id)) is not None


def read(platform: Platform, kind: str, subject: str) -> bytes | None:
    """Return the content of an artefact; None if it does not exist yet."""
    with platform.transaction() as session:
        found = find(session, kind, subject)
    return content_of(platform, found) if found else None


def content_of(platform: Platform, artefact: Artefact) -> bytes:
    """Return the content of an artefact."""
    with platform.artefacts.open(artefact.key) as stream:
        return stream.read()


NO_VALUE = "no value"


@dataclass(frozen=True, slots=True)
class ClassValue:
    """A run's score for one class, in [0, 1]; `reason` says why there is no value. Counts are present only if all is public.

    low, high: the 95 % confidence interval, by bootstrap over the images.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    positives: int | None = None
    predictions: int | None = None


@dataclass(frozen=True, slots=True)
class CurveView:
    """The points of a PR curve, in [0, 1]."""

    name: str
    recall: tuple[float | None, ...]  # None without positives
    precision: tuple[float | None, ...]  # None before the first prediction that counts


@dataclass(frozen=True, slots=True)
class RocView:
    """The points of a ROC curve, in [0, 1]."""

    name: str
    fpr: tuple[float | None, ...]
    tpr: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class MatrixView:
    """For each true label, the shares and counts of its pixels by predicted label."""

    labels: tuple[str, ...]
    shares: tuple[tuple[float | None, ...], ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class ExhibitView:
    """A part of a run's report, as the template `exhibits/<kind>.html` shows it.

    total: the mean of the rows, in [0, 1], with its interval.
    """

    kind: str
    title: str
    rows: tuple[ClassValue | CurveView | RocView | MatrixView, ...]
    total: float | None = None
    low: float | None = None
    high: float | None = None


def exhibits_of(stored: Sequence[Mapping[str, Any]]) -> tuple[ExhibitView, ...]:
    """Return a run's further tables, curves, and matrices, as pages show them."""
    tables = [one for one in stored if one["kind"] == scoring.ScoreTable.kind]
    shown = [table_view(scoring.from_plain(scoring.ScoreTable, one)) for one in tables[1:]]
    for kind, (title, view) in DRAWN.items():
        rows = tuple(
            view(scoring.from_plain(scoring.EXHIBITS[kind], one)) for one in stored if one["kind"] == kind
        )
        if rows:
            shown.append(ExhibitView(kind, title, rows))
    return tuple(shown)


def table_view(table: scoring.ScoreTable) -> ExhibitView:
    """Convert a table of scores by other rules, such as with difficult objects included; the mean may be its last row."""
    rows = [ClassValue(name, value, reason=NO_VALUE if value is None else None) for name, value in table.rows]
    total = rows.pop().value if rows and rows[-1].name == "mean" else None
    return ExhibitView(table.kind, table.title, tuple(rows), total)


def with_difficult(tables: Iterable[Mapping[str, Any]]) -> Mapping[str, float | None]:
    """Return the values with difficult objects included, from a run's tables of scores; the mean is under "mean"."""
    every = (scoring.from_plain(scoring.ScoreTable, one) for one in tables)
    return next((dict(table.rows) for table in every if table.title.endswith(DIFFICULT_INCLUDED)), {})


def curve_view(curve: scoring.Curve) -> CurveView:
    """Convert a PR curve, with every point."""
    points = curve.points()
    return CurveView(curve.class_name, _known(points.recall.tolist()), _known(points.precision.tolist()))


def csv_of(curves: Iterable[CurveView]) -> str:
    """Format PR curves as CSV with a header: a line for each point, blank where it has no value.

    >>> csv_of([CurveView("car", (0.5, 1.0), (1.0, None))]).splitlines()
    ['class,recall,precision', 'car,0.5,1.0', 'car,1.0,']
    """
    points = (zip(repeat(curve.name), curve.recall, curve.precision, strict=False) for curve in curves)
    return exports.csv_of(("class", "recall", "precision"), chain.from_iterable(points))


def roc_view(curve: scoring.RocCurve) -> RocView:
    """Convert a ROC curve, with every point."""
    points = curve.points()
    return RocView(curve.class_name, _known(points.fpr.tolist()), _known(points.tpr.tolist()))


def matrix_view(matrix: scoring.ConfusionMatrix) -> MatrixView:
    """Convert a confusion matrix, with each count's share of its row."""
    totals = [sum(row) for row in matrix.counts]
    shares = tuple(
        tuple(count / total if total else None for count in row)
        for row, total in zip(matrix.counts, totals, strict=True)
    )
    return MatrixView(matrix.labels, shares, matrix.counts)


DRAWN: Mapping[str, tuple[str, Callable[[Any], CurveView | RocView | MatrixView]]] = {
    "curve": ("PR curve", curve_view),
    "roc_curve": ("ROC curve", roc_view),
    "confusion_matrix": ("Confusion matrix", matrix_view),
}
"""The kinds of exhibits on a page, with their titles and in their order."""


def _known(values: Sequence[float]) -> tuple[float | None, ...]:
    return tuple(None if isnan(value) else value for value in values)


CURVES: Final = ("curve", "roc_curve")


def stored_exhibits(session: Session, run_id: int) -> list[dict[str, Any]]:
    """Return the stored exhibits of a run."""
    return list(
        session.scalars(select(Exhibit.content).where(Exhibit.run_id == run_id).order_by(Exhibit.position))
    )


def curves_of(session: Session, run_ids: Sequence[int], class_name: str) -> dict[int, dict[str, Any]]:
    """Return the stored curve of a class by run."""
    statement = select(Exhibit.run_id, Exhibit.content).where(
        Exhibit.run_id.in_(run_ids),
        Exhibit.kind.in_(CURVES),
        Exhibit.content["class_name"].astext == class_name,
    )
    return dict(session.execute(statement).all())


def score_tables(session: Session, standing: Subquery) -> dict[int, list[dict[str, Any]]]:
    """Return the stored tables of scores by run; standing: has a column run_id."""
    statement = (
        select(Exhibit.run_id, Exhibit.content)
        .join(standing, standing.c.run_id == Exhibit.run_id)
        .where(Exhibit.kind == scoring.ScoreTable.kind)
        .order_by(Exhibit.run_id, Exhibit.position)
    )
    found: dict[int, list[dict[str, Any]]] = {}
    for run, content in session.execute(statement):
        found.setdefault(run, []).append(content)
    return found


def visible_run(session: Session, actor: Actor, run_id: int) -> tuple[Run, Phase] | None:
    """Return a run whose submission the reader may see, and its phase; of other teams, only runs on boards."""
    on_board = and_(is_public(), is_past_embargo(Result.phase_id), Result.published_run_id == Run.id)
    shown = rows_for(
        actor,
        Action.READ_SUBMISSION,
        team=Method.team_id,
        challenge=Phase.challenge_id,
        states={State.PRIVATE: true(), State.PUBLIC: on_board},
    )
    statement = (
        select(Run, Phase)
        .join(Result, Run.result_id == Result.id)
        .join(Phase, Result.phase_id == Phase.id)
        .join(Method, Result.method_id == Method.id)
        .where(Run.id == run_id, shown)
    )
    return session.execute(statement).one_or_none()


def curves(
    platform: Platform, actor: Actor, run_id: int, class_name: str | None = None
) -> tuple[CurveView, ...]:
    """Return the curves of a run with every point. Raises NotFoundError, and WithheldError while the phase is held out."""
    stored = _stored_exhibits(platform, actor, run_id)
    curves = (scoring.from_plain(scoring.Curve, one) for one in stored if one["kind"] == scoring.Curve.kind)
    return tuple(curve_view(curve) for curve in curves if class_name in (None, curve.class_name))


def tables(platform: Platform, actor: Actor, run_id: int) -> tuple[ExhibitView, ...]:
    """Return the further tables of a run, such as with difficult objects included.

    Raises NotFoundError, and WithheldError while the phase is held out.
    """
    exhibits = exhibits_of(_stored_exhibits(platform, actor, run_id))
    return tuple(exhibit for exhibit in exhibits if exhibit.kind == scoring.ScoreTable.kind)


def exhibits(platform: Platform, actor: Actor, run_id: int) -> tuple[ExhibitView, ...]:
    """Return a run's exhibits for pages, none while they are withheld. Raises NotFoundError."""
    try:
        return exhibits_of(_stored_exhibits(platform, actor, run_id))
    except WithheldError:
        return ()


def _stored_exhibits(platform: Platform, actor: Actor, run_id: int) -> list[dict[str, Any]]:
    with platform.transaction() as session:
        found = visible_run(session, actor, run_id)
        phase = challenges.phase_of_id(session, found[1].id) if found else None
        if phase is None:
            raise NotFoundError(f"there is no run {run_id}, or it is not public")
        if hidden := withheld(phase, sight_of(actor, phase)):
            raise WithheldError(hidden)
        return stored_exhibits(session, run_id)


log = structlog.get_logger()

AT_ONCE = 100  # receipts published by one sweep


@dataclass(frozen=True, slots=True)
class ConfirmedReceipt:
    """The result that a receipt belongs to; is_plain: it can also be computed from archive and annotation."""

    receipt: str
    is_plain: bool
    challenge: str
    image_set: str
    competition: int
    submission: int
    run: int
    ground_truth: int
    protocol: str
    scorer: str


def is_public_truth(session: Session, ground_truth_id: int) -> bool:
    """Whether an annotation is public: its phase discloses everything, and no phase hides the same annotation."""
    statement = select(GroundTruth.id).where(GroundTruth.id == ground_truth_id, _is_public_truth())
    return session.scalar(statement) is not None


def _is_public_truth() -> ColumnElement[bool]:
    same, phase = aliased(GroundTruth), aliased(Phase)
    is_over = func.coalesce(phase.closes_at + phase.grace <= func.clock_timestamp(), False)
    discloses = or_(phase.disclosure == Disclosure.FULL, and_(phase.details_at_close, is_over))
    hiding = (
        select(same.id)
        .join(phase, same.phase_id == phase.id)
        .where(same.fingerprint == GroundTruth.fingerprint, not_(discloses))
    )
    return not_(hiding.exists())


def publish(platform: Platform) -> None:
    """Add plain receipts to results whose annotation has become public, a limited number at a time."""
    statement = (
        select(Run.id, Run.statistics_key)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .where(
            Run.state == RunState.SCORED,
            Run.plain_receipt.is_(None),
            Run.statistics_key.is_not(None),
            _is_public_truth(),
        )
        .order_by(func.random())  # so that damaged match files do not block the others
        .limit(AT_ONCE)
    )
    with platform.transaction() as session:
        missing = session.execute(statement).all()
    for run_id, key in missing:
        try:
            with platform.truths.materialise(key or "") as matches:
                origin, _ = open_matches(matches)
        except StorageUnavailableError as error:
            log.warning("plain receipt not published", run=run_id, error=error.cause)
            return
        with platform.transaction() as session:
            run = session.get_one(Run, run_id)
            if is_public_truth(session, run.ground_truth_id):
                run.plain_receipt = origin.receipt


def confirm(platform: Platform, actor: Actor, receipt: str) -> ConfirmedReceipt:
    """Return the result with this receipt, if the reader may see it. Raises NotFoundError."""
    statement = (
        select(Run, Result, GroundTruth.version, Phase.image_set, Challenge.code)
        .join(Result, Run.result_id == Result.id)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .join(Phase, Result.phase_id == Phase.id)
        .join(Challenge, Phase.challenge_id == Challenge.id)
        .where(or_(Run.receipt == receipt, Run.plain_receipt == receipt))
        .order_by(Run.id.desc())
    )
    with platform.snapshot() as session:
        for run, result, version, image_set, challenge in session.execute(statement.limit(AT_ONCE)):
            if visible_run(session, actor, run.id):
                return ConfirmedReceipt(
                    receipt, receipt == run.plain_receipt, challenge, image_set, result.competition,
                    result.submission_id, run.id, version, run.protocol, run.scorer,
                )  # fmt: skip
    raise NotFoundError(f"this server knows no result with the receipt {receipt[:80]!r} that you may see")
