"""Calling addresses that other people chose: only public ones, only once resolved, and never for long."""

import ssl
import time
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path

import httpx2
import pytest

from app.notifications import calling
from app.notifications.calling import FORBIDDEN, UNANSWERED, Allowed, CallOutcome, checked_url, is_callable
from tests.certificates import certificate_for_localhost
from tests.patience import HANGS
from tests.webhook_receiver import ELSEWHERE, HERE, Receiver, receiving

LAB = Allowed(http=True, networks=(ip_network(f"{HERE}/32"),))


class Names:
    """A resolver that answers with the next of these lists, and counts."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, host: str, _port: int) -> list[str]:
        self.asked.append(host)
        return self.answers.pop(0)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def call(
    receiver: Receiver,
    path: str,
    names: Names,
    host: str = "hook.example",
    *,
    tls: ssl.SSLContext | None = None,
) -> CallOutcome:
    url = f"{receiver.scheme}://{host}:{receiver.port}{path}"
    return calling.post(url, b"{}", {"webhook-id": "1"}, LAB, resolver=names, tls=tls)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org/services/T0/B0",
        "https://hooks.example.org:8443/a?b=c",
        "https://hooks.example.org:80/",
        "https://9.9.9.9/a",
        "https://[2620:fe::fe]/a",
        "https://xn--bcher-kva.example/",
    ],
)
def test_https_to_usual_ports_of_public_hosts_may_be_called(url: str) -> None:
    assert checked_url(f" {url} ", Allowed()) == url


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://hooks.example.org/", "https://"),
        ("ftp://hooks.example.org/", "https://"),
        ("hooks.example.org/a", "https://"),
        ("https:///a", "host"),
        ("https://exa mple.org/", "host"),
        ("https://user:secret@hooks.example.org/", "user name"),
        ("https://hooks.example.org/a#b", "fragment"),
        ("https://hooks.example.org:22/", "port"),
        ("https://hooks.example.org:99999/", "port"),
        ("https://hooks.example.org/" + "a" * 500, "500 characters"),
        ("https://10.0.0.1/", "public"),
        ("https://[::1]/", "public"),
        ("https://[::ffff:127.0.0.1]/", "public"),
        ("https://hooks.example.org:port/", "URL"),
    ],
)
def test_other_urls_are_refused_with_a_reason(url: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        checked_url(url, Allowed())


PRIVATE = """
    0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.9.9.9 169.254.169.254 172.16.0.1 192.0.0.8 192.0.2.1 192.88.99.1 192.168.0.1
    198.18.0.1 203.0.113.9 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
    :: ::1 ::127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1
    2001::1 2001:db8::1 2002:7f00:1:: 2002:a9fe:a9fe::1 3fff::1 5f00::1 fc00::1 fd12::1 fe80::1 fec0::1 ff02::1
