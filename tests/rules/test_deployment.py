"""What is right about a deployment, and what is said of what is not."""

from pathlib import Path

import pytest

from app.deployment import rules
from app.deployment.schemas import (
    Address,
    Announced,
    Broker,
    Check,
    Disk,
    Mail,
    Role,
    Secret,
    SecretFile,
    State,
    Truths,
    WebSecrets,
)
from app.health.schemas import Part

GOOD = "k7Vq2-nRw9_xTz4LmB8c"
SITE, HERE = "https://voc.example.org", "http://127.0.0.1:8000"
MODEST = Role(
    "heldout", is_superuser=False, may_manage=False, owned_tables=0, may_create=False, may_rewrite=()
)
OWNER = Role(
    "boss", is_superuser=True, may_manage=True, owned_tables=3, may_create=True, may_rewrite=("audit",)
)


def secret(text: str, *, user: str | None = None, mode: int = 0o600, path: str = "/etc/heldout/key") -> Check:
    file = SecretFile(Path(path), mode, is_reachable=True)
    return rules.secrets([Secret("HELDOUT_S3_SECRET_KEY", text, user, file)])


@pytest.mark.parametrize(
    "check",
    [
        rules.role(MODEST),
        rules.schema(None),
        rules.clock(-2.0),
        rules.room(1 << 30, has_room=True),
        rules.broker(Broker("noeviction", 1 << 30)),
        rules.broker(Broker("allkeys-lru", 0)),
        rules.workers({"2": 4}, "2"),
        rules.workers({"2": 4, "1": 1}, "2"),
        rules.sweep(Part("ok", 3.0)),
        rules.jobs(Part("ok", 0.0), Part("ok", 0)),
        rules.store("store of archives", None),
        rules.truth_of_worker(Truths(2)),
        rules.truth_of_web(WebSecrets(()), shares_user=False),
        rules.truth_of_web(WebSecrets((), Path("/data/private")), shares_user=True),
        rules.disk([Disk(Path("/tmp"), 5 << 30), Disk(Path("/data"), 4 << 30)], 4 << 30),
        rules.secrets([Secret("HELDOUT_DATABASE_URL", GOOD)]),
        secret(GOOD),
        secret(GOOD, mode=0o444, path="/run/secrets/s3_secret_key"),
        rules.address(Address(HERE, ())),
        rules.address(Address(SITE, ("10.0.0.2",))),
        rules.upload_limit(Announced(status=401), SITE, 2 << 30),
        rules.upload_limit(Announced(), SITE, 2 << 30),
        rules.mail(Mail("mail.example.org", "heldout@example.org"), SITE),
        rules.mail(Mail(None, "heldout@localhost"), HERE),
    ],
)
def test_what_the_documents_ask_for_passes_and_asks_for_nothing(check: Check) -> None:
    assert (check.state, check.advice) == (State.OK, "")
    assert check.finding


@pytest.mark.parametrize(
    ("check", "finding", "advice"),
    [
        (rules.role(OWNER), "boss is a superuser, may manage", "HELDOUT_MIGRATION_DATABASE_URL"),
        (rules.role(OWNER), "owns 3 tables, may create tables, may change or delete rows of audit", "LOGIN"),
        (rules.schema("it is older; run `heldout-server migrate`"), "it is older", "heldout-server migrate"),
        (rules.clock(2.04), "2.0 s ahead of the database's", "NTP"),
        (rules.clock(-90), "90.0 s behind", "NTP"),
        (rules.room(3 << 30, has_room=False), "no room for 64 MiB beside the 3.0 GiB", "507"),
        (rules.broker(Broker("allkeys-lru", 1 << 30)), "allkeys-lru", "noeviction"),
        (rules.workers({}, "2"), "no worker of scorer version 2 was alive", "heldout-server worker"),
        (rules.workers({"1": 4}, "2"), "only of 1", "update the workers"),
        (rules.sweep(Part("never")), "there was no sweep yet", "heldout-server beat"),
        (rules.sweep(Part("late", 61.5)), "61.5 s ago", "heldout-server beat"),
        (rules.jobs(Part("late", 90.0), Part("ok", 0)), "the oldest job is 90 s late", "/admin"),
        (rules.jobs(Part("late", 90.0), Part("failed", 3)), "late, 3 jobs were given up", "/admin"),
        (rules.store("store of archives", "Read-only file system"), "Read-only", "writable"),
        (rules.truth_of_worker(Truths(0, error="No such file")), "No such file", "mount it"),
        (rules.truth_of_worker(Truths(5, ("a", "b", "c", "d"))), "4 of 5 are not there: a, b, c", "restore"),
        (rules.truth_of_worker(Truths(1, exposure="/truth is open")), "/truth is open", "close it"),
        (rules.truth_of_web(WebSecrets(("HELDOUT_PRIVATE_STORAGE",)), shares_user=True), "PRIVATE", "remove"),
        (rules.truth_of_web(WebSecrets((), bucket="voc"), shares_user=False), "bucket voc", "of its own"),
        (rules.truth_of_web(WebSecrets((), Path("/t")), shares_user=False), "can read /t", "another user"),
        (rules.disk([Disk(Path("/data"), 1 << 30)], 4 << 30), "1.0 GiB for /data; expected 4.0", "make room"),
        (secret(""), "has no password", "deploy/secrets.sh"),
        (secret("PostGres"), "tries first", "generate"),
        (secret("sixteen letters and a name", user="sixteen letters and a name"), "tries first", "generate"),
        (secret("k7Vq2nRw9"), "has 9 characters, expected 16", "generate"),
        (secret("abababababababababab"), "repeats a few characters", "generate"),
        (secret(GOOD, mode=0o644), "others can read or change (mode 644)", "mode 600"),
        (secret(GOOD, mode=0o620), "others can read or change (mode 620)", "mode 600"),
        (rules.address(Address(SITE, ("0.0.0.0/0",))), "pretend to be anybody", "TRUSTED_PROXIES"),
        (rules.address(Address("http://voc.example.org", ())), "unencrypted", "HELDOUT_PUBLIC_URL"),
        (rules.address(Address(SITE, ())), "count as one address", "HELDOUT_TRUSTED_PROXIES"),
        (rules.upload_limit(Announced(status=413), SITE, 2 << 30), "2.0 GiB", "client_max_body_size"),
        (rules.mail(Mail("m", "h@m", "m cannot be used: refused"), SITE), "refused", "HELDOUT_SMTP_"),
        (rules.mail(Mail(None, "heldout@example.org"), SITE), "nobody can confirm", "HELDOUT_SMTP_HOST"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_what_to_do_about_it(check: Check, finding: str, advice: str) -> None:
    assert check.state is State.FAILED
    assert finding in check.finding
    assert advice in check.advice


def test_a_proxy_that_cannot_be_reached_from_here_is_not_taken_for_a_fault() -> None:
    check = rules.upload_limit(Announced(error="timed out"), SITE, 2 << 30)

    assert (check.state, check.finding) == (
        State.SKIPPED,
        f"{SITE} cannot be reached from here (timed out); send a large archive from outside",
    )


def test_a_secret_is_in_no_message() -> None:
    assert GOOD not in str(secret(GOOD, mode=0o666)) + repr(Secret("HELDOUT_S3_SECRET_KEY", GOOD))
