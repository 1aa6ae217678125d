import os
import re
from pathlib import Path

import pytest

from app.core.settings import SECRETS, Settings, SettingsError, variable
from app.operations.processes import environment_of
from app.operations.settings_view import LEFT_OUT, groups_of
from app.storage import key_store, private_store, public_store


@pytest.fixture(autouse=True)
def _without_heldout_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("HELDOUT_")]:
        monkeypatch.delenv(name)


def refusal(monkeypatch: pytest.MonkeyPatch, **variables: object) -> str:
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    with pytest.raises(SettingsError) as refused:
        Settings.read()
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("HELDOUT_PORT", "web", "HELDOUT_PORT: found 'web', expected a valid integer"),
        ("HELDOUT_PORT", "70000", "HELDOUT_PORT: found '70000', expected less than or equal to 65535"),
        ("HELDOUT_WORKERS", "0", "HELDOUT_WORKERS: found '0', expected greater than or equal to 1"),
        (
            "HELDOUT_DATABASE_URL",
            "sqlite:///secret.db",
            "HELDOUT_DATABASE_URL: found its value, expected postgresql://user:password@host:5432/database",
        ),
        (
            "HELDOUT_DATABASE_URL",
            "postgresql://heldout:secret@localhost:port/heldout",
            "HELDOUT_DATABASE_URL: found its value, expected postgresql://user:password@host:5432/database",
        ),
        (
            "HELDOUT_BROKER_URL",
            "localhost:secret",
            "HELDOUT_BROKER_URL: found its value, expected redis://:password@host:6379/0",
        ),
        (
            "HELDOUT_BROKER_PASSWORD_FILE",
            "/nowhere/key",
            "HELDOUT_BROKER_PASSWORD_FILE: /nowhere/key cannot be read: No such file or directory",
        ),
    ],
)
def test_an_invalid_value_is_reported_with_what_was_found_and_expected(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    message = refusal(monkeypatch, **{name: value})

    assert message.startswith(sentence)
    assert "secret" not in message


def test_every_invalid_value_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal(monkeypatch, HELDOUT_PORT="web", HELDOUT_WORKERS="many")

    assert [line.partition(":")[0] for line in message.splitlines()] == ["HELDOUT_PORT", "HELDOUT_WORKERS"]


def test_a_value_can_be_read_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("oak\n")
    monkeypatch.setenv("HELDOUT_BROKER_PASSWORD_FILE", str(tmp_path / "key"))

    assert Settings.read().broker_password == "oak"


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_an_empty_secret_file_sets_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    (tmp_path / "empty").write_text("\n")
    monkeypatch.setenv(f"{variable(name)}_FILE", str(tmp_path / "empty"))

    assert not getattr(Settings.read(), name)


def test_a_value_cannot_be_set_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    message = refusal(
        monkeypatch, HELDOUT_BROKER_PASSWORD="elm", HELDOUT_BROKER_PASSWORD_FILE=tmp_path / "key"
    )

    assert message == "HELDOUT_BROKER_PASSWORD and HELDOUT_BROKER_PASSWORD_FILE are both set; expected one"


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELDOUT_PORT", "")
    monkeypatch.setenv("HELDOUT_DATABASE_URL", "")

    assert (Settings.read().port, Settings.read().database_url) == (8000, None)


@pytest.mark.parametrize(
    ("name", "url", "complete"),
    [
        ("DATABASE", "postgres://ash@db/heldout", "postgresql+psycopg://ash:o%2Fk%40@db/heldout"),
        ("BROKER", "redis://queue:6379/0", "redis://:o%2Fk%40@queue:6379/0"),
    ],
)
def test_a_password_from_its_own_file_becomes_part_of_the_url(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, url: str, complete: str
) -> None:
    (tmp_path / "password").write_text("o/k@\n")
    monkeypatch.setenv(f"HELDOUT_{name}_URL", url)
    monkeypatch.setenv(f"HELDOUT_{name}_PASSWORD_FILE", str(tmp_path / "password"))

    settings = Settings.read()

    assert getattr(settings, f"{name.lower()}_url") == complete
    assert getattr(settings, f"{name.lower()}_password") is None


def test_two_passwords_for_one_url_are_refused_without_showing_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    message = refusal(
        monkeypatch, HELDOUT_BROKER_URL="redis://:secret@queue/0", HELDOUT_BROKER_PASSWORD="secret too"
    )

    assert message == "HELDOUT_BROKER_URL and HELDOUT_BROKER_PASSWORD: expected one password"


def test_relative_folders_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELDOUT_DATA", "here")

    assert Settings.read().data == tmp_path / "here"


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("192.168.1.2", "192.168.1.2")],
)
def test_the_local_address_is_one_that_this_server_listens_on(host: str, address: str) -> None:
    assert Settings(host=host, port=8001).local_address == f"http://{address}:8001"


