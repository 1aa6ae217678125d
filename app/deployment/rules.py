"""Verdicts about a deployment: what is right, what is wrong and what to do about it."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_network
from urllib.parse import urlsplit

from app.backups.schemas import Contents
from app.deployment.schemas import (
    Address,
    Announced,
    Broker,
    Check,
    Disk,
    Mail,
    Role,
    Secret,
    SecretFile,
    Truths,
    WebSecrets,
    failed,
    passed,
    skipped,
)
from app.health.schemas import Part as HealthPart
from app.local_hosts import is_local

GiB = 1 << 30

MAX_CLOCK_DIFFERENCE = 2.0  # seconds
PROBED = 64  # MiB that the disk of the database has to take
MIN_SECRET = 16  # characters
COMMON = {"admin", "changeme", "heldout", "minioadmin", "password", "postgres", "secret", "valkey"}
MOUNTED = "/run/secrets"  # what is there is for one container alone, however its files are marked
SHOWN = 3  # missing contents that a sentence names


def role(found: Role) -> Check:
    """The application's role reads and writes rows and can do no more."""
    name = "database role"
    powers = [
        *(["is a superuser"] if found.is_superuser else []),
        *(["may manage roles or databases, or replicate"] if found.may_manage else []),
        *([f"owns {found.owned_tables} tables"] if found.owned_tables else []),
        *(["may create tables"] if found.may_create else []),
        *([f"may change or delete rows of {', '.join(found.may_rewrite)}"] if found.may_rewrite else []),
    ]
    if not powers:
        return passed(name, f"{found.name} reads and writes rows, and can do no more")
    return failed(
        name,
        f"{found.name} {', '.join(powers)}; whoever takes over a web process could rewrite history",
        "make a role that owns the database, name it in HELDOUT_MIGRATION_DATABASE_URL, use another one with nothing "
        "but LOGIN in HELDOUT_DATABASE_URL, and run `heldout-server migrate`",
    )


def schema(problem: str | None) -> Check:
    """Whether the program can run on the schema of the database; problem: why it cannot, and what to do."""
    if problem is None:
        return passed("migrations", "this version runs on the schema of the database")
    finding, _, advice = problem.partition("; ")
    return failed("migrations", finding, advice)


def clock(difference: float) -> Check:
    """Database and this machine agree about the time; difference: in seconds.

    >>> clock(-3.04).finding
    "this machine's clock is 3.0 s behind the database's"
    """
    if abs(difference) <= MAX_CLOCK_DIFFERENCE:
        return passed("clock", f"{abs(difference):.1f} s from the database's")
    side = "ahead of" if difference > 0 else "behind"
    return failed(
        "clock",
        f"this machine's clock is {abs(difference):.1f} s {side} the database's",
        "have both machines synchronise their clocks (NTP); deadlines are by the database's, links and codes by both",
    )


def room(size: int, *, has_room: bool | None) -> Check:
    """The disk of the database takes another PROBED MiB; size: bytes of the database."""
    name, more = "disk of database", f"{PROBED} MiB beside the {size / GiB:.1f} GiB of the database"
    if has_room is None:
        return skipped(name, f"temp_file_limit forbids to try whether there is room for {more}")
    if has_room:
        return passed(name, f"has room for {more}; PostgreSQL cannot tell how much is free")
    return failed(
        name,
        f"has no room for {more}",
        "make room on its machine now: what cannot be stored gets 507, and without room for its log PostgreSQL stops",
    )


def broker(found: Broker) -> Check:
    """The broker answers and forgets nothing by itself."""
    if found.policy == "noeviction" or found.limit == 0:
        return passed("broker", "answers, and evicts nothing")
    return failed(
        "broker",
        f"evicts keys when its memory is full ({found.policy}): limits of logins are forgotten and runs start late",
        "set `maxmemory-policy noeviction`",
    )


