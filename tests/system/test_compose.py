"""The services of docker-compose.yml, started with their own commands, users and variables, serve and score."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.system.compose_site import ADMINISTERING, PHASE, WORKERS, Site, composed
from tests.system.containers import Mount, completed
from tests.system.holds import in_a_pipe
from tests.system.installations import LONGEST, Client, awaited
from tests.system.kits import results
from tests.system.process_trees import stopped, tree_of
from tests.system.servers import OwnServers, eventually

pytestmark = [pytest.mark.slow, pytest.mark.system]

FOLLOW_UPS = "SELECT FROM job WHERE queue = 'follow-ups' AND dead_at IS NULL"


@pytest.fixture(scope="module")
def site(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with composed(own_servers, tmp_path_factory.mktemp("project")) as started:
        started.start()
        started.load(tmp_path_factory.mktemp("kit"))
        yield started


@pytest.fixture(scope="module")
def person(site: Site) -> Iterator[Client]:
    with site.client(site.participant("Oak")) as client:
        yield client


def truth_of(site: Site) -> Path:
    """The ground truth file, next to the statistics of scored runs."""
    [(key,)] = site.ask("SELECT fingerprint || '-' || replace(public_id::text, '-', '') FROM ground_truth")
    [found] = site.project.volume("truth").rglob(key)
    return found


def test_every_service_passes_its_own_health_check(site: Site) -> None:
    for name in ("web", "worker-1", "sender", "beat"):
        assert eventually(partial(site.project.is_healthy, name)), site.project.healthcheck(name)


def test_the_web_server_can_neither_find_nor_read_ground_truth(site: Site) -> None:
    project = site.project
    volume = Mount(project.volume("truth"), Path("/truth"))
    truth = truth_of(site)
    inside = str(volume.target / truth.relative_to(volume.source))

    def found(name: str) -> str:
        return project.execute(name, "head", "-c", "1", inside).stderr

    thief = replace(project.container("web", "thief", mounts=[volume]), command=["head", "-c", "1", inside])

    assert re.search(
        "No such file|Permission denied", found("web")
    )  # the image has this folder, inaccessible and empty
    assert found("worker-1") == ""
    assert "Permission denied" in completed(thief.start_command(), LONGEST).stderr
    for pid in tree_of(project.pid("web")):
        known = Path(f"/proc/{pid}/environ").read_text() + Path(f"/proc/{pid}/mountinfo").read_text()
        assert "HELDOUT_DATABASE_URL" in known
        assert not re.search("PRIVATE|truth|owner", known)
    assert "HELDOUT_PRIVATE_STORAGE" in Path(f"/proc/{project.pid('worker-1')}/environ").read_text()


@pytest.mark.parametrize(
    "command",
    sorted(
        {*re.findall(r"^ *docker compose exec (\w+) (heldout-server check.*)$", ADMINISTERING, re.MULTILINE)}
    ),
)
def test_the_deployment_passes_its_own_check_as_documented(site: Site, command: tuple[str, str]) -> None:
    service, words = command
    name = {"worker": "worker-1"}.get(service, service)
    done = site.project.execute(name, *words.split())

    assert done.returncode == 0, done.stdout
    assert "none failed" in done.stdout


def test_without_a_mail_server_mail_is_written_to_a_volume(site: Site, person: Client) -> None:
    assert person.http.base_url
    assert eventually(lambda: any(site.project.volume("sent").glob("*.eml")))


def test_services_write_only_to_their_volumes_and_have_no_root_capability(site: Site) -> None:
    for name in ("web", "worker-1", "beat"):
        status = Path(f"/proc/{site.project.pid(name)}/status").read_text()
        assert {line.split()[1] for line in re.findall(r"^Cap(?:Prm|Eff|Bnd).+$", status, re.MULTILINE)} == {
            "0" * 16
        }
        assert "NoNewPrivs:\t1" in status
        assert site.project.execute(name, "touch", "/data/file").stderr
        assert site.project.execute(name, "touch", "/tmp/file").returncode == 0


def test_either_worker_finishes_what_the_killed_one_had_begun(site: Site, person: Client) -> None:
    project = site.project
    truth = truth_of(site)
    queued = [person.submit(PHASE, results(cat=count), f"Queued {count}") for count in range(1, 5)]
    assert {person.final(each)["results"][0]["state"] for each in queued} == {"scored"}

    for killed, other in (WORKERS, WORKERS[::-1]):
        # follow-up jobs read the ground truth, too, and would occupy both processes of the worker
        assert eventually(lambda: not site.ask(FOLLOW_UPS), LONGEST)
        with in_a_pipe(truth) as pipe:
            os.chown(pipe.path, truth.parent.stat().st_uid, -1)
            with stopped(tree_of(awaited(partial(project.processes.pid, other)))):
                begun = person.submit(PHASE, results(cat=5, dog=5), f"Begun on {killed}")
                assert eventually(lambda: bool(site.ask("SELECT FROM run WHERE state = 'running'")))
                project.kill(killed)
            pipe.put_back()
        assert person.final(begun)["results"][0]["state"] == "scored"
        assert site.ask("SELECT FROM run WHERE state = 'failed'") == []
        project.up("worker", killed)

    assert eventually(lambda: len(person.means(PHASE)) == 6)
