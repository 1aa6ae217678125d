"""What a person has to do before their results are taken."""

from collections.abc import Iterable

from app.access import Actor
from app.editions.schemas import PhaseView
from app.errors import AddressNotConfirmed, Refusal, TeamNotApproved, TeamSuspended, TermsNotAccepted
from app.models import Disclosure
from app.participation.schemas import Step, TermsView


def address_refusals(actor: Actor, phase: PhaseView) -> Iterable[Refusal]:
    """The reason why no results of a person are taken before their address is confirmed: where labels are hidden."""
    if phase.disclosure is not Disclosure.FULL and not actor.is_verified:
        message = (
            "confirm your e-mail address before you send results to a phase whose annotation is hidden; "
            "the page /account/address says how"
        )
        yield AddressNotConfirmed(message)


def terms_refusals(actor: Actor, terms: TermsView | None) -> Iterable[Refusal]:
    """The reason why no results are taken before the terms that hold now are accepted; organisers set them themselves."""
    if terms is not None and terms.accepted_at is None and not actor.runs(terms.edition_id):
        message = (
            f"accept version {terms.version} of the terms of {terms.edition} first; "
            f"they are at /editions/{terms.edition}/terms"
        )
        yield TermsNotAccepted(message)


def step_of(refusal: Refusal, phase: PhaseView) -> Step:
    """Where a person does what a refusal asks for."""
    if isinstance(refusal, TermsNotAccepted):
        return Step(
            "Accept the terms",
            f"of {phase.edition_title}, in their current version",
            f"/editions/{phase.edition}/terms",
        )
    if isinstance(refusal, TeamSuspended | TeamNotApproved):
        return Step("Ask the organisers", refusal.message, "/teams")
    return Step(
        "Confirm your e-mail address", f"the annotation of {phase.image_set} is hidden", "/account/address"
    )
