"""Types of settings: how the text of a variable is read, and what is expected where it cannot be."""

from enum import StrEnum
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from app.mail_addresses import is_mail_address

LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class MailEncryption(StrEnum):
    """How a connection to a mail server is encrypted."""

    STARTTLS = "starttls"  # after a greeting in the clear, before anything else is sent
    TLS = "tls"  # from the first byte
    NONE = "none"


def _absolute(path: Path) -> Path:
    return path.absolute()  # processes of one installation run in different folders


def _database_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme not in {"postgres", "postgresql", "postgresql+psycopg"} or not _is_address(url):
        raise ValueError("expected postgresql://user:password@host:5432/database")
    return f"postgresql+psycopg://{rest}"


def _broker_url(url: str) -> str:
    if urlsplit(url).scheme not in {"redis", "rediss"} or not _is_address(url):
        raise ValueError("expected redis://:password@host:6379/0")
    return url


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number
        return False


def _proxies(text: str) -> str:
    try:
        for address in addresses(text):
            ip_network(address)
    except ValueError as error:
        raise ValueError("expected addresses or networks, such as 10.0.0.2,192.168.0.0/16") from error
    return text


def _mail_sender(text: str) -> str:
    if not is_mail_address(text):
        raise ValueError("expected an e-mail address, such as heldout@example.org")
    return text


def _issuer_url(url: str) -> str:
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    if not is_safe or not _is_address(url) or parts.query or parts.fragment:
        raise ValueError("expected https://id.example.org")
    return url


def addresses(text: str) -> list[str]:
    """The parts of a list with commas."""
    return [address.strip() for address in text.split(",") if address.strip()]


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
DatabaseUrl = Annotated[str, AfterValidator(_database_url)]
BrokerUrl = Annotated[str, AfterValidator(_broker_url)]
Proxies = Annotated[str, AfterValidator(_proxies)]
IssuerUrl = Annotated[str, AfterValidator(_issuer_url)]
MailSender = Annotated[str, AfterValidator(_mail_sender)]
