"""Contexts for the pages of logins, sessions and tokens."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.core.access import Scope
from app.core.paging import part_of
from app.people.second_factor import FactorView
from app.people.sessions import SessionView
from app.people.tokens import LIFETIMES, TokenView
from tests.pages.drawn import EVIL
from tests.pages.views import NOW


def of_logins() -> Iterator[tuple[str, dict[str, Any]]]:
    """Pages of sessions, tokens and second factors."""
    again = {"form": {}, "problems": {}, "next": "/", "is_interrupted": False}
    yield "sessions/confirm.html", again
    yield (
        "sessions/confirm.html",
        {**again, "problems": {"password": EVIL}, "next": EVIL, "is_interrupted": True},
    )
    yield "sessions/lost.html", {}
    for problems in ({}, {"code": EVIL}):
        yield "second_factor/code.html", {"form": {}, "problems": problems, "next": EVIL}
    new = {"factor": FactorView(), "codes": (), "form": {}, "problems": {}}
    yield "second_factor/second_factor.html", new
    begun = FactorView(secret=EVIL, picture="<svg></svg>")
    yield "second_factor/second_factor.html", {**new, "factor": begun, "problems": {"code": EVIL}}
    yield "second_factor/second_factor.html", {**new, "factor": FactorView(NOW, 10), "codes": (EVIL,)}
    here = SessionView("ab" * 32, EVIL, NOW, NOW, is_this=True)
    lasting = {"lifetime": timedelta(days=14), "idle": timedelta(hours=72)}
    yield (
        "sessions/sessions.html",
        {"listed": part_of((here, replace(here, is_this=False)), 1, 1), "count": 2, **lasting},
    )
    choices = {"scopes": list(Scope), "lifetimes": LIFETIMES}
    token = TokenView(1, EVIL, "hld_ab", tuple(Scope), NOW, NOW, None, None, is_expired=True)
    yield (
        "tokens/tokens.html",
        {
            **choices,
            "tokens": (),
            "new_token": None,
            "is_password_changed": False,
            "form": {"name": EVIL, "scope": [EVIL], "days": 7},
            "problems": {"name": EVIL, "scope": EVIL},
        },
    )
    yield (
        "tokens/tokens.html",
        {
            **choices,
            "tokens": (
                token,
                replace(token, last_used_at=NOW, revoked_at=NOW),
                *(replace(token, is_expired=False),) * 2,
            ),
            "new_token": "hld_x",
            "is_password_changed": True,
            "form": {"name": "", "scope": ["read"], "days": 90},
            "problems": {},
        },
    )
