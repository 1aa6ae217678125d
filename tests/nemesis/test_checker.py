"""Each check finds its own violation and nothing in a good history."""

from dataclasses import replace

import pytest

from tests.nemesis.checker import AFTERMATH, figures, violations
from tests.nemesis.history import HISTORY, End, Fault, History, Look, Promise, Response, Result, Run

ARCHIVE = "5e1f" * 16
FIRST = Run(1, None, "scored", None, 0.5, 3, 3, 1)
AGAIN = Run(2, 7, "scored", None, 0.75, 3, 3, 1)
RESULT = Result(1, "oak 1", "scored", ARCHIVE, 0.75, (FIRST, AGAIN))
BEFORE, AFTER = Look(1.0, 1.1, 1, {"oak 1": 0.5}), Look(70.0, 70.1, 2, {"oak 1": 0.75})
FINE = Response("oak", "PUT uploads", 0.5, 0.6, 201)
END = End(2.0, 5.0, (), (RESULT,), AFTER, (), (), ())
GOOD = History(
    seed=1,
    faults=(Fault("kill web", 10.0, 10.2), Fault("stop database", 12.0, 18.0)),
    responses=(FINE, Response("oak", "POST submission", 12.5, 16.0, 503, "unavailable", "Please try again")),
    promises=(Promise("oak 1", 1, ARCHIVE, {1: 0.5, 2: 0.75}),),
    refused=(),
    looks=(BEFORE, AFTER),
    calm=(replace(FINE, begun=65.0, ended=65.2),),
    ground_truth=2,
    end=END,
)


def with_end(**changed: object) -> History:
    return replace(GOOD, end=replace(END, **changed))  # type: ignore[arg-type]


def with_result(**changed: object) -> History:
    return with_end(results=(replace(RESULT, **changed),))  # type: ignore[arg-type]


def with_response(status: int | None, code: str = "", sentence: str = "", at: float = 12.5) -> History:
    return replace(
        GOOD, responses=(Response("oak", "GET /api/v1/uploads/1", at, at + 0.1, status, code, sentence),)
    )


def test_a_good_history_has_no_violations() -> None:
    assert violations(GOOD) == []


