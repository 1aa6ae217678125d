"""When a result can have an anonymous link, and what the link shows."""

import enum
from datetime import datetime

from app.errors import NoLink, Refusal
from app.models import EntryState

MOST_LINKS = 10  # of one result that are neither revoked nor revealed


class LinkState(enum.StrEnum):
    """What an anonymous link shows."""

    ANONYMOUS = "anonymous"
    REVEALED = "revealed"  # leads to the page of the submission
    REVOKED = "revoked"  # there is nothing at its address


def link_state(revoked_at: datetime | None, revealed_at: datetime | None) -> LinkState:
    """What a link shows; one that was revoked shows nothing, also if it was revealed before."""
    if revoked_at is not None:
        return LinkState.REVOKED
    return LinkState.REVEALED if revealed_at is not None else LinkState.ANONYMOUS


def link_refusals(
    entry: EntryState, *, is_public: bool, is_embargoed: bool, links: int
) -> tuple[Refusal, ...]:
    """Every reason why a result cannot have another anonymous link; `links` are those that still are anonymous."""
    found = []
    if entry is not EntryState.SCORED:
        found.append("only a result with a score can have an anonymous link")
    if is_public:
        found.append("the method is public, so that everybody can read whose result it is")
    if is_embargoed:
        found.append("scores of this phase are shown to others once it is over")
    if links >= MOST_LINKS:
        found.append(f"this result has {links} anonymous links, and {MOST_LINKS} is the most; revoke one")
    return tuple(NoLink(message) for message in found)


def reveal_refusal(state: LinkState, *, is_public: bool) -> Refusal | None:
    """Why a link cannot lead to the named page: only a public method has one for everybody."""
    if state is LinkState.REVOKED:
        return NoLink("this link was revoked; make another one")
    if not is_public:
        return NoLink("make the method public first; then the link can show whose it is")
    return None
