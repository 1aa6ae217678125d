"""What is left in the stores days later, when everything unneeded must have been removed."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from app.storage import FolderStorage, Storage, content_key
from app.storage.s3 import SCRATCH, S3Storage
from tests.nemesis.site import Site
from tests.system.servers import eventually

PATIENCE = 150.0  # seconds until the sweep for leftovers has run
LATER = timedelta(days=3)
MUCH_LATER = "interval '30 days'"
REMOVAL = 15.0  # seconds

Remains = tuple[
    tuple[str, ...], tuple[str, ...]
]  # unreferenced files, and referenced contents that are missing


def let_days_pass(site: Site) -> None:
    """Age everything that may be removed only after some time, and wait for the sweep that removes it."""
    ask = site.running.ask
    for column in ("started_at", "received_at", "checked_at"):
        ask(f"UPDATE upload SET {column} = {column} - {MUCH_LATER}")
    for path in _local_files(site):
        found = path.stat()
        os.utime(path, (found.st_atime, found.st_mtime - LATER.total_seconds()))
    if site.objects:
        site.objects.proxy.age = LATER
    ask(f"UPDATE heartbeat SET seen_at = seen_at - {MUCH_LATER} WHERE starts_with(name, 'contents of ')")
    looked = (
        "bool_and(seen_at > now() - interval '1 hour') FROM heartbeat WHERE starts_with(name, 'contents of ')"
    )
    eventually(lambda: ask(f"SELECT {looked}") == [(True,)], PATIENCE)


def last_remains(site: Site) -> Remains:
    """What is left once nothing remains or the wait is over; files of a store's self-check come and go."""
    found: list[Remains] = []

    def is_nothing_left() -> bool:
        found.append(_remains(site))
        return not any(found[-1])

    eventually(is_nothing_left, REMOVAL)
    return found[-1]


def _remains(site: Site) -> Remains:
    ask, platform = site.running.ask, site.running.platform
    confirmed = ask("SELECT u.sha256, u.id FROM upload u WHERE id IN (SELECT upload_id FROM submission)")
    keys = _column(ask("SELECT name FROM truth_key UNION SELECT name FROM intake_key"))
    known: dict[str, tuple[Storage, set[str]]] = {
        "archives": (platform.archives, {content_key(*one) for one in confirmed}),
        "artefacts": (platform.artefacts, _column(ask("SELECT key FROM artefact"))),
        "descriptions": (
            platform.descriptions,
            _column(
                ask(
                    "SELECT description_key FROM phase"
                    " UNION SELECT description_key FROM ground_truth WHERE description_key IS NOT NULL"
                )
            ),
        ),
        "files": (
            platform.files,
            _column(
                ask(
                    "SELECT key FROM data_file WHERE key IS NOT NULL"
                    " UNION SELECT key FROM made_file WHERE key IS NOT NULL"
                )
            ),
        ),
        "intake": (
            platform.intake,
            _column(
                ask(
                    "SELECT key FROM intake_segment UNION SELECT kept_key FROM intake WHERE kept_key IS NOT NULL"
                )
            ),
        ),
        "ground truth": (
            platform.truths,
            _column(
                ask(
                    "SELECT fingerprint || '-' || replace(public_id::text, '-', '') FROM ground_truth"
                    " UNION SELECT image_labels_key FROM ground_truth WHERE image_labels_key IS NOT NULL"
                    " UNION SELECT statistics_key FROM run WHERE statistics_key IS NOT NULL"
                )
            ),
        ),
        "keys": (platform.secret.store, keys),
    }
    leftovers = [f"scratch: {path.name}" for path in site.scratch.glob(f"{SCRATCH}*")]
    missing = []
    for name, (store, named) in known.items():
        there = _names(store)
        if name == "ground truth":
            there -= keys  # whose folder is inside that of ground truth
        leftovers += [f"{name}: {one}" for one in sorted(there - named)]
        missing += [f"{name}: {one}" for one in sorted(named - there)]
    return tuple(leftovers), tuple(missing)


def _names(store: Storage) -> set[str]:
    """The keys of contents, and the names of all other files."""
    if isinstance(store, S3Storage):
        return {each.name.removeprefix("content/") for each in store.bucket.objects("")}
    assert isinstance(store, FolderStorage)
    return {path.name for path in _files_below(store.root)}


def _local_files(site: Site) -> Iterator[Path]:
    yield from site.scratch.iterdir()
    for store in site.running.platform.stores:
        if isinstance(store, FolderStorage):
            yield from _files_below(store.root)


def _files_below(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def _column(rows: list[tuple[Any, ...]]) -> set[str]:
    return {str(one) for [one] in rows}
