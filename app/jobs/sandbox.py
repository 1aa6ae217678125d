"""Child processes with resource limits, for everything that opens participants' files."""

import base64
import errno
import json
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final

import structlog
from structlog.contextvars import bind_contextvars, get_contextvars

import heldout_scoring
from app.core import logs
from heldout_scoring import (
    Description,
    GroundTruth,
    Limits,
    PublicCounts,
    Replicates,
    SubmissionError,
    bootstrap,
    evaluate,
    intervals_of,
    open_matches,
    standard_error_of_difference,
    standings,
    validate,
)
from heldout_scoring.analysis import Diagnosis, Files, NoDiagnosisError, diagnose, outcomes_by_image
from heldout_scoring.evaluation import missing_truth
from heldout_scoring.stored import to_plain

log = structlog.get_logger()

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # idle BLAS threads spin and take the second core


def check(
    archive: Path,
    filename: str,
    description: Path,
    competitions: tuple[int, ...] | None,
    counts: PublicCounts | None = None,
) -> bytes:
    """Return the validation report, as JSON, of an archive uploaded as `filename`, for some competitions or all."""
    public = replace(Description.from_json(description.read_text()), public_counts=counts)
    return json.dumps(validate(archive, public, competitions=competitions, name=filename).as_json()).encode()


def score(
    archive: Path, truth: Path, competition: int, protocol: str, statistics: Path, limits: Limits
) -> bytes:
    """Score an archive and return the report as JSON, or `!` followed by the first problem of an invalid one as JSON.

    Archives are read by the description of the annotation, which is public, so that a problem tells nothing else of it.

    statistics: the file to which the per-image statistics are written; limits: those under which the archive was checked.
    """
    ground_truth = GroundTruth.open(truth)
    try:
        report = evaluate(
            archive,
            ground_truth,
            competition=competition,
            protocol=protocol,
            statistics=statistics,
            limits=limits,
            accepted=True,
        )
    except SubmissionError as error:
        return b"!" + json.dumps(asdict(error.problems[0])).encode()
    return report.to_json().encode()


def describe(truth: Path) -> bytes:
    """Return the public description of annotation, and the competitions that it lacks truth for with the reasons, as JSON."""
    ground_truth = GroundTruth.open(truth)
    found = {"description": ground_truth.description.to_json(), "missing": dict(missing_truth(ground_truth))}
    return json.dumps(found).encode()


def intervals(statistics: Path, truth: Path, report: str) -> bytes:
    """Return the confidence intervals of a report (exhibits not needed) as JSON of an `IntervalTable`."""
    table = intervals_of(_result(report, statistics), GroundTruth.open(truth), statistics=statistics)
    return json.dumps(to_plain(table)).encode()


def _result(report: str, statistics: Path) -> heldout_scoring.Result:
    """A report from the database, completed with the identity of the ground truth from its statistics."""
    origin, _ = open_matches(statistics)
    return replace(heldout_scoring.Result.from_json(report), truth=origin.truth, receipt=origin.receipt)


def analyse(
    archive: Path, limits: Limits, statistics: Path, truth: Path, report: str, truth_id: str
) -> bytes:
    """Return the analysis of a report (exhibits not needed) as JSON: diagnosis, and replicates and image outcomes in base64.

    The replicates identify the ground truth by `truth_id` instead of its fingerprint, because they go into the database.
    """
    ground_truth, result = GroundTruth.open(truth), _result(report, statistics)
    replicates = bootstrap(result, ground_truth, statistics=statistics)
    replicates = replace(replicates, setup=replace(replicates.setup, truth=truth_id))
    kept = {
        "replicates": replicates.content,
        "image_outcomes": outcomes_by_image(result, ground_truth, statistics=statistics).content,
    }
    try:
        diagnosis = diagnose(result, ground_truth, Files(archive, limits, statistics))
    except NoDiagnosisError:
        diagnosis = Diagnosis()
    encoded = {name: base64.b64encode(content).decode() for name, content in kept.items()}
    return json.dumps({"diagnosis": to_plain(diagnosis), **encoded}).encode()


MOST_LETTERED: Final = 20  # runs; the letters of more could not be read


def groups(replicates: tuple[tuple[int, bytes], ...]) -> bytes:
    """Compare the headline scores of runs, and return their compact letter display and the tests of all pairs as JSON.

    replicates: the id of each run and its stored replicates. Only the largest group of runs with the same ground truth,
    protocol and classes is compared; the other runs, and those without a headline score, get no letters. letters: by run id,
    none where more than `MOST_LETTERED` runs are compared; family: a `HolmFamily`.
    """
    drawn = {str(run): Replicates.of_bytes(content) for run, content in replicates}
    comparable = {run: each for run, each in drawn.items() if each.scores[-1] is not None}
    kinds = Counter((each.setup, each.draws, each.names) for each in comparable.values())
    most = max(kinds, key=kinds.__getitem__, default=None)
    paired = {run: each for run, each in comparable.items() if (each.setup, each.draws, each.names) == most}
    try:
        found = standings(paired)
    except ValueError:  # too few replicates have a value for every method
        return json.dumps({"letters": {}, "family": {}}).encode()
    has_letters = len(found.methods) <= MOST_LETTERED
    letters = {each.name: each.letters for each in found.methods} if has_letters else {}
    return json.dumps({"letters": letters, "family": to_plain(found.family)}).encode()


