"""Roles as commands and links give them."""

import enum
from dataclasses import dataclass


class Grant(enum.StrEnum):
    """What a person can be made; without an edition a participant is neither admin nor organiser of anything."""

    PARTICIPANT = "participant"
    ORGANISER = "organiser"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link that works once."""

    edition: str | None  # the title of the edition whose organiser it makes; none: it makes an admin
