"""A sender sends mail and calls webhooks, whatever else is away, slow or busy."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from app.core.settings import MailEncryption
from app.jobs import attempts, queue
from app.jobs.mail import MailTemplate
from app.models import Job, JobKind, Queue
from app.platform import Platform
from tests.mail_servers import mail_server
from tests.people import letters
from tests.system.installations import LONGEST, Installation, awaited, installation
from tests.system.servers import OwnServers, eventually, free_port
from worker import handlers
from worker.sender import end_pauses_of_mail

pytestmark = pytest.mark.system

ADDRESS = "oak@example.org"


@pytest.fixture(scope="module")
def running(own_servers: OwnServers) -> Iterator[Installation]:
    with installation(own_servers) as running:
        yield running


@pytest.fixture(autouse=True)
def _nothing_waits(running: Installation) -> None:
    running.ask("DELETE FROM job")
    running.ask("DELETE FROM heartbeat")


def add_mail(platform: Platform) -> None:
    payload = {"letter": MailTemplate.TRIAL.value, "address": ADDRESS, "fields": {}}
    with platform.transaction() as session:
        queue.add(session, JobKind.MAIL, payload, owner=None)


@pytest.mark.sampled
def test_a_sender_needs_neither_broker_nor_ground_truth_and_says_that_it_is_alive(
    running: Installation, tmp_path: Path
) -> None:
    add_mail(running.platform)

    running.start_sender(broker_url=f"redis://127.0.0.1:{free_port()}", private_storage=tmp_path / "none")

    awaited(lambda: letters(running.platform, ADDRESS))
    running.processes.stop("sender")
    assert running.ask("SELECT FROM heartbeat WHERE service = 'sender'") == []
    assert not (tmp_path / "none").exists()


@pytest.mark.sampled
def test_mail_is_sent_as_soon_as_the_mail_server_is_back(running: Installation) -> None:
    port = free_port()
    changed = {"smtp_host": "localhost", "smtp_port": port, "smtp_tls": MailEncryption.NONE}
    running.start_sender(**changed)
    add_mail(running.platform)
    awaited(lambda: running.ask("SELECT FROM job WHERE postponements > 0"))
    running.ask("UPDATE job SET postponements = 9, not_before = now() + interval '10 minutes'")

    with mail_server(running.platform, port=port) as (server, _):
        assert eventually(lambda: len(server.to(ADDRESS)) == 1, LONGEST)

    running.processes.stop("sender")


def test_pauses_of_other_work_go_on_when_the_mail_server_is_back(running: Installation) -> None:
    add_mail(running.platform)
    with running.platform.transaction() as session:
        queue.add(session, JobKind.INTERVALS, {"run_id": 1}, owner=None)
        session.execute(text("UPDATE job SET postponements = 1, not_before = now() + interval '1 minute'"))

    with mail_server(running.platform) as (_, platform):
        assert end_pauses_of_mail(platform) == 1
        assert end_pauses_of_mail(platform) == 0

    assert running.ask("SELECT kind FROM job WHERE not_before IS NOT NULL") == [("intervals",)]


def test_a_worker_leaves_a_webhook_of_the_release_before_to_a_sender(running: Installation) -> None:
    with running.platform.transaction() as session:
        session.add(Job(kind=JobKind.WEBHOOK, queue=Queue.FOLLOW_UPS, payload={"webhook": 1}, key="1"))

    assert handlers.do_next(running.platform)

    assert running.ask("SELECT queue, lease_until FROM job") == [("webhooks", None)]
    assert not handlers.do_next(running.platform)
    assert attempts.do_next(running.platform, Queue.WEBHOOKS, handlers.HANDLERS)  # there is no such webhook
    assert running.ask("SELECT FROM job") == []


@pytest.mark.sampled
def test_ready_says_after_twenty_seconds_that_nobody_scores_or_sends(running: Installation) -> None:
    http = running.client(running.start_web()).http
    beat = "INSERT INTO heartbeat (name, service, slots, seen_at) VALUES (%s, %s, 1, now() - interval '5 s')"
    for service in ("worker", "sender"):
        running.ask(beat, f"here:{service}", service)

    def waiting() -> list[str]:
        found = http.get("/ready")
        assert (found.status_code, found.json()["ready"]) == (200, True)
        return list(found.json()["waiting"])

    assert eventually(lambda: waiting() == [])
    running.ask("UPDATE heartbeat SET seen_at = now() - interval '21 s' WHERE slots = 1")
    said = awaited(waiting)

    assert said == ["scoring: no worker is alive", "mail and webhooks: no sender is alive"]
