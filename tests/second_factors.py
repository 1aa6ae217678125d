"""Authenticator apps of people in tests."""

import time
from typing import Any

import pyotp
from sqlalchemy import text

from app.organising import roles
from app.organising.roles import Grant
from app.people import accounts
from app.platform import Platform

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"


def give_second_factor(platform: Platform, email: str) -> None:
    """Let a person have a second factor without the pages that set it up; sessions stay."""
    with platform.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO second_factor (user_id, secret, confirmed_at, last_step)"
                " SELECT id, :secret, now(), 0 FROM user_account WHERE email = :email"
                " ON CONFLICT (user_id) DO UPDATE SET confirmed_at = now(), last_step = 0"
            ),
            {"secret": SECRET, "email": email},
        )


def code_of(secret: str = SECRET, *, steps: int = 0) -> str:
    """The code that the app shows now, or some steps of 30 seconds later."""
    return pyotp.TOTP(secret).at(round(time.time()) + 30 * steps)


def log_in_with_code(client: Any, email: str, password: str, *, steps: int = 0) -> Any:
    """Log in with both factors; the response to the second."""
    asked = client.post("/login", data={"email": email, "password": password})
    assert asked.headers["location"].startswith("/login/code"), asked.text
    return client.post("/login/code", data={"code": code_of(steps=steps)})


def token_of_admin(platform: Platform, email: str, name: str) -> str:
    """A token of an admin with a second factor, with every scope; earlier ones of the same account are revoked."""
    token = accounts.create_program_token(platform, email, name)
    roles.grant(platform, email, Grant.ADMIN)
    give_second_factor(platform, email)
    return token