def test_an_invalid_proxy_address_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(monkeypatch, HELDOUT_TRUSTED_PROXIES="10.0.0.2, my-proxy") == (
        "HELDOUT_TRUSTED_PROXIES: found '10.0.0.2, my-proxy', expected addresses or networks, such as "
        "10.0.0.2,192.168.0.0/16"
    )


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"s3_access_key": "key"},
            "HELDOUT_S3_ACCESS_KEY and HELDOUT_S3_SECRET_KEY: expected both or neither",
        ),
        ({"s3_endpoint": "host"}, "HELDOUT_S3_ENDPOINT: found 'host', expected https://host:port"),
        (
            {"max_upload": 6 << 30},
            "HELDOUT_MAX_UPLOAD: found 6442450944, expected at most 5368709120",
        ),
    ],
)
def test_invalid_bucket_settings_are_refused_at_the_start(changed: dict[str, object], sentence: str) -> None:
    settings = Settings.read().model_copy(update={"s3_bucket": "public", **changed})

    with pytest.raises(SettingsError, match=re.escape(sentence)):
        public_store(settings, "archives")


def test_every_store_has_its_own_location(tmp_path: Path) -> None:
    in_folders = Settings.read().model_copy(
        update={"data": tmp_path, "private_storage": tmp_path / "private"}
    )
    in_buckets = in_folders.model_copy(update={"s3_bucket": "public", "s3_private_bucket": "truth"})

    for settings in (in_folders, in_buckets):
        names = ("archives", "descriptions", "artefacts", "files", "intake")
        public = [public_store(settings, name) for name in names]
        assert len({private_store(settings), key_store(settings), *public}) == 7
    assert private_store(Settings.read()) is None


def test_admins_see_every_setting_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = '[{"id": "uni", "name": "Our University", "issuer": "https://id.example.org", "client_id": "a", "client_secret": "hush"}]'
    monkeypatch.setenv("HELDOUT_LOGIN_PROVIDERS", provider)
    monkeypatch.setenv("HELDOUT_DATABASE_URL", "postgresql://heldout:hush@localhost/heldout")
    monkeypatch.setenv("HELDOUT_BROKER_URL", "redis://:hush@localhost:6379/0")
    monkeypatch.setenv("HELDOUT_METRICS_TOKEN", "hush" * 8)
    monkeypatch.setenv("HELDOUT_S3_ACCESS_KEY", "hush")
    monkeypatch.setenv("HELDOUT_S3_SECRET_KEY", "hush")
    monkeypatch.setenv("HELDOUT_MAX_UPLOAD", str(64 << 20))

    shown = {each.variable: each for group in groups_of(Settings.read()) for each in group.settings}

    assert shown.keys() == {variable(name) for name in set(Settings.model_fields) - LEFT_OUT}
    assert not any("hush" in each.value for each in shown.values())
    assert shown["HELDOUT_LOGIN_PROVIDERS"].value == "Our University"
    assert (shown["HELDOUT_MAX_UPLOAD"].value, shown["HELDOUT_MAX_UPLOAD"].is_fixed) == ("64 MiB", True)
    assert not shown["HELDOUT_REGISTRATION"].is_fixed
    assert shown["HELDOUT_DATABASE_URL"].value == "set, not shown"


def test_a_process_knows_which_settings_somebody_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELDOUT_WORKERS", "3")

    passed_on = environment_of(Settings.read(), without=set())

    assert {name for name in passed_on if name.startswith("HELDOUT_")} == {"HELDOUT_WORKERS"}
