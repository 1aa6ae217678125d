"""Artefacts as rooms see them."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ArtefactView:
    """An artefact without its content; `version` names what it was made from, `key` its content."""

    kind: str
    subject: str
    version: str
    key: str
    media_type: str
    size: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Content:
    """An artefact with its bytes."""

    version: str
    media_type: str
    content: bytes
