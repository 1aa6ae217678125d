"""Protocols and formats for programs."""

from fastapi import APIRouter

from app.access import Action
from app.documentation import service
from app.documentation.schemas import FormatView
from app.examples.rules import protocols
from app.web import requires
from scoring.protocol_table import ProtocolDescription

router = APIRouter(prefix="/api/v1", tags=["help"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/protocols")
def all_protocols() -> tuple[ProtocolDescription, ...]:
    """Every protocol, with how it scores each of its tasks."""
    return protocols()


@router.get("/protocols/{code}")
def protocol(code: str) -> ProtocolDescription:
    """How a protocol scores each of its tasks."""
    return service.known_protocol(code)


@router.get("/formats")
def formats() -> tuple[FormatView, ...]:
    """What result files hold, for each task."""
    return service.formats()
