"""Scoring one entry again that was refused or has failed."""

from collections.abc import Callable

import pytest
from sqlalchemy import delete, func, select, text

from app.boards import boards
from app.core.errors import ConflictError, NotFoundError
from app.evaluation import rescoring
from app.jobs import queue
from app.models import AuditRecord, Entry, EntryState, ExtraSlot, Job, Queue, Run, RunState
from app.platform import Platform
from tests.system.conftest import SharedSite
from tests.system.installations import Client, good
from tests.system.kits import results, small_kit
from tests.system.rows import Rows, made, small_board
from tests.system.servers import eventually

pytestmark = pytest.mark.system

__all__ = ["small_board"]


@pytest.fixture
def board(small_board: Platform) -> Rows:
    return made(small_board)


def ended(board: Rows, state: RunState) -> int:
    """An entry without a result."""
    entry = board.entry()
    with board.platform.transaction() as session:
        session.execute(delete(Job))
        run = session.get_one(Run, board.run_of(entry))
        run.state, run.finished_at, run.failure_message = state, func.now(), "not scored"
        session.flush()
        boards.record_result(session, entry, run.id)
    assert state_of(board, entry) == state.value
    return entry


def state_of(board: Rows, entry: int) -> str:
    with board.platform.transaction() as session:
        return session.get_one(Entry, entry).state.value


def change(board: Rows, entry: int, assignment: str) -> None:
    """Change an entry behind the application's back."""
    with board.platform.transaction() as session:
        session.execute(text(f"UPDATE entry SET {assignment} WHERE id = :entry"), {"entry": entry})


@pytest.mark.parametrize("state", [RunState.REFUSED, RunState.FAILED])
def test_an_entry_without_a_result_is_queued_again_and_comes_onto_the_board(
    board: Rows, state: RunState
) -> None:
    entry = ended(board, state)
    before = board.run_of(entry)

    assert rescoring.request_entry(board.platform, None, entry) is None

    [(run, truth)] = board.unfinished(entry)
    assert (run > before, truth, state_of(board, entry)) == (True, board.truths[0], "pending")
    with board.platform.transaction() as session:
        statement = select(AuditRecord.action, AuditRecord.before).where(
            AuditRecord.subject == f"entry {entry}"
        )
        assert session.execute(statement).all() == [("entry.rescore", {"state": state.value})]
    board.score(entry, 0.5)
    assert board.standing() == {entry: 0.5}


def test_it_is_scored_as_its_board_is_also_while_the_phase_is_scored_again(board: Rows) -> None:
    board.entry(mean=0.4)
    entry = ended(board, RunState.FAILED)
    rescoring.request(board.platform, None, board.phase_id)

    rescoring.request_entry(board.platform, None, entry)

    assert [truth for _, truth in board.unfinished(entry)] == [board.truths[0]]


def test_it_may_end_without_a_result_again(board: Rows) -> None:
    entry = ended(board, RunState.REFUSED)
    rescoring.request_entry(board.platform, None, entry)
    [(run, _)] = board.unfinished(entry)

    board.refuse(run)

    assert state_of(board, entry) == "refused"
    rescoring.request_entry(board.platform, None, entry)
    assert state_of(board, entry) == "pending"


def test_workers_claim_it_with_the_runs_of_participants(board: Rows) -> None:
    with board.platform.transaction() as session:
        session.execute(delete(Job))
        session.execute(text("DELETE FROM run WHERE state = 'queued'"))
    board.entry(mean=0.4)
    entry = ended(board, RunState.FAILED)
    rescoring.request(board.platform, None, board.phase_id)

    rescoring.request_entry(board.platform, None, entry)

    [(run, _)] = board.unfinished(entry)
    with board.platform.transaction() as session:
        lease = board.platform.settings.lease
        claim = queue.claim_next(session, Queue.RUNS, lease, session.get_one(Run, run).scorer)
    assert claim is not None
    assert claim.run_id == run


def with_state(state: EntryState) -> Callable[[Rows], int]:
    def make(board: Rows) -> int:
        entry = ended(board, RunState.FAILED)
        time = ", withdrawn_at = now()" if state is EntryState.WITHDRAWN else ""
        change(board, entry, f"state = '{state.value}'{time}")
        return entry

    return make


