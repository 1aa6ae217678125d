"""Talking to an OpenID Connect provider: the authorization code flow with PKCE."""

from collections.abc import Mapping
from typing import Any

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from app.mail_addresses import is_mail_address
from app.names import folded
from app.openid.schemas import Claims, Provider, ProviderError, Purpose, Started

TIMEOUT = httpx2.Timeout(5)  # seconds to connect, and for each answer
LEEWAY = 60  # seconds by which clocks may differ
SCOPE = "openid email profile"
# with public keys only: a secret that signs, or no signature at all, would let others speak for the provider
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
FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, AuthlibBaseError, JoseError, ValueError, KeyError, TypeError)


def authorization_url(provider: Provider, started: Started) -> str:
    """Where a browser is sent to log in; asks the provider where that is. Raises ProviderError."""
    # whoever confirms that it is them has to log in there again
    again = {"prompt": "login", "max_age": "0"} if started.purpose is Purpose.CONFIRM else {}
    try:
        with _client(provider) as client:
            endpoint = _metadata(client, provider)["authorization_endpoint"]
            url, _ = client.create_authorization_url(
                endpoint, state=started.state, code_verifier=started.verifier, nonce=started.nonce, **again
            )
    except FAILURES as error:
        raise ProviderError(_reason(error)) from error
    return str(url)


def claims_of(provider: Provider, code: str, started: Started) -> Claims:
    """What the provider says of the person to whom it gave this code. Raises ProviderError."""
    try:
        with _client(provider) as client:
            metadata = _metadata(client, provider)
            token = client.fetch_token(
                metadata["token_endpoint"],
                grant_type="authorization_code",
                code=code,
                code_verifier=started.verifier,
            )
            keys = KeySet.import_key_set({"keys": _json(client, metadata["jwks_uri"])["keys"]})
        return _claims(_checked(provider, started, token, keys))
    except FAILURES as error:
        raise ProviderError(_reason(error)) from error


def _client(provider: Provider) -> OAuth2Client:
    return OAuth2Client(
        client_id=provider.client_id,
        client_secret=provider.client_secret,
        scope=SCOPE,
        redirect_uri=provider.redirect_uri,
        code_challenge_method="S256",
        timeout=TIMEOUT,
    )


def _metadata(client: OAuth2Client, provider: Provider) -> Mapping[str, Any]:
    """Where the provider does what; not kept, so that a change of keys or addresses is followed at once."""
    found = _json(client, provider.issuer.rstrip("/") + "/.well-known/openid-configuration")
    if found["issuer"] != provider.issuer:
        raise ValueError(f"the provider calls itself {found['issuer']!r}, expected {provider.issuer!r}")
    return found


def _json(client: OAuth2Client, address: str) -> dict[str, Any]:
    response = client.request("GET", address, withhold_token=True)
    response.raise_for_status()
    found: dict[str, Any] = response.json()
    return found


def _checked(
    provider: Provider, started: Started, token: Mapping[str, Any], keys: KeySet
) -> Mapping[str, Any]:
    """The claims of an ID token that this provider signed, for this server and this login, and that has not expired."""
    decoded = jwt.decode(token["id_token"], keys, algorithms=list(ALGORITHMS))
    expected = {
        "iss": {"essential": True, "value": provider.issuer},
        "aud": {"essential": True, "value": provider.client_id},
    }
    about = {
        "nonce": started.nonce,
        "client_id": provider.client_id,
        "access_token": token.get("access_token"),
    }
    claims = CodeIDToken(decoded.claims, decoded.header, expected, about)
    claims.validate(leeway=LEEWAY)
    return decoded.claims


def _claims(said: Mapping[str, Any]) -> Claims:
    authenticated_at = said.get("auth_time")
    email = folded(str(said.get("email") or ""))
    return Claims(
        subject=str(said["sub"]),
        email=email if is_mail_address(email) else "",
        is_verified=said.get("email_verified") is True,
        name=str(said.get("name") or ""),
        authenticated_at=int(authenticated_at) if authenticated_at is not None else None,
    )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
