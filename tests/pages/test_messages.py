"""Every error that a program can get, in one table, each of them provoked."""

import re

import pytest

from app.core.problems import PROBLEMS
from tests.pages.provoking import (
    Provoke,
    Scene,
    admin_without_second_factor,
    changed_rules_of_open_phase,
    data_file_beyond_the_quota,
    deleted_data_file,
    hidden_curves,
    hidden_method,
    invalid_archive,
    link_to_a_result_without_a_score,
    login_beyond_the_limit,
    login_while_others_log_in,
    message_to_nobody,
    message_too_many,
    name_of_another_team,
    new_name_of_a_scored_method,
    one_result,
    opened_unfinished_draft,
    other_kind_of_an_answered_question,
    other_request_under_a_key,
    password_login_without_passwords,
    public_method_without_an_answer,
    published_name,
    question_repeated,
    question_to_nobody,
    question_too_many,
    registration_while_closed,
    removed_upload,
    retired_name,
    scene,
    second_team,
    submission_before_accepting_terms,
    suspended_team,
    token_long_after_the_login,
    unapproved_team,
    unfinished_upload,
    upload_without_confirmed_address,
    used_quota,
    with_damaged_description,
    without_database,
    without_storage,
)

__all__ = ["scene"]

MINUTE = r"\d{1,2} \w{3} \d{4} \d\d:\d\d UTC"
UNTIL = r"\w{3} \d{1,2} \w{3} \d{4} \d\d:\d\d UTC"

