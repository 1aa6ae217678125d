"""What archives cost: on their way to the server, through its check and through the queue."""

import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import httpx2

from app.web.error_responses import TUS_VERSION
from benchmarks.loads.detections import COMPETITION, write_detections
from benchmarks.loads.scene import CLASSES, DATASET, Scene, draw_scene
from benchmarks.server.goals import Goal, Wanted
from benchmarks.server.processor import resident
from benchmarks.server.waits import waits_beside
from tests.scoring.builders import Kit, annotation, thing
from tests.system.installations import Client, Installation, good, installation
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers, eventually

PHASE: Final = "archives/test"
SENDERS: Final = 4
SLOW: Final = 50
MB: Final = 1_000_000
LARGE: Final = 50 * MB
LARGE_ONES: Final = 10
HOUR: Final = 3600.0
LONGEST: Final = 1800.0  # seconds in which anything here has to end
NIGHT: Final = 500  # archives
AGAIN: Final = 10_000  # runs
LIVE: Final = 10  # results that are sent during a re-scoring

CHECKED = Wanted(
    "archives of 1.6 MB with 100,000 lines, sent and checked, four people at a time",
    "≥ 8/s", 8, unit="{:.1f}/s", more_is_better=True,
)  # fmt: skip
ARRIVED = Wanted(
    "archives of 50 MB that arrive, two at a time", "≥ 60 MB/s", 60, unit="{:.0f} MB/s", more_is_better=True
)
BESIDE_SLOW = Wanted(
    "others' p99 beside 50 people who send a kilobyte ten times a second", "≤ 2×", 2, unit="{:.1f}×"
)
DRAINED = Wanted(
    "500 such archives of 100,000 lines drained by two workers", "≤ 10 min", 10, unit="{:.1f} min"
)
WORKER = Wanted("memory of a scoring process of a worker after that", "≤ 512 MiB", 512, unit="{:.0f} MiB")
SCORED_AGAIN = Wanted("re-scoring of 10,000 small archives by a worker", "≤ 3 h", 3, unit="{:.2f} h")
BESIDE_AGAIN = Wanted("confirm → score during that, against an idle worker", "≤ 2×", 2, unit="{:.1f}×")


def measure_archives(servers: OwnServers, archives: int, seconds: float, images: int) -> Iterator[Goal]:
    """The rows of the table on archives.

    archives: that are sent and drained; seconds: of each measurement of waits; images: of the ground truth.
    """
    scene = draw_scene(images)
    with installation(servers) as running, tempfile.TemporaryDirectory() as folder:
        archive = write_detections(Path(folder), scene, "small").archive.read_bytes()
        running.load(_kit_of(scene, Path(folder)), "archives", quota=archives)
        address = running.start_web()
        people = [running.participant(address, f"Sender {number}") for number in range(SENDERS)]
        yield from _arrived(running, people[:2])
        token = people[0].http.headers["Authorization"]
        waits = waits_beside(running, "/challenges/archives", seconds, "benchmarks.server.archives", token)
        yield BESIDE_SLOW.measured(waits.ratio, str(waits))
        yield from _drained(running, people, archive, archives)


def _kit_of(scene: Scene, folder: Path) -> Path:
    """The development kit of a scene."""
    things = [
        thing(CLASSES[name], (left, top, right, bottom), said="difficult" if hard else "")
        for name, (left, top, right, bottom), hard in zip(
            scene.name, scene.boxes.tolist(), scene.difficult, strict=True
        )
    ]
    by_image: dict[int, list[str]] = {}
    for image, one in zip(scene.image.tolist(), things, strict=True):
        by_image.setdefault(image, []).append(one)
    images = {
        name: annotation(*by_image.get(place, ()), width=int(size[0]), height=int(size[1]))
        for place, (name, size) in enumerate(zip(scene.ids, scene.sizes, strict=True))
    }
    labels = {
        name: " ".join(map(str, row)) for name, row in zip(CLASSES, scene.labels().tolist(), strict=True)
    }
    return Kit(folder / DATASET).main(images, labels).root