def workers(slots: Mapping[str, int], scorer: str) -> Check:
    """A worker of this version was alive in the last minute; slots: how many runs those of each version score at once."""
    name, others = "workers", ", ".join(sorted(set(slots) - {scorer}))
    if scorer in slots:
        also = f"; others of version {others}" if others else ""
        return passed(name, f"alive, {slots[scorer]} runs at the same time{also}")
    finding = f"no worker of scorer version {scorer} was alive in the last minute"
    if others:
        return failed(
            name, f"{finding}, only of {others}", "update the workers to the version of the web server"
        )
    return failed(name, finding, "start one with `heldout-server worker`, or read its log")


def sweep(found: HealthPart) -> Check:
    """Lost runs are looked for."""
    if found.status == "ok":
        return passed("sweeper", f"was done {found.value:g} s ago")
    finding = "there was no sweep yet" if found.value is None else f"the last sweep was {found.value:g} s ago"
    return failed("sweeper", finding, "start a worker, or `heldout-server beat`; read its log if one runs")


def jobs(late: HealthPart, dead: HealthPart) -> Check:
    """Jobs are done: late is in seconds, dead in jobs that were given up."""
    if late.status == dead.status == "ok":
        return passed("jobs", "jobs are done in time")
    findings = [
        *([f"the oldest job is {late.value:g} s late"] if late.status != "ok" else []),
        *([f"{dead.value:g} jobs were given up"] if dead.status != "ok" else []),
    ]
    return failed(
        "jobs", ", ".join(findings), "see /admin, which has the error of each, and the worker's log"
    )


def store(name: str, error: str | None) -> Check:
    """A probe was written to a store, read from it and deleted."""
    if error is None:
        return passed(name, "a probe was written, read and deleted")
    return failed(name, error, "make the place writable for this user, or its keys valid, and give it space")


def contents(found: Contents) -> Check:
    """Every content that the database names is there, with the bytes that were stored."""
    name = "stored files"
    if not found.damaged and not found.missing:
        return passed(name, f"all {found.count} that the database names have the bytes that were stored")
    return failed(
        name,
        f"of {found.count} that the database names {len(found.damaged)} are damaged and {len(found.missing)} missing, listed below",
        'put them back from a backup, which has them under the same names: "Damaged files" in docs/operating.md',
        tuple(f"damaged: {each}" for each in found.damaged)
        + tuple(f"missing: {each}" for each in found.missing),
    )


def truth_of_worker(found: Truths) -> Check:
    """A worker reads all ground truth that the database names, and nobody else does."""
    name = "ground truth"
    if found.error is not None:
        return failed(
            name,
            found.error,
            "workers need the place that imports wrote to: mount it, and make it readable and writable",
        )
    if found.missing:
        return failed(
            name,
            f"{len(found.missing)} of {found.named} are not there: {', '.join(found.missing[:SHOWN])}",
            "is this the place that imports wrote to? Otherwise import the trees again, or restore a backup",
        )
    if found.exposure is not None:
        return failed(name, found.exposure, "close it: participants must not get at it through anything else")
    return passed(name, f"all {found.named} that the database names can be read")


def truth_of_web(found: WebSecrets, *, shares_user: bool) -> Check:
    """The web process has no path to ground truth; shares_user: it is known to run as the worker's user, on one machine."""
    name = "ground truth"
    if found.variables:
        return failed(
            name,
            f"the web process is given {', '.join(found.variables)}",
            "remove these variables from it; they are for workers and commands",
        )
    if found.bucket is not None:
        return failed(
            name,
            f"the keys of the web process open ground truth in the bucket {found.bucket}",
            "give ground truth a bucket of its own, and keys that web processes do not have",
        )
    if found.folder is not None and not shares_user:
        return failed(
            name,
            f"the web process can read {found.folder}",
            "run it as another user, or on a machine or in a container without this folder",
        )
    if found.folder is not None:
        return passed(name, "web processes are not told where it is; they are the same user, see SECURITY.md")
    return passed(name, "cannot be reached from here")


