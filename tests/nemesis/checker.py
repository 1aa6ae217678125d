"""Checks of a history: pure functions, each of which returns a sentence for every violation."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from tests.nemesis.history import Fault, History, Response, Result

RECOVERY = 60.0  # seconds until processes are back, and then until everything has finished
AFTERMATH = 40.0  # seconds after a fault during which requests may still fail: the longest pause before a restart is 30
SHOWN = 0.0006  # boards are rounded to three decimals
EXACT = 1e-9

# refusals that a client understands and that only cost it another request
EXPECTED = {"upload-offset", "conflict", "not-checked", "check-busy", "busy"}

Check = Callable[[History], Iterator[str]]


def violations(history: History) -> list[str]:
    """A sentence for every violation; none for a good history."""
    return [f"{check.__name__.strip('_')}: {found}" for check in CHECKS for found in check(history)]


def _nothing_happened(history: History) -> Iterator[str]:
    """A history without faults, submissions or board requests proves nothing."""
    for name in ("faults", "promises", "looks", "calm"):
        if not getattr(history, name):
            yield f"no {name}"


def _lost(history: History) -> Iterator[str]:
    there = {(result.submission, result.method): result for result in history.end.results}
    for promise in history.promises:
        result = there.get((promise.submission, promise.method))
        if result is None:
            yield f"submission {promise.submission} of {promise.method!r} is not there"
            continue
        if result.sha256 != promise.sha256:
            yield f"the archive of submission {promise.submission} is {result.sha256 or 'away'}, not {promise.sha256}"
        if promise.method not in history.end.board.means:
            yield f"{promise.method!r} is not on the board"
    for key in history.end.missing:
        yield f"content {key} is not there"


def _vanished(history: History) -> Iterator[str]:
    """A result seen by one person is seen by everybody who looks later."""
    seen: dict[str, float] = {}
    looks = sorted([*history.looks, history.end.board], key=lambda look: look.begun)
    for look in sorted(looks, key=lambda look: look.ended):
        for method in look.means:
            seen.setdefault(method, look.ended)
    for look in looks:
        for method, since in seen.items():
            if since < look.begun and method not in look.means:
                yield f"{method!r} was on the board at {since:.1f} s and not at {look.begun:.1f} s"


def _twice(history: History) -> Iterator[str]:
    for method, count in Counter(result.method for result in history.end.results).items():
        if count > 1:
            yield f"{method!r} has {count} submissions"
    numbers = defaultdict(set)
    for promise in history.promises:
        numbers[promise.method].add(promise.submission)
    for method, found in numbers.items():
        if len(found) > 1:
            yield f"{method!r} was acknowledged as {sorted(found)}"
    for result in history.end.results:
        yield from _repeated(result)


def _repeated(result: Result) -> Iterator[str]:
    """Runs that were queued, scored or published more than once."""
    counts = Counter((run.rescore, run.ground_truth) for run in result.runs)
    for (rescore, version), count in counts.items():
        if count > 1:
            cause = f"re-scoring {rescore}" if rescore else "its submission"
            yield f"{result.method!r} has {count} runs of {cause} under ground truth {version}"
    for run in result.runs:
        if run.scores != run.classes or run.publications > 1:
            yield f"{result.method!r} has {run.scores} scores of {run.classes} classes, published {run.publications} times"


def _invented(history: History) -> Iterator[str]:
    known = {promise.method for promise in history.promises}
    for result in history.end.results:
        if result.method not in known:
            yield f"submission {result.submission} of {result.method!r} was acknowledged to nobody"


def _wrong(history: History) -> Iterator[str]:
    right = {promise.method: promise.means for promise in history.promises}
    for look in (*history.looks, history.end.board):
        for method, mean in look.means.items():
            expected = right.get(method, {}).get(look.ground_truth)
            if not _is_close(mean, expected, SHOWN):
                yield f"{method!r} stands with {mean} at {look.begun:.1f} s, by the library {expected}"
    for result in history.end.results:
        means = right.get(result.method, {})
        for run in result.runs:
            if run.state == "scored" and not _is_close(run.mean, means.get(run.ground_truth), EXACT):
                yield f"{result.method!r} has {run.mean}, by the library {means.get(run.ground_truth)}"
        if not _is_close(result.shown, means.get(history.ground_truth), SHOWN):
            yield f"{result.method!r} is shown {result.shown}, by the library {means.get(history.ground_truth)}"


def _is_close(found: float | None, expected: float | None, tolerance: float) -> bool:
    return found is not None and expected is not None and abs(found - expected) <= tolerance


def _unfinished(history: History) -> Iterator[str]:
    end = history.end
    for what, seconds in (
        ("the processes were back", end.recovered_after),
        ("all was done", end.settled_after),
    ):
        if seconds is None or seconds > RECOVERY:
            yield f"{what} after {'no' if seconds is None else round(seconds)} seconds, expected {RECOVERY:.0f}"
    yield from end.under_way
    for result in end.results:
        for run in result.runs:
            if run.state in {"queued", "running"}:
                yield f"a run of {result.method!r} is {run.state}"
    if end.board.ground_truth != history.ground_truth:
        yield f"the board has ground truth {end.board.ground_truth}, not {history.ground_truth}"


def _blamed(history: History) -> Iterator[str]:
    """No run, archive or job failed, because all of them were valid and only their surroundings were broken."""
    yield from history.refused
    yield from (f"given up: {message}" for message in history.end.given_up)
    for result in history.end.results:
        if result.state not in {"scored", "pending"}:
            yield f"the result of {result.method!r} is {result.state}"
        for run in result.runs:
            if run.state in {"failed", "refused"}:
                yield f"a run of {result.method!r} is {run.state}: {run.message}"


def _left_over(history: History) -> Iterator[str]:
    yield from history.end.leftovers


def _bad_responses(history: History) -> Iterator[str]:
    for response in history.responses:
        yield from _problems(response, is_inside=_is_inside(response, history.faults))
    for response in history.calm:
        yield from _problems(response, is_inside=False)


def _is_inside(response: Response, faults: tuple[Fault, ...]) -> bool:
    return any(
        fault.begun <= response.ended and response.begun <= fault.ended + AFTERMATH for fault in faults
    )


def _problems(response: Response, *, is_inside: bool) -> Iterator[str]:
    where = f"{response.asked} of {response.who} at {response.begun:.1f} s"
    told = f"{response.status or 'no response'} {response.code} {response.sentence}".strip()
    if response.status in {None, 503, 507}:
        if not is_inside:
            yield f"{where}: {told}, and nothing was broken"
        if response.status and not response.sentence:
            yield f"{where}: {told} without a sentence"
    elif not _is_harmless(response):
        yield f"{where}: {told}"


def _is_harmless(response: Response) -> bool:
    """Whether a client can continue: a success, or a refusal that only costs it another request."""
    assert response.status is not None
    if response.status == 404:  # already deleted by a request whose response was lost
        return response.asked.startswith("DELETE")
    return response.status < 400 or (response.status < 500 and response.code in EXPECTED)


CHECKS: tuple[Check, ...] = (
    _nothing_happened, _lost, _vanished, _twice, _invented, _wrong, _unfinished, _blamed, _left_over, _bad_responses,
)  # fmt: skip


def figures(history: History) -> str:
    """A one-line summary of how much happened."""
    by_status = Counter(str(response.status or "none") for response in history.responses)
    statuses = ", ".join(f"{count} × {status}" for status, count in sorted(by_status.items()))
    runs: dict[str, int] = defaultdict(int)
    for result in history.end.results:
        for run in result.runs:
            runs[run.state] += 1
    end = history.end
    return (
        f"seed {history.seed}: {len(history.faults)} faults, {len(history.promises)} acknowledged, {len(history.looks)} looks, "
        f"runs {dict(runs)}, responses {statuses}, recovered {end.recovered_after}, settled {end.settled_after}"
    )
