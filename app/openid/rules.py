"""Who is let in by the provider, and to which account."""

from datetime import datetime, timedelta

from app.names import is_visible
from app.openid.schemas import Claims, Known, Outcome, Purpose

LIFETIME = timedelta(minutes=10)  # of a login at the provider
LEEWAY = timedelta(minutes=1)  # by which clocks may differ
SHORTEST_NAME, LONGEST_NAME = 2, 80


def outcome(purpose: Purpose, claims: Claims, known: Known, started_at: datetime) -> Outcome:
    """What follows when somebody comes back from the provider.

    An account is entered by the login that was linked to it and by no e-mail address: a provider that is wrong about an
    address, or whose address was given to somebody else, opens nothing.
    """
    if purpose is Purpose.LOG_IN:
        return _logging_in(claims, known)
    if purpose is Purpose.LINK:
        return _linking(known)
    return _confirming(claims, known, started_at)


def _logging_in(claims: Claims, known: Known) -> Outcome:
    if known.owner is not None:
        return Outcome.SUSPENDED if known.is_suspended else Outcome.LOGGED_IN
    if not (claims.email and claims.is_verified):
        return Outcome.NO_ADDRESS
    return Outcome.HAS_ACCOUNT if known.has_account else Outcome.NEW


def _linking(known: Known) -> Outcome:
    if known.started_by is None:
        return Outcome.SESSION_OVER
    if known.owner not in (None, known.started_by):
        return Outcome.OF_ANOTHER
    return Outcome.HAS_ANOTHER if known.owner is None and known.has_link else Outcome.LINKED


def _confirming(claims: Claims, known: Known, started_at: datetime) -> Outcome:
    if known.started_by is None:
        return Outcome.SESSION_OVER
    if known.owner != known.started_by:
        return Outcome.NOT_YOURS
    return Outcome.CONFIRMED if is_fresh(claims.authenticated_at, started_at) else Outcome.NOT_FRESH


def is_fresh(authenticated_at: int | None, started_at: datetime) -> bool:
    """Whether somebody has shown the provider that it is them since they were sent there; in seconds since 1970."""
    return authenticated_at is not None and authenticated_at >= (started_at - LEEWAY).timestamp()


def suggested_name(name: str, email: str) -> str:
    """The name to begin with for a new account; whoever it is can change it before anybody sees it.

    >>> suggested_name("Ash Grove", "ash@example.org"), suggested_name("", "ash@example.org")
    ('Ash Grove', 'ash')
    """
    candidates = (" ".join(name.split())[:LONGEST_NAME], email.partition("@")[0][:LONGEST_NAME])
    fit = (text for text in candidates if len(text) >= SHORTEST_NAME and is_visible(text))
    return next(fit, "")