def whose_method_has_another(board: Rows) -> int:
    entry = ended(board, RunState.FAILED)
    newer = board.newer(entry)
    change(board, newer, "is_replaceable = false")
    change(board, entry, "is_replaceable = false")
    return entry


def with_a_newer_result_where_the_annotation_is_open(board: Rows) -> int:
    entry = ended(board, RunState.FAILED)
    board.score(board.newer(entry), 0.5)
    return entry


def whose_extra_slot_is_used(board: Rows) -> int:
    entry, other = ended(board, RunState.FAILED), board.entry()
    with board.platform.transaction() as session:
        slot = ExtraSlot(phase_id=board.phase_id, team_id=board.team_id, task="detection", reason="a test")
        session.add(slot)
        session.flush()
        slot_id = slot.id
    for each in (entry, other):
        change(board, each, f"extra_slot_id = {slot_id}")
    return entry


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (Rows.entry, "is not scored yet; it is in the queue"),
        (with_state(EntryState.WITHDRAWN), "was withdrawn"),
        (with_state(EntryState.REPLACED), "was replaced by a newer result of its method"),
        (whose_method_has_another, "its method has another result by now"),
        (with_a_newer_result_where_the_annotation_is_open, "its method has another result by now"),
        (whose_extra_slot_is_used, "its extra slot was used for another result"),
    ],
    ids=["waiting", "withdrawn", "replaced", "another", "newer", "slot"],
)
def test_what_cannot_be_scored_again_is_refused_with_the_reason(
    board: Rows, make: Callable[[Rows], int], reason: str
) -> None:
    entry = make(board)
    before = board.unfinished(entry), state_of(board, entry)

    with pytest.raises(ConflictError, match=f"entry {entry}.*{reason}"):
        rescoring.request_entry(board.platform, None, entry)

    assert (board.unfinished(entry), state_of(board, entry)) == before


def test_an_entry_of_another_phase_or_of_none_is_not_found(board: Rows) -> None:
    entry = ended(board, RunState.FAILED)

    for number, phase_id in ((entry, board.phase_id + 1), (10**9, None)):
        with pytest.raises(NotFoundError, match=f"there is no entry {number}"):
            rescoring.request_entry(board.platform, None, number, phase_id)


@pytest.fixture(scope="module")
def oak(site: SharedSite) -> Client:
    return site.participant("oak")


@pytest.mark.parametrize("way", ["button", "API", "command"])
def test_organisers_have_a_failed_entry_scored_on_every_way(
    site: SharedSite, oak: Client, way: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    challenge, http = f"retried-{way.lower()}", site.organiser.http
    site.installation.load(small_kit(tmp_path_factory.mktemp("kit")), challenge)
    number = oak.submit(f"{challenge}/test", results(cat=5, dog=5), "Acorn")
    [entry] = oak.final(number)["entries"]
    site.installation.ask("UPDATE run SET state = 'failed' WHERE id = %s", entry["shown"]["id"])
    site.installation.ask(
        "UPDATE entry SET state = 'failed', published_run_id = NULL, published_generation = NULL WHERE id = %s",
        entry["id"],
    )
    action = f"/organise/entries/{entry['id']}/rescore"
    assert f'action="{action}"' in http.get(f"/submissions/{number}").text

    if way == "button":
        assert http.post(action).status_code == 303
    elif way == "API":
        assert good(http.post(f"/api/v1{action}")) == {"rescore": None}
    else:
        words = ("--challenge", challenge, "--phase", "test", "--entry", str(entry["id"]))
        done = site.installation.command("rescore", *words)
        assert done.returncode == 0, done.stderr
        assert f"entry {entry['id']} is queued" in done.stdout

    assert eventually(lambda: oak.submission(number)["entries"][0]["state"] == "scored")
    [again] = oak.submission(number)["entries"]
    assert (again["runs"], again["shown"]["headline"], again["shown"]["is_rescore"]) == (2, 0.5, False)
