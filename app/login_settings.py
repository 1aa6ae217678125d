"""Settings of logins, and the table of how often something may be asked for."""

import json
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

import limits
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_settings import BaseSettings, NoDecode

from app.setting_types import IssuerUrl

GITHUB: Final = "https://github.com"


def _rates(text: str) -> str:
    try:
        limits.parse_many(text)
    except ValueError as error:
        raise ValueError("expected rates such as 5/minute;20/hour or 10 per 10 minutes") from error
    return text


Rates = Annotated[str, AfterValidator(_rates)]


class Registration(StrEnum):
    """Who may make an account."""

    OPEN = "open"
    PROVIDERS = "providers"
    CLOSED = "closed"


class LoginProvider(BaseModel):
    """Where people can show who they are: an OpenID Connect provider, or GitHub."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,30}$")]  # in addresses
    name: Annotated[str, Field(min_length=1, max_length=40)]  # on buttons
    kind: Literal["openid", "github"] = "openid"
    issuer: IssuerUrl = GITHUB  # as an OpenID Connect provider writes it; of a GitHub on premises its address
    client_id: Annotated[str, Field(min_length=1)]  # how this server is registered there
    client_secret: str | None = None  # none for a public client

    @model_validator(mode="after")
    def _has_issuer(self) -> Self:
        if self.kind == "openid" and self.issuer == GITHUB:
            raise ValueError("expected the issuer of the OpenID Connect provider")
        return self

    @property
    def api(self) -> str:
        """Where GitHub says who somebody is."""
        return "https://api.github.com/" if self.issuer == GITHUB else f"{self.issuer}/api/v3/"


def _providers(found: object) -> object:
    """Providers from JSON; errors quote nothing, because secrets are in it."""
    if not isinstance(found, str):
        return found
    try:
        return json.loads(found)
    except ValueError as error:
        raise ValueError("expected JSON: a list of providers") from error


def _distinct(providers: tuple[LoginProvider, ...]) -> tuple[LoginProvider, ...]:
    for values in ([each.id for each in providers], [each.issuer for each in providers]):
        if len(set(values)) < len(values):
            raise ValueError("expected each id and each issuer once")
    return providers


LoginProviders = Annotated[
    tuple[LoginProvider, ...], NoDecode, BeforeValidator(_providers), AfterValidator(_distinct)
]


class LoginSettings(BaseSettings):
    """Who gets in and for how long, and the limits of requests; `app/rate_limits.py` says who is counted."""

    login_providers: Annotated[
        LoginProviders,
        Field(description="providers that people can log in with, as JSON; see *Logging in by a provider*"),
    ] = ()
    passwords: Annotated[
        bool, Field(description="whether people may log in with passwords; otherwise by providers alone")
    ] = True
    registration: Annotated[
        Registration,
        Field(
            description="who may make an account: `open` everybody, `providers` by a provider alone, `closed` nobody"
        ),
    ] = Registration.OPEN

    metrics_token: Annotated[
        str | None,
        Field(
            description="what a monitoring server sends to read /metrics; without it nobody can",
            min_length=20,
        ),
    ] = None

    session_days: Annotated[int, Field(description="how long a login lasts", gt=0)] = 14
    session_idle_hours: Annotated[int, Field(description="how long a login lasts that nobody uses", gt=0)] = (
        72
    )
    recent_login_minutes: Annotated[
        int, Field(description="how long after a login nothing asks for the password again", gt=0)
    ] = 30

    limit_login: Annotated[
        Rates,
        Field(description="logins from one address, and to one account from browsers that are new to it"),
    ] = "30/minute;300/hour"
    limit_guess: Annotated[
        Rates,
        Field(
            description="passwords for one account from one address, and codes for one account; "
            "each rate is a longer pause"
        ),
    ] = "5/minute;10/10 minutes;20/hour;50/day"
    limit_register: Annotated[Rates, Field(description="registrations from one address")] = "30/hour;100/day"
    limit_upload: Annotated[Rates, Field(description="uploads, checks and submissions of one person")] = (
        "180/10 minutes;1800/day"
    )
    limit_change: Annotated[
        Rates,
        Field(description="changes of one person: methods, teams, invitations, tokens, links"),
    ] = "120/10 minutes;1000/day"
    limit_view: Annotated[
        Rates,
        Field(
            description="pages that take long to make, of one person or address: submissions, images, curves, "
            "figures, comparisons, searches, selections of leaderboards not in memory, downloads of personal data"
        ),
    ] = "200/minute;3000/hour"

    @model_validator(mode="after")
    def _has_a_way_in(self) -> Self:
        if not self.passwords and not self.login_providers:
            raise ValueError("HELDOUT_PASSWORDS: without passwords expected HELDOUT_LOGIN_PROVIDERS")
        return self

    @property
    def may_register_with_password(self) -> bool:
        """Whether everybody may make an account with a password."""
        return self.passwords and self.registration is Registration.OPEN

    @property
    def session_lifetime(self) -> timedelta:
        """How long a login lasts at most."""
        return timedelta(days=self.session_days)

    @property
    def session_idle(self) -> timedelta:
        """How long a login lasts that nobody uses."""
        return timedelta(hours=self.session_idle_hours)

    @property
    def recent_login(self) -> timedelta:
        """How long after a login sensitive acts are allowed without the password."""
        return timedelta(minutes=self.recent_login_minutes)
