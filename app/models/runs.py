"""Tables of runs, scores, artefacts, re-scorings, similar results and anonymous links."""

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
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.challenges import Board, GroundTruth, Phase
from app.models.people import User
from app.models.submissions import Result
from app.models.table import Base, Decision, RunState, key_column, now_column
from app.models.teams import Team


class Rescore(Base):
    """A re-scoring of results in the background; all new scores are published at once.

    While it is neither activated nor abandoned it is open. One for a new ground truth is a preview for organisers until one of
    them confirms it; any other is confirmed from the start.
    """

    __tablename__ = "rescore"
    __table_args__ = (
        CheckConstraint("activated_at IS NULL OR confirmed_at IS NOT NULL", name="activated_is_confirmed"),
    )
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id), index=True)
    result_id: Mapped[int | None] = mapped_column(ForeignKey(Result.id))  # None: the whole phase
    ground_truth_id: Mapped[int] = mapped_column(ForeignKey(GroundTruth.id))
    scorer: Mapped[str]
    requested_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))  # None: command line
    created_at: Mapped[datetime] = now_column()
    confirmed_at: Mapped[datetime | None]  # from then on the boards switch once nothing waits
    confirmed_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))  # None: nobody had to
    paused_at: Mapped[datetime | None]  # its runs are held until this is None again
    activated_at: Mapped[datetime | None]
    abandoned_at: Mapped[datetime | None]


class Run(Base):
    """One scoring of a result with a ground truth and a scorer version; it has a job until it has ended."""

    __tablename__ = "run"
    __table_args__ = (
        Index("uq_run_rescore", "rescore_id", "result_id", unique=True),
        Index(  # runs that a re-scoring still waits for
            "ix_run_rescore_open",
            "rescore_id",
            postgresql_where=text(
                "state IN ('queued', 'running', 'refused', 'failed') AND decision IS NULL AND rescore_id IS NOT NULL"
            ),
        ),
        Index(  # scored runs without a published plain receipt
            "ix_run_plain_receipt_missing",
            "ground_truth_id",
            postgresql_where=text(
                "state = 'scored' AND plain_receipt IS NULL AND statistics_key IS NOT NULL"
            ),
        ),
        Index("ix_run_receipt", "receipt", postgresql_where=text("receipt IS NOT NULL")),
        Index("ix_run_plain_receipt", "plain_receipt", postgresql_where=text("plain_receipt IS NOT NULL")),
        Index("ix_run_ended", "state", "finished_at", postgresql_where=text("finished_at IS NOT NULL")),
        # each run that is deleted is looked for here
        Index("ix_run_ladder_run_id", "ladder_run_id", postgresql_where=text("ladder_run_id IS NOT NULL")),
        CheckConstraint("attempt >= 0", name="counts_not_negative"),
        CheckConstraint("(state IN ('queued', 'running')) = (finished_at IS NULL)", name="final_has_time"),
    )
    id: Mapped[int] = key_column()
    result_id: Mapped[int] = mapped_column(ForeignKey(Result.id), index=True)
    rescore_id: Mapped[int | None] = mapped_column(ForeignKey(Rescore.id))
    ground_truth_id: Mapped[int] = mapped_column(ForeignKey(GroundTruth.id))
    protocol: Mapped[str]
    scorer: Mapped[str]
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id), index=True)  # of its method
    state: Mapped[RunState] = mapped_column(default=RunState.QUEUED)
    attempt: Mapped[int] = mapped_column(default=0)  # how many times workers have started it
    # why attempts were ended and the run queued again, oldest first: {"attempt", "at", "reason"}
    retries: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list, server_default=text("'[]'"))
    queued_at: Mapped[datetime] = now_column()
    claimed_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    failure_message: Mapped[str | None]  # why it was refused or failed
    measure: Mapped[str | None]
    receipt: Mapped[str | None]  # keyed, so that it reveals nothing about hidden annotation
    plain_receipt: Mapped[str | None]  # one that anyone can compute; None while the annotation is hidden
    statistics_key: Mapped[str | None]  # per-image statistics in private storage
    # the run whose mean the ladder shows for this one; None: its own
    ladder_run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id"))
    decision: Mapped[Decision | None]  # of an organiser, if a re-scoring could not score the result
    decision_reason: Mapped[str | None]
    decided_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))
    result: Mapped[Result] = relationship(foreign_keys=result_id, viewonly=True, lazy="raise")
    ground_truth: Mapped[GroundTruth] = relationship(viewonly=True, lazy="raise")


class ClassScore(Base):
    """The score of a run for one class; the row without a class is the headline score."""

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
    held_out_value: Mapped[float | None]  # the value shown while the annotation is hidden, before rounding
    reason: Mapped[str | None]  # why there is no value
    positives: Mapped[int | None]
    predictions: Mapped[int | None]
    low: Mapped[float | None]
    high: Mapped[float | None]


