"""JSON API: protocols and formats of prediction files."""

from fastapi import APIRouter

from app.challenges.protocols import ProtocolDescription, protocols
from app.core.access import Action
from app.operations import documentation
from app.operations.documentation import FormatView
from app.web.dependencies import requires

router = APIRouter(prefix="/api/v1", tags=["documentation"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/protocols")
def all_protocols() -> tuple[ProtocolDescription, ...]:
    """List all protocols, with how each scores its tasks."""
    return protocols()


@router.get("/protocols/{code}")
def protocol(code: str) -> ProtocolDescription:
    """Get a protocol, with how it scores its tasks."""
    return documentation.known_protocol(code)


@router.get("/formats")
def formats() -> tuple[FormatView, ...]:
    """List the formats of prediction files, by task."""
    return documentation.formats()
