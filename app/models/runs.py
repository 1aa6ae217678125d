"""Runs, scores, artefacts, re-scorings, similar results, anonymous links."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.models.challenges import Board, GroundTruth, Phase
from app.models.people import User
from app.models.submissions import Result
from app.models.table import Base, Decision, RunState, key_column, now_column
from app.models.teams import Team


class Rescore(Base):
    """Results being scored again in the shadow, to be shown all at once."""

    __tablename__ = "rescore"
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id), index=True)
    result_id: Mapped[int | None] = mapped_column(ForeignKey(Result.id))  # none: the whole phase
    ground_truth_id: Mapped[int] = mapped_column(ForeignKey(GroundTruth.id))
    scorer: Mapped[str]
    requested_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))  # none: from the command line
    created_at: Mapped[datetime] = now_column()
    activated_at: Mapped[datetime | None]
    abandoned_at: Mapped[datetime | None]


class Run(Base):
    """One scoring of a result under a ground truth and a scorer; until it has ended, a job has it done."""

    __tablename__ = "run"
    __table_args__ = (
        Index("uq_run_rescore", "rescore_id", "result_id", unique=True),
        Index(  # what a re-scoring still waits for
            "ix_run_rescore_open",
            "rescore_id",
            postgresql_where=text(
                "state IN ('queued', 'running', 'refused', 'failed') AND decision IS NULL AND rescore_id IS NOT NULL"
            ),
        ),
        Index(  # scored runs whose plain receipt is not published
            "ix_run_plain_receipt_missing",
            "ground_truth_id",
            postgresql_where=text(
                "state = 'scored' AND plain_receipt IS NULL AND statistics_key IS NOT NULL"
            ),
        ),
        Index("ix_run_receipt", "receipt", postgresql_where=text("receipt IS NOT NULL")),
        Index("ix_run_plain_receipt", "plain_receipt", postgresql_where=text("plain_receipt IS NOT NULL")),
        Index("ix_run_ended", "state", "finished_at", postgresql_where=text("finished_at IS NOT NULL")),
        CheckConstraint("attempt >= 0", name="counts_not_negative"),
        CheckConstraint("(state IN ('queued', 'running')) = (finished_at IS NULL)", name="final_has_time"),
    )
    id: Mapped[int] = key_column()
    result_id: Mapped[int] = mapped_column(ForeignKey(Result.id), index=True)
    rescore_id: Mapped[int | None] = mapped_column(ForeignKey(Rescore.id))
    ground_truth_id: Mapped[int] = mapped_column(ForeignKey(GroundTruth.id))
    protocol: Mapped[str]
    scorer: Mapped[str]
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))  # of its method
    state: Mapped[RunState] = mapped_column(default=RunState.QUEUED)
    attempt: Mapped[int] = mapped_column(default=0)  # how often workers began it
    queued_at: Mapped[datetime] = now_column()
    claimed_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    failure_message: Mapped[str | None]  # why it was refused or failed
    measure: Mapped[str | None]
    receipt: Mapped[str | None]  # keyed, so that it tells nothing of hidden annotation
    plain_receipt: Mapped[str | None]  # that anyone can compute; none while the annotation is hidden
    statistics_key: Mapped[str | None]  # per-image statistics in private storage
    ladder_run_id: Mapped[int | None] = mapped_column(
        ForeignKey("run.id")
    )  # whose mean the ladder shows for this one; none: its own
    decision: Mapped[Decision | None]  # of an organiser, where a re-scoring could not score the result
    decision_reason: Mapped[str | None]
    decided_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))


class ClassScore(Base):
    """One class of a run; the headline is the row without a class."""

    __tablename__ = "class_score"
    __table_args__ = (
        UniqueConstraint("run_id", "class_name", postgresql_nulls_not_distinct=True),
        CheckConstraint("value BETWEEN 0 AND 1", name="value_in_range"),
        CheckConstraint("held_out_value BETWEEN 0 AND 1", name="held_out_value_in_range"),
        CheckConstraint("low BETWEEN 0 AND 1 AND high BETWEEN low AND 1", name="interval_in_range"),
        CheckConstraint("positives >= 0 AND predictions >= 0", name="counts_not_negative"),
    )
    id: Mapped[int] = key_column()
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"))
    class_name: Mapped[str | None]
    position: Mapped[int]
    value: Mapped[float | None]
    held_out_value: Mapped[float | None]  # what readers see of hidden annotation, but for digits
    reason: Mapped[str | None]  # why there is no value
    positives: Mapped[int | None]
    predictions: Mapped[int | None]
    low: Mapped[float | None]
    high: Mapped[float | None]


class Exhibit(Base):
    """A piece of a run's report that a page can show."""

    __tablename__ = "exhibit"
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    content: Mapped[dict[str, Any]]  # as scoring's exhibits write themselves down