class Exhibit(Base):
    """A part of a run's report that a page can show."""

    __tablename__ = "exhibit"
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    content: Mapped[dict[str, Any]]  # the JSON of scoring's exhibits


class RunAnalysis(Base):
    """The analysis of a scored run; the row is added once its intervals are known."""

    __tablename__ = "run_analysis"
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"), primary_key=True)
    diagnosis: Mapped[dict[str, Any]]  # the JSON of scoring's diagnosis
    replicates: Mapped[bytes]  # of the bootstrap; subtract those of two runs to compare them
    image_outcomes: Mapped[bytes]  # what was found in each image
    created_at: Mapped[datetime] = now_column()


class Publication(Base):
    """The time from which a board shows a result, or no longer shows it; append-only, but for test runs of drafts
    and for challenges to which only organisers submitted, which owners delete.

    The version, the history and the ETag of a board are derived from these rows.
    """

    __tablename__ = "publication"
    __table_args__ = (Index("ix_publication_board", "phase_id", "competition", "id"),)
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    competition: Mapped[int]
    result_id: Mapped[int] = mapped_column(ForeignKey(Result.id), index=True)
    run_id: Mapped[int | None] = mapped_column(
        ForeignKey(Run.id), index=True
    )  # None: the result left the board
    generation: Mapped[int]  # of the board when this was written
    published_at: Mapped[datetime] = now_column()
    is_test: Mapped[bool] = mapped_column(default=False, server_default=text("false"))  # of a test run
    # whether its author organised the challenge then; the row is deleted with the challenge if all of them did
    by_organisers: Mapped[bool] = mapped_column(default=False, server_default=text("false"))


class AnonymousLink(Base):
    """A link under which anyone can see one run of a result, but not whose it is."""

    __tablename__ = "anonymous_link"
    id: Mapped[int] = key_column()
    token: Mapped[str] = mapped_column(unique=True)  # not hashed, so that the team can copy it again
    result_id: Mapped[int] = mapped_column(ForeignKey(Result.id), index=True)
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id))  # the run it shows, even if there are later ones
    created_by: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="SET NULL"))
    created_at: Mapped[datetime] = now_column()
    revoked_at: Mapped[datetime | None]
    revealed_at: Mapped[datetime | None]  # when it started to redirect to the page of the submission
    result: Mapped[Result] = relationship(viewonly=True, lazy="raise")
    run: Mapped[Run] = relationship(viewonly=True, lazy="raise")


class BoardGroups(Base):
    """The comparison of all pairs of a board's public methods, by a paired bootstrap over images."""

    __tablename__ = "board_groups"
    __table_args__ = (
        ForeignKeyConstraint(
            ["phase_id", "competition"], [Board.phase_id, Board.competition], ondelete="CASCADE"
        ),
    )
    phase_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    competition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[str]  # of the runs that were compared
    # the compact letter display by run id, empty where there are many; only for people who see details
    letters: Mapped[dict[str, Any]]
    # the tests of all pairs, as `heldout_scoring.statistics.comparison.HolmFamily`; only for people who see details
    family: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    as_of: Mapped[datetime]  # when the runs were read


class Sketch(Base):
    """A rough summary of a result's predictions in a kilobyte, to find similar results."""

    __tablename__ = "sketch"
    __table_args__ = (Index("ix_sketch_board", "phase_id", "competition", "result_id"),)
    result_id: Mapped[int] = mapped_column(ForeignKey(Result.id, ondelete="CASCADE"), primary_key=True)
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    competition: Mapped[int]
    content: Mapped[bytes]


class SimilarPair(Base):
    """Two results of a board as similar as if they came from one method with different parameters: a hint for organisers."""

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
    dismissed_at: Mapped[datetime | None]  # when an organiser explained the similarity
    dismissed_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))
    dismiss_reason: Mapped[str | None]
    result: Mapped[Result] = relationship(foreign_keys=result_id, viewonly=True, lazy="raise")
    other: Mapped[Result] = relationship(foreign_keys=other_id, viewonly=True, lazy="raise")
    dismisser: Mapped[User | None] = relationship(viewonly=True, lazy="raise")


class Artefact(Base):
    """A file that a worker made for pages: the key of its content in the artefact store, and what it was made from."""

    __tablename__ = "artefact"
    __table_args__ = (UniqueConstraint("kind", "subject"),)
    id: Mapped[int] = key_column()
    kind: Mapped[str]
    subject: Mapped[str]  # what it shows, e.g. "7/3/median" for a board
    version: Mapped[str]  # of its inputs; if unchanged, it need not be made again
    key: Mapped[str] = mapped_column(index=True)  # of its content, which no other row refers to
    media_type: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    as_of: Mapped[datetime]  # when its input data was read
    created_at: Mapped[datetime] = now_column()
