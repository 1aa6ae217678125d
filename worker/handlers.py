"""The handler of each kind of job."""

from app.evaluation import intervals, scoring, similarity
from app.figures import board_figures
from app.images import making, overlays
from app.intake import reading as intake_reading
from app.intake import trials
from app.jobs import attempts, mail
from app.jobs.attempts import Handlers, on_payload
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
    JobKind.NOTIFY: on_payload(dispatch.dispatch),
    JobKind.INTAKE: intake_reading.HANDLER,
    JobKind.INTAKE_PICTURES: intake_reading.PICTURES_HANDLER,
    JobKind.TRIALS: trials.HANDLER,
    JobKind.NOTIFICATION_MAIL: on_payload(mailing.send_due),
    JobKind.WEBHOOK: webhook_deliveries.HANDLER,
}


def do_next(platform: Platform, *queues: Queue) -> bool:
    """Do the next due job of the first queue that has one, of all by default; return whether there was one."""
    return any(attempts.do_next(platform, each, HANDLERS) for each in queues or Queue)


def recover_lost_jobs(platform: Platform) -> None:
    """Find lost jobs, and notify workers of due ones."""
    attempts.recover_lost_jobs(platform, HANDLERS)
