"""The corpus of hostile uploads sent to a real server, whose limits hold for each of them."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import Problem, Validation
from tests.attacks import ACTIONS, CLASSES, Upload, failure_of, read_manifest
from tests.scoring.builders import Kit, annotation, part, thing
from tests.system.installations import Client, Installation, good, installation
from tests.system.process_trees import bytes_of, is_alive, tree_of
from tests.system.servers import OwnServers

pytestmark = [pytest.mark.slow, pytest.mark.shared, pytest.mark.system, pytest.mark.timeout(900)]

PHASE = "attacked/test"
SENDERS = 3  # concurrent uploads, because most of the time is spent waiting
MOST_SECONDS = 30
MOST_MIB = 512
INNOCENT = "valid_comp3_tgz_gnu_format"


@dataclass(frozen=True)
class Attacked:
    """A server under attack, and what it did with each upload."""

    running: Installation
    attacker: Client
    pids: dict[str, int]
    answers: dict[str, Any]
    seconds: dict[str, float]
    most_mib: float


@pytest.fixture(scope="module")
def uploads(attacks: Path) -> list[Upload]:
    return list(read_manifest(attacks))


@pytest.fixture(scope="module")
def attacked(
    own_servers: OwnServers, attacks: Path, uploads: list[Upload], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Attacked]:
    """Every upload of the corpus, sent once."""
    with installation(own_servers) as running:
        running.load(kit_of(attacks, tmp_path_factory.mktemp("kit")), "attacked")
        address = running.start_web()
        running.start_worker()
        attacker = running.participant(address, "mallory")
        pids = {name: running.pid(name) for name in ("web", "worker")}
        with ThreadPoolExecutor(SENDERS) as senders:
            timed = list(senders.map(lambda upload: timed_send(attacker, upload), uploads))
        answers = {upload.name: answer for upload, (answer, _) in zip(uploads, timed, strict=True)}
        seconds = {upload.name: took for upload, (_, took) in zip(uploads, timed, strict=True)}
        most = max(bytes_of(each, "VmHWM") for pid in pids.values() for each in tree_of(pid))
        yield Attacked(running, attacker, pids, answers, seconds, most / 2**20)


def kit_of(attacks: Path, folder: Path) -> Path:
    """A tree with the images, classes and persons that the corpus refers to."""
    images = (attacks / "images.txt").read_text().split()
    act = "<actions>" + "".join(f"<{action}>1</{action}>" for action in ACTIONS.split()) + "</actions>"
    things = [thing(name) for name in CLASSES.split() if name != "person"]
    person = thing("person", (1, 1, 90, 90), parts=part("head") + act)
    kit = Kit(folder / "VOC2012")
    ones = "1 " * len(images)
    kit.main(
        {image: annotation(person, *things, width=500, height=375) for image in images},
        dict.fromkeys(CLASSES.split(), ones),
    )
    kit.write("ImageSets/Segmentation/test.txt", "".join(f"{image}\n" for image in images))
    kit.write("ImageSets/Layout/test.txt", "".join(f"{image} 1\n" for image in images))
    kit.write("ImageSets/Action/test.txt", "".join(f"{image}\n" for image in images))
    for image in images:
        kit.mask(image, np.zeros((375, 500), np.uint8))
    for action in ACTIONS.split():
        kit.write(f"ImageSets/Action/{action}_test.txt", "".join(f"{image} 1 1\n" for image in images))
    return kit.root


def timed_send(attacker: Client, upload: Upload) -> tuple[Any, float]:
    """The answer, and the seconds it took."""
    begun = time.monotonic()
    answer = send(attacker, upload)
    return answer, time.monotonic() - begun


def send(attacker: Client, upload: Upload) -> Any:
    asked = upload.asked_for()
    response = attacker.http.put(
        f"/api/v1/challenges/{PHASE}/uploads",
        params={"filename": upload.path.name} | ({"competition": asked} if asked else {}),
        content=upload.path.read_bytes(),
    )
    assert response.status_code < 500, f"{upload.name}: {response.text}"
    return response.json()


def test_every_upload_gets_the_expected_result_and_message(attacked: Attacked, uploads: list[Upload]) -> None:
    wrong = {
        each.name: failure
        for each in uploads
        if (failure := failure_of(each, validation_of(attacked.answers[each.name])))
    }

    assert len(uploads) > 200
    assert wrong == {}


def validation_of(answer: Any) -> Validation:
    """The report of an upload; for a single file refused at once, the problems in its refusal."""
    if "report" in answer:
        return Validation.from_json(answer["report"])
    problems = tuple(Problem(code=each["code"], message=each["message"]) for each in answer["problems"])
    refused = problems or (Problem(code=answer["code"], message=answer["detail"]),)
    return Validation(competitions=(), problems=refused, notes=(), unlisted={}, members=0, unpacked=0)


def test_every_upload_is_answered_in_time_and_in_little_memory(attacked: Attacked) -> None:
    assert max(attacked.seconds.values()) < MOST_SECONDS
    assert attacked.most_mib < MOST_MIB


def test_no_response_reveals_a_server_path_a_traceback_or_an_account(attacked: Attacked) -> None:
    for name, answer in attacked.answers.items():
        text = json.dumps(answer)
        for secret in (str(attacked.running.settings.data), "Traceback", "root:x:", "/site-packages/"):
            assert secret not in text, name


def test_nothing_is_written_outside_storage_and_no_partial_file_remains(
    attacked: Attacked, attacks: Path
) -> None:
    assert not list(attacked.running.platform.archives.partials())
    assert not Path("/tmp/voc_escape.txt").exists()
    assert (attacks / "CANARY.txt").read_text() == "do not touch\n"


def test_the_same_processes_still_run(attacked: Attacked) -> None:
    assert {name: attacked.running.pid(name) for name in attacked.pids} == attacked.pids
    assert all(is_alive(pid) for pid in attacked.pids.values())


def test_a_refused_upload_leaves_no_result_and_cannot_be_confirmed(attacked: Attacked) -> None:
    refused = [answer for answer in attacked.answers.values() if answer.get("valid") is False]

    answers = [
        attacked.attacker.confirm(answer["id"], f"attack {number}")
        for number, answer in enumerate(refused[:20])
    ]

    assert refused
    assert {answer.status_code for answer in answers} == {422}
    assert attacked.running.ask("SELECT name FROM method WHERE name LIKE 'attack%%'") == []


def test_the_next_valid_upload_is_scored(attacked: Attacked) -> None:
    number = good(attacked.attacker.confirm(attacked.answers[INNOCENT]["id"], "innocent", competitions=(3,)))[
        "id"
    ]

    submission = attacked.attacker.final(number)

    [result] = submission["results"]
    assert result["state"] == "scored"
    assert [row["method"] for row in attacked.attacker.board(PHASE)["rows"]] == ["innocent"]
