"""Uploads, methods and submissions as pages and programs see them."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

import scoring
from app.access import Actor
from app.disclosure.rules import Sight, sight_of, withheld
from app.disclosure.schemas import RunScore, StoredScore
from app.editions.schemas import PhaseView
from app.exhibits.schemas import ClassValue
from app.jobs.places import Places
from app.methods.queries import method_view, unpublishable_reason
from app.methods.rules import training_text
from app.methods.schemas import MethodView, NewMethod, Training
from app.models import EntryState, Method, Run, RunState, Submission, Team, Upload
from app.quotas.schemas import QuotaLine
from app.results.rules import seconds_between
from app.results.schemas import PublishedRun, Rank, ShownRun, Standing
from app.submissions.rules import withdrawal_refusal


class NewSubmission(BaseModel):
    """Score this upload as this method's result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    upload: Annotated[uuid.UUID, Field(description="a checked upload without problems")]
    method: Annotated[
        NewMethod, Field(description="the method; one of the same name of your team is used again")
    ]
    competitions: Annotated[
        Annotated[tuple[int, ...], Field(min_length=1)] | None,
        Field(description="numbers of competitions; default: all that the archive has files for"),
    ] = None
    training: Annotated[
        Training, Field(description="which data the method was trained on; not asked of baselines")
    ] = Training()
    make_public: Annotated[
        bool,
        Field(
            description="show the method to everybody as soon as it is scored; default: only your team and the organisers see it"
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the form that confirms an upload shows."""

    phase: PhaseView
    methods: tuple[MethodView, ...]
    quota: tuple[QuotaLine, ...]  # what is left for each task of the archive
    refusals: tuple[str, ...]  # what is against it whatever the method


@dataclass(frozen=True, slots=True)
class RunView:
    """One scoring of an entry."""

    id: int
    state: RunState
    attempt: int
    queued_at: datetime
    claimed_at: datetime | None
    finished_at: datetime | None
    failure_message: str | None
    position: int | None  # 1: next to be scored
    wait_seconds: int | None  # expected
    has_worker: bool  # a worker that can score it is alive
    protocol: str
    measure: str | None
    ground_truth: int  # version
    scorer: str
    receipt: str | None  # keyed, which this server confirms
    plain_receipt: str | None  # that anyone can compute; none while the annotation is hidden
    headline: float | None
    headline_reason: str | None
    low: float | None  # of the headline's interval of 95 %
    high: float | None
    classes: tuple[ClassValue, ...]
    is_rescore: bool
    is_held: bool = False  # it waits until its team is not suspended any more
    damaged: str | None = None  # what has to be repaired before it can be scored, e.g. "stored archive"
    seconds_waited: float | None = None  # from the queue to a worker; hidden with the details
    seconds_scored: float | None = None  # likewise


@dataclass(frozen=True, slots=True)
class EntryView:
    """A submission's result in one competition."""

    id: int
    competition: int
    title: str
    state: EntryState
    is_complete: bool | None  # it has all predictions that the phase asks for; for organisers
    shown: RunView  # what the board shows, or the latest run
    runs: int
    withdrawn_at: datetime | None
    withdraw_reason: str | None
    can_withdraw: bool  # the reader may take it off its board
    rank: Rank | None = (
        None  # among the rows that the reader sees on its board; none while it does not stand there
    )
    history: tuple[
        PublishedRun, ...
    ] = ()  # what stood on its board, the latest first, if it has several runs


@dataclass(frozen=True, slots=True)
class SubmissionView:
    """A submission with its entries."""

    id: int
    edition: str
    edition_title: str
    image_set: str
    method: MethodView
    training_data: str  # as its team stated it
    team: str
    team_id: int
    upload_id: uuid.UUID | None  # for its team, to download the archive and its report
    filename: str
    size: int
    sha256: str
    received_at: datetime
    checked_at: datetime
    created_at: datetime
    entries: tuple[EntryView, ...]
    is_ours: bool  # the reader is of its team, or an organiser
    is_organised: bool  # the reader is an organiser of its edition
    is_member: bool  # the reader is of its team
    can_make_public: bool  # the reader is of its team, and the method is not public yet
    unpublishable: str | None  # why it cannot be made public yet
    is_final: bool  # nothing will change by waiting
    beyond_public: bool  # the reader is an organiser, who sees what participants do not
    withheld: str | None  # which parts of the results this reader does not see, and until when
    draws_images: bool = False  # there are images to look at

    def entry_in_detail(self, competition: int | None) -> EntryView | None:
        """The entry of a competition, or by default the first one that has been scored, or else the first."""
        chosen = [entry for entry in self.entries if entry.competition == competition]
        scored = [entry for entry in self.entries if entry.shown.state is RunState.SCORED]
        return next(iter((*chosen, *scored, *self.entries)), None)


def is_final(entry: EntryState, run: RunState) -> bool:
    """Whether nothing will change by waiting."""
    return entry is not EntryState.PENDING and run not in (RunState.QUEUED, RunState.RUNNING)


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """A line of "my submissions": one entry."""

    submission: int
    edition: str
    image_set: str
    competition: int
    method: str
    created_at: datetime
    state: EntryState
    run_state: RunState
    position: int | None
    mean: float | None
    failure_message: str | None


@dataclass(frozen=True, slots=True)
class RunScores:
    """What is stored of a run's scores, and the score that the ladder shows for its mean, if not its own."""

    rows: Sequence[RunScore]
    ladder: StoredScore | None


def run_view(run: Run, version: int, scores: RunScores, queue: Places, sight: Sight) -> RunView:
    """A run as a reader may see it; `version` is its ground truth's."""
    headline = next((score for score in scores.rows if score.class_name is None), None)
    bounded = headline if sight.details else None
    return RunView(
        id=run.id,
        state=run.state,
        attempt=run.attempt,
        queued_at=sight.moment(run.queued_at),
        claimed_at=run.claimed_at and sight.moment(run.claimed_at),
        finished_at=run.finished_at and sight.moment(run.finished_at),
        failure_message=run.failure_message,
        position=queue.place(run),
        wait_seconds=queue.wait_seconds(run),
        has_worker=queue.has_worker(run),
        protocol=run.protocol,
        measure=run.measure,
        ground_truth=version,
        scorer=run.scorer,
        receipt=run.receipt,
        plain_receipt=run.plain_receipt,
        headline=sight.mean(headline, scores.ladder),
        headline_reason=sight.reason(headline) if headline else None,
        low=bounded.low if bounded else None,
        high=bounded.high if bounded else None,
        classes=tuple(class_value(score, sight) for score in scores.rows if score.class_name is not None)
        if sight.classes
        else (),
        is_rescore=run.rescore_id is not None,
        is_held=run.id in queue.held,
        damaged=queue.damaged.get(run.id),
        seconds_waited=seconds_between(run.queued_at, run.claimed_at) if sight.details else None,
        seconds_scored=seconds_between(run.claimed_at, run.finished_at) if sight.details else None,
    )


def class_value(score: RunScore, sight: Sight) -> ClassValue:
    """A class's score as a reader may see it; counts and intervals reveal something of the hidden objects."""
    return ClassValue(
        name=score.class_name or "",
        value=sight.value(score),
        low=score.low if sight.details else None,
        high=score.high if sight.details else None,
        reason=sight.reason(score),
        positives=score.positives if sight.details else None,
        predictions=score.predictions if sight.details else None,
    )


def entry_view(
    actor: Actor, phase: PhaseView, method: Method, row: ShownRun, shown: RunView, standing: Standing
) -> EntryView:
    """An entry as a reader may see it, with the run to show and how many runs it has."""
    entry = row.entry
    is_organised = actor.runs(phase.edition_id)
    is_ours = is_organised or actor.is_member(method.team_id)
    refusal = withdrawal_refusal(
        entry.state,
        is_organiser=is_organised,
        is_public=method.public_at is not None,
        reason="given in the form",
    )
    return EntryView(
        id=entry.id,
        competition=entry.competition,
        title=scoring.competition_of(phase.dataset, entry.competition).title,
        state=entry.state,
        is_complete=entry.is_complete if sight_of(actor, phase).beyond_public else None,
        shown=shown,
        runs=row.runs,
        withdrawn_at=entry.withdrawn_at and sight_of(actor, phase).moment(entry.withdrawn_at),
        withdraw_reason=entry.withdraw_reason if is_ours else None,
        can_withdraw=is_ours and refusal is None,
        rank=standing.ranks.get(entry.id),
        history=standing.histories.get(entry.id, ()),
    )


def submission_view(
    actor: Actor,
    phase: PhaseView,
    found: tuple[Submission, Method, Team, Upload],
    visible: Sequence[ShownRun],
    views: Mapping[int, RunView],
    standing: Standing,
) -> SubmissionView:
    """A submission as a reader may see it, with its `visible` entries."""
    submission, method, team, upload = found
    assert upload.received_at is not None
    assert upload.checked_at is not None
    sight, view = sight_of(actor, phase), method_view(method)
    is_organised, is_member = actor.runs(phase.edition_id), actor.is_member(method.team_id)
    is_ours = is_organised or is_member
    training = Training.model_validate(submission.training)
    return SubmissionView(
        id=submission.id,
        edition=phase.edition,
        edition_title=phase.edition_title,
        image_set=phase.image_set,
        method=replace(view, public_at=view.public_at and sight.moment(view.public_at)),
        training_data=training_text(training, is_baseline=method.is_baseline),
        team=team.name,
        team_id=team.id,
        upload_id=upload.id if is_ours else None,
        filename=upload.filename if is_ours else "",
        size=upload.received,
        sha256=upload.sha256 or "",
        received_at=sight.moment(upload.received_at),
        checked_at=sight.moment(upload.checked_at),
        created_at=sight.moment(submission.created_at),
        entries=tuple(entry_view(actor, phase, method, row, views[row.run.id], standing) for row in visible),
        is_ours=is_ours,
        is_organised=is_organised,
        is_member=is_member,
        can_make_public=method.public_at is None and is_member,
        unpublishable=unpublishable_reason(method),
        is_final=all(is_final(row.entry.state, row.run.state) for row in visible),
        withheld=withheld(phase, sight, is_complete=all(row.entry.is_complete for row in visible)),
        beyond_public=sight.beyond_public,
        draws_images=phase.draws_images,
    )
