"""Metrics for a monitoring server, which sends the token of the settings."""

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from app.access import Action
from app.metrics import service
from app.web import ThePlatform, requires

# for no account: what may read it is the token, whoever sends it
router = APIRouter(include_in_schema=False, dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/metrics")
async def metrics(platform: ThePlatform, request: Request) -> Response:
    """Queue, workers, runs, messages, disks and requests in the text format of Prometheus."""
    service.refuse_unknown(platform, request.headers.get("authorization", ""))
    content = await service.exposition(platform)
    return Response(content, media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})