def _arrived(running: Installation, people: list[Client]) -> Iterator[Goal]:
    """Bytes that are taken and flushed, one byte short of the archive, so that nothing is checked."""
    content = bytes(LARGE)
    before = resident(running.pid("web"))

    def send(person: Client) -> None:
        for _ in range(LARGE_ONES // len(people)):
            where = person.create(PHASE, LARGE + 1)
            response = person.append(where, content, 0)
            if response.status_code != 204:
                raise ValueError(response.text)

    begun = time.perf_counter()
    with ThreadPoolExecutor(len(people)) as senders:
        list(senders.map(send, people))
    rate = LARGE_ONES * LARGE / MB / (time.perf_counter() - begun)
    grown = (resident(running.pid("web")) - before) / MB
    yield ARRIVED.measured(rate, f"; the web process grew by {grown:.0f} MB")


def _drained(running: Installation, people: list[Client], archive: bytes, count: int) -> Iterator[Goal]:
    """Send every archive and confirm it while no worker runs, then wait for two of them."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(len(people)) as senders:
        turns = zip(itertools.cycle(people), range(count), strict=False)
        sent = list(senders.map(lambda turn: (turn[0], turn[0].upload(PHASE, archive)), turns))
    yield CHECKED.measured(count / (time.perf_counter() - begun))
    for number, (person, upload) in enumerate(sent):
        good(person.confirm(upload, f"Method {number}", competitions=(COMPETITION,)))
    begun = time.perf_counter()
    for name in ("one", "other"):
        running.start_worker(name, workers=1)
    took = _until_all_are_scored(running) - begun
    minutes = took * NIGHT / count / 60
    yield DRAINED.measured(minutes, f" ({count} in {took:.0f} s, with the start of the workers)")
    yield WORKER.measured(max(map(resident, running.pool("one"))) / 2**20)


def _until_all_are_scored(running: Installation) -> float:
    """Wait until no run is left and no re-scoring is under way; when that was. Raises ValueError where that takes too long."""
    left = (
        "SELECT (SELECT count(*) FROM run WHERE state <> 'scored')"
        " + (SELECT count(*) FROM rescore WHERE activated_at IS NULL)"
    )
    if not eventually(lambda: running.ask(left) == [(0,)], LONGEST):
        states = running.ask("SELECT state, count(*) FROM run GROUP BY state")
        raise ValueError(f"not all is scored after {LONGEST:.0f} s: {states}")
    return time.perf_counter()


def measure_scoring_again(servers: OwnServers, again: int, live: int = LIVE) -> Iterator[Goal]:
    """The rows of the table on a re-scoring by a worker; again: how many are scored again; live: how many are sent meanwhile."""
    with installation(servers) as running, tempfile.TemporaryDirectory() as folder:
        running.load(small_kit(Path(folder)), "archives", quota=again + 2 * live)
        address = running.start_web()
        running.start_worker()
        oak = running.participant(address, "Oak")
        content = results(cat=5, dog=5)
        for number in range(again):
            oak.submit(PHASE, content, f"Method {number}")
        _until_all_are_scored(running)
        alone = _waits_for_scores(oak, "Before", live)
        begun = time.perf_counter()
        done = running.command("rescore", "--challenge", "archives", "--phase", "test")
        if done.returncode:
            raise ValueError(done.stdout + done.stderr)
        beside = _waits_for_scores(oak, "Beside", live)
        took = _until_all_are_scored(running) - begun
    yield SCORED_AGAIN.measured(took * AGAIN / again / HOUR, f" ({again} and {live} others in {took:.0f} s)")
    yield BESIDE_AGAIN.measured(beside / alone, f" ({alone:.2f} and {beside:.2f} s, medians of {live})")


def _waits_for_scores(person: Client, name: str, count: int) -> float:
    """Seconds from confirming to the score, the median."""
    uploads = [person.upload(PHASE, results(cat=5, dog=5)) for _ in range(count)]
    waits = []
    for number, upload in enumerate(uploads):
        begun = time.perf_counter()
        person.final(int(good(person.confirm(upload, f"{name} {number}"))["id"]))
        waits.append(time.perf_counter() - begun)
    return statistics.median(waits)


async def send_slowly(address: str, token: str) -> None:
    """Keep fifty uploads on their way, each a kilobyte at a time, for an hour."""
    size = 1000 * 10 * round(HOUR)
    common = {"Tus-Resumable": TUS_VERSION, "Authorization": token}

    async def kilobytes() -> AsyncIterator[bytes]:
        while True:
            yield bytes(1000)
            await asyncio.sleep(0.1)

    limits = httpx2.Limits(max_connections=SLOW)
    async with httpx2.AsyncClient(base_url=address, headers=common, timeout=None, limits=limits) as client:

        async def one() -> None:
            new = {"Upload-Length": str(size), "Upload-Metadata": "filename cmVzdWx0cy50YXIuZ3o="}
            created = await client.post(f"/api/v1/challenges/{PHASE}/uploads", headers=new)
            created.raise_for_status()
            patch = {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
            await client.patch(created.headers["Location"], headers=patch, content=kilobytes())

        await asyncio.gather(*(one() for _ in range(SLOW)))


if __name__ == "__main__":
    asyncio.run(send_slowly(sys.argv[1], sys.argv[2]))
