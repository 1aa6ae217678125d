"""Rescoring a single result that was refused or failed."""

from collections.abc import Callable

import pytest
from sqlalchemy import delete, func, select, text

from app.core.errors import ConflictError, NotFoundError
from app.evaluation import rescoring
from app.jobs import queue
from app.models import AuditRecord, ExtraSlot, Job, Queue, Result, ResultState, Run, RunState
from app.platform import Platform
from app.results import recording
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
    """A refused or failed result."""
    result = board.result()
    with board.platform.transaction() as session:
        session.execute(delete(Job))
        run = session.get_one(Run, board.run_of(result))
        run.state, run.finished_at, run.failure_message = state, func.now(), "not scored"
        session.flush()
        recording.record_result(session, result, run.id)
    assert state_of(board, result) == state.value
    return result


def state_of(board: Rows, result: int) -> str:
    with board.platform.transaction() as session:
        return session.get_one(Result, result).state.value


def change(board: Rows, result: int, assignment: str) -> None:
    """Update a result directly in the database."""
    with board.platform.transaction() as session:
        session.execute(text(f"UPDATE result SET {assignment} WHERE id = :result"), {"result": result})


@pytest.mark.parametrize("state", [RunState.REFUSED, RunState.FAILED])
def test_a_refused_or_failed_result_is_rescored_and_reaches_the_board(board: Rows, state: RunState) -> None:
    result = ended(board, state)
    before = board.run_of(result)

    assert rescoring.rescore_one_result(board.platform, None, result) is None

    [(run, truth)] = board.unfinished(result)
    assert (run > before, truth, state_of(board, result)) == (True, board.truths[0], "pending")
    with board.platform.transaction() as session:
        statement = select(AuditRecord.action, AuditRecord.before).where(
            AuditRecord.subject == f"result {result}"
        )
        assert session.execute(statement).all() == [("result.rescore", {"state": state.value})]
    board.score(result, 0.5)
    assert board.standing() == {result: 0.5}


def test_a_result_is_rescored_under_the_boards_version_during_a_rescoring(board: Rows) -> None:
    board.result(mean=0.4)
    result = ended(board, RunState.FAILED)
    rescoring.rescore_phase(board.platform, None, board.phase_id)

    rescoring.rescore_one_result(board.platform, None, result)

    assert [truth for _, truth in board.unfinished(result)] == [board.truths[0]]


def test_a_rescored_result_may_be_refused_again(board: Rows) -> None:
    result = ended(board, RunState.REFUSED)
    rescoring.rescore_one_result(board.platform, None, result)
    [(run, _)] = board.unfinished(result)

    board.refuse(run)

    assert state_of(board, result) == "refused"
    rescoring.rescore_one_result(board.platform, None, result)
    assert state_of(board, result) == "pending"


def test_a_single_rescored_result_is_claimed_before_a_phase_rescoring(board: Rows) -> None:
    with board.platform.transaction() as session:
        session.execute(delete(Job))
        session.execute(text("DELETE FROM run WHERE state = 'queued'"))
    board.result(mean=0.4)
    result = ended(board, RunState.FAILED)
    rescoring.rescore_phase(board.platform, None, board.phase_id)

    rescoring.rescore_one_result(board.platform, None, result)

    [(run, _)] = board.unfinished(result)
    with board.platform.transaction() as session:
        lease = board.platform.settings.lease
        claim = queue.claim_next(session, Queue.RUNS, lease, session.get_one(Run, run).scorer)
    assert claim is not None
    assert claim.run_id == run


def with_state(state: ResultState) -> Callable[[Rows], int]:
    def make(board: Rows) -> int:
        result = ended(board, RunState.FAILED)
        time = ", withdrawn_at = now()" if state is ResultState.WITHDRAWN else ""
        change(board, result, f"state = '{state.value}'{time}")
        return result

    return make


