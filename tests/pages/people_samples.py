"""Contexts for the pages of accounts, covering their branches."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.challenges.terms import TermsView
from app.core.access import Scope
from app.core.settings import Registration, Settings
from app.jobs.mail import MailLocation
from app.people.accounts import LinkOutcome, Offer
from app.people.openid import LinkedLogin, Newcomer
from app.people.openid_pages import STATUS
from app.people.recovery import ResetOutcome
from app.people.tokens import TokenView
from app.results.personal_data import AccountSummary, OwnResults
from tests.login_settings import EXAMPLE_ID
from tests.pages.drawn import EVIL
from tests.pages.views import NOW

Sample = tuple[str, dict[str, Any]]


WITH_PROVIDERS = Settings(login_providers=(EXAMPLE_ID,))
WITHOUT_PASSWORDS = WITH_PROVIDERS.model_copy(
    update={"passwords": False, "registration": Registration.CLOSED}
)


def of_people() -> Iterator[Sample]:
    """Every page about people and their accounts."""
    yield from of_confirmation()
    yield from of_recovery()
    yield from of_terms()
    yield from of_profiles()
    yield from of_openid()


def of_confirmation() -> Iterator[Sample]:
    for needs_password in (True, False):
        offer = Offer(EVIL, needs_password=needs_password)
        page = {"offer": offer, "token": "t0ken", "problems": {"password": "wrong password"}}
        yield "confirmation/offer.html", page
    yield "confirmation/offer.html", {"offer": None, "token": "t0ken", "problems": {}}
    for outcome in LinkOutcome:
        yield "confirmation/unusable.html", {"outcome": outcome.value}
    sent = {
        "place": MailLocation(is_sent=True),
        "form": {},
        "problems": {},
        "wait": None,
        "pending": None,
    }
    yield "confirmation/address.html", sent
    typed = {"form": {"email": EVIL}, "problems": {"email": EVIL}, "wait": NOW, "pending": EVIL}
    for place in (MailLocation(is_sent=False), MailLocation(is_sent=False, folder=EVIL)):
        yield "confirmation/address.html", {**sent, **typed, "place": place}


def of_recovery() -> Iterator[Sample]:
    yield "recovery/forgot.html", {"form": {"email": EVIL}, "problems": {"email": EVIL}}
    for place in (MailLocation(is_sent=True), MailLocation(is_sent=False, folder=EVIL)):
        yield "recovery/asked.html", {"place": place, "lifetime": "24 hours"}
    yield "recovery/ask_login_link.html", {"form": {"email": EVIL}, "problems": {"email": EVIL}}
    for email in (None, EVIL):
        yield "recovery/login_link.html", {"token": "t0ken", "email": email}
    yield "recovery/reset.html", {"token": "t0ken", "problems": {"password": EVIL}}
    token = TokenView(1, EVIL, "hld_ab", tuple(Scope), NOW, NOW, None, None, is_expired=False)
    for left in ((), (token,), (token, replace(token, last_used_at=NOW))):
        yield "recovery/tokens.html", {"token": "t0ken", "tokens": left}
    for outcome in ResetOutcome:
        yield "recovery/outcome.html", {"outcome": outcome.value}
    yield "recovery/change.html", {"problems": {"present_password": EVIL, "password": EVIL}}


def of_terms() -> Iterator[Sample]:
    for accepted_at in (None, NOW):
        terms = TermsView(1, 1, "VOC2007", EVIL, 2, EVIL, NOW, accepted_at)
        yield "participation/terms.html", {"terms": terms, "next_page": "/challenges/a/b/submit"}
    for version in (None, 2):
        page = {"challenge": "VOC2007", "title": EVIL, "version": version, "form": {"text": EVIL}}
        yield "participation/set_terms.html", {**page, "problems": {"text": EVIL} if version else {}}


def of_openid() -> Iterator[Sample]:
    provider = EXAMPLE_ID.model_copy(update={"name": EVIL})
    yield (
        "openid/leave.html",
        {"provider": provider, "provider_address": "https://id.example/authorize?state=" + EVIL},
    )
    for outcome in STATUS:
        yield "openid/outcome.html", {"provider": provider, "outcome": str(outcome)}
    newcomer = Newcomer(provider, EVIL, EVIL, EVIL, "/")
    yield "openid/new.html", {"newcomer": newcomer, "form": {"name": EVIL}, "problems": {"name": EVIL}}
    for links in (
        [(provider, None), (provider, LinkedLogin("", NOW, NOW)), (provider, LinkedLogin(EVIL, NOW, NOW))],
    ):
        yield "openid/links.html", {"links": links}
    for settings in (WITH_PROVIDERS, WITHOUT_PASSWORDS):
        for page in (
            "profiles/account.html",
            "sessions/login.html",
            "sessions/confirm.html",
            "accounts/register.html",
        ):
            yield (
                page,
                {
                    "settings": settings,
                    "form": {},
                    "problems": {},
                    "next": "/",
                    "is_interrupted": False,
                    "summary": AccountSummary(1, 0, 2),
                },
            )


def of_profiles() -> Iterator[Sample]:
    form = {"name": EVIL, "affiliation": EVIL, "homepage": EVIL, "orcid": EVIL}
    yield "profiles/profile.html", {"form": form, "problems": {"affiliation": EVIL}}
    teams = tuple(OwnResults(EVIL, EVIL, is_alone, 1, 2) for is_alone in (True, False))
    for results, problems in (("keep", {}), ("erase", {"password": EVIL, "results": EVIL})):
        page = {"teams": teams, "form": {"results": results}, "problems": problems}
        yield "profiles/delete.html", page
    yield "profiles/data.html", {}
    yield "profiles/deleted.html", {}
