"""docker-compose.yml passes every setting to the services that use it, and .env.example explains those that operators set."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from app.core.settings import FILE_SUFFIX, PREFIX, SECRETS, Settings, variable
from app.operations.processes import NOT_FOR_SENDERS, NOT_FOR_WEB, NOT_FOR_WORKERS
from tests.compose_file import configuration
from tests.shared import ROOT

EXAMPLE = (ROOT / ".env.example").read_text()
LINE = re.compile(rf"^#({PREFIX}\w+)=(.*)$", re.MULTILINE)
SERVICES = {"web", "worker", "sender", "beat"}  # `migrate` needs only its database
OF_CADDY = {"HELDOUT_SITE", "HELDOUT_TLS", "HELDOUT_OUTER_PROXIES"}
OF_COMPOSE = OF_CADDY | {"HELDOUT_HTTP", "HELDOUT_HTTPS", "HELDOUT_CERTIFICATES", "HELDOUT_FRONT_NETWORK"}
FIXED = {
    "data": "a folder of the image",
    "host": "every address of the container; HELDOUT_HTTP is that of the machine",
    "port": "that of the container; HELDOUT_HTTP is that of the machine",
    "database_url": "the service `postgres`",
    "migration_database_url": "the service `postgres`",
    "broker_url": "the service `valkey`",
    "storage": "the service `objects` is used in its place",
    "s3_bucket": "the service `bucket` makes it",
    "s3_endpoint": "the service `objects`",
    "s3_redirects": "browsers do not reach the service `objects`",
    "s3_region": "the service `objects` knows no regions",
    "s3_access_key": "deploy/secrets.sh writes the user into objects.json",
    "trusted_proxies": "the network `front`, where only Caddy is beside the web server",
    "private_storage": "the volume `truth`",
    "try_it_now": "only `make run` has the sample",
    "s3_private_bucket": "the volume `truth` is used in its place",
    "s3_private_access_key": "the volume `truth` is used in its place",
    "s3_private_secret_key": "the volume `truth` is used in its place",
}
SET_BY_OPERATORS = Settings.model_fields.keys() - FIXED.keys() - SECRETS


def environments(settings: str = "") -> dict[str, dict[str, str]]:
    """The variables of each service that has settings."""
    services = configuration(settings)["services"]
    return {name: services[name]["environment"] for name in SERVICES}


def as_read(monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> dict[str, Any]:
    """The settings that a service reads from its variables, without its secrets."""
    with monkeypatch.context() as patched:
        for name, value in environment.items():
            if not name.endswith(FILE_SUFFIX):
                patched.setenv(name, value)
        return Settings.read().model_dump()


def test_the_example_explains_exactly_the_settings_that_people_set() -> None:
    lines = EXAMPLE.splitlines()
    named = [name for name, _ in LINE.findall(EXAMPLE)]
    unexplained = [
        line for before, line in pairwise(lines) if LINE.match(line) and not before.startswith("# ")
    ]

    assert sorted(named) == sorted({variable(name) for name in SET_BY_OPERATORS} | OF_COMPOSE)
    assert unexplained == []
    assert [line for line in lines if line and not line.startswith("#")] == []


def test_the_example_shows_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    uncommented = LINE.sub(r"\1=\2", EXAMPLE)
    left_alone, as_shown = configuration()["services"], configuration(uncommented)["services"]

    assert as_shown["caddy"]["ports"] == left_alone["caddy"]["ports"]
    for name in SERVICES:
        shown = as_read(monkeypatch, as_shown[name]["environment"])
        assert shown == as_read(monkeypatch, left_alone[name]["environment"]), name


def test_settings_are_passed_to_every_service_that_may_know_them() -> None:
    chosen = {variable(name): f"the {name}" for name in SET_BY_OPERATORS}
    hidden = {
        "web": NOT_FOR_WEB,
        "worker": NOT_FOR_WORKERS,
        "sender": NOT_FOR_SENDERS,
        "beat": NOT_FOR_WEB | NOT_FOR_WORKERS,
    }

    for service, given in environments(
        "".join(f"{each}='{value}'\n" for each, value in chosen.items())
    ).items():
        expected = chosen.keys() - {variable(name) for name in hidden[service]}
        assert {
            each: value for each, value in given.items() if chosen.get(each) == value
        }.keys() == expected, service


def test_unset_settings_are_not_passed() -> None:
    passed = {variable(name) for name in SET_BY_OPERATORS} & {
        each for environment in environments().values() for each in environment
    }

    assert passed == {"HELDOUT_PUBLIC_URL", "HELDOUT_WEB_PROCESSES"}  # Compose has its own defaults


def test_every_secret_is_a_file_only_for_services_that_may_know_it() -> None:
    services = configuration()["services"]
    known = {
        name: {
            secret for secret in SECRETS if variable(secret) + FILE_SUFFIX in services[name]["environment"]
        }
        for name in SERVICES | {"migrate"}
    }

    assert set().union(*known.values()) == SECRETS - FIXED.keys()
    assert not known["web"] & NOT_FOR_WEB
    assert not known["worker"] & NOT_FOR_WORKERS
    assert not known["sender"] & NOT_FOR_SENDERS
    assert "smtp_password" in known["sender"]
    assert known["beat"] == {"database_password", "broker_password", "s3_secret_key"}
    assert known["migrate"] == {"migration_database_password"}