API: dict[str, tuple[Provoke, int, str, str]] = {
    "an address that does not exist": (
        lambda scene: scene.stranger.get("/api/v1/nothing"),
        404, "not-found", "There is nothing at this address",
    ),
    "a submission that does not exist": (
        lambda scene: scene.program.get("/api/v1/submissions/7000000"),
        404, "not-found", "there is no submission 7000000, or it is not public",
    ),
    "a method that an address does not have": (
        lambda scene: scene.stranger.delete("/api/v1/challenges"),
        405, "method-not-allowed", "This address does not accept DELETE",
    ),
    "no token": (
        lambda scene: scene.stranger.get("/api/v1/submissions"),
        401, "login-required", "Log in first, or send an API token",
    ),
    "an archive without a login": (
        lambda scene: scene.stranger.put("/api/v1/challenges/open/test/uploads?filename=x.zip", content=bytes(2 << 20)),
        401, "login-required", "Log in before you send an archive, or send an API token",
    ),
    "an organiser's call by a participant": (
        lambda scene: scene.program.get("/api/v1/organise"),
        403, "forbidden", "Only organisers may do this",
    ),
    "a request from another site": (
        lambda scene: scene.stranger.post("/api/v1/submissions", headers={"Origin": "https://evil.example"}),
        403, "cross-site", "This request was sent from another website; .*",
    ),
    "a login while too many others log in": (
        login_while_others_log_in,
        429, "busy", "Too many people are logging in at the moment. Please try again in a few seconds",
    ),
    "one login too many": (
        login_beyond_the_limit, 429, "rate-limit", r"Too many logins. Please try again in \d+ minutes",
    ),
    "an admin without a second factor": (
        admin_without_second_factor, 403, "second-factor-required", "Admins need a second factor; set it up first",
    ),
    "a new token long after the login": (
        token_long_after_the_login, 403, "recent-login-required", "Confirm your password first",
    ),
    "a length that is not a number": (
        lambda scene: scene.stranger.post("/api/v1/submissions", headers={"Content-Length": "many"}),
        400, "bad-request", "Content-Length is not a number",
    ),
    "a request that is too large": (
        lambda scene: scene.program.post("/api/v1/submissions", content=bytes(2 << 20)),
        413, "too-large", "A request to this address may have at most 1048576 bytes (1 MiB)",
    ),
    "an archive that is too large": (
        lambda scene: scene.program.put("/api/v1/challenges/open/test/uploads?filename=x.zip", content=bytes(2 << 20)),
        413, "too-large", "A file may have at most 1048576 bytes (1 MiB)",
    ),
    "a body without its fields": (
        lambda scene: scene.program.post("/api/v1/submissions", json={}),
        422, "malformed", "The request is not valid for this address",
    ),
    "a number beyond the database's": (
        lambda scene: scene.program.get(f"/api/v1/submissions/{10**30}"),
        422, "malformed", "The request has a value that cannot be stored: a NUL character, or a number out of range",
    ),
    "an address that is not confirmed": (
        upload_without_confirmed_address,
        403, "address-not-confirmed", "confirm your e-mail address before you submit to a phase .*",
    ),
    "terms that are not accepted": (
        submission_before_accepting_terms,
        403, "terms-not-accepted", "accept version 1 of the terms of free first; they are at /challenges/free/terms",
    ),
    "a phase that is not open yet": (
        lambda scene: scene.confirm(scene.upload("future"), "Ash"), 403, "not-open", f"the phase test opens on {UNTIL}.*",
    ),
    "a phase that is closed": (
        lambda scene: scene.confirm(scene.upload("past"), "Ash"), 403, "closed", f"the phase test closed on {UNTIL}.*",
    ),
    "a password on a server without passwords": (
        password_login_without_passwords, 403, "passwords-off",
        "This server does not use passwords; log in with a provider",
    ),
    "a registration while registration is closed": (
        registration_while_closed, 403, "registration-closed", "Registration with a password is closed on this server",
    ),
    "curves of a held-out phase": (hidden_curves, 403, "withheld", ".*"),
    "an idempotency key used for something else": (
        other_request_under_a_key, 409, "conflict", "the idempotency key 'first' was used for submission .*",
    ),
    "a second result of a method": (
        one_result, 409, "one-result", "'Alder' already has a result in competition 3, and a method can have only one; .*",
    ),
    "a name that was withdrawn": (
        retired_name, 409, "name-retired", "'Dogwood' was withdrawn from competition 3; .*",
    ),
    "a name that looks like another team's": (
        name_of_another_team, 409, "name-taken", "haze1 looks like the name of another method of this challenge; .*",
    ),
    "a new name of a method with a score": (
        new_name_of_a_scored_method, 409, "name-fixed", "'Elder' has a score, so its name can no longer change",
    ),
    "an anonymous link to a result without a score": (
        link_to_a_result_without_a_score, 409, "no-link", "only a result with a score can have an anonymous link",
    ),
    "a result without a statement on training data": (
        lambda scene: scene.confirm(scene.upload("free"), "Linden", training={}),
        409, "training-statement", "tick “only the given data was used”: .*",
    ),
    "a public method without a description": (
        lambda scene: scene.confirm(scene.upload("free"), "Linden", make_public=True),
        409, "description-too-short", "a public method needs a description of at least 500 characters; this one has 0",
    ),
    "a method that the organisers have hidden": (
        hidden_method, 403, "method-hidden", "the organisers have hidden this method: two methods in one",
    ),
    "an answer to a question that nobody asked": (
        lambda scene: scene.program.patch(
            f"/api/v1/methods/{scene.confirm(scene.upload('free'), 'Medlar').json()['method']['id']}", json={"answers": {"999": "1"}}
        ),
        422, "answer-invalid", "this challenge has no question 999",
    ),
    "a public method that leaves a required question open": (
        public_method_without_an_answer, 409, "answer-missing",
        "a public method of this challenge answers these questions, too: Runtime",
    ),
    "another kind of a question with answers": (
        other_kind_of_an_answered_question, 409, "question-answered", "methods have answered this question, .*",
    ),
    "a question that is asked already": (
        question_repeated, 409, "question-repeated", "is asked already; give each question a text of its own",
    ),
    "a question too many": (
        question_too_many, 409, "too-many-questions", "a challenge asks at most 20 questions",
    ),
    "a question where none are taken": (
        question_to_nobody, 409, "asking-off", "the organisers take no questions here",
    ),
    "a message too many": (
        message_too_many, 429, "message-limit",
        r"you have sent 10 messages to organisers within 1 hour; the next is possible on .* UTC.*",
    ),
    "an answer that would name a team": (
        published_name, 409, "names-asker", "the texts contain Program; remove this, or say that it may stay",
    ),
    "a message that nobody would receive": (
        message_to_nobody, 409, "no-receiver", "no team with members matches now, so nothing was sent",
    ),
    "a team that is suspended": (
        suspended_team, 403, "team-suspended", "the team .* is suspended: shared accounts.*",
    ),
    "a team that nobody has approved": (
        unapproved_team, 403, "team-not-approved",
        "an organiser has to approve the team .* before it is scored on held-out annotation.*",
    ),
    "a team for somebody who has one": (
        second_team, 409, "in-team", "you are in the team .*, and you can be in only one team of a challenge; leave or rename it",
    ),
    "an invitation that has ended": (
        lambda scene: scene.program.post("/api/v1/invitations/accept", json={"token": "used"}),
        410, "invitation-ended", "this invitation was used up or revoked, or has expired; ask the team for another",
    ),
    "an upload that is not checked": (
        unfinished_upload, 409, "not-checked", "the upload is incomplete or has not been checked yet; .*",
    ),
    "an upload that was removed": (
        removed_upload, 410, "removed", "the archive has been removed because it was not submitted in time; upload it again",
    ),
    "a file of a data set that was deleted": (
        deleted_data_file, 410, "file-deleted",
        f"'gone.zip' was deleted {MINUTE}; /challenges/open/data lists the other files",
    ),
    "a file of a data set without space for it": (
        data_file_beyond_the_quota, 413, "data-quota", "the files of open use 0 of 51200 MiB, and this one has .*",
    ),
    "another version of tus": (
        lambda scene: scene.program.post("/api/v1/challenges/open/test/uploads"),
        412, "tus-version", "Tus-Resumable must be 1.0.0, found None",
    ),
    "a part of a concatenation of tus": (
        lambda scene: scene.program.post(
            "/api/v1/challenges/open/test/uploads", headers={"Tus-Resumable": "1.0.0", "Upload-Concat": "partial"}
        ),
        400, "bad-request", "Upload-Concat: this server does not support the extension concatenation; send .*",
    ),
    "an upload for an unknown competition": (
        lambda scene: scene.program.put("/api/v1/challenges/free/test/uploads?filename=x.zip&competition=99", content=b"x"),
        422, "malformed", "there is no competition 99 in free test; expected some of 1, 2, 3, 4",
    ),
    "bytes of another type": (
        lambda scene: scene.append(b"x", {"Content-Type": "text/plain"}),
        415, "unsupported-type", "Content-Type must be application/offset\\+octet-stream",
    ),
    "an archive of unknown size": (
        lambda scene: scene.program.put("/api/v1/challenges/free/test/uploads?filename=x.zip", content=iter([b"x"])),
        411, "length-required", "send the size of the file in the header Content-Length",
    ),
    "a range beyond the archive": (
        lambda scene: scene.program.get(
            f"/api/v1/uploads/{scene.upload('free')}/archive", headers={"Range": "bytes=9999999-"}
        ),
        416, "range", r"The file has \d+ bytes; the requested range is not within them",
    ),
    "a single file that is not a prediction file": (
        lambda scene: scene.program.put("/api/v1/challenges/free/test/uploads?filename=car.txt", content=b"x"),
        422, "malformed",
        "car.txt is not the name of a prediction file; expected an archive, or one of comp1_cls_test_<class>.txt, .*",
    ),
    "an archive with problems": (
        invalid_archive, 422, "invalid", "the archive has problems; fix .*",
    ),
    "a competition that the archive has no files for": (
        lambda scene: scene.confirm(scene.upload("free"), "Gorse", competitions=[4]),
        422, "not-in-archive", "the archive has no files for competition 4; .*",
    ),
    "a quota that is used up": (
        used_quota, 429, "quota", f"1 of 1 detection results in 7 days are used; the next slot is free on {UNTIL}",
    ),
    "rules of a phase that contradict each other": (
        lambda scene: changed_rules_of_open_phase(scene, quotas=[]), 422, "phase-broken",
        "a held-out phase needs a quota, because every score reveals something of the hidden annotation",
    ),
    "a challenge that is not ready to open": (
        opened_unfinished_draft, 409, "challenge-not-ready", "not done yet: The annotation was read and can be used.*",
    ),
    "a deadline that has passed": (
        lambda scene: changed_rules_of_open_phase(scene, opens_at="2026-01-01T00:00Z", closes_at="2026-01-02T00:00Z"),
        409, "phase-unfair", "the deadline would be in the past",
    ),
    "a server error": (
        lambda scene: scene.stranger.get("/api/v1/test/crash"),
        500, "server-error", "Something went wrong on our side; nothing was lost or counted",
    ),
    "something whose challenge was deleted meanwhile": (
        lambda scene: scene.stranger.get("/api/v1/test/phase-of-nothing"),
        404, "not-found", "What this belongs to was deleted a moment ago",
    ),
    "a deletion that forgets what refers to it": (
        lambda scene: scene.stranger.get("/api/v1/test/still-referred-to"),
        500, "server-error", "Something went wrong on our side; nothing was lost or counted",
    ),
    "an unreachable database": (
        without_database, 503, "unavailable",
        "The database cannot be reached at the moment. Please try again in a few seconds",
    ),
    "a full database": (
        lambda scene: scene.stranger.get("/api/v1/test/full-database"), 507, "storage-full",
        "The database is out of disk space. Nothing was saved or counted; please try again later",
    ),
    "unreachable storage": (
        without_storage, 503, "storage-unavailable",
        "Storage cannot be reached at the moment. Nothing was lost; please try again in a few seconds",
    ),
    "a stored file that is damaged": (
        with_damaged_description, 503, "storage-damaged",
        "A stored file is damaged. This is an error on our side: nothing was counted, and the admins can see it. Please try again later",
    ),
    "full storage": (
        lambda scene: scene.stranger.get("/api/v1/test/full"),
        507, "storage-full",
        "Storage is full at the moment. Bytes received so far are kept, and an upload can be resumed once there is space",
    ),
}  # fmt: skip