def whose_method_has_another(board: Rows) -> int:
    result = ended(board, RunState.FAILED)
    newer = board.newer(result)
    change(board, newer, "is_replaceable = false")
    change(board, result, "is_replaceable = false")
    return result


def with_a_newer_result_where_the_annotation_is_open(board: Rows) -> int:
    result = ended(board, RunState.FAILED)
    board.score(board.newer(result), 0.5)
    return result


def whose_extra_slot_is_used(board: Rows) -> int:
    result, other = ended(board, RunState.FAILED), board.result()
    with board.platform.transaction() as session:
        slot = ExtraSlot(phase_id=board.phase_id, team_id=board.team_id, task="detection", reason="a test")
        session.add(slot)
        session.flush()
        slot_id = slot.id
    for each in (result, other):
        change(board, each, f"extra_slot_id = {slot_id}")
    return result


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (Rows.result, "is not scored yet; it is in the queue"),
        (with_state(ResultState.WITHDRAWN), "was withdrawn"),
        (with_state(ResultState.REPLACED), "was replaced by a newer result of its method"),
        (whose_method_has_another, "its method now has another result"),
        (with_a_newer_result_where_the_annotation_is_open, "its method now has another result"),
        (whose_extra_slot_is_used, "its extra slot was used for another result"),
    ],
    ids=["waiting", "withdrawn", "replaced", "another", "newer", "slot"],
)
def test_what_cannot_be_scored_again_is_refused_with_the_reason(
    board: Rows, make: Callable[[Rows], int], reason: str
) -> None:
    result = make(board)
    before = board.unfinished(result), state_of(board, result)

    with pytest.raises(ConflictError, match=f"result {result}.*{reason}"):
        rescoring.rescore_one_result(board.platform, None, result)

    assert (board.unfinished(result), state_of(board, result)) == before


def test_rescoring_an_unknown_result_or_one_of_another_phase_is_not_found(board: Rows) -> None:
    result = ended(board, RunState.FAILED)

    for number, phase_id in ((result, board.phase_id + 1), (10**9, None)):
        with pytest.raises(NotFoundError, match=f"there is no result {number}"):
            rescoring.rescore_one_result(board.platform, None, number, phase_id)


@pytest.fixture(scope="module")
def oak(site: SharedSite) -> Client:
    return site.participant("oak")


@pytest.mark.sampled
@pytest.mark.parametrize("way", ["button", "API", "command"])
def test_organisers_can_rescore_a_failed_result_by_button_api_and_command(
    site: SharedSite, oak: Client, way: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    challenge, http = f"retried-{way.lower()}", site.organiser.http
    site.installation.load(small_kit(tmp_path_factory.mktemp("kit")), challenge)
    number = oak.submit(f"{challenge}/test", results(cat=5, dog=5), "Acorn")
    [result] = oak.final(number)["results"]
    site.installation.ask("UPDATE run SET state = 'failed' WHERE id = %s", result["shown"]["id"])
    site.installation.ask(
        "UPDATE result SET state = 'failed', published_run_id = NULL, published_generation = NULL WHERE id = %s",
        result["id"],
    )
    action = f"/organise/results/{result['id']}/rescore"
    assert f'action="{action}"' in http.get(f"/submissions/{number}").text

    if way == "button":
        assert http.post(action).status_code == 303
    elif way == "API":
        assert good(http.post(f"/api/v1{action}")) == {"rescore": None}
    else:
        words = ("--challenge", challenge, "--phase", "test", "--result", str(result["id"]))
        done = site.installation.command("rescore", *words)
        assert done.returncode == 0, done.stderr
        assert f"result {result['id']} is queued" in done.stdout

    assert eventually(lambda: oak.submission(number)["results"][0]["state"] == "scored")
    [again] = oak.submission(number)["results"]
    assert (again["runs"], again["shown"]["headline"], again["shown"]["is_rescore"]) == (2, 0.5, False)