"""
PUBLIC = "8.8.8.8 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1"


def test_private_and_special_addresses_are_not_called_in_any_disguise() -> None:
    assert [each for each in PRIVATE.split() if is_callable(ip_address(each), ())] == []
    assert [each for each in PUBLIC.split() if not is_callable(ip_address(each), ())] == []


def test_only_the_networks_that_the_operator_names_are_called_besides() -> None:
    networks = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))

    assert is_callable(ip_address("10.1.2.3"), networks)
    assert is_callable(ip_address("::ffff:10.1.2.3"), networks)
    assert is_callable(ip_address("fd00::1"), networks)
    assert not is_callable(ip_address("192.168.0.1"), networks)


def test_a_call_reaches_the_resolved_address_under_the_name(receiver: Receiver) -> None:
    names = Names([HERE])

    outcome = call(receiver, "/ok", names)

    assert (outcome.status, outcome.problem) == (200, "")
    assert 0 < outcome.seconds < HANGS
    [sent] = receiver.sent
    assert sent.headers["host"] == f"hook.example:{receiver.port}"
    assert (sent.headers["webhook-id"], sent.body) == ("1", b"{}")


def test_a_name_is_resolved_once_so_that_changing_it_leads_nowhere_else(receiver: Receiver) -> None:
    names = Names([HERE], [ELSEWHERE])

    assert call(receiver, "/ok", names).problem == ""
    assert names.asked == ["hook.example"]
    assert call(receiver, "/ok", names).problem == FORBIDDEN
    assert len(receiver.sent) == 1


@pytest.mark.parametrize(
    "found", [[ELSEWHERE], [HERE, ELSEWHERE], ["169.254.169.254"], ["::ffff:127.0.0.2"], ["fe80::1%1"]]
)
def test_a_name_with_a_forbidden_address_is_not_called_at_all(receiver: Receiver, found: list[str]) -> None:
    assert call(receiver, "/ok", Names(found)).problem == FORBIDDEN
    assert receiver.sent == []


@pytest.mark.parametrize("found", [[], ["not an address"]])
def test_a_name_without_an_address_is_reported_as_one_in_a_private_network(
    receiver: Receiver, found: list[str]
) -> None:
    assert call(receiver, "/ok", Names(found)).problem == FORBIDDEN


def test_redirects_are_not_followed(receiver: Receiver) -> None:
    outcome = call(receiver, "/redirect", Names([HERE]))

    assert (outcome.status, outcome.problem) == (302, "redirects are not followed")
    assert [each.path for each in receiver.sent] == ["/redirect"]


@pytest.mark.parametrize("path", ["/hang", "/drip"])
def test_a_slow_receiver_is_left_in_time(
    receiver: Receiver, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "TOTAL_SECONDS", 0.6)
    monkeypatch.setattr(calling, "DRAIN_SECONDS", 0.4)
    before = time.monotonic()

    outcome = call(receiver, path, Names([HERE]))

    expected = (None, UNANSWERED) if path == "/hang" else (200, "")  # the status is all that counts
    assert (outcome.status, outcome.problem) == expected
    assert time.monotonic() - before < HANGS / 2


def test_a_slow_resolver_is_left_in_time(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(_host: str, _port: int) -> list[str]:
        receiver.leaves.wait(HANGS)
        return [HERE]

    monkeypatch.setattr(calling, "TOTAL_SECONDS", 0.3)
    before = time.monotonic()

    outcome = calling.post(f"http://hook.example:{receiver.port}/ok", b"", {}, LAB, resolver=hangs)

    assert outcome.problem == UNANSWERED
    assert time.monotonic() - before < HANGS / 2
    assert receiver.sent == []


def test_of_an_endless_answer_only_the_beginning_is_read(receiver: Receiver) -> None:
    outcome = call(receiver, "/flood", Names([HERE]))

    assert (outcome.status, outcome.problem) == (200, "")
    assert receiver.written < 16 << 20  # what fits into the buffers of both sides


def test_the_next_address_of_a_name_is_tried_if_one_refuses(receiver: Receiver) -> None:
    allowed = Allowed(http=True, networks=(ip_network("127.0.0.0/8"),))
    url = f"http://hook.example:{receiver.port}/ok"

    outcome = calling.post(url, b"", {}, allowed, resolver=Names(["127.0.0.3", HERE]))

    assert outcome.status == 200


def test_what_went_wrong_is_said_without_quoting_the_receiver(receiver: Receiver) -> None:
    noise = call(receiver, "/noise", Names([HERE]))
    receiver.statuses.append(503)
    error = call(receiver, "/ok", Names([HERE]))
    with receiving() as gone:
        pass
    closed = call(gone, "/ok", Names([HERE]))

    assert noise.problem == "the connection broke off, or the answer is not HTTP"
    assert (error.status, error.problem) == (503, "the receiver answered with an error")
    assert closed.problem == "the connection was refused"


def test_a_certificate_has_to_be_valid_for_the_name_and_not_for_the_address(tmp_path: Path) -> None:
    certificate, key = certificate_for_localhost(tmp_path)
    server, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=certificate)
    server.load_cert_chain(certificate, key)
    with receiving(server) as receiver:
        good = call(receiver, "/ok", Names([HERE]), "localhost", tls=trusting)
        other_name = call(receiver, "/ok", Names([HERE]), tls=trusting)
        unknown = call(receiver, "/ok", Names([HERE]), "localhost", tls=httpx2.create_ssl_context())

    assert (good.status, good.problem) == (200, "")
    assert other_name.problem == unknown.problem == "the certificate is not valid for this name"
    assert len(receiver.sent) == 1


def test_a_url_that_is_no_longer_allowed_is_not_called(receiver: Receiver) -> None:
    outcome = calling.post(receiver.url, b"", {}, Allowed())

    assert "do not allow http://" in outcome.problem
    assert receiver.sent == []
