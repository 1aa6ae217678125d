"""The handler of each kind of job."""

from datetime import timedelta

from app.challenges import kits
from app.evaluation import intervals, scoring, similarity
from app.figures import board_figures
from app.images import making, overlays
from app.intake import corrections, diff_pictures, going_back, label_scenes, trials, version_diffs
from app.intake import reading as intake_reading
from app.jobs import attempts, mail
from app.jobs.attempts import Handler, Handlers, on_payload
from app.jobs.queue import QUEUES, Claim, lock_claimed, postpone
from app.models import JobKind, Queue
from app.notifications import dispatch, mailing, webhook_deliveries
from app.platform import Platform
from app.results import analyses

HANDLERS: Handlers = {
    JobKind.RUN: scoring.HANDLER,
    JobKind.MAIL: on_payload(mail.deliver),
    JobKind.BOARD: on_payload(board_figures.refresh),
    JobKind.INTERVALS: on_payload(intervals.compute),
    JobKind.ANALYSIS: on_payload(analyses.compute),
    JobKind.SIMILARITY: on_payload(similarity.compare),
    JobKind.OVERLAYS: on_payload(overlays.draw_next),
    JobKind.PICTURES: on_payload(making.make_next),
    JobKind.KIT: on_payload(kits.make),
    JobKind.NOTIFY: on_payload(dispatch.dispatch),
    JobKind.INTAKE: intake_reading.HANDLER,
    JobKind.INTAKE_PICTURES: intake_reading.PICTURES_HANDLER,
    JobKind.TRIALS: trials.HANDLER,
    JobKind.TRUTH_COPY: going_back.HANDLER,
    JobKind.VERSION_DIFF: version_diffs.HANDLER,
    JobKind.DRAWN_DIFF: diff_pictures.HANDLER,
    JobKind.LABEL_SCENE: label_scenes.HANDLER,
    JobKind.LABEL_PREVIEW: corrections.HANDLER,
    JobKind.NOTIFICATION_MAIL: on_payload(mailing.send_due),
    JobKind.WEBHOOK: webhook_deliveries.HANDLER,
}


# what these have done in child processes, besides what app.jobs.sandbox does
IN_CHILDREN = (
    "app.challenges.annotation_files",
    "app.challenges.label_digests",
    "app.evaluation.near_duplicates",
    "app.images.decoding",
    "app.images.drawing",
    "app.intake.changed_pictures",
    "app.intake.comparing",
    "app.intake.correcting",
    "app.intake.inspecting",
    "app.intake.trial_results",
)
OF_WORKERS = (Queue.ORGANISING, Queue.RUNS, Queue.FOLLOW_UPS)


def do_next(platform: Platform, *queues: Queue) -> bool:
    """Do the next due job of the first queue that has one, of those of workers by default; return whether there was one."""
    return any(attempts.do_next(platform, each, handlers_of(each)) for each in queues or OF_WORKERS)


def handlers_of(queue: Queue) -> Handlers:
    """Return what the process that takes jobs of a queue does with them: a worker leaves what must be sent to a sender."""
    return HANDLERS if queue not in OF_WORKERS else {**HANDLERS, JobKind.WEBHOOK: Handler(_leave_to_sender)}


def _leave_to_sender(platform: Platform, claim: Claim) -> None:
    """Move a job that a process of the release before has added to the queue of senders."""
    with platform.transaction() as session:
        job = lock_claimed(session, claim)
        if job is not None:
            job.queue = QUEUES[job.kind]
            postpone(job, timedelta(0), "")


def recover_lost_jobs(platform: Platform) -> None:
    """Find lost jobs, and notify workers of due ones."""
    attempts.recover_lost_jobs(platform, HANDLERS)
