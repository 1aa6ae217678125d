"""The tab of a challenge's pages that leads those who organise it to the organisers' pages."""

from typing import Final
from urllib.parse import quote

from app.challenges.challenges import challenge_of
from app.core.access import Actor
from app.platform import Platform

ORGANISE: Final = "<!-- organise -->"  # marks the tab's place in pages that all readers share


def organise_tab(platform: Platform, actor: Actor, code: str) -> dict[str, str]:
    """Return what stands in place of the mark for this reader: the tab, or nothing."""
    return {ORGANISE: _tab(code) if _reads_organising(platform, actor, code) else ""}


def _reads_organising(platform: Platform, actor: Actor, code: str) -> bool:
    if not actor.reads_organising:
        return False
    with platform.snapshot() as session:
        challenge = challenge_of(session, code)
    return challenge is not None and (
        actor.organises_challenge(challenge.id) or actor.views_challenge(challenge.id)
    )


def _tab(code: str) -> str:
    return f'<li><a href="/organise/challenges/{quote(code)}">Organise</a></li>'
