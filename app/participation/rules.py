"""What a person has to do before their results are taken."""

from collections.abc import Iterable

from app.access import Actor
from app.editions.schemas import PhaseView
from app.models import Disclosure
from app.refusals import Refusal, RefusalCode, RefusedError


def address_refusals(actor: Actor, phase: PhaseView) -> Iterable[Refusal]:
    """The reason why no results of a person are taken before their address is confirmed: where labels are hidden."""
    if phase.disclosure is not Disclosure.FULL and not actor.is_verified:
        message = (
            "confirm your e-mail address before you send results to a phase whose annotation is hidden; "
            "the page /account/address says how"
        )
        yield Refusal(RefusalCode.ADDRESS_NOT_CONFIRMED, message)


def refuse_unconfirmed_address(actor: Actor, phase: PhaseView) -> None:
    """Raise RefusedError where nothing of this person can be sent before their address is confirmed."""
    if against := tuple(address_refusals(actor, phase)):
        raise RefusedError(against)
