"""Every fault of a night: its name, the resources it uses, and its longest duration."""

from collections.abc import Iterator, Mapping
from functools import partial

from tests.nemesis.faults import (
    Choosing,
    Fault,
    away,
    broker,
    checking_child,
    cut,
    database,
    database_down,
    forgetful_broker,
    fork_server,
    full,
    half_open,
    in_trouble,
    killed,
    objects,
    objects_away,
    pool_process,
    scoring_child,
    stopped,
    sweeper,
    web_itself,
    whole_web,
    whole_worker,
    worker_itself,
)  # fmt: skip
from tests.nemesis.schedule import Kind
from tests.nemesis.site import WORKERS, Store
from tests.system.object_proxy import TROUBLES


def _faults_anywhere() -> Iterator[Fault]:
    yield from _process_faults()
    for names in (("web",), WORKERS):
        yield Fault(Kind(f"disk full for {names[0].split()[0]}", f"disk {names[0]}", 6), partial(full, names))
    for link in ("web database", "web broker", "worker database", "worker broker", "people web"):
        yield from _link_faults(link)
    yield Fault(Kind("broker forgets", "broker", 3), forgetful_broker)
    yield Fault(Kind("database down", "database", 6), database_down)


def _process_faults() -> Iterator[Fault]:
    kill: Mapping[str, tuple[str, Choosing]] = {
        "web": ("web", web_itself),
        "checking child": ("web", checking_child),
        "worker": ("worker", worker_itself),
        "pool process": ("worker", pool_process),
        "scoring child": ("worker", scoring_child),
        "fork server": ("worker", fork_server),
        "sweeper": ("worker", sweeper),
        "database": ("database", lambda site, choice: database(site, choice)[:1]),
        "broker": ("broker", broker),
    }
    stop: Mapping[str, tuple[str, float, Choosing]] = {
        "web": ("web", 6, whole_web),
        "worker": ("worker", 3 * 3, whole_worker),
        "pool process": ("worker", 9, pool_process),
        "scoring child": ("worker", 6, scoring_child),
        "sweeper": ("worker", 6, sweeper),
        "database": ("database", 6, database),
        "broker": ("broker", 8, broker),
    }
    for name, (takes, choosing) in kill.items():
        yield Fault(Kind(f"kill {name}", takes), partial(killed, choosing))
    for name, (takes, longest, choosing) in stop.items():
        yield Fault(Kind(f"stop {name}", takes, longest), partial(stopped, choosing))


def _link_faults(link: str) -> Iterator[Fault]:
    yield Fault(Kind(f"cut {link}", link, 6), partial(cut, link))
    yield Fault(Kind(f"half-open {link}", link, 8), partial(half_open, link))


def _folder_faults() -> Iterator[Fault]:
    for store in ("archives", "truths"):
        yield Fault(Kind(f"{store} away", store, 6), partial(away, store))


def _object_faults() -> Iterator[Fault]:
    for trouble in TROUBLES:
        yield Fault(Kind(f"objects {trouble}", "objects", 5), partial(in_trouble, trouble))
    yield Fault(Kind("stop objects", "objects", 8), partial(stopped, objects))
    yield Fault(Kind("objects away", "objects", 5), objects_away)
    for link in ("web objects", "worker objects"):
        yield from _link_faults(link)


FAULTS: Mapping[Store, Mapping[str, Fault]] = {
    store: {fault.kind.name: fault for fault in (*_faults_anywhere(), *faults)}
    for store, faults in ((Store.FOLDER, _folder_faults()), (Store.S3, _object_faults()))
}
KINDS: Mapping[Store, Mapping[str, Kind]] = {
    store: {name: fault.kind for name, fault in faults.items()} for store, faults in FAULTS.items()
}
