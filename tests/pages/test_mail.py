"""Mail on its way: from the transaction that asks for it to a mail server or a folder."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from app.core import logs
from app.core.settings import MailEncryption
from app.jobs import mail
from app.jobs.attempts import MAX_FAILURES
from app.jobs.mail import MailError, MailTemplate
from app.models import JobKind, User
from app.operations import administration
from app.people import accounts
from app.platform import Platform
from tests.people import letters
from tests.working import do_all


class MailServer(socketserver.ThreadingTCPServer):
    """Takes mail by SMTP and keeps it; with an answer to RCPT of its own, such as a refusal."""

    def __init__(self, answer: str) -> None:
        super().__init__(("127.0.0.1", 0), Conversation)
        self.daemon_threads = True
        self.answer = answer
        self.received: list[tuple[str, str]] = []  # recipient, message


class Conversation(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.say("220 mail.example")
        to = ""
        for line in self.rfile:
            verb = line.decode().split()[0].upper()
            if verb == "RCPT":
                to = line.decode().partition("<")[2].partition(">")[0]
                self.say(self.server.answer.format(to=to))
            elif verb == "DATA":
                self.say("354 go on")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.received.append((to, b"".join(lines).decode()))
                self.say("250 ok")
            else:
                self.say("221 bye" if verb == "QUIT" else "250 ok")

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def mail_server(platform: Platform, answer: str = "250 ok") -> Iterator[tuple[MailServer, Platform]]:
    """A mail server, and the platform that sends to it."""
    with MailServer(answer) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        changed = {
            "smtp_host": "127.0.0.1",
            "smtp_port": server.server_address[1],
            "smtp_tls": MailEncryption.NONE,
        }
        yield server, replace(platform, settings=platform.settings.model_copy(update=changed))
        server.shutdown()


@pytest.fixture
def person(platform: Platform) -> Iterator[User]:
    """Somebody with an address that is not confirmed, and no mail on its way."""
    with platform.transaction() as session:
        for table in ("job", "mail_request", "mail_link"):
            session.execute(text(f"DELETE FROM {table}"))
        made = accounts.create_person(session, "ash@example.org", "Ash", None)
    yield made
    with platform.transaction() as session:
        session.delete(session.get_one(User, made.id))


def ask(
    platform: Platform, person: User | None, letter: MailTemplate = MailTemplate.CONFIRM_ADDRESS
) -> datetime | None:
    with platform.transaction() as session:
        address = person.email if person else "nobody@example.org"
        return mail.request_mail(
            session, letter, address=address, user_id=person.id if person else None, asked_by=None
        )


def deliver(platform: Platform) -> None:
    do_all(platform)


def test_mail_goes_to_the_mail_server_and_its_link_is_stored_as_a_hash(
    platform: Platform, person: User
) -> None:
    assert ask(platform, person) is None
    with platform.transaction() as session:
        queued = session.execute(text("SELECT payload::text FROM job")).scalar_one()

    with mail_server(platform) as (server, connected):
        deliver(connected)

    [(to, message)] = server.received
    assert to == "ash@example.org"
    token = message.partition("/confirm-address/")[2].split()[0]
    with platform.transaction() as session:
        stored = session.execute(text("SELECT token_hash, address FROM mail_link")).all()
    [(token_hash, address)] = stored
    assert address == "ash@example.org"
    assert token not in str(bytes(token_hash))
    assert token not in queued
    assert "example.org" not in queued


def test_without_a_mail_server_mail_lies_in_a_folder_that_only_we_can_read(
    platform: Platform, person: User
) -> None:
    folder = platform.settings.data / "mail"
    before = set(folder.iterdir()) if folder.exists() else set()
    ask(platform, person)
    deliver(platform)

    [file] = set(folder.iterdir()) - before
    assert letters(platform, "ash@example.org")[-1]["Subject"] == "Confirm your e-mail address"
    assert [folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777] == [0o700, 0o600]


def test_a_refusal_of_the_mail_server_is_tried_again_then_shown_to_organisers_without_the_address(
    platform: Platform,
    person: User,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logs.configure()  # as every process does
    ask(platform, person)
    with platform.transaction() as session:
        mail.notify(session, MailTemplate.ADDRESS_CHANGED, address="old@example.org")

    with mail_server(platform, answer="550 no {to} here") as (_, connected):
        for _ in range(MAX_FAILURES):
            with platform.transaction() as session:
                session.execute(text("UPDATE job SET not_before = now() WHERE dead_at IS NULL"))
            deliver(connected)

    dead = administration.failed_jobs(platform).rows
    assert [job.kind for job in dead] == [JobKind.MAIL] * 2
    assert {message.payload["letter"] for message in dead} == {"confirm-address", "address-changed"}
    assert "SMTPRecipientsRefused 550" in dead[0].error
    assert "example.org" not in str(dead)
    assert "example.org" not in "".join(capsys.readouterr())
    monkeypatch.setattr("app.jobs.queue.MOST_DEAD", 1)
    first = administration.failed_jobs(platform)
    assert (first.rows, administration.failed_jobs(platform, first.next).rows) == (dead[:1], dead[1:])


def test_a_mail_server_that_is_away_or_speaks_no_tls_is_an_error_that_names_nobody(
    platform: Platform, person: User
) -> None:
    with mail_server(platform) as (server, connected):
        encrypted = connected.settings.model_copy(update={"smtp_tls": MailEncryption.STARTTLS})
        payload = {"letter": "address-changed", "address": "old@example.org", "fields": {}}
        with pytest.raises(MailError, match="SMTPNotSupportedError"):
            mail.deliver(replace(connected, settings=encrypted), payload)
        assert server.received == []
    with pytest.raises(MailError, match=r"127\.0\.0\.1 cannot be used: Connection refused"):
        mail.deliver(connected, payload)


def test_nobody_can_have_an_address_mailed_all_night(platform: Platform, person: User) -> None:
    waits = [ask(platform, person) for _ in range(9)]
    for _ in range(9):
        ask(platform, None, MailTemplate.RESET_PASSWORD)
    with platform.transaction() as session:
        assert session.execute(text("SELECT count(*) FROM job")).scalar() == 6
    deliver(platform)

    assert [wait is None for wait in waits] == [True] * 3 + [False] * 6
    with platform.transaction() as session:
        session.execute(text("UPDATE mail_request SET at = at - interval '2 days'"))
        session.execute(text("UPDATE mail_link SET expires_at = now() - interval '1 second'"))
    mail.delete_expired_requests(platform)
    with platform.transaction() as session:
        assert session.execute(text("SELECT count(*) FROM mail_request")).scalar() == 0
        assert session.execute(text("SELECT count(*) FROM mail_link")).scalar() == 0


def test_mail_for_an_account_that_is_gone_or_for_nobody_is_dropped(platform: Platform, person: User) -> None:
    before = len(list(Path(platform.settings.data, "mail").glob("*.eml")))

    mail.deliver(platform, {"letter": "reset-password", "user_id": 10**9, "fields": {}})
    mail.deliver(platform, {"letter": "reset-password", "user_id": None, "fields": {}})

    assert len(list(Path(platform.settings.data, "mail").glob("*.eml"))) == before
