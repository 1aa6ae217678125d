"""Tables of challenges, phases, ground truth, leaderboards and published challenges."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Text,
    UniqueConstraint,
    cast,
    func,
    text,
)
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.table import Base, ChallengeVisibility, Disclosure, PicturesFrom, key_column, now_column

WHOLE_PHASE: Final = (
    9999  # days as which a quota in total is stored, so that processes of the release before count it
)


@dataclass(frozen=True, slots=True)
class Quota:
    """How many results of one task may be scored within a sliding window of this many days; without days in total."""

    results: int
    days: int | None

    @property
    def window(self) -> timedelta | None:
        """The length of the window; None for a quota in total."""
        return None if self.days is None else timedelta(days=self.days)

    @property
    def span(self) -> str:
        """When its results are counted.

        >>> Quota(2, 7).span, Quota(2, 1).span, Quota(30, None).span
        ('in 7 days', 'in 1 day', 'in total')
        """
        return "in total" if self.days is None else f"in {self._window}"

    @property
    def rate(self) -> str:
        """The span as it stands beside what is left, where "in 7 days" would read as a deadline.

        >>> Quota(2, 7).rate, Quota(30, None).rate
        ('per 7 days', 'in total')
        """
        return "in total" if self.days is None else f"per {self._window}"

    @property
    def _window(self) -> str:
        return f"{self.days} day{'s' * (self.days != 1)}"

    def __str__(self) -> str:
        """Format the quota for people.

        >>> print(Quota(2, 7))
        2 in 7 days
        """
        return f"{self.results} {self.span}"


def in_order(quotas: Iterable[Quota]) -> tuple[Quota, ...]:
    """Sort quotas by window, shortest first; of several with the same window, keep only the smallest."""
    least = {quota.days: quota for quota in sorted(quotas, key=lambda quota: -quota.results)}
    return tuple(sorted(least.values(), key=_stored_days))


def stored(quotas: Iterable[Quota]) -> list[dict[str, Any]]:
    """Convert quotas to JSON."""
    return [{"results": quota.results, "days": _stored_days(quota)} for quota in in_order(quotas)]


def loaded(stored_quotas: Iterable[Mapping[str, Any]]) -> tuple[Quota, ...]:
    """Convert stored quotas from JSON.

    >>> loaded(stored([Quota(30, None), Quota(2, 7)])) == (Quota(2, 7), Quota(30, None))
    True
    """
    return in_order(
        Quota(each["results"], None if each["days"] >= WHOLE_PHASE else each["days"])
        for each in stored_quotas
    )


def _stored_days(quota: Quota) -> int:
    return WHOLE_PHASE if quota.days is None else quota.days


class Challenge(Base):
    """A challenge, such as VOC2007: a data set with its phases."""

    __tablename__ = "challenge"
    __table_args__ = (
        CheckConstraint(
            "(pictures_from IS NOT DISTINCT FROM 'elsewhere') = (pictures_address <> '')",
            name="pictures_have_one_place",
        ),
    )
    id: Mapped[int] = key_column()
    code: Mapped[str] = mapped_column(unique=True)  # in URLs: VOC2007, sample
    title: Mapped[str]
    dataset: Mapped[str]  # the kit's folder: results/<dataset>/Main
    approves_teams: Mapped[bool] = mapped_column(default=False)  # whether held-out phases require approval
    most_members: Mapped[int | None]  # of a team; None: any number
    # characters that the description of a public method needs
    shortest_description: Mapped[int] = mapped_column(default=500, server_default=text("500"))
    created_at: Mapped[datetime] = now_column()
    visibility: Mapped[ChallengeVisibility] = mapped_column(
        default=ChallengeVisibility.LISTED, server_default=text("'listed'")
    )
    opened_at: Mapped[datetime | None]  # when it stopped being a draft; None also if it never was one
    archived_at: Mapped[
        datetime | None
    ]  # since when it is read only and in no list; see `access.require_active`
    image_licence: Mapped[str] = mapped_column(
        default="", server_default=text("''")
    )  # SPDX identifier, or text
    annotation_licence: Mapped[str] = mapped_column(default="", server_default=text("''"))
    # where participants get the pictures of all phases, as its organisers say; None until they do
    pictures_from: Mapped[PicturesFrom | None]
    pictures_address: Mapped[str] = mapped_column(default="", server_default=text("''"))  # if it is elsewhere


class ChallengeDraft(Base):
    """What organisers have answered in the steps that create a challenge; the row stays when the challenge opens."""

    __tablename__ = "challenge_draft"
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), primary_key=True)
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)  # the saved answers, by step
    # what its phases were made of last: the data set and the rules of each; None before that
    made_of: Mapped[dict[str, Any] | None]
    opens_at: Mapped[datetime | None]  # when it opens by itself
    refusal: Mapped[str] = mapped_column(default="", server_default=text("''"))  # why it did not
    changed_at: Mapped[datetime] = now_column()


class Phase(Base):
    """An image set of a challenge, with its rules."""

    __tablename__ = "phase"
    __table_args__ = (
        UniqueConstraint("challenge_id", "image_set"),
        CheckConstraint("disclosure <> 'at close' OR closes_at IS NOT NULL", name="discloses_one_day"),
        CheckConstraint(
            "NOT jsonb_path_exists(quotas, '$[*] ? (@.results < 1 || @.days < 1)')", name="quotas_positive"
        ),
        CheckConstraint("disclosure = 'full' OR jsonb_array_length(quotas) > 0", name="held_out_has_quota"),
        CheckConstraint("closes_at IS NOT NULL OR NOT embargo", name="embargo_ends"),
        CheckConstraint("closes_at > opens_at", name="closes_after_opening"),
        CheckConstraint("grace >= interval '0'", name="grace_not_negative"),
    )
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id))
    image_set: Mapped[str]
    disclosure: Mapped[Disclosure]
    # whether a held-out phase shows details once it is over
    details_at_close: Mapped[bool] = mapped_column(default=False)
    # whether boards show class scores of complete results only
    only_complete: Mapped[bool] = mapped_column(default=False)
    protocol: Mapped[str]
    # the public description in storage of the version that its boards show
    description_key: Mapped[str]
    opens_at: Mapped[datetime]
    closes_at: Mapped[datetime | None]
    grace: Mapped[timedelta] = mapped_column(default=timedelta(hours=1))
    # whether others see results only once the phase is over
    embargo: Mapped[bool] = mapped_column(default=False)
    # others see no result that is submitted from then on until the phase is over; None: they see all
    frozen_from: Mapped[datetime | None]
    # the grace, close and freeze that were set before it was closed early; without planned_grace it was not
    planned_grace: Mapped[timedelta | None]
    planned_closes_at: Mapped[datetime | None]
    planned_frozen_from: Mapped[datetime | None]
    # whether the challenge's page says how much was disclosed
    shows_exposure: Mapped[bool] = mapped_column(default=False)
    # bytes of an archive as it is sent; None: as many as the operator allows
    max_upload: Mapped[int | None] = mapped_column(BigInteger)
    stored_quotas: Mapped[list[dict[str, Any]]] = mapped_column("quotas", default=list)
    # by competition number: why it has no board, in the version that its boards show
    not_offered: Mapped[dict[str, Any]] = mapped_column(default=dict)
    paused_at: Mapped[datetime | None]  # since when its organisers have paused scoring
    pause_reason: Mapped[str] = mapped_column(default="", server_default=text("''"))  # participants read it
    challenge: Mapped[Challenge] = relationship(viewonly=True, lazy="raise")

    @hybrid_property
    def is_held_out(self) -> bool:
        """Whether its annotation is hidden; also a condition of statements."""
        return self.disclosure != Disclosure.FULL

    @property
    def quotas(self) -> tuple[Quota, ...]:
        """The quotas for each task, per team and per person, shortest window first."""
        return loaded(self.stored_quotas)

    @quotas.setter
    def quotas(self, quotas: tuple[Quota, ...]) -> None:
        self.stored_quotas = stored(quotas)


class GroundTruth(Base):
    """One imported version of a phase's annotation; immutable but for its note.

    public_id: random, shown to people and used as the name of its file. fingerprint: HMAC-SHA-256 of its content with a key
    that only workers can read. labels: keyed, too, but of what is annotated in each image alone, so that a copy is recognised under
    other names of data set and phase and in another format. Versions of earlier releases get what they lack from a worker; until
    then the last four columns are empty.
    """

    __tablename__ = "ground_truth"
    __table_args__ = (
        UniqueConstraint("phase_id", "version"),
        CheckConstraint("version > 0", name="version_positive"),
    )
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    version: Mapped[int]
    public_id: Mapped[uuid.UUID] = mapped_column(unique=True, default=uuid.uuid4)
    fingerprint: Mapped[str] = mapped_column(index=True)
    statistics: Mapped[dict[str, Any]]
    imported_at: Mapped[datetime] = now_column()
    note: Mapped[str] = mapped_column(default="", server_default=text("''"))  # of organisers, for organisers
    copied_from: Mapped[int | None]  # the earlier version of its phase that organisers went back to
    description_key: Mapped[str | None]  # its public description in storage
    not_offered: Mapped[dict[str, Any] | None]  # as `Phase.not_offered`
    labels: Mapped[str | None] = mapped_column(index=True)
    image_labels_key: Mapped[str | None]  # the same of each image, in private storage
    phase: Mapped[Phase] = relationship(viewonly=True, lazy="raise")

    @hybrid_property
    def key(self) -> str:
        """The key of its content in private storage: `storage.content_key` of fingerprint and public id."""
        return f"{self.fingerprint}-{self.public_id.hex}"

    @key.inplace.expression
    @classmethod
    def _key_expression(cls) -> ColumnElement[str]:
        return cls.fingerprint + "-" + func.replace(cast(cls.public_id, Text), "-", "")


class TruthKey(Base):
    """The name of the key with which hidden annotation is hashed: one row, written with the key and never changed.

    The key itself is in private storage under this name, where only workers can read it.
    """

    __tablename__ = "truth_key"
    # the key's sha256, which reveals nothing about 256 random bits
    name: Mapped[str] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = now_column()


class Board(Base):
    """A leaderboard: one competition of a phase with its active protocol, ground truth and scorer version."""

    __tablename__ = "board"
    __table_args__ = (CheckConstraint("competition BETWEEN 1 AND 12", name="competition_known"),)
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id), primary_key=True)
    competition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    protocol: Mapped[str]
    ground_truth_id: Mapped[int] = mapped_column(ForeignKey(GroundTruth.id))
    scorer: Mapped[str]
    generation: Mapped[int] = mapped_column(default=1)  # incremented with every change of these versions
    activated_at: Mapped[datetime] = now_column()  # when these versions became active


class RetiredAddress(Base):
    """The code of a challenge that was open and is deleted: receipts and papers may name it, so no other takes it."""

    __tablename__ = "retired_address"
    code: Mapped[str] = mapped_column(primary_key=True)
    deleted_at: Mapped[datetime] = now_column()


class PublishedChallenge(Base):
    """A past challenge whose published results a server of the release before shows."""

    __tablename__ = "published_challenge"
    code: Mapped[str] = mapped_column(primary_key=True)  # in URLs: voc2007
    added_at: Mapped[datetime] = now_column()
