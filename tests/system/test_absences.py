"""The worker, the broker and the mail server are away at once: afterwards everybody is told everything, once."""

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from app.core.settings import MailEncryption
from app.notifications import webhooks
from app.notifications.webhooks import NewWebhook
from app.people import sessions
from tests.mail_servers import mail_server
from tests.system.installations import LONGEST, Installation, good, installation
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers, eventually, free_port
from tests.webhook_receiver import HERE, receiving

pytestmark = [pytest.mark.slow, pytest.mark.system]

PHASE = "absent/test"
TIMES = {
    "job": ("queued_at", "not_before"),
    "heartbeat": ("seen_at",),
    "event": ("at",),
    "notification_mail": ("due_at", "sent_at"),
}
"""Columns that decide what is late or due."""


def test_what_happened_while_worker_broker_and_mail_server_were_away_is_told_once(
    own_servers: OwnServers, tmp_path: Path
) -> None:
    port = free_port()
    settings: dict[str, Any] = {
        "smtp_host": "localhost",
        "smtp_port": port,
        "smtp_tls": MailEncryption.NONE,
        "webhook_http": True,
        "webhook_networks": f"{HERE}/32",
    }
    with ExitStack() as stack:
        receiver = stack.enter_context(receiving())
        running = stack.enter_context(installation(own_servers, workers=1, **settings))
        running.load(small_kit(tmp_path), "absent")
        address = running.start_web()
        ada, olga = running.participant(address, "ada"), running.organiser(address)
        upload = ada.upload(PHASE, results(cat=5, dog=5))
        add_webhook(running, receiver.url)
        receiver.statuses = [503, 503]

        with running.servers.broker_down():
            submission = int(good(ada.confirm(upload, "Patience"))["id"])
            news = {"title": "Nothing is lost", "text": "Wait."}
            good(olga.http.post("/api/v1/organise/challenges/absent/news", json=news))
            question = {"title": "Why?", "text": "It waits.", "upload": upload}
            good(ada.http.post("/api/v1/challenges/absent/threads", json=question))
        let_ten_minutes_pass(running)
        running.start_worker()
        running.start_sender()
        result = ada.final(submission)["results"][0]
        assert eventually(lambda: waiting(running, "event", "dispatched_at") == 0, LONGEST)
        let_ten_minutes_pass(running)
        server, _ = stack.enter_context(mail_server(running.platform, port=port))
        for table, column in (("notification_mail", "sent_at"), ("webhook_delivery", "ended_at")):
            assert eventually(lambda: not waits_if_due(running, table, column), LONGEST), running.ask(  # noqa: B023
                "SELECT kind, not_before, error FROM job"
            )
        told = running.ask(
            "SELECT e.kind, count(*) FROM event e JOIN notification n ON n.event_id = e.id GROUP BY 1"
        )
        sent = Counter((message["To"], message["Subject"]) for message in server.received)
        deliveries = running.ask("SELECT public_id FROM webhook_delivery WHERE problem = ''")

    assert (result["state"], result["shown"]["attempt"]) == ("scored", 1)
    assert {"announcement", "question asked", "submission scored"} <= {kind for kind, _ in told}, told
    assert set(sent.values()) == {1}
    expected = {"absent: Nothing is lost", "Patience in absent, test: Detection, given data, scored 50.0%"}
    assert expected <= {subject for _, subject in sent}, sent
    assert receiver.ids[:3] == receiver.ids[:1] * 3
    assert sorted(set(receiver.ids)) == sorted(str(each) for [each] in deliveries)
    assert len(receiver.ids) == len(deliveries) + 2


def add_webhook(running: Installation, url: str) -> None:
    """Let the admin, who organises everything, add a webhook."""
    [[user_id]] = running.ask("SELECT id FROM user_account WHERE role = 'admin'")
    with running.platform.transaction() as session:
        actor = sessions.actor_of(session, user_id)
    assert actor is not None
    webhooks.create(running.platform, actor, "absent", NewWebhook(name="Lab chat", url=url))


def let_ten_minutes_pass(running: Installation) -> None:
    """Move what is late or due into the past."""
    for table, columns in TIMES.items():
        moved = ", ".join(f"{column} = {column} - interval '10 minutes'" for column in columns)
        running.ask(f"UPDATE {table} SET {moved}")


def waiting(running: Installation, table: str, column: str) -> int:
    """How many rows of a table are not done."""
    [[count]] = running.ask(f"SELECT count(*) FROM {table} WHERE {column} IS NULL")
    return int(count)


def waits_if_due(running: Installation, table: str, column: str) -> int:
    """How many rows of a table are not done, although everything that waits is due."""
    running.ask("UPDATE notification_mail SET due_at = now() WHERE due_at > now() AND attempts = 0")
    running.ask("UPDATE job SET not_before = NULL WHERE not_before > now() + interval '2 seconds'")
    return waiting(running, table, column)
