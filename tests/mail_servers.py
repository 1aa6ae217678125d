"""A real mail server for tests, which can be told to refuse a recipient, a text or everything, or to hang."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword

from app.core.settings import MailEncryption
from app.platform import Platform
from tests.system.servers import free_port

PASSWORD = "correct horse"
OK = "250 OK"


@dataclass
class MailServer:
    """What the server has taken, and how it answers. answers: to RCPT, by address; of_texts: to DATA, by address."""

    received: list[EmailMessage] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    of_texts: dict[str, str] = field(default_factory=dict)
    hangs: set[str] = field(default_factory=set)  # addresses at which it says nothing more
    users: list[str] = field(default_factory=list)  # who has logged in, for each message
    most_in_session: int = 1000  # messages, after which it ends the connection

    async def handle_RCPT(  # noqa: N802 - called by this name
        self, _server: object, _session: object, envelope: Envelope, address: str, _options: object
    ) -> str:
        if address in self.hangs:
            await asyncio.sleep(3600)
        answer = self.answers.get(address, OK)
        if answer == OK:
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_MAIL(  # noqa: N802
        self, _server: object, session: Any, envelope: Envelope, address: str, _options: object
    ) -> str:
        session.messages = getattr(session, "messages", 0) + 1
        if session.messages > self.most_in_session:
            return "421 4.7.0 too many messages in this connection"
        envelope.mail_from = address
        return OK

    async def handle_DATA(self, _server: object, session: Any, envelope: Envelope) -> str:  # noqa: N802
        [address] = envelope.rcpt_tos
        answer = self.of_texts.get(address, OK)
        if answer == OK:
            assert isinstance(envelope.content, bytes)
            message = message_from_bytes(envelope.content, policy=default)
            assert isinstance(message, EmailMessage)
            self.received.append(message)
            self.users.append(session.auth_data or "")
        return answer

    def reset(self) -> None:
        """Forget what was taken, and take everything from now on."""
        for each in (self.received, self.users, self.answers, self.of_texts, self.hangs):
            each.clear()
        self.most_in_session = 1000

    def to(self, address: str) -> list[EmailMessage]:
        """The mail that an address has got."""
        return [message for message in self.received if message["To"] == address]


def log_in(_server: object, _session: object, _envelope: object, _mechanism: str, login: Any) -> AuthResult:
    assert isinstance(login, LoginPassword)
    return AuthResult(success=login.password == PASSWORD.encode(), auth_data=login.login.decode())


@contextmanager
def mail_server(
    platform: Platform, *, context: ssl.SSLContext | None = None, port: int | None = None
) -> Iterator[tuple[MailServer, Platform]]:
    """A mail server, and a platform that sends through it. context: of STARTTLS, without which it then takes no login."""
    server = MailServer()
    port = port or free_port()
    rules: dict[str, Any] = {
        "tls_context": context,
        "require_starttls": True,
        "auth_required": True,
        "authenticator": log_in,
    }
    controller = Controller(server, hostname="127.0.0.1", port=port, **(rules if context else {}))
    controller.start()
    changed: dict[str, Any] = {"smtp_host": "localhost", "smtp_port": port, "smtp_tls": MailEncryption.NONE}
    if context:
        changed |= {
            "smtp_tls": MailEncryption.STARTTLS,
            "smtp_user": "heldout",
            "smtp_password": PASSWORD,
        }
    try:
        yield server, replace(platform, settings=platform.settings.model_copy(update=changed))
    finally:
        controller.stop(no_assert=True)


def subject_and_bodies(message: EmailMessage) -> tuple[str, str, str]:
    """The subject, the text and the HTML of a mail."""
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    return str(message["Subject"]), text.get_content(), html.get_content()
