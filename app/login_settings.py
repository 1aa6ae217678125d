"""Settings of logins, and the table of how often something may be asked for."""

from datetime import timedelta
from typing import Annotated, Self
from urllib.parse import urlsplit

import limits
from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import BaseSettings

from app.setting_types import IssuerUrl


def _rates(text: str) -> str:
    try:
        limits.parse_many(text)
    except ValueError as error:
        raise ValueError("expected rates such as 5/minute;20/hour or 10 per 10 minutes") from error
    return text


Rates = Annotated[str, AfterValidator(_rates)]


class LoginSettings(BaseSettings):
    """Who gets in and for how long, and the limits of requests; `app/rate_limits.py` says who is counted."""

    oidc_issuer: Annotated[
        IssuerUrl | None,
        Field(description="OpenID Connect provider that people can log in with, as it writes its `issuer`"),
    ] = None
    oidc_client_id: Annotated[str | None, Field(description="how this server is registered there")] = None
    oidc_client_secret: Annotated[
        str | None, Field(description="secret of that registration; none for a public client")
    ] = None
    oidc_name: Annotated[
        str | None, Field(description="name of the provider on buttons; default its host", max_length=40)
    ] = None

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

    limit_login: Annotated[Rates, Field(description="logins from one address")] = "30/minute;300/hour"
    limit_login_pair: Annotated[
        Rates,
        Field(description="logins to one account from one address; each rate is a longer pause"),
    ] = "5/minute;10/10 minutes;20/hour;50/day"
    limit_login_account: Annotated[
        Rates, Field(description="logins to one account from browsers that were never logged in to it")
    ] = "100/hour"
    limit_code: Annotated[
        Rates, Field(description="codes of a second factor that are tried for one account")
    ] = "5/5 minutes;20/hour;50/day"
    limit_register: Annotated[Rates, Field(description="registrations from one address")] = "30/hour;100/day"
    limit_upload: Annotated[Rates, Field(description="uploads that one person begins")] = (
        "60/10 minutes;600/day"
    )
    limit_upload_team: Annotated[Rates, Field(description="uploads that one team begins")] = (
        "120/10 minutes;1200/day"
    )
    limit_check: Annotated[Rates, Field(description="checks that one person asks for")] = (
        "60/10 minutes;600/day"
    )
    limit_confirm: Annotated[Rates, Field(description="submissions that one person tries to confirm")] = (
        "60/10 minutes;600/day"
    )
    limit_compare: Annotated[Rates, Field(description="comparisons that one person or address asks for")] = (
        "300/10 minutes;5000/day"
    )
    limit_board: Annotated[
        Rates,
        Field(description="selections of leaderboards not in memory that one person or address asks for"),
    ] = "300/10 minutes;5000/day"
    limit_view: Annotated[
        Rates,
        Field(
            description="pages of submissions, images, curves, figures and searches that one person or address asks for"
        ),
    ] = "200/minute;3000/hour"
    limit_team: Annotated[Rates, Field(description="teams that one person creates")] = "10/hour;30/day"
    limit_invite: Annotated[Rates, Field(description="invitations that one person makes or accepts")] = (
        "30/hour;100/day"
    )
    limit_change: Annotated[
        Rates,
        Field(
            description="changes of methods and teams, new tokens and links of one person; each is recorded"
        ),
    ] = "120/10 minutes;1000/day"
    limit_export: Annotated[Rates, Field(description="downloads of all that is stored of one person")] = (
        "5/10 minutes;20/day"
    )

    @model_validator(mode="after")
    def _with_client(self) -> Self:
        if self.oidc_issuer and not self.oidc_client_id:
            raise ValueError("HELDOUT_OIDC_ISSUER: expected HELDOUT_OIDC_CLIENT_ID, too")
        return self

    @property
    def provider_name(self) -> str | None:
        """What the OpenID Connect provider is called on pages; none where people log in with passwords alone."""
        return (self.oidc_name or urlsplit(self.oidc_issuer).hostname) if self.oidc_issuer else None

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
