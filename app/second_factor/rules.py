"""Time-based codes (RFC 6238), and recovery codes for who has lost the app."""

import hmac
import secrets

import pyotp

STEP = 30  # seconds for which a code is shown
DRIFT = 1  # steps by which a clock may be wrong
RECOVERY_CODES = 10
ALPHABET = "abcdefghjkmnpqrstvwxyz23456789"  # 30 characters that nobody confuses


def new_secret() -> str:
    """A secret for an authenticator app, 160 bits in base 32."""
    return pyotp.random_base32()


def address_for_app(secret: str, email: str, server: str) -> str:
    """What the QR code says, as authenticator apps read it."""
    return pyotp.TOTP(secret, interval=STEP).provisioning_uri(name=email, issuer_name=server)


def step_of_code(secret: str, code: str, now: float) -> int | None:
    """The step of 30 seconds since 1970 that shows this code, up to one away from `now`; none for a wrong code.

    now: in seconds since 1970.

    >>> step_of_code("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "287082", 59)
    1
    """
    digits = "".join(code.split())
    present = int(now) // STEP
    shown = pyotp.TOTP(secret, interval=STEP)
    steps = range(max(present - DRIFT, 0), present + DRIFT + 1)
    return next(
        (step for step in steps if hmac.compare_digest(shown.generate_otp(step).encode(), digits.encode())),
        None,
    )


def new_recovery_codes() -> tuple[str, ...]:
    """Codes of 78 bits, each for one login."""
    return tuple(_recovery_code() for _ in range(RECOVERY_CODES))


def _recovery_code() -> str:
    groups = ("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(4))
    return "-".join(groups)


def plain_recovery_code(text: str) -> str:
    """A recovery code as it is hashed, however it was typed.

    >>> plain_recovery_code(" ABCD efgh-jkmn 2345 ")
    'abcdefghjkmn2345'
    """
    return "".join(character for character in text.lower() if character.isalnum())
