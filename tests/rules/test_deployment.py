"""Checks of a deployment, and their advice."""

from pathlib import Path

import pytest

from app.core.settings import Settings
from app.operations import deployment
from app.operations.deployment import CheckRow, address, clock, mail, secret_problem, secrets

GOOD = "k7Vq2-nRw9_xTz4LmB8c"
SITE, HERE = "https://voc.example.org", "http://127.0.0.1:8000"


def secret_in_file(folder: Path, text: str, mode: int, monkeypatch: pytest.MonkeyPatch) -> CheckRow:
    folder.chmod(0o755)
    file = folder / "metrics_token"
    file.write_text(text)
    file.chmod(mode)
    monkeypatch.setattr(
        deployment, "_is_reachable", lambda _: True
    )  # the temporary folders of tests are not readable by others
    monkeypatch.setenv("HELDOUT_METRICS_TOKEN_FILE", str(file))
    return secrets(Settings.read())


@pytest.mark.parametrize(
    "check",
    [
        clock(-2.0),
        address(HERE, ()),
        address(SITE, ("10.0.0.2",)),
        mail(Settings()),
        secrets(Settings(database_url=f"postgresql://heldout:{GOOD}@db/heldout")),
    ],
)
def test_a_deployment_as_documented_passes_without_advice(check: CheckRow) -> None:
    assert check.advice == ""
    assert check.finding


@pytest.mark.parametrize(
    ("check", "finding", "advice"),
    [
        (clock(2.5), "2.5 s ahead of the database's", "NTP"),
        (address(SITE, ("0.0.0.0/0",)), "fake its address", "TRUSTED_PROXIES"),
        (address("http://voc.example.org", ()), "unencrypted", "HELDOUT_PUBLIC_URL"),
        (address(SITE, ()), "count as one address", "HELDOUT_TRUSTED_PROXIES"),
        (mail(Settings(smtp_host="127.0.0.1", smtp_port=1)), "cannot be used", "HELDOUT_SMTP_"),
        (mail(Settings(public_url=SITE)), "nobody can confirm", "HELDOUT_SMTP_HOST"),
        (secrets(Settings(broker_url="redis://broker/0")), "has no password", "deploy/secrets.sh"),
    ],
)
def test_a_problem_is_reported_with_advice(check: CheckRow, finding: str, advice: str) -> None:
    assert finding in check.finding
    assert advice in check.advice


@pytest.mark.parametrize(
    ("found", "user", "problem"),
    [
        ("", None, "has no password"),
        ("PostGres", None, "tries first"),
        ("sixteen letters and a name", "sixteen letters and a name", "tries first"),
        ("k7Vq2nRw9", None, "has 9 characters, expected 16"),
    ],
)
def test_a_guessable_secret_is_a_problem(found: str, user: str | None, problem: str) -> None:
    assert problem in str(secret_problem(found, user))


@pytest.mark.parametrize(("mode", "is_safe"), [(0o600, True), (0o644, False), (0o620, False)])
def test_a_secret_file_that_others_can_access_is_reported_without_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, *, is_safe: bool
) -> None:
    check = secret_in_file(tmp_path, GOOD, mode, monkeypatch)

    assert bool(check.advice) != is_safe
    assert is_safe or f"others can read or change (mode {mode:o})" in check.finding
    assert GOOD not in str(check)