class RunAnalysis(Base):
    """What is analysed of a scored run once its intervals are known; it has no row before."""

    __tablename__ = "run_analysis"
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"), primary_key=True)
    diagnosis: Mapped[dict[str, Any]]  # as scoring's diagnosis writes itself down
    replicates: Mapped[bytes]  # of the bootstrap: two runs are compared by subtracting them
    image_outcomes: Mapped[bytes]  # what was found in each image
    created_at: Mapped[datetime] = now_column()


class Publication(Base):
    """From when a result, or its absence, stands on a board; only ever appended.

    A board's version, its history and its ETag derive from these rows.
    """

    __tablename__ = "publication"
    __table_args__ = (Index("ix_publication_board", "phase_id", "competition", "id"),)
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    competition: Mapped[int]
    result_id: Mapped[int] = mapped_column(ForeignKey(Result.id), index=True)
    run_id: Mapped[int | None] = mapped_column(ForeignKey(Run.id))  # none: the result left the board
    generation: Mapped[int]  # of the board when this was written
    published_at: Mapped[datetime] = now_column()


class AnonymousLink(Base):
    """An address under which anybody reads one scoring of a result, and not whose it is."""

    __tablename__ = "anonymous_link"
    id: Mapped[int] = key_column()
    token: Mapped[str] = mapped_column(unique=True)  # readable: its team copies it again from the page
    result_id: Mapped[int] = mapped_column(ForeignKey(Result.id), index=True)
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id))  # what it shows, whatever is scored later
    created_by: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="SET NULL"))
    created_at: Mapped[datetime] = now_column()
    revoked_at: Mapped[datetime | None]
    revealed_at: Mapped[datetime | None]  # since when it leads to the page of the submission


class BoardGroups(Base):
    """The compact letter display of a board's public methods, from the paired bootstrap over images."""

    __tablename__ = "board_groups"
    __table_args__ = (
        ForeignKeyConstraint(
            ["phase_id", "competition"], [Board.phase_id, Board.competition], ondelete="CASCADE"
        ),
    )
    phase_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    competition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[str]  # of the runs that were compared
    letters: Mapped[dict[str, Any]]  # by number of the run; for those alone who see details
    as_of: Mapped[datetime]  # when the runs were read


class Sketch(Base):
    """A kilobyte that says roughly what a result predicts, to find those that are alike."""

    __tablename__ = "sketch"
    __table_args__ = (Index("ix_sketch_board", "phase_id", "competition", "result_id"),)
    result_id: Mapped[int] = mapped_column(ForeignKey(Result.id, ondelete="CASCADE"), primary_key=True)
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    competition: Mapped[int]
    content: Mapped[bytes]


class AlikePair(Base):
    """Two results of a board that are as alike as if one method had other parameters: a hint to organisers."""

    __tablename__ = "alike_pair"
    __table_args__ = (
        UniqueConstraint("result_id", "other_id"),
        Index("ix_alike_pair_phase", "phase_id", "id"),
        CheckConstraint("other_id < result_id", name="other_is_older"),
        CheckConstraint("(dismissed_at IS NULL) = (dismiss_reason IS NULL)", name="dismissed_has_reason"),
    )
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    result_id: Mapped[int] = mapped_column(ForeignKey(Result.id, ondelete="CASCADE"))
    other_id: Mapped[int] = mapped_column(ForeignKey(Result.id, ondelete="CASCADE"), index=True)
    same_predictions: Mapped[bool]
    rank_correlation: Mapped[float | None]
    common_boxes: Mapped[float | None]
    common_pixels: Mapped[float | None]
    found_at: Mapped[datetime] = now_column()
    dismissed_at: Mapped[datetime | None]  # an organiser knows why they are alike
    dismissed_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))
    dismiss_reason: Mapped[str | None]


class Artefact(Base):
    """A file that a worker made for pages: a row names its content in the artefact store, and from what it was made."""

    __tablename__ = "artefact"
    __table_args__ = (UniqueConstraint("kind", "subject"),)
    id: Mapped[int] = key_column()
    kind: Mapped[str]
    subject: Mapped[str]  # what it shows, e.g. "7/3/median" of a board
    version: Mapped[str]  # of what it was made from; the same version need not be made again
    key: Mapped[str] = mapped_column(index=True)  # of its content, which no other row names
    media_type: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    as_of: Mapped[datetime]  # when the data were read from which it was made
    created_at: Mapped[datetime] = now_column()
