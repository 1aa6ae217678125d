"""Contexts of the pages of accounts and their mail, which walk through the branches."""

from collections.abc import Iterator
from typing import Any

from app.confirmation.schemas import Offer, Outcome
from app.mail.schemas import Place
from tests.pages.drawn import EVIL
from tests.pages.views import NOW

Sample = tuple[str, dict[str, Any]]


def of_confirmation() -> Iterator[Sample]:
    for needs_password in (True, False):
        offer = Offer(EVIL, needs_password=needs_password)
        page = {"offer": offer, "token": "t0ken", "problems": {"password": "is wrong"}}
        yield "confirmation/offer.html", page
    yield "confirmation/offer.html", {"offer": None, "token": "t0ken", "problems": {}}
    for outcome in Outcome:
        yield "confirmation/unusable.html", {"outcome": outcome.value}
    sent = {"place": Place(is_sent=True), "form": {}, "problems": {}, "wait": None, "pending": None}
    yield "confirmation/address.html", sent
    typed = {"form": {"email": EVIL}, "problems": {"email": EVIL}, "wait": NOW, "pending": EVIL}
    for place in (Place(is_sent=False), Place(is_sent=False, folder=EVIL)):
        yield "confirmation/address.html", {**sent, **typed, "place": place}
