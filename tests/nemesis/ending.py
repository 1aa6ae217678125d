"""Waiting until all is well again, and writing down how everything stands then."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2

from app.storage import Storage, content_key
from tests.nemesis.history import End, Entry, Look, Run
from tests.nemesis.people import COMPETITION, PHASE, look_of
from tests.nemesis.site import Site
from tests.system.installations import Client
from tests.system.servers import eventually

FRESH = 2.0  # seconds that a board may be old
PATIENCE = 150.0  # seconds; the checker allows fewer, so that the history says how many it took
DAY = 86_400
LATER = "interval '30 days'"

UNDER_WAY = """
SELECT 'run ' || id || ' is ' || state || ', attempt ' || attempt || ', requeued ' || requeues FROM run WHERE state IN ('queued', 'running')
UNION ALL SELECT 'entry ' || id || ' is pending' FROM entry WHERE state = 'pending'
UNION ALL SELECT 're-scoring ' || id || ' is open' FROM rescore WHERE activated_at IS NULL AND abandoned_at IS NULL
UNION ALL SELECT 'message ' || id || ' (' || topic || ') waits, attempt ' || attempt || ': ' || coalesce(error, '')
  FROM outbox WHERE delivered_at IS NULL AND dead_at IS NULL
"""
SCORED = "SELECT m.name FROM entry e JOIN submission s ON e.submission_id = s.id JOIN method m ON s.method_id = m.id WHERE e.state = 'scored'"
GIVEN_UP = "SELECT topic || ' ' || id || ': ' || coalesce(error, '') FROM outbox WHERE dead_at IS NOT NULL"

ENTRIES = """
SELECT e.id, e.submission_id, m.name, e.state, u.id FROM entry e JOIN submission s ON e.submission_id = s.id
JOIN method m ON s.method_id = m.id JOIN upload u ON s.upload_id = u.id ORDER BY e.id
"""
RUNS = """
SELECT r.entry_id, g.version, r.rescore_id, r.state, r.failure_message,
       (SELECT value FROM class_score c WHERE c.run_id = r.id AND c.class_name IS NULL),
       (SELECT count(*) FROM class_score c WHERE c.run_id = r.id),
       (SELECT count(DISTINCT coalesce(class_name, '')) FROM class_score c WHERE c.run_id = r.id),
       (SELECT count(*) FROM publication p WHERE p.run_id = r.id)
FROM run r JOIN ground_truth g ON r.ground_truth_id = g.id ORDER BY r.id
"""


def seconds_until(question: Callable[[], bool]) -> float | None:
    begun = time.monotonic()
    return round(time.monotonic() - begun, 1) if eventually(question, PATIENCE) else None


def under_way(site: Site) -> tuple[str, ...]:
    return tuple(sentence for [sentence] in site.running.ask(UNDER_WAY))


def end_of(
    site: Site, team: dict[str, Client], recovered_after: float | None, settled_after: float | None
) -> End:
    """How everything stands. `team`: the clients of everybody, by name, who see what they have sent."""
    waiting = under_way(site)
    begun = time.monotonic()
    somebody = next(iter(team.values()))
    scored = {name for [name] in site.running.ask(SCORED)}

    def seen() -> Look:
        return look_of(somebody.board(PHASE, COMPETITION), begun, begun)

    eventually(lambda: scored <= set(seen().means), FRESH)
    board = seen()
    entries = tuple(_entries(site, team))
    given_up = tuple(sentence for [sentence] in site.running.ask(GIVEN_UP))
    _let_days_pass(site)
    leftovers, missing = _files(site)
    return End(recovered_after, settled_after, waiting, entries, board, given_up, leftovers, missing)


def _entries(site: Site, team: dict[str, Client]) -> Iterator[Entry]:
    runs: dict[int, list[Run]] = {}
    for entry, *fields in site.running.ask(RUNS):
        runs.setdefault(entry, []).append(Run(*fields))
    for entry, submission, method, state, upload in site.running.ask(ENTRIES):
        sender = team[method.rpartition(" ")[0]]
        [told] = sender.submission(submission)["entries"]
        digest = _digest(sender.http, f"/api/v1/uploads/{upload}/archive")
        headline = told["shown"]["headline"]
        yield Entry(submission, method, state, digest, headline, tuple(runs.get(entry, [])))


def _digest(http: httpx2.Client, address: str) -> str:
    response = http.get(address)
    return hashlib.sha256(response.content).hexdigest() if response.is_success else ""


def _let_days_pass(site: Site) -> None:
    """What may be removed only after some time is as old as that, and the sweep that looks for it has come."""
    ask = site.running.ask
    for column in ("started_at", "received_at", "checked_at"):
        ask(f"UPDATE upload SET {column} = {column} - {LATER}")
    ask("UPDATE removal SET claimed_until = now()")
    for store in site.running.platform.stores:
        for path in _files_of(store):
            found = path.stat()
            os.utime(path, (found.st_atime, found.st_mtime - 3 * DAY))
    ask(f"UPDATE heartbeat SET seen_at = seen_at - {LATER} WHERE name = 'leftovers'")
    looked = "SELECT count(*) FROM heartbeat WHERE name = 'leftovers' AND seen_at > now() - interval '1 hour'"
    eventually(lambda: ask(looked) == [(1,)], PATIENCE)
    eventually(lambda: not any(_files(site)), 15)


def _files(site: Site) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files that nothing names, and contents that are named and are not there."""
    ask, platform = site.running.ask, site.running.platform
    confirmed = ask("SELECT u.sha256, u.id FROM upload u WHERE id IN (SELECT upload_id FROM submission)")
    known: dict[str, tuple[Storage, set[str], set[str]]] = {
        "archives": (platform.archives, {content_key(*one) for one in confirmed}, set()),
        "artefacts": (platform.artefacts, _column(ask("SELECT key FROM artefact")), set()),
        "descriptions": (
            platform.descriptions,
            _column(ask("SELECT description_key FROM phase")),
            _column(ask("SELECT key FROM unused_content WHERE store = 'descriptions'")),
        ),
        "ground truth": (
            platform.truths,
            _column(
                ask(
                    "SELECT fingerprint FROM ground_truth UNION SELECT statistics_key FROM run WHERE statistics_key IS NOT NULL"
                )
            ),
            _column(ask("SELECT key FROM unused_content WHERE store = 'ground truth'")),
        ),
    }
    leftovers, missing = [], []
    for name, (store, named, noted) in known.items():
        there = {path.name for path in _files_of(store)}
        leftovers += [f"{name}: {one}" for one in sorted(there - named - noted)]
        missing += [f"{name}: {one}" for one in sorted(named - there)]
    return tuple(leftovers), tuple(missing)


def _files_of(store: Storage) -> list[Path]:
    root: Path = getattr(store, "root")  # noqa: B009 - all of these stores are folders
    return [path for path in root.rglob("*") if path.is_file()]


def _column(rows: list[tuple[Any, ...]]) -> set[str]:
    return {str(one) for [one] in rows}
