"""Health and readiness, for monitoring."""

from fastapi import APIRouter, Response

from app.core.access import Action
from app.operations import health as operations_health
from app.operations.health import Health, Readiness
from app.web.dependencies import ThePlatform, requires

router = APIRouter(tags=["operation"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/health")
async def health(platform: ThePlatform) -> Health:
    """Whether this process is alive: 200 as long as it answers, with the state of each part.

    `sweep` has the seconds since lost runs were last looked for, `workers` how many are alive, `jobs` how many seconds
    the oldest job other than a run is late.
    """
    return await operations_health.health(platform)


@router.get("/ready")
async def ready(platform: ThePlatform, response: Response) -> Readiness:
    """Whether this process may serve: 200, or 503 with what is missing.

    The database must be reachable and have a schema on which this version runs; the storage must be writable.
    """
    found = await operations_health.readiness(platform)
    response.status_code = 200 if found.ready else 503
    return found