BAD = {
    "a submission that is not there": (with_end(results=()), "lost"),
    "one that is there for another method": (with_result(method="elm 1"), "lost"),
    "one that is not on the board": (with_end(board=replace(AFTER, means={})), "lost"),
    "an archive that cannot be downloaded": (with_result(sha256=""), "lost"),
    "another archive": (with_result(sha256="0" * 64), "lost"),
    "a content that is away": (with_end(missing=("archives: 5e1f",)), "lost"),
    "a result that leaves the board": (replace(GOOD, looks=(BEFORE, replace(BEFORE, begun=2, ended=3, means={}))), "vanished"),
    "two submissions of one method": (with_end(results=(RESULT, replace(RESULT, submission=2))), "twice"),
    "two numbers for one submission": (
        replace(GOOD, promises=(*GOOD.promises, replace(GOOD.promises[0], submission=2))), "twice"
    ),
    "two runs of a submission": (with_result(runs=(FIRST, FIRST, AGAIN)), "twice"),
    "two runs of a re-scoring": (with_result(runs=(FIRST, AGAIN, AGAIN)), "twice"),
    "a score that is written twice": (with_result(runs=(replace(FIRST, scores=6), AGAIN)), "twice"),
    "a run that is published twice": (with_result(runs=(replace(FIRST, publications=2), AGAIN)), "twice"),
    "a submission that nobody was told of": (
        with_end(results=(RESULT, replace(RESULT, submission=2, method="elm 1"))), "invented"
    ),
    "a wrong value of a run": (with_result(runs=(replace(FIRST, mean=0.5001), AGAIN)), "wrong"),
    "a run without a value": (with_result(runs=(replace(FIRST, mean=None), AGAIN)), "wrong"),
    "a wrong value on the board": (replace(GOOD, looks=(BEFORE, replace(BEFORE, means={"oak 1": 0.51}))), "wrong"),
    "the value of another ground truth on the board": (
        replace(GOOD, looks=(BEFORE, replace(AFTER, means={"oak 1": 0.5}))), "wrong"
    ),
    "an old value in the end": (with_result(shown=0.5), "wrong"),
    "processes that do not come back": (with_end(recovered_after=None), "unfinished"),
    "processes that come back late": (with_end(recovered_after=61.0), "unfinished"),
    "work that does not end": (with_end(settled_after=None), "unfinished"),
    "work that ends late": (with_end(settled_after=61.0), "unfinished"),
    "something that is still under way": (with_end(under_way=("message 3 waits",)), "unfinished"),
    "a run that is still queued": (with_result(runs=(replace(FIRST, state="queued"), AGAIN)), "unfinished"),
    "a re-scoring that was not shown": (with_end(board=replace(AFTER, ground_truth=1, means={"oak 1": 0.5})), "unfinished"),
    "a run that failed": (with_result(runs=(replace(FIRST, state="failed", message="3 times"), AGAIN)), "blamed"),
    "a run that was refused": (with_result(runs=(replace(FIRST, state="refused"), AGAIN)), "blamed"),
    "a result that failed": (with_result(state="failed"), "blamed"),
    "a good archive that was refused": (replace(GOOD, refused=("check-ended",)), "blamed"),
    "a message that was given up": (with_end(given_up=("analysis 4: OSError",)), "blamed"),
    "a file that nothing names": (with_end(leftovers=("archives: 5e1f.draft",)), "left_over"),
    "500 while something is broken": (with_response(500, "server-error", "Something went wrong"), "bad_responses"),
    "502 while something is broken": (with_response(502, "x", "A sentence"), "bad_responses"),
    "503 without a sentence": (with_response(503), "bad_responses"),
    "507 without a sentence": (with_response(507), "bad_responses"),
    "503 before anything is broken": (with_response(503, "unavailable", "Try again", at=5.0), "bad_responses"),
    "503 long after all was mended": (with_response(503, "unavailable", "Try again", at=18.1 + AFTERMATH), "bad_responses"),
    "503 after the recovery": (
        replace(GOOD, calm=(Response("oak", "PUT uploads", 20.0, 20.1, 503, "unavailable", "Try again"),)), "bad_responses"
    ),
    "no response before anything is broken": (with_response(None, at=5.0), "bad_responses"),
    "a login that is forgotten": (with_response(401, "login-required", "Log in"), "bad_responses"),
    "an upload that is forgotten": (with_response(404, "not-found", "There is no upload"), "bad_responses"),
    "a night without faults": (replace(GOOD, faults=(), responses=()), "nothing_happened"),
    "a night without submissions": (replace(GOOD, promises=(), looks=(), end=replace(END, results=(), board=replace(AFTER, means={}))), "nothing_happened"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_each_bad_history_is_found_by_exactly_its_check(what: str) -> None:
    history, check = BAD[what]

    checks = {sentence.partition(":")[0] for sentence in violations(history)}

    assert checks == {check} | ALONG.get(what, set())


# also found by another check for the same fault
ALONG = {
    "one that is there for another method": {"invented", "wrong"},
    "one that is not on the board": {"vanished"},
    "two numbers for one submission": {"lost"},
    "a submission that nobody was told of": {"wrong"},
}


@pytest.mark.parametrize(
    ("status", "code"),
    [(503, "unavailable"), (507, "storage-full"), (409, "upload-offset"), (429, "check-busy"), (None, "")],
)
def test_tolerable_responses_during_a_fault_are_not_violations(status: int | None, code: str) -> None:
    assert violations(with_response(status, code, "A sentence")) == []


def test_not_found_after_a_delete_without_a_response_is_not_a_violation() -> None:
    again = Response("oak", "DELETE /api/v1/uploads/1", 12.5, 12.6, 404, "not-found", "There is no upload")

    assert violations(replace(GOOD, responses=(again,))) == []


def test_a_history_survives_being_stored() -> None:
    assert HISTORY.validate_json(HISTORY.dump_json(GOOD)) == GOOD


def test_the_figures_summarise_how_much_happened() -> None:
    assert figures(GOOD) == (
        "seed 1: 2 faults, 1 acknowledged, 2 looks, runs {'scored': 2}, responses 1 × 201, 1 × 503, recovered 2.0, settled 5.0"
    )
