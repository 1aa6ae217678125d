"""JSON API: health and readiness, for monitoring."""

from fastapi import APIRouter, Response

from app.core.access import Action
from app.operations import health as operations_health
from app.operations.health import Health, Readiness
from app.web.dependencies import ThePlatform, requires

router = APIRouter(tags=["operation"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/health")
async def health(platform: ThePlatform) -> Health:
    """Get the health of each part; always 200 while this process is alive.

    The values: `sweep`, seconds since the last search for lost runs; `workers` and `senders`, how many are alive; `jobs`, seconds that
    the oldest due job other than a run has been waiting; `dead_jobs`, jobs that failed for good.
    """
    return await operations_health.health(platform)


@router.get("/ready")
async def ready(platform: ThePlatform, response: Response) -> Readiness:
    """Check whether this process can serve requests: 200, or 503 with what is missing.

    The database must be reachable and have a schema that this version can use; the storage must be writable. `waiting` says
    what is accepted and waits because no worker, or no sender, has been alive for 20 seconds; it changes nothing in the status.
    """
    found = await operations_health.readiness(platform)
    response.status_code = 200 if found.ready else 503
    return found
