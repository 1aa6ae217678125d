"""Wait until everything has recovered, and record the final state."""

import hashlib
import time
from collections.abc import Callable, Iterator

import httpx2

from tests.nemesis.history import End, Look, Result, Run
from tests.nemesis.people import COMPETITION, PHASE, look_of
from tests.nemesis.remains import last_remains, let_days_pass
from tests.nemesis.site import Site
from tests.system.installations import Client
from tests.system.servers import eventually

FRESH = 2.0  # seconds for which a board may be cached
PATIENCE = 150.0  # seconds; the checker allows fewer, so that the history records how many it took

UNDER_WAY = """
SELECT 'run ' || id || ' is ' || state || ', attempt ' || attempt FROM run WHERE state IN ('queued', 'running')
UNION ALL SELECT 'result ' || id || ' is pending' FROM result WHERE state = 'pending'
UNION ALL SELECT 're-scoring ' || id || ' is open' FROM rescore WHERE activated_at IS NULL AND abandoned_at IS NULL
UNION ALL SELECT 'job ' || id || ' (' || kind || ') waits, attempt ' || attempt || ': ' || coalesce(error, '')
  FROM job WHERE dead_at IS NULL
"""
SCORED = "SELECT m.name FROM result e JOIN submission s ON e.submission_id = s.id JOIN method m ON s.method_id = m.id WHERE e.state = 'scored'"
GIVEN_UP = "SELECT kind || ' ' || id || ': ' || coalesce(error, '') FROM job WHERE dead_at IS NOT NULL"

RESULTS = """
SELECT e.id, e.submission_id, m.name, e.state, u.id FROM result e JOIN submission s ON e.submission_id = s.id
JOIN method m ON s.method_id = m.id JOIN upload u ON s.upload_id = u.id ORDER BY e.id
"""
RUNS = """
SELECT r.result_id, g.version, r.rescore_id, r.state, r.failure_message,
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
    """The final state. `team`: the clients of all participants by name, who see what they have submitted."""
    waiting = under_way(site)
    begun = time.monotonic()
    somebody = next(iter(team.values()))
    scored = {name for [name] in site.running.ask(SCORED)}

    def seen() -> Look:
        return look_of(somebody.board(PHASE, COMPETITION), begun, begun)

    eventually(lambda: scored <= set(seen().means), FRESH)
    board = seen()
    results = tuple(_results(site, team))
    given_up = tuple(sentence for [sentence] in site.running.ask(GIVEN_UP))
    let_days_pass(site)
    leftovers, missing = last_remains(site)
    return End(recovered_after, settled_after, waiting, results, board, given_up, leftovers, missing)


def _results(site: Site, team: dict[str, Client]) -> Iterator[Result]:
    runs: dict[int, list[Run]] = {}
    for result, *fields in site.running.ask(RUNS):
        runs.setdefault(result, []).append(Run(*fields))
    for result, submission, method, state, upload in site.running.ask(RESULTS):
        sender = team[method.rpartition(" ")[0]]
        [told] = sender.submission(submission)["results"]
        digest = _digest(sender.http, f"/api/v1/uploads/{upload}/archive")
        headline = told["shown"]["headline"]
        yield Result(submission, method, state, digest, headline, tuple(runs.get(result, [])))


def _digest(http: httpx2.Client, address: str) -> str:
    response = http.get(address)
    return hashlib.sha256(response.content).hexdigest() if response.is_success else ""
