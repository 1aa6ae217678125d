"""Client of login providers: the authorization code flow with PKCE, with OpenID Connect or GitHub."""

import asyncio
from collections.abc import Mapping
from functools import cache
from ssl import SSLContext
from typing import Any

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.base_client.errors import MismatchingStateError
from authlib.integrations.starlette_client import OAuth, StarletteOAuth2App
from joserfc.errors import JoseError
from starlette.requests import Request

from app.core.names import folded, is_mail_address
from app.core.settings import LoginProvider, is_safe_url
from app.people.provider_claims import Claims, ProviderError, Purpose, StaleError

TOTAL_TIMEOUT = 15  # seconds for all responses of one step
TIMEOUT = httpx2.Timeout(5)  # seconds to connect, and for each response
LEEWAY = 60  # seconds, for differences between clocks
# public keys only: with a shared secret, or without signatures, others could impersonate the provider
ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
)
FAILURES = (
    httpx2.HTTPError,
    httpx2.InvalidURL,
    AuthlibBaseError,
    JoseError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RuntimeError,
    ArithmeticError,
    TimeoutError,
)
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
METADATA = ("issuer", *ENDPOINTS)
LONGEST_SUBJECT = 255  # characters, the limit of OpenID Connect


async def authorization_url(
    request: Request, provider: LoginProvider, callback: str, purpose: Purpose
) -> str:
    """Return the URL where a browser logs in; `request.session` keeps the state to recognise it. Raises ProviderError."""
    # to confirm an identity, a person must log in again
    again = {"prompt": "login", "max_age": "0"} if purpose is Purpose.CONFIRM else {}
    try:
        async with asyncio.timeout(TOTAL_TIMEOUT):
            client = await _client(provider)
            started = await client.create_authorization_url(callback, **again)
            await client.save_authorize_data(request, redirect_uri=callback, **started)
    except FAILURES as error:
        raise ProviderError(_reason(error)) from error
    return str(started["url"])


async def fetch_claims(request: Request, provider: LoginProvider) -> Claims:
    """Return the claims about a person who returns from the provider.

    Raises ProviderError, and StaleError for a login of another browser.
    """
    issuer = request.query_params.get("iss")  # names the sender (RFC 9207)
    if provider.kind == "openid" and issuer not in (None, provider.issuer):
        raise ProviderError(f"the response comes from {issuer!r}, expected {provider.issuer!r}")
    try:
        expected = {
            "iss": {"essential": True, "value": provider.issuer},
            "aud": {"essential": True, "value": provider.client_id},
        }
        async with asyncio.timeout(TOTAL_TIMEOUT):
            client = await _client(provider)
            token = await client.authorize_access_token(request, claims_options=expected, leeway=LEEWAY)
            if provider.kind == "github":
                return await _github_claims(client, token)
            return _claims(token["userinfo"])
    except MismatchingStateError as error:
        raise StaleError("this login has ended or was started in another browser") from error
    except FAILURES as error:
        raise ProviderError(_reason(error)) from error


async def _client(provider: LoginProvider) -> StarletteOAuth2App:
    """Return a client with the provider's current metadata, so that it follows a change of keys or URLs at once."""
    options: dict[str, Any] = {
        "code_challenge_method": "S256",
        "timeout": TIMEOUT,
        "verify": _certificates(),
    }
    if provider.kind == "github":
        return _registered(
            provider,
            authorize_url=f"{provider.issuer}/login/oauth/authorize",
            access_token_url=f"{provider.issuer}/login/oauth/access_token",
            api_base_url=provider.api,
            client_kwargs=options
            | {"scope": "read:user user:email", "token_endpoint_auth_method": "client_secret_post"},
        )
    client = _registered(
        provider,
        server_metadata_url=provider.issuer.rstrip("/") + "/.well-known/openid-configuration",
        client_kwargs=options | {"scope": "openid email profile"},
    )
    metadata = await client.load_server_metadata()
    if metadata["issuer"] != provider.issuer:
        raise ValueError(f"issuer mismatch: found {metadata['issuer']!r}, expected {provider.issuer!r}")
    if unsafe := [name for name in ENDPOINTS if not is_safe_url(str(metadata[name]))]:
        raise ValueError(f"{unsafe[0]} is not an https:// address")
    # authlib passes all metadata to its HTTP client as arguments, `timeout`, `verify`, and `code_challenge_method` included
    client.server_metadata = {name: str(metadata[name]) for name in METADATA} | {
        "_loaded_at": metadata["_loaded_at"],
        "id_token_signing_alg_values_supported": list(ALGORITHMS),
    }
    return client


@cache
def _certificates() -> SSLContext:
    """Return the TLS context. Cached, because creating it takes as long as the rest of a login and blocks requests."""
    return httpx2.create_ssl_context()


def _registered(provider: LoginProvider, **options: Any) -> StarletteOAuth2App:
    known = {"client_id": provider.client_id, "client_secret": provider.client_secret}
    return OAuth().register(provider.id, **known, **options)


async def _github_claims(client: StarletteOAuth2App, token: Mapping[str, Any]) -> Claims:
    """Identify the person by the account's number, because a GitHub login name can pass to another person."""
    person = await _json(client, "user", token)
    addresses = await _json(client, "user/emails", token)
    email = next((each["email"] for each in addresses if each["primary"] and each["verified"]), "")
    number = person["id"]
    if type(number) is not int:
        raise ValueError(f"expected the number of an account, found {number!r}")
    profile = {
        "sub": number,
        "email": email,
        "email_verified": True,
        "name": person["name"] or person["login"],
    }
    return _claims(profile)


async def _json(client: StarletteOAuth2App, path: str, token: Mapping[str, Any]) -> Any:
    response = await client.get(path, token=token)
    response.raise_for_status()
    return response.json()


def _claims(profile: Mapping[str, Any]) -> Claims:
    authenticated_at = profile.get("auth_time")
    email = folded(str(profile.get("email") or ""))
    subject = str(profile["sub"])
    if not subject.isprintable() or len(subject) > LONGEST_SUBJECT:
        raise ValueError("the subject is too long or contains characters that cannot be stored")
    return Claims(
        subject=subject,
        email=email if is_mail_address(email) else "",
        is_verified=profile.get("email_verified") is True,
        name=str(profile.get("name") or ""),
        authenticated_at=int(authenticated_at) if authenticated_at is not None else None,
    )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
