"""Protocols and formats for programs."""

from fastapi import APIRouter

from app.challenges.examples import protocols
from app.core.access import Action
from app.operations import documentation
from app.operations.documentation import FormatView
from app.web.dependencies import requires
from scoring.protocol_table import ProtocolDescription

router = APIRouter(prefix="/api/v1", tags=["help"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/protocols")
def all_protocols() -> tuple[ProtocolDescription, ...]:
    """Every protocol, with how it scores each of its tasks."""
    return protocols()


@router.get("/protocols/{code}")
def protocol(code: str) -> ProtocolDescription:
    """How a protocol scores each of its tasks."""
    return documentation.known_protocol(code)


@router.get("/formats")
def formats() -> tuple[FormatView, ...]:
    """What prediction files hold, for each task."""
    return documentation.formats()