ELSEWHERE = {  # they need many bytes, many acts, a slow check, several people, or a worker's key
    "upload-offset", "checksum-mismatch", "stored-bytes", "check-busy", "last-owner", "team-full", "no-worker", "data-set-too-large", "too-late",
    "report-limit",
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("situation", API)
def test_a_program_gets_the_status_the_code_and_the_message(scene: Scene, situation: str) -> None:
    provoke, status, code, detail = API[situation]

    response = provoke(scene)

    problem = response.json()
    assert (response.status_code, problem.get("code")) == (status, code), problem
    assert re.fullmatch(detail, problem["detail"]) or problem["detail"] == detail, problem
    assert problem["title"] == PROBLEMS[code].title
    assert problem["type"] == f"/problems/{code}"
    assert problem["status"] == PROBLEMS[code].status == status
    assert problem["reference"] == response.headers["x-request-id"]
    assert response.headers["content-type"] == "application/problem+json"
    assert "secret" not in response.text
    assert ("retry-after" in response.headers) == (status in (429, 503)), response.headers
    assert "default-src 'none'" in response.headers["content-security-policy"]


def test_every_problem_code_is_provoked() -> None:
    provoked = {code for _, _, code, _ in API.values()}

    assert provoked | ELSEWHERE == set(PROBLEMS)
