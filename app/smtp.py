"""Handing a message over: to a mail server, or into a folder where none is set."""

import os
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.message import EmailMessage
from itertools import count
from pathlib import Path

from app.setting_types import MailEncryption
from app.settings import Settings

PATIENCE = 20  # seconds for each answer of the mail server
MAX_FILES = 1000  # messages that a folder keeps


class MailError(Exception):
    """A message could not be handed over; says why without naming anybody."""


def hand_over(settings: Settings, message: EmailMessage) -> Path | None:
    """Send a message to its one recipient; the file where it lies instead, without a mail server.

    Raises MailError, so that it is tried again.
    """
    with _mail_errors(settings, "refused a message"):
        if settings.smtp_host is None:
            return _write(settings.data / "mail", message)
        with _connected(settings, settings.smtp_host) as server:
            server.send_message(message, settings.sender, [str(message["To"])])
    return None


def greet(settings: Settings) -> None:
    """Log in at the mail server, if there is one, and send nothing.

    Raises MailError.
    """
    if settings.smtp_host is not None:
        with (
            _mail_errors(settings, "refused a connection"),
            _connected(settings, settings.smtp_host) as server,
        ):
            server.noop()


@contextmanager
def _mail_errors(settings: Settings, what: str) -> Iterator[None]:
    try:
        yield
    except smtplib.SMTPException as error:
        raise MailError(f"the mail server {what}: {type(error).__name__} {_code(error)}") from None
    except OSError as error:
        where = settings.smtp_host or "the folder of mail"
        raise MailError(f"{where} cannot be used: {error.strerror or type(error).__name__}") from None


@contextmanager
def _connected(settings: Settings, host: str) -> Iterator[smtplib.SMTP]:
    """A connection to the mail server, encrypted and logged in as the settings say."""
    context = ssl.create_default_context()
    if settings.smtp_tls is MailEncryption.TLS:
        server: smtplib.SMTP = smtplib.SMTP_SSL(host, settings.smtp_port, timeout=PATIENCE, context=context)
    else:
        server = smtplib.SMTP(host, settings.smtp_port, timeout=PATIENCE)
    with server:
        if settings.smtp_tls is MailEncryption.STARTTLS:
            server.starttls(context=context)
        if settings.smtp_user and settings.smtp_password:
            server.login(settings.smtp_user, settings.smtp_password)
        yield server


def _code(error: smtplib.SMTPException) -> str:
    """The numbers in a refusal; its words may repeat the address."""
    if isinstance(error, smtplib.SMTPResponseException):
        return str(error.smtp_code)
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return ", ".join(str(code) for code, _ in error.recipients.values())
    return ""


def _write(folder: Path, message: EmailMessage) -> Path:
    """Put a message into a folder that only we can read, and forget the oldest there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in sorted(folder.glob("*.eml"))[: -MAX_FILES + 1]:
        old.unlink(missing_ok=True)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    for number in count():
        path = folder / f"{moment}-{number}.eml"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:  # another process, in the same microsecond
            continue
        with os.fdopen(file, "wb") as stream:
            stream.write(message.as_bytes())
        return path
    raise AssertionError("unreachable")