def disk(disks: Sequence[Disk], needed: int) -> Check:
    """Each disk has so many bytes free."""
    full = [each for each in disks if each.free < needed]
    if not full:
        least = min(disks, key=lambda each: each.free)
        return passed("free disk", f"{least.free / GiB:.1f} GiB for {least.folder}")
    found = ", ".join(f"{each.free / GiB:.1f} GiB for {each.folder}" for each in full)
    return failed(
        "free disk",
        f"{found}; expected {needed / GiB:.1f} GiB, two of the largest archives",
        "make room, move it to another disk, or lower HELDOUT_MAX_UPLOAD",
    )


def secrets(found: Sequence[Secret]) -> Check:
    """Every secret is long, and in a file that only its user reads."""
    problems = [
        f"{each.variable} {problem}"
        for each in found
        for problem in (_text_problem(each), _file_problem(each.file))
        if problem is not None
    ]
    if not problems:
        return passed("secrets", f"{len(found)} in the settings, long and kept from others")
    return failed(
        "secrets",
        "; ".join(problems),
        "generate them, as deploy/secrets.sh does, into files with mode 600 or in a folder with mode 700",
    )


def _text_problem(secret: Secret) -> str | None:
    text = secret.text.casefold()
    if not text:
        return "has no password: whoever reaches it may do everything"
    if text in COMMON or text == (secret.user or "").casefold():
        return "is a password that everybody tries first"
    if len(text) < MIN_SECRET:
        return f"has {len(text)} characters, expected {MIN_SECRET}"
    if len(set(text)) < MIN_SECRET // 2:
        return "repeats a few characters"
    return None


def _file_problem(file: SecretFile | None) -> str | None:
    if file is None or not file.is_reachable or file.path.is_relative_to(MOUNTED):
        return None
    if file.mode & 0o026:
        return f"is in {file.path}, which others can read or change (mode {file.mode:o})"
    return None


def address(found: Address) -> Check:
    """People reach the server by HTTPS through a proxy that is trusted, or only from this machine."""
    name, url = "public address", urlsplit(found.url)
    if any(ip_network(proxy, strict=False).prefixlen == 0 for proxy in found.proxies):
        return failed(
            name,
            "every address is a trusted proxy, so anybody can pretend to be anybody",
            "name the addresses of the proxies in HELDOUT_TRUSTED_PROXIES",
        )
    if is_local(url.hostname or ""):
        return passed(name, f"{found.url}, for this machine alone")
    if url.scheme != "https":
        return failed(
            name,
            f"{found.url} carries passwords unencrypted",
            "put a proxy with a certificate in front, and set HELDOUT_PUBLIC_URL to its https address",
        )
    if not found.proxies:
        return failed(
            name,
            f"{found.url} is served by a proxy that is not trusted: all people count as one address, and share its limits",
            "name the proxy's address in HELDOUT_TRUSTED_PROXIES",
        )
    return passed(name, f"{found.url}, behind {', '.join(found.proxies)}")


def upload_limit(found: Announced, url: str, largest: int) -> Check:
    """What stands in front lets the largest archive through; largest: in bytes."""
    name = "upload limit"
    if found.error is not None:
        advice = "send a large archive from outside"
        return skipped(name, f"{url} cannot be reached from here ({found.error}); {advice}")
    if found.status == 413:
        return failed(
            name,
            f"what answers at {url} refuses an archive of {largest / GiB:.1f} GiB, which HELDOUT_MAX_UPLOAD allows",
            "raise its limit of a request's body (nginx: client_max_body_size), or lower HELDOUT_MAX_UPLOAD",
        )
    return passed(name, f"an announced archive of {largest / GiB:.1f} GiB was not refused")


def mail(found: Mail, url: str) -> Check:
    """Mail reaches people."""
    if found.error is not None:
        return failed("mail", found.error, "compare HELDOUT_SMTP_… with what the mail server expects")
    if found.host is not None:
        return passed("mail", f"{found.host} takes mail from {found.sender}")
    if is_local(urlsplit(url).hostname or ""):
        return passed("mail", "is written into the folder mail of the data folder")
    return failed(
        "mail",
        "is written into a folder: nobody can confirm an address or choose a new password",
        "set HELDOUT_SMTP_HOST",
    )
