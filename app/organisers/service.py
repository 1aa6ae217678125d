"""The organiser's overview."""

from app.access import Actor
from app.editions import queries as editions
from app.evaluation import queries as evaluation
from app.evaluation.schemas import PhaseQueue
from app.organisers.schemas import OrganiserPhase
from app.platform import Platform
from app.rescoring import queries as rescoring

NOTHING = PhaseQueue(entries=0, queued=0, running=0, failed=0)


def overview(platform: Platform, actor: Actor) -> tuple[OrganiserPhase, ...]:
    """Every phase of the editions that somebody organises, with its queue, its ground truth and a re-scoring that is under way."""
    with platform.transaction() as session:
        phases = editions.organised_phases(session, actor)
        queues = evaluation.queues(session)
        rescores = rescoring.open_rescores(session)
        newest, shown = editions.truth_versions(session)
        not_offered = editions.reasons_not_offered(session)
    return tuple(
        OrganiserPhase(
            phase=phase,
            entries=(queue := queues.get(phase.id, NOTHING)).entries,
            queued=queue.queued,
            running=queue.running,
            failed=queue.failed,
            ground_truth=newest.get(phase.id, 0),
            shown_ground_truth=shown.get(phase.id, 0),
            rescore=rescores.get(phase.id),
            not_offered=not_offered.get(phase.id, {}),
        )
        for phase in phases
    )