def standard_error(truth: Path, results: tuple[tuple[Path, str], tuple[Path, str]]) -> bytes:
    """Return the standard error of the difference of two results' means as JSON; each is given as (statistics, report JSON)."""
    ground_truth = GroundTruth.open(truth)
    one, other = (
        bootstrap(_result(report, statistics), ground_truth, statistics=statistics)
        for statistics, report in results
    )
    return json.dumps(standard_error_of_difference(one, other)).encode()


WATCH_SECONDS = 1.0
FORK_SERVER_PAUSE = 0.2  # seconds until a fork server that has closed its connections has exited, too
CRASHED, OUT_OF_MEMORY, FILE_ERROR = 1, 77, 78  # exit codes of children
ERRNO = 100  # plus the number of an error of the system is the exit code of a child that met it

# The fork server imports the library only once, so a child starts within milliseconds; it never inherits our sockets.
_context = multiprocessing.get_context("forkserver")
# Lazily imported modules are preloaded, too: importing polars in each child took ten times as long as checking a small
# archive. Polars starts its thread pools on first use, which never happens in the fork server.
_PRELOADED: Final = ("app.jobs.sandbox", "polars", "numpy.ma", "numpy.random")
_context.set_forkserver_preload([*_PRELOADED])


class ChildError(Exception):
    """The child ended without a result; the message may be shown to anyone."""


class LimitExceededError(ChildError):
    """The child exceeded a limit, because of its input."""


class OutOfMemoryError(LimitExceededError):
    """The child needed more memory than it may have."""


class ChildFileError(ChildError):
    """The child could not read or write a file, such as one on a network volume that is unavailable."""


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """Limits of a child: seconds of wall time (and of CPU time, per core), bytes of address space."""

    seconds: int
    memory: int
    nice: int = 0


def preload(*modules: str) -> None:
    """Have the fork server, once it starts, import these modules, too, so that children need not import them one by one."""
    _context.set_forkserver_preload([*_PRELOADED, *modules])


def warm_up() -> None:
    """Start the fork server in the background, so that the first child does not wait for its imports."""
    forkserver.ensure_running()


def run_in_subprocess(
    limits: ChildLimits,
    work: Callable[..., bytes],
    *arguments: object,
    watch: Callable[[], None] | None = None,
) -> bytes:
    """Return `work(*arguments)`, computed in a child process with limits.

    `work` must be a module-level function, its arguments picklable. It returns only bytes, so that a compromised child
    cannot send pickles. The child's log events include the logging context of the caller. watch: called every second; what it
    raises ends the child.
    Raises LimitExceededError if a limit is exceeded, ChildFileError if a file cannot be read or written, ChildError if the
    child dies in another way.
    """
    receiver, sender = _context.Pipe(duplex=False)
    child = _started((sender, limits, get_contextvars(), work, arguments))
    sender.close()
    try:
        _wait(receiver, limits.seconds, watch)
        result = receiver.recv_bytes()
    except EOFError:
        child.join(5)
        raise _error_of_exit(child.exitcode, limits) from None
    finally:
        child.kill()
        child.join()
        child.close()
        receiver.close()
    return result


def _wait(receiver: Connection, seconds: int, watch: Callable[[], None] | None) -> None:
    """Wait for the result, or for the end, of a child. Raises LimitExceededError, and what `watch` raises."""
    end = time.monotonic() + seconds
    while not receiver.poll(min(WATCH_SECONDS if watch else seconds, max(0.0, end - time.monotonic()))):
        if time.monotonic() >= end:
            raise LimitExceededError(f"it took more than {seconds} seconds")
        if watch:
            watch()


def _started(inherited: tuple[object, ...]) -> ForkServerProcess:
    """Start a child; if the fork server dies at that moment, try once more with a new one."""
    for is_last in (False, True):
        child = _context.Process(target=_serve, args=inherited, daemon=True)
        try:
            child.start()
        except (OSError, EOFError) as error:
            log.warning("child could not be started", error=repr(error))
            if is_last:
                raise ChildFileError("the child process could not be started") from error
            time.sleep(FORK_SERVER_PAUSE)
        else:
            break
    return child


def _error_of_exit(exit_code: int | None, limits: ChildLimits) -> ChildError:
    """The error for the exit code of a child; a SIGKILL comes from outside, not from our limits."""
    if exit_code == -signal.SIGXCPU:
        return LimitExceededError(f"it took more than {limits.seconds} seconds")
    if exit_code == OUT_OF_MEMORY:
        return OutOfMemoryError(f"it needed more than {limits.memory >> 20} MiB of memory")
    if exit_code == FILE_ERROR:
        return ChildFileError("a file could not be read or written")
    if exit_code is not None and exit_code - ERRNO in errno.errorcode:
        return ChildFileError(f"a file could not be read or written: {os.strerror(exit_code - ERRNO)}")
    return ChildError(f"the child process ended with code {exit_code}")


def _serve(
    sender: Connection,
    limits: ChildLimits,
    context: Mapping[str, Any],
    work: Callable[..., bytes],
    arguments: tuple[object, ...],
) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logs.configure()
    bind_contextvars(**context, child=work.__name__)
    cores = len(os.sched_getaffinity(0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds * cores, limits.seconds * cores + 5))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(limits.nice)
    try:
        sender.send_bytes(work(*arguments))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except OSError as error:
        # a failed allocation may surface as an OSError
        if error.errno == errno.ENOMEM:
            os._exit(OUT_OF_MEMORY)
        log.warning("child could not use a file", error=str(error))
        number = error.errno or 0
        os._exit(ERRNO + number if number in errno.errorcode else FILE_ERROR)
    except Exception:
        log.exception("child crashed")
        sys.exit(CRASHED)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
